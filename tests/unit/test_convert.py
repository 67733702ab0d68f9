"""From JSON that a model wrote to values, and what the model is told when it does not fit."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import typing
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import attrs
import pytest

from antigravity_sync._convert import ArgumentError, convert
from antigravity_sync.errors import ConfigError
from tests.leaks import Belongings, assert_nothing_added

UserId = NewType("UserId", int)
UTC = datetime.timezone.utc
UUID_TEXT = "123e4567-e89b-12d3-a456-426614174000"
LARGE = 10**400


@pytest.fixture(autouse=True, scope="module")
def _leaves_nothing() -> Iterator[None]:
    """Look for leaks once: these are hundreds of calls of pure functions."""
    before = Belongings.now()
    yield
    assert_nothing_added(before)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"  # noqa: PIE796 - an alias


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(enum.Enum):
    PAIR = (1, 2)
    NOTHING = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


@dataclasses.dataclass(kw_only=True)
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("number must be even")


@attrs.frozen
class Person:
    name: str
    _age: int = 0
    friends: tuple[Person, ...] = ()


class Movie(typing.TypedDict):
    title: str
    year: int


class Options(typing.TypedDict, total=False):
    depth: int


class Pair(typing.NamedTuple):
    left: int
    right: str = "r"


@dataclasses.dataclass
class Cat:
    name: str
    lives: int


@dataclasses.dataclass
class Dog:
    name: str
    tricks: list[str]


FITS: list[tuple[Any, Any, Any]] = [
    # text
    (str, "x", "x"),
    (str, "", ""),
    (str, "3", "3"),
    (str, "grüße", "grüße"),
    # whole numbers
    (int, 3, 3),
    (int, -3, -3),
    (int, 3.0, 3),
    (int, "3", 3),
    (int, " -3 ", -3),
    (int, "+3", 3),
    (int, "3.0", 3),
    (int, 12345678901234567890, 12345678901234567890),
    (int, Level.HIGH, 2),
    # numbers
    (float, 2.5, 2.5),
    (float, 3, 3.0),
    (float, "2.5", 2.5),
    (float, "-1e3", -1000.0),
    (float, ".5", 0.5),
    # truth
    (bool, True, True),
    (bool, False, False),
    (bool, "true", True),
    (bool, "False", False),
    # nothing
    (None, None, None),
    (int | None, None, None),
    (int | None, "3", 3),
    # anything
    (Any, {"a": [1]}, {"a": [1]}),
    (object, None, None),
    # text with a meaning
    (Path, "/tmp/x y", Path("/tmp/x y")),
    (Path, Path("a"), Path("a")),
    (datetime.datetime, "2026-01-31T14:30:00", datetime.datetime(2026, 1, 31, 14, 30)),
    (datetime.datetime, "2026-01-31T14:30:00Z", datetime.datetime(2026, 1, 31, 14, 30, tzinfo=UTC)),
    (datetime.datetime, "2026-01-31 14:30", datetime.datetime(2026, 1, 31, 14, 30)),
    (
        datetime.datetime,
        "2026-01-31T14:30:00.5+00:00",
        datetime.datetime(2026, 1, 31, 14, 30, 0, 500_000, tzinfo=UTC),
    ),
    (
        datetime.datetime,
        "2026-01-31T14:30:00.123456789z",
        datetime.datetime(2026, 1, 31, 14, 30, 0, 123_456, tzinfo=UTC),
    ),
    (datetime.datetime, "2026-01-31", datetime.datetime(2026, 1, 31)),
    (datetime.date, "2026-01-31", datetime.date(2026, 1, 31)),
    (datetime.time, "14:30:00", datetime.time(14, 30)),
    (uuid.UUID, UUID_TEXT, uuid.UUID(UUID_TEXT)),
    (uuid.UUID, UUID_TEXT.upper().replace("-", ""), uuid.UUID(UUID_TEXT)),
    (decimal.Decimal, "12.50", decimal.Decimal("12.50")),
    (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
    (decimal.Decimal, 3, decimal.Decimal("3")),
    # constants
    (Literal["a", "b"], "b", "b"),
    (Literal[1, 2], 2, 2),
    (Literal[1, 2], "2", 2),
    (Literal[1, 2], 2.0, 2),
    (Literal[True], "true", True),
    (Literal["1", 1], "1", "1"),
    (Literal["a", None], None, None),
    (Literal[Color.RED], "red", Color.RED),
    (Color, "red", Color.RED),
    (Color, "BLUE", Color.BLUE),
    (Color, "CRIMSON", Color.RED),
    (Color, Color.BLUE, Color.BLUE),
    (Level, 1, Level.LOW),
    (Level, "2", Level.HIGH),
    (Level, "LOW", Level.LOW),
    (Odd, "PAIR", Odd.PAIR),
    # collections
    (list, [1, "a", None], [1, "a", None]),
    (list[int], [1, "2", 3.0], [1, 2, 3]),
    (list[int], [], []),
    (list[int], (1, 2), [1, 2]),
    (list[list[str]], [["a"], []], [["a"], []]),
    (collections.abc.Sequence[int], ["1"], [1]),
    (set[str], ["a", "a"], {"a"}),
    (set[str], {"a"}, {"a"}),
    (frozenset[int], ["1", 1], frozenset({1})),
    (tuple, [1, "a"], (1, "a")),
    (tuple[int, ...], ["1", 2], (1, 2)),
    (tuple[str, int], ["a", "1"], ("a", 1)),
    (tuple[()], [], ()),
    (dict, {"a": 1}, {"a": 1}),
    (dict[str, int], {"a": "1"}, {"a": 1}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[Color, list[int]], {"red": ["1"]}, {Color.RED: [1]}),
    (dict[uuid.UUID, int], {UUID_TEXT: 1}, {uuid.UUID(UUID_TEXT): 1}),
    # unions: what fits as it is goes before what fits in another spelling
    (int | str, "3", "3"),
    (str | int, 3, 3),
    (float | int, 3, 3),
    (int | float, 3.0, 3.0),
    (int | bool, True, True),
    (int | bool, "true", True),
    (float | str, 3, 3.0),
    (datetime.date | str, "2026-01-31", datetime.date(2026, 1, 31)),
    (datetime.date | str, "soon", "soon"),
    (Literal["auto"] | int, "auto", "auto"),
    (Literal["auto"] | int, "3", 3),
    (list[int] | int, 3, 3),
    (Dog | Cat, {"name": "Tom", "lives": "9"}, Cat("Tom", 9)),
    (Dog | Cat | None, {"name": "Rex", "tricks": []}, Dog("Rex", [])),
    # names for types
    (UserId, "7", 7),
    (Annotated[int, "how many"], "7", 7),
    # classes
    (Point, {"x": 1}, Point(1.0)),
    (Point, {"x": "1", "y": 2}, Point(1.0, 2.0)),
    (Point, Point(1.0), Point(1.0)),
    (Even, {"number": 2}, Even(number=2)),
    (Person, {"name": "A", "age": "3"}, Person("A", 3)),
    (
        Person,
        {"name": "A", "friends": [{"name": "B", "friends": []}]},
        Person("A", friends=(Person("B"),)),
    ),
    (Movie, {"title": "x", "year": "1999"}, {"title": "x", "year": 1999}),
    (Options, {}, {}),
    (Pair, {"left": 1}, Pair(1)),
    (list[Point], [{"x": 1}, {"x": 2}], [Point(1.0), Point(2.0)]),
]


@pytest.mark.parametrize(("annotation", "value", "wanted"), FITS)
def test_convert_when_it_fits_then_the_value_that_is_meant(annotation, value, wanted):
    """What a model may write for a value becomes that value, of exactly that type."""
    found = convert(value, annotation, "x")
    assert found == wanted
    assert type(found) is type(wanted)


MISFITS: list[tuple[Any, Any, str]] = [
    # text
    (str, 3, "x: expected a string, got the number 3"),
    (str, None, "x: expected a string, got null"),
    (str, True, "x: expected a string, got true"),
    (str, ["a"], "x: expected a string, got an array of 1"),
    (str, {}, "x: expected a string, got an object"),
    # whole numbers
    (int, "abc", 'x: expected a whole number, got the string "abc"'),
    (int, "3.5", 'x: expected a whole number, got the string "3.5"'),
    (int, "1e3", 'x: expected a whole number, got the string "1e3"'),
    (int, "٣", 'x: expected a whole number, got the string "٣"'),
    (int, "", 'x: expected a whole number, got the string ""'),
    (int, 3.5, "x: expected a whole number, got the number 3.5"),
    (int, True, "x: expected a whole number, got true"),
    (int, None, "x: expected a whole number, got null"),
    (int, "9" * 5000, f'x: expected a whole number, got the string "{"9" * 60}…"'),
    (int, float("nan"), "x: expected a whole number, got the number nan"),
    # numbers
    (float, "much", 'x: expected a number, got the string "much"'),
    (float, "NaN", 'x: expected a number, got the string "NaN"'),
    (float, "1e999", 'x: expected a number, got the string "1e999"'),
    (float, float("inf"), "x: expected a number, got the number inf"),
    (float, LARGE, "x: expected a number, got a very large number"),
    (float, False, "x: expected a number, got false"),
    # truth
    (bool, 1, "x: expected true or false, got the number 1"),
    (bool, "yes", 'x: expected true or false, got the string "yes"'),
    (bool, None, "x: expected true or false, got null"),
    # nothing
    (None, "null", 'x: expected null, got the string "null"'),
    (int | None, "null", 'x: expected a whole number or null, got the string "null"'),
    # text with a meaning
    (Path, "", 'x: expected a path, got the string ""'),
    (Path, "a\0b", 'x: expected a path, got the string "a\\u0000b"'),
    (Path, 3, "x: expected a path, got the number 3"),
    (
        datetime.datetime,
        "tomorrow",
        'x: expected a date and time such as "2026-01-31T14:30:00Z", got the string "tomorrow"',
    ),
    (
        datetime.datetime,
        1769869800,
        'x: expected a date and time such as "2026-01-31T14:30:00Z", got the number 1769869800',
    ),
    (
        datetime.date,
        "2026-02-31",
        'x: expected a date such as "2026-01-31", got the string "2026-02-31"',
    ),
    (
        datetime.date,
        datetime.datetime(2026, 1, 31),
        'x: expected a date such as "2026-01-31", got a datetime',
    ),
    (datetime.time, "noon", 'x: expected a time such as "14:30:00", got the string "noon"'),
    (uuid.UUID, "12", f'x: expected a UUID such as "{UUID_TEXT}", got the string "12"'),
    (
        decimal.Decimal,
        "12,50",
        'x: expected a decimal number such as "12.50", got the string "12,50"',
    ),
    (
        decimal.Decimal,
        "Infinity",
        'x: expected a decimal number such as "12.50", got the string "Infinity"',
    ),
    (
        decimal.Decimal,
        float("nan"),
        'x: expected a decimal number such as "12.50", got the number nan',
    ),
    # constants
    (Literal["a", "b"], "c", 'x: expected one of "a", "b", got the string "c"'),
    (Literal["a", "b"], "A", 'x: expected one of "a", "b", got the string "A"'),
    (Literal["a"], None, 'x: expected "a", got null'),
    (Literal[1], True, "x: expected 1, got true"),
    (Literal[True], 1, "x: expected true, got the number 1"),
    (Color, "green", 'x: expected one of "red", "blue", got the string "green"'),
    (Level, 3, "x: expected one of 1, 2, got the number 3"),
    # collections
    (
        list[str],
        "a",
        'x: expected an array, got the string "a"; write it as an array, [ ], also around one item',
    ),
    (
        list[str],
        {},
        "x: expected an array, got an object; write it as an array, [ ], also around one item",
    ),
    (
        set[int],
        1,
        "x: expected an array, got the number 1; write it as an array, [ ], also around one item",
    ),
    (list[int], [1, "b"], 'x[1]: expected a whole number, got the string "b"'),
    (list[list[int]], [[], [None]], "x[1][0]: expected a whole number, got null"),
    (set, [[1]], "x: items must be strings, numbers, true, false or null"),
    (
        tuple[str, int],
        ["a"],
        "x: expected an array of 2 items (a string, a whole number), got an array of 1",
    ),
    (tuple[str, int], [1, 1], "x[0]: expected a string, got the number 1"),
    (dict[str, int], [], "x: expected an object, got an array of 0"),
    (
        dict[str, int],
        "{}",
        'x: expected an object, got the string "{}"; write it as an object, { }, not as text',
    ),
    (dict[str, int], {"a b": "c"}, 'x["a b"]: expected a whole number, got the string "c"'),
    (
        dict[Color, int],
        {"green": 1},
        'the name "green" in x: expected one of "red", "blue", got the string "green"',
    ),
    # unions
    (int | list[int], "a", 'x: expected a whole number or an array, got the string "a"'),
    (int | list[int], ["a"], 'x[0]: expected a whole number, got the string "a"'),
    (
        Dog | Cat,
        {"name": "Tom"},
        "x.tricks is missing: an array; or x.lives is missing: a whole number",
    ),
    # classes
    (Point, {}, "x.x is missing: a number"),
    (Point, {"x": None}, "x.x: expected a number, got null"),
    (Point, [1, 2], "x: expected an object with x, y, got an array of 2"),
    (Point, {"x": 1, "yy": 2}, 'x: "yy" is not known (did you mean "y"?)'),
    (Point, {"x": 1, "colour": 2}, 'x: "colour" is not known (known are: x, y)'),
    (Even, {"number": 3}, "x: number must be even"),
    (Person, {"name": "A", "_age": 1}, 'x: "_age" is not known (did you mean "age"?)'),
    (
        Person,
        {"name": "A", "friends": [{"name": "B", "friends": [{}]}]},
        "x.friends[0].friends[0].name is missing: a string",
    ),
    (Movie, {"title": "x"}, "x.year is missing: a whole number"),
    (Options, {"depht": 1}, 'x: "depht" is not known (did you mean "depth"?)'),
]


@pytest.mark.parametrize(("annotation", "value", "message"), MISFITS)
def test_convert_when_it_does_not_fit_then_told_where_what_and_instead(annotation, value, message):
    """A misfit is an error whose text lets a model correct its call."""
    with pytest.raises(ArgumentError) as caught:
        convert(value, annotation, "x")
    assert str(caught.value) == message


def test_tables_when_counted_then_eighty_at_least():
    """There are as many cases as promised."""
    assert len(FITS) + len(MISFITS) >= 80


def test_convert_when_the_annotation_is_impossible_then_config_error():
    """An annotation that JSON cannot fill is the program's mistake, not the model's."""
    with pytest.raises(ConfigError, match="x: bytes cannot be expressed"):
        convert("a", bytes, "x")


def test_convert_when_the_text_is_half_a_surrogate_pair_then_the_message_can_be_sent():
    """What is shown of a value is always text that can be written as UTF-8."""
    with pytest.raises(ArgumentError) as caught:
        convert("\ud800", int, "x")
    assert str(caught.value).encode("utf-8")


def test_convert_when_too_deep_then_an_error_for_the_model():
    """No nesting overflows the stack of the caller."""
    value: dict[str, Any] = {"name": "A", "friends": []}
    for _ in range(20_000):
        value = {"name": "A", "friends": [value]}
    with pytest.raises(ArgumentError, match="x: nested too deeply"):
        convert(value, Person, "x")
    while value["friends"]:  # taken apart gently, because so does Python not
        value = value["friends"].pop()


@dataclasses.dataclass
class Left:
    child: Left | Right | None
    tag: int


@dataclasses.dataclass
class Right:
    child: Left | Right | None
    tag: int


@pytest.mark.parametrize("bad_level", [0, 40])
def test_convert_when_unions_are_nested_then_each_object_is_tried_once_per_class(bad_level):
    """Work grows with the depth and not with its power, or 2**40 attempts would not end."""
    value: dict[str, Any] | None = None
    for level in range(41):
        value = {"child": value, "tag": "x" if level == bad_level else 1}
    with pytest.raises(ArgumentError, match=r"tag: expected a whole number"):
        convert(value, Left | Right, "x")
