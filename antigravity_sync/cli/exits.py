"""Exit codes of the command: those of sysexits.h where they fit, 128 + n for a signal."""

from __future__ import annotations

import enum

from ..errors import AntigravityError, ConfigError, LaunchError


class Exit(enum.IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    """Something failed that no other code names."""
    USAGE = 2
    """The command line is wrong."""
    UNAVAILABLE = 69
    """There is no harness that can be used."""
    CONFIGURATION = 78
    """An option or a variable has a bad value."""
    INTERRUPTED = 130
    """Ctrl-C."""


def exit_for(error: AntigravityError) -> Exit:
    """Return the exit code that tells a calling program what kind of error this is."""
    match error:
        case ConfigError():
            return Exit.CONFIGURATION
        case LaunchError():
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILED
