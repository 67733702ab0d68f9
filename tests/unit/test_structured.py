"""Structured answers: what fits a schema, what is stripped, and what is no schema at all."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any, Final, TypedDict

import attrs
import pytest

from antigravity_sync import AgentConfig
from antigravity_sync._core import answers
from antigravity_sync._core.actions import EndTurn, Failure, FailureKind
from antigravity_sync._json_schema import MisfitError, fitted
from antigravity_sync._messages import StepFrame
from antigravity_sync._runtime.live_turn import TurnEnd
from antigravity_sync._runtime.structured import with_answer
from antigravity_sync._structured import AnswerForm
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.errors import ConfigError
from antigravity_sync.responses import ChatResponse
from tests.stage import IDLE, RUNNING, SUB, Stage, echo, step

NODE: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"$ref": "#"}},
    "required": ["name"],
}

#: What stands at the member `x`, values that fit it, and values that do not.
JUDGED: Final[list[tuple[dict[str, Any], list[Any], list[Any]]]] = [
    ({"type": "integer"}, [0, -3, 2.0, 10**30], [1.5, True, "1", None, [], {}]),
    ({"type": "number"}, [0, 1.5], [False, "1.5", None]),
    ({"type": "boolean"}, [True, False], [0, 1, "true"]),
    ({"type": "null"}, [None], [0, "", False]),
    ({"type": ["string", "null"]}, ["", None], [0, []]),
    ({"enum": [1, "a", None]}, [1, 1.0, "a", None], [True, "b", 2]),
    ({"const": {"a": [1]}}, [{"a": [1]}, {"a": [1.0]}], [{"a": [True]}, {"a": []}, {}]),
    ({"minimum": 0, "maximum": 10}, [0, 10, "no number"], [-1, 10.1]),
    ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, [0.5], [0, 1]),
    ({"multipleOf": 0.1}, [0.3, 1, 0], [0.25]),
    ({"minLength": 1, "maxLength": 2}, ["é", "ab", 5], ["", "abc"]),
    ({"pattern": "^a+$"}, ["aa", 7], ["", "ab"]),
    ({"pattern": r"^\p{Lu}$"}, ["x"], []),
    ({"items": {"type": "integer"}}, [[], [1, 2], "text"], [["a"], [1, None]]),
    ({"prefixItems": [{"const": 1}], "items": False}, [[], [1]], [[2], [1, 1]]),
    ({"minItems": 1, "maxItems": 2}, [[1], [1, 1]], [[], [1, 1, 1]]),
    ({"uniqueItems": True}, [[1, True, "1"]], [[1, 1.0]]),
    ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
    ({"additionalProperties": False}, [{}], [{"a": 1}]),
    ({"additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "1"}]),
    ({"patternProperties": {"^n": {"type": "integer"}}}, [{"n1": 1}], [{"n1": "1"}]),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [1, 5.5], [6, 1.5]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
    ({"not": {"type": "string"}}, [1], ["a"]),
    ({"$ref": "#/$defs/a~1b"}, [1], ["a"]),
    ({"$ref": "#/$defs/node"}, [{"name": "a", "next": {"name": "b"}}], [{"name": "a", "next": {}}]),
    ({"format": "date", "someday": 1}, ["never", 1], []),
]
DEFS: Final[dict[str, Any]] = {
    "a/b": {"type": "integer"},
    "node": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
        "required": ["name"],
    },
}


def with_member(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": DEFS}


@pytest.mark.parametrize(("schema", "fit", "misfit"), JUDGED, ids=lambda value: str(value)[:40])
def test_schema_when_judged_then_lets_in_what_fits(
    schema: dict[str, Any], fit: list[Any], misfit: list[Any]
) -> None:
    """What fits comes back as it is; what does not is refused with the place named."""
    form = AnswerForm.of(with_member(schema))
    for value in fit:
        assert form.read(json.dumps({"x": value})) == {"x": value}
    for value in misfit:
        with pytest.raises(MisfitError, match=r"^x"):
            form.read(json.dumps({"x": value}))


#: A schema, an answer, and what is left of it.
STRIPPED: Final[list[tuple[dict[str, Any], Any, Any]]] = [
    ({"properties": {"a": {}}}, {"a": 1, "toolAction": "t", "z": 2}, {"a": 1}),
    ({"properties": {"toolAction": {}}}, {"toolAction": "t"}, {"toolAction": "t"}),
    ({}, {"a": 1, "toolSummary": "t"}, {"a": 1}),
    ({"properties": {"a": {}}, "additionalProperties": True}, {"a": 1, "z": 2}, {"a": 1, "z": 2}),
    (
        {"properties": {"a": {}}, "additionalProperties": {"properties": {"b": {}}}},
        {"a": 1, "z": {"b": 1, "c": 2}, "toolAction": {}},
        {"a": 1, "z": {"b": 1}},
    ),
    (
        {"properties": {"a": {"items": {"properties": {"b": {}}}}}},
        {"a": [{"b": 1, "c": 2}, {"c": 2}]},
        {"a": [{"b": 1}, {}]},
    ),
    ({"properties": {"free": {"type": "object"}}}, {"free": {"k": 1}}, {"free": {"k": 1}}),
    (
        {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]},
        {"a": 1, "b": 2, "c": 3},
        {"a": 1, "b": 2},
    ),
    (
        {
            "anyOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {}}, "required": ["b"]},
            ]
        },
        {"a": 1, "b": 2, "c": 3},
        {"b": 2},
    ),
    (NODE, {"name": "a", "next": {"name": "b", "x": 1}}, {"name": "a", "next": {"name": "b"}}),
    ({"patternProperties": {"^x_": {}}}, {"x_1": 1, "y": 2}, {"x_1": 1}),
]


@pytest.mark.parametrize(("schema", "answer", "left"), STRIPPED, ids=lambda value: str(value)[:40])
def test_answer_when_it_has_more_than_asked_for_then_is_stripped(
    schema: dict[str, Any], answer: Any, left: Any
) -> None:
    """Members that nobody declared go, at any depth; free-form objects stay as they are."""
    form = AnswerForm.of({"type": "object", **schema})
    assert form.read(json.dumps(answer)) == left


def test_answers_when_made_at_random_then_stripping_changes_nothing_twice() -> None:
    """What is left of an answer fits its schema, and loses nothing more."""
    rng = random.Random(4)

    def value(depth: int) -> Any:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([1, 2.5, "a", True, None])
        if rng.random() < 0.4:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {name: value(depth - 1) for name in rng.sample("abcd", rng.randrange(4))}

    def schema(depth: int) -> dict[str, Any]:
        if depth == 0:
            return {}
        return rng.choice(
            [
                {"properties": {name: schema(depth - 1) for name in "ab"}},
                {"items": schema(depth - 1)},
                {"anyOf": [schema(depth - 1), schema(depth - 1)]},
                {"additionalProperties": schema(depth - 1)},
                {"allOf": [schema(depth - 1)], "required": ["a"]},
            ]
        )

    kept = 0
    for _ in range(2000):
        root, answer = schema(3), value(4)
        try:
            once = fitted(answer, root)
        except MisfitError:
            continue
        kept += 1
        assert fitted(once, root) == once
    assert kept > 500


def test_answer_when_it_is_made_to_take_long_then_is_judged_soon() -> None:
    """Each pair of an object and a schema is judged once, however many ways lead to it."""
    twice = {"type": "object", "properties": {"n": {"$ref": "#/$defs/t"}}, "required": ["n"]}
    options = [twice, {**twice, "title": "other"}, {"type": "string"}]
    form = AnswerForm.of({**with_member({"$ref": "#/$defs/t"}), "$defs": {"t": {"anyOf": options}}})
    answer: Any = 1
    for _ in range(40):
        answer = {"n": answer}
    with pytest.raises(MisfitError, match="must be"):
        form.read(json.dumps({"x": answer}))


@pytest.mark.parametrize("raw", ["", "{", "[]", "null", '{"x": NaN}', '{"x": 1e999}', "1"])
def test_answer_when_it_is_no_object_then_refused(raw: str) -> None:
    """What is no JSON either, and numbers that are none of JSON's."""
    with pytest.raises(MisfitError):
        AnswerForm.of(with_member({})).read(raw)


