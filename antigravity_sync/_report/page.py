"""A timeline as one page that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
import importlib.resources
import json
import string
import time
from collections.abc import Sequence
from typing import Final

from .timeline import Lane, Mark, SessionLine, Span

#: Bytes that the data may take, so that a page of thousands of spans opens at once.
_MOST_DATA: Final = 1_500_000
_LONGEST_DETAIL: Final = 4_000
_SHORTEST_DETAIL: Final = 80
_LANES: Final = tuple(Lane)
_MARKS: Final = tuple(Mark)


def page_of(lines: Sequence[SessionLine], title: str) -> str:
    """Return the page.

    Args:
        lines: The sessions.
        title: What stands above it.
    """
    room = _LONGEST_DETAIL
    data = _data(lines, room)
    while len(data.encode("utf-8", "replace")) > _MOST_DATA and room > _SHORTEST_DETAIL:
        room //= 2
        data = _data(lines, room)
    page = _template().substitute(title=html.escape(title), data=data)
    return page.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be written


def _data(lines: Sequence[SessionLine], room: int) -> str:
    """Return everything as JSON that may stand in an element of a page.

    Args:
        lines: The sessions.
        room: Characters of a payload that are kept.
    """
    data = {
        "lanes": [lane.value for lane in _LANES],
        "marks": [mark.value for mark in _MARKS],
        "sessions": [_session(line, room) for line in lines],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # So that nothing in a payload ends the element that holds it.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _template() -> string.Template:
    source = importlib.resources.files(__package__).joinpath("page.html")
    return string.Template(source.read_text("utf-8"))


def _session(line: SessionLine, room: int) -> dict[str, object]:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(line.began))
    tokens = sum(span.tokens for span in line.spans)
    facts = (
        f"{began} · harness {line.version or 'of unknown version'} (pid {line.pid}) · conversation "
        f"{line.conversation_id or 'not opened'} · {line.events} events · {line.length:.2f} s · "
        f"{tokens} tokens · {len(line.errors())} errors"
    )
    places = {trajectory: place for place, trajectory in enumerate(line.trajectories)}
    return {
        "name": f"{began}  {line.conversation_id or line.correlation_id}",
        "facts": facts,
        "length": round(line.length, 6),
        "trajectories": list(line.trajectories.values()),
        "spans": [_span(span, places, room) for span in line.spans],
    }


def _span(span: Span, places: dict[str, int], room: int) -> list[object]:
    detail = span.detail
    if len(detail) > room:
        detail = f"{detail[:room]}… ({len(detail)} characters)"
    return [
        _LANES.index(span.lane),
        span.name,
        round(span.start, 6),
        round(span.end, 6),
        places.get(span.trajectory, -1),
        detail,
        _MARKS.index(span.mark),
        span.tokens,
    ]
