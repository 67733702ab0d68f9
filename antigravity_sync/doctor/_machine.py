"""What a check can tell without a harness: packages, home, clock, disk, proxies, the key."""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import os
import platform
import re
import shutil
import socket
import tempfile
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from .._version import __version__
from ..config import AgentConfig, resolve_key
from ..errors import ConfigError
from ..models import Gemini, Vertex
from ._finding import Finding, failure, ok, warning

#: What this package needs at run time, with the lowest versions that will do.
NEEDED: Final[Mapping[str, str]] = {
    "attrs": "23.1",
    "protobuf": "4.25",
    "websocket-client": "1.8",
}
#: A small conversation takes up to half of it.
_LOW_SPACE: Final = 50 << 20
_PROBE_BYTES: Final = 64 << 10
_PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY")
_PROXY_PATIENCE: Final = 3.0
_KEY: Final = re.compile(r"AIza[\w-]{35}|AQ\.[\w.-]{20,}")
#: Files made on another machine may be a little ahead.
_CLOCK_SLACK: Final = 86400.0
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def check_packages() -> Finding:
    """Check the three packages that we need, as they are installed."""
    found: list[str] = []
    wrong: list[str] = []
    for name, floor in NEEDED.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is not installed")
            continue
        found.append(f"{name} {version}")
        if _numbers(version) < _numbers(floor):
            wrong.append(f"{name} {version} is older than {floor}")
    here = f"Python {platform.python_version()}, antigravity-sync {__version__}"
    if wrong:
        needed = " ".join(f"'{name}>={floor}'" for name, floor in NEEDED.items())
        return failure("packages", ", ".join(wrong), f"pip install {needed}")
    return ok("packages", ", ".join([here, *found]))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def check_home(environ: Mapping[str, str]) -> Finding:
    """Check the home directory, which the agent's shell commands and our cache use."""
    name = "USERPROFILE" if os.name == "nt" else "HOME"
    home = environ.get(name)
    advice = f"set {name} to a directory of this user"
    if not home:
        return warning("home", f"{name} is not set; shell commands may miss it", advice)
    if not os.path.isabs(home) or not os.path.isdir(home):
        return warning("home", f"{name} is {home!r}, which is no directory", advice)
    if not os.access(home, os.W_OK | os.X_OK):
        return warning(
            "home",
            f"{home} cannot be written by this user",
            f"{advice}, or set ANTIGRAVITY_SYNC_CACHE and ANTIGRAVITY_SYNC_STATE to places that "
            "can be written",
        )
    return ok("home", home)


def check_clock(now: float, made: float) -> Finding:
    """Check the clock against what cannot be in the future.

    Args:
        now: Seconds since 1970.
        made: When the newest of our files was made, on the same scale.
    """
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    if now < made - _CLOCK_SLACK:
        before = time.strftime("%Y-%m-%d", time.gmtime(made))
        return failure(
            "clock",
            f"the clock says {shown}, but files here are from {before}",
            "set the clock, or no certificate of the model's service will be valid",
        )
    return ok("clock", shown)


def newest_of(paths: Iterable[Path]) -> float:
    """Return when the newest of these files was made, 0.0 if none can be seen."""
    times = [0.0]
    for path in paths:
        with contextlib.suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times)


# ── disk ────────────────────────────────────────────────────────────────────────────────────────


def check_save_dir(save_dir: str | None) -> Finding:
    """Check that conversations can be written, by writing and removing a file."""
    try:
        wanted = save_dir or tempfile.gettempdir()
    except OSError as error:
        return failure("save_dir", f"there is no temporary directory: {error}", "set save_dir")
    place = next(path for path in (Path(wanted), *Path(wanted).absolute().parents) if path.exists())
    advice = "choose a save_dir that this user may write to"
    if not place.is_dir():
        return failure("save_dir", f"{place} is not a directory", advice)
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".antigravity-sync-") as file:
            file.write(b"\0" * _PROBE_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _FULL:
            return failure(
                "save_dir",
                f"{place} is full: nothing can be written ({error.strerror})",
                "free some space or raise the limit, or choose another save_dir",
            )
        return failure("save_dir", f"{place} cannot be written ({error.strerror})", advice)
    what = "private directories in it" if save_dir is None else "conversations"
    made = "" if place == Path(wanted) else f", where {wanted} will be made"
    return judge_space(place, shutil.disk_usage(place).free, f"{what}{made}")


def judge_space(place: Path, free: int, purpose: str) -> Finding:
    """Check that a directory that can be written has room for some conversations.

    Args:
        place: The directory.
        free: Bytes that are left there.
        purpose: What it is for.
    """
    if free < _LOW_SPACE:
        return warning(
            "save_dir",
            f"{place} has {free >> 20} MiB left",
            "free some space: on a full disk a harness forgets what was said without a word",
        )
    return ok("save_dir", f"{place} can be written ({free >> 30} GiB free; {purpose})")


# ── network and key ─────────────────────────────────────────────────────────────────────────────


def check_proxies(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check the proxies that the harness would call the model through."""
    given = {name: environ.get(name) or environ.get(name.lower(), "") for name in _PROXY_VARIABLES}
    found = {value: name for name, value in reversed(given.items()) if value}
    for value, name in found.items():
        yield _check_proxy(name, value)
    if environ.get("ALL_PROXY") or environ.get("all_proxy"):
        yield warning(
            "proxy",
            "ALL_PROXY is set, which the harness does not read",
            "set HTTPS_PROXY if the model is reached through a proxy",
        )
    elif not found:
        yield ok("proxy", "none is set")


def _check_proxy(name: str, value: str) -> Finding:
    wrong = failure("proxy", f"{name} is no address", f"set {name} to http://host:port or unset it")
    try:
        parts = urllib.parse.urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return wrong
    if not host:
        return wrong
    port = port or (443 if parts.scheme == "https" else 80)
    where = f"{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=_PROXY_PATIENCE).close()
    except OSError as error:
        reason = error.strerror or str(error)
        return failure(
            "proxy",
            f"the proxy {where} of {name} does not answer ({reason})",
            f"start it, correct {name}, or unset it: the model's service is called through it",
        )
    return ok("proxy", f"the model's service is called through {where} ({name})")


def check_credentials(config: AgentConfig, environ: Mapping[str, str]) -> Finding:
    """Check that the key can be one; it is neither sent nor shown."""
    try:
        model = config.settled(environ).text_model()
        key = resolve_key(model, environ)
    except ConfigError as error:
        stray = [name for name in ("GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY") if environ.get(name)]
        hint = f" ({' and '.join(stray)} is set, which is not read)" if stray else ""
        said, _, advice = str(error).partition("; ")
        return failure("credentials", f"{said}{hint}", advice)
    if not key:
        kind = type(model.endpoint).__name__
        return ok("credentials", f"{kind} is called without a key of ours")
    if any(not c.isascii() or c.isspace() or c in "'\"" or not c.isprintable() for c in key):
        return failure(
            "credentials",
            "the model key has quotes, spaces or other characters that no key has",
            "set it again, without what is around it",
        )
    source = "GEMINI_API_KEY"
    address: str | None = None
    if isinstance(model.endpoint, Gemini | Vertex):
        address = model.endpoint.base_url
        if model.endpoint.api_key:
            source = "the configuration"
    if address is None and not _KEY.fullmatch(key):
        return warning(
            "credentials",
            f"the key of {source} ({len(key)} characters) does not look like one of Google's",
            "copy it again from where it was made; it was not tried",
        )
    return ok("credentials", f"a key of {len(key)} characters from {source}; it was not tried")
