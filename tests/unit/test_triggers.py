"""When triggers fire, and which are refused."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import attrs
import pytest

from antigravity_sync import AgentConfig, ChatResponse, Trigger, TriggerContext
from antigravity_sync._clock import Deadline, ManualClock
from antigravity_sync._core.actions import Failure, FailureKind
from antigravity_sync._runtime.board import Board
from antigravity_sync._runtime.failures import Circumstances
from antigravity_sync._runtime.live_turn import LiveTurn, TurnEnd
from antigravity_sync._runtime.triggers import Triggers
from antigravity_sync.errors import ConfigError, TurnError
from tests.gates import Gate, History, wait_until

EVERY = 10.0
OK = TurnEnd(ChatResponse(text="ok"))


@attrs.define
class WatchedClock(ManualClock):
    """Counts how often it is looked at, so that a test sees who has fallen asleep."""

    looks: int = 0

    def now(self) -> float:
        self.looks += 1
        return super().now()


@attrs.define
class SomeTurns:
    """Stands where `Turns` stands: says when something is sent, and how that ends."""

    clock: ManualClock
    ends: Iterator[TurnEnd]
    gates: dict[float, Gate] = attrs.field(factory=dict)
    sent: History = attrs.field(factory=History)
    board: Board = attrs.field(factory=Board)

    def begin_trigger(self, text, timeout, is_off):
        if is_off():
            return None
        self.sent.add(f"{text} at {self.clock.now():g}")
        if self.clock.now() in self.gates:
            self.gates[self.clock.now()].pass_through()
        live = LiveTurn(1, Deadline.after(self.clock, timeout), timeout, is_trigger=True)
        live.finish(next(self.ends))
        return live

    def last_moment(self, live):
        return live.deadline

    def circumstances(self, timeout):
        return Circumstances("0.1.10", "", timeout)


def always(end: TurnEnd) -> Iterator[TurnEnd]:
    while True:
        yield end


@pytest.fixture
def started():
    """Return what starts triggers on a clock that stands still until it is told."""
    all_of_them: list[Triggers] = []

    def start(*triggers, ends=None):
        clock = WatchedClock()
        turns = SomeTurns(clock, ends or always(OK))
        config = AgentConfig(triggers=triggers)
        made = Triggers(config, clock, "test", lambda call: call())
        all_of_them.append(made)
        clock.on_advance(made.wake)
        made.start(turns)
        return clock, turns, made

    yield start
    for made in all_of_them:
        made.stop()
        assert made.join(Deadline.after(ManualClock(), 20.0)) == ()


def test_interval_when_started_then_first_sent_after_the_first_one(started):
    """Not at the start, and not a moment before."""
    seen = History()
    trigger = Trigger("tick", every=EVERY, on_response=lambda got: seen.add(got.text))
    clock, turns, _ = started(trigger)
    clock.advance(EVERY - 1)
    clock.advance(1)
    seen.wait_for("ok")
    assert turns.sent.entries == ("tick at 10",)


def test_interval_when_five_pass_before_it_can_be_sent_then_one_is(started):
    """Those that were missed are one, and the rhythm stays."""
    clock, turns, _ = started(Trigger("tick", every=EVERY))
    gate = turns.gates[EVERY] = Gate()
    clock.advance(EVERY)
    gate.wait_arrived()
    clock.advance(5 * EVERY + 3)
    looks = clock.looks
    gate.open()
    # For the deadline of the turn, for the next moment, and before it goes to sleep.
    wait_until(lambda: clock.looks >= looks + 3, "the trigger")
    clock.advance(EVERY - 3)
    turns.sent.wait_for("tick at 70")
    assert turns.sent.entries == ("tick at 10", "tick at 70")


def test_interval_when_a_turn_fails_then_warned_and_the_next_one_comes(started, caplog):
    """One bad answer of the model must not end a watch."""
    failed = TurnEnd(ChatResponse(), Failure(FailureKind.MODEL, "no luck"))
    seen = History()
    trigger = Trigger("tick", every=EVERY, on_response=lambda got: seen.add(got.text))
    with caplog.at_level(logging.WARNING, "antigravity_sync.runtime"):
        clock, _, made = started(trigger, ends=iter([failed, OK]))
        clock.advance(EVERY)
        wait_until(lambda: caplog.records, "the warning")
        wait_until(lambda: clock.advance(EVERY) or seen.entries, "the next one")
    assert "a turn of test-trigger-1 failed: the turn failed: no luck" in caplog.text
    assert made.errors == ()


def test_interval_when_the_answer_cannot_be_taken_then_that_trigger_alone_ends(started, caplog):
    """It is kept for the report of the close, and logged with its traceback."""
    oops = ValueError("oops")

    def fail(_response):
        raise oops

    clock, turns, made = started(
        Trigger("bad", every=EVERY, on_response=fail), Trigger("good", every=EVERY)
    )
    clock.advance(EVERY)
    wait_until(lambda: made.errors, "the failure")
    turns.sent.wait_for("good at 10")
    wait_until(lambda: clock.advance(EVERY) or len(turns.sent.entries) > 4, "the good one")
    assert made.errors == (oops,)
    assert [entry for entry in turns.sent.entries if "bad" in entry] == ["bad at 10"]
    assert "test-trigger-1 has ended" in caplog.text


def test_function_when_started_then_called_once_with_what_it_needs(started):
    """Its text goes out, its answer comes back, and it is told of the end."""
    seen = History()

    def watch(context: TriggerContext) -> None:
        answer = context.notify("look")
        assert answer is not None
        seen.add(answer.text)
        assert context.stopped.wait(20.0)
        assert context.notify("too late") is None
        seen.add("stopped")

    _, turns, made = started(watch)
    seen.wait_for("ok")
    made.stop()
    seen.wait_for("stopped")
    assert turns.sent.entries == ("look at 0",)


def test_function_when_its_turn_fails_then_it_may_catch_that(started):
    """It hears of a failure as a caller of `chat()` would."""
    failed = TurnEnd(ChatResponse(), Failure(FailureKind.MODEL, "no luck"))
    seen = History()

    def watch(context: TriggerContext) -> None:
        try:
            context.notify("look")
        except TurnError as error:
            seen.add(str(error).partition(";")[0])

    started(watch, ends=iter([failed]))
    seen.wait_for("the turn failed: no luck")


def test_thread_when_it_runs_triggers_then_it_is_known_as_inside(started):
    """So that a close from inside does not wait for itself."""
    seen = History()
    known: list[Triggers] = []

    def watch(_context: TriggerContext) -> None:
        wait_until(lambda: known, "the triggers")
        seen.add(str(known[0].is_inside))

    known.append(started(watch)[2])
    seen.wait_for("True")
    assert not known[0].is_inside


@pytest.mark.parametrize("every", [0, -1, float("inf"), float("nan"), True, "10"])
def test_interval_when_it_is_none_then_refused(every):
    """A zero interval would be a flood."""
    with pytest.raises(ConfigError, match="number of seconds above 0"):
        Trigger("tick", every=every)


@pytest.mark.parametrize("message", ["", None, 7, "\ud800"])
def test_message_when_it_says_nothing_then_refused(message):
    """Before anything is started."""
    with pytest.raises(ConfigError, match="message"):
        Trigger(message, every=1)


async def coroutine(_context):
    raise AssertionError


@pytest.mark.parametrize(
    "triggers", [Trigger("one", every=1), 7, [7], ["tick"], [Trigger], [coroutine]]
)
def test_triggers_when_they_are_none_then_refused(triggers):
    """A single one, a class or a coroutine function is a mistake that is easy to make."""
    with pytest.raises(ConfigError, match=r"trigger|plain function"):
        AgentConfig(triggers=triggers)


def test_trigger_when_without_a_moment_then_refused():
    """It would never fire."""
    with pytest.raises(ConfigError, match="every="):
        Trigger("tick")


def test_on_response_when_it_is_a_coroutine_function_then_refused():
    """Nobody would await it."""
    with pytest.raises(ConfigError, match="plain function"):
        Trigger("tick", every=1, on_response=coroutine)


def test_on_trigger_busy_when_unknown_then_refused():
    """With the choices."""
    with pytest.raises(ConfigError, match="'halt', 'wait'"):
        AgentConfig(on_trigger_busy="kill")


def test_file_trigger_when_the_path_is_missing_then_refused(tmp_path):
    """What does not exist cannot be watched."""
    with pytest.raises(ConfigError, match="does not exist"):
        Trigger.on_file_change(tmp_path / "missing", "look")


def test_file_trigger_when_watchfiles_is_missing_then_refused_with_what_to_install(
    tmp_path, monkeypatch
):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConfigError, match=r"antigravity-sync\[files\]"):
        Trigger.on_file_change(tmp_path, "look")
