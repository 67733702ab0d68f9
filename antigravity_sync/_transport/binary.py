"""Find the harness binary: which file it is, whether this machine can run it, and its version.

Nothing is executed and nothing of the wheel is imported: a search is a handful of `stat` calls and
one read of a file's head, so it may run on every start. What somebody *named* (`harness_path`,
`ANTIGRAVITY_HARNESS_PATH`) must be right and fails at once; the places nobody named are tried in
order, and what was wrong with each is kept for the error.
"""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from .._version import SUPPORTED_HARNESS_VERSION
from ..errors import ConfigError, HarnessNotFoundError

HARNESS_PATH_VARIABLE: Final = "ANTIGRAVITY_HARNESS_PATH"
CACHE_VARIABLE: Final = "ANTIGRAVITY_SYNC_CACHE"

EXECUTABLE: Final = "localharness.exe" if os.name == "nt" else "localharness"
#: Where the wheel keeps the binary, relative to the directory it is installed in.
WHEEL_MEMBER: Final = f"google/antigravity/bin/{EXECUTABLE}"
MANIFEST_NAME: Final = "harness.json"

#: Enough for every header read here; the PE one may start anywhere, in practice below 300 bytes.
_HEAD_BYTES: Final = 4096

_MACHINE_NAMES: Final[Mapping[str, str]] = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "i386": "x86",
    "i686": "x86",
    "x86": "x86",
}
_ELF_MACHINES: Final[Mapping[int, str]] = {3: "x86", 62: "x86_64", 183: "arm64"}
_PE_MACHINES: Final[Mapping[int, str]] = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "arm64"}
_MACH_O_MACHINES: Final[Mapping[int, str]] = {
    7: "x86",
    0x0100_0007: "x86_64",
    0x0100_000C: "arm64",
}
#: Systems that translate programs of another machine.
_ALSO_RUNS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("macOS", "arm64"): frozenset({"x86_64"}),
    ("Windows", "x86_64"): frozenset({"x86"}),
    ("Windows", "arm64"): frozenset({"x86", "x86_64"}),
}

_VERSION: Final = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?")
#: How what follows a number moves a version; 0 is its end.
_VERSION_RANKS: Final = {"dev": -4, "a": -3, "b": -2, "rc": -1, "post": 1, "": 2}


@attrs.frozen
class HarnessBinary:
    """A harness that this machine can run; strictly read-only.

    Attributes:
        path: Absolute path, symbolic links kept.
        version: Release it comes from, `None` when nothing beside it tells (it has to be probed).
        origin: Where it was found: `"harness_path"`, `"ANTIGRAVITY_HARNESS_PATH"`, `"sys.path"`,
            `"PATH"` or `"cache"`.
    """

    path: Path
    version: str | None
    origin: str


@attrs.frozen
class Manifest:
    """What was installed into one directory of the cache; strictly read-only.

    Attributes:
        version: Version of the wheel.
        sha256: Digest of the binary, hexadecimal.
        size: Its length in bytes; changes are noticed by it without reading the whole file.
        wheel: File name of the wheel.
    """

    version: str
    sha256: str
    size: int
    wheel: str


def find_harness(
    explicit: str | os.PathLike[str] | None, environ: Mapping[str, str]
) -> HarnessBinary:
    """Return the harness to run.

    Any thread may call it. Blocks on the file system only.

    Args:
        explicit: The path somebody configured, `~` allowed; nothing else is looked at then.
        environ: The environment to read, usually the harness's own.

    Raises:
        HarnessNotFoundError: What was named is unusable, or no place has a usable one.
    """
    if explicit is not None:
        return _named("harness_path", os.fsdecode(explicit), environ)
    if (value := environ.get(HARNESS_PATH_VARIABLE)) is not None:
        return _named(HARNESS_PATH_VARIABLE, value, environ)
    searched = ["harness_path: not given", f"{HARNESS_PATH_VARIABLE}: not set"]
    for origin, places, check in (
        ("sys.path", _on_sys_path(), why_unusable),
        ("PATH", _on_path(environ), why_unusable),
        ("cache", _in_cache(environ), _why_not_as_installed),
    ):
        known = len(searched)
        try:
            for path in places:
                reason = check(path)
                if reason is None:
                    return HarnessBinary(path, _version_of(path), origin)
                searched.append(f"{origin}: {path} {reason}")
        except ConfigError as error:  # no home directory: a cache that cannot exist holds nothing
            searched.append(f"{origin}: {error}")
        if len(searched) == known:
            searched.append(f"{origin}: empty")
    raise _nothing_found(searched)


