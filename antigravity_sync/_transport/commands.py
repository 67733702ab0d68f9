"""Find and end the shell commands an agent has left running.

The harness runs each command in a process group of its own, so they outlive it. They are told apart
from everybody else's by the conversation id that the harness puts into their environment, and by
descent from the harness while it lives. Linux only: elsewhere there is no cheap way to look.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs

_PROC: Final = Path("/proc")
_ID_VARIABLE: Final = "ANTIGRAVITY_CONVERSATION_ID"


@attrs.frozen
class Command:
    """A process of the agent's, told apart from a later one with the same pid by its start time."""

    pid: int
    started: str
    line: str


def find_commands(harness_pid: int | None, conversation_id: str) -> tuple[Command, ...]:
    """Return the processes that the agent has running: to be called while the harness lives.

    Args:
        harness_pid: The harness, whose descendants count; `None` if it is gone, because its number
            may be somebody else's by now.
        conversation_id: The id that marks those that got away from it; `""` for none.
    """
    if not _PROC.is_dir():
        return ()
    stats = _read_stats()
    marker = f"{_ID_VARIABLE}={conversation_id}\0".encode() if conversation_id else b""
    found = []
    for pid, (_, started) in stats.items():
        if pid in (harness_pid, os.getpid()):
            continue
        is_descendant = harness_pid is not None and _descends(pid, harness_pid, stats)
        if is_descendant or (marker and _is_marked(pid, marker)):
            found.append(Command(pid, started, _command_line(pid)))
    return tuple(found)


def end_commands(commands: Iterable[Command]) -> tuple[str, ...]:
    """Kill those that still run; return the command lines of all, in the order they began."""
    ordered = sorted(commands, key=lambda command: (int(command.started), command.pid))
    for command in ordered:
        stat = _read_stat(command.pid)
        if stat is not None and stat[1] == command.started:
            with contextlib.suppress(OSError):
                os.kill(command.pid, signal.SIGKILL)
    return tuple(command.line for command in ordered)


def _descends(pid: int, ancestor: int, stats: dict[int, tuple[int, str]]) -> bool:
    seen = set()
    while pid in stats and pid not in seen:
        seen.add(pid)
        pid = stats[pid][0]
        if pid == ancestor:
            return True
    return False


def _read_stats() -> dict[int, tuple[int, str]]:
    stats = {}
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            stat = _read_stat(int(entry))
            if stat is not None:
                stats[int(entry)] = stat
    return stats


def _read_stat(pid: int) -> tuple[int, str] | None:
    """Return parent and start time; `None` if it is gone or only its exit code is left."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The second field is the name in parentheses, which may hold anything.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] == "Z":
        return None
    return int(fields[1]), fields[19]


def _is_marked(pid: int, marker: bytes) -> bool:
    try:
        return marker in (_PROC / str(pid) / "environ").read_bytes() + b"\0"
    except OSError:
        return False


def _command_line(pid: int) -> str:
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
