"""The doctor's checks, each on a machine that has the fault."""

from __future__ import annotations

import configparser
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from antigravity_sync import AgentConfig
from antigravity_sync.doctor import Finding, Level
from antigravity_sync.doctor import _binary as binary
from antigravity_sync.doctor import _machine as machine
from antigravity_sync.models import Gemini, Model, OpenAICompatible
from tests.contract.source import ROOT

GOOD_KEY = "AIza" + "x" * 35


def is_failure(finding: Finding, *words: str) -> None:
    """Assert a failure that names the cause and says what to do."""
    assert finding.level is Level.FAILURE, finding
    for word in words:
        assert word in finding.message, finding
    assert finding.advice


def is_warning(finding: Finding, *words: str) -> None:
    assert finding.level is Level.WARNING, finding
    for word in words:
        assert word in finding.message, finding
    assert finding.advice


def is_ok(finding: Finding) -> None:
    assert finding.level is Level.OK, finding
    assert finding.advice == ""


def run_check(code: str, path: Path | None = None) -> str:
    """Run a check in a process of its own and return what it prints."""
    program = "from antigravity_sync.doctor import _machine as machine\n" + textwrap.dedent(code)
    places = [str(one) for one in (path, ROOT) if one is not None]
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
    )
    return done.stdout


# ── packages, home, clock ───────────────────────────────────────────────────────────────────────


def test_packages_when_they_are_new_enough_then_their_versions() -> None:
    """The three packages and Python are named with their versions."""
    found = machine.check_packages()
    is_ok(found)
    for name in ("Python", "antigravity-sync", *machine.NEEDED):
        assert re.search(rf"{name} \d", found.message)


def test_packages_when_needed_then_those_of_setup_cfg() -> None:
    """What the doctor asks for is what an installation asks for."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    lines = setup["options"]["install_requires"].split()
    assert {f"{name}>={floor}" for name, floor in machine.NEEDED.items()} == set(lines)


def test_packages_when_one_is_old_then_named(tmp_path: Path) -> None:
    """An old package that stands first on the path is found."""
    (tmp_path / "attrs-22.2.0.dist-info").mkdir()
    (tmp_path / "attrs-22.2.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: attrs\nVersion: 22.2.0\n"
    )
    said = run_check("print(machine.check_packages())", tmp_path)
    assert "FAILURE" in said
    assert "attrs 22.2.0 is older than 23.1" in said
    assert "pip install" in said


def test_packages_when_one_is_missing_then_named() -> None:
    """A package without metadata is missing."""
    said = run_check(
        """
        import importlib.metadata as metadata
        import sys
        found = metadata.version
        sys.meta_path = [f for f in sys.meta_path if not hasattr(f, "find_distributions")]
        print(machine.check_packages())
        """
    )
    assert "websocket-client is not installed" in said


@pytest.mark.parametrize(
    ("home", "word"),
    [(None, "not set"), ("", "not set"), ("/dev/null/x", "no directory"), ("x", "no")],
)
def test_home_when_it_is_none_then_a_warning(home: str | None, word: str) -> None:
    """Agents run without one; their commands may not."""
    is_warning(machine.check_home({} if home is None else {"HOME": home}), word)


def test_home_when_it_cannot_be_written_then_a_warning() -> None:
    """A home on a file system that nobody may write to is named."""
    is_warning(machine.check_home({"HOME": "/proc/self"}), "/proc/self cannot be written")


def test_home_when_it_is_there_then_ok(tmp_path: Path) -> None:
    """An ordinary home is fine."""
    is_ok(machine.check_home({"HOME": str(tmp_path)}))


def test_clock_when_it_is_behind_then_a_failure(tmp_path: Path) -> None:
    """A clock of a machine without a battery says 1970, and certificates are not valid then."""
    file = tmp_path / "file"
    file.touch()
    made = machine.newest_of([file, tmp_path / "missing"])
    assert made == file.stat().st_mtime
    is_failure(machine.check_clock(0.0, made), "1970-01-01")
    is_ok(machine.check_clock(made, made))


# ── save_dir ────────────────────────────────────────────────────────────────────────────────────


def test_save_dir_when_it_can_be_written_then_ok_and_untouched(tmp_path: Path) -> None:
    """A directory that is missing is not made, and nothing is left in one that is there."""
    is_ok(machine.check_save_dir(str(tmp_path / "new" / "deep")))
    is_ok(machine.check_save_dir(str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
    is_ok(machine.check_save_dir(None))


def test_save_dir_when_it_is_a_file_then_a_failure(tmp_path: Path) -> None:
    """A file in the place of the directory, or of one above it, is named."""
    (tmp_path / "file").touch()
    is_failure(machine.check_save_dir(str(tmp_path / "file")), "is not a directory")
    is_failure(machine.check_save_dir(str(tmp_path / "file" / "x")), "is not a directory")


def test_save_dir_when_it_cannot_be_written_then_a_failure() -> None:
    """Not even the administrator can write to `/proc`."""
    is_failure(machine.check_save_dir("/proc/self/saves"), "cannot be written")


def test_save_dir_when_the_disk_is_full_then_a_failure(tmp_path: Path) -> None:
    """A file that may not grow is what a full disk or a quota looks like."""
    said = run_check(
        f"""
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        print(machine.check_save_dir({str(tmp_path)!r}))
        """
    )
    assert "FAILURE" in said
    assert "is full" in said
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_save_dir_when_there_is_little_space_then_a_warning() -> None:
    """A small file system, here the one that shared memory has no use for, is warned of."""
    is_ok(machine.judge_space(Path("/x"), 1 << 40, ""))
    is_warning(machine.judge_space(Path("/x"), 3 << 20, ""), "3 MiB left")


# ── proxies ─────────────────────────────────────────────────────────────────────────────────────


def test_proxy_when_none_is_set_then_ok() -> None:
    """No variable, no proxy."""
    (found,) = machine.check_proxies({})
    is_ok(found)


def test_proxy_when_it_answers_then_ok_and_its_password_is_not_shown() -> None:
    """A proxy that listens is named by host and port alone, once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://user:secret@127.0.0.1:{server.getsockname()[1]}"
        (found,) = machine.check_proxies({"HTTPS_PROXY": address, "http_proxy": address})
    is_ok(found)
    assert "HTTPS_PROXY" in found.message
    assert "secret" not in str(found)


