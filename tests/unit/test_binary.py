"""Which harness binary is chosen, why others are not, and what version it is."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from antigravity_sync._transport import binary
from antigravity_sync._transport.binary import (
    EXECUTABLE,
    WHEEL_MEMBER,
    Image,
    cache_dir,
    find_harness,
    read_image,
    this_machine,
    version_key,
    why_unusable,
)
from antigravity_sync._version import SUPPORTED_HARNESS_VERSION
from antigravity_sync.errors import HarnessNotFoundError

SOURCES = Path(binary.__file__).parents[2]
VARIABLE = "ANTIGRAVITY_HARNESS_PATH"
X86_64, ARM64 = 62, 183


def stub(path, content=b"#!/bin/sh\n", mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def elf(code, order="little"):
    data = 2 if order == "big" else 1
    return b"\x7fELF\x02" + bytes([data, 1]) + bytes(9) + bytes(2) + code.to_bytes(2, order)


def fat(magic, step, *codes):
    slices = b"".join(code.to_bytes(4, "big") + bytes(step - 4) for code in codes)
    return magic + len(codes).to_bytes(4, "big") + slices


def pe(code, start=0x78):
    return (
        b"MZ"
        + bytes(0x3A)
        + start.to_bytes(4, "little")
        + bytes(start - 0x40)
        + (b"PE\0\0" + code.to_bytes(2, "little"))
    )


@attrs.frozen
class Places:
    """One directory for each place that is searched, all of them empty."""

    root: Path

    @property
    def site(self):
        return self.root / "site" / WHEEL_MEMBER

    @property
    def on_path(self):
        return self.root / "bin" / EXECUTABLE

    @property
    def environ(self):
        return {
            "PATH": os.pathsep.join([str(self.root / "empty"), str(self.root / "bin")]),
            "ANTIGRAVITY_SYNC_CACHE": str(self.root / "cache"),
        }

    def cached(self, version=SUPPORTED_HARNESS_VERSION):
        return self.root / "cache" / "harness" / version / EXECUTABLE

    def fill_cache(self, version=SUPPORTED_HARNESS_VERSION):
        path = stub(self.cached(version))
        fields = {"version": version, "sha256": "0" * 64, "size": path.stat().st_size, "wheel": "w"}
        path.with_name("harness.json").write_text(json.dumps(fields))
        return path


@pytest.fixture
def places(tmp_path, monkeypatch):
    # A harness installed where the tests run would be found before anything they set up.
    others = [entry for entry in sys.path if not Path(entry, WHEEL_MEMBER).exists()]
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *others])
    return Places(tmp_path)


def make_directory(path):
    path.mkdir(parents=True)


def make_link_to_nothing(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path.parent / "gone")


def make_fifo(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def make_link_loop(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(path)


BAD = {
    "missing": (lambda path: None, "does not exist"),
    "below a file": (lambda path: stub(path.parent), "does not exist"),
    "link to nothing": (make_link_to_nothing, "is a symbolic link to something that does not"),
    "link to itself": (make_link_loop, "cannot be read: Too many levels of symbolic links"),
    "directory": (make_directory, "is a directory"),
    "fifo": (make_fifo, "is not a regular file"),
    "no x bit": (lambda path: stub(path, mode=0o644), "is not executable"),
    "empty": (lambda path: stub(path, b""), "is empty"),
    "text": (lambda path: stub(path, b"echo hello\n"), "is not a program"),
    "cut off": (lambda path: stub(path, b"\x7fELF\x02\x01"), "is not a program"),
    "other machine": (
        lambda path: stub(path, elf(ARM64 if this_machine()[1] == "x86_64" else X86_64)),
        "is built for Linux ",
    ),
}
bad_kinds = pytest.mark.parametrize(("make", "reason"), BAD.values(), ids=BAD.keys())


@bad_kinds
def test_explicit_path_when_bad_then_it_fails_at_once_with_the_reason(places, make, reason):
    """A bad `harness_path` is an error that says why, although every other place has a harness."""
    for good in (places.site, places.on_path, places.root / "variable"):
        stub(good)
    places.fill_cache()
    named = places.root / "named" / "localharness"
    make(named)
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(named, {**places.environ, VARIABLE: str(places.root / "variable")})
    assert f"harness_path: {named} {reason}" in str(caught.value)
    assert len(caught.value.searched) == 1
    assert caught.value.searched[0] in str(caught.value)


@bad_kinds
def test_variable_when_bad_then_it_fails_at_once_with_the_reason(places, make, reason):
    """A bad `ANTIGRAVITY_HARNESS_PATH` is an error that says why, and nothing else is tried."""
    stub(places.site)
    stub(places.on_path)
    named = places.root / "named" / "localharness"
    make(named)
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(None, {**places.environ, VARIABLE: str(named)})
    assert f"{VARIABLE}: {named} {reason}" in str(caught.value)
    assert len(caught.value.searched) == 1


@bad_kinds
def test_implicit_place_when_bad_then_the_next_is_taken(places, make, reason):
    """What is wrong with a place that nobody named does not hide a good one behind it."""
    make(places.site)
    stub(places.on_path)
    assert find_harness(None, places.environ).path == places.on_path


@bad_kinds
@pytest.mark.parametrize("place", ["site", "on_path", "cached"])
def test_implicit_place_when_bad_and_alone_then_the_reason_is_listed(places, make, reason, place):
    """Each bad implicit place is listed with its reason, in `searched` and in the message."""
    path = places.cached() if place == "cached" else getattr(places, place)
    make(path)
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(None, places.environ)
    (entry,) = [entry for entry in caught.value.searched if f"{path} {reason}" in entry]
    assert entry in str(caught.value)


def test_order_when_every_place_has_one_then_the_first_named_wins(places):
    """The order is explicit, variable, `sys.path`, `PATH`, cache."""
    explicit, variable = stub(places.root / "explicit"), stub(places.root / "variable")
    stub(places.site)
    stub(places.on_path)
    cached = places.fill_cache()
    environ = {**places.environ, VARIABLE: str(variable)}

    def found(named=None):
        result = find_harness(named, environ)
        return result.path, result.origin

    assert found(explicit) == (explicit, "harness_path")
    assert found() == (variable, VARIABLE)
    del environ[VARIABLE]
    assert found() == (places.site, "sys.path")
    places.site.unlink()
    assert found() == (places.on_path, "PATH")
    places.on_path.unlink()
    assert found() == (cached, "cache")


def test_explicit_path_when_good_then_a_bad_variable_is_not_looked_at(places):
    """The variable is checked only where it decides."""
    explicit = stub(places.root / "explicit")
    assert find_harness(str(explicit), {VARIABLE: "/nowhere"}).path == explicit


@pytest.mark.parametrize(("explicit", "environ"), [("", {}), (None, {VARIABLE: ""})])
def test_named_path_when_empty_then_the_error_says_it_is_empty(places, explicit, environ):
    """An empty name counts as given: it is an error and not the current directory."""
    stub(places.on_path)
    with pytest.raises(HarnessNotFoundError, match=r"^(harness_path|ANTIGRAVITY\w+) is empty; "):
        find_harness(explicit, {**places.environ, **environ})


def test_named_path_when_it_holds_nul_then_it_is_a_plain_error(places):
    """A NUL character in the path is reported like any other bad path."""
    with pytest.raises(HarnessNotFoundError, match="is not a file name"):
        find_harness("a\0b", {})


def test_named_path_when_it_starts_with_a_tilde_then_the_given_home_counts(places):
    """`~` is the home of the given environment, for the option and for the variable."""
    path = stub(places.root / "home" / "localharness")
    environ = {"HOME": str(places.root / "home"), "USERPROFILE": str(places.root / "home")}
    assert find_harness("~/localharness", environ).path == path
    assert find_harness(None, {**environ, VARIABLE: "~/localharness"}).path == path


def test_named_path_when_relative_then_the_result_is_absolute(places, monkeypatch):
    """The path returned stays right when the program changes its directory."""
    path = stub(places.root / "here" / "localharness")
    monkeypatch.chdir(path.parent)
    assert find_harness("localharness", {}).path == path


def test_named_path_when_the_current_directory_is_gone_then_it_is_a_plain_error(places):
    """A search in a removed directory reports, it does not fail on its own."""
    gone = places.root / "gone"
    gone.mkdir()
    script = (
        "import os, sys\n"
        "os.rmdir(os.getcwd())\n"
        "from antigravity_sync._transport.binary import find_harness\n"
        "from antigravity_sync.errors import HarnessNotFoundError\n"
        "sys.path.insert(0, '')\n"
        "for explicit in ('localharness', None):\n"
        "    try:\n"
        "        find_harness(explicit, {'ANTIGRAVITY_SYNC_CACHE': 'x'})\n"
        "    except HarnessNotFoundError as error:\n"
        "        print(error.searched[0])\n"
    )
    assert run_python(script, cwd=gone).splitlines() == [
        "harness_path: localharness does not exist",
        "harness_path: not given",
    ]


def test_nothing_found_when_all_is_empty_then_every_place_is_listed(places):
    """The error names each place, in order, and ends in the two commands that help."""
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(None, places.environ)
    searched, message = caught.value.searched, str(caught.value)
    assert searched[:3] == (
        "harness_path: not given",
        f"{VARIABLE}: not set",
        f"sys.path: {places.site} does not exist",
    )
    assert searched[-3:] == (
        f"PATH: {places.root / 'empty' / EXECUTABLE} does not exist",
        f"PATH: {places.on_path} does not exist",
        f"cache: {places.cached()} does not exist",
    )
    assert len([entry for entry in searched if entry.startswith("sys.path: ")]) == len(
        {Path(entry).absolute() for entry in sys.path}
    )
    assert all(entry in message for entry in searched)
    assert message.splitlines()[-2:] == [
        f"pip install google-antigravity=={SUPPORTED_HARNESS_VERSION}",
        "antigravity-sync install-harness",
    ]


def test_path_when_not_in_the_given_environment_then_the_process_one_is_not_used(
    places, monkeypatch
):
    """Only the given environment counts."""
    stub(places.on_path)
    monkeypatch.setenv("PATH", str(places.on_path.parent))
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(None, {"ANTIGRAVITY_SYNC_CACHE": str(places.root / "cache")})
    assert "PATH: empty" in caught.value.searched


def test_path_when_an_entry_is_empty_then_the_current_directory_is_not_searched(
    places, monkeypatch
):
    """A harness that happens to lie in the current directory is not run."""
    monkeypatch.chdir(stub(places.root / "here" / EXECUTABLE).parent)
    with pytest.raises(HarnessNotFoundError):
        find_harness(None, {**places.environ, "PATH": os.pathsep})


def test_sys_path_when_it_holds_other_things_then_they_are_skipped(places, monkeypatch):
    """Whatever a program put on `sys.path`, the search goes on; an empty entry is the directory."""
    path = stub(places.root / "here" / WHEEL_MEMBER)
    monkeypatch.chdir(places.root / "here")
    monkeypatch.setattr(sys, "path", [None, b"x", str(Path(__file__)), "", *sys.path])
    assert find_harness(None, {}).path == path


# ── the wheel's package is not touched ──────────────────────────────────────────────────────────


def run_python(script, cwd=None):
    environ = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, cwd=cwd, capture_output=True, timeout=20
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_search_when_the_wheel_is_installed_then_its_package_is_not_imported(tmp_path):
    """Finding the binary runs no code of the wheel and loads no module at all."""
    stub(tmp_path / WHEEL_MEMBER)
    for package in ("antigravity", "antigravity/bin"):
        (tmp_path / "google" / package / "__init__.py").write_text("raise SystemExit('imported')")
    info = tmp_path / "google_antigravity-0.1.22.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Version: 0.1.22\n")
    script = (
        "import sys\n"
        "from antigravity_sync._transport.binary import find_harness\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "before = set(sys.modules)\n"
        "print(find_harness(None, {}).version)\n"
        "print(sorted(set(sys.modules) - before))\n"
        "print('google.antigravity' in sys.modules)\n"
    )
    assert run_python(script) == "0.1.22\n[]\nFalse\n"


# ── which machine a program is for ──────────────────────────────────────────────────────────────


def test_program_when_it_is_this_interpreter_then_it_is_usable():
    """A real program of this machine passes the check."""
    assert why_unusable(Path(sys.executable).resolve()) is None


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (elf(X86_64), Image("Linux", frozenset({"x86_64"}))),
        (elf(ARM64), Image("Linux", frozenset({"arm64"}))),
        (elf(21, "big"), Image("Linux", frozenset({"code 21"}))),
        (elf(X86_64)[:19], None),
        (b"\xcf\xfa\xed\xfe\x0c\0\0\1", Image("macOS", frozenset({"arm64"}))),
        (b"\xcf\xfa\xed\xfe\x07\0\0\1", Image("macOS", frozenset({"x86_64"}))),
        (
            fat(b"\xca\xfe\xba\xbe", 20, 0x0100_0007, 0x0100_000C),
            Image("macOS", frozenset({"x86_64", "arm64"})),
        ),
        (fat(b"\xca\xfe\xba\xbf", 32, 0x0100_000C), Image("macOS", frozenset({"arm64"}))),
        (b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(2000), None),  # a Java class
        (pe(0x8664), Image("Windows", frozenset({"x86_64"}))),
        (pe(0xAA64, 0x100), Image("Windows", frozenset({"arm64"}))),
        (b"MZ" + bytes(62), None),
        (b"MZ", None),
        (b"", None),
    ],
)
def test_header_when_read_then_system_and_machines_are_told(head, expected):
    """The header of each program format says for which system and processors it is."""
    assert read_image(head) == expected


def test_header_when_it_is_noise_then_nothing_is_raised():
    """Any bytes after any magic number give an answer."""
    chance = random.Random(20)
    magics = [b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf", b"\xcf\xfa\xed\xfe", b""]
    for _ in range(2000):
        head = chance.choice(magics) + chance.randbytes(chance.randrange(100))
        image = read_image(head)
        assert image is None or image.machines


@pytest.mark.parametrize(
    ("image", "here", "runs"),
    [
        (("Linux", "x86_64"), ("linux", "x86_64"), True),
        (("Linux", "arm64"), ("linux", "aarch64"), True),
        (("Linux", "arm64"), ("linux", "x86_64"), False),
        (("Linux", "x86_64"), ("linux", "aarch64"), False),
        (("Linux", "x86_64"), ("linux", "i686"), False),
        (("macOS", "x86_64"), ("linux", "x86_64"), False),
        (("macOS", "arm64"), ("darwin", "arm64"), True),
        (("macOS", "x86_64"), ("darwin", "arm64"), True),
        (("macOS", "arm64"), ("darwin", "x86_64"), False),
        (("Windows", "x86_64"), ("win32", "AMD64"), True),
        (("Windows", "x86_64"), ("win32", "ARM64"), True),
        (("Windows", "arm64"), ("win32", "AMD64"), False),
        (("Linux", "code 243"), ("linux", "riscv64"), True),
        (("Windows", "x86_64"), ("linux", "riscv64"), False),
    ],
)
def test_program_when_asked_about_a_machine_then_it_says_whether_it_runs(image, here, runs):
    """A program runs on its own system and processor, and where the system translates."""
    system, machine = image
    assert Image(system, frozenset({machine})).runs_on(*this_machine(*here)) is runs


# ── versions ────────────────────────────────────────────────────────────────────────────────────


def dist_info(places, version, *, names_binary=False, changed_at=0):
    info = places.root / "site" / f"google_antigravity-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: google-antigravity\nVersion: {version}\n\nVersion: 9.9\n"
    )
    (info / "RECORD").write_text(f"{WHEEL_MEMBER},sha256=x,1\n" if names_binary else "other,,\n")
    os.utime(info, (changed_at, changed_at))
    return info


def test_version_when_the_wheel_is_installed_then_its_metadata_tells(places):
    """The version of an installed wheel is that of its metadata, also by an explicit path."""
    stub(places.site)
    dist_info(places, "0.1.22")
    assert find_harness(None, places.environ).version == "0.1.22"
    assert find_harness(places.site, {}).version == "0.1.22"


def test_version_when_path_links_into_a_wheel_then_its_metadata_tells(places):
    """A link on `PATH` is followed for the version, and kept as the path."""
    stub(places.site)
    dist_info(places, "0.1.5")
    link = places.root / "bin" / "link"
    link.parent.mkdir()
    link.symlink_to(places.site)
    found = find_harness(link, {})
    assert (found.path, found.version) == (link, "0.1.5")


def test_version_when_several_metadata_then_the_one_that_names_the_binary_tells(places):
    """The leftovers of an upgrade do not decide, however new they are."""
    stub(places.site)
    dist_info(places, "0.1.5", changed_at=3000)
    dist_info(places, "0.1.10", names_binary=True, changed_at=1000)
    dist_info(places, "0.1.22", changed_at=2000)
    assert find_harness(None, places.environ).version == "0.1.10"


@pytest.mark.parametrize("names_binary", [False, True])
def test_version_when_several_metadata_are_equal_then_the_newest_tells(places, names_binary):
    """Among equals the metadata written last counts, whatever the order of the names."""
    stub(places.site)
    for version, changed_at in (("0.1.10", 1000), ("0.1.5", 3000), ("0.1.22", 2000)):
        dist_info(places, version, names_binary=names_binary, changed_at=changed_at)
    assert find_harness(None, places.environ).version == "0.1.5"


def test_version_when_metadata_has_none_then_it_is_unknown(places):
    """Metadata without the header, or without the file, means that the version must be probed."""
    stub(places.site)
    info = dist_info(places, "0.1.5")
    (info / "METADATA").write_text("Name: google-antigravity\n\nVersion: 0.1.5\n")
    assert find_harness(None, places.environ).version is None
    (info / "METADATA").unlink()
    assert find_harness(None, places.environ).version is None


def test_version_when_nothing_is_beside_it_then_it_is_unknown(places):
    """A binary on its own has no version here."""
    stub(places.on_path)
    assert find_harness(None, places.environ).version is None


def test_version_when_cached_then_the_manifest_tells(places):
    """The version of a cached binary is what was installed, also by an explicit path."""
    path = places.fill_cache()
    assert find_harness(None, places.environ).version == SUPPORTED_HARNESS_VERSION
    assert find_harness(path, {}).version == SUPPORTED_HARNESS_VERSION


def test_version_when_a_cached_binary_was_replaced_then_it_is_unknown(places):
    """The manifest says nothing about another file that was put in the place of its own."""
    path = stub(places.fill_cache(), b"#!/bin/sh\necho replaced\n")
    assert find_harness(path, {}).version is None


# ── the cache ───────────────────────────────────────────────────────────────────────────────────


def test_cache_when_it_has_several_then_the_supported_one_is_first_and_then_the_newest(places):
    """The pinned release comes first, then the others from new to old, numbers as numbers."""
    versions = ["0.1.9", "0.1.11", "0.1.22", "0.2.0rc1", "0.1.22.post1", SUPPORTED_HARNESS_VERSION]
    for version in versions:
        places.fill_cache(version)
    (places.cached().parents[1] / "9.lock").touch()
    stub(places.cached(".0.1.99-x1"))
    order = []
    for _ in versions:
        found = find_harness(None, places.environ)
        order.append(found.version)
        found.path.unlink()
    assert order == [
        SUPPORTED_HARNESS_VERSION,
        "0.2.0rc1",
        "0.1.22.post1",
        "0.1.22",
        "0.1.11",
        "0.1.9",
    ]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (None, "has no readable harness.json beside it"),
        ("{", "has no readable harness.json beside it"),
        ('{"version": 1, "sha256": "", "size": 10, "wheel": ""}', "has no readable harness.json"),
        ("[]", "has no readable harness.json beside it"),
        (
            '{"version": "0.1.10", "sha256": "", "size": 7, "wheel": ""}',
            "is not what was installed there",
        ),
    ],
)
def test_cache_when_the_binary_is_not_what_was_installed_then_it_is_passed_over(
    places, manifest, reason
):
    """A cached file that is cut off or has no manifest is not run."""
    path = stub(places.cached())
    if manifest is not None:
        path.with_name("harness.json").write_text(manifest)
    with pytest.raises(HarnessNotFoundError) as caught:
        find_harness(None, places.environ)
    assert caught.value.searched[-1].startswith(f"cache: {path} {reason}")


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        ("linux", {"ANTIGRAVITY_SYNC_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ("linux", {"ANTIGRAVITY_SYNC_CACHE": "~/c", "HOME": "/h"}, "/h/c"),
        ("linux", {"ANTIGRAVITY_SYNC_CACHE": "", "HOME": "/h"}, "/h/.cache/antigravity-sync"),
        ("linux", {"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/antigravity-sync"),
        ("linux", {"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/antigravity-sync"),
        ("linux", {"HOME": "/h"}, "/h/.cache/antigravity-sync"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/antigravity-sync"),
        ("win32", {"LOCALAPPDATA": "/l", "HOME": "/h"}, "/l/antigravity-sync"),
        ("win32", {"HOME": "/h"}, "/h/AppData/Local/antigravity-sync"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the paths are POSIX ones")
def test_cache_dir_when_asked_then_it_follows_the_rules_of_the_system(system, environ, expected):
    """Our variable, then XDG, then the system's own place for caches."""
    assert cache_dir(environ, system=system) == Path(expected)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root may become nobody")