def test_answer_when_nested_without_end_then_refused() -> None:
    """Neither an answer nor a schema can exhaust the stack."""
    with pytest.raises(MisfitError):
        AnswerForm.of(NODE).read('{"next":' * 100_000)
    with pytest.raises(MisfitError, match="for ever"):
        AnswerForm.of({"type": "object", "allOf": [{"$ref": "#"}]}).read("{}")


def finish(index: int, state: str, raw: str = '{"x":1}', **more: Any) -> StepFrame:
    """Return a frame of a structured answer."""
    payload = {"outputString": raw}
    return step(index, "Finished", state, action="finish", payload=payload, **more)


class Point(TypedDict):
    x: int
    y: int


@dataclasses.dataclass
class Line:
    start: Point
    end: Point | None = None
    tags: tuple[str, ...] = ()


@attrs.frozen
class Drawing:
    lines: list[Line]
    scale: float = 1.0


def test_type_when_answered_then_becomes_an_instance() -> None:
    """Types inside are made too, and what the type does not know is left out beforehand."""
    form = AnswerForm.of(Drawing)
    raw = {
        "lines": [{"start": {"x": 1, "y": 2, "z": 3}, "tags": ["a"], "more": 1}],
        "toolSummary": "Draws",
    }
    assert form.read(json.dumps(raw)) == Drawing([Line({"x": 1, "y": 2}, None, ("a",))])
    assert AnswerForm.of(Point).read('{"x": 1, "y": 2, "z": 3}') == {"x": 1, "y": 2}


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n must be even")