def cache_dir(environ: Mapping[str, str], *, system: str = sys.platform) -> Path:
    """Return the directory of this package's own files, which need not exist.

    Any thread may call it; it does not block.

    Args:
        environ: The environment to read.
        system: A `sys.platform` value.

    Raises:
        ConfigError: There is no home directory and no variable names another place.
    """
    if chosen := environ.get(CACHE_VARIABLE):
        return _absolute(_expand(chosen, environ))
    shared = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):  # the XDG rules say that a relative one is to be ignored
        return Path(shared, "antigravity-sync")
    if system == "win32" and (local := environ.get("LOCALAPPDATA")):
        return Path(local, "antigravity-sync")
    home = _expand("~", environ)
    if not os.path.isabs(home):
        raise ConfigError(
            f"there is no home directory to keep a cache in; set {CACHE_VARIABLE} to a directory"
        )
    below = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(system, ".cache")
    return Path(home, below, "antigravity-sync")


def harness_cache(environ: Mapping[str, str]) -> Path:
    """Return the directory that holds one directory per installed version; see `cache_dir`."""
    return cache_dir(environ) / "harness"


# ── the places ──────────────────────────────────────────────────────────────────────────────────


def _named(name: str, value: str, environ: Mapping[str, str]) -> HarnessBinary:
    if value == "":
        wrong = f"{name} is empty"
    else:
        path = _absolute(_expand(value, environ))
        reason = why_unusable(path)
        if reason is None:
            return HarnessBinary(path, _version_of(path), name)
        wrong = f"{name}: {path} {reason}"
    raise HarnessNotFoundError(
        f"{wrong}; name an executable {EXECUTABLE} file, or leave {name} unset to have one "
        "searched for",
        searched=(wrong,),
    )


def _nothing_found(searched: list[str]) -> HarnessNotFoundError:
    places = "\n".join(f"  {place}" for place in searched)
    return HarnessNotFoundError(
        f"no usable {EXECUTABLE} was found. Looked at:\n{places}\nInstall one with either of:\n"
        f"pip install google-antigravity=={SUPPORTED_HARNESS_VERSION}\n"
        "antigravity-sync install-harness",
        searched=searched,
    )


def _on_sys_path() -> Iterator[Path]:
    # Files instead of `importlib.metadata`: no import of the wheel's package, no scan of every
    # distribution, and a wheel unpacked by hand is found as well.
    entries: list[object] = list(sys.path)  # anything may be put there; imports skip non-strings
    for root in dict.fromkeys(_absolute(entry) for entry in entries if isinstance(entry, str)):
        yield root / WHEEL_MEMBER


def _on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    # Not `shutil.which`: it falls back to this process's own PATH, looks into the current directory
    # on Windows, and does not say why it passed over a file. An empty entry means the current
    # directory to a shell, which is no place to run an unnamed program from.
    for entry in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)):
        if entry:
            yield _absolute(entry) / EXECUTABLE


def _in_cache(environ: Mapping[str, str]) -> Iterator[Path]:
    root = harness_cache(environ)
    yield root / SUPPORTED_HARNESS_VERSION / EXECUTABLE
    try:
        names = os.listdir(root)
    except OSError:  # not there, or not ours to read: either way it has nothing to offer
        return
    others = [(key, name) for name in names if (key := version_key(name)) is not None]
    for _, name in sorted(others, reverse=True):
        if name != SUPPORTED_HARNESS_VERSION:
            yield root / name / EXECUTABLE


def _expand(path: str, environ: Mapping[str, str]) -> str:
    # `os.path.expanduser` would read this process's HOME and not the given one.
    home = environ.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    if os.path.isabs(home) and (path == "~" or path.startswith(("~/", f"~{os.sep}"))):
        return home + path[1:]
    return os.path.expanduser(path)


def _absolute(path: str) -> Path:
    try:
        return Path(path).absolute()
    except FileNotFoundError:  # the current directory was removed; what is below it is missing too
        return Path(path)


# ── is it a program for this machine? ───────────────────────────────────────────────────────────


