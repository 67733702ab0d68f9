"""One step as it grows, and what it does in the one spelling over all versions."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from antigravity_sync import _messages as m
from antigravity_sync._arguments import plain_path, snake_case
from antigravity_sync._core.steps import StepRecord, error_text, is_text_frame
from antigravity_sync._core.toolsteps import mcp_action, read_action
from antigravity_sync.events import (
    Compacted,
    ErrorRaised,
    Event,
    Severity,
    TextDelta,
    ThinkingDelta,
    ToolAction,
)
from antigravity_sync.responses import Action
from tests.stage import MAIN, SUB, echo, failure_step, note, step, tool


def play(*frames: m.StepFrame, is_main: bool = True) -> tuple[StepRecord, list[Event]]:
    record = StepRecord(is_main, frames[0])
    events = [event for frame in frames for event in record.take(frame)]
    return record, events


# -- text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "deltas"),
    [
        ([("Hello", "Hello")], ["Hello"]),
        ([("Hel", "Hel"), ("Hello", "lo")], ["Hel", "lo"]),
        ([("Hel", "Hel"), ("Hel", "Hel"), ("Hello", "lo")], ["Hel", "lo"]),
        ([("Hel", "Hel"), ("Hello", "")], ["Hel", "lo"]),
        ([("Hel", "Hel"), ("Hello", "o")], ["Hel", "lo"]),
        ([("Hel", "Hel"), ("other", "")], ["Hel"]),
        ([("", "Hel"), ("", "lo")], ["Hel", "lo"]),
        ([("", ""), ("", "")], []),
    ],
    ids=[
        *("one frame", "growing", "one frame twice", "undeclared end", "lost frame"),
        *("replaced", "deltas alone", "empty"),
    ],
)
def test_text_when_frames_repeat_or_miss_some_then_it_is_what_was_shown(
    frames: list[tuple[str, str]], deltas: list[str]
) -> None:
    """Whichever of whole text and delta a frame has right, deltas and text agree."""
    *growing, last = frames
    record, events = play(
        *(step(1, whole, "ACTIVE", delta) for whole, delta in growing),
        step(1, last[0], "DONE", last[1]),
    )
    assert [event.text for event in events if isinstance(event, TextDelta)] == deltas
    assert record.text == "".join(deltas)


def test_thinking_when_it_shares_a_step_with_text_then_they_are_apart() -> None:
    """One step, two kinds of deltas."""
    record, events = play(
        step(1, "", "ACTIVE", thinking="hm", thinking_delta="hm"),
        step(1, "", "ACTIVE", thinking="hmm", thinking_delta="m"),
        step(1, "yes", thinking="hmm"),
    )
    assert events == [
        ThinkingDelta("hm", trajectory_id=MAIN),
        ThinkingDelta("m", trajectory_id=MAIN),
        TextDelta("yes", trajectory_id=MAIN),
    ]
    assert (record.thinking, record.text) == ("hmm", "yes")


@pytest.mark.parametrize(
    "frame",
    [
        echo(1),
        note(1, "x"),
        step(1, "x", target=m.TO_ENVIRONMENT),
        step(1, "x", target=m.TO_MODEL),
        step(1, "x", action="finish"),
        step(1, "x", "ERROR"),
        step(1, "x", error="boom"),
        step(1, "x", request_text="may I?"),
    ],
    ids=["user", "system", "environment", "model", "action", "failed", "error", "request"],
)
def test_text_when_a_frame_is_no_text_for_the_user_then_the_step_never_is(
    frame: m.StepFrame,
) -> None:
    """A step that was ever something else says nothing, whatever it says later."""
    assert not is_text_frame(frame)
    record, events = play(frame, step(1, "x and more"))
    assert (record.text, record.is_text) == ("", False)
    assert not any(isinstance(event, TextDelta) for event in events)


def test_step_when_it_is_a_subagents_then_its_events_say_so() -> None:
    """Where an event comes from is in the event."""
    _, events = play(step(1, "x", trajectory_id=SUB), is_main=False)
    assert events == [TextDelta("x", trajectory_id=SUB, is_main=False)]


# -- what it does ------------------------------------------------------------------------------


def test_action_when_the_step_ends_then_it_is_shown_once() -> None:
    """Intermediate frames and a second last frame show nothing."""
    done = tool(1, "DONE", payload={"commandLine": "make", "exitCode": 0, "combinedOutput": "ok"})
    _, events = play(tool(1), tool(1), done, done)
    args, result = {"command_line": "make"}, {"exit_code": 0, "combined_output": "ok"}
    assert events == [ToolAction(Action("run_command", args, result), trajectory_id=MAIN)]


def test_action_when_the_last_frame_no_longer_has_it_then_it_is_remembered() -> None:
    """On some versions an error takes the action's place; the error is then its result."""
    record, events = play(tool(1), step(1, "", "ERROR", error="no such thing"))
    action = Action("run_command", {"command_line": "make"}, {"error": "no such thing"})
    assert events == [ToolAction(action, trajectory_id=MAIN)]
    assert record.step().action == action


def test_action_when_it_was_refused_then_it_is_not_shown_again() -> None:
    """Whoever refused it has shown it."""
    record, _ = play(tool(1))
    record.is_refused = True
    assert record.take(tool(1, "ERROR")) == []