def test_proxy_when_nobody_listens_then_a_failure() -> None:
    """A proxy that is down is named with its variable."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    (found,) = machine.check_proxies({"https_proxy": f"127.0.0.1:{port}"})
    is_failure(found, f"127.0.0.1:{port}", "HTTPS_PROXY", "refused")


@pytest.mark.parametrize("value", ["http://", "http://host:port", "http://[::1"])
def test_proxy_when_it_is_no_address_then_a_failure(value: str) -> None:
    """A value that is no address is refused before anything is called."""
    (found,) = machine.check_proxies({"HTTP_PROXY": value})
    is_failure(found, "HTTP_PROXY is no address")


def test_proxy_when_only_the_general_one_is_set_then_a_warning() -> None:
    """The harness does not read ALL_PROXY, as a user may think."""
    (found,) = machine.check_proxies({"all_proxy": "socks5://127.0.0.1:1"})
    is_warning(found, "ALL_PROXY")


# ── credentials ─────────────────────────────────────────────────────────────────────────────────


def test_credentials_when_plausible_then_ok_and_not_shown() -> None:
    """A key is described by its length and where it is from."""
    found = machine.check_credentials(AgentConfig(), {"GEMINI_API_KEY": GOOD_KEY})
    is_ok(found)
    assert "39 characters from GEMINI_API_KEY" in found.message
    found = machine.check_credentials(AgentConfig(api_key=GOOD_KEY), {})
    assert "from the configuration" in found.message
    assert GOOD_KEY not in str(found)


def test_credentials_when_missing_then_a_failure_with_the_variable_meant() -> None:
    """Another variable that holds a key is named."""
    is_failure(machine.check_credentials(AgentConfig(), {}), "GEMINI_API_KEY")
    found = machine.check_credentials(AgentConfig(), {"GOOGLE_API_KEY": GOOD_KEY})
    is_failure(found, "GOOGLE_API_KEY is set, which is not read")


@pytest.mark.parametrize("key", [f'"{GOOD_KEY}"', "two words", "kéy", "a\x01b"])
def test_credentials_when_no_key_can_be_so_then_a_failure(key: str) -> None:
    """Quotes of a shell script, spaces and the like are no part of a key."""
    found = machine.check_credentials(AgentConfig(), {"GEMINI_API_KEY": key})
    is_failure(found, "characters that no key has")
    assert key not in str(found)


def test_credentials_when_they_look_odd_then_a_warning() -> None:
    """A placeholder may be a key of another service, but not of Google's own address."""
    environ = {"GEMINI_API_KEY": "your-key-here"}
    is_warning(machine.check_credentials(AgentConfig(), environ), "does not look like")
    elsewhere = AgentConfig(model=Model(endpoint=Gemini(base_url="http://127.0.0.1:1")))
    is_ok(machine.check_credentials(elsewhere, environ))


