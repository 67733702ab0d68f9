"""Structured answers on the real harness: what it lets pass, refuses, and never shows."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, Final, TypedDict

import pytest

from antigravity_sync import Capabilities, Hooks, Subagent, policy, tool
from antigravity_sync.errors import StructuredOutputError
from antigravity_sync.events import Denied, Finished, TextDelta
from antigravity_sync.testing import ScriptedModel, always, call, finish
from antigravity_sync.testing._requests import ModelRequest
from tests.versions import release

pytestmark = pytest.mark.real

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "läge": {
            "type": "object",
            "properties": {"lat": {"type": "number", "minimum": -90}},
            "required": ["lat"],
        },
    },
    "required": ["city"],
}


class Place(TypedDict):
    city: str
    degrees: float


@dataclasses.dataclass
class Report:
    """A weather report.

    Args:
        places: Where it is how warm.
        note: What else there is to say.
    """

    places: list[Place]
    note: str | None = None


def test_answer_when_schema_given_then_stripped_dict_of_this_turn(make_agent):
    """The model is declared the schema; what it adds is stripped; the answer is no message."""
    said: list[str] = []
    good = finish(city="Paris", läge={"lat": 48.8, "lon": 2.3}, toolAction="Ends", z=1)
    hooks = Hooks(on_post_turn=said.append)
    with (
        ScriptedModel(["Well.", good], "plain", finish(city="Oslo")) as model,
        make_agent(model, response_schema=SCHEMA, hooks=[hooks]) as agent,
    ):
        first = agent.chat("Where?")
        assert first.structured_output == {"city": "Paris", "läge": {"lat": 48.8}}
        assert "Paris" not in first.text + "".join(first.messages)
        assert "Finished" not in first.messages
        declared = model.requests[0].declarations["finish"]
        assert declared["parametersJsonSchema"]["properties"] == SCHEMA["properties"]
        assert declared["parametersJsonSchema"]["required"] == ["city"]
        assert pickle.loads(pickle.dumps(first)) == first

        second = agent.chat("And in words?")
        assert (second.structured_output, second.text) == (None, "plain")

        events = list(agent.stream("Again?"))
        assert isinstance(events[-1], Finished)
        assert events[-1].response.structured_output == {"city": "Oslo"}
        assert not [event for event in events if isinstance(event, TextDelta)]
        assert said == [first.text, "plain", ""]
        assert len(model.requests) == 3


def test_answer_when_a_type_is_given_then_an_instance(make_agent):
    """After one attempt that the harness refused, and one more that it took."""
    places = [{"city": "Paris", "degrees": 21, "sky": "blue"}]
    with (
        ScriptedModel(finish(places="Paris"), finish(places=places, toolSummary="s")) as model,
        make_agent(model, response_schema=Report) as agent,
    ):
        response = agent.chat("How warm is it?")
        assert response.structured_output == Report([{"city": "Paris", "degrees": 21.0}])
        assert len(response.errors) == 1
        assert len(model.requests) == 2
        declared = model.requests[0].declarations["finish"]["parametersJsonSchema"]
        assert declared["properties"]["note"]["description"] == "What else there is to say."


def test_answer_when_never_right_then_error_and_next_turn_works(make_agent):
    """The harness gives up, which ends its connection; it shows none of the attempts."""

    def reply(request: ModelRequest) -> Any:
        return finish(city=1 if request.prompt == "Where?" else "Oslo")

    with (
        ScriptedModel(always(reply)) as model,
        make_agent(model, response_schema=SCHEMA) as agent,
    ):
        with pytest.raises(StructuredOutputError, match="city") as caught:
            agent.chat("Where?")
        assert caught.value.raw == ""
        assert caught.value.partial.structured_output is None
        assert len(model.requests) > 1
        assert agent.chat("And now?").structured_output == {"city": "Oslo"}
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), StructuredOutputError)


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n must be even")


def test_answer_when_only_we_refuse_it_then_error_with_the_raw_text(make_agent):
    """What a constructor checks the harness cannot know; the agent works on."""
    with (
        ScriptedModel(finish(n=3), finish(n=4)) as model,
        make_agent(model, response_schema=Even) as agent,
    ):
        turn = agent.stream("A number?")
        with pytest.raises(StructuredOutputError, match="n must be even") as caught:
            list(turn)
        with pytest.raises(StructuredOutputError):
            turn.response()
        assert caught.value.raw == '{"n":3}'
        assert agent.chat("Another?").structured_output == Even(4)


def test_answer_when_given_beside_another_call_then_both_count(make_agent):
    """The call runs, and the model is not asked again."""
    ran: list[int] = []

    @tool
    def note(n: int) -> None:
        """Note a number."""
        ran.append(n)

    with (
        ScriptedModel([finish(city="Paris"), call("note", n=1)]) as model,
        make_agent(model, response_schema=SCHEMA, tools=[note]) as agent,
    ):
        response = agent.chat("Where?")
        assert response.structured_output == {"city": "Paris"}
        assert ran == [1]
        assert [made.name for made in response.tool_calls] == ["note"]


def test_answer_when_everything_is_denied_then_given_unless_named(make_agent, version):
    """`deny_all` does not reach `finish`; a rule that names it does, on each version."""
    with (
        ScriptedModel(finish(city="Paris")) as model,
        make_agent(model, response_schema=SCHEMA, policies=[policy.deny_all()]) as agent,
    ):
        assert agent.chat("Where?").structured_output == {"city": "Paris"}
    rules = [policy.allow_all(), policy.deny("finish", "no forms")]
    with (
        ScriptedModel(finish(city="Paris"), "in words") as model,
        make_agent(model, response_schema=SCHEMA, policies=rules) as agent,
    ):
        response = agent.chat("Where?")
        assert (response.structured_output, response.text) == (None, "in words")
        assert [(made.name, made.decision) for made in response.tool_calls] == [
            ("finish", Denied("no forms"))
        ]
        if release(version) > (0, 1, 5):  # which tells the model to put it in words
            assert "no forms" in str(model.requests[-1].contents[-1])


def test_answer_when_a_subagent_gives_it_then_not_ours(make_agent, version):
    """Where it may give one at all: a copy of the agent on 0.1.5, none of a declared subagent."""
    declares = release(version) >= (0, 1, 10)
    asked_subagent: list[ModelRequest] = []

    def reply(request: ModelRequest) -> Any:
        if "task of sub" in str(request.contents[0]):
            asked_subagent.append(request)
            return finish(city="Rome") if len(asked_subagent) == 1 else "in words"
        if len(request.contents) > 1:
            return "main in words"
        task = {"TypeName": "sub" if declares else "self", "Role": "r", "Prompt": "task of sub"}
        return call("invoke_subagent", Subagents=[task])

    with (
        ScriptedModel(always(reply)) as model,
        make_agent(
            model,
            response_schema=SCHEMA,
            capabilities=Capabilities.none().enable("start_subagent"),
            policies=[policy.allow_all()],
            subagents=[Subagent("sub", description="Helps")] if declares else (),
        ) as agent,
    ):
        response = agent.chat("Where?")
        assert (response.structured_output, response.text) == (None, "main in words")
        assert asked_subagent
        # On 0.1.5 it has the tool, and its answer is not ours for all that.
        assert ("finish" in asked_subagent[0].declarations) is not declares
