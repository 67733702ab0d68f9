"""What inspectors see: one event for each thing that goes over the wire, and a filter on them."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, TypeVar

import attrs

Kind = Literal["HarnessSpawn", "WsSend", "WsReceive", "HarnessStderr"]

_EVERYTHING: Final = frozenset({"1", "true", "yes", "on", "all"})
_NOTHING: Final = frozenset({"0", "false", "no", "off", "none"})
#: Categories of clients that speak HTTP themselves; here the harness does.
_HTTP: Final = frozenset({"request", "response", "sse", "upload"})
_HARNESS: Final = frozenset({"HarnessSpawn", "HarnessStderr"})
_ENVELOPE: Final = frozenset({"seqnum", "timestampmicros"})

_Event = TypeVar("_Event", bound="WireEvent")


@attrs.frozen(kw_only=True)
class WireEvent:
    """Something that went between this process and the harness; credentials are taken out.

    Attributes:
        correlation_id: The same for all events of one `start()`, and for no other's.
        time: Seconds since 1970.
        pid: Process id of the harness.
        conversation_id: The conversation, `""` before the harness has opened it.
    """

    correlation_id: str
    time: float
    pid: int
    conversation_id: str = ""

    @property
    def kind(self) -> str:
        """Name of the class."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON; a frame's payload as the object that it is, if it is one."""
        return {"kind": self.kind, **attrs.asdict(self)}


@attrs.frozen(kw_only=True)
class HarnessSpawn(WireEvent):
    """A harness was started from `path`; its version is `""` if that is not known yet."""

    path: str
    version: str = ""


@attrs.frozen(kw_only=True)
class HarnessStderr(WireEvent):
    """The harness wrote a line on stderr.

    Attributes:
        line: The line.
        severity: `INFO`, `WARNING`, `ERROR` or `CRITICAL`.
    """

    line: str
    severity: str = "INFO"


@attrs.frozen(kw_only=True)
class _Frame(WireEvent):
    payload: str

    def message(self) -> Any:
        """Return the payload's JSON, or the payload itself if it is none."""
        return message_of(self.payload)

    def members(self) -> tuple[str, ...]:
        """Return what the message is about: its members without those of the envelope."""
        message = self.message()
        found = tuple(message) if isinstance(message, dict) else ()
        return tuple(key for key in found if _plain(key) not in _ENVELOPE)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON, the payload as the object that it is."""
        return {**WireEvent.to_dict(self), "payload": self.message()}


@attrs.frozen(kw_only=True)
class WsSend(_Frame):
    """A frame was sent; `payload` is its text."""


@attrs.frozen(kw_only=True)
class WsReceive(_Frame):
    """A frame has come; `payload` is its text."""


def message_of(text: str) -> Any:
    """Return the JSON that `text` is, or `text` itself if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def is_object(text: str) -> bool:
    """Return whether `text` is a JSON object."""
    return isinstance(message_of(text), dict)


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


@attrs.frozen
class WireFilter:
    """Which events are wanted, and whether in full; made by `parse`."""

    _kinds: frozenset[str] = frozenset()
    _keys: frozenset[str] = frozenset()
    is_summary: bool = False

    @classmethod
    def parse(cls, text: str) -> WireFilter:
        """Return the filter that `text` describes; any text is one.

        Args:
            text: Words with commas between them, in any order and case. `1`, `true`, `yes`, `on`,
                `all` and an empty text are everything. `harness` is spawns and stderr, `ws` is
                every message. `request`, `response`, `sse` and `upload` are accepted and match
                nothing, and so do `0`, `false`, `no`, `off` and `none`. `summary` makes it one
                short line per event. Any other word is messages with a member of that name.
        """
        words = {word.strip().casefold() for word in text.split(",")} - {""}
        is_summary = "summary" in words
        wanted = words - {"summary"}
        kinds: set[str] = set()
        if wanted & _EVERYTHING or not wanted:
            kinds |= _HARNESS | {"WsSend", "WsReceive"}
        if "harness" in wanted:
            kinds |= _HARNESS
        if "ws" in wanted:
            kinds |= {"WsSend", "WsReceive"}
        keys = wanted - _EVERYTHING - _NOTHING - _HTTP - {"harness", "ws"}
        plain = frozenset(_plain(key) for key in keys) - _ENVELOPE
        return cls(frozenset(kinds), plain, is_summary)

    def __bool__(self) -> bool:
        """Whether there is anything that it matches."""
        return bool(self._kinds or self._keys)

    def matches(self, event: WireEvent) -> bool:
        """Return whether `event` is wanted."""
        if event.kind in self._kinds:
            return True
        if not self._keys or not isinstance(event, _Frame):
            return False
        return any(_plain(key) in self._keys for key in event.members())

    def show(self, event: WireEvent) -> str:
        """Return one line about `event`, without its end."""
        return f"[wire {event.correlation_id[:8]}] {_said(event, is_short=self.is_summary)}"


def _said(event: WireEvent, *, is_short: bool) -> str:
    match event:
        case HarnessSpawn(path=path, pid=pid):
            return f"spawn {path} (pid {pid})"
        case HarnessStderr(line=line):
            return f"stderr {_printable(line[:120] if is_short else line)}"
        case _Frame(payload=payload):
            arrow = "send" if isinstance(event, WsSend) else "receive"
            what = ", ".join(event.members()) or "no message" if is_short else payload
            return f"ws {arrow} {_printable(what)}"
        case _:
            return event.kind


def _printable(text: str) -> str:
    """Return `text` without what would move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
