"""The book of a pool: who comes first, how many there may be, which process an agent is on."""

from __future__ import annotations

import pytest

from antigravity_sync import AgentPool
from antigravity_sync._clock import Deadline, ManualClock, MonotonicClock
from antigravity_sync._leases import Bounds, Leases
from antigravity_sync.errors import (
    ConfigError,
    PoolClosedError,
    PoolFullError,
    PoolTimeoutError,
)
from tests.gates import History, Task, wait_until

CLOCK = MonotonicClock()
SOON = Deadline.after(CLOCK, None)
NOW = Deadline(CLOCK, 0.0)


def book(clock=CLOCK, **changes: object) -> Leases:
    bounds = {
        "max_size": 2,
        "per_process": 2,
        "min_processes": 0,
        "max_waiting": None,
        "timeout": None,
        "max_idle": 100.0,
        "max_lifetime": 1000.0,
    }
    return Leases(Bounds(**{**bounds, **changes}), clock)


class Process:
    """Stands where a `Harness` stands: nothing is asked of it here."""


def test_lease_when_all_are_out_then_waiters_are_served_in_order():
    """First come, first served, however the threads run."""
    leases, history = book(max_size=1), History()
    leases.take(SOON)

    def serve(name: str) -> None:
        leases.take(SOON)
        history.add(name)
        leases.give_back()

    tasks = []
    for number in range(5):
        tasks.append(Task(lambda number=number: serve(f"{number}")))
        wait_until(lambda: leases.sizes[2] == len(tasks), "the waiter")
    assert history.entries == ()
    leases.give_back()
    for task in tasks:
        task.result()
    assert history.entries == ("0", "1", "2", "3", "4")
    assert leases.sizes == (0, 0, 0)


def test_lease_when_its_time_is_up_then_told_and_forgotten():
    """Whoever gives up must not hold up those behind."""
    leases = book(max_size=1)
    leases.take(SOON)
    with pytest.raises(PoolTimeoutError, match="all 1 agents"):
        leases.take(NOW)
    assert leases.sizes == (0, 1, 0)
    assert leases.counts.timeouts == 1
    leases.give_back()
    leases.take(NOW)


def test_lease_when_too_many_wait_then_refused_at_once():
    """A free one is given even when nobody may wait."""
    leases = book(max_size=1, max_waiting=0)
    leases.take(SOON)
    with pytest.raises(PoolFullError, match="0 callers wait"):
        leases.take(SOON)
    assert leases.counts.refused == 1
    leases.give_back()
    leases.take(SOON)


def test_lease_when_the_pool_closes_then_waiters_are_told():
    """And nobody gets one afterwards."""
    leases = book(max_size=1)
    leases.take(SOON)
    waiter = Task(lambda: leases.take(SOON))
    wait_until(lambda: leases.sizes[2] == 1, "the waiter")
    leases.refuse()
    with pytest.raises(PoolClosedError):
        waiter.result()
    with pytest.raises(PoolClosedError):
        leases.take(SOON)
    returned = Task(lambda: leases.wait_returned(SOON))
    leases.give_back()
    assert returned.result() is True
    assert leases.wait_returned(NOW) is True


def test_place_when_one_has_room_then_the_fullest_is_taken():
    """So that processes become empty."""
    leases = book(per_process=2)
    first = leases.place(Process)
    assert leases.place(Process) is first
    second = leases.place(Process)
    assert second is not first
    leases.leave(first, is_bad=False)
    third = leases.place(Process)
    assert third is first
    assert leases.counts.boots == 2


def test_place_when_one_is_bad_or_old_then_it_gets_no_more():
    """It ends with its last agent."""
    clock = ManualClock()
    leases = book(clock)
    bad, other = leases.place(Process), leases.place(Process)
    assert bad is other
    leases.leave(bad, is_bad=True)
    fresh = leases.place(Process)
    assert fresh is not bad
    assert leases.expired() == ()
    leases.leave(bad, is_bad=True)
    assert leases.expired() == (bad,)
    assert leases.counts.deaths == 1
    clock.advance(1000.0)
    assert leases.place(Process) is not fresh
    leases.leave(fresh, is_bad=False)
    assert leases.expired() == (fresh,)


def test_process_when_idle_too_long_then_it_is_over():
    """And told when to look again."""
    clock = ManualClock()
    leases = book(clock, per_process=1)
    one, two = leases.place(Process), leases.place(Process)
    assert leases.next_expiry() is None
    leases.leave(one, is_bad=False)
    clock.advance(10.0)
    leases.leave(two, is_bad=False)
    assert leases.next_expiry() == 100.0
    clock.advance(90.0)
    assert leases.expired() == (one,)
    assert leases.next_expiry() == 110.0
    clock.advance(10.0)
    assert leases.expired() == (two,)
    assert leases.next_expiry() is None


def test_process_when_one_is_to_be_kept_then_only_its_life_ends_it():
    """The one that was used last."""
    clock = ManualClock()
    leases = book(clock, per_process=1, min_processes=1)
    one, two = leases.place(Process), leases.place(Process)
    leases.leave(one, is_bad=False)
    clock.advance(1.0)
    leases.leave(two, is_bad=False)
    clock.advance(500.0)
    assert leases.expired() == (one,)
    assert leases.next_expiry() == 1000.0
    clock.advance(499.0)
    assert leases.expired() == (two,)


@pytest.mark.parametrize(
    "options",
    [
        {"max_size": 0},
        {"max_size": True},
        {"per_process": 0},
        {"max_waiting": -1},
        {"min_processes": -1},
        {"timeout": 0},
        {"max_idle": "1"},
        {"max_lifetime": -1.0},
        {"conversation_id": "x", "save_dir": "y"},
        {"modle": "x"},
    ],
)
def test_pool_when_a_bound_is_bad_then_refused(options):
    """Before anything is started."""
    with pytest.raises(ConfigError):
        AgentPool(**options)
