"""The file in which the stand-in processes record what happens to them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import attrs

from antigravity_sync.testing._fake_wire import Message


@attrs.frozen
class Record:
    """One thing that happened in a stand-in process.

    Attributes:
        event: Its name, as in `FakeHarness.events`.
        pid: The process.
        at: When, in seconds since the epoch.
        socket: Which connection of that process, from 1; None if it is not about one.
        message: The message the client sent, for those that carry one.
        facts: What else is known.
    """

    event: str
    pid: int
    at: float
    socket: int | None
    message: Message | None
    facts: Message


class Journal:
    """Read the file as it grows.

    Processes write a record before they act on it, one `write` per line, so what a test has seen
    the effect of is here.

    Thread: any, with the lock of the owner held.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: list[Record] = []
        self._offset = 0
        self._is_sealed = False
        path.touch()

    def append(self, event: str, pid: int) -> None:
        """Add a record that the process could not write itself."""
        line = json.dumps({"event": event, "pid": pid, "at": time.time()})
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line.encode() + b"\n")
        finally:
            os.close(descriptor)

    def records(self) -> list[Record]:
        """Return all records so far, in order."""
        if not self._is_sealed:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
            # A line that is being written has no end yet.
            whole = data[: data.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._records += map(_parse, whole.splitlines())
        return list(self._records)

    def seal(self) -> None:
        """Read the file for the last time; it may be removed now."""
        self.records()
        self._is_sealed = True


def _parse(line: bytes) -> Record:
    facts = json.loads(line)
    return Record(
        event=facts.pop("event"),
        pid=facts.pop("pid"),
        at=facts.pop("at"),
        socket=facts.pop("socket", None),
        message=facts.pop("message", None),
        facts=facts,
    )
