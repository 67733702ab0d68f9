"""The session, scene by scene, with a clock that is moved by hand."""

from __future__ import annotations

import math

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import CloseLink, Decide, Emit, FailureKind, Lose, Note, Send
from antigravity_sync._core.inputs import (
    Attached,
    CallbackFailed,
    CancelTurn,
    Decided,
    Detach,
    HaltReason,
    HarnessExited,
    InputDropped,
    LinkClosed,
    Shutdown,
)
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.replies import Unheard
from antigravity_sync._core.rules import (
    BREAK_GRACE,
    EXIT_GRACE,
    HALT_GRACE,
    HALT_REPEATS,
    SETTLE_GRACE,
    SETTLE_GRACE_HALTED,
    STRAY_IDLE_GRACE,
)
from antigravity_sync._core.session import Session
from antigravity_sync.events import (
    ErrorRaised,
    Finished,
    Severity,
    TextDelta,
    ToolAction,
    UnknownEvent,
    UsageUpdated,
)
from antigravity_sync.responses import Action, Allowed, Denied, Usage
from tests.stage import (
    IDLE,
    MAIN,
    RUNNING,
    SUB,
    WAITING,
    Stage,
    echo,
    failure_step,
    note,
    rules_of,
    state,
    step,
    tool,
)

PRE_TOOL = m.HookFrame(
    "hook_1",
    "LIFECYCLE_HOOK_PRE_TOOL",
    {"toolName": "run_command", "callId": "call_1", "arguments": {"CommandLine": "make"}},
)
HOOK_KEY = ("hook", "hook_1")
TOOL_CALL = m.ToolCallFrame("call_1", "mine", "{}", {})
MAKE = Action("run_command", {"command_line": "make"})
#: Between two things the harness does at once.
BLINK = 0.001


@pytest.fixture
def stage() -> Stage:
    """Return a session on the newest harness, attached and idle."""
    return Stage.of("0.1.22")


def fatal(message: str = "boom") -> m.StateFrame:
    return state("FULLY_IDLE", error=message)


# -- a plain turn ------------------------------------------------------------------------------


def test_turn_when_all_goes_well_then_the_prompt_goes_out_and_the_answer_comes_back(
    stage: Stage,
) -> None:
    """One prompt, one answer, one end, and the session is idle again."""
    stage.start()
    assert stage.sent == [m.UserInput((m.TextPart("go"),))]
    assert stage.phase is Phase.RUNNING

    stage.feed(RUNNING, echo(), step(1, "Hello ", "ACTIVE"), step(1, "Hello world", delta="world"))
    assert not stage.is_over()
    stage.now += 2.0
    stage.feed(IDLE)

    response = stage.completed()
    assert (response.text, response.messages) == ("Hello world", ("Hello world",))
    assert (response.duration, response.conversation_id) == (2.0, MAIN)
    assert not response.cancelled
    assert not response.incomplete
    assert stage.shown() == "Hello world"
    assert stage.phase is Phase.IDLE
    assert stage.session.next_timer() is None
    assert not any(isinstance(event, Finished) for event in stage.events())  # the caller's side


def test_turn_when_two_follow_each_other_then_neither_has_anything_of_the_other(
    stage: Stage,
) -> None:
    """Step indices go on, responses do not."""
    stage.begin()
    stage.feed(step(1, "one"), IDLE)
    stage.begin(2, index=2)
    stage.feed(step(3, "two"), IDLE)
    assert (stage.completed(1).messages, stage.completed(2).messages) == (("one",), ("two",))
    assert [s.index for s in stage.session.state.history] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        ("fresh", FailureKind.DETACHED),
        ("running", FailureKind.DETACHED),
        ("breaking", FailureKind.DETACHED),
        ("link gone", FailureKind.DETACHED),
        ("detached", FailureKind.DETACHED),
        ("lost", FailureKind.LOST),
        ("closed", FailureKind.CLOSED),
    ],
)
def test_start_when_no_turn_can_begin_then_it_ends_at_once_and_nothing_is_sent(
    phase: str, kind: FailureKind
) -> None:
    """A turn that comes at the wrong moment fails; it is never lost and never sent."""
    stage = Stage() if phase == "fresh" else Stage.of("0.1.22")
    match phase:
        case "running":
            stage.begin(1)
        case "breaking":
            stage.begin(1)
            stage.feed(fatal())
        case "link gone":  # and the turn that ran ended before anybody knew what had happened
            stage.begin(1)
            stage.feed(step(1, "An", "ACTIVE"), IDLE)
            stage.now += SETTLE_GRACE - 0.1
            stage.feed(LinkClosed(None))
            stage.pass_time(0.2)
        case "detached":
            stage.feed(LinkClosed(1000))
        case "lost":
            stage.feed(HarnessExited(1))
        case "closed":
            stage.feed(Shutdown())
    before = len(stage.sent)
    stage.start(9)
    assert stage.failure(9).kind is kind
    assert len(stage.sent) == before


# -- A1: idle before the last frame ------------------------------------------------------------


def test_idle_when_it_comes_before_the_last_frame_then_the_text_is_whole(stage: Stage) -> None:
    """The turn waits for the open text, and the next turn sees nothing of it (A1)."""
    stage.begin()
    stage.feed(step(1, "The", "ACTIVE"), IDLE)
    assert stage.phase is Phase.SETTLING
    stage.pass_time(0.005)
    stage.feed(step(1, "The answer is 4.", delta=" answer is 4."))

    response = stage.completed()
    assert (response.text, response.incomplete) == ("The answer is 4.", False)
    assert stage.shown() == "The answer is 4."
    stage.begin(2, index=2)
    stage.feed(step(3, "own"), IDLE)
    assert stage.completed(2).messages == ("own",)


def test_idle_when_the_last_frame_never_comes_then_the_partial_text_is_flagged(
    stage: Stage,
) -> None:
    """After the grace the turn ends with what there is, incomplete; late frames go nowhere (A1)."""
    stage.begin()
    stage.feed(step(1, "The", "ACTIVE"), IDLE)
    stage.pass_time(SETTLE_GRACE - BLINK)
    assert not stage.is_over()
    stage.pass_time(BLINK)
    assert (stage.completed().text, stage.completed().incomplete) == ("The", True)

    stage.start(2)
    stage.feed(step(1, "The answer is 4.", delta=" answer is 4."), RUNNING, echo(2))
    stage.feed(step(3, "own"), IDLE)
    assert (stage.completed(2).messages, stage.shown(2)) == (("own",), "own")


def test_idle_when_the_next_run_begins_meanwhile_then_nothing_of_it_is_the_turns(
    stage: Stage,
) -> None:
    """A run that starts while a last frame is awaited is background, with its steps."""
    stage.begin()
    stage.feed(step(1, "The", "ACTIVE"), IDLE, RUNNING, note(2, "wake up"), step(3, "other"))
    assert not stage.is_over()
    stage.feed(step(1, "The end.", delta=" end."))
    assert stage.completed().messages == ("The end.",)
    assert stage.phase is Phase.BACKGROUND
    stage.feed(IDLE)
    assert stage.phase is Phase.IDLE


@pytest.mark.parametrize("error", ["", "other run failed"])
def test_idle_when_another_run_ends_meanwhile_then_the_turn_is_not_touched_by_how(
    stage: Stage, error: str
) -> None:
    """A second idle in the grace is another run's; only its failure cuts the wait short."""
    stage.begin()
    stage.feed(step(1, "The", "ACTIVE"), IDLE, RUNNING, state("FULLY_IDLE", error=error))
    assert stage.is_over() is bool(error)
    stage.pass_time(SETTLE_GRACE)
    assert (stage.completed().text, stage.completed().incomplete) == ("The", True)
    if error:
        stage.pass_time(BREAK_GRACE)
        assert stage.phase is Phase.BREAKING
        assert stage.all(CloseLink)
    else:
        assert stage.phase is Phase.IDLE


