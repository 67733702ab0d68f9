"""Budgets, compaction and the cut of tool outputs, proven by what the model was sent."""

from __future__ import annotations

import json

import pytest

from antigravity_sync import (
    Budget,
    Capabilities,
    Hooks,
    Retry,
    StopDecision,
    Subagent,
    ToolContext,
    policy,
    tool,
)
from antigravity_sync.errors import ConfigError, OverloadedError
from antigravity_sync.events import Compacted, Finished
from antigravity_sync.testing import (
    ScriptedModel,
    always,
    call,
    empty,
    hang,
    http_error,
    usage,
)
from tests.gates import CEILING
from tests.mcp import PlainServer, mcp_call
from tests.versions import release

pytestmark = pytest.mark.real

#: Every scripted reply reports 10 tokens of input and 5 of output.
LOOP = ["Let me see. ", call("ping")]


class Pings:
    """A tool that counts its calls; the one of number `last` goes on until it is called off."""

    def __init__(self, last: int = 0) -> None:
        self.count = 0
        self._last = last

    def tool(self):
        @tool
        def ping(context: ToolContext) -> str:
            """Answer."""
            self.count += 1
            if self.count == self._last:
                assert context.cancelled.wait(CEILING)
            return "pong"

        return ping


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────


def test_model_calls_when_used_up_then_the_turn_is_stopped_and_the_next_has_all(
    make_agent, version, tmp_path
):
    """A model that calls tools for ever is asked three times in each turn, and nothing fails."""
    looking = ["Let me see. ", call("list_dir", DirectoryPath=str(tmp_path / "workspace"))]
    with (
        ScriptedModel(looking, loop=True) as model,
        make_agent(model, budget=Budget(model_calls=3)) as agent,
    ):
        for turn in (1, 2):
            response = agent.chat("go")
            assert response.stop_reason == "MAX_MODEL_CALLS_EXCEEDED"
            assert response.messages == ("Let me see. ",) * 3
            assert not response.cancelled
            assert response.errors == ()
            assert len(model.requests) == 3 * turn


def test_model_calls_when_the_last_is_the_answer_then_nothing_is_cut(make_agent, version):
    """An answer that is whole is one, though the budget is used up; its tool has run."""
    pings = Pings()
    with (
        ScriptedModel(LOOP, "done", loop=True) as model,
        make_agent(
            model,
            tools=[pings.tool()],
            budget=Budget(model_calls=2, tool_calls=1, input_tokens=20, total_tokens=30),
        ) as agent,
    ):
        for turn in (1, 2):
            response = agent.chat("go")
            assert (response.text, response.stop_reason) == ("done", None)
            assert pings.count == turn


def test_tool_calls_when_one_more_is_made_then_it_does_not_run(make_agent, version):
    """Two run in each turn; the model is told of them and its third call ends the turn."""
    pings = Pings()
    with (
        ScriptedModel(LOOP, loop=True) as model,
        make_agent(model, tools=[pings.tool()], budget=Budget(tool_calls=2)) as agent,
    ):
        for turn in (1, 2):
            response = agent.chat("go")
            assert response.stop_reason == "MAX_TOOL_CALLS_EXCEEDED"
            assert response.text == "Let me see. "
            assert pings.count == 2 * turn
            assert len(model.requests) == 3 * turn


def test_tool_calls_when_the_model_reports_no_tokens_then_counted_all_the_same(make_agent, version):
    """What a service without token counts can be held by."""
    pings = Pings()
    with (
        ScriptedModel(usage(LOOP), loop=True) as model,
        make_agent(model, tools=[pings.tool()], budget=Budget(tool_calls=2)) as agent,
    ):
        assert agent.chat("go").stop_reason == "MAX_TOOL_CALLS_EXCEEDED"
        assert (pings.count, len(model.requests)) == (2, 3)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"input_tokens": 21}, "MAX_INPUT_TOKENS_EXCEEDED"),
        ({"output_tokens": 11}, "MAX_OUTPUT_TOKENS_EXCEEDED"),
        ({"total_tokens": 31}, "MAX_TOTAL_TOKENS_EXCEEDED"),
    ],
)
def test_tokens_when_used_up_then_the_turn_is_stopped_and_the_next_has_all(
    make_agent, version, limits, name
):
    """The third reply is over each limit; what it calls is called off, or never runs."""
    for_ever = Pings(last=3)
    with (
        ScriptedModel(LOOP, loop=True) as model,
        make_agent(model, tools=[for_ever.tool()], budget=Budget(**limits)) as agent,
    ):
        response = agent.chat("go")
        assert response.stop_reason == name
        assert response.messages == ("Let me see. ",) * 3
        assert response.usage.total_tokens == 45
        for_ever.count = 0
        assert agent.chat("again").stop_reason == name
        assert len(model.requests) == 6


