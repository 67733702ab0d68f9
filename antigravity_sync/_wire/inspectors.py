"""Inspectors for the two usual places: a terminal, and the log."""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

from .inspect import WireEvent, WireFilter

_log: Final = logging.getLogger("antigravity_sync.wire")
_ALL: Final = WireFilter.parse("all")


class StderrPrinter:
    """Prints a line per event on stderr; what `LOUD_WIRE` switches on.

    Args:
        wanted: Which events, and whether in short; `None` is all, in full.
        file: Another place to print to; `None` is whatever `sys.stderr` is by then.
    """

    def __init__(self, wanted: WireFilter | None = None, file: TextIO | None = None) -> None:
        self.wanted = _ALL if wanted is None else wanted
        self._file = file

    def __call__(self, event: WireEvent) -> None:
        if self.wanted.matches(event):
            file = sys.stderr if self._file is None else self._file
            file.write(f"{self.wanted.show(event)}\n")
            file.flush()


class LoggingForwarder:
    """Logs a line per event, at DEBUG, because frames hold prompts.

    Its records carry the event as `record.wire_event`.

    Args:
        wanted: Which events, and whether in short; `None` is all, in full.
        logger: A logger; `None` is `antigravity_sync.wire`.
    """

    def __init__(
        self,
        wanted: WireFilter | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        self.wanted = _ALL if wanted is None else wanted
        self._logger = _log if logger is None else logger

    def __call__(self, event: WireEvent) -> None:
        if self._logger.isEnabledFor(logging.DEBUG) and self.wanted.matches(event):
            about = {"conversation_id": event.conversation_id, "wire_event": event}
            self._logger.debug("%s", self.wanted.show(event), extra=about)
