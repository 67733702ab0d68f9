"""Our schema and our table of fields against the descriptors inside released wheels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from antigravity_sync._wire import wire_pb2
from tests.contract.wheels import VERSIONS, load_script, wheel_paths

collect_fields = load_script("collect_fields")

RECEIVED = ("OutputConfig", "OutputEvent")
SENT = ("InputConfig", *collect_fields.SENDABLE_ROOTS)

#: Fields that wire.proto numbers anew because a later release reuses their number.
RENUMBERED = {
    ("InputEvent", "complexUserInput"): 1007,
    ("SystemInstructionTemplate", "templateName"): 1001,
    ("Value", "media"): 1007,
}
#: Old forms of a field that wire.proto keeps under another name: (message, field, type).
RENAMED = {("InputEvent", "userInput", "string"): "userInputText"}
#: Old messages that wire.proto folds into their successors.
MERGED = {"CustomSystemInstructions.SystemInstructionTemplate": "SystemInstructionTemplate"}

Schema = Any  # collect_fields.Schema, from a script that is no package


def merged(name: str) -> str:
    for old, new in MERGED.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return name


def merged_type(kind: str) -> str:
    for word in sorted(MERGED, key=len, reverse=True):
        kind = kind.replace(word, MERGED[word])
    return kind


def unmodelled(ours: Schema, theirs: Schema, roots: Iterable[str]) -> Iterator[str]:
    """Say what is reachable from `roots` in a release and missing or different in our schema."""
    for name in sorted(theirs.reachable(roots)):
        if name in theirs.enums:
            known = ours.enums.get(name, {})
            for value, number in theirs.enums[name].items():
                if known.get(value) != number:
                    yield f"enum value {name}.{value} = {number}: modelled as {known.get(value)}"
        elif merged(name) not in ours.messages:
            yield f"message {name}: not modelled"
        else:
            yield from _unmodelled_fields(ours, merged(name), theirs.messages[name])


def _unmodelled_fields(ours: Schema, name: str, fields: dict[str, Any]) -> Iterator[str]:
    for field, (number, kind) in fields.items():
        known = ours.messages[name].get(RENAMED.get((name, field, kind), field))
        expected = (RENUMBERED.get((name, field), number), merged_type(kind))
        if known != expected:
            modelled = "not modelled" if known is None else f"modelled as {tuple(known)}"
            yield f"field {name}.{field} = {number}, {kind}: {modelled}"


@pytest.fixture(scope="module")
def wheels() -> dict[str, Path]:
    return wheel_paths()


@pytest.fixture(scope="module")
def schemas(wheels: dict[str, Path]) -> dict[str, Schema]:
    return {version: collect_fields.read_wheel(wheel) for version, wheel in wheels.items()}


@pytest.fixture(scope="module")
def ours() -> Schema:
    file = FileDescriptorProto.FromString(wire_pb2.DESCRIPTOR.serialized_pb)
    return collect_fields.read_schema([file])


# ── wire.proto ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", VERSIONS)
def test_schema_when_compared_with_what_a_release_sends_then_models_all_of_it(
    version: str, ours: Schema, schemas: dict[str, Schema]
):
    """Each arm, field and enum value that can arrive is modelled, under its own number."""
    assert list(unmodelled(ours, schemas[version], RECEIVED)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_schema_when_compared_with_what_a_release_accepts_then_models_all_of_it(
    version: str, ours: Schema, schemas: dict[str, Schema]
):
    """Each field and enum value that can be sent is modelled, under its own number."""
    assert list(unmodelled(ours, schemas[version], SENT)) == []


def test_schema_when_compared_with_all_releases_then_invents_nothing(
    ours: Schema, schemas: dict[str, Schema]
):
    """Each field and enum value of ours exists in at least one of the releases."""
    real: set[tuple[str, str]] = set()
    for theirs in schemas.values():
        for name in theirs.reachable((*RECEIVED, *SENT)):
            fields = theirs.messages.get(name, {})
            real |= {(merged(name), RENAMED.get((name, f, fields[f].type), f)) for f in fields}
            real |= {(name, value) for value in theirs.enums.get(name, {})}
    modelled = {(name, one) for group in ours for name, members in group.items() for one in members}
    assert sorted(modelled - real) == []


# ── the comparison itself ───────────────────────────────────────────────────────────────────────


def message_of(files: list[FileDescriptorProto], name: str) -> DescriptorProto:
    (found,) = (
        message
        for file in files
        if file.name.endswith("localharness.proto")
        for message in file.message_type
        if message.name == name
    )
    return found


def add_field(message: DescriptorProto, name: str, number: int) -> None:
    message.field.add(name=name, number=number, type="TYPE_STRING", label="LABEL_OPTIONAL")


def add_state(files: list[FileDescriptorProto]) -> None:
    enums = message_of(files, "TrajectoryStateUpdate").enum_type
    next(enum for enum in enums if enum.name == "State").value.add(name="STATE_NAPPING", number=6)


def add_arm(files: list[FileDescriptorProto]) -> None:
    add_field(message_of(files, "OutputEvent"), "weather_report", 99)


def add_nested_field(files: list[FileDescriptorProto]) -> None:
    edit = message_of(files, "ActionEditFile")
    line = next(one for one in edit.nested_type if one.name == "DiffLine")
    add_field(line, "author_name", 9)


def renumber_field(files: list[FileDescriptorProto]) -> None:
    fields = message_of(files, "OutputConfig").field
    next(field for field in fields if field.name == "api_key").number = 7


def retype_field(files: list[FileDescriptorProto]) -> None:
    fields = message_of(files, "ToolCall").field
    field = next(field for field in fields if field.name == "id")
    field.type = FieldDescriptorProto.TYPE_INT64


def add_message(files: list[FileDescriptorProto]) -> None:
    package = next(file for file in files if file.name.endswith("localharness.proto"))
    package.message_type.add(name="Weather")
    add_field(message_of(files, "StepUpdate"), "weather", 77)
    field = message_of(files, "StepUpdate").field[-1]
    field.type = FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = f".{package.package}.Weather"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (add_state, ["enum value TrajectoryStateUpdate.State.STATE_NAPPING = 6"]),
        (add_arm, ["field OutputEvent.weatherReport = 99"]),
        (add_nested_field, ["field ActionEditFile.DiffLine.authorName = 9"]),
        (renumber_field, ["field OutputConfig.apiKey = 7"]),
        (retype_field, ["field ToolCall.id = 1, int64"]),
        (add_message, ["field StepUpdate.weather = 77", "message Weather"]),
    ],
)
def test_comparison_when_a_release_has_something_new_then_names_it(
    change: Callable[[list[FileDescriptorProto]], None],
    named: list[str],
    ours: Schema,
    wheels: dict[str, Path],
):
    """Whatever a future release adds or moves is found, and called by its name."""
    files = collect_fields.files_in_wheel(wheels[VERSIONS[-1]])
    change(files)
    found = list(unmodelled(ours, collect_fields.read_schema(files), RECEIVED))
    assert len(found) == len(named)
    for line, start in zip(found, named, strict=True):
        assert line.startswith(start)


# ── fields.json ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return collect_fields.read_table()


@pytest.mark.parametrize("version", VERSIONS)
def test_table_when_read_for_a_release_then_has_its_fields_and_no_others(
    version: str, table: dict[str, Any], schemas: dict[str, Schema]
):
    """What `fields.json` says about a release is what the release's own wheel says."""
    index = table["versions"].index(version)
    listed = {
        (name, field, kind)
        for name, fields in table["messages"].items()
        for field, forms in fields.items()
        for first, last, kind in forms
        if first <= index <= last
    }
    schema = schemas[version]
    sendable = schema.reachable(collect_fields.SENDABLE_ROOTS)
    assert listed == {
        (name, field, kind)
        for name in sendable & schema.messages.keys()
        for field, (_, kind) in schema.messages[name].items()
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_table_when_read_for_a_release_then_has_its_enum_values_and_no_others(
    version: str, table: dict[str, Any], schemas: dict[str, Schema]
):
    """The enum names of a release in `fields.json` are those in the release's own wheel."""
    index = table["versions"].index(version)
    listed = {
        (name, value)
        for name, values in table["enums"].items()
        for value, spans in values.items()
        for first, last in spans
        if first <= index <= last
    }
    schema = schemas[version]
    sendable = schema.reachable(collect_fields.SENDABLE_ROOTS)
    assert listed == {
        (name, value) for name in sendable & schema.enums.keys() for value in schema.enums[name]
    }


def test_table_when_made_from_these_wheels_alone_then_agrees_with_the_committed_form(
    schemas: dict[str, Schema],
):
    """The collector writes spans, gaps and changed types as the committed table has them."""
    made = collect_fields.collect(schemas)
    assert made["versions"] == list(VERSIONS)
    assert made["messages"]["InputEvent"]["userInput"] == [[0, 1, "string"], [2, 2, "UserInput"]]
    assert made["messages"]["HarnessConfig"]["policyConfig"] == [[1, 2, "PolicyConfig"]]
    assert made["messages"]["HarnessSideTools"]["codeSearch"] == [[0, 0, "CodeSearchToolConfig"]]
    assert made["enums"]["LifecycleHook"]["LIFECYCLE_HOOK_STOP"] == [[2, 2]]


def test_table_when_committed_then_is_small_and_in_the_collectors_form(table: dict[str, Any]):
    """The file is what the collector writes, and small enough to be read at every start."""
    text = collect_fields.FIELDS_JSON.read_text(encoding="utf-8")
    assert text == collect_fields.dump(table)
    assert len(text.encode()) < 40_000