def test_credentials_when_none_are_needed_then_ok() -> None:
    """A server of one's own is called without a key."""
    model = Model("m", endpoint=OpenAICompatible(base_url="http://127.0.0.1:1"))
    is_ok(machine.check_credentials(AgentConfig(model=model), {}))


# ── the binary ──────────────────────────────────────────────────────────────────────────────────


def program(path: Path, loader: str | None, *words: str) -> Path:
    """Write the head of a 64-bit ELF program, with the loader and words that it asks for."""
    machines = {"x86_64": 62, "aarch64": 183}
    name = (loader or "").encode() + b"\0"
    header = struct.pack(
        "<4sBBBB8xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 1, 1, 0, 2, machines.get(os.uname().machine, 62), 1, 0, 64, 0, 0, 64),
        *(56, 0 if loader is None else 1, 0, 0, 0),
    )
    entry = struct.pack("<IIQQQQQQ", 3, 4, 120, 120, 120, len(name), len(name), 1)
    names = b"\0" + b"\0".join(word.encode() for word in words) + b"\0"
    path.write_bytes(header + entry + name + names)
    path.chmod(0o755)
    return path


def test_binary_when_there_is_none_then_where_was_looked(tmp_path: Path) -> None:
    """All places are named, and what was wrong with each."""
    found = binary.find(tmp_path / "missing", {})
    assert isinstance(found, Finding)
    is_failure(found, "no usable binary", f"{tmp_path / 'missing'} does not exist")
    assert found.advice == "antigravity-sync install-harness"


def test_binary_when_it_is_for_another_machine_then_a_failure(tmp_path: Path) -> None:
    """A program for another processor is no usable one, and it says for which it is."""
    path = program(tmp_path / "localharness", None)
    data = bytearray(path.read_bytes())
    data[18:20] = (21).to_bytes(2, "little")
    path.write_bytes(bytes(data))
    found = binary.find(path, {})
    assert isinstance(found, Finding)
    is_failure(found, "is built for Linux code 21")


@pytest.mark.parametrize(
    ("version", "level"),
    [(None, "WARNING"), ("0.1.4", "FAILURE"), ("9.9.9", "WARNING"), ("0.1.10", "OK")],
)
def test_version_when_known_then_judged(version: str | None, level: str, tmp_path: Path) -> None:
    """An unknown version, one too old, and one that nobody tested are told apart."""
    found = binary.check_version(binary.HarnessBinary(tmp_path, version, "PATH"))
    assert found.level.name == level
    assert str(tmp_path) in found.message


def test_loader_when_it_is_missing_then_a_failure(tmp_path: Path) -> None:
    """On a system with another C library the loader is not there."""
    path = program(tmp_path / "localharness", "/lib64/ld-nowhere.so.2")
    (found,) = binary.check_runs(path, {}, system="linux")
    is_failure(found, "needs the loader /lib64/ld-nowhere.so.2")


def test_glibc_when_it_is_too_old_then_a_failure(tmp_path: Path) -> None:
    """A program that asks for a newer C library than there is says so."""
    path = program(tmp_path / "localharness", "/bin/sh", "GLIBC_2.17", "GLIBC_2.999", "GLIBC_2.3")
    (found,) = binary.check_runs(path, {}, system="linux")
    is_failure(found, "needs glibc 2.999")
    assert list(binary.check_runs(program(path, "/bin/sh", "GLIBC_2.2"), {}, system="linux")) == []


def test_program_when_it_is_no_elf_then_nothing_is_said(tmp_path: Path) -> None:
    """A script, and a file that ends in its head, are left to the start."""
    path = tmp_path / "localharness"
    for content in (b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 60, b""):
        path.write_bytes(content)
        assert list(binary.check_runs(path, {}, system="linux")) == []


def test_quarantine_when_macos_holds_it_then_a_failure(tmp_path: Path) -> None:
    """What `xattr` says on macOS; here a script of that name."""
    tool = tmp_path / "xattr"
    tool.write_text('#!/bin/sh\n[ "$1 $2" = "-p com.apple.quarantine" ] && exit "$CODE"\n')
    tool.chmod(0o755)
    path = program(tmp_path / "localharness", None)
    held = {"PATH": str(tmp_path), "CODE": "0"}
    (found,) = binary.check_runs(path, held, system="darwin")
    is_failure(found, "is in quarantine")
    assert found.advice.startswith("xattr -d")
    for free in ({**held, "CODE": "1"}, {"PATH": ""}):
        assert list(binary.check_runs(path, free, system="darwin")) == []
