"""When a session must look again."""

from __future__ import annotations

import math

from antigravity_sync._core.timers import TURN_TIMERS, Timer, Timers


def test_timers_when_several_run_then_the_longest_due_comes_first() -> None:
    """Each fires once, in the order of their times."""
    timers = Timers()
    assert timers.next() is None
    timers.set(Timer.HALT, 5.0)
    timers.set(Timer.DEADLINE, 3.0)
    assert timers.next() == 3.0
    assert timers.pop_due(2.9) is None
    assert [timers.pop_due(5.0) for _ in range(3)] == [Timer.DEADLINE, Timer.HALT, None]
    assert timers.next() is None


def test_timers_when_one_is_set_again_then_it_moves_or_stays() -> None:
    """`set` moves a timer, `set_if_off` leaves one that runs."""
    timers = Timers()
    timers.set(Timer.TASKS, 5.0)
    timers.set_if_off(Timer.TASKS, 1.0)
    assert timers.next() == 5.0
    timers.set(Timer.TASKS, 9.0)
    assert timers.next() == 9.0


def test_timers_when_one_is_never_due_then_it_runs_but_wakes_nobody() -> None:
    """A queue cannot wait for an infinite time, and need not."""
    timers = Timers()
    timers.set(Timer.TASKS, math.inf)
    assert (timers.next(), timers.is_on(Timer.TASKS)) == (None, True)
    timers.set(Timer.HALT, 2.0)
    assert timers.next() == 2.0


def test_timers_when_stopped_then_they_are_off() -> None:
    """Stopping what does not run is fine; a turn's timers are all but the connection's two."""
    timers = Timers()
    for timer in Timer:
        timers.set(timer, 1.0)
    timers.stop(*TURN_TIMERS, Timer.HALT)
    assert {timer for timer in Timer if timers.is_on(timer)} == {Timer.BREAK, Timer.EXIT}
    timers.stop_all()
    assert timers.next() is None
