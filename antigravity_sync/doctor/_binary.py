"""What a check can tell of the binary without running it."""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .._transport.binary import HarnessBinary, find_harness, version_key
from .._version import (
    OLDEST_HARNESS_VERSION,
    SUPPORTED_HARNESS_VERSION,
    VERIFIED_HARNESS_VERSIONS,
)
from ..errors import HarnessNotFoundError
from ._finding import Finding, failure, ok, warning

_INSTALL: Final = "antigravity-sync install-harness"
_QUARANTINE: Final = "com.apple.quarantine"
_PT_INTERP: Final = 3
#: The table of names of a program's libraries stands near either end of it.
_SCANNED: Final = 160 << 20
_GLIBC: Final = re.compile(rb"\0GLIBC_2\.(\d{1,3})(?=\0)")


def find(
    explicit: str | os.PathLike[str] | None, environ: Mapping[str, str]
) -> HarnessBinary | Finding:
    """Return the binary that an agent would run, or that there is none and where was looked."""
    try:
        return find_harness(explicit, environ)
    except HarnessNotFoundError as error:
        looked = "; ".join(error.searched)
        return failure("harness", f"no usable binary; looked at: {looked}", _INSTALL)


def check_version(binary: HarnessBinary) -> Finding:
    """Check which release it is, by what stands beside it."""
    where = f"{binary.path} (found by {binary.origin})"
    version = binary.version
    if version is None:
        return warning(
            "harness",
            f"{where}: nothing beside it tells its version; it is asked at each start",
            f"install one whose version is known: {_INSTALL}",
        )
    found, oldest = version_key(version), version_key(OLDEST_HARNESS_VERSION)
    if found is not None and oldest is not None and found < oldest:
        return failure(
            "harness",
            f"{version} at {where} is older than {OLDEST_HARNESS_VERSION}, which cannot be driven",
            _INSTALL,
        )
    if version not in VERIFIED_HARNESS_VERSIONS:
        return warning(
            "harness",
            f"{version} at {where} is not among the releases this package was tested on",
            f"use {SUPPORTED_HARNESS_VERSION}: {_INSTALL}",
        )
    return ok("harness", f"{version} at {where}")


def check_runs(
    path: Path, environ: Mapping[str, str], *, system: str = sys.platform
) -> Iterator[Finding]:
    """Check that the system lets it run: its loader, its C library, quarantine.

    Yields nothing where all is well, for a start proves more.
    """
    if system == "darwin" and is_quarantined(path, environ):
        yield failure(
            "runs",
            f"{path} is in quarantine: macOS does not run what a browser has downloaded",
            f"xattr -d {_QUARANTINE} '{path}'",
        )
    loader = loader_of(path)
    if loader is not None and not os.path.exists(loader):
        yield failure(
            "runs",
            f"{path} needs the loader {loader}, which this system has not",
            "use a system with glibc, such as Debian or Ubuntu; Alpine has another C library",
        )
        return
    needed, here = glibc_of(path), _own_glibc()
    if loader is not None and here is not None and needed > here:
        yield failure(
            "runs",
            f"{path} needs glibc 2.{needed}, and this system has 2.{here}",
            "use a newer system, or an older harness",
        )


def is_quarantined(path: Path, environ: Mapping[str, str]) -> bool:
    """Return whether macOS will refuse to run it because of where it came from."""
    try:
        done = subprocess.run(
            ["xattr", "-p", _QUARANTINE, os.fspath(path)],  # noqa: S607 - from PATH, as a user would
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=5.0,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def loader_of(path: Path) -> str | None:
    """Return the program that loads this one, `None` if it needs none or is no 64-bit ELF."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02" or head[5] != 1:
                return None
            (table,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(table)
            entries = file.read(size * count)
            for number in range(count):
                kind, _, offset, _, _, length = struct.unpack_from(
                    "<IIQQQQ", entries, number * size
                )
                if kind == _PT_INTERP:
                    file.seek(offset)
                    return os.fsdecode(file.read(min(length, 4096)).rstrip(b"\0"))
    except (OSError, ValueError, struct.error):
        pass
    return None


def glibc_of(path: Path) -> int:
    """Return the `y` of the newest `GLIBC_2.y` that it asks for, 0 if it asks for none."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = _GLIBC.finditer(data, 0, _SCANNED)
            return max((int(match[1]) for match in found), default=0)
    except (OSError, ValueError):
        return 0


def _own_glibc() -> int | None:
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):  # no glibc here
        return None
    match = re.fullmatch(r"glibc 2\.(\d+).*", name)
    return None if match is None else int(match[1])