def test_type_when_its_constructor_refuses_then_a_misfit() -> None:
    """The reason is the constructor's own."""
    with pytest.raises(MisfitError, match="n must be even"):
        AnswerForm.of(Even).read('{"n": 1}')


#: What is no form of an answer, and a word of what is said about it.
REFUSED: Final[list[tuple[Any, str]]] = [
    ({"type": "array", "items": {}}, "root"),
    ({"properties": {}}, "root"),
    ({"type": ["object", "null"]}, "root"),
    ({"type": "object", "properties": []}, "properties must map"),
    ({"type": "object", "properties": {"a": "string"}}, r"properties\.a must be a schema"),
    ({"type": "object", "properties": {"a": {"type": "strnig"}}}, r"properties\.a\.type"),
    ({"type": "object", "required": "a"}, "required must be"),
    ({"type": "object", "properties": {"a": {"enum": []}}}, "enum must be"),
    ({"type": "object", "properties": {"a": {"anyOf": []}}}, "anyOf must be"),
    ({"type": "object", "properties": {"a": {"items": [{}]}}}, "items must be a schema"),
    ({"type": "object", "properties": {"a": {"minItems": -1}}}, "minItems must be"),
    ({"type": "object", "properties": {"a": {"maximum": "9"}}}, "maximum must be"),
    ({"type": "object", "properties": {"a": {"multipleOf": 0}}}, "multipleOf must be"),
    ({"type": "object", "properties": {"a": {"pattern": 1}}}, "pattern must be"),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, "not in this schema"),
    ({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "not in this schema"),
    ({"type": "object", "default": float("nan")}, "plain JSON"),
    ({"type": "object", "title": "\ud800"}, "plain JSON"),
    ({"type": "object", "default": {1}}, "plain JSON"),
    (int, "must be an object, which int is not"),
    (dict, "must be an object"),
    ('{"type": "object"}', "takes a JSON Schema"),
    (Line({"x": 1, "y": 2}), "takes a JSON Schema"),
]


@pytest.mark.parametrize(("wanted", "said"), REFUSED, ids=lambda value: str(value)[:50])
def test_response_schema_when_it_cannot_be_then_refused(wanted: Any, said: str) -> None:
    """At construction, with the place in the schema."""
    with pytest.raises(ConfigError, match="response_schema") as caught:
        AgentConfig(response_schema=wanted)
    assert caught.match(said)


