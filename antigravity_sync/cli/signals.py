"""SIGTERM ends a command in order: the turn is halted and the harness closed first."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from .exits import Exit


class TerminatedError(SystemExit):
    """SIGTERM has come."""


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Raise `TerminatedError` on SIGTERM meanwhile, once; only on the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    # Once: what follows is the way out, and must not be interrupted on it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise TerminatedError(Exit.TERMINATED)
