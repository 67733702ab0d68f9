"""A thread that keeps one pipe of the harness empty.

A pipe that nobody reads fills up at 64 KiB and stops the harness in the middle of anything, even
before its handshake, so both pipes are drained from the first moment. The end of a pipe is not
awaited: a grandchild may hold it open for ever, so the thread also listens to a wake-up pipe.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import IO, Final

import attrs

_CHUNK: Final = 65536
#: A harness mutters several lines about each tool call. Each would wake this thread, at the expense
#: of the call, so after a small chunk that came soon after another it rests for a moment. In
#: seconds; the pipe holds what comes meanwhile.
_SOON: Final = 0.05
_REST: Final = 0.02
_SMALL: Final = 8192
_RING: Final = 64 * 1024


@attrs.define
class Tail:
    """The last 64 KiB that came through a pipe, as lines. Written by one drain, read by anybody."""

    _lines: deque[str] = attrs.field(factory=deque)
    _size: int = 0
    _partial: str = ""
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _changed: threading.Condition = attrs.field(init=False)
    _count: int = 0
    _is_over: bool = False
    #: Takes credentials out of what is told of the lines.
    redact: Callable[[str], str] = str

    def __attrs_post_init__(self) -> None:
        self._changed = threading.Condition(self._lock)

    def feed(self, data: bytes) -> list[str]:
        """Take in a chunk; return the lines that are complete now."""
        with self._lock:
            *lines, self._partial = (self._partial + data.decode("utf-8", "replace")).split("\n")
            for line in lines:
                self._append(line.rstrip("\r"))
            if len(self._partial) > _RING:
                self._append(self._partial)
                self._partial = ""
            self._changed.notify_all()
            return lines

    def end(self) -> list[str]:
        """Take in that nothing more comes; return the unfinished last line, if any."""
        with self._lock:
            last, self._partial = self._partial, ""
            if last:
                self._append(last)
            self._is_over = True
            self._changed.notify_all()
            return [last] if last else []

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._count += 1
        self._size += len(line) + 1
        while self._size > _RING and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()) + 1

    def mark(self) -> int:
        """Return a position, for `find_after`."""
        with self._lock:
            return self._count

    def find_after(
        self, mark: int, matches: Callable[[str], bool], timeout: float | None
    ) -> str | None:
        """Return the first line after `mark` that matches.

        Blocks until there is one, the pipe ends, or `timeout` seconds have passed.
        """

        def found() -> str | None:
            fresh = self._count - mark
            skip = max(0, len(self._lines) - fresh)
            return next((line for line in list(self._lines)[skip:] if matches(line)), None)

        with self._lock:
            self._changed.wait_for(lambda: self._is_over or found() is not None, timeout)
            line = found()
        return None if line is None else self.redact(line)

    def wait_over(self, timeout: float | None) -> bool:
        """Wait until nothing more comes; return whether that was within `timeout` seconds."""
        with self._lock:
            return self._changed.wait_for(lambda: self._is_over, timeout)

    def last_words(self) -> str:
        """Return the last lines as the end of a sentence, `""` if there are none."""
        said = self.text(3)
        return f" (its last words: {said})" if said else ""

    def text(self, lines: int = 40) -> str:
        """Return the last lines, joined."""
        with self._lock:
            said = "\n".join([*self._lines, self._partial][-lines - 1 :]).strip()
        return self.redact(said)


class Drain:
    """Reads one pipe to its end on a thread of its own.

    Attributes:
        thread: Its thread; the owner starts and joins it.

    Args:
        pipe: The pipe, unbuffered; the drain owns and closes it.
        wake: A socket that becomes readable when the drain must stop; `None` where there is none.
        name: Thread name.
        on_data: Called on the drain's thread with each chunk.
        on_end: Called on the drain's thread once, when nothing more comes.
    """

    def __init__(
        self,
        pipe: IO[bytes],
        wake: socket.socket | None,
        name: str,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._pipe = pipe
        self._wake = wake
        self._on_data = on_data
        self._on_end = on_end
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def close(self) -> None:
        """Close the pipe of a drain whose thread has ended or will never run; idempotent."""
        self._pipe.close()

    def _run(self) -> None:
        try:
            came_at = 0.0
            while self._wait_readable():
                data = self._read()
                if not data:
                    break
                self._on_data(data)
                before, came_at = came_at, time.monotonic()
                if came_at - before < _SOON and len(data) < _SMALL:
                    self._rest()
        finally:
            self._pipe.close()
            self._on_end()

    def _rest(self) -> None:
        """Wait a moment, unless the drain must stop."""
        if self._wake is not None and hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            poll.poll(_REST * 1000)

    def _read(self) -> bytes:
        try:
            return os.read(self._pipe.fileno(), _CHUNK)
        except (OSError, ValueError):
            return b""  # torn off, or closed by a start that was undone; the same as its end

    def _wait_readable(self) -> bool:
        if self._wake is None or not hasattr(select, "poll"):
            return True  # Windows cannot wait for a pipe; there the read itself is the wait
        poll = select.poll()
        try:
            pipe = self._pipe.fileno()
            poll.register(pipe, select.POLLIN)
            poll.register(self._wake, select.POLLIN)
        except ValueError:
            return False  # closed by a start that was undone before this thread began
        return pipe in {fd for fd, _ in poll.poll()}