# -- A2: names of the end ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "states",
    [
        (state("IDLE"),),
        (state("FULLY_IDLE"),),
        (state("FOO"), state("FULLY_IDLE")),
    ],
    ids=["old name", "new name", "after an unknown one"],
)
def test_end_when_it_has_any_known_name_then_the_turn_is_complete(
    stage: Stage, states: tuple[m.StateFrame, ...]
) -> None:
    """Both spellings of idle end a turn, and an unknown state before them is no end (A2 a-c)."""
    stage.begin()
    stage.feed(step(1, "done"), *states[:-1])
    assert not stage.is_over()
    stage.feed(states[-1])
    assert stage.completed().text == "done"


def test_end_when_only_an_unknown_state_comes_then_the_timeout_names_it(stage: Stage) -> None:
    """A renamed end shows up in the error that it causes (A2 d)."""
    stage.begin(timeout=10.0)
    foo = m.UnknownFrame("newEvent", {"a": 1})
    stage.feed(step(1, "done"), state("FOO"), state("FOO"), foo)
    stage.pass_time(10.0)
    stage.feed(IDLE)

    failure = stage.failure()
    assert failure.kind is FailureKind.TIMEOUT
    assert failure.unknown_states == ("STATE_FOO", "newEvent")
    assert failure.message == "STATE_FOO"
    assert UnknownEvent("newEvent", {"a": 1}) in stage.events()
    assert stage.response().text == "done"


def test_idle_when_it_is_not_the_main_trajectorys_then_the_turn_goes_on(stage: Stage) -> None:
    """A subagent's idle, clean, failed or cancelled, ends nothing, even one seen first (A10)."""
    stage.start()
    stage.feed(state("RUNNING", SUB), state("FULLY_IDLE", SUB))
    stage.feed(RUNNING, echo(), step(0, "sub text", trajectory_id=SUB))
    for name in ("FULLY_IDLE", "CANCELLED", "IDLE"):
        stage.feed(state(name, SUB, error="sub failed"))
    stage.feed(failure_step(1, "sub failed", 500, trajectory_id=SUB))
    assert not stage.is_over()
    stage.feed(step(1, "main"), IDLE)
    assert stage.completed().messages == ("main",)


def test_idle_when_it_comes_long_after_the_last_step_then_it_still_ends_the_turn(
    stage: Stage,
) -> None:
    """Silence between the last step and the idle changes nothing (A10)."""
    stage.begin()
    stage.feed(step(1, "done"))
    stage.pass_time(250.0)
    assert not stage.is_over()
    stage.feed(IDLE)
    assert stage.completed().text == "done"


# -- A8, A12: what counts as the answer --------------------------------------------------------


def test_text_when_other_steps_speak_then_only_model_to_user_counts(stage: Stage) -> None:
    """Prompt, environment, subagent, system, error and finish are steps, not answers (A8)."""
    stage.begin()
    stage.feed(
        step(1, "env", target=m.TO_ENVIRONMENT),
        step(1, "env", trajectory_id=SUB),
        note(2, "[Message] wake"),
        step(3, "for the model", target=m.TO_MODEL),
        step(4, "oops", "ERROR"),
        step(5, "Finished", action="finish", payload={"outputString": "{}"}),
        step(6, "the answer"),
        IDLE,
    )
    assert stage.completed().messages == ("the answer",)
    assert stage.shown() == "the answer"
    assert len([s for s in stage.completed().steps if s.is_main]) == 7


def test_turn_when_the_model_says_nothing_then_it_is_complete_and_empty(stage: Stage) -> None:
    """Only a refused call and no text is a valid, empty answer (A12)."""
    stage.begin()
    refused = {"error": "denied by pre-tool hook: no"}
    stage.feed(tool(1), step(1, "denied", "ERROR", **refused), IDLE)
    response = stage.completed()
    assert (response.text, response.messages, response.incomplete) == ("", (), False)
    assert [call.name for call in response.tool_calls] == ["run_command"]


# -- errors ------------------------------------------------------------------------------------


def test_failure_when_the_idle_carries_an_error_then_the_link_is_broken_and_resumed(
    stage: Stage,
) -> None:
    """The turn fails with the harness's words and code; the next turn needs a new connection."""
    stage.begin()
    stage.feed(failure_step(1, "quota", 429), fatal("quota exceeded"))
    failure = stage.failure()
    assert (failure.kind, failure.message, failure.http_code) == (
        FailureKind.MODEL,
        "quota exceeded",
        429,
    )
    assert stage.phase is Phase.BREAKING
    assert not any(isinstance(e, ErrorRaised) for e in stage.events())
    assert stage.response().errors == ()

    stage.pass_time(BREAK_GRACE)
    assert [link.is_forced for link in stage.all(CloseLink)] == [False]
    stage.pass_time(BREAK_GRACE)
    assert [link.is_forced for link in stage.all(CloseLink)] == [False, True]
    stage.pass_time(60.0)
    assert len(stage.all(CloseLink)) == 2
    stage.feed(LinkClosed(1000))
    assert stage.phase is Phase.DETACHED
    stage.attach()
    stage.begin(2, index=2)
    stage.feed(step(3, "better"), IDLE)
    assert stage.completed(2).text == "better"


def test_failure_when_the_harness_closes_by_itself_then_we_close_nothing(stage: Stage) -> None:
    """The usual course: the harness's close comes within the grace."""
    stage.begin()
    stage.feed(fatal())
    assert stage.failure().kind is FailureKind.TURN
    stage.pass_time(0.01)
    stage.feed(LinkClosed(1000))
    stage.pass_time(60.0)
    assert stage.phase is Phase.DETACHED
    assert stage.all(CloseLink) == []


def test_failure_when_the_link_just_drops_while_breaking_then_it_is_detached_at_once(
    stage: Stage,
) -> None:
    """A broken connection that goes without a close frame needs no second look."""
    stage.begin()
    stage.feed(fatal(), LinkClosed(None))
    assert stage.phase is Phase.DETACHED


def test_frames_when_the_link_is_breaking_then_nothing_is_answered(stage: Stage) -> None:
    """No answer and no input goes out on a connection that is given up."""
    stage.begin()
    stage.feed(PRE_TOOL, fatal())
    before = len(stage.sent)
    stage.feed(TOOL_CALL, m.HookFrame("hook_9", "LIFECYCLE_HOOK_POST_TURN"), IDLE, RUNNING)
    stage.feed(m.PolicyFrame("7"), Decided(HOOK_KEY, Allowed()), fatal())
    stage.start(2)
    assert len(stage.sent) == before
    assert stage.phase is Phase.BREAKING
    assert stage.failure(2).kind is FailureKind.DETACHED


def test_severe_error_when_the_turn_goes_on_then_it_is_shown_then(stage: Stage) -> None:
    """An error is held until the main trajectory does something after it."""
    stage.begin()
    stage.feed(failure_step(1, "bad output", 0))
    stage.feed(failure_step(1, "bad output", 0), step(0, "sub", trajectory_id=SUB), RUNNING)
    assert not any(isinstance(e, ErrorRaised) for e in stage.events())

    stage.feed(step(2, "recovered", "ACTIVE"))
    (raised,) = (e for e in stage.events() if isinstance(e, ErrorRaised))
    assert (raised.message, raised.severity) == ("bad output", Severity.SEVERE)
    stage.feed(step(2, "recovered", delta=""), IDLE)
    assert [str(error) for error in stage.completed().errors] == ["bad output"]


def test_severe_error_when_the_turn_ends_well_right_after_then_it_is_not_swallowed(
    stage: Stage,
) -> None:
    """A clean idle proves that the error was none to end the turn; it is told with the rest."""
    stage.begin()
    stage.feed(step(1, "answer"), failure_step(2, "compaction failed"), IDLE)
    assert [str(error) for error in stage.completed().errors] == ["compaction failed"]
    assert isinstance(stage.events()[-1], ErrorRaised)


