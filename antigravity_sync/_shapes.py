"""What a type annotation can stand for, as a closed set of values.

An annotation is worked out once; its schema and the conversion of an argument are then two readings
of the same shape and cannot disagree.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import attrs

NoneType: Final = type(None)


class Missing(enum.Enum):
    """The default of what has none."""

    MISSING = "MISSING"


MISSING: Final = Missing.MISSING


@attrs.frozen
class Anything:
    """Any JSON value, left as it is."""


@attrs.frozen
class Scalar:
    """A JSON scalar: `str`, `int`, `float`, `bool` or `None`'s type."""

    kind: type


@attrs.frozen
class Written:
    """A value that JSON carries as text: a moment, an id, a path, a decimal number."""

    kind: type


@attrs.frozen
class Choice:
    """One of several constants.

    Attributes:
        options: What JSON carries, and what it stands for.
        aliases: Other spellings that are understood.
    """

    options: tuple[tuple[object, object], ...]
    aliases: Mapping[str, object] = attrs.field(factory=dict, eq=False, repr=False)


@attrs.frozen
class ListOf:
    """Any number of items, made into `build`: a list, tuple, set or frozenset."""

    item: Shape
    build: Callable[[list[object]], object] = list


@attrs.frozen
class TupleOf:
    """One item of each shape, in this order."""

    items: tuple[Shape, ...]


@attrs.frozen
class MapOf:
    """An object whose member names are not known beforehand."""

    key: Shape
    value: Shape


@attrs.frozen
class Field:
    """A member of a record, or a parameter of a tool.

    Attributes:
        name: What JSON and the constructor call it.
        shape: What it holds.
        is_required: Whether it must be given.
        text: What the model is told about it.
        default: What Python takes when it is not given, `MISSING` where that is not known.
    """

    name: str
    shape: Shape
    is_required: bool = True
    text: str = ""
    default: object = MISSING


@attrs.define(eq=False)
class Record:
    """An object with known members: a dataclass, an attrs class, a named tuple or a TypedDict.

    Compared by identity, because a class may contain itself.

    Attributes:
        name: Name of the class.
        cls: The class; its instances are accepted as they are.
        text: What the model is told about it.
        fields: The members; filled in after the record itself exists.
        build: Makes the value from its members by name.
    """

    name: str
    cls: type
    build: Callable[..., object]
    text: str = ""
    fields: tuple[Field, ...] = attrs.field(default=(), repr=False)


@attrs.frozen
class OneOf:
    """A union; what fits without a conversion goes before what fits, and earlier before later."""

    options: tuple[Shape, ...]


@attrs.frozen
class Described:
    """A shape with a text of its own."""

    text: str
    shape: Shape


Shape: TypeAlias = (
    Anything | Scalar | Written | Choice | ListOf | TupleOf | MapOf | Record | OneOf | Described
)


def enum_wire(member: enum.Enum) -> object:
    """Return what JSON carries for a member: its value if all values are text or all whole numbers.

    Else its name.
    """
    values = [each.value for each in type(member)]
    for kind in (str, int):
        if all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return kind(member.value)
    return member.name


def accepts_none(shape: Shape) -> bool:
    """Return whether null is among the values of a shape."""
    match shape:
        case Anything():
            return True
        case Scalar(kind=kind):
            return kind is NoneType
        case Choice(options=options):
            return any(wire is None for wire, _ in options)
        case OneOf(options=shapes):
            return any(accepts_none(option) for option in shapes)
        case Described(shape=inner):
            return accepts_none(inner)
        case _:
            return False


def or_none(shape: Shape) -> Shape:
    """Return a shape that accepts null, too."""
    return shape if accepts_none(shape) else union([shape, Scalar(NoneType)])


def union(options: Iterable[Shape]) -> Shape:
    """Return the shape of values that fit any of `options`, unions among them dissolved.

    The text of what is only made optional becomes the text of the whole.
    """
    flat: list[Shape] = []
    for option in options:
        flat.extend(option.options if isinstance(option, OneOf) else [option])
    match [option for option in flat if option != Scalar(NoneType)]:
        case [Described(text=text, shape=inner)] if len(flat) > 1:
            return Described(text, union([inner, Scalar(NoneType)]))
    return flat[0] if len(flat) == 1 else OneOf(tuple(flat))
