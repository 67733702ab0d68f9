"""Who may have an agent of a pool: bounds, first come first served, and which process it is on.

It decides and starts nothing: the pool does, outside the lock that is held here.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable

import attrs
from attrs.validators import optional

from ._checks import check_amount, check_count, check_patience
from ._clock import Clock, Deadline
from .errors import PoolClosedError, PoolFullError, PoolTimeoutError
from .harness import Harness


def _for_ever(seconds: float | None) -> float:
    return math.inf if seconds is None else seconds


@attrs.frozen(kw_only=True)
class Bounds:
    """How much a pool may have; see `AgentPool`.

    Raises:
        ConfigError: A bound is none.
    """

    max_size: int = attrs.field(validator=check_amount)
    per_process: int = attrs.field(validator=check_amount)
    min_processes: int = attrs.field(validator=check_count)
    max_waiting: int | None = attrs.field(validator=optional(check_count))
    timeout: float | None = attrs.field(validator=check_patience)
    max_idle: float = attrs.field(converter=_for_ever, validator=check_patience)
    max_lifetime: float = attrs.field(converter=_for_ever, validator=check_patience)


@attrs.define(eq=False)
class Slot:
    """One process and its leases.

    Attributes:
        harness: The process, started by its first lease.
        born: When it was made.
        leases: How many agents are on it, or about to be.
        idle_since: Since when there are none.
        is_retired: Whether it gets no more.
    """

    harness: Harness
    born: float
    idle_since: float
    leases: int = 0
    is_retired: bool = False


@attrs.define(eq=False)
class _Waiter:
    """One caller in the queue."""


@attrs.define
class Counts:
    """What has happened so far."""

    boots: int = 0
    deaths: int = 0
    leased: int = 0
    timeouts: int = 0
    refused: int = 0


class Leases:
    """The book of one pool.

    Thread: any; each method holds the lock for a moment, `take` waits without it.

    Args:
        bounds: How much there may be.
        clock: Measures lives and waits.
    """

    def __init__(self, bounds: Bounds, clock: Clock) -> None:
        self._bounds = bounds
        self._clock = clock
        self._changed = threading.Condition()
        self._waiters: deque[_Waiter] = deque()
        self._slots: list[Slot] = []
        self._count = 0
        self._is_over = False
        self.counts = Counts()

    def take(self, deadline: Deadline) -> None:
        """Take the right to one more agent, after all who came before.

        Blocks until there is one or the deadline passes; whoever is interrupted is not waited for.

        Raises:
            PoolClosedError: The pool is closed or drains.
            PoolFullError: Too many wait already.
            PoolTimeoutError: The deadline passed.
        """
        me = _Waiter()
        with self._changed:
            self._check_open()
            limit = self._bounds.max_waiting
            if self._must_wait() and limit is not None and len(self._waiters) >= limit:
                self.counts.refused += 1
                raise PoolFullError(
                    f"{len(self._waiters)} callers wait for an agent already; try again later, or "
                    "raise max_waiting or max_size"
                )
            self._waiters.append(me)
            try:
                while self._waiters[0] is not me or self._count >= self._bounds.max_size:
                    remaining = deadline.remaining()
                    if remaining is not None and remaining <= 0.0:
                        self.counts.timeouts += 1
                        raise PoolTimeoutError(
                            f"all {self._bounds.max_size} agents of the pool were in use for the "
                            "whole timeout; try again later, or raise max_size"
                        )
                    self._changed.wait(remaining)
                    self._check_open()
                self._count += 1
                self.counts.leased += 1
            finally:
                self._waiters.remove(me)
                self._changed.notify_all()

    def give_back(self) -> None:
        """Give the right back."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def place(self, make: Callable[[], Harness]) -> Slot:
        """Choose the process for an agent: the fullest that has room, else one that `make` returns.

        So that processes which are not needed become empty, and end.
        """
        with self._changed:
            now = self._clock.now()
            fit = [slot for slot in self._slots if self._has_room(slot, now)]
            slot = max(fit, key=lambda each: each.leases, default=None)
            if slot is None:
                slot = Slot(make(), now, now)
                self._slots.append(slot)
                self.counts.boots += 1
            slot.leases += 1
            return slot

    def _has_room(self, slot: Slot, now: float) -> bool:
        if now - slot.born >= self._bounds.max_lifetime:
            slot.is_retired = True
        return not slot.is_retired and slot.leases < self._bounds.per_process

    def count_timeout(self) -> None:
        """Take in that somebody who had the right to an agent got none in time."""
        with self._changed:
            self.counts.timeouts += 1

    def leave(self, slot: Slot, *, is_bad: bool) -> None:
        """Take an agent off its process.

        Args:
            slot: Its process.
            is_bad: Whether the process did not do as it was told; then it gets no more agents.
        """
        with self._changed:
            slot.leases -= 1
            slot.idle_since = self._clock.now()
            if is_bad and not slot.is_retired:
                slot.is_retired = True
                self.counts.deaths += 1

    def expired(self) -> tuple[Slot, ...]:
        """Take out the empty processes whose time is over; the caller ends them."""
        with self._changed:
            now = self._clock.now()
            over = [slot for slot in self._slots if self._is_spent(slot, now)]
            kept = len(self._slots) - len(over)
            for slot in sorted(self._slots, key=lambda each: each.idle_since):
                is_idle = not slot.leases and now - slot.idle_since >= self._bounds.max_idle
                if slot not in over and is_idle and kept > self._bounds.min_processes:
                    over.append(slot)
                    kept -= 1
            self._slots = [slot for slot in self._slots if slot not in over]
            return tuple(over)

    def _is_spent(self, slot: Slot, now: float) -> bool:
        is_old = now - slot.born >= self._bounds.max_lifetime
        return not slot.leases and (self._is_over or slot.is_retired or is_old)

    def next_expiry(self) -> float | None:
        """Return when the next empty process may be over, `None` if none will ever be."""
        with self._changed:
            is_kept = len(self._slots) <= self._bounds.min_processes
            moments = (self._expiry(slot, is_kept=is_kept) for slot in self._slots)
            return min((each for each in moments if each < math.inf), default=None)

    def _expiry(self, slot: Slot, *, is_kept: bool) -> float:
        if slot.leases:
            return math.inf
        if self._is_over or slot.is_retired:
            return 0.0
        idle = math.inf if is_kept else slot.idle_since + self._bounds.max_idle
        return min(idle, slot.born + self._bounds.max_lifetime)

    def refuse(self) -> None:
        """Let nobody take an agent any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def wait_returned(self, deadline: Deadline) -> bool:
        """Wait until no agent is out; return whether that came in time."""
        with self._changed:
            while self._count:
                remaining = deadline.remaining()
                if remaining is not None and remaining <= 0.0:
                    return False
                self._changed.wait(remaining)
            return True

    def take_all(self) -> tuple[Slot, ...]:
        """Take out all processes, used or not."""
        with self._changed:
            slots, self._slots = self._slots, []
            return tuple(slots)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many processes there are, agents that are out, and callers that wait."""
        with self._changed:
            return len(self._slots), self._count, len(self._waiters)

    def _must_wait(self) -> bool:
        return bool(self._waiters) or self._count >= self._bounds.max_size

    def _check_open(self) -> None:
        if self._is_over:
            raise PoolClosedError("the pool is closed or being drained; make another one")