def test_retry_when_the_model_recovers_then_its_code_is_not_blamed_for_a_later_failure(
    stage: Stage,
) -> None:
    """A status belongs to the error that ended the turn, not to one that was survived."""
    stage.begin()
    retry = "Encountered retryable error from model provider: 503"
    stage.feed(failure_step(1, retry, 503))
    (raised,) = (e for e in stage.events() if isinstance(e, ErrorRaised))
    assert raised.severity is Severity.TRANSIENT
    stage.feed(step(2, "fine"), fatal("MCP load failed for bad"))
    assert (stage.failure().kind, stage.failure().http_code) == (FailureKind.TURN, None)


def test_retry_when_it_is_the_last_word_then_its_code_is_the_failures(stage: Stage) -> None:
    """Retries that run out leave their own status."""
    stage.begin()
    stage.feed(failure_step(1, "Encountered retryable error", 503), fatal("gave up"))
    assert (stage.failure().kind, stage.failure().http_code) == (FailureKind.MODEL, 503)


def test_state_when_running_carries_an_error_then_the_turn_goes_on(stage: Stage) -> None:
    """RUNNING with an error is noted and ends nothing."""
    stage.begin()
    stage.feed(state("RUNNING", error="trigger failed"))
    assert any("trigger failed" in n.text and n.is_warning for n in stage.all(Note))
    stage.feed(step(1, "done"), IDLE)
    assert stage.completed().text == "done"


def test_cancelled_when_the_prompt_was_denied_then_the_turn_failed_as_denied(
    stage: Stage,
) -> None:
    """A denial comes before any sign of the prompt, and with its reason."""
    stage.start()
    stage.feed(state("CANCELLED", error="not this"))
    assert (stage.failure().kind, stage.failure().message) == (FailureKind.DENIED, "not this")
    assert stage.phase is Phase.IDLE


def test_cancelled_when_the_harness_gives_no_reason_then_it_was_its_own_doing(
    stage: Stage,
) -> None:
    """Without our halt and without a reason the harness itself has cancelled."""
    stage.begin()
    stage.feed(state("CANCELLED"))
    assert stage.failure().kind is FailureKind.CANCELLED_BY_HARNESS


def test_stop_reason_when_the_harness_has_one_then_the_response_has_it(stage: Stage) -> None:
    """A spent budget is an answer with a reason."""
    stage.begin()
    reason = "STOP_REASON_MAX_MODEL_CALLS_EXCEEDED"
    stage.feed(step(1, "so far"), state("FULLY_IDLE", stop_reason=reason))
    assert stage.completed().stop_reason == "MAX_MODEL_CALLS_EXCEEDED"


# -- halting -----------------------------------------------------------------------------------


def test_cancel_when_the_harness_obeys_then_the_turn_returns_its_partial_text(
    stage: Stage,
) -> None:
    """Idle after our halt is the end of a cancelled turn."""
    stage.begin()
    stage.feed(step(1, "par", "ACTIVE"))
    stage.cancel(1)
    assert (stage.phase, stage.halts) == (Phase.HALTING, 1)
    stage.feed(step(1, "partial", delta="tial"), IDLE)
    response = stage.completed()
    assert (response.cancelled, response.text, response.incomplete) == (True, "partial", False)
    assert stage.phase is Phase.IDLE


def test_cancel_when_the_last_frame_never_comes_then_the_open_text_is_kept(stage: Stage) -> None:
    """Interrupted steps often stay open; that holds a cancelled turn up for a moment only."""
    stage.begin()
    stage.feed(step(1, "par", "ACTIVE"))
    stage.cancel()
    stage.feed(IDLE)
    assert not stage.is_over()
    stage.pass_time(SETTLE_GRACE_HALTED)
    response = stage.completed()
    assert (response.cancelled, response.text, response.incomplete) == (True, "par", True)


def test_cancel_when_it_is_repeated_or_idle_or_for_another_turn_then_nothing_happens(
    stage: Stage,
) -> None:
    """Cancelling is idempotent and never hits a turn it was not meant for."""
    assert stage.cancel() == []
    stage.begin(2)
    assert stage.cancel(1) == []
    stage.cancel(2)
    assert stage.cancel(2) == []
    stage.feed(CancelTurn(2, HaltReason.ABANDONED))
    assert stage.halts == 1


def test_cancel_when_the_answer_is_complete_then_the_completion_wins(stage: Stage) -> None:
    """A halt that comes after the idle is too late to make the turn a cancelled one."""
    stage.begin()
    stage.feed(step(1, "The", "ACTIVE"), IDLE)
    stage.cancel(1)
    assert stage.halts == 0
    stage.feed(step(1, "The end.", delta=" end."))
    assert not stage.completed().cancelled


def test_halt_when_output_runs_past_it_then_it_is_repeated_within_bounds(stage: Stage) -> None:
    """0.1.10 ignores a halt that comes with the prompt; output that goes on gets another."""
    stage.start()
    stage.cancel()
    stage.feed(RUNNING)
    assert stage.halts == 2
    stage.feed(echo())
    assert stage.halts == 2
    stage.feed(step(1, "a", "ACTIVE"))
    assert stage.halts == 3
    for _ in range(3 * HALT_REPEATS):
        stage.feed(step(1, "a", "ACTIVE", delta=""))
    assert stage.halts == HALT_REPEATS


def test_halt_when_nothing_answers_then_the_connection_is_given_up(stage: Stage) -> None:
    """After two seconds the turn returns cancelled and the link is closed (0.1.10 with tasks)."""
    stage.begin()
    stage.feed(step(1, "par", "ACTIVE"))
    stage.cancel()
    stage.pass_time(HALT_GRACE - BLINK)
    assert not stage.is_over()
    stage.pass_time(BLINK)
    assert (stage.completed().cancelled, stage.completed().text) == (True, "par")
    assert (stage.phase, len(stage.all(CloseLink))) == (Phase.BREAKING, 1)
    stage.pass_time(BREAK_GRACE)
    assert stage.all(CloseLink)[-1].is_forced
    stage.feed(LinkClosed(1000))
    assert stage.phase is Phase.DETACHED


def test_halt_when_the_halted_turn_fails_then_it_is_cancelled_and_the_link_broken(
    stage: Stage,
) -> None:
    """An error that a halt provokes is no failure, but the harness closes all the same."""
    stage.begin()
    stage.cancel()
    stage.feed(fatal("context canceled"))
    assert stage.completed().cancelled
    assert stage.phase is Phase.BREAKING


def test_halt_when_the_harness_says_cancelled_then_so_it_was(stage: Stage) -> None:
    """The other terminal state after our halt is our cancellation too."""
    stage.begin()
    stage.cancel()
    stage.feed(state("CANCELLED"))
    assert stage.completed().cancelled


def test_halt_when_a_foreign_run_is_hit_first_then_our_prompt_is_halted_too(
    stage: Stage,
) -> None:
    """An idle before the echo may be another run's: what then starts is halted again."""
    stage.feed(RUNNING, step(0, "background", "ACTIVE"))
    stage.start()
    stage.cancel()
    stage.feed(IDLE)
    assert not stage.is_over()
    stage.feed(RUNNING, echo(1))
    assert stage.halts == 2
    stage.feed(IDLE)
    assert stage.completed().cancelled
    assert stage.phase is Phase.IDLE


def test_halt_when_the_echo_trails_the_idle_then_the_turn_ends_with_it(stage: Stage) -> None:
    """So it goes when the halt comes before the prompt is shown (real 0.1.5, 0.1.10, 0.1.22)."""
    stage.start()
    stage.cancel()
    stage.feed(RUNNING, IDLE, echo())
    assert (stage.completed().cancelled, stage.phase, stage.halts) == (True, Phase.IDLE, 2)
    stage.begin(2, index=1)
    stage.feed(step(2, "next"), IDLE)
    assert stage.completed(2).messages == ("next",)


