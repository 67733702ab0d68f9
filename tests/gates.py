"""Order without time: gates that hold a thread, histories that keep what happened when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

#: A guard against hangs, never an expectation.
CEILING: Final = 20.0

T = TypeVar("T")


class Gate:
    """Holds whoever passes until somebody opens it; tells when somebody has arrived."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        self.arrived.set()
        assert self._open.wait(CEILING), "nobody opened the gate"

    def wait_arrived(self) -> None:
        assert self.arrived.wait(CEILING), "nobody arrived at the gate"


class History:
    """What happened, in order, from any thread; `wait_for` blocks until it has."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._changed = threading.Condition()

    def add(self, entry: str) -> None:
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def wait_for(self, entry: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: entry in self._entries, CEILING), (
                f"{entry!r} never happened; what did: {self._entries}"
            )

    @property
    def entries(self) -> tuple[str, ...]:
        with self._changed:
            return tuple(self._entries)

    def before(self, first: str, second: str) -> bool:
        entries = self.entries
        return entries.index(first) < entries.index(second)


class LeapingClock:
    """The machine's clock, which a test may put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.monotonic() + self.ahead


class Task(threading.Thread):
    """A thread whose outcome the test takes over: `result()` returns or raises it."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(daemon=True, name="test-task")
        self._call = call
        self._value: object = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:  # noqa: BLE001 - the test takes it over
            self._error = error

    def result(self, timeout: float = CEILING):
        self.join(timeout)
        assert not self.is_alive(), "the task hangs"
        if self._error is not None:
            raise self._error
        return self._value


def wait_until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait for a condition that no event announces, such as the end of a foreign process."""
    tick = threading.Event()
    for _ in range(int(CEILING / 0.01)):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError(f"{what} did not come true within {CEILING} s")
