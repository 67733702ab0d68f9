"""Installing the harness with the real pip, from wheels made here, alone and against others."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import attrs
import pytest

from antigravity_sync._transport import install
from antigravity_sync._transport.binary import (
    EXECUTABLE,
    WHEEL_MEMBER,
    find_harness,
    this_machine,
)
from antigravity_sync._transport.install import install_harness
from antigravity_sync._version import SUPPORTED_HARNESS_VERSION
from antigravity_sync.errors import ConfigError, LaunchError

CEILING = 20.0
SOURCES = Path(install.__file__).parents[2]
VERSION = SUPPORTED_HARNESS_VERSION
BINARY = b"#!/bin/sh\necho harness\n"
INFO = f"google_antigravity-{VERSION}.dist-info"

fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the stage is made of FIFOs")


# ── wheels ──────────────────────────────────────────────────────────────────────────────────────


def record_row(content, algorithm="sha256"):
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=")
    return f"{WHEEL_MEMBER},{algorithm}={digest.decode()},{len(content)}"


def build_wheel(directory, *, binary=BINARY, record=None, extra=(), version=VERSION):
    """Write a wheel with the given binary (`None` for none) and RECORD rows about it."""
    directory.mkdir(exist_ok=True)
    info = f"google_antigravity-{version}.dist-info"
    path = directory / f"google_antigravity-{version}-py3-none-any.whl"
    rows = [f"{info}/RECORD,,", record_row(binary or b"") if record is None else record]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if binary is not None:
            archive.writestr(WHEEL_MEMBER, binary)
        for name, content in extra:
            archive.writestr(name, content)
        metadata = f"Metadata-Version: 2.1\nName: google-antigravity\nVersion: {version}\n"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "\n".join(rows) + "\n")
    return path


@attrs.frozen
class Site:
    """An empty cache, and the directory that is all of pip's world."""

    root: Path

    @property
    def wheels(self):
        return self.root / "wheels"

    @property
    def cache(self):
        return self.root / "cache" / "harness"

    @property
    def target(self):
        return self.cache / VERSION

    def leftovers(self):
        """Return what is in the cache and neither an installed version nor a lock."""
        known = {VERSION, f"{VERSION}.lock"}
        return [path.name for path in self.cache.iterdir() if path.name not in known]


