"""The members of classes that hold data: dataclasses, attrs classes, named tuples, TypedDicts."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import attrs

from ._docstrings import parse_docstring
from ._shapes import MISSING

_CLASS_VARIABLE: Final = "_FIELD_CLASSVAR"


@attrs.frozen
class Member:
    """One member as the class declares it.

    Attributes:
        name: What the constructor calls it.
        annotation: Its type as written.
        owner: The class that declares it, in whose scope the annotation is.
        is_required: Whether it must be given, as far as the class knows: it cannot read `Required`
            and `NotRequired` in annotations that are text.
        default: Its default, `MISSING` if there is none or a factory makes it.
        text: What the docstring says about it.
    """

    name: str
    annotation: object
    owner: type
    is_required: bool
    default: object = MISSING
    text: str = ""


@attrs.frozen
class Members:
    """The members of a class, what makes it from them, and what its docstring says."""

    members: tuple[Member, ...]
    build: Callable[..., object]
    text: str = ""


def members_of(cls: type) -> Members | None:
    """Return the members of a class, `None` if it is no class that holds data."""
    if dataclasses.is_dataclass(cls):
        found = list(_dataclass_members(cls))
    elif attrs.has(cls):
        found = list(_attrs_members(cls))
    elif is_typed_dict(cls):
        return _described(cls, list(_typed_dict_members(cls)), dict)
    elif issubclass(cls, tuple) and hasattr(cls, "_field_defaults"):
        found = list(_named_tuple_members(cls))
    else:
        return None
    return _described(cls, found, cls)


def is_typed_dict(cls: type) -> bool:
    """Return whether a class is a TypedDict, of `typing` or of `typing_extensions`."""
    return issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def _described(cls: type, members: list[Member], build: Callable[..., object]) -> Members:
    text = vars(cls).get("__doc__") or ""
    # What dataclasses and named tuples write themselves only repeats the signature.
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        text = ""
    docs = parse_docstring(text)
    told = [attrs.evolve(each, text=docs.parameters.get(each.name, "")) for each in members]
    return Members(tuple(told), build, docs.summary)


def _hints(cls: type) -> Mapping[str, tuple[object, type]]:
    """Return the annotations of a class and its bases, each with the class it stands in."""
    found: dict[str, tuple[object, type]] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base).items():
            found[name] = (annotation, base)
    return found


def _dataclass_members(cls: type) -> Iterator[Member]:
    hints = _hints(cls)
    declared: Mapping[str, dataclasses.Field[object]] = vars(cls)["__dataclass_fields__"]
    for name, field in declared.items():
        # There is no public way to see an `InitVar`, which is a parameter and no field.
        kind = getattr(getattr(field, "_field_type", None), "name", "")
        if not field.init or kind == _CLASS_VARIABLE:
            continue
        annotation, owner = hints.get(name, (field.type, cls))
        has_default = field.default is not dataclasses.MISSING
        has_factory = field.default_factory is not dataclasses.MISSING
        yield Member(
            name,
            annotation,
            owner,
            not (has_default or has_factory),
            field.default if has_default else MISSING,
        )


def _attrs_members(cls: type) -> Iterator[Member]:
    hints = _hints(cls)
    declared: tuple[attrs.Attribute[object], ...] = attrs.fields(cls)
    for attribute in declared:
        if not attribute.init:
            continue
        unknown = (typing.Any if attribute.type is None else attribute.type, cls)
        annotation, owner = hints.get(attribute.name, unknown)
        has_default = attribute.default is not attrs.NOTHING
        is_plain = has_default and not isinstance(attribute.default, _FACTORY)
        name = attribute.alias or attribute.name.lstrip("_")
        default = attribute.default if is_plain else MISSING
        yield Member(name, annotation, owner, not has_default, default)


def _named_tuple_members(cls: type) -> Iterator[Member]:
    hints = _hints(cls)
    defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})
    for name in getattr(cls, "_fields", ()):
        annotation, owner = hints.get(name, (typing.Any, cls))
        yield Member(name, annotation, owner, name not in defaults, defaults.get(name, MISSING))


def _typed_dict_members(cls: type) -> Iterator[Member]:
    required: frozenset[str] = getattr(cls, "__required_keys__", frozenset())
    for name, annotation in inspect.get_annotations(cls).items():
        yield Member(name, annotation, cls, name in required)


_FACTORY: Final[type] = type(attrs.Factory(list))