def test_answers_when_endless_and_useless_then_cut_by_model_calls(make_agent, version):
    """A harness asks again for ever when nothing is answered; it takes one more to see that."""
    with (
        ScriptedModel(*[empty()] * 5, always(hang())) as model,
        make_agent(model, budget=Budget(model_calls=4)) as agent,
    ):
        response = agent.chat("go")
    assert (response.text, response.stop_reason) == ("", "MAX_MODEL_CALLS_EXCEEDED")
    assert 5 <= len(model.requests) <= 6


def test_structured_answer_when_cut_then_there_is_none_and_no_error(make_agent, version):
    """The text so far is all there is."""
    pings = Pings()
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    with (
        ScriptedModel(LOOP, loop=True) as model,
        make_agent(
            model, tools=[pings.tool()], response_schema=schema, budget=Budget(tool_calls=1)
        ) as agent,
    ):
        response = agent.chat("go")
    assert (response.text, response.structured_output) == ("Let me see. ", None)
    assert response.stop_reason == "MAX_TOOL_CALLS_EXCEEDED"


def test_budget_when_the_conversation_is_resumed_then_whole(make_agent, version, tmp_path):
    """What was used before, here or in another process, does not count."""
    options = {"save_dir": tmp_path / "saved", "conversation_id": "c"}
    budget = Budget(total_tokens=40)
    with ScriptedModel(usage("one", prompt=90), "two", loop=True) as model:
        with make_agent(model, **options) as agent:
            agent.chat("go")
        with make_agent(model, **options, budget=budget) as agent:
            response = agent.chat("on")
    assert (response.text, response.stop_reason) == ("two", None)


def helped(request):
    """Answer as an agent that has a helper, and as a helper that goes round in circles."""
    if "look around" in request.prompt:
        return call("ping")
    if request.function_responses:
        return "waiting"
    return call(
        "invoke_subagent", Subagents=[{"TypeName": "helper", "Role": "r", "Prompt": "look around"}]
    )


@pytest.mark.parametrize("version", ["0.1.10", "0.1.22"], indirect=True)
@pytest.mark.parametrize("limits", [{"model_calls": 6}, {"tool_calls": 4}])
def test_budget_when_a_subagent_loops_then_its_calls_count(make_agent, version, limits):
    """Two model calls and one tool are the agent's, the rest the helper's; next turn, the same."""
    pings = Pings(last=4)
    with (
        ScriptedModel(helped, loop=True) as model,
        make_agent(
            model,
            tools=[pings.tool()],
            subagents=[Subagent("helper", description="helps", tools=["ping"])],
            capabilities=Capabilities.read_only().enable("start_subagent"),
            policies=[policy.allow_all()],
            budget=Budget(**limits),
        ) as agent,
    ):
        response = agent.chat("go")
        (limit,) = limits
        assert response.stop_reason == f"MAX_{limit.upper()}_EXCEEDED"
        assert pings.count in ((3, 4) if limit == "model_calls" else (3,))
        response = agent.chat("and now?")
        assert (response.text, response.stop_reason) == ("waiting", None)


@pytest.mark.parametrize("version", ["0.1.22"], indirect=True)
def test_stop_hook_when_the_budget_is_used_up_then_it_cannot_go_on(make_agent):
    """A hook that never lets the model stop is no way around the budget."""
    reasons = []

    def go_on(info):
        reasons.append(info.stop_reason)
        return StopDecision.go_on("more")

    with (
        ScriptedModel("Again. ", loop=True) as model,
        make_agent(model, hooks=[Hooks(on_stop=go_on)], budget=Budget(model_calls=3)) as agent,
    ):
        response = agent.chat("go")
        assert response.stop_reason == "MAX_MODEL_CALLS_EXCEEDED"
        assert response.messages == ("Again. ",) * 3
        assert len(model.requests) == 3
        assert reasons == [None] * 3  # the harness itself has no reason to stop


@pytest.mark.parametrize("tries", [1, 3])
def test_retries_when_used_up_then_the_model_was_asked_so_often(make_agent, version, tries, caplog):
    """A call that failed is no call of the budget; older harnesses are warned about."""
    retry = Retry(max_retries=tries - 1, first_delay=0.01, multiplier=1.0)
    failing = http_error(503, "busy")
    with (
        ScriptedModel(*[failing] * tries, always("made it")) as model,
        make_agent(model, retry=retry, budget=Budget(model_calls=1)) as agent,
    ):
        if release(version) < (0, 1, 8):
            assert "`retry` is ignored" in caplog.text
            return
        with pytest.raises(OverloadedError):
            agent.chat("go")
        assert len(model.requests) == tries
        response = agent.chat("again")
        assert (response.text, response.stop_reason) == ("made it", None)


# ── compaction ──────────────────────────────────────────────────────────────────────────────────


def long_talk(agent, model, words: int):
    """Talk until the model is shown a summary, eight turns at the most; return the events."""
    events = []
    for number in range(8):
        events += agent.stream(f"word{number} " * words)
        if any(shows_summary(request) for request in model.requests):
            break
    return events


