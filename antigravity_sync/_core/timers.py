"""When a session must look again."""

from __future__ import annotations

import enum
import math

import attrs


class Timer(enum.Enum):
    """What a session waits for time to do."""

    # Members are looked up for every input, and the hash that `Enum` defines is Python code.
    __hash__ = object.__hash__

    DEADLINE = "deadline"
    HALT = "halt"
    SETTLE = "settle"
    STRAY_IDLE = "stray idle"
    BREAK = "break"
    EXIT = "exit"
    TASKS = "tasks"
    UNHEARD = "unheard trigger"


#: Timers that belong to the turn that runs and end with it.
TURN_TIMERS = frozenset(Timer) - {Timer.BREAK, Timer.EXIT}


@attrs.define
class Timers:
    """Due times by timer; each runs at most once at a time."""

    _due: dict[Timer, float] = attrs.field(factory=dict)

    def set(self, timer: Timer, due: float) -> None:
        """Start a timer, or move it."""
        self._due[timer] = due

    def set_if_off(self, timer: Timer, due: float) -> None:
        """Start a timer unless it runs."""
        self._due.setdefault(timer, due)

    def stop(self, *timers: Timer) -> None:
        """Stop timers that may or may not run."""
        for timer in timers:
            self._due.pop(timer, None)

    def stop_all(self) -> None:
        """Stop every timer."""
        self._due.clear()

    def is_on(self, timer: Timer) -> bool:
        """Return whether a timer runs."""
        return timer in self._due

    def next(self) -> float | None:
        """Return when the first one is due, `None` if none runs or none will ever be due."""
        if not self._due:
            return None
        due = min(self._due.values())
        return None if due == math.inf else due

    def pop_due(self, now: float) -> Timer | None:
        """Stop and return the timer that is due longest, `None` if none is."""
        if not self._due:
            return None
        timer = min(self._due, key=lambda each: self._due[each])
        if self._due[timer] > now:
            return None
        del self._due[timer]
        return timer
