"""How bad a line on the harness's stderr is."""

from __future__ import annotations

import re
from typing import Final

#: Severities by the first letter of a line in the manner of glog.
_SEVERITIES: Final = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
_PREFIX: Final = re.compile(
    # Early lines carry another prefix that says ERROR and means nothing.
    r"^(?:ERROR: logging before google\.Init: )?(?P<letter>[IWEF])\d{4} \d\d:\d\d:\d\d"
)
_EARLY: Final = "ERROR: logging before "
_TROUBLE: Final = ("Failed to ", "Agent run failed", "panic: ", "fatal error: ", "ERROR: ")
#: Beginnings of what a harness says when it could not read an input; up to 0.1.6, and since.
_DROP_MARKS: Final = ("Failed to unmarshal InputEvent", "Failed to send InputEvent")


def says_dropped(line: str) -> bool:
    """Return whether the line says that an input was not understood and dropped."""
    return any(mark in line for mark in _DROP_MARKS)


def severity_of(line: str) -> str:
    """Return `INFO`, `WARNING`, `ERROR` or `CRITICAL`; a line that does not say is `INFO`."""
    found = _PREFIX.match(line)
    if found is not None:
        return _SEVERITIES[found["letter"]]
    is_trouble = line.startswith(_TROUBLE) and not line.startswith(_EARLY)
    return "ERROR" if is_trouble else "INFO"