def test_halt_when_no_echo_ever_comes_then_the_turn_ends_after_a_moment(stage: Stage) -> None:
    """A prompt that the halt overtook leaves nothing behind and nobody waiting."""
    stage.start()
    stage.cancel()
    stage.feed(IDLE)
    stage.pass_time(SETTLE_GRACE_HALTED)
    assert (stage.completed().cancelled, stage.phase) == (True, Phase.IDLE)


# -- the deadline ------------------------------------------------------------------------------


def test_deadline_when_it_passes_then_halt_drain_and_failure_with_the_partial(
    stage: Stage,
) -> None:
    """The turn is halted, what comes still is taken in, and the failure says what was open."""
    stage.begin(timeout=5.0)
    stage.feed(tool(1), step(2, "par", "ACTIVE"))
    stage.pass_time(5.0)
    assert (stage.phase, stage.halts) == (Phase.HALTING, 1)
    stage.feed(step(2, "partial", delta="tial"), IDLE)
    failure = stage.failure()
    assert failure.kind is FailureKind.TIMEOUT
    assert failure.waiting_for == ("step 1 runCommand", "step 2 par")
    response = stage.response()
    assert (response.text, response.cancelled, stage.phase) == ("partial", False, Phase.IDLE)


@pytest.mark.parametrize(
    ("ask", "word"),
    [(PRE_TOOL, "hook run_command"), (TOOL_CALL, "tool call mine")],
    ids=["hook", "tool"],
)
def test_deadline_when_an_ask_holds_the_turn_then_the_failure_names_it(
    stage: Stage, ask: m.PeerFrame, word: str
) -> None:
    """The error of a hung turn says what nobody has decided."""
    stage.begin(timeout=5.0)
    stage.feed(ask)
    stage.pass_time(5.0)
    stage.feed(IDLE)
    assert stage.failure().waiting_for == (word,)


def test_deadline_when_nothing_answers_the_halt_then_it_is_a_timeout_all_the_same(
    stage: Stage,
) -> None:
    """Two seconds after the deadline the turn is over whatever the harness does."""
    stage.begin(timeout=5.0)
    stage.pass_time(5.0 + HALT_GRACE)
    assert stage.failure().kind is FailureKind.TIMEOUT
    assert stage.phase is Phase.BREAKING


def test_deadline_when_it_passes_after_a_cancel_then_it_prevails(stage: Stage) -> None:
    """A deadline outranks our own cancellation."""
    stage.begin(timeout=1.0)
    stage.cancel()
    stage.pass_time(1.0)
    stage.feed(IDLE)
    assert stage.failure().kind is FailureKind.TIMEOUT
    assert not stage.response().cancelled


def test_deadline_when_the_turn_was_abandoned_then_nobody_is_told_of_it(stage: Stage) -> None:
    """Whoever left does not wait for a timeout."""
    stage.begin(timeout=1.0)
    stage.feed(CancelTurn(1, HaltReason.ABANDONED))
    stage.pass_time(1.0)
    stage.feed(IDLE)
    assert stage.completed().cancelled


@pytest.mark.parametrize("end", ["cancelled", "failed", "detached"])
def test_deadline_when_the_halted_turn_ends_badly_then_it_is_still_a_timeout(
    stage: Stage, end: str
) -> None:
    """However a turn ends that we stopped for its deadline, the deadline is why."""
    stage.begin(timeout=1.0)
    stage.pass_time(1.0)
    ends = {"cancelled": state("CANCELLED"), "failed": fatal(), "detached": LinkClosed(1000)}
    stage.feed(ends[end])
    assert stage.failure().kind is FailureKind.TIMEOUT


def test_deadline_when_the_answer_is_complete_then_it_no_longer_counts(stage: Stage) -> None:
    """An end that was reported in time needs no halt while its last frame is awaited."""
    stage.begin(timeout=1.0)
    stage.feed(step(1, "The", "ACTIVE"), IDLE)
    stage.pass_time(1.0)
    assert stage.halts == 0
    stage.feed(step(1, "The end.", delta=" end."))
    assert stage.completed().text == "The end."


# -- whose output is it ------------------------------------------------------------------------


def test_idle_when_it_comes_before_the_echo_then_it_is_not_our_end(stage: Stage) -> None:
    """The end of a run that crossed our prompt ends nothing."""
    stage.feed(RUNNING)
    stage.start()
    stage.feed(step(0, "theirs"), IDLE)
    stage.pass_time(STRAY_IDLE_GRACE - BLINK)
    assert not stage.is_over()
    stage.feed(RUNNING, echo(1))
    stage.pass_time(60.0)
    stage.feed(step(2, "ours"), IDLE)
    assert (stage.completed().messages, stage.shown()) == (("ours",), "ours")


def test_idle_when_our_output_follows_it_then_the_turn_goes_on(stage: Stage) -> None:
    """Output after the echo proves that the idle before it was another run's."""
    stage.start()
    stage.feed(IDLE, echo(), step(1, "ou", "ACTIVE"))
    stage.pass_time(60.0)
    assert not stage.is_over()
    stage.feed(step(1, "ours", delta="rs"), IDLE)
    assert stage.completed().text == "ours"


def test_idle_when_only_the_echo_follows_it_then_it_may_have_been_our_end(stage: Stage) -> None:
    """The echo may trail the idle of its own run, so the turn does not wait for ever."""
    stage.start()
    stage.feed(RUNNING, IDLE, echo())
    stage.pass_time(STRAY_IDLE_GRACE - BLINK)
    assert not stage.is_over()
    stage.pass_time(BLINK)
    assert [s.index for s in stage.completed().steps] == [0]


def test_idle_when_no_echo_ever_comes_then_what_there_is_is_ours(stage: Stage) -> None:
    """A turn without an echo ends after a grace and keeps what it was given meanwhile."""
    stage.start()
    stage.feed(RUNNING, step(0, "no echo"))
    assert stage.shown() == ""
    stage.feed(IDLE)
    stage.pass_time(STRAY_IDLE_GRACE)
    assert (stage.completed().text, stage.shown()) == ("no echo", "no echo")


def test_output_when_it_comes_before_the_echo_then_it_is_not_ours(stage: Stage) -> None:
    """Text, errors, subagents and calls of a foreign run are neither shown nor told."""
    stage.feed(RUNNING)
    stage.start()
    stage.feed(
        step(0, "their text", "ACTIVE"),
        step(9, "their sub", trajectory_id=SUB),
        tool(1, "DONE"),
        failure_step(2, "Encountered retryable error", 503),
        failure_step(3, "their failure", 500),
        echo(4),
        step(5, "ours"),
        IDLE,
    )
    response = stage.completed()
    assert response.messages == ("ours",)
    assert (response.tool_calls, response.errors) == ((), ())
    assert [type(event) for event in stage.events()] == [TextDelta]
    assert [s.index for s in response.steps] == [4, 5]


def test_echo_when_it_trails_what_a_callback_raised_then_that_is_told(stage: Stage) -> None:
    """0.1.22 has asked about a call before it showed the prompt that led to it."""
    oops = ValueError("oops")
    stage.start()
    stage.feed(RUNNING)
    stage.feed(CallbackFailed(oops))
    stage.feed(failure_step(0, "their failure", 503), echo(1), step(2, "ours"), IDLE)
    assert stage.completed().errors == (oops,)


def test_frames_when_they_are_an_earlier_turns_then_they_are_not_ours(stage: Stage) -> None:
    """A lower index is an earlier turn's, whenever it comes."""
    stage.begin()
    stage.feed(step(1, "one", "ACTIVE"))
    stage.cancel()
    stage.feed(IDLE)
    stage.pass_time(SETTLE_GRACE_HALTED)
    stage.begin(2, index=2)
    stage.feed(step(1, "one and a half", delta=" and a half"), echo(0), step(3, "two"), IDLE)
    assert (stage.completed(2).messages, stage.shown(2)) == (("two",), "two")


