"""The bookkeeping of one turn, fed by hand."""

from __future__ import annotations

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import Failure, FailureKind
from antigravity_sync._core.inputs import HaltReason
from antigravity_sync._core.turn import Turn
from antigravity_sync.errors import ModelError, TurnError
from antigravity_sync.events import ErrorRaised, Event, TextDelta, ToolAction
from antigravity_sync.responses import Action, ChatResponse, Usage
from tests.stage import IDLE, MAIN, SUB, echo, failure_step, note, state, step, tool

MAKE = Action("run_command", {"command_line": "make"})


def turn_of(*frames: m.StepFrame, first_index: int = 0) -> tuple[Turn, list[Event]]:
    turn = Turn(1, MAIN, first_index, started_at=10.0)
    return turn, [event for frame in frames for event in turn.take_step(frame)]


def response_of(turn: Turn) -> ChatResponse:
    return turn.respond(now=12.5, usage=None)


def test_steps_when_they_are_outside_the_turns_range_then_they_are_not_its_own() -> None:
    """Neither an earlier turn's steps, nor what comes before the echo, nor the next run's."""
    frames = (step(4, "old"), step(5, "theirs"), echo(6), step(7, "ours"))
    turn, events = turn_of(*frames, first_index=5)
    turn.last_index = 7
    events += turn.take_step(step(8, "next"))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["ours"]
    assert response_of(turn).messages == ("ours",)


def test_echo_when_two_prompts_are_shown_then_the_first_is_ours() -> None:
    """An input of somebody else that joins the run does not move the turn's beginning."""
    turn, _ = turn_of(echo(0), step(1, "one"), echo(2), step(3, "two"))
    assert turn.echo_index == 0
    assert response_of(turn).messages == ("one", "two")


def test_rest_when_no_echo_came_then_what_was_kept_is_shown_at_the_end() -> None:
    """Nothing is lost on a version that would not echo."""
    turn, events = turn_of(step(0, "kept"), step(0, "sub", trajectory_id=SUB))
    assert events == []
    assert [type(event) for event in turn.claim_rest(is_fatal=False)] == [TextDelta, TextDelta]
    assert turn.claim_rest(is_fatal=False) == []


@pytest.mark.parametrize("is_fatal", [True, False])
def test_rest_when_an_error_was_held_then_it_is_shown_unless_it_ended_the_turn(
    is_fatal: bool,
) -> None:
    """The error of a failed turn is its exception; it is not told twice."""
    turn, _ = turn_of(echo(0), failure_step(1, "boom"))
    rest = turn.claim_rest(is_fatal=is_fatal)
    assert [type(event) for event in rest] == ([] if is_fatal else [ErrorRaised])
    assert len(turn.errors) == len(rest)


def test_errors_when_two_follow_each_other_then_the_first_is_told() -> None:
    """An error after an error proves that the first did not end the turn."""
    turn, events = turn_of(
        echo(0), failure_step(1, "Encountered retryable error", 503), failure_step(2, "boom", 400)
    )
    assert [type(error) for error in turn.errors] == [ModelError]
    assert (len(events), turn.http_code) == (1, 400)
    events = turn.take_step(failure_step(3, "worse"))
    assert [str(error) for error in turn.errors] == ["Encountered retryable error", "boom"]
    assert [type(error) for error in turn.errors] == [ModelError, TurnError]
    assert turn.http_code is None


def test_errors_when_a_subagents_follows_the_mains_then_both_are_held() -> None:
    """What befalls a subagent does not tell whether the main agent goes on."""
    sub_error = failure_step(3, "sub stopped", trajectory_id=SUB)
    turn, events = turn_of(echo(0), failure_step(1, "boom", 500), sub_error)
    assert events == []
    assert [e.message for e in turn.take_step(step(2, "on")) if isinstance(e, ErrorRaised)] == [
        "boom",
        "sub stopped",
    ]


@pytest.mark.parametrize(
    ("after", "code"),
    [
        ((), 503),
        ((note(2, "[Message]"),), 503),
        ((step(0, "sub", trajectory_id=SUB),), 503),
        ((failure_step(9, "sub", 400, trajectory_id=SUB),), 503),
        ((step(2, "fine"),), None),
    ],
    ids=["nothing", "system", "subagent", "subagent's error", "model"],
)
def test_http_code_when_the_model_goes_on_then_it_is_forgotten(
    after: tuple[m.StepFrame, ...], code: int | None
) -> None:
    """Only the main model's own output proves that an error was survived."""
    retry = failure_step(1, "Encountered retryable error", 503)
    turn, _ = turn_of(echo(0), retry, *after)
    assert turn.http_code == code


def test_state_when_it_is_taken_in_then_the_last_one_counts() -> None:
    """Idle makes the main trajectory over, anything else not; reasons stay."""
    turn, _ = turn_of(echo(0))
    turn.take_state(state("FULLY_IDLE", stop_reason="STOP_REASON_QUOTA_EXHAUSTED"))
    assert (turn.is_main_over, turn.stop_reason) == (True, "QUOTA_EXHAUSTED")
    turn.take_state(state("RUNNING", stop_reason="STOP_REASON_UNSPECIFIED"))
    assert (turn.is_main_over, turn.last_state) == (False, "STATE_RUNNING")
    assert response_of(turn).stop_reason == "QUOTA_EXHAUSTED"


