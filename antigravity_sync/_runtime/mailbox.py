"""The one door to the session: a queue that finalizers and signal handlers may post to."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Final

import attrs

from .._clock import LONGEST_WAIT
from .._core.inputs import Input
from .._transport.channel import Channel

#: Bytes of unread frames a session may pile up before it fails with a named error.
MAX_BACKLOG: Final = 256 * 1024 * 1024


@attrs.frozen
class Frame:
    """A raw frame, as the reader got it, with the halt epoch it arrived in."""

    data: bytes
    epoch: int


@attrs.frozen
class Attach:
    """A new connection, and the news of it for the session."""

    link: Channel
    happened: Input


@attrs.frozen
class Stop:
    """The pump may end."""


@attrs.frozen
class Close:
    """Close the engine from the pump's thread, because nobody else can; `timeout` is in seconds."""

    timeout: float


@attrs.frozen
class Call:
    """Something to do on the pump's thread."""

    do: Callable[[], None]


Item = Frame | Attach | Stop | Close | Call | Input


@attrs.define
class Mailbox:
    """Posted to by any thread, read by the pump alone.

    `SimpleQueue` because its `put` may interrupt itself: a finalizer or a signal handler can run in
    the middle of a `put` of the same thread (STYLE F15). It is not bounded by count; its bytes are
    counted by two writers that each own their counter.
    """

    _queue: queue.SimpleQueue[Item] = attrs.field(factory=queue.SimpleQueue)
    _bytes_in: int = 0
    _bytes_out: int = 0

    def post(self, item: Item) -> None:
        """Put an item in; never blocks."""
        self._queue.put(item)

    def post_frame(self, data: bytes, epoch: int) -> bool:
        """Put a frame in, from the reader's thread; return `False` once too much is unread."""
        self._bytes_in += len(data)
        self._queue.put(Frame(data, epoch))
        return self._bytes_in - self._bytes_out <= MAX_BACKLOG

    @property
    def unread(self) -> int:
        """Bytes of frames that the pump has not taken yet; the reader's thread only."""
        return self._bytes_in - self._bytes_out

    def take(self, timeout: float | None) -> Item | None:
        """Return the next item, `None` when `timeout` seconds pass; the pump's thread only.

        No single wait is longer than `LONGEST_WAIT`: a timeout may be any number, a wait may not.
        """
        try:
            item = self._queue.get(timeout=None if timeout is None else min(timeout, LONGEST_WAIT))
        except queue.Empty:
            return None
        if type(item) is Frame:
            self._bytes_out += len(item.data)
        return item
