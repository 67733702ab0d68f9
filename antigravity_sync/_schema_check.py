"""Whether what a user wrote has the shape of a JSON Schema, as far as this can be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._json_schema import resolve
from .errors import ConfigError
from .responses import JsonObject

_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_ONE: Final = ("additionalProperties", "items", "not", "contains", "if", "then", "else")
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions")
_COUNTS: Final = (
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
)
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def check_schema(schema: JsonObject, option: str) -> None:
    """Refuse what is no JSON Schema of an object.

    Args:
        schema: Plain JSON.
        option: What it is the value of, for errors.

    Raises:
        ConfigError: It is none; the text says where.
    """
    if schema.get("type") != "object":
        raise ConfigError(
            f'{option} must have "type": "object" at its root, not {schema.get("type")!r}: '
            "make what you want a member of an object"
        )
    try:
        _check(schema, schema, option)
    except RecursionError as error:
        raise ConfigError(f"{option} is nested too deeply; flatten it") from error


def _check(schema: object, root: JsonObject, where: str) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise ConfigError(f"{where} must be a schema, which {schema!r} is not")
    _check_words(schema, root, where)
    _check_numbers(schema, where)
    for keyword in _ONE:
        if keyword in schema:
            _check(schema[keyword], root, f"{where}.{keyword}")
    for keyword in _MANY:
        options = schema.get(keyword, [True])
        if not isinstance(options, list) or not options:
            raise ConfigError(f"{where}.{keyword} must be a list of schemas with something in it")
        for index, option in enumerate(options):
            _check(option, root, f"{where}.{keyword}[{index}]")
    for keyword in _NAMED:
        members = schema.get(keyword, {})
        if not isinstance(members, Mapping):
            raise ConfigError(f"{where}.{keyword} must map names to schemas, not {members!r}")
        for name, member in members.items():
            _check(member, root, f"{where}.{keyword}.{name}")


def _check_words(schema: JsonObject, root: JsonObject, where: str) -> None:
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            raise ConfigError(f"{where}.type must be among {', '.join(_TYPES)}, not {kind!r}")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ConfigError(f"{where}.required must be a list of names, not {required!r}")
    options = schema.get("enum", [None])
    if not isinstance(options, list) or not options:
        raise ConfigError(f"{where}.enum must be a list of values with something in it")
    pattern = schema.get("pattern", "")
    if not isinstance(pattern, str):
        raise ConfigError(f"{where}.pattern must be a string, not {pattern!r}")
    reference = schema.get("$ref", "#")
    if not isinstance(reference, str) or resolve(root, reference) is None:
        raise ConfigError(
            f"{where} refers to {reference!r}, which is not in this schema; "
            'put it under "$defs" and refer to it as "#/$defs/…"'
        )


def _check_numbers(schema: JsonObject, where: str) -> None:
    for keyword in _COUNTS:
        count = schema.get(keyword, 0)
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ConfigError(f"{where}.{keyword} must be a whole number from 0 up, not {count!r}")
    for keyword in _NUMBERS:
        limit = schema.get(keyword, 1)
        if not isinstance(limit, int | float) or isinstance(limit, bool):
            raise ConfigError(f"{where}.{keyword} must be a number, not {limit!r}")
    if schema.get("multipleOf", 1) in (0, 0.0) or str(schema.get("multipleOf", 1)).startswith("-"):
        raise ConfigError(f"{where}.multipleOf must be above 0; drop it or correct it")
