"""Time as a collaborator: absolute deadlines, the real clock, and one that tests move by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final, Protocol

import attrs

#: The longest single wait, about eleven days: more overflows what some system calls take.
LONGEST_WAIT: Final = 1e6


class Clock(Protocol):
    """Anything that tells seconds on a scale that only grows."""

    def now(self) -> float:
        """Return seconds since an arbitrary origin."""


class MonotonicClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()


@attrs.define
class ManualClock:
    """A clock that moves only when told to, for tests that must not wait."""

    _now: float = 0.0
    _listeners: list[Callable[[], None]] = attrs.field(factory=list)

    def now(self) -> float:
        """Return the time it was last set to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward by `seconds` and wake whoever listens."""
        self._now += seconds
        for listener in self._listeners:
            listener()

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each `advance`, so that a sleeping loop sees its timers."""
        self._listeners.append(listener)


@attrs.frozen
class Deadline:
    """An absolute moment that one budget of seconds is measured against, through several waits."""

    clock: Clock
    at: float

    @classmethod
    def after(cls, clock: Clock, seconds: float | None) -> Deadline:
        """Return the deadline `seconds` from now; `None` is never."""
        return cls(clock, math.inf if seconds is None else clock.now() + seconds)

    def remaining(self) -> float | None:
        """Return seconds to wait, at least 0.0 and no more than fits a wait; `None` for ever."""
        if self.at == math.inf:
            return None
        return min(max(0.0, self.at - self.clock.now()), LONGEST_WAIT)

    def expired(self) -> bool:
        """Return whether the moment has passed."""
        return self.clock.now() >= self.at

    def sooner(self, seconds: float | None) -> Deadline:
        """Return the earlier of this deadline and `seconds` from now; `None` is never."""
        if seconds is None:
            return self
        return Deadline(self.clock, min(self.at, self.clock.now() + seconds))

    def later(self, seconds: float) -> Deadline:
        """Return a deadline `seconds` after this one."""
        return Deadline(self.clock, self.at + seconds)
