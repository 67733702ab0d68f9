"""Who is in user code, since when: for the warning, the timeout, and a `cancel` past it."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from contextlib import AbstractContextManager
from typing import Final

from .._clock import Clock

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: What runs and since when, if anything does.
Running = tuple[str, float] | None

#: Seconds after which a hook that holds the pump is worth a warning.
SLOW_HOOK: Final = 10.0


class Watch:
    """Written by the pump, read by threads that wait for it."""

    def __init__(self, clock: Clock, timeout: float | None) -> None:
        self._clock = clock
        self._timeout = timeout
        self._thread: threading.Thread | None = None
        #: Name and start of what runs; one tuple, so that readers see both or neither.
        self._running: Running = None
        self._warned: Running = None

    @property
    def is_running(self) -> bool:
        """Whether user code runs on the pump."""
        return self._running is not None

    def running(self, name: str) -> AbstractContextManager[None]:
        """Mark user code, from entering to leaving; the pump's thread."""
        return _Marked(self, name)

    def mark(self, running: Running) -> Running:
        """Mark user code as running, or none; return what was marked before."""
        self._thread = threading.current_thread()
        outer, self._running = self._running, running
        return outer

    def now(self) -> float:
        """Return the time."""
        return self._clock.now()

    def patience(self) -> float:
        """Return how often to look, in seconds."""
        return SLOW_HOOK if self._timeout is None else min(SLOW_HOOK, self._timeout / 2)

    def overdue(self) -> str | None:
        """Look at what runs: warn once if it is slow; return its name if it ran out of time."""
        running = self._running
        if running is None:
            return None
        name, since = running
        taken = self._clock.now() - since
        if taken >= SLOW_HOOK and self._warned != running:
            self._warned = running
            _log.warning(
                "%s has held the agent for %.0f s; it stands here:\n%s", name, taken, self._stack()
            )
        return name if self._timeout is not None and taken >= self._timeout else None

    def _stack(self) -> str:
        ident = None if self._thread is None else self._thread.ident
        frame = sys._current_frames().get(ident or 0)
        return "" if frame is None else "".join(traceback.format_stack(frame))


class _Marked:
    """User code while it runs."""

    def __init__(self, watch: Watch, name: str) -> None:
        self._watch = watch
        self._name = name
        self._outer: Running = None

    def __enter__(self) -> None:
        self._outer = self._watch.mark((self._name, self._watch.now()))

    def __exit__(self, *_: object) -> None:
        self._watch.mark(self._outer)
