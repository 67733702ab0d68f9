"""Exit codes of the command: those of sysexits.h where they fit, 128 + n for a signal."""

from __future__ import annotations

import enum
from typing import Final

from ..errors import (
    AntigravityError,
    AuthenticationError,
    ConfigError,
    ConversationBusyError,
    ConversationExistsError,
    ConversationNotFoundError,
    LaunchError,
    OverloadedError,
    PromptDeniedError,
    RateLimitError,
    TurnTimeoutError,
)
from ..responses import ChatResponse, Denied

_LIMITS: Final = "_EXCEEDED"
_QUOTA: Final = "QUOTA_EXHAUSTED"


class Exit(enum.IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    """Something failed that no other code names."""
    USAGE = 2
    """The command line is wrong."""
    BUDGET = 3
    """A limit on calls or tokens cut the turn off."""
    DENIED = 4
    """The prompt or a tool call was denied."""
    UNAVAILABLE = 69
    """There is no harness that can be used."""
    TRY_LATER = 75
    """The model is overloaded or its quota used up, or a lock or conversation is held."""
    CREDENTIALS = 77
    """There is no model key, or the model refused it."""
    CONFIGURATION = 78
    """An option or a variable has a bad value."""
    TIMEOUT = 124
    """The time is up."""
    INTERRUPTED = 130
    """Ctrl-C."""
    TERMINATED = 143
    """SIGTERM."""


class CommandError(Exception):
    """Ends the command with a line for people and a code.

    Attributes:
        code: The exit code.
    """

    def __init__(self, code: Exit, message: str) -> None:
        super().__init__(message)
        self.code = code


def exit_for(error: AntigravityError) -> Exit:
    """Return the exit code that tells a calling program what kind of error this is."""
    match error:
        case ConfigError() | ConversationNotFoundError() | ConversationExistsError():
            return Exit.CONFIGURATION
        case ConversationBusyError() | RateLimitError() | OverloadedError():
            return Exit.TRY_LATER
        case LaunchError():
            return Exit.UNAVAILABLE
        case AuthenticationError():
            return Exit.CREDENTIALS
        case TurnTimeoutError():
            return Exit.TIMEOUT
        case PromptDeniedError():
            return Exit.DENIED
        case _:
            return Exit.FAILED


def exit_of(response: ChatResponse) -> Exit:
    """Return the exit code of a turn that returned: 0 only if nothing of it was cut off."""
    reason = response.stop_reason or ""
    if response.cancelled:
        return Exit.INTERRUPTED
    if reason:
        if reason == _QUOTA:
            return Exit.TRY_LATER
        return Exit.BUDGET if reason.endswith(_LIMITS) else Exit.FAILED
    if response.incomplete or response.pending_tasks:
        return Exit.FAILED
    if any(isinstance(call.decision, Denied) for call in response.tool_calls):
        return Exit.DENIED
    return Exit.OK