def test_response_schema_when_given_then_is_the_configs_own() -> None:
    """What happens to the mapping afterwards changes nothing, and a copy keeps it."""
    schema = with_member({})
    config = AgentConfig(response_schema=schema)
    schema["type"] = "array"
    assert config.evolve(tool_workers=1).response_schema == with_member({})
    assert AgentConfig(response_schema=Line).response_schema is Line


@pytest.mark.parametrize(
    ("frames", "answer"),
    [
        ([finish(1, "ACTIVE")], None),
        ([finish(1, "ACTIVE"), finish(1, "ERROR")], None),
        ([finish(1, "DONE")], '{"x":1}'),
        ([finish(1, "DONE"), step(2, "", "DONE")], '{"x":1}'),
        ([finish(1, "DONE"), finish(2, "DONE", '{"x":2}')], '{"x":2}'),
        ([finish(1, "DONE", trajectory_id=SUB)], None),
    ],
)
def test_turn_when_it_ends_then_has_the_last_answer_given(
    frames: list[StepFrame], answer: str | None
) -> None:
    """Of the main trajectory, and only one that the harness took; the next turn has none."""
    stage = Stage.of("0.1.22")
    stage.start()
    stage.feed(RUNNING, echo(), *frames, IDLE)
    assert [one.answer for one in stage.done if isinstance(one, EndTurn)] == [answer]
    stage.start(2)
    stage.feed(RUNNING, echo(8), step(9, "plain"), IDLE)
    assert [one.answer for one in stage.done if isinstance(one, EndTurn)] == [answer, None]


def test_answer_when_confirmation_is_asked_for_then_it_has_a_name() -> None:
    """Harness 0.1.5 asks before it takes an answer, which a rule may refuse."""
    waiting = finish(1, "WAITING_FOR_USER", '{"cityName":"a"}', wants_confirmation=True)
    ask = answers.step_ask(waiting)
    assert (ask.name, ask.args, ask.raw_args) == ("finish", {"city_name": "a"}, {"cityName": "a"})
    broken = answers.step_ask(finish(1, "WAITING_FOR_USER", "{", wants_confirmation=True))
    assert (broken.name, broken.raw_args) == ("finish", {"outputString": "{"})


@pytest.mark.parametrize("version", ["0.1.5", "0.1.10", "0.1.22"])
def test_first_message_when_a_type_is_wanted_then_has_its_schema(version: str) -> None:
    """Every version understands the member, so that nothing is dropped."""
    rendered = render_init(
        AgentConfig(response_schema=Point),
        conversation=Conversation(),
        api_key="k",
        app_data_dir="/d",
        dialect=Dialect.of(version),
    )
    sent = json.loads(json.loads(rendered.text)["config"]["finishToolSchemaJson"])
    assert sent == AnswerForm.of(Point).schema
    assert not [path for path in rendered.dropped if "finish" in path]


def test_turn_when_cancelled_with_a_bad_answer_then_it_has_none() -> None:
    """A cancelled turn returns; only one that ended by itself fails for its answer."""
    schema = with_member({"type": "integer"})
    cancelled = TurnEnd(ChatResponse(cancelled=True), answer='{"x": "a"}')
    assert with_answer(cancelled, schema) == cancelled
    failure = with_answer(TurnEnd(ChatResponse(), answer='{"x": "a"}'), schema).failure
    assert failure is not None
    assert (failure.kind, failure.raw) == (FailureKind.UNSTRUCTURED, '{"x": "a"}')


@pytest.mark.parametrize(
    "said",
    [
        "model output error: invalid tool call error (unknown_tool) unknown tool name: `x`",
        "model output error: invalid tool call error (invalid_signature) json: cannot unmarshal",
        "agent executor error: Error 400",
    ],
)
def test_turn_when_it_failed_for_another_reason_then_that_is_said(said: str) -> None:
    """Bad calls of other tools end a turn too, and are no structured answers."""
    end = TurnEnd(ChatResponse(), Failure(FailureKind.TURN, said))
    assert with_answer(end, with_member({})) is end
