"""A trigger that a harness may have lost, a moment after its conversation was opened again."""

from __future__ import annotations

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import Send
from antigravity_sync._core.inputs import Attached, CancelTurn, StartTurn, Tick
from antigravity_sync._core.rules import UNHEARD_GRACE, SessionRules
from antigravity_sync._core.session import Session

MAIN = "main"
HISTORY = (m.StepFrame(MAIN, 0, m.DONE, m.USER, m.TO_MODEL, "hi"),)


def attached(history: tuple[m.StepFrame, ...]) -> Session:
    session = Session(SessionRules())
    session.handle(Attached(m.InitFrame(MAIN, history)), 0.0)
    return session


def sent(session: Session, happened: object, now: float) -> list[object]:
    """Return the messages that an input has sent."""
    return [each.message for each in session.handle(happened, now) if isinstance(each, Send)]


def begun(session: Session, trigger: str) -> list[object]:
    parts = () if trigger else (m.TextPart("go"),)
    return sent(session, StartTurn(1, parts, 0.0, float("inf"), trigger), 0.0)


def test_trigger_when_nothing_comes_of_it_on_a_connection_made_again_then_sent_once_more():
    """And no third time."""
    session = attached(HISTORY)
    assert begun(session, "wake up") == [m.AutomatedTrigger("wake up")]
    assert sent(session, Tick(), UNHEARD_GRACE - 0.1) == []
    assert sent(session, Tick(), UNHEARD_GRACE) == [m.AutomatedTrigger("wake up")]
    assert session.next_timer() is None
    assert sent(session, Tick(), 10 * UNHEARD_GRACE) == []


@pytest.mark.parametrize(
    "heard",
    [
        m.StateFrame(MAIN, m.RUNNING),
        m.StepFrame(MAIN, 1, m.DONE, m.SYSTEM, m.TO_MODEL, "[Message] x"),
        CancelTurn(1),
    ],
)
def test_trigger_when_it_is_heard_or_halted_then_it_is_not_sent_again(heard):
    """A harness that is slow has said by then that it runs."""
    session = attached(HISTORY)
    begun(session, "wake up")
    session.handle(heard, 0.5)
    again = sent(session, Tick(), UNHEARD_GRACE)
    assert m.AutomatedTrigger("wake up") not in again


@pytest.mark.parametrize(
    ("history", "trigger"), [((), "wake up"), (HISTORY, "")], ids=["new", "prompt"]
)
def test_turn_when_it_is_no_trigger_on_such_a_connection_then_nothing_is_sent_again(
    history, trigger
):
    """Nobody has seen a prompt lost, or a trigger in a conversation that was just begun."""
    session = attached(history)
    assert len(begun(session, trigger)) == 1
    assert sent(session, Tick(), UNHEARD_GRACE) == []


def test_trigger_when_it_is_not_the_first_word_then_it_is_not_sent_again():
    """By then the harness listens."""
    session = attached(HISTORY)
    begun(session, "")
    for frame in (
        m.StateFrame(MAIN, m.RUNNING),
        m.StepFrame(MAIN, 1, m.DONE, m.USER, m.TO_MODEL, "go"),
        m.StateFrame(MAIN, "STATE_FULLY_IDLE"),
    ):
        session.handle(frame, 0.1)
    assert sent(session, StartTurn(2, (), 1.0, float("inf"), "wake up"), 1.0) == [
        m.AutomatedTrigger("wake up")
    ]
    assert sent(session, Tick(), 1.0 + UNHEARD_GRACE) == []