def test_cache_dir_when_there_is_no_home_then_it_is_a_config_error(places):
    """A user without a home directory is told which variable to set; a search reports it."""
    script = (
        "import os, pwd\n"
        "from antigravity_sync._transport.binary import cache_dir, find_harness\n"
        "from antigravity_sync.errors import ConfigError, HarnessNotFoundError\n"
        "os.setuid(54321)\n"
        "os.environ.pop('HOME')\n"
        "try:\n"
        "    cache_dir({})\n"
        "except ConfigError as error:\n"
        "    print(error)\n"
        "try:\n"
        "    find_harness(None, {})\n"
        "except HarnessNotFoundError as error:\n"
        "    print(error.searched[-1])\n"
    )
    message = (
        "there is no home directory to keep a cache in; set ANTIGRAVITY_SYNC_CACHE to a directory"
    )
    assert run_python(script).splitlines() == [message, f"cache: {message}"]


def test_cache_dir_when_relative_then_it_is_made_absolute(tmp_path, monkeypatch):
    """The cache does not move when the program changes its directory."""
    monkeypatch.chdir(tmp_path)
    assert cache_dir({"ANTIGRAVITY_SYNC_CACHE": "mine"}) == tmp_path / "mine"


def test_version_key_when_sorted_then_versions_are_in_release_order():
    """Versions sort as pip sorts them."""
    ordered = ["0.1.9", "0.1.10.dev1", "0.1.10a1", "0.1.10b1", "0.1.10rc1.dev1", "0.1.10rc1"]
    ordered += ["0.1.10", "0.1.10.post1.dev1", "0.1.10.post1", "0.1.10.1", "0.1.11", "0.2", "1"]
    shuffled = random.Random(20).sample(ordered, len(ordered))
    assert sorted(shuffled, key=version_key) == ordered


@pytest.mark.parametrize(
    "text", ["", "x", "1..2", "1.", "../1", "1/2", "1 ", "1\n", "-1", "1;x", "1+l", "١", "1" * 65]
)
def test_version_key_when_it_is_no_plain_version_then_there_is_none(text):
    """What could be a path, an option or a second requirement is no version."""
    assert version_key(text) is None
