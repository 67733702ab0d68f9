"""What is built from this directory, and what people find out about it before they install it."""

from __future__ import annotations

import configparser
import email
import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from antigravity_sync import (
    SUPPORTED_HARNESS_VERSION,
    VERIFIED_HARNESS_VERSIONS,
    __version__,
)
from antigravity_sync._wire.dialect import ALL_VERSIONS
from tests.contract.source import PACKAGE, ROOT

#: What a build reads, and nothing else.
SOURCES = ["setup.cfg", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"]


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", "utf-8")
    return parser


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, out of a copy so that the build leaves nothing in the checkout."""
    place = tmp_path_factory.mktemp("build")
    for name in SOURCES:
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / PACKAGE, place / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    command += [str(place / "dist"), "--disable-pip-version-check", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (built,) = (place / "dist").iterdir()
    return built


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"antigravity_sync-{__version__}.dist-info/{name}").decode()


# ── the sources ─────────────────────────────────────────────────────────────────────────────────


def test_pyproject_when_read_then_three_lines() -> None:
    """Pip needs to know the build backend; everything else is in setup.cfg."""
    lines = (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
    assert lines == [
        "[build-system]",
        'requires = ["setuptools>=68"]',
        'build-backend = "setuptools.build_meta"',
    ]
    assert not (ROOT / "setup.py").exists()


def test_setup_cfg_when_read_then_complete(setup: configparser.ConfigParser) -> None:
    """Name, licence, Python versions and the three dependencies are where tools look for them."""
    assert setup["metadata"]["name"] == "antigravity-sync"
    assert setup["metadata"]["license"] == "Apache-2.0"
    assert setup["options"]["python_requires"] == ">=3.10"
    needed = setup["options"]["install_requires"].split()
    assert {re.split(r"[<>=]", line)[0] for line in needed} == {
        "attrs",
        "protobuf",
        "websocket-client",
    }
    assert all(">=" in line for line in needed)


def test_setup_cfg_when_keys_are_spelled_then_with_underscores(
    setup: configparser.ConfigParser,
) -> None:
    """Dashes in keys are refused by newer setuptools."""
    for section in ("metadata", "options", "options.packages.find", "tool:pytest"):
        assert not [key for key in setup[section] if "-" in key]


def test_licence_when_read_then_apache_two() -> None:
    """The licence is the whole text."""
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_versions_when_published_then_known_and_in_order() -> None:
    """The pin is a verified release, and every verified release is one whose rules are known."""
    assert SUPPORTED_HARNESS_VERSION in VERIFIED_HARNESS_VERSIONS
    known = [version for version in ALL_VERSIONS if version in VERIFIED_HARNESS_VERSIONS]
    assert tuple(known) == VERIFIED_HARNESS_VERSIONS


# ── the wheel ───────────────────────────────────────────────────────────────────────────────────


def test_wheel_when_built_then_every_file_of_the_package(wheel: Path) -> None:
    """Modules, the types marker, the stub and the table of fields are all in."""
    found = {name for name in members(wheel) if name.startswith(f"{PACKAGE}/")}
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / PACKAGE).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert found == expected
    assert {"py.typed", "_wire/wire_pb2.pyi", "_wire/fields.json"} <= {
        name.removeprefix(f"{PACKAGE}/") for name in found
    }


def test_wheel_when_built_then_nothing_else(wheel: Path) -> None:
    """No tests, examples or benchmarks are installed."""
    tops = {name.partition("/")[0] for name in members(wheel)}
    assert tops == {PACKAGE, f"antigravity_sync-{__version__}.dist-info"}
    assert any(name.endswith("LICENSE") for name in members(wheel))
    assert wheel.name.endswith("-py3-none-any.whl")


def test_wheel_when_described_then_as_meant(wheel: Path) -> None:
    """The metadata carry the README, the licence and what is needed to run."""
    metadata = email.message_from_string(read(wheel, "METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("antigravity-sync", __version__)
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert (ROOT / "README.md").read_text("utf-8").splitlines()[0] in str(metadata.get_payload())
    always = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(re.split(r"[<>=]", line)[0] for line in always) == [
        "attrs",
        "protobuf",
        "websocket-client",
    ]


def test_wheel_when_installed_then_its_entry_points_lead_somewhere(wheel: Path) -> None:
    """The command and the pytest plugin can be loaded."""
    parser = configparser.ConfigParser()
    parser.read_string(read(wheel, "entry_points.txt"))
    assert dict(parser["console_scripts"]) == {"antigravity-sync": "antigravity_sync.cli:main"}
    assert dict(parser["pytest11"]) == {"antigravity_sync": "antigravity_sync.testing.plugin"}
    module, _, name = parser["console_scripts"]["antigravity-sync"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    importlib.import_module(parser["pytest11"]["antigravity_sync"])


def test_wheel_when_unpacked_elsewhere_then_works_without_the_sources(
    wheel: Path, tmp_path: Path
) -> None:
    """The installed package renders a first message, for which it reads its own data files."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = """
import antigravity_sync
from antigravity_sync._wire.dialect import NEWEST
from antigravity_sync._wire.render import Conversation, render_init
config = antigravity_sync.AgentConfig()
print(render_init(config, conversation=Conversation(), api_key="k", app_data_dir="/x",
                  dialect=NEWEST).text[:9])
print(antigravity_sync.__file__)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.splitlines() == ['{"config"', str(tmp_path / PACKAGE / "__init__.py")]
