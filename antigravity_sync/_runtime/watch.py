"""Who is in user code, since when: for the warning, the timeout, and a `cancel` past it."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Final

from .._clock import Clock

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: Seconds after which a hook that holds the pump is worth a warning.
SLOW_HOOK: Final = 10.0


class Watch:
    """Written by the pump, read by threads that wait for it."""

    def __init__(self, clock: Clock, timeout: float | None) -> None:
        self._clock = clock
        self._timeout = timeout
        self._thread: threading.Thread | None = None
        #: Name and start of what runs; one tuple, so that readers see both or neither.
        self._running: tuple[str, float] | None = None
        self._warned: tuple[str, float] | None = None

    @property
    def is_running(self) -> bool:
        """Whether user code runs on the pump."""
        return self._running is not None

    @contextlib.contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Mark user code; the pump's thread."""
        self._thread = threading.current_thread()
        outer, self._running = self._running, (name, self._clock.now())
        try:
            yield
        finally:
            self._running = outer

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
