"""What the runtime needs of a connection, whatever carries it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Protocol

import attrs

from .._clock import Deadline

_CLOSE_STATUS: Final = struct.Struct("!H")


@attrs.frozen
class Closed:
    """The peer is gone.

    Attributes:
        code: Its close code, `None` if there was no close frame.
        reason: What it gave as its reason, `""` for none.
    """

    code: int | None = None
    reason: str = ""

    @classmethod
    def read(cls, payload: bytes) -> Closed:
        """Return what the payload of a close frame says; 1005 stands for no code."""
        if len(payload) < _CLOSE_STATUS.size:
            return cls(1005)
        reason = payload[_CLOSE_STATUS.size :].decode("utf-8", "replace")
        return cls(_CLOSE_STATUS.unpack_from(payload)[0], reason)


class LinkDownError(Exception):
    """The connection cannot carry this message any more; translated before it leaves the SDK."""


class Channel(Protocol):
    """An open connection to a harness, one JSON text per message; `Link` is the one over TCP.

    Threads: one reader calls `receive`; any thread may send; `begin_close` and `abort` are for any
    thread and never block for long.

    Attributes:
        redact: Takes secrets out of what the harness says of failures.
    """

    redact: Callable[[str], str]

    @property
    def epoch(self) -> int:
        """Number of halts sent so far; an answer to what was asked in an older one is void."""

    def send(self, text: str, *, epoch: int | None = None) -> bool:
        """Send a message; return `False` if it is an answer that is void by now.

        Raises:
            LinkDownError: The connection is down.
        """

    def send_halt(self, text: str) -> None:
        """Send a halt and make every answer that is still on its way void.

        Raises:
            LinkDownError: The connection is down.
        """

    def try_send_halt(self, text: str) -> bool:
        """Send a halt unless somebody is sending right now; safe in a signal handler."""

    def receive(self) -> bytes | Closed:
        """Return the next message, or `Closed`, after which nothing more comes.

        Blocks until one of the two; `abort` from another thread ends the wait.
        """

    def receive_first(self, deadline: Deadline) -> bytes | Closed | None:
        """Return the next message or `Closed`; `None` when the deadline passes first.

        Only before the reader runs. After `None` it is good for nothing but `abort`.
        """

    def begin_close(self) -> None:
        """Begin to close it politely, once; the reader sees the answer. Never waits."""

    def abort(self) -> None:
        """Tear it down: reader and writers return at once."""

    def release(self) -> None:
        """Give back what it holds; only when no thread uses it any more."""
