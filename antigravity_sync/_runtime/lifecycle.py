"""The end of the interpreter.

Engines register here while they are open. At exit they are closed, all at once started and then
waited for, within a few seconds and without a new thread (3.12 refuses one). A forked child closes
nothing: its engines are its parent's.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Final, Protocol

#: Seconds that all engines together may take to close at exit.
EXIT_TIMEOUT: Final = 3.0


class Closable(Protocol):
    """What an engine must offer to be looked after."""

    def close_at_exit(self, timeout: float) -> None:
        """Close within `timeout` seconds, from the main thread, starting no thread."""

    def begin_close(self, timeout: float) -> None:
        """Start closing, without waiting; it may take `timeout` seconds."""


_open: Final[weakref.WeakSet[Closable]] = weakref.WeakSet()


def register(engine: Closable) -> None:
    """Look after `engine` until it is unregistered or gone."""
    _open.add(engine)


def unregister(engine: Closable) -> None:
    """Stop looking after `engine`."""
    _open.discard(engine)


def _close_all() -> None:
    engines = list(_open)
    end = time.monotonic() + EXIT_TIMEOUT
    for engine in engines:
        engine.begin_close(EXIT_TIMEOUT)
    for engine in engines:
        engine.close_at_exit(max(0.0, end - time.monotonic()))


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)
