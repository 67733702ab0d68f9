"""Timeouts as callers give them: a number of seconds, `None` for ever, or left out."""

from __future__ import annotations

import enum
from typing import Final

from .errors import ConfigError


class _Unset(enum.Enum):
    CONFIGURED = "the configured timeout"

    def __repr__(self) -> str:
        return self.value


#: An omitted timeout: `None` means for ever and must be written by the user.
CONFIGURED: Final = _Unset.CONFIGURED
Timeout = float | None | _Unset


def seconds_of(timeout: object, configured: float | None) -> float | None:
    """Return a timeout in seconds, `None` for ever.

    Args:
        timeout: What the caller gave.
        configured: What it is if it was left out.

    Raises:
        ConfigError: It is none.
    """
    if isinstance(timeout, _Unset):
        return configured
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise ConfigError(f"timeout must be a number of seconds, or None for ever, not {timeout!r}")
    return float(timeout)


def close_seconds_of(timeout: object, configured: float) -> float:
    """Return the timeout of a close, which must end.

    Raises:
        ConfigError: It is none, or for ever.
    """
    seconds = seconds_of(timeout, configured)
    if seconds is None:
        raise ConfigError("close() needs a timeout in seconds: a close must end")
    return seconds
