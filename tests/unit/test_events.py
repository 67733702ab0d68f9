"""What a caller sees while a turn runs."""

from __future__ import annotations

import json
import typing
from typing import Any

import attrs
import pytest

from antigravity_sync import Image, events
from antigravity_sync.errors import ToolDispatchError
from antigravity_sync.responses import Action, Allowed, ChatResponse, Denied, Step, ToolCall, Usage
from tests.samples import PNG

#: One of each kind, with something in every field that has a default worth checking.
EXAMPLES: list[events.Event] = [
    events.TextDelta("Hel", trajectory_id="t"),
    events.ThinkingDelta("hm", trajectory_id="t", is_main=False),
    events.ToolAction(Action("view_file", {"path": "/a"}, {"lines": 2}), Denied("private")),
    events.ToolCallDispatched("add", {"a": 1}, "c1"),
    events.ToolCallFinished("add", "c1", {"sum": [1, 2]}, "late"),
    events.QuestionAsked(({"question": "Which?"},)),
    events.UsageUpdated(Usage(prompt_tokens=1)),
    events.Compacted("short"),
    events.ErrorRaised("busy", events.Severity.SEVERE, 503),
    events.UnknownEvent("brandNew", {"x": [1]}),
    events.Finished(
        ChatResponse(
            text="Hello",
            messages=("Hello",),
            tool_calls=(ToolCall("view_file", decision=Denied("private")),),
            steps=(Step(0, "t", True, "MODEL", "USER", "DONE", action=Action("view_file")),),
            errors=(ToolDispatchError("no such tool; add it", name="add"),),
        )
    ),
]


def test_examples_when_a_kind_is_added_then_it_must_be_here() -> None:
    """The examples above cover the union of events."""
    assert {type(event) for event in EXAMPLES} == set(typing.get_args(events.Event))


def test_all_when_listed_then_every_event_is_public() -> None:
    """Every event, and what stands in events, can be imported from the module."""
    names = {kind.__name__ for kind in typing.get_args(events.Event)}
    assert names < set(events.__all__)
    assert set(events.__all__) <= set(dir(events))


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_to_dict_when_written_as_json_then_whole(event: events.Event) -> None:
    """Each event becomes plain data under its name, with every field, fit for JSON."""
    plain = json.loads(json.dumps(event.to_dict()))
    assert plain["event"] == type(event).__name__
    assert set(plain) == {"event", *(field.name for field in attrs.fields(type(event)))}
    assert (plain["trajectory_id"], plain["is_main"]) == (event.trajectory_id, event.is_main)


def of_kind(kind: type[Any]) -> Any:
    return next(event for event in EXAMPLES if type(event) is kind)


def test_to_dict_when_decided_then_allowed_and_denied_differ() -> None:
    """A decision is spelled out; an empty object would not tell which it was."""
    allowed = events.ToolAction(Action("view_file"), Allowed())
    assert allowed.to_dict()["decision"] == {"allowed": True, "reason": ""}
    denied = {"allowed": False, "reason": "private"}
    assert of_kind(events.ToolAction).to_dict()["decision"] == denied
    response = of_kind(events.Finished).to_dict()["response"]
    assert response["tool_calls"][0]["decision"] == denied


def test_to_dict_when_it_holds_errors_then_their_sentences() -> None:
    """Errors and severities become text."""
    assert of_kind(events.ErrorRaised).to_dict()["severity"] == "severe"
    response = of_kind(events.Finished).to_dict()["response"]
    assert list(response["errors"]) == ["no such tool; add it"]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_event_when_assigned_to_then_refused(event: events.Event) -> None:
    """Events are frozen."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.is_main = False  # type: ignore[misc]


def test_event_when_matched_then_fields_bind_by_place_and_name() -> None:
    """Events fit `match`, their own fields by position."""
    match of_kind(events.TextDelta):
        case events.TextDelta(text, trajectory_id=trajectory):
            assert (text, trajectory) == ("Hel", "t")
        case _:
            pytest.fail("no match")


def test_common_fields_when_positional_then_refused() -> None:
    """Where it belongs is given by name, so that kinds can grow fields of their own."""
    with pytest.raises(TypeError):
        events.TextDelta("text", "trajectory")  # type: ignore[misc]


def test_to_dict_when_a_tool_returned_an_image_then_its_size_alone() -> None:
    """Content of files is no JSON, and nothing for a log."""
    picture = Image.from_bytes(PNG)
    event = events.ToolCallFinished(name="shoot", call_id="1", result={"photo": picture})
    photo = {"mime_type": "image/png", "data": f"{len(PNG)} bytes"}
    assert json.loads(json.dumps(event.to_dict()))["result"] == {"photo": photo}