@pytest.fixture
def site(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("ANTIGRAVITY_SYNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return Site(tmp_path)


def replace_pip(site, monkeypatch, source):
    """Let `python -m pip` run `source` instead; `None` makes it a package that cannot be run."""
    package = site.root / "no-pip" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    if source is not None:
        (package / "__main__.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))


def break_pip(site, monkeypatch):
    replace_pip(site, monkeypatch, "raise SystemExit('pip was started')")


# ── one installer ───────────────────────────────────────────────────────────────────────────────


def test_install_when_the_wheel_is_good_then_only_its_binary_is_in_the_cache(site):
    """The binary, executable, and its manifest are all that is left of a wheel."""
    wheel = build_wheel(site.wheels, extra=[("google/antigravity/__init__.py", "x = 1")])
    lines = []
    path = install_harness(progress=lines.append)
    assert path == site.target / EXECUTABLE
    assert path.read_bytes() == BINARY
    assert path.stat().st_mode & 0o777 == 0o755
    assert json.loads((site.target / "harness.json").read_text()) == {
        "version": VERSION,
        "sha256": hashlib.sha256(BINARY).hexdigest(),
        "size": len(BINARY),
        "wheel": wheel.name,
    }
    assert {entry.name for entry in site.target.iterdir()} == {EXECUTABLE, "harness.json"}
    assert site.leftovers() == []
    assert lines == [
        f"downloading google-antigravity=={VERSION}",
        f"checking and unpacking {wheel.name}",
        f"installed {path}",
    ]


def test_install_when_done_then_the_search_finds_it(site, monkeypatch):
    """What was installed is what `find_harness` returns from the cache, with its version."""
    build_wheel(site.wheels)
    path = install_harness()
    others = [entry for entry in sys.path if not Path(entry, WHEEL_MEMBER).exists()]
    monkeypatch.setattr(sys, "path", others)
    found = find_harness(None, {"ANTIGRAVITY_SYNC_CACHE": str(site.root / "cache")})
    assert (found.path, found.version, found.origin) == (path, VERSION, "cache")


def test_install_when_another_version_is_asked_for_then_it_stands_beside(site):
    """Versions do not replace each other."""
    build_wheel(site.wheels)
    build_wheel(site.wheels, version="0.1.5", binary=b"#!/bin/sh\necho old\n")
    new, old = install_harness(), install_harness("0.1.5")
    assert new.read_bytes() == BINARY
    assert old == site.cache / "0.1.5" / EXECUTABLE
    assert old.read_bytes() != BINARY


def test_install_when_already_there_then_pip_is_not_started(site, monkeypatch):
    """A good copy is returned with no pip, no PATH and no wheel to be had."""
    build_wheel(site.wheels)
    first = install_harness()
    break_pip(site, monkeypatch)
    monkeypatch.setenv("PATH", "")
    lines = []
    assert install_harness(progress=lines.append) == first
    assert lines == []


def test_install_when_already_there_then_the_cache_is_not_written(site):
    """A good copy in a cache that only others may write, as in a container image, is returned."""
    build_wheel(site.wheels)
    first = install_harness()
    lock = site.cache / f"{VERSION}.lock"
    lock.unlink()
    lock.mkdir()  # stands for a directory that this user may not write in, which root always may
    assert install_harness() == first


@pytest.mark.parametrize(
    "damage",
    [
        lambda target: (target / EXECUTABLE).write_bytes(BINARY[:-3]),
        lambda target: (target / EXECUTABLE).write_bytes(BINARY.replace(b"harness", b"hornets")),
        lambda target: (target / EXECUTABLE).chmod(0o644),
        lambda target: (target / EXECUTABLE).unlink(),
        lambda target: (target / "harness.json").unlink(),
    ],
    ids=["cut off", "same size", "no x bit", "no binary", "no manifest"],
)
def test_install_when_the_installed_copy_is_damaged_then_it_is_replaced(site, damage):
    """A copy that is not what was installed is not returned but installed again."""
    build_wheel(site.wheels)
    path = install_harness()
    damage(site.target)
    assert install_harness() == path
    assert path.read_bytes() == BINARY
    assert os.access(path, os.X_OK)
    assert site.leftovers() == []


def test_install_when_a_damaged_copy_cannot_be_replaced_then_it_stays(site, monkeypatch):
    """Nothing that is there is removed before something better is complete."""
    build_wheel(site.wheels)
    path = install_harness()
    path.write_bytes(b"changed")
    break_pip(site, monkeypatch)
    with pytest.raises(LaunchError, match="pip was started"):
        install_harness()
    assert path.read_bytes() == b"changed"
    assert site.leftovers() == []


@pytest.mark.parametrize("version", ["", "latest", "../0.1.10", "0.1.10 --pre", "-r", None, 0.1])
def test_install_when_the_version_is_none_then_nothing_is_started(site, monkeypatch, version):
    """What is no version is a `ConfigError` and touches neither pip nor the cache."""
    break_pip(site, monkeypatch)
    with pytest.raises(ConfigError, match=f"give one such as '{VERSION}'"):
        install_harness(version)
    assert not site.cache.exists()


def other_machine():
    code = 62 if this_machine()[1] == "arm64" else 183
    return b"\x7fELF\x02\x01\x01" + bytes(11) + code.to_bytes(2, "little")


BAD_WHEELS = {
    "mismatch": (
        {"record": record_row(BINARY.replace(b"h", b"j"))},
        "is not what the wheel's RECORD says",
    ),
    "wrong size": (
        {"record": record_row(BINARY) + "0"},
        "is not what the wheel's RECORD says",
    ),
    "no binary": ({"binary": None}, f"has no {WHEEL_MEMBER} in it"),
    "not recorded": ({"record": "other,,"}, "has no single sha256 and size"),
    "no digest": ({"record": f"{WHEEL_MEMBER},,"}, "has no single sha256 and size"),
    "weak digest": ({"record": record_row(BINARY, "md5")}, "has no single sha256 and size"),
    "bad digest": ({"record": f"{WHEEL_MEMBER},sha256=a,{len(BINARY)}"}, "is damaged"),
    "recorded twice": (
        {"record": f"{record_row(BINARY)}\n{record_row(b'other')}"},
        "has no single sha256 and size",
    ),
    "empty": ({"binary": b""}, "is empty"),
    "no program": ({"binary": b"echo hello\n"}, "is not a program"),
    "other machine": ({"binary": other_machine()}, "is built for Linux"),
}


@pytest.mark.parametrize(("parts", "reason"), BAD_WHEELS.values(), ids=BAD_WHEELS.keys())
def test_install_when_the_wheel_is_bad_then_nothing_is_installed(site, parts, reason):
    """A wheel whose binary cannot be trusted or run leaves no trace, and the error says why."""
    build_wheel(site.wheels, **parts)
    with pytest.raises(LaunchError) as caught:
        install_harness()
    assert reason in str(caught.value)
    assert not site.target.exists()
    assert site.leftovers() == []


@pytest.mark.parametrize("offset", [0, 2000], ids=["no deflate stream", "wrong checksum"])
def test_install_when_the_archive_is_damaged_then_nothing_is_installed(site, offset):
    """A wheel whose compressed bytes were changed is refused as damaged."""
    wheel = build_wheel(site.wheels, binary=b"#!/bin/sh\n" + os.urandom(4000))
    content = bytearray(wheel.read_bytes())
    start = 30 + len(WHEEL_MEMBER) + offset  # inside the binary, which comes first
    content[start : start + 10] = b"\xff" * 10
    wheel.write_bytes(content)
    with pytest.raises(LaunchError, match="is damaged"):
        install_harness()
    assert not site.target.exists()
    assert site.leftovers() == []


@pytest.mark.parametrize("name", [WHEEL_MEMBER, f"{INFO}/RECORD"])
def test_install_when_a_member_is_compressed_unusually_then_it_is_refused(site, name):
    """Only what wheels may use is unpacked, so that no rare decoder meets foreign bytes."""
    wheel = build_wheel(site.wheels)
    with zipfile.ZipFile(wheel) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, content in members.items():
            unusual = zipfile.ZIP_LZMA if member == name else zipfile.ZIP_STORED
            archive.writestr(member, content, unusual)
    with pytest.raises(LaunchError, match=f"{name} in {wheel.name} is compressed as no wheel is"):
        install_harness()
    assert site.leftovers() == []


def test_install_when_the_wheel_reaches_outside_then_nothing_of_that_is_written(site):
    """Members with dangerous names stay in the archive."""
    build_wheel(site.wheels, extra=[("../../escaped", "x"), ("/tmp/../escaped", "x")])
    install_harness()
    assert list(site.root.rglob("*escaped*")) == []


def test_install_when_the_version_does_not_exist_then_pips_words_are_in_the_error(site):
    """A release that no index has is reported in pip's words, with what to do."""
    build_wheel(site.wheels, version="0.1.5")
    with pytest.raises(LaunchError) as caught:
        install_harness("0.1.99")
    assert "could not fetch google-antigravity==0.1.99" in str(caught.value)
    assert "No matching distribution found" in str(caught.value)
    assert "ANTIGRAVITY_HARNESS_PATH" in str(caught.value)
    assert "from versions: 0.1.5" in caught.value.stderr_tail
    assert not (site.cache / "0.1.99").exists()


def test_install_when_there_is_no_pip_then_the_error_names_the_interpreter(site, monkeypatch):
    """An interpreter without pip is told apart from a failing one."""
    replace_pip(site, monkeypatch, None)
    with pytest.raises(LaunchError) as caught:
        install_harness()
    assert f"{sys.executable} has no pip" in str(caught.value)
    assert site.leftovers() == []


def test_install_when_the_interpreter_cannot_be_started_then_it_is_a_launch_error(
    site, monkeypatch
):
    """An embedded interpreter, which does not know its own program, gives a plain error."""
    monkeypatch.setattr(sys, "executable", str(site.root / "gone"))
    with pytest.raises(LaunchError, match="pip could not be started"):
        install_harness()
    assert site.leftovers() == []


def test_install_when_pip_prints_a_password_then_it_is_not_in_the_error(site, monkeypatch):
    """The credentials of an index do not travel in an error, whatever pip prints."""
    replace_pip(
        site,
        monkeypatch,
        "raise SystemExit('ERROR: no answer from https://me:hunter2@index.invalid/simple')",
    )
    with pytest.raises(LaunchError) as caught:
        install_harness()
    assert "https://***@index.invalid/simple" in str(caught.value)
    assert "hunter2" not in str(caught.value) + caught.value.stderr_tail


def test_install_when_pip_fails_after_the_download_then_its_wheel_is_not_used(site, monkeypatch):
    """What a failing pip leaves behind is not taken for a wheel."""
    build_wheel(site.wheels)
    replace_pip(
        site,
        monkeypatch,
        "import os, shutil, sys\n"
        "into = sys.argv[sys.argv.index('--dest') + 1]\n"
        "shutil.copytree(os.environ['PIP_FIND_LINKS'], into)\n"
        "raise SystemExit('ERROR: the digest does not match')\n",
    )
    with pytest.raises(LaunchError, match="the digest does not match"):
        install_harness()
    assert not site.target.exists()


def test_install_when_pip_brings_nothing_then_it_is_a_launch_error(site, monkeypatch):
    """A pip that succeeds without a wheel is not believed."""
    replace_pip(site, monkeypatch, "")
    with pytest.raises(LaunchError, match="exit code 0 without a word"):
        install_harness()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs PYTHONSAFEPATH")
def test_install_when_a_pip_lies_in_the_current_directory_then_it_is_not_run(site, monkeypatch):
    """The program's working directory does not decide which pip runs."""
    build_wheel(site.wheels)
    decoy = site.root / "work" / "pip"
    decoy.mkdir(parents=True)
    (decoy / "__init__.py").touch()
    (decoy / "__main__.py").write_text("raise SystemExit('decoy')")
    monkeypatch.chdir(decoy.parent)
    assert install_harness().read_bytes() == BINARY


def test_install_when_the_cache_is_a_file_then_the_error_names_the_variable(site, monkeypatch):
    """A cache that cannot be written is reported with the way to move it."""
    (site.root / "cache").touch()
    with pytest.raises(LaunchError, match="set ANTIGRAVITY_SYNC_CACHE to a directory"):
        install_harness()


def test_install_when_the_lock_cannot_be_made_then_the_error_names_the_variable(site):
    """Trouble with the lock is trouble with the cache, and reported as such."""
    (site.cache / f"{VERSION}.lock").mkdir(parents=True)
    with pytest.raises(LaunchError, match="set ANTIGRAVITY_SYNC_CACHE to a directory"):
        install_harness()


def test_install_when_progress_raises_then_its_error_comes_out_and_nothing_is_left(site):
    """An error of the caller's own callable is not disguised, even an `OSError`."""
    build_wheel(site.wheels)

    def refuse(line):
        if line.startswith("checking"):
            raise BrokenPipeError(line)

    with pytest.raises(BrokenPipeError):
        install_harness(progress=refuse)
    assert not site.target.exists()
    assert site.leftovers() == []


# ── several installers ──────────────────────────────────────────────────────────────────────────

INSTALLER = """
import os, signal, sys
from antigravity_sync._transport.install import install_harness

stage, name = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)

def say(line):
    with open(f"{stage}/events", "w") as events:
        events.write(f"{name}: {line}\\n")

barrier = os.open(f"{stage}/barrier", os.O_RDONLY)
say("ready")
os.read(barrier, 1)
print(install_harness(progress=say))
assert "pip" not in sys.modules
"""

#: Runs in the place of pip: says so, waits for a word, and only then becomes the real one.
GATED_PIP = """
import os, sys

stage = os.environ["STAGE"]
alive = os.open(f"{stage}/alive", os.O_WRONLY)
gate = os.open(f"{stage}/gate", os.O_RDONLY)
with open(f"{stage}/events", "w") as events:
    events.write("pip: started\\n")
if os.read(gate, 1) != b"g":
    sys.exit(3)
environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
os.execve(sys.executable, [sys.executable, "-m", "pip", *sys.argv[1:]], environ)
"""


@attrs.define
class Stage:
    """Installers in processes of their own that tell what they do and wait for a word."""

    root: Path
    _fds: dict[str, int] = attrs.field(factory=dict)
    _running: list[subprocess.Popen[bytes]] = attrs.field(factory=list)
    _pending: bytes = b""

    def open(self):
        for name in ("events", "barrier", "gate"):
            os.mkfifo(self.root / name)
            self._fds[name] = os.open(self.root / name, os.O_RDWR)
        os.mkfifo(self.root / "alive")
        self._fds["alive"] = os.open(self.root / "alive", os.O_RDONLY | os.O_NONBLOCK)

    def close(self):
        for process in self._running:
            process.kill()
            process.communicate()
        os.write(self._fds["gate"], b"x" * 8)  # whoever is orphaned at the gate goes home
        for descriptor in self._fds.values():
            os.close(descriptor)

    def installer(self, name):
        path = os.pathsep.join([os.environ["PYTHONPATH"], str(SOURCES)])
        process = subprocess.Popen(
            [sys.executable, "-c", INSTALLER, str(self.root), name],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._running.append(process)
        return process

    def say(self, name, word):
        os.write(self._fds[name], word)

    def next_event(self, timeout=CEILING):
        while b"\n" not in self._pending:
            if not select.select([self._fds["events"]], [], [], timeout)[0]:
                return None
            self._pending += os.read(self._fds["events"], 4096)
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def events_until(self, *wanted):
        """Return the events up to the one that completes `wanted`, each the end of a line."""
        seen = []
        while not all(any(line.endswith(end) for line in seen) for end in wanted):
            line = self.next_event()
            assert line is not None, f"no further event after {seen}, waiting for {wanted}"
            seen.append(line)
        return seen

    def wait_for_pip_to_be_gone(self):
        assert select.select([self._fds["alive"]], [], [], CEILING)[0], "pip still runs"
        assert os.read(self._fds["alive"], 1) == b""


@pytest.fixture
def stage(site, monkeypatch):
    build_wheel(site.wheels)
    root = site.root / "stage"
    root.mkdir()
    replace_pip(site, monkeypatch, GATED_PIP)
    monkeypatch.setenv("STAGE", str(root))
    stage = Stage(root)
    stage.open()
    yield stage
    stage.close()


@fifos
def test_install_when_two_processes_start_together_then_one_downloads_for_both(site, stage):
    """Two installers of one version both return the same good path, after one download."""
    installers = [stage.installer("a"), stage.installer("b")]
    seen = stage.events_until("a: ready", "b: ready")
    stage.say("barrier", b"gg")
    seen = stage.events_until("pip: started", "waiting for that")
    stage.say("gate", b"gg")  # a second pip would find the gate open as well, and be counted
    outputs = [process.communicate(timeout=CEILING) for process in installers]
    assert [process.returncode for process in installers] == [0, 0], outputs
    while (line := stage.next_event(timeout=0)) is not None:
        seen.append(line)
    path = site.target / EXECUTABLE
    assert [out.decode().strip() for out, _ in outputs] == [str(path), str(path)]
    assert path.read_bytes() == BINARY
    assert seen.count("pip: started") == 1
    assert site.leftovers() == []


@fifos
def test_install_when_two_threads_start_then_one_downloads_for_both(site, stage):
    """The lock holds between threads of one process too."""
    waiting = threading.Event()
    paths = []

    def report(line):
        if line.endswith("waiting for that"):
            waiting.set()

    threads = [
        threading.Thread(target=lambda: paths.append(install_harness(progress=report)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    stage.events_until("pip: started")
    assert waiting.wait(CEILING)
    stage.say("gate", b"gg")
    for thread in threads:
        thread.join(CEILING)
    assert paths == [site.target / EXECUTABLE] * 2
    assert stage.next_event(timeout=0) is None


@fifos
def test_install_when_killed_in_the_middle_then_the_next_one_starts_clean(site, stage):
    """A killed installer leaves no version, no held lock, and its remains are swept up."""
    victim = stage.installer("victim")
    stage.events_until("ready")
    stage.say("barrier", b"g")
    stage.events_until("pip: started")
    victim.kill()
    assert victim.wait(CEILING) == -signal.SIGKILL
    assert not site.target.exists()
    assert len(site.leftovers()) == 1
    stage.say("gate", b"x")
    stage.wait_for_pip_to_be_gone()
    stage.say("gate", b"g")
    path = install_harness()
    assert path.read_bytes() == BINARY
    assert site.leftovers() == []


@fifos
def test_install_when_interrupted_then_pip_is_killed_and_nothing_is_left(site, stage):
    """Ctrl-C ends pip as well, and the cache is as it was."""
    installer = stage.installer("a")
    stage.events_until("ready")
    stage.say("barrier", b"g")
    stage.events_until("pip: started")
    installer.send_signal(signal.SIGINT)
    _, err = installer.communicate(timeout=CEILING)
    assert installer.returncode == -signal.SIGINT, err
    stage.wait_for_pip_to_be_gone()
    assert not site.target.exists()
    assert site.leftovers() == []


@fifos
def test_install_when_interrupted_while_it_waits_then_the_other_one_finishes(site, stage):
    """Ctrl-C ends the wait for another installer, which is not disturbed."""
    first = stage.installer("first")
    stage.events_until("ready")
    stage.say("barrier", b"g")
    stage.events_until("pip: started")
    second = stage.installer("second")
    stage.events_until("ready")
    stage.say("barrier", b"g")
    stage.events_until("waiting for that")
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=CEILING)
    assert second.returncode == -signal.SIGINT
    stage.say("gate", b"g")
    out, err = first.communicate(timeout=CEILING)
    assert first.returncode == 0, err
    assert Path(out.decode().strip()).read_bytes() == BINARY
