"""Where the paths in a tool call really lead; asks the file system, changes nothing.

What cannot be understood is `None`, and whoever gates a call takes that for a reason to refuse it:
a path that we read one way and the harness another would be a hole in the fence. Between this look
and the harness's own, a link may be swapped by somebody else; that cannot be seen from here.

Any thread may call these functions; they block on the file system alone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote_to_bytes

import attrs

#: No file name: NUL ends it early, and half a surrogate pair is not what the harness gets to see.
_NO_NAME: Final = re.compile("[\0\ud800-\udfff]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DRIVE: Final = re.compile(r"/[A-Za-z]:(/|$)")


@attrs.frozen
class PathUse:
    """How a tool of the harness uses paths.

    Attributes:
        names: Arguments that are paths: the tool's own first, then those of the step that 0.1.5 and
            0.1.6 show instead.
        is_required: Whether the tool cannot do without one.
        writes: Whether it may change what is there.
    """

    names: tuple[str, ...]
    is_required: bool = True
    writes: bool = False


#: Every built-in tool that takes a path. A command may go anywhere once it runs; all that can be
#: held is the directory it starts in.
PATH_TOOLS: Final[Mapping[str, PathUse]] = {
    "view_file": PathUse(("absolute_path", "file_path")),
    "list_directory": PathUse(("directory_path",)),
    "search_directory": PathUse(("search_path", "directory_path")),
    "find_file": PathUse(("search_directory", "directory_path")),
    "create_file": PathUse(("target_file", "file_path"), writes=True),
    "edit_file": PathUse(("target_file", "file_path"), writes=True),
    "run_command": PathUse(("cwd", "working_dir"), writes=True),
    "generate_image": PathUse(("image_paths",), is_required=False),
    "run_workflow": PathUse(("script_path",), is_required=False),
}


# ── the paths of a call ─────────────────────────────────────────────────────────────────────────


def folded(name: str) -> str:
    """Return what makes two argument names one to the harness.

    It reads `absolutepath`, and `AbſolutePath` too, as `AbsolutePath`, and of several it takes the
    last. So all that could be one are one here.
    """
    return name.replace("_", "").casefold()


def path_values(tool: str, args: Mapping[str, object]) -> tuple[object, ...]:
    """Return the values a call gives for paths, the tool's own argument first.

    A `null` is none: the harness passes over it. Whatever else is no string is kept, so that it can
    be refused.
    """
    use = PATH_TOOLS.get(tool)
    if use is None:
        return ()
    found: list[object] = []
    for wanted in use.names:
        for name, value in args.items():
            if folded(name) == folded(wanted):
                found.extend(value if isinstance(value, (list, tuple)) else (value,))
    return tuple(value for value in found if value is not None)


def path_arguments(tool: str, args: Mapping[str, object]) -> tuple[str, ...]:
    """Return the strings a call of a built-in tool gives for paths; `()` for other tools.

    Args:
        tool: Canonical name.
        args: Arguments in any spelling: `AbsolutePath`, `absolute_path`, or `file_path` of a step.
    """
    return tuple(value for value in path_values(tool, args) if isinstance(value, str))


# ── one path ────────────────────────────────────────────────────────────────────────────────────


def is_file_uri(text: str) -> bool:
    """Return whether text means to be a `file:` URI."""
    return text[:5].lower() == "file:"


def uri_path(uri: str) -> str | None:
    """Return the local path of a `file:` URI, `None` if it has none.

    A host other than `localhost` is another machine; a query or a fragment belongs to no file.
    """
    rest = uri[5:]
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            return None
        path = slash + path
    else:
        path = rest
    if not path.startswith("/") or "?" in path or "#" in path or _BAD_ESCAPE.search(path):
        return None
    try:
        path = unquote_to_bytes(path).decode("utf-8")
    except UnicodeError:
        return None
    if os.name == "nt" and _DRIVE.match(path):
        path = path[1:]
    return path


def local_path(value: object, base: str | None = None) -> str | None:
    """Return the absolute path that a tool's argument means, `None` if it means none.

    Args:
        value: The argument: a path, with `~` or `~user` in front perhaps, or a `file:` URI.
        base: Where a relative path starts; without it one is not understood.
    """
    if not isinstance(value, str):
        return None
    path: str | None = value
    if is_file_uri(value):
        path = uri_path(value)
    elif value.startswith("~"):
        path = os.path.expanduser(value)
        if path.startswith("~"):  # no such user
            return None
    if not path or _NO_NAME.search(path):
        return None
    if os.path.isabs(path):
        return path
    return None if base is None else os.path.join(base, path)


def real(path: str) -> str | None:
    """Return a path with every link on its way followed, `None` if it cannot be.

    What does not exist yet is below what its directory really is. A circle of links, a directory
    that may not be looked into and a name too long lead nowhere.
    """
    if os.sep == "/":
        path = re.sub("^//+", "/", path)  # POSIX lets `//` mean something else; no system here does
    try:
        resolved = os.path.realpath(path)
    except (OSError, ValueError):
        return None
    try:
        is_circle = stat.S_ISLNK(os.lstat(resolved).st_mode)  # else it would have been followed
    except (FileNotFoundError, NotADirectoryError):
        return resolved
    except (OSError, ValueError):
        return None
    return None if is_circle else resolved


def destinations(path: str) -> tuple[str, ...]:
    """Return where a path leads: as the system takes it, and with its `..` cancelled out first.

    The two differ behind a link, and the harness uses both. `()` if either leads nowhere.
    """
    found: dict[str, None] = {}
    for reading in dict.fromkeys((path, os.path.normpath(path))):
        place = real(reading)
        if place is None:
            return ()
        found[place] = None
    return tuple(found)


# ── inside and outside ──────────────────────────────────────────────────────────────────────────


def distance(place: str, roots: Iterable[str]) -> int | None:
    """Return how many levels a real path lies below the nearest root, `None` if below none.

    Names are compared, and where the file system knows better also what they stand for: that is
    what makes `/WS` the same as `/ws` where case does not count.

    Args:
        place: What `real` returned.
        roots: Directories, as `real` has them.
    """
    names = {os.path.normcase(root) for root in roots}
    identities = {_identity(root) for root in roots} - {None}
    for level, ancestor in enumerate(_upwards(place)):
        if os.path.normcase(ancestor) in names or (
            identities and _identity(ancestor) in identities
        ):
            return level
    return None


def is_inside(path: str, roots: Iterable[str]) -> bool:
    """Return whether an absolute path leads to one of `roots` or below it, however it is read."""
    known = tuple(place for root in roots if (place := real(root)) is not None)
    places = destinations(path)
    return bool(places) and all(distance(place, known) is not None for place in places)


def _upwards(path: str) -> Iterator[str]:
    yield path
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None