def test_run_when_nobody_waits_for_it_then_it_is_history_and_not_idle(stage: Stage) -> None:
    """Unsolicited runs are taken in, and their asks answered."""
    assert stage.session.is_idle
    stage.feed(RUNNING, note(0, "[Message] wake up"), step(1, "wo", "ACTIVE"), step(1, "woke"))
    assert (stage.phase, stage.session.is_idle) == (Phase.BACKGROUND, False)
    stage.feed(TOOL_CALL, Decided(("tool", "call_1"), Denied("no tools")), RUNNING, IDLE)
    assert stage.sent == [m.ToolAnswer("call_1", error="no tools")]
    assert [s.text for s in stage.session.state.history] == ["[Message] wake up", "woke"]
    assert stage.phase is Phase.IDLE


def test_run_when_nobody_waited_for_it_and_it_fails_then_the_link_is_broken(
    stage: Stage,
) -> None:
    """The harness closes after any failure, so the session does not start anything on it."""
    stage.feed(RUNNING, fatal("trigger failed"))
    assert (stage.phase, stage.all(CloseLink)) == (Phase.BREAKING, [])
    stage.pass_time(BREAK_GRACE)
    assert [link.is_forced for link in stage.all(CloseLink)] == [False]
    assert any(n.is_warning for n in stage.all(Note))


def test_run_when_it_is_cancelled_with_a_reason_then_the_link_lives(stage: Stage) -> None:
    """A denied trigger is no failure of the session."""
    stage.feed(RUNNING, state("CANCELLED", error="denied"))
    assert stage.phase is Phase.IDLE


# -- background commands -----------------------------------------------------------------------


def test_tasks_when_the_harness_waits_for_them_then_the_turn_ends_after_the_wait(
    stage: Stage,
) -> None:
    """A finished answer waits for commands for a while and returns with them pending."""
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(59.0)
    assert not stage.is_over()
    stage.pass_time(1.0)
    response = stage.completed()
    assert (response.text, response.pending_tasks) == ("started", (MAKE,))
    assert (stage.phase, stage.halts) == (Phase.BACKGROUND, 0)


def test_tasks_when_the_turn_is_cancelled_meanwhile_then_the_wait_is_off(stage: Stage) -> None:
    """A halted turn ends by its halt, not by the wait that ran."""
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(59.5)
    stage.cancel()
    stage.pass_time(1.0)
    assert not stage.is_over()
    stage.feed(IDLE)
    assert stage.completed().cancelled


def test_tasks_when_an_earlier_turn_has_waited_then_the_next_ends_at_once(stage: Stage) -> None:
    """What one turn has waited for holds up no other, unless something new runs."""
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(60.0)
    stage.begin(2, index=3)
    stage.feed(step(4, "hi"), WAITING)
    stage.pass_time(0.0)
    assert stage.completed(2).pending_tasks == (MAKE,)

    stage.begin(3, index=5)
    stage.feed(tool(6, command="sleep"), step(7, "both"), WAITING)
    stage.pass_time(59.0)
    assert not stage.is_over(3)
    stage.pass_time(1.0)
    assert len(stage.completed(3).pending_tasks) == 2


def test_tasks_when_they_end_in_time_then_the_turn_goes_on_to_its_end(stage: Stage) -> None:
    """The harness runs again by itself, and the answer to that belongs to the turn."""
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(30.0)
    stage.feed(tool(1, "DONE"), RUNNING, note(3, "[Message] done"), step(4, "it is done"))
    stage.pass_time(100.0)
    assert not stage.is_over()
    stage.feed(IDLE)
    response = stage.completed()
    assert (response.messages, response.pending_tasks) == (("started", "it is done"), ())


def test_tasks_when_they_show_no_step_then_the_turn_waits_all_the_same(stage: Stage) -> None:
    """A schedule runs without a step that could be counted; the state alone says so (31f)."""
    stage.begin()
    stage.feed(step(1, "scheduled"), WAITING)
    stage.pass_time(2.0)
    assert not stage.is_over()
    stage.feed(RUNNING, note(2, "[Message] wake"), step(3, "woke"), IDLE)
    assert stage.completed().messages == ("scheduled", "woke")


def test_tasks_when_the_wait_is_endless_then_nobody_is_ever_woken_for_it() -> None:
    """`task_wait=None` sets no timer that a queue would have to wait for."""
    stage = Stage.of("0.1.22", task_wait=math.inf)
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    assert stage.session.next_timer() is None


def test_tasks_when_another_runs_state_comes_before_the_echo_then_the_turn_goes_on(
    stage: Stage,
) -> None:
    """WAITING_FOR_TASKS of the run before cannot end a turn that has not begun."""
    stage.begin()
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(60.0)
    stage.start(2)
    stage.feed(WAITING)
    stage.pass_time(10.0)
    assert not stage.is_over(2)


def test_tasks_when_the_deadline_passes_then_the_answer_is_not_thrown_away(stage: Stage) -> None:
    """A turn whose answer is there is complete, not timed out."""
    stage.begin(timeout=10.0)
    stage.feed(tool(1), step(2, "started"), WAITING)
    stage.pass_time(10.0)
    assert stage.completed().pending_tasks == (MAKE,)


def test_tasks_when_the_main_trajectory_is_idle_then_none_is_pending_any_more(
    stage: Stage,
) -> None:
    """A halted command may never show its last frame; idle says that it is gone."""
    stage.begin()
    stage.feed(tool(1))
    stage.cancel()
    stage.feed(IDLE)
    stage.begin(2, index=2)
    stage.feed(step(3, "started"), WAITING)
    stage.pass_time(60.0)
    assert stage.completed(2).pending_tasks == ()


def test_silent_tasks_when_the_answer_is_there_then_the_turn_ends_after_the_wait() -> None:
    """0.1.9 says nothing while commands run; a finished answer is the only sign."""
    stage = Stage.of("0.1.9")
    stage.begin()
    stage.feed(tool(1), step(2, "a word first"))
    stage.pass_time(59.0)
    stage.feed(tool(3, "DONE", command="ls"))
    stage.pass_time(59.0)
    assert not stage.is_over()
    stage.feed(step(4, "started"))
    stage.pass_time(60.0)
    assert stage.completed().messages == ("a word first", "started")
    assert stage.phase is Phase.BACKGROUND


def test_silent_tasks_when_an_old_one_runs_then_a_word_before_a_call_ends_nothing() -> None:
    """On 0.1.9 the next turn waits a moment: more may follow what looks like the answer."""
    stage = Stage.of("0.1.9")
    stage.begin()
    stage.feed(tool(1), step(2, "started"))
    stage.pass_time(60.0)
    assert stage.is_over()
    stage.begin(2, index=3)
    stage.feed(step(4, "let me see"))
    stage.pass_time(0.5)
    stage.feed(tool(5, command="ls"), tool(5, "DONE", command="ls"), step(6, "answer"))
    assert not stage.is_over(2)
    stage.pass_time(SETTLE_GRACE)
    assert stage.completed(2).messages == ("let me see", "answer")


# -- up to 0.1.7 -------------------------------------------------------------------------------


def test_old_idle_when_a_command_runs_then_the_turn_waits_for_the_run_after_it() -> None:
    """Up to 0.1.7 the main trajectory is idle while a command runs, and then runs again."""
    stage = Stage.of("0.1.5")
    stage.begin()
    stage.feed(tool(1), step(2, "started"), state("IDLE"))
    stage.pass_time(30.0)
    assert (stage.phase, stage.is_over()) == (Phase.RUNNING, False)
    stage.feed(tool(1, "DONE"), RUNNING, note(3, "[Message] done"), step(4, "done"), state("IDLE"))
    assert stage.completed().messages == ("started", "done")


def test_old_idle_when_the_command_outlives_the_wait_then_it_is_pending() -> None:
    """The turn returns with it, and a later turn does not wait for it again."""
    stage = Stage.of("0.1.5")
    stage.begin()
    stage.feed(tool(1), step(2, "started"), state("IDLE"))
    stage.feed(tool(1))  # a sign of life that is no sign of the model's
    stage.pass_time(60.0)
    assert (stage.completed().pending_tasks, stage.phase) == ((MAKE,), Phase.IDLE)
    stage.begin(2, index=3)
    stage.feed(step(4, "hi"), state("IDLE"))
    assert stage.completed(2).pending_tasks == (MAKE,)


