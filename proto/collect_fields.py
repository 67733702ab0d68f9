"""Collect what each harness release understands, from the descriptors inside its wheels.

    python proto/collect_fields.py WHEEL...

reads every given wheel and writes `antigravity_sync/_wire/fields.json`: each message a client may
send, each of its fields under its JSON name, each enum value, with the releases that have it. Give
it the wheels of *all* releases that the SDK speaks to; it lists nothing that it did not read.

The wheels' modules are parsed, never imported: one process cannot hold two releases of them, and
the SDK must work without them.
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto

FIELDS_JSON = Path(__file__).parents[1] / "antigravity_sync" / "_wire" / "fields.json"

#: Where a client's messages begin: the first frame, and every later one.
SENDABLE_ROOTS = ("InitializeConversationEvent", "InputEvent")

#: Of the content types only the JSON-like values are ours to write; the rest stays opaque.
CONTENT_TYPES = frozenset({"Struct", "Field", "Value", "ListValue"})

_WIRE_FILES = frozenset({"localharness.proto", "content.proto", "skill.proto"})
_SCALARS = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}


class Field(NamedTuple):
    """One field of a message in one release."""

    number: int
    #: A scalar, a short message or enum name, or one of these after `repeated ` or in `map<…>`.
    type: str

    @property
    def target(self) -> str:
        """The message or enum that a value of this field consists of; a scalar's name otherwise."""
        return self.type.removeprefix("repeated ").removeprefix("map<string,").removesuffix(">")


class Schema(NamedTuple):
    """What one release's descriptors say; names are short, without their package."""

    messages: dict[str, dict[str, Field]]
    enums: dict[str, dict[str, int]]

    def reachable(self, roots: Iterable[str]) -> set[str]:
        """Return the messages and enums that a value of one of `roots` can hold, roots included."""
        found: set[str] = set()
        open_names = [name for name in roots if name in self.messages]
        while open_names:
            name = open_names.pop()
            if name in found:
                continue
            found.add(name)
            targets = (field.target for field in self.messages.get(name, {}).values())
            open_names += [one for one in targets if one in self.messages or one in self.enums]
        return found


# ── reading a wheel ─────────────────────────────────────────────────────────────────────────────


def wheel_version(wheel: Path) -> str:
    """Return the release that the wheel's file name gives."""
    return wheel.name.split("-")[1]


def release_order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def serialized_file(source: str) -> bytes | None:
    """Return the descriptor literal of a generated module's source, `None` if it has none."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "AddSerializedFile"
            and isinstance(node.args[0], ast.Constant)
        ):
            literal = node.args[0].value
            return literal if isinstance(literal, bytes) else None
    return None


def files_in_wheel(wheel: Path) -> list[FileDescriptorProto]:
    """Return the descriptors of the wheel's generated modules, as far as they are of the wire."""
    files = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("_pb2.py"):
                continue
            literal = serialized_file(archive.read(name).decode())
            if literal is not None:
                files.append(FileDescriptorProto.FromString(literal))
    return [file for file in files if PurePosixPath(file.name).name in _WIRE_FILES]


def read_wheel(wheel: Path) -> Schema:
    """Return what the release in this wheel understands."""
    return read_schema(files_in_wheel(wheel))


# ── from descriptors to names ───────────────────────────────────────────────────────────────────


def read_schema(files: Iterable[FileDescriptorProto]) -> Schema:
    """Return the messages and enums of these files, under their short names."""
    files = list(files)
    packages = sorted({file.package for file in files} | {"google.protobuf"}, key=len)[::-1]
    # Old releases declare it themselves, later ones import protobuf's own; the name is the same.
    schema = Schema({}, {"NullValue": {"NULL_VALUE": 0}})
    for file in files:
        names = CONTENT_TYPES if PurePosixPath(file.name).name == "content.proto" else None
        for message in file.message_type:
            if names is None or message.name in names:
                _add_message(schema, "", message, packages)
        if names is None:
            _add_enums(schema, "", file.enum_type)
    return schema


