"""What a scripted model can answer, as values.

A `Stream` is an answer made of pieces in order: parts (already rendered to the JSON of the Gemini
API, so that a mistake shows when the script is written and a long stream costs little), pauses,
gates. The other values are answers that are no answer: an HTTP error, silence, a closed connection,
arbitrary bytes.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing._gates import ModelGate
from antigravity_sync.testing._requests import JsonObject, ModelRequest

_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

#: Token counts a reply reports unless `usage()` says otherwise; round, so that sums can be checked.
DEFAULT_USAGE: Final[Mapping[str, int]] = {
    "promptTokenCount": 10,
    "candidatesTokenCount": 5,
    "totalTokenCount": 15,
}


@attrs.frozen
class Part:
    """One part of an answer; make it with `thought`, `call`, `finish` or `image`."""

    json: str


@attrs.frozen
class CallPart(Part):
    """A function call; the arguments are kept so that what the tool demands can be filled in."""

    name: str
    args: JsonObject

    def filled(self, additions: Mapping[str, str]) -> Part:
        """Return the same call with `additions` put behind the scripted arguments."""
        return Part(render_call(self.name, {**self.args, **additions}))


@attrs.frozen
class Pause:
    """Seconds during which nothing is sent."""

    seconds: float


class Ending(enum.Enum):
    """How a stream ends."""

    COMPLETE = "complete"
    CUT_IN_EVENT = "cut in event"
    DROPPED = "dropped"


Piece: TypeAlias = "str | Mapping[str, object] | Part | Pause | ModelGate | Stream"


@attrs.frozen(repr=False)
class Stream:
    """An answer with status 200, made of pieces that are sent as they come."""

    pieces: tuple[Part | Pause | ModelGate, ...]
    finish_reason: str | None = "STOP"
    usage: Mapping[str, int] | None = attrs.field(factory=lambda: DEFAULT_USAGE)
    block_reason: str | None = None
    ending: Ending = Ending.COMPLETE

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but its pieces, so that it can be put inside another reply."""
        return self == Stream(self.pieces)

    def __repr__(self) -> str:
        parts = ",".join(piece.json for piece in self.pieces[:20] if isinstance(piece, Part))
        return f"<reply {parts[:200] or self.block_reason or self.finish_reason}>"


@attrs.frozen
class HttpError:
    """An answer with an error status."""

    code: int
    body: bytes = attrs.field(repr=lambda body: repr(body[:200]))
    headers: Mapping[str, str]


@attrs.frozen
class Hang:
    """No answer: the request stays open until its client gives up."""


@attrs.frozen
class Refuse:
    """No answer: the connection is closed."""


@attrs.frozen
class Raw:
    """Whatever bytes the script wants sent."""

    body: bytes = attrs.field(repr=lambda body: repr(body[:200]))
    content_type: str
    status: int


Answer: TypeAlias = Stream | HttpError | Hang | Refuse | Raw

#: Computes a reply. Its result is checked when it has returned and not by its type: for a lambda's
#: list of mixed pieces a type checker infers `list[object]`, which no exact type would accept.
ReplyFunction: TypeAlias = Callable[[ModelRequest], object]

#: What a script is made of; a list is one reply in several pieces.
Reply: TypeAlias = "str | Part | Mapping[str, object] | Sequence[Piece] | Answer | ReplyFunction"

#: A reply that was checked.
Scripted: TypeAlias = Answer | ReplyFunction


@attrs.frozen
class Always:
    """The last element of a script: a reply that never runs out."""

    reply: Scripted


def as_answer(reply: object) -> Answer:
    """Return the answer that a reply of the script stands for.

    Raises:
        ConfigError: It is nothing that can be sent.
    """
    if isinstance(reply, (Stream, HttpError, Hang, Refuse, Raw)):
        return reply
    if isinstance(reply, (str, Mapping, Part)):
        return Stream((as_part(reply),))
    if isinstance(reply, (list, tuple)):
        return Stream(as_pieces(reply))
    raise ConfigError(
        f"{_shown(reply)} is not a reply: pass text, a list of pieces, a function of the "
        "request, or what chunks(), call(), http_error() and their like return."
    )


def _shown(value: object) -> str:
    return repr(value)[:200]


def as_pieces(items: Sequence[Piece]) -> tuple[Part | Pause | ModelGate, ...]:
    """Return the pieces of one answer, those of replies inside it included.

    Raises:
        ConfigError: One of them cannot be sent.
    """
    pieces: list[Part | Pause | ModelGate] = []
    for item in items:
        if isinstance(item, (Pause, ModelGate)):
            pieces.append(item)
        elif isinstance(item, Stream) and item.is_plain:
            pieces.extend(item.pieces)
        else:
            pieces.append(as_part(item))
    return tuple(pieces)


def as_part(item: object) -> Part:
    """Return text, or a part written as a dict, as a part.

    Raises:
        ConfigError: It is neither.
    """
    if isinstance(item, Part):
        return item
    if isinstance(item, str):
        return Part(_encode({"text": item}))
    if isinstance(item, Mapping):
        return Part(render(dict(item), "a part"))
    raise ConfigError(
        f"{_shown(item)} cannot be a piece of a reply: use text, a part of the Gemini API as a "
        "dict, call(), thought(), image(), pause() or a ModelGate, and make other replies an "
        "element of the script."
    )


def render(value: object, what: str) -> str:
    """Return `value` as JSON; the error names it as `what`.

    Raises:
        ConfigError: It is not made of JSON values.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError) as problem:
        raise ConfigError(
            f"{what} cannot be written as JSON ({problem}): use str, int, finite float, bool, "
            "None, list and dict."
        ) from None


def render_call(name: str, args: JsonObject) -> str:
    """Return the part that calls a tool, as JSON.

    Raises:
        ConfigError: An argument is not a JSON value.
    """
    return render({"functionCall": {"name": name, "args": args}}, f"The call of {name!r}")
