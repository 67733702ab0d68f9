"""JSON Schema as far as this package judges it: whether an answer fits, and what it asks for.

Judged are `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, `not`, `$ref` inside the schema, the
keywords of objects (`properties`, `patternProperties`, `additionalProperties`, `required`,
`minProperties`, `maxProperties`), of arrays (`items`, `prefixItems`, `minItems`, `maxItems`,
`uniqueItems`), of text (`minLength`, `maxLength`, `pattern` where Python understands it) and of
numbers (`minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`). Every other
keyword is left to the harness, which checks the answer before we see it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias, TypeGuard

import attrs

from .responses import JsonObject

Schema: TypeAlias = "JsonObject | bool"

_SHOWN: Final = 60

_SIZES: Final[Mapping[str, tuple[type, Callable[[float, float], bool], str]]] = {
    "minItems": (list, lambda size, limit: size >= limit, "at least {} items"),
    "maxItems": (list, lambda size, limit: size <= limit, "at most {} items"),
    "minLength": (str, lambda size, limit: size >= limit, "at least {} characters"),
    "maxLength": (str, lambda size, limit: size <= limit, "at most {} characters"),
    "minProperties": (dict, lambda size, limit: size >= limit, "at least {} members"),
    "maxProperties": (dict, lambda size, limit: size <= limit, "at most {} members"),
}
_LIMITS: Final[Mapping[str, tuple[Callable[[Fraction, Fraction], bool], str]]] = {
    "minimum": (lambda value, limit: value >= limit, "at least"),
    "maximum": (lambda value, limit: value <= limit, "at most"),
    "exclusiveMinimum": (lambda value, limit: value > limit, "more than"),
    "exclusiveMaximum": (lambda value, limit: value < limit, "less than"),
    "multipleOf": (lambda value, limit: value % limit == 0, "a multiple of"),
}


class MisfitError(ValueError):
    """A value does not fit a schema; the text says where and why."""


def fitted(value: object, schema: JsonObject) -> object:
    """Return what of `value` its schema asks for, all of it checked.

    A member that no schema of its object declares is left out, at every depth, unless the schema
    says `additionalProperties` or declares no members at all.

    Args:
        value: JSON as Python has it.
        schema: A schema that `check_schema` has passed.

    Raises:
        MisfitError: It does not fit.
    """
    reading = _Reading(schema)
    try:
        problem = reading.problem(value, schema, "")
        if problem is not None:
            raise MisfitError(problem)
        return reading.stripped(value, [schema])
    except RecursionError as error:
        raise MisfitError("nested too deeply, or the schema refers to itself for ever") from error


def resolve(root: JsonObject, reference: str) -> Schema | None:
    """Return what a `$ref` means, `None` if that is not in the schema itself."""
    if not reference.startswith("#"):
        return None
    found: object = root
    for token in reference[1:].split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            return None
    is_pointer = reference == "#" or reference.startswith("#/")
    return found if is_pointer and isinstance(found, Mapping | bool) else None


def is_type(value: object, name: object) -> bool:
    """Return whether a JSON value is of a type of JSON Schema."""
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return _is_number(value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return _is_number(value)
        case _:
            return False


def same(one: object, other: object) -> bool:
    """Return whether two JSON values are equal: 1 is 1.0 and is not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return one == other