def shows_summary(request) -> bool:
    return "zqx-summary" in str(request.contents)


def summed_up(request):
    """Answer a prompt, or the harness when it wants a summary."""
    return "ok" if request.last_text.startswith("<USER_REQUEST>") else "zqx-summary"


def test_compaction_when_the_history_is_long_then_a_summary_takes_its_place(make_agent, version):
    """The model is asked for a summary and shown it later; with a higher threshold it is not."""
    words = 16_000 if release(version) < (0, 1, 11) else 9_000
    heard = []
    with (
        ScriptedModel(summed_up, loop=True) as model,
        make_agent(model, compaction=40_000, hooks=[Hooks(on_compaction=heard.append)]) as agent,
    ):
        events = long_talk(agent, model, words)
        assert any(shows_summary(request) for request in model.requests)
    told = [event for event in events if isinstance(event, Compacted)]
    assert len(told) == len(heard)
    assert bool(told) is (release(version) >= (0, 1, 10))  # before, it is done silently
    turns = sum(isinstance(event, Finished) for event in events)
    assert len(model.requests) > turns
    with (
        ScriptedModel(summed_up, loop=True) as model,
        make_agent(model, compaction=1_000_000) as agent,
    ):
        for number in range(turns):
            agent.chat(f"word{number} " * words)
        assert len(model.requests) == turns


def test_compaction_when_too_low_then_refused_where_it_would_fail(make_agent, version):
    """0.1.11 and newer fail every turn with a threshold below what they send anyway."""
    with ScriptedModel("ok") as model:
        agent = make_agent(model, compaction=39_999)
        if release(version) < (0, 1, 11):
            assert agent.start().chat("hi").text == "ok"
            return
        with pytest.raises(ConfigError, match="give 40000 or more"):
            agent.start()
        assert agent.pid is None


@pytest.mark.parametrize("version", ["0.1.22"], indirect=True)
def test_compaction_when_the_lowest_and_all_is_large_then_turns_still_work(make_agent, version):
    """All built-in tools and the longest result of a tool of yours fit below the lowest one."""

    @tool
    def book() -> str:
        """Return a book."""
        return "x y z " * 30_000

    with (
        ScriptedModel(call("book"), "read", loop=True) as model,
        make_agent(
            model,
            tools=[book],
            capabilities=Capabilities.all(),
            policies=[policy.allow_all()],
            compaction=40_000,
        ) as agent,
    ):
        assert [agent.chat("go").stop_reason for _ in range(4)] == [None] * 4


# ── tool outputs ────────────────────────────────────────────────────────────────────────────────


def test_tool_output_when_longer_than_the_limit_then_the_model_gets_its_beginning(
    make_agent, version, tmp_path
):
    """Results of custom tools are cut, since 0.1.14 those of commands too; the caller gets all."""

    @tool
    def book() -> str:
        """Return a book."""
        return "".join(f"{page:06} " for page in range(3_000))

    place = str(tmp_path / "workspace")
    listing = {"CommandLine": "seq 100000 103000", "Cwd": place, "WaitMsBeforeAsync": 5000}
    with ScriptedModel([call("book"), call("run_command", **listing)], "done") as model:
        agent = make_agent(
            model,
            tools=[book],
            capabilities=Capabilities.none().enable("run_command"),
            policies=[policy.allow_all()],
            tool_output_limit=100,
        )
        if version == "0.1.5":
            with pytest.raises(ConfigError, match="does not cut the output of tools"):
                agent.start()
            return
        response = agent.start().chat("go")
        agent.close()
    told = {name: json.dumps(result) for name, result in model.requests[1].function_responses}
    assert "000040" in told["book"]
    assert "000060" not in told["book"]
    assert "OUTPUT TRUNCATED" in told["book"]
    assert str(response.tool_calls[0].result).endswith("002999 ")
    assert "103000" in told["run_command"]
    assert (len(told["run_command"]) < 1_000) is (release(version) >= (0, 1, 14))


@pytest.mark.parametrize("version", ["0.1.22"], indirect=True)
@pytest.mark.parametrize(("limit", "is_shown"), [(30_000, True), (20_000, False)])
def test_tool_output_when_a_servers_then_shown_up_to_the_limit(
    make_agent, tmp_path, limit, is_shown
):
    """The result has 100,000 characters; what is over the limit goes into a file."""
    with (
        ScriptedModel(mcp_call("long"), "done") as model,
        make_agent(
            model,
            mcp_servers=[PlainServer(tmp_path).option()],
            policies=[policy.allow_all()],
            tool_output_limit=limit,
        ) as agent,
    ):
        agent.chat("go")
    ((_, result),) = model.requests[1].function_responses
    assert ("xxxxxxxx" in str(result)) is is_shown
    assert ("was saved to" in str(result)) is not is_shown
