r"""A recording of everything that goes over the wire, as lines of JSON.

`JsonlRecorder` writes one object per line; `read_recording` reads them back, and so do
`antigravity-sync trace` and `testing.replay`. Members of every line:

`kind`
    `HarnessSpawn`, `WsSend`, `WsReceive` or `HarnessStderr`.
`time`
    Seconds since 1970.
`correlation_id`
    Of the session: one `start()` of one agent. A file may hold many.
`pid`
    Process id of the harness.
`conversation_id`
    The conversation, `""` before it is open.

`HarnessSpawn` has `path` and `version`; `HarnessStderr` has `line` and `severity`. The two others
have `payload`, the message as the harness's own JSON, or a string if it was none. Credentials read
`[redacted]`. A `WsReceive` may have `left_out`, names of members of its `stepUpdate`: `"text"` is
then the text of the same step in the frame before it (same `correlation_id`, `trajectoryId` and
`stepIndex`) plus this frame's `textDelta`, and `"thinking"` likewise. `read_recording` puts them
back. The last line of a process that was killed may be cut off.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any, Final

from ..errors import ConfigError
from .inspect import WireEvent
from .shorten import Lengthener

_BUFFER: Final = 64 * 1024
_NEW_FILE: Final = 0o600
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JsonlRecorder:
    """Records sessions into a file that only this user may read; an existing one is added to.

    Give it to `wire_inspectors`. It is opened when an agent starts and closed when the last agent
    that uses it closes, any number of times. Lines are handed to the system whenever the agent has
    nothing else to do, so a process that is killed loses a moment at the most.

    Args:
        path: The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._lock = threading.Lock()
        self._lines: list[bytes] = []
        self._size = 0
        self._file: int | None = None
        self._users = 0

    def open(self) -> None:
        """Open the file for one more user.

        Raises:
            ConfigError: It cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        with self._lock:
            if self._file is None:
                try:
                    self._file = os.open(self.path, flags, _NEW_FILE)
                except OSError as error:
                    raise ConfigError(
                        f"the recording {self.path!r} cannot be written ({error.strerror}); "
                        "choose a file in a directory that exists and that you may write to"
                    ) from error
            self._users += 1

    def __call__(self, event: WireEvent) -> None:
        """Record an event; for use without an agent, `open` it first."""
        self.write(dump(event.to_dict()))

    def write(self, line: bytes) -> None:
        """Record lines, given without the end of the last; nothing after the last `close`."""
        with self._lock:
            if self._file is None:
                return
            self._lines.append(line)
            self._size += len(line)
            if self._size > _BUFFER:
                self._flush()

    def flush(self) -> None:
        """Hand what has come so far to the system."""
        if self._lines:
            with self._lock:
                self._flush()

    def _flush(self) -> None:
        lines, self._lines, self._size = self._lines, [], 0
        if self._file is None or not lines:
            return
        rest = memoryview(b"\n".join([*lines, b""]))
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        """Take one user away, and close the file with the last."""
        with self._lock:
            self._users = max(0, self._users - 1)
            try:
                self._flush()
            finally:
                if not self._users and self._file is not None:
                    os.close(self._file)
                    self._file = None

    def give_up(self) -> None:
        """In a forked child: close our copy of the file and forget what the parent will write."""
        self._lock = threading.Lock()
        self._lines, self._size, self._users = [], 0, 0
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __repr__(self) -> str:
        return f"JsonlRecorder({self.path!r})"


def dump(value: object) -> bytes:
    """Return a value as a line of JSON, without its end."""
    return _encode(value).encode("utf-8", "replace")


def read_recording(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a recording as objects, each frame whole again.

    A line that is cut off or is no JSON object is passed over.

    Args:
        path: A file that a `JsonlRecorder` wrote.

    Raises:
        OSError: It cannot be read.
    """
    texts = Lengthener()
    with open(path, "rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(record, dict):
                continue
            if record.get("kind") == "WsReceive":
                left_out = record.pop("left_out", [])
                texts.complete(str(record.get("correlation_id")), record.get("payload"), left_out)
            yield record
