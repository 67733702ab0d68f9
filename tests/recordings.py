"""Recorded sessions of the real harness, read back as values.

The files under ``tests/traces`` are our own recordings; ``tests/traces/README.md`` says how they
were made and what a line of them looks like. Nothing here knows what the messages mean: that is
the business of ``tests.oracle``.
"""

from __future__ import annotations

import functools
import gc
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

_TRACES = Path(__file__).parent / "traces"
# A note with one of these keys says that the socket or the process is gone.
CLOSING_NOTES = frozenset({"ws_close_frame", "ws_closed", "ws_only_close", "signal", "closed"})


@attrs.frozen
class Record:
    """Hold one line of a recording.

    ``dir`` is ``send`` (client to harness), ``recv``, ``stderr`` or ``note`` (the recorder
    speaking) and ``t`` the seconds since the recording began, taken when the client wrote or read.
    A frame is in ``msg``; what was sent without being a JSON object, and a line of standard error,
    is in ``line``; a note is in ``note``.
    """

    dir: str
    t: float
    msg: dict[str, Any] | None = None
    line: str = ""
    note: dict[str, Any] | None = None


@attrs.frozen
class Recording:
    """Hold one recorded scenario of one harness version, in the order the client saw it."""

    version: str
    scenario: str
    records: tuple[Record, ...]


def load(version: str | None = None) -> dict[tuple[str, str], Recording]:
    """Return the recordings keyed by (version, scenario), all of them or those of one version.

    The files are read once per process. Raises ``KeyError`` when that version was never recorded.
    """
    everything = _everything()
    if version is None:
        return dict(everything)
    chosen = {key: recording for key, recording in everything.items() if key[0] == version}
    if not chosen:
        known = ", ".join(sorted({key[0] for key in everything}))
        raise KeyError(f"no recording of {version}; choose one of {known}")
    return chosen


def connection_starts(recording: Recording) -> tuple[int, ...]:
    """Return the record indices at which a WebSocket of this recording begins, the first being 0.

    A second ``config`` opens a new socket when the one before is known to be closed or when the
    harness answers it with an ``initializeConversationResponse``; otherwise it was sent into the
    running session.
    """
    starts: list[int] = []
    configured = closed = False
    records = recording.records
    for index, record in enumerate(records):
        if record.dir == "note" and record.note is not None and CLOSING_NOTES & record.note.keys():
            closed = True
        if record.dir != "send" or record.msg is None or "config" not in record.msg:
            continue
        if configured and (closed or _is_answered(records, index)):
            starts.append(index)
        configured, closed = True, False
    return (0, *starts)


def connections(recording: Recording) -> tuple[Recording, ...]:
    """Return the recording cut into one per WebSocket, for replays that drive one session each."""
    starts = connection_starts(recording)
    ends = (*starts[1:], len(recording.records))
    pairs = zip(starts, ends, strict=True)
    return tuple(attrs.evolve(recording, records=recording.records[a:b]) for a, b in pairs)


def _is_answered(records: tuple[Record, ...], index: int) -> bool:
    """Say whether the first frame received after this one is the answer to an init event."""
    for record in records[index + 1 :]:
        if record.dir == "recv":
            return record.msg is not None and "initializeConversationResponse" in record.msg
        if record.dir == "send":
            return False
    return False


@functools.cache
def _everything() -> dict[tuple[str, str], Recording]:
    collected: dict[tuple[str, str], list[Record]] = {}
    for path in sorted(_TRACES.glob("*.jsonl.xz")):
        for key, record in _lines(path):
            collected.setdefault(key, []).append(record)
    everything = {key: Recording(*key, tuple(records)) for key, records in collected.items()}
    # Every test ends with a garbage collection (tests/leaks.py), and this is for good: without it
    # each collection would walk a million objects.
    gc.collect()
    gc.freeze()
    return everything


def _lines(path: Path) -> Iterator[tuple[tuple[str, str], Record]]:
    for text in lzma.decompress(path.read_bytes()).splitlines():
        line = json.loads(text)
        record = Record(
            line["dir"], line["t"], line.get("msg"), line.get("line", ""), line.get("note")
        )
        yield (line["version"], line["scenario"]), record
