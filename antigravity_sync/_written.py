"""Scalars as models write them: numbers and truth as text, moments, ids, paths.

What is understood beside the value itself: a whole number for a float; `3.0`, `"3"` and `"3.0"`
for an int; `"2.5"` for a float; `"true"` and `"false"` for a bool, in any case. Never a bool for a
number, a number for a bool or for text, `NaN` or an infinity.
"""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from ._shapes import NoneType

_WHOLE: Final = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FRACTION: Final = re.compile(r"\.([0-9]+)")
_TRUTH: Final = {"true": True, "false": False}

_NAMES: Final[Mapping[type, str]] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
    datetime.datetime: 'a date and time such as "2026-01-31T14:30:00Z"',
    datetime.date: 'a date such as "2026-01-31"',
    datetime.time: 'a time such as "14:30:00"',
    uuid.UUID: 'a UUID such as "123e4567-e89b-12d3-a456-426614174000"',
    decimal.Decimal: 'a decimal number such as "12.50"',
}


_FORMATS: Final[Mapping[type, str]] = {
    datetime.datetime: "date-time",
    datetime.date: "date",
    datetime.time: "time",
    uuid.UUID: "uuid",
    # Text, because the harness reads numbers as floats and loses what those cannot hold.
    decimal.Decimal: "decimal",
}


def format_of(kind: type) -> dict[str, object]:
    """Return what a schema says about the text of a kind."""
    return {"format": _FORMATS[kind]} if kind in _FORMATS else {}


def kind_name(kind: type) -> str:
    """Return what a value of a kind is called in a complaint about one that is not."""
    return _NAMES.get(kind, "a path")


def read_scalar(value: object, kind: type, *, is_lax: bool) -> object:
    """Return `value` as a JSON scalar of one kind.

    Args:
        value: What was given.
        kind: `str`, `int`, `float`, `bool` or the type of `None`.
        is_lax: Whether other spellings of the same value are understood.

    Raises:
        ValueError: It is none.
    """
    if kind is bool or kind is NoneType or kind is str:
        if isinstance(value, kind):
            return value
        if kind is bool and is_lax and isinstance(value, str):
            return _TRUTH[value.strip().lower()] if value.strip().lower() in _TRUTH else _refuse()
        return _refuse()
    if isinstance(value, bool):
        return _refuse()
    if kind is int:
        return _whole(value, is_lax=is_lax)
    return _real(value, is_lax=is_lax)


def read_written(value: object, kind: type, *, is_lax: bool) -> object:
    """Return `value` as a moment, an id, a path or a decimal number.

    Args:
        value: Its text, or the value itself.
        kind: The class that is wanted.
        is_lax: Whether a number is understood where a decimal number is wanted.

    Raises:
        ValueError: It is no text of such a value.
    """
    # A moment is also a date, and yet another thing than one.
    if type(value) is kind or (isinstance(value, kind) and kind is not datetime.date):
        return value
    if kind is decimal.Decimal and is_lax and type(value) in (int, float):
        value = repr(value)
    if not isinstance(value, str):
        return _refuse()
    if issubclass(kind, pathlib.PurePath):
        return kind(value) if value and "\0" not in value else _refuse()
    return _PARSERS[kind](value.strip())


def _whole(value: object, *, is_lax: bool) -> int:
    if isinstance(value, int):
        return int(value)
    if is_lax and isinstance(value, float) and value.is_integer():
        return int(value)
    if is_lax and isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    return _refuse()


def _real(value: object, *, is_lax: bool) -> float:
    if isinstance(value, str):
        if not is_lax or not _NUMBER.fullmatch(value.strip()):
            return _refuse()
    elif not isinstance(value, float) and not (is_lax and isinstance(value, int)):
        return _refuse()
    try:
        number = float(value)
    except OverflowError:  # an int beyond all floats
        return _refuse()
    return number if math.isfinite(number) else _refuse()


def _moment(text: str) -> datetime.datetime:
    # Python before 3.11 knows neither the Z nor fractions of other than 3 or 6 digits.
    plain = f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text
    plain = _FRACTION.sub(lambda found: f".{found[1][:6]:0<6}", plain)
    return datetime.datetime.fromisoformat(plain)


def _decimal(text: str) -> decimal.Decimal:
    return decimal.Decimal(text) if _NUMBER.fullmatch(text) else _refuse()


def _refuse() -> NoReturn:
    raise ValueError


_PARSERS: Final[Mapping[type, Callable[[str], object]]] = {
    datetime.datetime: _moment,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    uuid.UUID: uuid.UUID,
    decimal.Decimal: _decimal,
}
