"""Make frames of a streamed answer short, and whole again.

Each frame of a step carries its whole text so far beside what is new, so an answer of n pieces
takes n*n/2 of them: a hundred megabytes where the answer has a hundred kilobytes. A frame whose
text is that of the step's frame before it plus the new piece loses nothing without its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

_MEMBERS: Final = ("text", "thinking")
_STRING_END: Final = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_DELTA: Final = b'"textDelta":"'
_TEXT: Final = b',"text":"'
#: What comes after the text in a frame of a run: the envelope.
_TAIL: Final = re.compile(rb'"\}(?:,"[A-Za-z]+":"[0-9]+")*\}')
#: How far back a credential may begin that the new piece completes.
_SEAM: Final = 96


class Run:
    """Frames of one step that differ in nothing but the new piece and the envelope.

    They make up a streamed answer, and reading each of them as JSON would cost too much.

    Attributes:
        left_out: What is left out of each.
    """

    def __init__(self, data: bytes, short: bytes, left_out: list[str], base: bytearray) -> None:
        """Begin a run after a frame; `is_good` says whether it can be one."""
        head_ends = data.find(_DELTA) + len(_DELTA)
        middle_at = data.find(b'"', head_ends)
        text_at = data.find(_TEXT, middle_at)
        short_ends = short.find(_DELTA) + len(_DELTA)
        self.is_good = len(_DELTA) <= head_ends < text_at and short_ends >= len(_DELTA)
        self.left_out = left_out
        self._head = data[:head_ends]
        self._middle = data[middle_at : text_at + len(_TEXT)]
        self._base = base
        self._short_head = short[:short_ends]
        self._short_middle = self._middle[: -len(_TEXT)]

    def take(self, data: bytes) -> tuple[bytes, bytes] | None:
        """Return what is new in a frame, and its end; `None` if it is not of this run."""
        head, base = self._head, self._base
        if not data.startswith(head):
            return None
        at = data.find(b'"', len(head))
        delta = data[len(head) : at]
        text_at = at + len(self._middle)
        delta_at = text_at + len(base)
        if not (
            b"\\" not in delta
            and data.startswith(self._middle, at)
            and data.startswith(base, text_at)
            and data.startswith(delta, delta_at)
        ):
            return None
        tail = data[delta_at + len(delta) :]
        if _TAIL.fullmatch(tail) is None:
            return None
        base += delta
        return delta, tail

    def lines(self, start: bytes, frames: list[tuple[float, bytes, bytes]]) -> list[bytes]:
        """Return lines of a recording: frames without what the frames before them tell.

        Args:
            start: What every line begins with.
            frames: When each came, what is new in it, and its end.
        """
        before, after = b'%s,"time":' % start, b',"payload":%s' % self._short_head
        middle = self._short_middle
        return [
            b"%s%a%s%s%s%s}" % (before, when, after, delta, middle, tail[1:])
            for when, delta, tail in frames
        ]

    def whole(self, delta: bytes, tail: bytes) -> bytes:
        """Return the last frame with all its text."""
        return b"".join((self._head, delta, self._middle, self._base, tail))

    def seam(self, joined: bytes) -> str:
        """Return the newest pieces, and as much before them as matters for what they complete."""
        return self._base[-_SEAM - len(joined) :].decode("utf-8", "replace")


class Shortener:
    """Shortens the frames of one session, in the order they came.

    Works on bytes, because reading each frame once more would cost as much as the pump's own
    reading. What is compared is the text as it is written on the wire.

    Attributes:
        run: What the last frame began or went on with, if it may be the first of many like it.
    """

    def __init__(self) -> None:
        self._step: tuple[Any, Any] = (None, None)
        self._bases: dict[str, bytearray] = {}
        self.run: Run | None = None

    def shorten(self, data: bytes, is_clean: Callable[[str], bool]) -> tuple[bytes, list[str]]:
        """Return a frame without what the frames before tell, and what was left out.

        Args:
            data: The frame.
            is_clean: Whether the end of a text may stay as it is; if not, the frame is not
                shortened, so that what must not be read is not put together again from pieces.
        """
        short, left_out = data, []
        self.run = None
        deltas: dict[str, bytes] = {}
        for name in _MEMBERS if self._bases else ():
            cut = self._cut(short, name)
            if cut is not None:
                short, deltas[name] = cut
                left_out.append(name)
        if len(left_out) == len(_MEMBERS) and self._accept(short, deltas, is_clean):
            run = Run(data, short, left_out, self._bases["text"])
            self.run = run if run.is_good else None
            return short, left_out
        self._begin(data)
        return data, []

    def _cut(self, data: bytes, name: str) -> tuple[bytes, bytes] | None:
        """Return the frame without member `name`, and what that is longer by."""
        base = self._bases[name]
        at = data.find(b'"%s":"' % name.encode())
        delta_at = data.find(b'"%sDelta":"' % name.encode())
        if at < 0 or delta_at < 0:
            return None
        start = at + len(name) + 4
        if not data.startswith(base, start):
            return None
        delta_at += len(name) + 9
        found = _STRING_END.match(data, delta_at)
        end = start + len(base)
        if found is None or not data.startswith(found[0], end):
            return None
        end += len(found[0])
        if data[end : end + 1] == b",":
            end += 1
        elif data[at - 1 : at] == b",":
            at -= 1
        return data[:at] + data[end:], found[0][:-1]

    def _accept(
        self, short: bytes, deltas: dict[str, bytes], is_clean: Callable[[str], bool]
    ) -> bool:
        """Check that a shortened frame is what it seems to be; take it in if so."""
        step = _step_of(short)
        if step is None or self._step != _name(step) or any(name in step for name in deltas):
            return False
        for name, delta in deltas.items():
            base = self._bases[name]
            if delta and not is_clean((base[-_SEAM:] + delta).decode("utf-8", "replace")):
                return False
        for name, delta in deltas.items():
            self._bases[name] += delta
        return True

    def _begin(self, data: bytes) -> None:
        """Take in a frame that is written as it is."""
        step = _step_of(data)
        if step is None:
            return
        bases = {}
        for name in _MEMBERS:
            at = data.find(b'"%s":"' % name.encode())
            found = None if at < 0 else _STRING_END.match(data, at + len(name) + 4)
            if found is None or type(step.get(name)) is not str:
                self._bases = {}
                return
            bases[name] = bytearray(found[0][:-1])
        self._step, self._bases = _name(step), bases


class Lengthener:
    """Gives shortened frames their texts back, in the order they were written."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Any, ...], dict[str, str]] = {}

    def complete(self, session: str, payload: Any, left_out: list[str]) -> None:
        """Put into `payload`, a frame of `session`, what was left out of it."""
        step = payload.get("stepUpdate") if isinstance(payload, dict) else None
        if not isinstance(step, dict):
            return
        key = (session, *_name(step))
        before = self._texts.get(key, {})
        for name in left_out:
            step[name] = before.get(name, "") + str(step.get(f"{name}Delta", ""))
        self._texts[key] = {name: str(step.get(name) or "") for name in _MEMBERS}


def _step_of(data: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return None
    step = event.get("stepUpdate") if type(event) is dict else None
    return step if type(step) is dict else None


def _name(step: dict[str, Any]) -> tuple[Any, Any]:
    return str(step.get("trajectoryId")), str(step.get("stepIndex"))
