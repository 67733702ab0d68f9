"""From what an annotation stands for to its JSON schema.

The harness hands schemas to the model's service as they are, so they keep to what that service
documents: types, `anyOf`, `enum`, `properties`, `required`, `additionalProperties`, `items` with
`minItems` and `maxItems`, `description`, `default`, `format`, and `$ref` for classes that contain
themselves. Such a class should give the member that leads back to itself a default: the service
unrolls the circle, and stops where a member may be left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import attrs

from ._annotations import shape_of
from ._results import ResultError, to_json
from ._shapes import (
    MISSING,
    Anything,
    Choice,
    Described,
    Field,
    ListOf,
    MapOf,
    NoneType,
    OneOf,
    Record,
    Scalar,
    Shape,
    TupleOf,
    Written,
)
from ._written import format_of

JsonSchema: TypeAlias = dict[str, object]

_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
#: There is no simple way to say it but in words.
_ORDER: Final = "In this order:"


def schema_of(annotation: object, where: str) -> JsonSchema:
    """Return the JSON schema of an annotation; the root of a class is always the object itself.

    Args:
        annotation: A type annotation.
        where: What it annotates, for errors: `"tool f, parameter x"`.

    Raises:
        ConfigError: It cannot be expressed; says where, and what to write instead.
    """
    writer = SchemaWriter()
    shape = shape_of(annotation, where)
    root = writer.members(shape) if isinstance(shape, Record) else writer.schema(shape)
    return writer.finish(root)


def parameters_schema(parameters: Iterable[Field]) -> JsonSchema:
    """Return the schema of a tool's arguments."""
    writer = SchemaWriter()
    return writer.finish(writer.fields(parameters))


@attrs.define
class SchemaWriter:
    """Writes the schemas of one tool, and gathers the definitions of classes with circles."""

    _definitions: dict[str, JsonSchema] = attrs.field(factory=dict)
    _names: dict[Record, str] = attrs.field(factory=dict)

    def schema(self, shape: Shape) -> JsonSchema:
        """Return the schema of a shape."""
        match shape:
            case Anything():
                return {}
            case Scalar(kind=kind):
                return {"type": _TYPES[kind]}
            case Written(kind=kind):
                return {"type": "string"} | format_of(kind)
            case Choice(options=options):
                return _choice(wire for wire, _ in options)
            case ListOf(item=item):
                return {"type": "array", "items": self.schema(item)}
            case TupleOf(items=items):
                return self._tuple(items)
            case MapOf(value=Anything()):
                return {"type": "object"}
            case MapOf(value=value):
                return {"type": "object", "additionalProperties": self.schema(value)}
            case Record():
                return self._reference(shape) if _is_circle(shape) else self.members(shape)
            case OneOf(options=options):
                return {"anyOf": list(_flat(self.schema(option) for option in options))}
            case Described(text=text, shape=inner):
                return _described(self.schema(inner), text)

    def members(self, record: Record) -> JsonSchema:
        """Return the schema of a record, written out."""
        return _described(self.fields(record.fields), record.text)

    def fields(self, fields: Iterable[Field]) -> JsonSchema:
        """Return the schema of an object with these members."""
        properties: dict[str, JsonSchema] = {}
        required: list[str] = []
        for field in fields:
            schema = self.schema(field.shape)
            if not isinstance(field.shape, Described):  # what stands at the annotation is nearer
                schema = _described(schema, field.text)
            properties[field.name] = _beside(schema, _default(field.default))
            if field.is_required:
                required.append(field.name)
        schema = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {})

    def finish(self, root: JsonSchema) -> JsonSchema:
        """Return the root with the definitions that it refers to."""
        return root | ({"$defs": self._definitions} if self._definitions else {})

    def _reference(self, record: Record) -> JsonSchema:
        name = self._names.get(record)
        if name is None:
            name = record.name
            while name in self._definitions:
                name += "_"
            self._names[record] = name
            self._definitions[name] = {}  # before its members, which refer to it
            self._definitions[name] = self.members(record)
        return {"$ref": f"#/$defs/{name}"}

    def _tuple(self, items: tuple[Shape, ...]) -> JsonSchema:
        schemas = [self.schema(item) for item in items]
        different = {json.dumps(schema, sort_keys=True): schema for schema in schemas}
        options = list(different.values())
        inside = options[0] if len(options) == 1 else {"anyOf": options} if options else {}
        schema: JsonSchema = {"type": "array", "items": inside}
        if len(options) > 1:
            schema["description"] = f"{_ORDER} {', '.join(map(_word, items))}."
        return schema | {"minItems": len(items), "maxItems": len(items)}


def _choice(values: Iterable[object]) -> JsonSchema:
    by_kind: dict[type, list[object]] = {}
    for value in values:
        by_kind.setdefault(type(value), []).append(value)
    schemas: list[JsonSchema] = [
        {"type": _TYPES[kind]} if kind is NoneType else {"type": _TYPES[kind], "enum": found}
        for kind, found in by_kind.items()
    ]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _flat(options: Iterable[JsonSchema]) -> Iterator[JsonSchema]:
    for option in options:
        inner = option.get("anyOf")
        if isinstance(inner, list) and len(option) == 1:
            yield from inner
        else:
            yield option


def _described(schema: JsonSchema, text: str) -> JsonSchema:
    order = str(schema.get("description", ""))
    if text and order.startswith(_ORDER):
        text = f"{text.rstrip('.')}. {order}"
    return _beside(schema, {"description": text} if text else {})


def _beside(schema: JsonSchema, extra: JsonSchema) -> JsonSchema:
    """Return a schema with further members; a `$ref` must have none beside it."""
    return ({"anyOf": [schema]} if extra and "$ref" in schema else schema) | extra


def _default(value: object) -> JsonSchema:
    if value is MISSING or (isinstance(value, float) and value - value != 0):
        return {}
    try:
        return {"default": to_json(value)}
    except ResultError:  # then only Python knows it
        return {}


def _word(shape: Shape) -> str:
    match shape:
        case Described(text=text):
            return text
        case Scalar(kind=kind):
            return _TYPES[kind]
        case Written():
            return "string"
        case Choice():
            return "one of the constants"
        case ListOf() | TupleOf():
            return "array"
        case MapOf():
            return "object"
        case Record(name=name):
            return name
        case OneOf(options=options):
            return " or ".join(map(_word, options))
        case Anything():
            return "anything"


def _is_circle(record: Record) -> bool:
    """Return whether a record contains itself, however far down."""
    seen: set[Record] = set()
    waiting = list(_records_in(record.fields))
    while waiting:
        found = waiting.pop()
        if found is record:
            return True
        if found not in seen:
            seen.add(found)
            waiting.extend(_records_in(found.fields))
    return False


def _records_in(fields: Iterable[Field]) -> Iterator[Record]:
    shapes = [field.shape for field in fields]
    while shapes:
        match shapes.pop():
            case Record() as record:
                yield record
            case Described(shape=inner):
                shapes.append(inner)
            case ListOf(item=item):
                shapes.append(item)
            case MapOf(value=value):
                shapes.append(value)
            case TupleOf(items=inside) | OneOf(options=inside):
                shapes.extend(inside)
            case _:
                continue