@pytest.mark.parametrize(
    ("action", "payload", "expected"),
    [
        (
            "viewFile",
            {"filePath": "file:///w/a%20b.txt", "startLine": 0},
            Action("view_file", {"absolute_path": "/w/a b.txt", "start_line": 0}),
        ),
        (
            "listDirectory",
            {"directoryPath": "/w", "results": []},
            Action("list_directory", {"directory_path": "/w"}, {"results": []}),
        ),
        (
            "mcpTool",
            {"serverName": "git", "toolName": "push", "argumentsJson": "{}"},
            mcp_action("git", "push", {}),
        ),
        (
            "mcpTool",
            {"serverName": "git", "toolName": "push", "argumentsJson": '{"filePath": "file:///x"}'},
            mcp_action("git", "push", {"filePath": "file:///x"}),
        ),
        (
            "mcpTool",
            {"serverName": "git", "toolName": "push", "argumentsJson": "[1", "isNew": True},
            attrs.evolve(
                mcp_action("git", "push", {"arguments": "[1"}),
                extra={"server_name": "git", "tool_name": "push", "is_new": True},
            ),
        ),
        ("mcpTool", {"serverName": 1}, mcp_action("", "", {})),
        (
            "invokeSubagent",
            {"typeName": "coder"},
            Action("start_subagent", {"type_name": "coder"}, subagent_name="coder"),
        ),
        ("invokeSubagent", {"name": 5}, Action("start_subagent", {"name": 5})),
        (
            "deleteEverything",
            {"rootPath": "/"},
            Action("deleteEverything", extra={"rootPath": "/"}),
        ),
        ("", {}, None),
        ("finish", {"outputString": "{}"}, None),
        ("customTool", {}, None),
        ("compaction", {}, None),
    ],
)
def test_read_action_when_a_step_acts_then_name_args_and_result_are_ours(
    action: str, payload: dict[str, Any], expected: Action | None
) -> None:
    """One spelling for what the wire says in eighteen ways; an unknown one keeps what it has."""
    assert read_action(step(1, action=action, payload=payload)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("commandLine", "command_line"),
        ("CommandLine", "command_line"),
        ("StartLine2Go", "start_line2_go"),
        ("cwd", "cwd"),
        ("already_snake", "already_snake"),
    ],
)
def test_snake_case_when_any_spelling_is_given_then_it_is_ours(name: str, expected: str) -> None:
    """Both of the harness's spellings lead to one."""
    assert snake_case(name) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("file:///w/a%C3%A9", "/w/aé"),
        ("file://host/w", "file://host/w"),
        ("file:///w?x", "file:///w?x"),
        ("file:///w/%ZZ", "file:///w/%ZZ"),
        (["file:///w", 5], ["/w", 5]),
        ("/w/plain%20", "/w/plain%20"),
        ("http://x/y", "http://x/y"),
        (5, 5),
        ("file://[", "file://["),  # a model can write that, and it is no URI
    ],
)
def test_plain_path_when_it_is_a_file_uri_then_it_is_the_path(
    value: object, expected: object
) -> None:
    """Only what is a URI of a file is changed."""
    assert plain_path(value) == expected


# -- errors and the public form ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "severity"),
    [
        ("Encountered retryable error from model provider: 503", Severity.TRANSIENT),
        ("The model produced an invalid tool call. (unknown_tool)", Severity.TRANSIENT),
        ("quota exceeded", Severity.SEVERE),
    ],
)
def test_error_when_the_system_reports_one_then_its_severity_is_told(
    message: str, severity: Severity
) -> None:
    """What the harness will try again by itself is transient."""
    _, events = play(failure_step(1, message, 503))
    assert events == [ErrorRaised(message, severity, 503, trajectory_id=MAIN)]


def test_error_when_a_tool_step_fails_then_it_is_no_error_of_the_turn() -> None:
    """A refused or failed call is data."""
    _, events = play(step(1, "denied", "ERROR", error="denied"))
    assert events == []


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (step(1, "short and long", "ERROR", source=m.SYSTEM, error="short"), "short and long"),
        (failure_step(1, "short"), "short"),
        (step(1, "the text", "ERROR", error="the error"), "the error"),
        (step(1, "the text", "ERROR"), "the text"),
    ],
)
def test_error_text_when_there_are_two_then_the_fuller_is_taken(
    frame: m.StepFrame, text: str
) -> None:
    """System steps spell the error out in their text."""
    assert error_text(frame) == text


def test_compaction_when_it_ends_then_it_is_an_event_of_its_own() -> None:
    """It is neither a tool nor an answer."""
    active = step(1, "Context compaction", "ACTIVE", source=m.SYSTEM, action="compaction")
    done = step(1, "Context compaction", source=m.SYSTEM, action="compaction")
    _, events = play(active, done)
    assert events == [Compacted("Context compaction", trajectory_id=MAIN)]


def test_step_when_it_is_shown_then_the_wires_prefixes_are_gone() -> None:
    """The public form has plain words, and error and status only when it failed."""
    record, _ = play(failure_step(3, "boom", 429, extra={"new": 1}))
    public = record.step()
    assert (public.index, public.source, public.target) == (3, "SYSTEM", "USER")
    assert (public.state, public.error, public.http_code) == ("ERROR", "boom", 429)
    assert public.extra == {"new": 1}
    record, _ = play(step(4, "fine", http_code=0))
    assert (record.step().error, record.step().http_code) == ("", None)