def test_open_text_when_it_is_cut_then_it_is_open_no_more_and_the_response_incomplete() -> None:
    """Giving a text up is remembered."""
    turn, _ = turn_of(echo(0), step(1, "The", "ACTIVE"), step(0, "s", "ACTIVE", trajectory_id=SUB))
    assert (turn.has_open_text(), response_of(turn).incomplete) == (True, True)
    turn.is_cut = True
    assert (turn.has_open_text(), response_of(turn).incomplete) == (False, True)


@pytest.mark.parametrize(
    ("frames", "has_answer"),
    [
        ((), False),
        ((step(0, "no echo"),), False),
        ((echo(0),), False),
        ((echo(0), step(1, "yes")), True),
        ((echo(0), step(1, "yes"), note(2, "[Message]")), True),
        ((echo(0), step(1, "ye", "ACTIVE")), False),
        ((echo(0), step(1, "yes"), tool(2)), False),
        ((echo(0), step(1, "yes"), tool(2), step(3, "sub", trajectory_id=SUB)), False),
    ],
)
def test_has_answer_when_the_last_thing_is_a_whole_text_then_it_is_there(
    frames: tuple[m.StepFrame, ...], has_answer: bool
) -> None:
    """The only sign of the end that 0.1.9 gives while commands run."""
    assert turn_of(*frames)[0].has_answer() is has_answer


def test_open_steps_when_a_turn_hangs_then_each_has_a_word() -> None:
    """By its action, else by its text."""
    turn, _ = turn_of(echo(0), tool(1), step(2, "Hello" * 20, "ACTIVE"), step(3, "", "ACTIVE"))
    assert turn.open_steps() == ("step 1 runCommand", f"step 2 {'Hello' * 8}", "step 3")


def test_refuse_when_a_step_fails_for_it_then_it_is_not_shown_again() -> None:
    """Each refusal covers one step: of the same trajectory and call, failed with our reason."""
    turn, _ = turn_of(echo(0), tool(1), tool(2), tool(3), tool(4), tool(5, command="other"))
    turn.refuse(MAKE, MAIN, "no")
    ended = [
        tool(1, "DONE"),
        tool(2, "ERROR", error="it broke"),
        tool(5, "ERROR", command="other", error="no"),
        tool(9, "ERROR", trajectory_id=SUB, error="no"),
        tool(3, "ERROR", error="no"),
        tool(4, "ERROR", error="no"),
    ]
    shown = [
        frame.index
        for frame in ended
        for event in turn.take_step(frame)
        if isinstance(event, ToolAction)
    ]
    assert shown == [1, 2, 5, 9, 4]


def test_refuse_when_the_step_shows_less_of_the_call_then_it_is_its_step() -> None:
    """A file that is to be made looks like one that is edited, and not all arguments are there."""
    made = {"action": "editFile", "payload": {"filePath": "file:///w/new"}}
    turn, _ = turn_of(echo(0), tool(1, **made))
    call = Action("create_file", {"target_file": "/w/new", "overwrite": True})
    turn.refuse(call, MAIN, "no")
    assert turn.take_step(tool(1, "ERROR", error="no", **made)) == []


def test_refuse_step_when_it_waits_for_us_then_that_one_is_meant() -> None:
    """By its index, whatever it does and says."""
    turn, _ = turn_of(echo(0), tool(1), tool(2))
    turn.refuse_step(MAIN, 2)
    turn.refuse_step(MAIN, 7)  # one that nobody knows
    assert turn.take_step(tool(2, "ERROR", error="user denied permission")) == []
    assert [type(event) for event in turn.take_step(tool(1, "ERROR"))] == [ToolAction]


@pytest.mark.parametrize(
    ("halt", "is_cancelled", "fails"),
    [
        (None, False, False),
        (HaltReason.CANCELLED, True, False),
        (HaltReason.ABANDONED, True, False),
        (HaltReason.DEADLINE, False, True),
    ],
)
def test_halt_when_it_has_a_reason_then_the_outcome_follows_from_it(
    halt: HaltReason | None, is_cancelled: bool, fails: bool
) -> None:
    """We cancel or we fail, never both."""
    turn, _ = turn_of()
    turn.halt, turn.overdue = halt, Failure(FailureKind.TIMEOUT)
    assert response_of(turn).cancelled is is_cancelled
    assert (turn.halt_failure() is not None) is fails


def test_response_when_it_is_built_then_all_of_it_is_this_turns() -> None:
    """Order of messages is order of steps; thinking and duration are the turn's own."""
    turn, _ = turn_of(
        echo(0),
        step(2, "second"),
        step(1, "first", thinking="hm", thinking_delta="hm"),
        step(0, "sub", trajectory_id=SUB, thinking="no", thinking_delta="no"),
    )
    turn.take_state(IDLE)
    turn.usage_before = Usage(total_tokens=10)
    response = turn.respond(now=12.5, usage=Usage(total_tokens=25), pending=(MAKE,))
    assert (response.messages, response.text) == (("first", "second"), "second")
    assert (response.thoughts, response.duration) == ("hm", 2.5)
    assert (response.usage, response.pending_tasks) == (Usage(total_tokens=15), (MAKE,))
    assert (response.conversation_id, response.stop_reason) == (MAIN, None)
    assert [s.is_main for s in response.steps] == [True, True, True, False]
    assert turn.respond(now=0.0, usage=None).duration == 0.0