def test_old_idle_when_the_command_failed_then_nothing_is_waited_for() -> None:
    """On some versions an error takes the place of the action; the command is over all the same."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(tool(1), step(1, "denied", "ERROR", error="denied"), step(2, "ok"), state("IDLE"))
    assert stage.completed().pending_tasks == ()


def test_old_idle_when_a_subagent_runs_then_the_turn_waits_for_it() -> None:
    """Up to 0.1.7 the turn ends with its last subagent."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), state("RUNNING", "sub-2"), step(1, "main"), state("IDLE"))
    stage.pass_time(250.0)
    stage.feed(state("IDLE", SUB), step(0, "sub", trajectory_id="sub-2"))
    assert (stage.phase, stage.is_over()) == (Phase.SETTLING, False)
    stage.feed(state("CANCELLED", "sub-2"))
    assert stage.completed().messages == ("main",)


def test_old_idle_when_the_main_runs_again_then_its_earlier_idle_is_void() -> None:
    """A command of an earlier turn may wake the main agent while a subagent holds the turn."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), step(1, "early"), state("IDLE"), RUNNING)
    stage.feed(state("IDLE", SUB), step(2, "late", "ACTIVE"))
    assert (stage.phase, stage.is_over()) == (Phase.RUNNING, False)
    stage.feed(step(2, "late", delta=""), state("IDLE"))
    assert stage.completed().messages == ("early", "late")


def test_old_idle_when_the_main_runs_again_then_the_grace_for_its_text_is_off() -> None:
    """A turn that goes on is not cut off by the wait that its earlier idle began."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(step(1, "fir", "ACTIVE"), IDLE, RUNNING)
    stage.pass_time(10 * SETTLE_GRACE)
    assert (stage.phase, stage.is_over()) == (Phase.RUNNING, False)
    stage.feed(step(1, "first", delta="st"), step(2, "second"), IDLE)
    assert stage.completed().messages == ("first", "second")


def test_old_subagent_when_its_connection_is_gone_then_it_holds_no_later_turn() -> None:
    """What ran on the old connection sends no news on the new one."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), tool(1), LinkClosed(1000))
    stage.attach()
    stage.begin(2, index=2)
    stage.feed(step(3, "hi"), IDLE)
    assert stage.completed(2).pending_tasks == ()


def test_old_idle_when_text_is_open_and_a_subagent_runs_then_both_are_waited_for() -> None:
    """The grace for the text does not cut the subagent off, nor the text hold the turn for ever."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), step(1, "cut", "ACTIVE"), state("IDLE"))
    stage.pass_time(SETTLE_GRACE + 10.0)
    assert not stage.is_over()
    stage.feed(state("IDLE", SUB))
    assert (stage.completed().text, stage.completed().incomplete) == ("cut", True)


@pytest.mark.parametrize("last", ["DONE", "ACTIVE"])
def test_old_idle_when_a_command_and_a_subagent_run_then_the_wait_ends_only_the_first(
    last: str,
) -> None:
    """After `task_wait` the turn still waits for its subagent, up to its deadline."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), tool(1), step(2, "both", last), state("IDLE"))
    stage.pass_time(60.0)
    assert (stage.phase, stage.is_over()) == (Phase.SETTLING, False)
    stage.feed(state("IDLE", SUB))
    assert stage.completed().pending_tasks == (MAKE,)
    assert stage.completed().incomplete is (last == "ACTIVE")


@pytest.mark.parametrize("with_command", [False, True])
@pytest.mark.parametrize("why", ["deadline", "cancel"])
def test_old_idle_when_a_subagent_holds_the_turn_then_it_can_still_be_stopped(
    why: str, with_command: bool
) -> None:
    """Deadline and cancel reach a turn whose main trajectory is idle already."""
    stage = Stage.of("0.1.7")
    stage.begin(timeout=20.0)
    command = [tool(1)] if with_command else []
    stage.feed(state("RUNNING", SUB), *command, step(2, "main"), state("IDLE"))
    if why == "deadline":
        stage.pass_time(20.0)
    else:
        stage.cancel(1)
    assert (stage.phase, stage.halts) == (Phase.HALTING, 1)
    stage.feed(state("IDLE", SUB))
    (end,) = stage.ends()
    if why == "deadline":
        assert end.failure is not None
        assert end.failure.kind is FailureKind.TIMEOUT
    else:
        assert end.response.cancelled
    assert stage.phase is Phase.IDLE


def test_old_halt_when_a_subagent_does_not_stop_then_the_turn_ends_all_the_same() -> None:
    """A halted turn waits for nobody longer than a moment; a deadline meanwhile is told."""
    stage = Stage.of("0.1.7")
    stage.begin(timeout=0.2)
    stage.feed(state("RUNNING", SUB), step(1, "par", "ACTIVE"))
    stage.cancel()
    stage.feed(state("IDLE"))
    assert stage.phase is Phase.SETTLING
    stage.cancel()
    stage.pass_time(SETTLE_GRACE_HALTED)
    assert stage.halts == 1
    assert stage.failure().kind is FailureKind.TIMEOUT


# -- asks --------------------------------------------------------------------------------------


def test_ask_when_it_needs_a_decision_then_it_is_asked_for_and_sent_once(stage: Stage) -> None:
    """A decision makes one answer; a second decision and a re-delivered ask make none."""
    stage.begin()
    stage.feed(PRE_TOOL, PRE_TOOL)
    assert stage.to_decide == [HOOK_KEY]
    stage.feed(Decided(HOOK_KEY, Allowed()), Decided(HOOK_KEY, Denied("late")), PRE_TOOL)
    answers = [send for send in stage.all(Send) if send.ask is not None]
    assert answers == [
        Send(m.HookAnswer("hook_1", "LIFECYCLE_HOOK_PRE_TOOL", allowed=True), HOOK_KEY)
    ]
    assert stage.to_decide == [HOOK_KEY]


def test_ask_when_a_step_waits_on_several_frames_then_it_is_one_ask() -> None:
    """On 0.1.5 one waiting step asks for a confirmation, then for answers: two asks in all."""
    stage = Stage.of("0.1.5")
    stage.begin()
    waiting = {"state": "WAITING_FOR_USER", "target": m.TO_ENVIRONMENT}
    confirm = step(1, "", wants_confirmation=True, **waiting)
    asking = step(1, "", questions=({}, {}), **waiting)
    stage.feed(confirm, confirm, asking, asking)
    keys = [("confirmation", MAIN, "1"), ("questions", MAIN, "1")]
    assert stage.to_decide == keys
    stage.feed(*(Decided(key, Unheard()) for key in keys))
    assert stage.sent[1:] == [
        m.Confirmation(MAIN, 1, accepted=True),
        m.QuestionsAnswer(MAIN, 1, (m.WireAnswer(), m.WireAnswer())),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        step(1, "cancelled", "ERROR", questions=({},)),
        step(1, "answered", "DONE", questions=({},)),
        step(1, "", "WAITING_FOR_USER"),
    ],
    ids=["failed", "done", "for nothing"],
)
def test_ask_when_the_step_does_not_wait_for_an_answer_then_none_is_sent(
    stage: Stage, frame: m.StepFrame
) -> None:
    """An answer to a step that is not waiting kills the session."""
    stage.begin()
    stage.feed(frame)
    assert len(stage.sent) == 1


def test_ask_when_a_hook_has_no_taker_then_it_gets_the_empty_answer_and_a_warning(
    stage: Stage,
) -> None:
    """Whatever carries an id is answered; only what somebody should have wanted is warned of."""
    stage.begin()
    stage.feed(
        m.HookFrame("hook_0", "LIFECYCLE_HOOK_ON_SESSION_START"),
        m.HookFrame("hook_2", "LIFECYCLE_HOOK_BRAND_NEW"),
        m.UnknownFrame("newRequest", {}, "r1"),
    )
    stage.feed(*(Decided(key, Unheard()) for key in stage.to_decide))
    assert [a.request_id for a in stage.sent if isinstance(a, m.HookAnswer)] == [
        "hook_0",
        "hook_2",
        "r1",
    ]
    warned = [n.text for n in stage.all(Note) if n.is_warning]
    assert ["BRAND_NEW" in text or "newRequest" in text for text in warned] == [True, True]


def test_ask_when_it_comes_after_a_halt_then_it_is_forgotten_and_the_halt_repeated(
    stage: Stage,
) -> None:
    """Tool hooks die with the halted turn; stop and post-turn hooks are awaited even then."""
    stage.begin()
    stage.feed(PRE_TOOL)
    stage.cancel()
    stage.feed(Decided(HOOK_KEY, Allowed()))
    assert stage.halts == len(stage.sent) - 1 == 1
    stage.feed(TOOL_CALL)
    assert stage.halts == 2
    stage.feed(Decided(("tool", "call_1"), Denied("x")))
    stage.feed(m.HookFrame("hook_5", "LIFECYCLE_HOOK_STOP"))
    assert stage.to_decide == [HOOK_KEY, ("hook", "hook_5")]
    stage.feed(Decided(("hook", "hook_5"), Unheard()))
    assert [a for a in stage.sent if isinstance(a, m.HookAnswer | m.ToolAnswer)] == [
        m.HookAnswer("hook_5", "LIFECYCLE_HOOK_STOP")
    ]


def test_ask_when_its_run_ends_undecided_then_a_late_decision_is_not_sent(stage: Stage) -> None:
    """A stale answer kills the session, so an idle withdraws what its run had asked."""
    stage.begin()
    stage.feed(TOOL_CALL, step(1, "never mind"), IDLE)
    assert stage.feed(Decided(("tool", "call_1"), Denied("late"))) == []


def test_ask_when_an_old_subagent_has_it_then_the_mains_idle_does_not_withdraw_it() -> None:
    """Up to 0.1.7 subagents run on after the main trajectory's idle, and so do their asks."""
    stage = Stage.of("0.1.7")
    stage.begin()
    stage.feed(state("RUNNING", SUB), PRE_TOOL, state("IDLE"))
    assert stage.feed(Decided(HOOK_KEY, Allowed())) != []


