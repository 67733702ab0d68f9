"""From what a tool returned to what the harness takes: a JSON object, and media beside it.

The harness drops a call whose result is no JSON object from the model's sight, without a word, so
whatever is none is put under `result`. So is an object with a member `error`: whatever that holds,
even null, the harness reports the call as failed and may show the model nothing else of it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import json
import math
import pathlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeGuard

import attrs

from ._convert import ArgumentError
from ._shapes import MISSING, NoneType, enum_wire

if TYPE_CHECKING:
    from ._messages import MediaPart

#: Deeper than any real result; what is deeper could not be read back everywhere.
_DEEPEST: Final = 200
_MIME_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")
_AS_THEY_ARE: Final = frozenset({str, int, bool, NoneType})
_ARRAYS: Final = (
    collections.abc.Sequence,
    collections.abc.Set,
    collections.abc.ValuesView,
    collections.deque,
)
_BINARY: Final = (bytes, bytearray, memoryview)
_CONTAINERS: Final = frozenset({dict, list, tuple, set})
_ERROR: Final = "error"

Json: TypeAlias = object


class ResultError(ArgumentError):
    """A tool returned what JSON cannot carry; the text names the tool and the place."""


class Media(Protocol):
    """What goes to the model as a file of its own, such as an image."""

    @property
    def mime_type(self) -> str:
        """What `data` is, such as `image/png`."""

    @property
    def data(self) -> bytes:
        """The content."""


#: Made once: `json.dumps` with options makes one for each result.
_PLAIN_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


@attrs.frozen
class EncodedResult:
    """A result as the harness takes it.

    Attributes:
        json: A JSON object as text.
        media: What was found of media in it, in order; its places hold their numbers instead.
    """

    json: str = attrs.field(repr=False)
    media: tuple[MediaPart, ...] = ()


def encode_result(tool_name: str, value: object) -> EncodedResult:
    """Return what a tool returned, as the harness takes it.

    Objects stay as they are, everything else becomes `{"result": …}`. Dataclass and attrs instances
    and named tuples become objects, sets, tuples and other sequences arrays, enum members their
    value (or name, as in schemas), moments ISO text, and `NaN` and the infinities text, because one
    odd number should not cost the whole table.

    Args:
        tool_name: The tool, for errors.
        value: What it returned.

    Raises:
        ResultError: It holds what JSON cannot carry: bytes, itself, an object of no known kind.
    """
    try:
        plain, media = _encode(value, "result")
        if not isinstance(plain, dict) or _ERROR in plain:
            plain = {"result": plain}
        return EncodedResult(_dump(plain), media)
    except ResultError as error:
        raise ResultError(f"tool {tool_name!r} returned {error}", error.path) from None
    except (ValueError, RecursionError) as error:  # an int of more digits than Python writes
        raise ResultError(f"tool {tool_name!r} returned what cannot be written: {error}") from None


def to_json(value: object) -> Json:
    """Return a value as plain JSON, as `encode_result` would put it.

    Raises:
        ResultError: JSON cannot carry it.
    """
    plain, media = _encode(value, "value")
    if media:
        raise ResultError("media, which is no JSON", "value")
    return plain


def _encode(value: object, root: str) -> tuple[Json, tuple[MediaPart, ...]]:
    encoder = _Encoder()
    try:
        return encoder.encode(value, root), tuple(encoder.media)
    except ResultError:
        raise
    # Boundary: what a tool returned may run code of its own when it is read.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ResultError(f"what cannot be read: {reason}", root) from error


@attrs.define
class _Encoder:
    """One encoding: the media found so far, and the objects it is inside of."""

    media: list[MediaPart] = attrs.field(factory=list)
    _open: set[int] = attrs.field(factory=set)

    def encode(self, value: object, path: str) -> Json:
        if type(value) in _AS_THEY_ARE:
            return value
        if type(value) is float:
            return _number(value)
        if type(value) not in _CONTAINERS:
            scalar = _scalar(value)
            if scalar is not MISSING:
                return scalar
            if isinstance(value, _BINARY):
                raise ResultError(
                    f"bytes at {path}; return text (base64, for example), or an Image", path
                )
            if _is_media(value):
                return self._encode_media(value, path)
        elif _is_plain(value):
            return value
        if id(value) in self._open:
            raise ResultError(f"an object that holds itself at {path}; leave that out", path)
        if len(self._open) >= _DEEPEST:
            raise ResultError(f"{_TOO_DEEP} (at {path[:80]}…)", path)
        self._open.add(id(value))
        try:
            return self._encode_container(value, path)
        finally:
            self._open.discard(id(value))

    def _encode_container(self, value: object, path: str) -> Json:
        if isinstance(value, Mapping):
            return self._encode_members(value.items(), path)
        members = _members(value)
        if members is not None:
            return self._encode_members(members, path)
        if isinstance(value, _ARRAYS):
            items: Iterable[object] = value
            if isinstance(value, collections.abc.Set):
                items = _in_order(value)
            return [self.encode(item, f"{path}[{index}]") for index, item in enumerate(items)]
        if inspect.iscoroutine(value):
            value.close()  # it will never be awaited, which Python would complain about
        shown = f"a value of type {type(value).__name__}"
        if isinstance(value, type):
            shown = f"the class {value.__name__}"
        raise ResultError(f"{shown}, {_advice(value)} (at {path})", path)

    def _encode_members(self, members: Iterable[tuple[object, object]], path: str) -> Json:
        plain: dict[str, Json] = {}
        for key, member in members:
            name = _member_name(key, path)
            if name in plain:
                raise ResultError(f"two members that JSON both calls {name!r} at {path}", path)
            plain[name] = self.encode(member, f"{path}.{name}")
        return plain

    def _encode_media(self, value: Media, path: str) -> Json:
        from ._messages import MediaPart  # only by now is a value of the wire needed

        if not _MIME_TYPE.fullmatch(value.mime_type):
            raise ResultError(
                f"media of type {value.mime_type!r} at {path}; give one such as 'image/png'", path
            )
        description = getattr(value, "description", None) or ""
        self.media.append(MediaPart(value.mime_type, bytes(value.data), str(description)))
        return f"attachment {len(self.media)} ({value.mime_type})"


def _members(value: object) -> Iterator[tuple[str, object]] | None:
    """Return the members of an instance that holds data, by the names its constructor takes."""
    # mypy takes the hash of an instance for that of its class.
    names = _member_names(type(value))  # type: ignore[arg-type]
    return None if names is None else ((told, getattr(value, own)) for told, own in names)


@functools.lru_cache(maxsize=256)
def _member_names(cls: type) -> tuple[tuple[str, str], ...] | None:
    if attrs.has(cls):
        return tuple((each.alias or each.name, each.name) for each in attrs.fields(cls))
    if dataclasses.is_dataclass(cls):
        return tuple((each.name, each.name) for each in dataclasses.fields(cls))
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return tuple((name, name) for name in cls._fields)
    return None


def _member_name(key: object, path: str) -> str:
    if type(key) is str:
        return key
    name = key if isinstance(key, bool | NoneType) else _scalar(key)
    if isinstance(name, str):
        return name
    if isinstance(name, bool | int | float | NoneType):
        return json.dumps(name)
    raise ResultError(
        f"a member whose name is of type {type(key).__name__} at {path}; use str", path
    )


def _scalar(value: object) -> Json:
    """Return what JSON carries for a value without parts, `MISSING` for any other value."""
    match value:
        case enum.Enum():
            return enum_wire(value)
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return _number(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case uuid.UUID() | decimal.Decimal() | pathlib.PurePath():
            return str(value)
        case _:
            return MISSING


def _is_plain(value: object) -> bool:
    """Return whether there is nothing to convert, at least in what is often large."""
    if type(value) is dict:
        return set(map(type, value)) <= {str} and set(map(type, value.values())) <= _AS_THEY_ARE
    if type(value) is list:
        kinds = set(map(type, value))
        return kinds <= _AS_THEY_ARE or (kinds == {float} and all(map(math.isfinite, value)))
    return False


def _in_order(values: Iterable[object]) -> Iterable[object]:
    found = list(values)
    try:
        return sorted(found)  # type: ignore[type-var]  # which is what is tried
    except TypeError:  # of several kinds
        return found


def _number(value: float) -> Json:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _is_media(value: object) -> TypeGuard[Media]:
    return isinstance(getattr(value, "mime_type", None), str) and isinstance(
        getattr(value, "data", None), _BINARY
    )


def _advice(value: object) -> str:
    if inspect.iscoroutine(value) or inspect.isawaitable(value):
        return "which nobody awaits; make the tool a plain function"
    if isinstance(value, collections.abc.Iterator):
        return "which can be read only once; return a list"
    return "which has no JSON form; return a dict, a dataclass or an attrs instance"


def _dump(plain: Mapping[str, Json]) -> str:
    text = _PLAIN_JSON.encode(plain)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except (
            UnicodeEncodeError
        ):  # half a surrogate pair, which only JSON's own spelling can carry
            return json.dumps(plain)
    return text


_TOO_DEEP: Final = f"something nested more than {_DEEPEST} levels deep; flatten it"
