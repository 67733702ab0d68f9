"""Turns that an automated trigger begins: what is sent, and which frames are theirs."""

from __future__ import annotations

import json
import math

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._clock import Deadline, ManualClock
from antigravity_sync._core.inputs import StartTurn
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.rules import SETTLE_GRACE_HALTED
from antigravity_sync._runtime.live_turn import LiveTurn
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.encode import encode
from antigravity_sync.events import TextDelta
from tests.stage import IDLE, MAIN, RUNNING, Stage, echo, note, step

ECHO = "[Message] timestamp=2026-01-01 sender=automated_trigger priority=HIGH content=wake up"


def begin(stage: Stage, turn_id: int = 1) -> None:
    stage.feed(StartTurn(turn_id, (), stage.now, math.inf, "wake up"))


@pytest.mark.parametrize("version", ["0.1.5", "0.1.10", "0.1.22"])
def test_trigger_when_encoded_then_one_string(version: str) -> None:
    """Every version spells it the same."""
    frame = encode(m.AutomatedTrigger("wake up"), Dialect.of(version))
    assert json.loads(frame) == {"automatedTrigger": "wake up"}


def test_trigger_turn_when_begun_then_the_trigger_is_sent_and_its_answer_is_its_own() -> None:
    """The step that shows the trigger is the echo; what follows is the response."""
    stage = Stage.of("0.1.22")
    begin(stage)
    assert stage.sent == [m.AutomatedTrigger("wake up")]
    stage.feed(RUNNING, note(0, ECHO), step(1, "awake"), IDLE)
    assert stage.completed().text == "awake"


def test_trigger_turn_when_another_run_ends_first_then_its_text_is_not_the_answer() -> None:
    """What comes before the echo is somebody else's, its end included."""
    stage = Stage.of("0.1.22")
    begin(stage)
    stage.feed(RUNNING, step(0, "old news"), IDLE)
    assert not stage.is_over()
    stage.feed(RUNNING, note(1, ECHO), step(2, "awake"), IDLE)
    response = stage.completed()
    assert response.messages == ("awake",)


def test_trigger_turn_when_a_message_only_quotes_the_mark_then_it_is_no_echo() -> None:
    """The mark counts before the content, not in it."""
    stage = Stage.of("0.1.22")
    begin(stage)
    quoted = "[Message] sender=system content=sender=automated_trigger"
    stage.feed(RUNNING, note(0, quoted), IDLE)
    assert not stage.is_over()


def test_trigger_turn_when_halted_and_run_again_then_that_is_halted_too() -> None:
    """0.1.22 runs the message once more by itself; a prompt sent into that run would be lost."""
    stage = Stage.of("0.1.22")
    begin(stage)
    stage.feed(RUNNING, note(0, ECHO))
    stage.cancel()
    assert stage.halts == 1
    stage.feed(IDLE, RUNNING)
    assert not stage.is_over()
    assert stage.halts == 2
    stage.feed(IDLE)
    stage.pass_time(SETTLE_GRACE_HALTED)
    response = stage.completed()
    assert (response.cancelled, response.text) == (True, "")
    assert stage.phase is Phase.IDLE


def test_trigger_turn_when_halted_then_it_ends_a_moment_after_the_idle() -> None:
    """Where nothing is run again, and only a trigger's: a caller's ends with the idle."""
    stage = Stage.of("0.1.22")
    begin(stage)
    stage.feed(RUNNING, note(0, ECHO))
    stage.cancel()
    stage.feed(IDLE)
    assert not stage.is_over()
    stage.pass_time(SETTLE_GRACE_HALTED)
    assert stage.completed().cancelled
    stage.begin(2, index=1)
    stage.cancel()
    stage.feed(IDLE)
    assert stage.completed(2).cancelled


def test_prompt_when_a_trigger_is_shown_before_it_then_the_answer_is_the_prompts() -> None:
    """A trigger's answer is never the response to a prompt."""
    stage = Stage.of("0.1.22")
    stage.start()
    stage.feed(RUNNING, note(0, ECHO), step(1, "for the trigger"), echo(2), step(3, "U"), IDLE)
    assert stage.completed().messages == ("U",)


def test_live_turn_when_a_triggers_then_events_are_not_kept() -> None:
    """Nobody reads them; the response does not need them."""
    never = Deadline.after(ManualClock(), None)
    turn = LiveTurn(1, never, None, is_trigger=True)
    assert turn.put(TextDelta("x", trajectory_id=MAIN))
    assert turn.take(Deadline.after(ManualClock(), 0.0)) is None