@attrs.define
class _Reading:
    """One answer against one schema.

    What was found out of a value and a schema is kept: a union tries its options one after the
    other, and so does each union inside, which a hostile answer could make grow without end.
    """

    _root: JsonObject
    _known: dict[tuple[int, int], str | None] = attrs.field(factory=dict)

    def problem(self, value: object, schema: Schema, path: str) -> str | None:
        """Return what is wrong with a value, `None` if it fits."""
        if isinstance(schema, bool):
            return None if schema else _said(path, "is not wanted here")
        if not isinstance(value, dict | list):  # which may be one object in several places
            return next(self._problems(value, schema, path), None)
        key = (id(value), id(schema))
        if key not in self._known:
            self._known[key] = next(self._problems(value, schema, path), None)
        return self._known[key]

    def stripped(self, value: object, schemas: list[Schema]) -> object:
        """Return a value that fits `schemas` without what none of them asks for."""
        if not isinstance(value, dict | list):
            return value
        applied = [each for schema in schemas for each in self._applied(value, schema)]
        if isinstance(value, list):
            return [
                self.stripped(item, [s for each in applied for s in _item_schemas(each, index)])
                for index, item in enumerate(value)
            ]
        is_open = not any("properties" in s or "patternProperties" in s for s in applied)
        kept: dict[str, object] = {}
        for name, member in value.items():
            inside = [s for each in applied for s in _member_schemas(each, name)]
            if inside or is_open:
                kept[name] = self.stripped(member, inside)
        return kept

    def _applied(self, value: object, schema: Schema) -> Iterator[JsonObject]:
        """Yield the schemas that say something about a value: this one and those it leads to."""
        if isinstance(schema, bool):
            return
        yield schema
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield from self._applied(value, self._target(reference))
        for option in _schemas(schema, "allOf"):
            yield from self._applied(value, option)
        for keyword in ("anyOf", "oneOf"):
            for option in _schemas(schema, keyword):
                if self.problem(value, option, "") is None:
                    yield from self._applied(value, option)

    def _target(self, reference: str) -> Schema:
        found = resolve(self._root, reference)
        return True if found is None else found

    def _problems(self, value: object, schema: JsonObject, path: str) -> Iterator[str]:
        wanted = schema.get("type")
        if wanted is not None:
            names = wanted if isinstance(wanted, list) else [wanted]
            if not any(is_type(value, name) for name in names):
                yield _said(path, f"must be {' or '.join(map(str, names))}, not {_shown(value)}")
        options = schema.get("enum")
        if isinstance(options, list) and not any(same(value, option) for option in options):
            yield _said(path, f"must be one of {_shown(options)}, not {_shown(value)}")
        if "const" in schema and not same(value, schema["const"]):
            yield _said(path, f"must be {_shown(schema['const'])}, not {_shown(value)}")
        yield from self._combined(value, schema, path)
        yield from _sizes(value, schema, path)
        if isinstance(value, dict):
            yield from self._members(value, schema, path)
        elif isinstance(value, list):
            yield from self._items(value, schema, path)

    def _combined(self, value: object, schema: JsonObject, path: str) -> Iterator[str]:
        reference = schema.get("$ref")
        demanded = _schemas(schema, "allOf")
        if isinstance(reference, str):
            demanded = [self._target(reference), *demanded]
        for each in demanded:
            problem = self.problem(value, each, path)
            if problem is not None:
                yield problem
        for keyword in ("anyOf", "oneOf"):
            options = _schemas(schema, keyword)
            problems = [self.problem(value, option, path) for option in options]
            if options and None not in problems:
                yield "; or ".join(dict.fromkeys(map(str, problems)))
            elif keyword == "oneOf" and problems.count(None) > 1:
                yield _said(path, "fits several of the options of oneOf, and may fit only one")
        refused = schema.get("not")
        if isinstance(refused, Mapping | bool) and self.problem(value, refused, path) is None:
            yield _said(path, f"is what the schema excludes: {_shown(value)}")

    def _members(self, value: Mapping[str, object], schema: JsonObject, path: str) -> Iterator[str]:
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if name not in value:
                yield _said(_join(path, str(name)), "is missing")
        for name, member in value.items():
            for inside in _member_schemas(schema, name):
                problem = self.problem(member, inside, _join(path, name))
                if problem is not None:
                    yield problem

    def _items(self, value: list[object], schema: JsonObject, path: str) -> Iterator[str]:
        for index, item in enumerate(value):
            for inside in _item_schemas(schema, index):
                problem = self.problem(item, inside, f"{path}[{index}]")
                if problem is not None:
                    yield problem
        if schema.get("uniqueItems") is True:
            for index, item in enumerate(value):
                if any(same(item, other) for other in value[:index]):
                    yield _said(f"{path}[{index}]", "is there twice")


def _sizes(value: object, schema: JsonObject, path: str) -> Iterator[str]:
    for keyword, (kind, is_right, words) in _SIZES.items():
        limit = schema.get(keyword)
        if not isinstance(value, list | str | dict) or not isinstance(value, kind):
            continue
        if _is_number(limit) and not is_right(len(value), limit):
            yield _said(path, f"must have {words.format(limit)}, not {len(value)}")
    if _is_number(value):
        for keyword, (is_within, word) in _LIMITS.items():
            limit = schema.get(keyword)
            # Through text, so that 0.3 is a multiple of 0.1.
            if _is_number(limit) and not is_within(Fraction(str(value)), Fraction(str(limit))):
                yield _said(path, f"must be {word} {limit}, not {_shown(value)}")
    pattern = schema.get("pattern")
    if isinstance(value, str) and isinstance(pattern, str):
        compiled = _compiled(pattern)
        if compiled is not None and not compiled.search(value):
            yield _said(path, f"must match {pattern!r}, which {_shown(value)} does not")


def _member_schemas(schema: JsonObject, name: str) -> Iterator[Schema]:
    """Yield what a schema says about one member of an object, nothing if it does not mention it."""
    is_known = False
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and name in properties:
        is_known = True
        yield properties[name]
    patterns = schema.get("patternProperties")
    for pattern, inside in patterns.items() if isinstance(patterns, Mapping) else ():
        compiled = _compiled(pattern)
        if compiled is None or compiled.search(name):
            is_known = True
            yield True if compiled is None else inside
    rest = schema.get("additionalProperties")
    if not is_known and isinstance(rest, Mapping | bool):
        yield rest


def _item_schemas(schema: JsonObject, index: int) -> Iterator[Schema]:
    first = _schemas(schema, "prefixItems")
    if index < len(first):
        yield first[index]
        return
    rest = schema.get("items")
    if isinstance(rest, Mapping | bool):
        yield rest


def _schemas(schema: JsonObject, keyword: str) -> list[Schema]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern, `None` for one that only other dialects know: then it is not judged."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _said(path: str, what: str) -> str:
    return f"{path or 'the answer'} {what}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
