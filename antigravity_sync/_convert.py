"""From JSON that a model wrote to the value that an annotation asks for.

Strict, but not about spelling: what is understood beside exact values is listed in `_written`. What
does not fit is an `ArgumentError`, whose text is for the model: where it is, what was expected,
what came instead. `null` fits only what is optional, one value is no list, and an object must have
exactly the members it should have.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import attrs

from ._annotations import shape_of
from ._shapes import (
    Anything,
    Choice,
    Described,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Record,
    Scalar,
    Shape,
    TupleOf,
    Written,
)
from ._written import kind_name, read_scalar, read_written

_SHOWN_CHARACTERS: Final = 60
_SHOWN_NAMES: Final = 12
_LARGE: Final = 10**40


class ArgumentError(Exception):
    """An argument does not fit; the text is for the model.

    Attributes:
        path: Where, such as `items[2].name`; `""` for the arguments as a whole.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


_Outcome: TypeAlias = "tuple[object, ArgumentError | None]"


def convert(value: object, annotation: object, path: str) -> object:
    """Return `value` as what `annotation` asks for.

    Args:
        value: JSON as Python has it.
        annotation: A type annotation.
        path: What the value is called in complaints.

    Raises:
        ArgumentError: It does not fit.
        ConfigError: The annotation is none that JSON can fill.
    """
    return fit(value, shape_of(annotation, path), path)


def fit(value: object, shape: Shape, path: str) -> object:
    """Return `value` as a shape asks for; see `convert`."""
    if type(shape) is Scalar and type(value) is shape.kind and shape.kind is not float:
        return value  # which is most arguments; a float may be none that JSON has
    try:
        return _Fitting().fit(value, shape, path)
    except RecursionError as error:
        raise ArgumentError(f"{path}: nested too deeply; flatten it", path) from error


def fit_members(
    members: Mapping[object, object], fields: Iterable[Field]
) -> tuple[dict[str, object], list[ArgumentError]]:
    """Return the members of an object that fit their fields, and what is wrong with the others."""
    known = {field.name: field for field in fields}
    found: dict[str, object] = {}
    problems = [
        ArgumentError(_unknown(name, known), str(name)) for name in members if name not in known
    ]
    for name, field in known.items():
        try:
            if name in members:
                found[name] = fit(members[name], field.shape, name)
            elif field.is_required:
                raise ArgumentError(f"{_quoted(name)} is missing: {expected(field.shape)}", name)
        except ArgumentError as error:
            problems.append(error)
    return found, problems


def expected(shape: Shape) -> str:
    """Return what a shape accepts, in a few words for a model."""
    match shape:
        case Anything():
            return "any JSON value"
        case Scalar(kind=kind) | Written(kind=kind):
            return kind_name(kind)
        case Choice(options=options):
            names = [json.dumps(wire, ensure_ascii=False) for wire, _ in options]
            return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
        case ListOf():
            return "an array"
        case TupleOf(items=items):
            return f"an array of {len(items)} items ({', '.join(map(expected, items))})"
        case MapOf():
            return "an object"
        case Record(fields=fields):
            return f"an object with {', '.join(field.name for field in fields) or 'no members'}"
        case OneOf(options=options):
            return " or ".join(dict.fromkeys(expected(option) for option in options))
        case Described(shape=inner):
            return expected(inner)


