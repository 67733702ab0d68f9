"""A timeline as lines of text, for the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

from .timeline import Lane, Mark, SessionLine, Span

_BAR: Final = "█"
_BAR_WIDTH: Final = 20


def text_of(lines: Iterable[SessionLine], *, width: int = 100) -> Iterator[str]:
    """Yield the lines of all sessions: when, how long, a bar, what.

    Args:
        lines: The sessions.
        width: Columns of the terminal; names are cut to it.
    """
    for number, line in enumerate(lines):
        if number:
            yield ""
        yield from _session(line, width)


def _session(line: SessionLine, width: int) -> Iterator[str]:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(line.began))
    version = f"harness {line.version or 'of unknown version'} (pid {line.pid})"
    yield f"session {line.correlation_id}  {began}  {version}"
    yield (
        f"  conversation {line.conversation_id or 'not opened'}, {line.events} events, "
        f"{line.length:.2f} s, {_tokens(line)} tokens, {len(line.errors())} errors"
    )
    longest = max((span.end - span.start for span in line.spans), default=0.0)
    for span in line.spans:
        yield _row(line, span, longest, width)


def _tokens(line: SessionLine) -> int:
    return sum(span.tokens for span in line.spans)


def _row(line: SessionLine, span: Span, longest: float, width: int) -> str:
    took = span.end - span.start
    bar = _BAR * round(_BAR_WIDTH * took / longest) if longest else ""
    whose = line.trajectories.get(span.trajectory, "")
    owner = "" if whose in ("", "main") else f"[{whose}] "
    mark = "" if span.mark is Mark.PLAIN else f"  ({span.mark.value})"
    indent = "" if span.lane in (Lane.TURN, Lane.SESSION) else "  "
    shown = f"{took:8.3f}" if took else " " * 8
    head = f"{span.start:9.3f} {shown} {bar:{_BAR_WIDTH}} {span.lane.value:8} {indent}{owner}"
    room = max(20, width - len(head) - len(mark))
    name = span.name if len(span.name) <= room else f"{span.name[: room - 1]}…"
    return f"{head}{name}{mark}".rstrip()