def _add_message(
    schema: Schema, prefix: str, message: DescriptorProto, packages: list[str]
) -> None:
    name = prefix + message.name
    nested = {one.name: one for one in message.nested_type}
    fields = {}
    for field in message.field:
        kind = _field_type(field, nested, packages)
        fields[field.json_name or json_name(field.name)] = Field(field.number, kind)
    schema.messages[name] = fields
    for one in message.nested_type:
        if not one.options.map_entry:
            _add_message(schema, f"{name}.", one, packages)
    _add_enums(schema, f"{name}.", message.enum_type)


def _add_enums(schema: Schema, prefix: str, enums: Iterable[EnumDescriptorProto]) -> None:
    for enum in enums:
        schema.enums[prefix + enum.name] = {value.name: value.number for value in enum.value}


def _field_type(
    field: FieldDescriptorProto, nested: Mapping[str, DescriptorProto], packages: list[str]
) -> str:
    entry = nested.get(field.type_name.rpartition(".")[2])
    if entry is not None and entry.options.map_entry:
        key, value = (_field_type(one, {}, packages) for one in entry.field)
        return f"map<{key},{value}>"
    kind = _short_name(field.type_name, packages) if field.type_name else _SCALARS[field.type]
    return f"repeated {kind}" if field.label == FieldDescriptorProto.LABEL_REPEATED else kind


def _short_name(full_name: str, packages: list[str]) -> str:
    for package in packages:
        if full_name.startswith(f".{package}."):
            return full_name[len(package) + 2 :]
    return full_name.lstrip(".")


def json_name(name: str) -> str:
    """Return the JSON name that a field gets when its declaration gives none."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


# ── the table ───────────────────────────────────────────────────────────────────────────────────


def collect(schemas: Mapping[str, Schema]) -> dict[str, object]:
    """Return the table of `fields.json` for these releases.

    `versions` lists the releases; everything else counts in indices into it. A field maps to its
    forms, oldest first: `[first, last, type]`. An enum value maps to its spans: `[first, last]`.
    """
    versions = sorted(schemas, key=release_order)
    messages: dict[str, dict[str, list[list[int | str]]]] = {}
    enums: dict[str, dict[str, list[list[int | str]]]] = {}
    for index, version in enumerate(versions):
        schema = schemas[version]
        for name in sorted(schema.reachable(SENDABLE_ROOTS)):
            if name in schema.enums:
                for value in schema.enums[name]:
                    _extend(enums.setdefault(name, {}).setdefault(value, []), index, [])
                continue
            fields = messages.setdefault(name, {})
            for field, (_, kind) in schema.messages[name].items():
                _extend(fields.setdefault(field, []), index, [kind])
    return {"versions": versions, "messages": messages, "enums": enums}


def _extend(spans: list[list[int | str]], index: int, what: list[str]) -> None:
    if spans and spans[-1][1] == index - 1 and spans[-1][2:] == what:
        spans[-1][1] = index
    else:
        spans.append([index, index, *what])


def read_table() -> dict[str, Any]:
    """Return the committed table."""
    table: dict[str, Any] = json.loads(FIELDS_JSON.read_text(encoding="utf-8"))
    return table


def dump(table: Mapping[str, object]) -> str:
    """Return the table as JSON with one message or enum a line, so that a diff can be read."""

    def compact(value: object) -> str:
        return json.dumps(value, separators=(",", ":"))

    def group(entries: object) -> Iterator[str]:
        assert isinstance(entries, dict)
        for name in sorted(entries):
            yield f"{compact(name)}:{compact(entries[name])}"

    return "".join(
        (
            f'{{"versions":{compact(table["versions"])},\n"messages":{{\n',
            ",\n".join(group(table["messages"])),
            '\n},\n"enums":{\n',
            ",\n".join(group(table["enums"])),
            "\n}}\n",
        )
    )


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    wheels = [Path(argument) for argument in arguments]
    text = dump(collect({wheel_version(wheel): read_wheel(wheel) for wheel in wheels}))
    FIELDS_JSON.write_text(text, encoding="utf-8")
    print(f"{FIELDS_JSON.name}: {len(wheels)} releases, {len(text.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
