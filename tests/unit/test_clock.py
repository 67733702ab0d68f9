"""Deadlines measure one budget through several waits."""

from __future__ import annotations

import math
import socket
import threading

import pytest

from antigravity_sync import Agent
from antigravity_sync._clock import Deadline, ManualClock, MonotonicClock
from antigravity_sync.testing import FakeHarness


def test_deadline_when_time_passes_then_what_is_left_shrinks_to_zero() -> None:
    """What is left never goes below zero, and expiry comes exactly at the end."""
    clock = ManualClock(100.0)
    deadline = Deadline.after(clock, 10.0)
    seen = []
    for step in (0.0, 4.0, 5.5, 0.5, 1.0):
        clock.advance(step)
        seen.append((deadline.remaining(), deadline.expired()))
    assert seen == [(10.0, False), (6.0, False), (0.5, False), (0.0, True), (0.0, True)]


@pytest.mark.parametrize("seconds", [None, math.inf])
def test_deadline_when_for_ever_then_no_limit(seconds: float | None) -> None:
    """`None` and infinity never expire and leave waits without a limit."""
    clock = ManualClock()
    deadline = Deadline.after(clock, seconds)
    clock.advance(1e12)
    assert deadline.remaining() is None
    assert not deadline.expired()


def test_deadline_when_zero_then_expired_at_once() -> None:
    """A budget of zero is spent."""
    deadline = Deadline.after(ManualClock(), 0.0)
    assert (deadline.remaining(), deadline.expired()) == (0.0, True)


def test_deadline_when_absurdly_far_then_every_wait_takes_it() -> None:
    """Centuries are cut to what locks and sockets take, and are not expired by that."""
    deadline = Deadline.after(MonotonicClock(), 1e12)
    remaining = deadline.remaining()
    assert remaining is not None
    # More than these take is an OverflowError, also where nothing has to be waited for.
    assert threading.Lock().acquire(timeout=remaining)
    with socket.socket() as one:
        one.settimeout(remaining)
    assert not deadline.expired()


def test_sooner_when_inside_then_cut_and_when_outside_then_kept() -> None:
    """A part of the budget ends with the whole."""
    clock = ManualClock()
    deadline = Deadline.after(clock, 10.0)
    assert deadline.sooner(3.0).remaining() == 3.0
    assert deadline.sooner(30.0).remaining() == 10.0
    assert deadline.sooner(None).remaining() == 10.0
    assert Deadline.after(clock, None).sooner(3.0).remaining() == 3.0


def test_later_when_asked_then_that_much_after() -> None:
    """A grace comes after the deadline, whatever is left of it; for ever stays for ever."""
    clock = ManualClock()
    deadline = Deadline.after(clock, 1.0)
    clock.advance(5.0)
    assert deadline.later(6.0).remaining() == 2.0
    assert Deadline.after(clock, None).later(1.0).remaining() is None


def test_manual_clock_when_advanced_then_listeners_see_the_new_time() -> None:
    """Whoever sleeps on a manual clock is woken after it has moved."""
    clock, seen = ManualClock(), []
    clock.on_advance(lambda: seen.append(clock.now()))
    clock.advance(2.0)
    clock.advance(0.5)
    assert seen == [2.0, 2.5]


def test_monotonic_clock_when_read_twice_then_not_backwards() -> None:
    """The real clock only grows."""
    clock = MonotonicClock()
    first = clock.now()
    assert clock.now() >= first


@pytest.mark.parametrize("seconds", [1e12, 1e300, math.inf])
def test_agent_when_its_timeouts_are_absurd_then_they_are_taken(seconds: float) -> None:
    """Any positive number of seconds is a timeout, also one that no system call would take."""
    names = ("turn_timeout", "start_timeout", "task_wait")
    with (
        FakeHarness("Hello.", "Again.") as fake,
        Agent(harness_path=fake.path, api_key="k", **dict.fromkeys(names, seconds)) as agent,
    ):
        assert agent.chat("Hello!").text == "Hello."
        assert agent.chat("Hello!", timeout=seconds).text == "Again."
        assert agent.wait_idle(timeout=seconds)
        assert agent.close(timeout=min(seconds, 1e12)).clean