def test_ask_when_the_connection_is_new_then_the_same_id_is_a_new_ask(stage: Stage) -> None:
    """Series of ids begin anew with each connection."""
    stage.begin()
    stage.feed(PRE_TOOL, Decided(HOOK_KEY, Allowed()), LinkClosed(1000))
    stage.attach()
    stage.feed(PRE_TOOL)
    assert stage.to_decide == [HOOK_KEY, HOOK_KEY]


def test_denial_when_it_is_sent_then_the_caller_sees_the_call_and_the_reason(
    stage: Stage,
) -> None:
    """A refused call is shown once, as refused."""
    stage.begin()
    stage.feed(PRE_TOOL, Decided(HOOK_KEY, Denied("not here")))
    stage.feed(step(1, "denied", "ERROR", error="not here"), step(2, "ok"), IDLE)
    shown = [e for e in stage.events() if isinstance(e, ToolAction)]
    assert [(e.action, e.decision) for e in shown] == [(MAKE, Denied("not here"))]
    (call,) = stage.completed().tool_calls
    assert (call.name, call.decision, call.error, call.call_id) == (
        "run_command",
        Denied("not here"),
        "not here",
        "call_1",
    )


@pytest.mark.parametrize(("asker", "where"), [("", MAIN), (MAIN, MAIN), (SUB, SUB)])
def test_denial_when_a_subagent_asked_then_it_is_shown_as_its_own(
    stage: Stage, asker: str, where: str
) -> None:
    """Where a version does not say who asks, it is taken for the main agent."""
    stage.begin()
    args = {"toolName": "view_file", "trajectoryId": asker}
    stage.feed(m.PolicyFrame("1", args=args), Decided(("policy", "1"), Denied("no")))
    (shown,) = (e for e in stage.events() if isinstance(e, ToolAction))
    assert (shown.trajectory_id, shown.is_main) == (where, where == MAIN)
    stage.feed(IDLE)
    (refused,) = stage.completed().tool_calls
    assert (refused.trajectory_id, refused.is_main) == (where, where == MAIN)


def test_denial_when_the_call_already_has_a_step_then_it_is_not_shown_a_second_time() -> None:
    """On 0.1.5 and 0.1.6 the step comes before the question, and ends in an error of its own."""
    stage = Stage.of("0.1.5")
    stage.begin()
    waiting = {"state": "WAITING_FOR_USER", "wants_confirmation": True}
    stage.feed(tool(1, **waiting), tool(2, **waiting))
    first, second = stage.to_decide
    stage.feed(Decided(first, Denied("no")), Decided(second, Allowed()))
    stage.feed(tool(1, "ERROR", error="User denied"), tool(2, "DONE"), state("IDLE"))
    shown = [e.decision for e in stage.events() if isinstance(e, ToolAction)]
    assert shown == [Denied("no"), Allowed()]
    assert len(stage.completed().tool_calls) == 2


def test_decision_when_no_turn_runs_then_it_is_sent_and_shown_to_nobody(stage: Stage) -> None:
    """A background run is governed like any other."""
    stage.feed(RUNNING, PRE_TOOL, Decided(HOOK_KEY, Denied("no")))
    assert stage.sent == [m.HookAnswer("hook_1", "LIFECYCLE_HOOK_PRE_TOOL", False, "no")]
    assert stage.all(Emit) == []


# -- usage -------------------------------------------------------------------------------------


def test_usage_when_it_is_cumulative_then_the_turn_has_its_share(stage: Stage) -> None:
    """Totals before the idle are the turn's, later ones belong to whoever runs then."""
    stage.begin()
    stage.feed(m.UsageFrame(Usage(total_tokens=15)), step(1, "one"), IDLE)
    assert stage.completed().usage == Usage(total_tokens=15)
    assert UsageUpdated(Usage(total_tokens=15), trajectory_id=MAIN) in stage.events()
    stage.feed(m.UsageFrame(Usage(total_tokens=20)))
    assert stage.all(Emit)[-1].turn_id == 1
    stage.begin(2, index=2)
    stage.feed(m.UsageFrame(Usage(total_tokens=50)), step(3, "two"), IDLE)
    assert stage.completed(2).usage == Usage(total_tokens=30)
    stage.begin(3, index=4)
    stage.feed(step(5, "three"), IDLE)
    assert stage.completed(3).usage == Usage()


def test_usage_when_the_conversation_is_resumed_then_what_came_before_is_not_the_turns() -> None:
    """The init answer of a resumed conversation brings the old totals."""
    stage = Stage(rules_of("0.1.22"))
    old = m.UsageFrame(Usage(total_tokens=60))
    stage.feed(Attached(m.InitFrame(MAIN, (echo(0), step(1, "old")), old)))
    stage.begin(index=2)
    stage.feed(m.UsageFrame(Usage(total_tokens=75)), step(3, "new"), IDLE)
    assert stage.completed().usage == Usage(total_tokens=15)
    assert [(s.text, s.is_main) for s in stage.session.state.initial_history] == [
        ("go", True),
        ("old", True),
    ]
    assert stage.completed().messages == ("new",)
    assert stage.session.state.history_count == 4


# -- loss and close ----------------------------------------------------------------------------


def test_link_when_it_closes_in_a_turn_then_the_turn_fails_and_the_session_is_detached(
    stage: Stage,
) -> None:
    """A close frame in the middle of a turn fails it at once, with its code."""
    stage.begin()
    stage.feed(step(1, "par", "ACTIVE"), LinkClosed(1011))
    failure = stage.failure()
    assert (failure.kind, failure.close_code) == (FailureKind.DETACHED, 1011)
    assert (stage.response().text, stage.phase) == ("par", Phase.DETACHED)


