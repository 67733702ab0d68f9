"""Which directories the harness's own tools may touch.

A call is judged by where its paths really lead. What a shell command does once it runs cannot be
held by this; only the directory it starts in is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeAlias

import attrs

from ._paths import PATH_TOOLS, destinations, distance, local_path, path_values
from .hooks import ToolInvocation

_Roots: TypeAlias = "Iterable[str | os.PathLike[str]]"

_RUN_COMMAND: Final = "run_command"


def real_roots(paths: _Roots) -> tuple[str, ...]:
    """Return directories as the real paths that they are now, there or not."""
    return tuple(os.path.realpath(os.fspath(path)) for path in paths)


@attrs.frozen(kw_only=True)
class Containment:
    """A fence around the paths of built-in tools; other tools are not its business.

    Of two directories one inside the other the inner one decides: the app-data directory is open
    though it lies in the closed save directory, and that is closed though it lies in a workspace.

    Attributes:
        writable: Directories that tools may read and change: workspaces, the app-data directory.
        readable: Directories that they may read as well, such as those of skills.
        forbidden: Directories that they may do neither in: where conversations are saved.
        base: Where a relative path starts, which is where the harness was started; `None` refuses
            relative paths.
        command_directory: Where a command starts that names no directory: the first workspace, and
            `base` up to 0.1.6. `None` refuses such commands.
    """

    writable: tuple[str, ...] = attrs.field(default=(), converter=real_roots)
    readable: tuple[str, ...] = attrs.field(default=(), converter=real_roots)
    forbidden: tuple[str, ...] = attrs.field(default=(), converter=real_roots)
    base: str | None = None
    command_directory: str | None = None

    def check(self, call: ToolInvocation) -> str | None:
        """Return why a call must not run, for the model to read; `None` if nothing is against it.

        Blocks on the file system. A call without a path that can be understood must not run.
        """
        use = PATH_TOOLS.get(call.name)
        if use is None or call.server_name:
            return None
        values = path_values(call.name, call.args)
        if call.name == _RUN_COMMAND:
            values = tuple(value for value in values if value != "")
            if not values and self.command_directory is not None:
                values = (self.command_directory,)
        if not values and use.is_required:
            return f"{call.name} must be given an absolute path as {use.names[0]}"
        for value in values:
            problem = self._problem(value, writes=use.writes)
            if problem is not None:
                return f"{call.name}: {problem}"
        return None

    def _problem(self, value: object, *, writes: bool) -> str | None:
        path = local_path(value, self.base)
        places = () if path is None else destinations(path)
        shown = f"{value!r:.200}"
        if not places:
            return f"{shown} is no path that can be followed; give an absolute one"
        for place in places:
            problem = self._problem_at(place, writes)
            if problem is not None:
                return f"{shown} {problem}"
        return None

    def _problem_at(self, place: str, writes: bool) -> str | None:
        closed = distance(place, self.forbidden)
        inner = [distance(place, self.writable), distance(place, self.readable)]
        may_write, may_read = (level is not None and _is_nearer(level, closed) for level in inner)
        if may_write or (may_read and not writes):
            return None
        if may_read:
            return "may be read but not changed"
        if closed is not None:
            return "is where conversations are saved, which is closed to tools"
        allowed = ", ".join(self.writable) or "nowhere at all"
        return f"is outside of the directories you may use: {allowed}"


def _is_nearer(level: int, other: int | None) -> bool:
    return other is None or level < other