def shown(value: object) -> str:
    """Return what a value is, in a few words for a model."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {_quoted(value)}"
        case int() if abs(value) >= _LARGE:
            return "a very large number"
        case int() | float():
            return f"the number {value!r}"
        case Mapping():
            return "an object"
        case list() | tuple():
            return f"an array of {len(value)}"
        case _:
            return f"a {type(value).__name__}"


@attrs.define
class _Fitting:
    """One conversion.

    A union tries one option after the other, and so does each union inside: what a record made of
    an object is kept, or else a hostile argument could make that grow without end.
    """

    _outcomes: dict[tuple[int, int, bool], _Outcome] = attrs.field(factory=dict)

    def fit(self, value: object, shape: Shape, path: str, *, is_lax: bool = True) -> object:
        match shape:
            case Anything():
                return value
            case Described(shape=inner):
                return self.fit(value, inner, path, is_lax=is_lax)
            case Scalar() | Written():
                return _fit_scalar(value, shape, path, is_lax=is_lax)
            case Choice():
                return _fit_choice(value, shape, path, is_lax=is_lax)
            case OneOf(options=options):
                return self._fit_union(value, options, path, is_lax=is_lax)
            case Record():
                return self._fit_record_once(value, shape, path, is_lax=is_lax)
            case MapOf():
                return self._fit_map(value, shape, path, is_lax=is_lax)
            case ListOf() | TupleOf():
                return self._fit_array(value, shape, path, is_lax=is_lax)

    def _fit_union(
        self, value: object, options: tuple[Shape, ...], path: str, *, is_lax: bool
    ) -> object:
        problems: list[ArgumentError] = []
        for lax in (False, True) if is_lax else (False,):
            problems.clear()
            for option in options:
                try:
                    return self.fit(value, option, path, is_lax=lax)
                except ArgumentError as error:
                    problems.append(error)
        # Of an option that was right as a whole, what is wrong inside says more.
        inner = [error for error in problems if error.path != path]
        if not inner:
            raise _misfit(value, OneOf(options), path)
        raise ArgumentError("; or ".join(dict.fromkeys(map(str, inner))), inner[0].path)

    def _fit_record_once(self, value: object, record: Record, path: str, *, is_lax: bool) -> object:
        key = (id(value), id(record), is_lax)
        if key not in self._outcomes:
            try:
                self._outcomes[key] = (self._fit_record(value, record, path, is_lax=is_lax), None)
            except ArgumentError as error:
                self._outcomes[key] = (None, error)
        fitted, problem = self._outcomes[key]
        if problem is not None:
            raise ArgumentError(str(problem), problem.path)
        return fitted

    def _fit_record(self, value: object, record: Record, path: str, *, is_lax: bool) -> object:
        if not issubclass(record.cls, dict) and isinstance(value, record.cls):
            return value
        if not isinstance(value, Mapping):
            raise _misfit(value, record, path)
        known = {field.name: field for field in record.fields}
        for name in value:
            if name not in known:
                raise ArgumentError(f"{path}: {_unknown(name, known)}", f"{path}.{name}")
        members: dict[str, object] = {}
        for name, field in known.items():
            inside = f"{path}.{name}"
            if name in value:
                members[name] = self.fit(value[name], field.shape, inside, is_lax=is_lax)
            elif field.is_required:
                raise ArgumentError(f"{inside} is missing: {expected(field.shape)}", inside)
        try:
            return record.build(**members)
        # Boundary: the constructor is the user's, and may check more than types can say.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ArgumentError(f"{path}: {reason}", f"{path}()") from error

    def _fit_map(self, value: object, shape: MapOf, path: str, *, is_lax: bool) -> object:
        if not isinstance(value, Mapping):
            raise _misfit(value, shape, path)
        fitted: dict[object, object] = {}
        for name, member in value.items():
            inside = f"{path}[{_quoted(name)}]"
            # A JSON object has text for names, so a number among them is no other spelling.
            key = self.fit(name, shape.key, f"the name {_quoted(name)} in {path}")
            fitted[key] = self.fit(member, shape.value, inside, is_lax=is_lax)
        return fitted

    def _fit_array(
        self, value: object, shape: ListOf | TupleOf, path: str, *, is_lax: bool
    ) -> object:
        if not isinstance(value, list | tuple):
            if isinstance(shape, ListOf) and isinstance(value, set | frozenset):
                value = list(value)
            else:
                raise _misfit(value, shape, path)
        if isinstance(shape, TupleOf):
            if len(value) != len(shape.items):
                raise _misfit(value, shape, path)
            shapes = shape.items
        else:
            shapes = (shape.item,) * len(value)
        items = [
            self.fit(item, wanted, f"{path}[{index}]", is_lax=is_lax)
            for index, (item, wanted) in enumerate(zip(value, shapes, strict=True))
        ]
        try:
            return tuple(items) if isinstance(shape, TupleOf) else shape.build(items)
        except TypeError:  # a set, of what cannot be in one
            raise ArgumentError(
                f"{path}: items must be strings, numbers, true, false or null", path
            ) from None


def _fit_scalar(value: object, shape: Scalar | Written, path: str, *, is_lax: bool) -> object:
    read = read_scalar if isinstance(shape, Scalar) else read_written
    try:
        return read(value, shape.kind, is_lax=is_lax)
    except ValueError:
        raise _misfit(value, shape, path) from None


def _fit_choice(value: object, shape: Choice, path: str, *, is_lax: bool) -> object:
    for wire, meant in shape.options:
        if meant is value or (type(wire) is type(value) and wire == value):
            return meant
    if isinstance(value, str) and value in shape.aliases:
        return shape.aliases[value]
    for wire, meant in shape.options if is_lax else ():
        try:
            if type(wire) in (int, bool) and read_scalar(value, type(wire), is_lax=True) == wire:
                return meant
        except ValueError:
            continue
    raise _misfit(value, shape, path)


def _misfit(value: object, shape: Shape, path: str) -> ArgumentError:
    text = f"{path}: expected {expected(shape)}, got {shown(value)}"
    if isinstance(shape, ListOf | TupleOf) and not isinstance(value, list | tuple):
        text += "; write it as an array, [ ], also around one item"
    elif isinstance(shape, MapOf | Record) and isinstance(value, str):
        text += "; write it as an object, { }, not as text"
    return ArgumentError(text, path)


def _unknown(name: object, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(str(name), names, 1)
    listed = ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
    hint = f"did you mean {_quoted(near[0])}?" if near else f"known are: {listed or 'none'}"
    return f"{_quoted(name)} is not known ({hint})"


def _quoted(value: object) -> str:
    text = str(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return json.dumps(text.encode("utf-8", "replace").decode("utf-8"), ensure_ascii=False)