def test_link_when_it_drops_and_the_process_is_gone_then_the_loss_has_its_code(
    stage: Stage,
) -> None:
    """A connection without a close frame waits for news of the process."""
    stage.begin()
    stage.feed(LinkClosed(None))
    assert not stage.is_over()
    stage.pass_time(EXIT_GRACE / 2)
    stage.feed(HarnessExited(-9))
    assert (stage.failure().kind, stage.failure().exit_code) == (FailureKind.LOST, -9)
    assert [lose.failure for lose in stage.all(Lose)] == [stage.failure()]
    assert stage.phase is Phase.LOST
    assert stage.session.next_timer() is None


def test_link_when_it_drops_and_the_process_lives_then_the_session_is_detached(
    stage: Stage,
) -> None:
    """No news within the grace is good news: the conversation can be resumed."""
    stage.begin()
    stage.feed(LinkClosed(None))
    stage.pass_time(EXIT_GRACE)
    assert (stage.failure().kind, stage.phase) == (FailureKind.DETACHED, Phase.DETACHED)


def test_link_when_it_is_gone_then_nothing_more_is_taken_in_or_sent(stage: Stage) -> None:
    """While news of the process is awaited the session neither hears nor speaks."""
    stage.begin(timeout=0.1)
    stage.feed(PRE_TOOL, LinkClosed(None))
    before = len(stage.sent)
    stage.feed(TOOL_CALL, IDLE, Decided(HOOK_KEY, Allowed()), LinkClosed(1000))
    stage.pass_time(0.1)
    assert len(stage.sent) == before
    assert stage.to_decide == [HOOK_KEY]
    stage.pass_time(EXIT_GRACE)
    assert stage.failure().kind is FailureKind.TIMEOUT


@pytest.mark.parametrize("reason", [HaltReason.CANCELLED, HaltReason.ABANDONED])
def test_link_when_it_closes_on_a_halted_turn_then_that_was_cancelled(
    stage: Stage, reason: HaltReason
) -> None:
    """Nobody is told of a broken connection who wanted the turn gone."""
    stage.begin()
    stage.feed(CancelTurn(1, reason), LinkClosed(1000))
    assert stage.completed().cancelled


def test_link_when_it_drops_between_turns_then_the_next_caller_can_attach(stage: Stage) -> None:
    """An idle session that loses its connection is broken, then detached."""
    stage.feed(LinkClosed(None))
    assert stage.phase is Phase.BREAKING
    stage.pass_time(EXIT_GRACE)
    assert stage.phase is Phase.DETACHED
    stage.feed(LinkClosed(1000), HarnessExited(0), HarnessExited(1))
    assert (stage.phase, len(stage.all(Lose))) == (Phase.LOST, 1)


def test_input_when_it_was_dropped_then_the_turn_fails_with_the_harnesss_line(
    stage: Stage,
) -> None:
    """A prompt that the harness did not understand hangs nobody."""
    stage.start()
    stage.feed(InputDropped("Failed to send InputEvent: unknown field"))
    failure = stage.failure()
    assert failure.kind is FailureKind.INPUT_DROPPED
    assert failure.message.endswith("unknown field")
    assert len(stage.all(CloseLink)) == 1
    stage.feed(InputDropped("again"))
    assert [n.text for n in stage.all(Note) if n.is_warning] == [
        "the harness dropped a message: again"
    ]


@pytest.mark.parametrize(
    ("begin", "halts"),
    [((), 0), ((RUNNING,), 1)],
    ids=["idle", "background"],
)
def test_shutdown_when_nobody_waits_then_only_a_run_is_halted(
    stage: Stage, begin: tuple[m.StateFrame, ...], halts: int
) -> None:
    """Closing stops what runs and says nothing otherwise."""
    stage.feed(*begin, Shutdown())
    assert (stage.halts, stage.phase) == (halts, Phase.CLOSED)
    assert stage.feed(Shutdown(), HarnessExited(0), RUNNING, Attached(m.InitFrame(MAIN))) == []


def test_shutdown_when_a_turn_runs_then_it_is_halted_and_fails_as_closed(stage: Stage) -> None:
    """Whoever waits is told that the agent was closed."""
    stage.begin(timeout=5.0)
    stage.feed(PRE_TOOL, Shutdown())
    assert (stage.failure().kind, stage.halts) == (FailureKind.CLOSED, 1)
    assert stage.session.next_timer() is None
    assert stage.feed(Decided(HOOK_KEY, Allowed())) == []


def test_shutdown_when_the_turn_was_halted_then_no_second_halt_goes_out(stage: Stage) -> None:
    """One halt is enough."""
    stage.begin()
    stage.cancel()
    stage.feed(Shutdown())
    assert (stage.halts, stage.failure().kind) == (1, FailureKind.CLOSED)


def test_session_when_it_is_made_then_it_is_fresh_and_idle() -> None:
    """Nothing has happened yet."""
    session = Session(rules_of("0.1.22"))
    assert (session.phase, session.is_idle, session.next_timer()) == (Phase.FRESH, True, None)


def test_attach_when_it_is_not_the_first_then_the_first_history_stands(stage: Stage) -> None:
    """A reconnect replays what is known already; only the step indices go on from it."""
    stage.feed(LinkClosed(1000))
    stage.attach(echo(0), step(1, "old"), step(9, "sub", trajectory_id=SUB))
    assert stage.session.state.initial_history == ()
    assert stage.session.state.history_count == 0
    assert stage.session.state.last_index == 1


@pytest.mark.parametrize("begin", [(), (RUNNING,)], ids=["idle", "background"])
def test_detach_when_another_conversation_is_opened_then_nothing_of_the_first_is_left(
    stage: Stage, begin: tuple[m.StateFrame, ...]
) -> None:
    """The new one has its own trajectory, history, usage and step indices."""
    stage.begin()
    stage.feed(m.UsageFrame(Usage(total_tokens=15)), step(1, "one"), IDLE, *begin, Detach())
    assert (stage.phase, len(stage.all(CloseLink))) == (Phase.BREAKING, 1)
    stage.feed(LinkClosed(1000))
    counted = stage.session.state.history_count
    old = echo(0, trajectory_id="other")
    stage.feed(Attached(m.InitFrame("other", (old,)), is_new=True))
    state_ = stage.session.state
    assert [s.trajectory_id for s in state_.history] == ["other"]
    assert state_.history_count > counted
    assert (state_.usage.total, state_.last_index) == (None, 0)

    stage.start(2)
    stage.feed(echo(1, trajectory_id="other"), step(2, "two", trajectory_id="other"), IDLE)
    assert not stage.is_over(2)  # the idle is the old trajectory's
    stage.feed(state("FULLY_IDLE", "other"))
    assert stage.completed(2).messages == ("two",)
    assert stage.completed(2).conversation_id == "other"


def test_detach_when_a_turn_runs_or_nothing_is_connected_then_it_does_nothing(
    stage: Stage,
) -> None:
    """Only a session that nobody waits for lets its connection go."""
    stage.begin()
    assert stage.feed(Detach()) == []
    stage.feed(LinkClosed(1000))
    assert stage.feed(Detach()) == []
    assert stage.phase is Phase.DETACHED


def test_history_when_it_is_full_then_the_oldest_steps_go() -> None:
    """What is kept is bounded, what was counted is not."""
    stage = Stage.of("0.1.22", max_history=3)
    stage.begin()
    stage.feed(*(step(index, "x") for index in range(1, 5)), IDLE)
    assert [s.index for s in stage.session.state.history] == [2, 3, 4]
    assert stage.session.state.history_count == 5


def test_decide_when_it_is_asked_for_then_it_carries_the_call(stage: Stage) -> None:
    """What is to be decided stands in the action."""
    stage.begin()
    stage.feed(PRE_TOOL)
    (decide,) = stage.all(Decide)
    assert (decide.ask.name, decide.ask.args) == ("run_command", {"command_line": "make"})
