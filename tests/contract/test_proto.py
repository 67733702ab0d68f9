"""The committed protobuf module is what the proto file says, and runs on every protobuf."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import json_format

from antigravity_sync._wire import wire_pb2
from tests.contract.wheels import PROTO_DIR, load_script

regenerate = load_script("regenerate")


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.version_info >= (3, 13):
        pytest.skip("the compiler has no wheel for Python 3.13 and later")
    directory = tmp_path_factory.mktemp("generated")
    regenerate.generate(directory)
    return directory


@pytest.mark.parametrize("name", regenerate.OUTPUTS)
def test_generated_file_when_made_anew_then_equals_the_committed_one(name: str, regenerated: Path):
    """Nobody changed the proto file without regenerating, nor the generated files by hand."""
    made = (regenerated / name).read_text(encoding="utf-8")
    assert made == (regenerate.OUTPUT_DIR / name).read_text(encoding="utf-8")


def test_generate_when_done_then_made_nothing_else(regenerated: Path):
    """Exactly the files that are committed come out."""
    assert sorted(path.name for path in regenerated.iterdir()) == sorted(regenerate.OUTPUTS)


def test_generated_module_when_imported_then_does_not_check_the_runtime():
    """It carries no minimum version, which newer compilers would put in."""
    text = (regenerate.OUTPUT_DIR / "wire_pb2.py").read_text(encoding="utf-8")
    assert "runtime_version" not in text


def test_generated_module_when_imported_then_bears_names_of_our_own():
    """Its file, package and module names are ours, so no other module can clash with it."""
    assert wire_pb2.DESCRIPTOR.name == "antigravity_sync/wire.proto"
    assert wire_pb2.DESCRIPTOR.package == "antigravity_sync.wire"
    assert wire_pb2.OutputEvent.__module__ == wire_pb2.__name__


@pytest.mark.parametrize("name", ["STATE_IDLE", "STATE_FULLY_IDLE"])
def test_idle_state_when_parsed_under_either_name_then_is_the_same(name: str):
    """The state that ends a turn is one value under its old and its new name."""
    frame = {"trajectoryStateUpdate": {"state": name}}
    event = json_format.ParseDict(frame, wire_pb2.OutputEvent())
    assert event.trajectory_state_update.state == 2
    assert wire_pb2.TrajectoryStateUpdate.State.Name(2) == "STATE_FULLY_IDLE"


@pytest.mark.parametrize("null", [None, "NULL_VALUE"])
def test_null_value_when_parsed_in_either_spelling_then_is_set(null: str | None):
    """A null argument is one, as releases until 0.1.8 spell it and as later ones do."""
    value = json_format.ParseDict({"nullValue": null}, wire_pb2.Value())
    assert value.WhichOneof("kind") == "null_value"


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def run_without_index(cache: Path, wheels: Path) -> subprocess.CompletedProcess[str]:
    """Run the script where pip finds nothing but the files in `wheels`."""
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    environment = {**os.environ, **settings, "ANTIGRAVITY_SYNC_CACHE": str(cache)}
    command = [sys.executable, str(PROTO_DIR / "regenerate.py")]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )


def test_command_when_no_wheel_fits_this_python_then_says_so_and_exits_2(tmp_path: Path):
    """Where the compiler exists only in other versions, the text names this Python."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "grpcio_tools-9.9.9-py3-none-any.whl").touch()
    result = run_without_index(tmp_path / "cache", wheels)
    assert result.returncode == 2, result.stderr
    here = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    assert f"has no wheel for {here}" in result.stderr


def test_command_when_there_is_no_index_then_says_so_and_exits_2(tmp_path: Path):
    """Where pip reaches nothing at all, this Python is not blamed for it."""
    (tmp_path / "wheels").mkdir()
    result = run_without_index(tmp_path / "cache", tmp_path / "wheels")
    assert result.returncode == 2, result.stderr
    assert "pip could not install" in result.stderr


def test_command_when_it_fails_then_leaves_nothing_that_passes_for_a_compiler(tmp_path: Path):
    """A failed installation is not taken for a finished one by the next run."""
    (tmp_path / "wheels").mkdir()
    run_without_index(tmp_path / "cache", tmp_path / "wheels")
    assert list((tmp_path / "cache").rglob("grpc_tools")) == []
    assert run_without_index(tmp_path / "cache", tmp_path / "wheels").returncode == 2
