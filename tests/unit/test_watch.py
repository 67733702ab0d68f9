"""A callback that holds the pump: one warning that says where it stands, then the timeout."""

from __future__ import annotations

import logging

import pytest

from antigravity_sync._clock import Deadline, ManualClock
from antigravity_sync._runtime.live_turn import LiveTurn
from antigravity_sync._runtime.watch import SLOW_HOOK, Watch
from tests.gates import Gate, Task


def stand_on(watch: Watch, gate: Gate, name: str = "on_pre_tool") -> Task:
    """Let a thread stand in a callback until the gate opens."""

    def zqx_callback() -> None:
        with watch.running(name):
            gate.pass_through()

    task = Task(zqx_callback)
    gate.wait_arrived()
    return task


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_watch_when_a_callback_is_slow_then_one_warning_with_its_name_and_stack(caplog):
    """At ten seconds and not before; looking again says nothing new."""
    clock, gate = ManualClock(), Gate()
    watch = Watch(clock, None)
    with caplog.at_level(logging.WARNING, "antigravity_sync"):
        task = stand_on(watch, gate)
        clock.advance(SLOW_HOOK - 0.1)
        assert watch.overdue() is None
        assert warnings(caplog) == []
        clock.advance(0.1)
        assert watch.overdue() is None  # slow, but nobody has set a limit
        clock.advance(100.0)
        assert watch.overdue() is None
        gate.open()
        task.result()
        clock.advance(100.0)
        assert watch.overdue() is None
    (said,) = warnings(caplog)
    assert said.startswith("on_pre_tool has held the agent for 10 s")
    assert "in zqx_callback" in said
    assert "in pass_through" in said


def test_watch_when_a_second_callback_is_slow_then_it_is_warned_of_too(caplog):
    """The warning is one for each call, not one for ever."""
    clock = ManualClock()
    watch = Watch(clock, None)
    with caplog.at_level(logging.WARNING, "antigravity_sync"):
        for name in ("on_pre_tool", "on_pre_tool"):
            gate = Gate()
            task = stand_on(watch, gate, name)
            clock.advance(SLOW_HOOK)
            watch.overdue()
            gate.open()
            task.result()
    assert len(warnings(caplog)) == 2


def test_watch_when_the_time_is_up_then_it_says_who(caplog):
    """Before that it says nothing, and a call inside a call has a time of its own."""
    clock, gate = ManualClock(), Gate()
    watch = Watch(clock, 2.0)
    task = stand_on(watch, gate)
    clock.advance(1.9)
    assert watch.overdue() is None
    clock.advance(0.1)
    assert watch.overdue() == "on_pre_tool"
    with watch.running("inner"):
        assert watch.overdue() is None
    assert watch.overdue() == "on_pre_tool"
    gate.open()
    task.result()
    assert not watch.is_running
    assert warnings(caplog) == []


def test_live_turn_when_its_caller_waits_then_it_looks_at_the_pump():
    """Often enough to see the timeout in time, and it hands on the name of who is overdue."""
    clock, gate = ManualClock(), Gate()
    watch = Watch(clock, 0.02)
    told: list[str] = []

    def on_overdue(name: str) -> None:
        told.append(name)
        gate.open()
        turn.mark_sent()

    turn = LiveTurn(1, Deadline.after(clock, None), None, watch=watch, on_overdue=on_overdue)
    assert watch.patience() == 0.01
    assert Watch(clock, None).patience() == SLOW_HOOK
    task = stand_on(watch, gate)
    clock.advance(0.02)
    assert turn.wait_sent(Deadline.after(clock, None))
    assert told == ["on_pre_tool"]
    task.result()