def why_unusable(path: Path) -> str | None:
    """Return what keeps `path` from being run, as the rest of a sentence; `None` if nothing does.

    Any thread may call it. Blocks on the file system only. A `#!` script passes: stand-ins for the
    harness are scripts.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return "is a directory"
        if not stat.S_ISREG(status.st_mode):  # and opening a FIFO would wait for a writer
            return "is not a regular file"
        if status.st_size == 0:
            return "is empty"
        if not os.access(path, os.X_OK):
            return "is not executable (chmod +x it, or move it off a noexec file system)"
        return _why_not_for(_head(path), path.suffix.lower())
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            return "is a symbolic link to something that does not exist"
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError as error:  # a NUL character in the name
        return f"is not a file name: {error}"


def _head(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except PermissionError:  # a program may be executable without being readable
        return None


def _why_not_for(head: bytes | None, suffix: str) -> str | None:
    if head is None or head.startswith(b"#!"):
        return None
    if os.name == "nt" and suffix in {".bat", ".cmd"}:
        return None
    image = read_image(head)
    if image is None:
        return "is not a program (no ELF, Mach-O or PE header, and no #! line)"
    here = this_machine()
    if image.runs_on(*here):
        return None
    machines = " and ".join(sorted(image.machines))
    return f"is built for {image.system} {machines}, and this machine is {here[0]} {here[1]}"


@attrs.frozen
class Image:
    """What a program file's header says about where it runs; strictly read-only.

    Attributes:
        system: `"Linux"` (any ELF), `"macOS"` or `"Windows"`.
        machines: The processors it has code for, `"code 21"` for one without a name here.
    """

    system: str
    machines: frozenset[str]

    def runs_on(self, system: str, machine: str) -> bool:
        """Return whether a system (as `this_machine` names it) can start this program."""
        if machine not in _MACHINE_NAMES.values():
            return self.system == system  # a processor without a name here: starting it will tell
        fitting = {machine} | _ALSO_RUNS.get((system, machine), frozenset())
        return self.system == system and not self.machines.isdisjoint(fitting)


def this_machine(system: str = sys.platform, machine: str | None = None) -> tuple[str, str]:
    """Return the names of this system and processor, as `Image` uses them."""
    name = (machine or platform.machine()).lower()
    return (
        {"darwin": "macOS", "win32": "Windows"}.get(system, "Linux"),
        _MACHINE_NAMES.get(name, name),
    )


def read_image(head: bytes) -> Image | None:
    """Return what the first bytes of a file say about where it runs; `None` if it is no program."""
    if head.startswith(b"\x7fELF") and len(head) >= 20:
        code = int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")
        return Image("Linux", _machines([code], _ELF_MACHINES))
    if head.startswith((b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")) and len(head) >= 8:
        return Image("macOS", _machines([int.from_bytes(head[4:8], "little")], _MACH_O_MACHINES))
    if head.startswith((b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")):
        # Several programs in one file. Java classes start alike, with a version where the count is.
        step = 20 if head[3] == 0xBE else 32
        count = int.from_bytes(head[4:8], "big")
        if 0 < count < 20 and len(head) >= 8 + step * count:
            starts = range(8, 8 + step * count, step)
            codes = [int.from_bytes(head[start : start + 4], "big") for start in starts]
            return Image("macOS", _machines(codes, _MACH_O_MACHINES))
    if head.startswith(b"MZ"):
        start = int.from_bytes(head[0x3C:0x40], "little")
        header = head[start : start + 6]
        if len(header) == 6 and header.startswith(b"PE\0\0"):
            code = int.from_bytes(header[4:], "little")
            return Image("Windows", _machines([code], _PE_MACHINES))
    return None


def _machines(codes: list[int], names: Mapping[int, str]) -> frozenset[str]:
    return frozenset(names.get(code, f"code {code}") for code in codes)


# ── its version ─────────────────────────────────────────────────────────────────────────────────


def version_key(version: str) -> list[tuple[int, int]] | None:
    """Return what orders versions the way pip does; `None` when it is not a plain version.

    Plain is numbers with dots and at most one each of `a/b/rc`, `.post` and `.dev`, which is safe
    as a file name and as an argument.
    """
    if len(version) > 64 or _VERSION.fullmatch(version) is None:
        return None
    parts = re.findall(r"([a-z]*)([0-9]+)", version)
    return [*((_VERSION_RANKS[word], int(number)) for word, number in parts), (0, 0)]


def read_manifest(directory: Path) -> Manifest | None:
    """Return what was installed into `directory`; `None` when nothing readable says so."""
    try:
        fields = json.loads((directory / MANIFEST_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    match fields:
        case {"version": str(version), "sha256": str(digest), "size": int(size), "wheel": str(w)}:
            return Manifest(version, digest, size, w)
        case _:
            return None


def _why_not_as_installed(binary: Path) -> str | None:
    if reason := why_unusable(binary):
        return reason
    manifest = read_manifest(binary.parent)
    if manifest is None:
        return f"has no readable {MANIFEST_NAME} beside it"
    if _size(binary) != manifest.size:
        return "is not what was installed there"
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # removed meanwhile
        return -1


def _version_of(binary: Path) -> str | None:
    # A link on PATH often leads into an installed wheel, so both ends of it are looked at.
    for path in dict.fromkeys((binary, Path(os.path.realpath(binary)))):
        manifest = read_manifest(path.parent)
        if manifest is not None and manifest.size == _size(path):
            return manifest.version
        if path.as_posix().endswith(f"/{WHEEL_MEMBER}"):
            version = _wheel_version(path.parents[3])
            if version is not None:
                return version
    return None


def _wheel_version(root: Path) -> str | None:
    # Leftovers of an interrupted upgrade stand beside the real one and sort in no useful order.
    infos = sorted(root.glob("google_antigravity-*.dist-info"), key=_changed_at, reverse=True)
    if len(infos) > 1:
        infos.sort(key=_names_binary, reverse=True)  # stable: the newest of those that name it
    if not infos:
        return None
    for line in _lines(infos[0] / "METADATA"):
        if not line:  # the description follows, and may say "Version:" too
            break
        if line.lower().startswith("version:"):
            return line.partition(":")[2].strip() or None
    return None


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed meanwhile
        return 0.0


def _names_binary(info: Path) -> bool:
    return any(line.startswith(f"{WHEEL_MEMBER},") for line in _lines(info / "RECORD"))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
