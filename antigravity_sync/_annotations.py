"""From a type annotation to what it stands for."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import attrs

from ._records import Member, Members, members_of
from ._scopes import Scope, class_scope
from ._shapes import (
    Anything,
    Choice,
    Described,
    Field,
    ListOf,
    MapOf,
    NoneType,
    Record,
    Scalar,
    Shape,
    TupleOf,
    Written,
    enum_wire,
    union,
)
from .errors import ConfigError

_T = typing.TypeVar("_T")
Bindings: TypeAlias = Mapping[object, Shape]

_ANY: Final = Anything()
_TEXT: Final = Scalar(str)
_UNBOUND: Final[Bindings] = types.MappingProxyType({})

_PLAIN: Final[Mapping[object, Shape]] = {
    typing.Any: _ANY,
    object: _ANY,
    inspect.Parameter.empty: _ANY,
    None: Scalar(NoneType),
    **{kind: Scalar(kind) for kind in (str, int, float, bool, NoneType)},
    **{
        kind: Written(kind)
        for kind in (datetime.datetime, datetime.date, datetime.time, uuid.UUID, decimal.Decimal)
    },
}
_ARRAYS: Final[Mapping[object, Callable[[list[object]], object]]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_BARE_TUPLES: Final = (tuple, typing.Tuple)  # noqa: UP006 - somebody may write it
_MAPPINGS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
#: Forms that say something about the name they annotate, not about its values.
_QUALIFIERS: Final = frozenset({"Required", "NotRequired", "ReadOnly", "Final"})

_DEFAULT_ADVICE: Final = (
    "use types that JSON can carry, a dataclass, an attrs class or a TypedDict, "
    "or write the schema yourself with Tool(name, description, parameters, function)"
)
_ADVICE: Final[Mapping[object, str]] = {
    bytes: "take a str with base64 text and decode it",
    bytearray: "take a str with base64 text and decode it",
    complex: "take two floats",
    datetime.timedelta: "take seconds as a float",
    collections.abc.Callable: "take a str or a Literal that says what to do",
}


def shape_of(annotation: object, where: str, scope: Scope | None = None) -> Shape:
    """Return what an annotation stands for.

    Args:
        annotation: The annotation, also as text.
        where: What it annotates, for errors: `"tool f, parameter x"`.
        scope: Where names in text are looked up.

    Raises:
        ConfigError: It cannot be expressed; says where, and what to write instead.
    """
    return Reader(scope or Scope()).read(annotation, where)


@attrs.define
class Reader:
    """Reads annotations of one tool; each class becomes one record, however often it is met.

    Attributes:
        scope: Where names in text are looked up.
        refused: A class that must not be part of anything, with the reason in its place.
    """

    scope: Scope
    refused: tuple[type, str] | None = None
    _records: dict[tuple[type, tuple[Shape, ...]], Record] = attrs.field(factory=dict)
    _open_names: list[object] = attrs.field(factory=list)

    def read(self, annotation: object, where: str) -> Shape:
        """Return the shape of an annotation; see `shape_of`."""
        try:
            return self._read(annotation, where, self.scope, _UNBOUND)
        except RecursionError as error:
            raise ConfigError(f"{where}: the type grows without end; make it simpler") from error

    def _read(self, annotation: object, where: str, scope: Scope, bound: Bindings) -> Shape:
        if isinstance(annotation, str | typing.ForwardRef):
            return self._read_name(annotation, where, scope, bound)
        if isinstance(annotation, typing.TypeVar):
            return bound.get(annotation) or self._read_variable(annotation, where, scope)
        plain = _look_up(_PLAIN, annotation)
        if plain is not None:
            return plain
        supertype = getattr(annotation, "__supertype__", None)
        if supertype is not None:
            return self._read(supertype, where, scope, bound)
        origin = typing.get_origin(annotation) or annotation
        arguments = typing.get_args(annotation)
        if type(origin).__name__ == "TypeAliasType":
            return self._read_alias(origin, arguments, where, scope, bound)
        read = _FORMS.get(getattr(origin, "_name", None) or "")
        if origin in (typing.Union, types.UnionType):
            read = Reader._read_union
        elif origin is typing.Annotated:
            read = Reader._read_annotated
        elif isinstance(origin, type):
            read = Reader._read_class
        if read is None:
            raise _inexpressible(annotation, where)
        return read(self, annotation, where, scope, bound)

    def _read_name(
        self, name: str | typing.ForwardRef, where: str, scope: Scope, bound: Bindings
    ) -> Shape:
        text = name if isinstance(name, str) else name.__forward_arg__
        key = (text, id(scope))
        if key in self._open_names:
            raise ConfigError(
                f"{where}: the alias {text!r} refers to itself; make it a class, or use Any"
            )
        self._open_names.append(key)
        try:
            return self._read(scope.evaluate(name, where), where, scope, bound)
        finally:
            self._open_names.pop()

    def _read_variable(self, variable: typing.TypeVar, where: str, scope: Scope) -> Shape:
        # Nobody says what it is, so it is whatever it may be.
        options = variable.__constraints__ or (variable.__bound__ or typing.Any,)
        return union([self._read(option, where, scope, _UNBOUND) for option in options])

    def _read_alias(
        self,
        alias: object,
        arguments: tuple[object, ...],
        where: str,
        scope: Scope,
        bound: Bindings,
    ) -> Shape:
        if alias in self._open_names:
            raise ConfigError(
                f"{where}: the alias {alias} refers to itself; make it a class, or use Any"
            )
        shapes = [self._read(argument, where, scope, bound) for argument in arguments]
        parameters: tuple[object, ...] = getattr(alias, "__type_params__", ())
        self._open_names.append(alias)
        try:
            value: object = getattr(alias, "__value__", typing.Any)
            return self._read(value, where, scope, dict(zip(parameters, shapes, strict=False)))
        finally:
            self._open_names.pop()

    def _read_union(self, annotation: object, where: str, scope: Scope, bound: Bindings) -> Shape:
        options = typing.get_args(annotation)
        return union([self._read(option, where, scope, bound) for option in options])

    def _read_annotated(
        self, annotation: object, where: str, scope: Scope, bound: Bindings
    ) -> Shape:
        inner, *notes = typing.get_args(annotation)
        shape = self._read(inner, where, scope, bound)
        # `Doc` of PEP 727 keeps its text in an attribute.
        texts = [getattr(note, "documentation", note) for note in notes]
        text = next((each for each in texts if isinstance(each, str)), "")
        return Described(" ".join(text.split()), shape) if text else shape

    def _read_literal(
        self, annotation: object, where: str, _scope: Scope, _bound: Bindings
    ) -> Shape:
        options: list[tuple[object, object]] = []
        for value in typing.get_args(annotation):
            wire = enum_wire(value) if isinstance(value, enum.Enum) else value
            if wire is not None and type(wire) not in (str, int, bool):
                raise ConfigError(
                    f"{where}: Literal[{value!r}] has no JSON form; use strings or whole numbers"
                )
            options.append((wire, value))
        return Choice(tuple(options))

    def _read_qualified(
        self, annotation: object, where: str, scope: Scope, bound: Bindings
    ) -> Shape:
        return self._read((*typing.get_args(annotation), typing.Any)[0], where, scope, bound)

    def _read_class(self, annotation: object, where: str, scope: Scope, bound: Bindings) -> Shape:
        origin = typing.get_origin(annotation) or annotation
        assert isinstance(origin, type)
        if self.refused is not None and issubclass(origin, self.refused[0]):
            raise ConfigError(f"{where}: {self.refused[1]}")
        if issubclass(origin, enum.Enum):
            return _enum_choice(origin, where)
        if issubclass(origin, pathlib.PurePath):
            return Written(origin)
        is_container = origin is tuple or origin in _ARRAYS or origin in _MAPPINGS
        members = None if is_container else members_of(origin)
        if not is_container and members is None:
            raise _inexpressible(annotation, where)
        shapes = [
            self._read(argument, f"{where}[]", scope, bound)
            for argument in typing.get_args(annotation)
            if argument is not ... and argument != ()  # how 3.10 spells `tuple[()]`
        ]
        if members is not None:
            return self._read_record(origin, members, tuple(shapes), where)
        if origin is tuple:
            is_open = ... in typing.get_args(annotation) or annotation in _BARE_TUPLES
            return ListOf((*shapes, _ANY)[0], tuple) if is_open else TupleOf(tuple(shapes))
        if origin in _MAPPINGS:
            key, value = shapes or (_TEXT, _ANY)
            return MapOf(_check_key(key, where), value)
        return ListOf((*shapes, _ANY)[0], _ARRAYS[origin])

    def _read_record(
        self, cls: type, members: Members, arguments: tuple[Shape, ...], where: str
    ) -> Shape:
        known = self._records.get((cls, arguments))
        if known is not None:
            return known
        record = Record(cls.__name__, cls, members.build, members.text)
        self._records[(cls, arguments)] = record
        bound = self._bind(cls, arguments, where)
        record.fields = tuple(
            self._read_member(member, f"{where}.{member.name}", bound) for member in members.members
        )
        return record

    def _read_member(self, member: Member, where: str, bound: Bindings) -> Field:
        scope = class_scope(member.owner, self.scope)
        annotation = member.annotation
        if isinstance(annotation, str | typing.ForwardRef):
            annotation = scope.evaluate(annotation, where)
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        word = getattr(typing.get_origin(annotation), "_name", None)
        return Field(
            member.name,
            self._read(annotation, where, scope, bound),
            word == "Required" or (member.is_required and word != "NotRequired"),
            member.text,
            member.default,
        )

    def _bind(self, cls: type, arguments: tuple[Shape, ...], where: str) -> Bindings:
        """Return what the type variables of a class and its bases stand for."""
        variables: tuple[object, ...] = getattr(cls, "__parameters__", ())
        bound = dict(zip(variables, arguments, strict=False))
        for derived in cls.__mro__:
            for base in vars(derived).get("__orig_bases__", ()):
                known = getattr(typing.get_origin(base), "__parameters__", ())
                for variable, argument in zip(known, typing.get_args(base), strict=False):
                    if variable not in bound:
                        scope = class_scope(derived, self.scope)
                        bound[variable] = self._read(argument, where, scope, bound)
        return bound


def _look_up(table: Mapping[object, _T], key: object) -> _T | None:
    try:
        return table.get(key)
    except TypeError:  # `Annotated[int, []]` has no hash
        return None


def _enum_choice(cls: type[enum.Enum], where: str) -> Choice:
    members = list(cls)
    if not members:
        raise ConfigError(f"{where}: the enum {cls.__name__} has no members; give it some")
    if issubclass(cls, enum.Flag):
        raise ConfigError(
            f"{where}: flags such as {cls.__name__} have no JSON form; take a list of an Enum"
        )
    return Choice(tuple((enum_wire(member), member) for member in members), cls.__members__)


def _check_key(key: Shape, where: str) -> Shape:
    match key:
        case Described(shape=inner):
            return _check_key(inner, where)
        case Anything():
            return _TEXT  # JSON has no other
        case Scalar(kind=kind) if kind in (str, int):
            return key
        case Written() | Choice():
            return key
        case _:
            raise ConfigError(
                f"{where}: members of a JSON object have text for names; use str, int, an Enum or "
                "a Literal as the key type, or take a list of pairs"
            )


def _inexpressible(annotation: object, where: str) -> ConfigError:
    shown = annotation.__name__ if isinstance(annotation, type) else repr(annotation)
    advice = _look_up(_ADVICE, typing.get_origin(annotation) or annotation) or _DEFAULT_ADVICE
    return ConfigError(f"{where}: {shown} cannot be expressed in a JSON schema; {advice}")


_FormReader: TypeAlias = Callable[[Reader, object, str, Scope, Bindings], Shape]
_FORMS: Final[Mapping[str, _FormReader]] = {
    "Literal": Reader._read_literal,
    **dict.fromkeys(_QUALIFIERS, Reader._read_qualified),
}
