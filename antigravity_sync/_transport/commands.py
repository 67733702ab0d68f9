"""Find and end the shell commands an agent has left running.

The harness runs each command in a process group of its own, so they outlive it. They are told apart
from everybody else's by the conversation id that the harness puts into their environment, and by
descent from the harness while it lives. What is in the harness's own group are its helpers, such as
MCP servers; they end with it, or are ended likewise. Linux only: elsewhere there is no cheap way to
look.
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
#: A process that becomes another program has no command line for a moment.
_READS: Final = 20


@attrs.frozen
class Command:
    """A process of the agent's, told apart from a later one with the same pid by its start time.

    Attributes:
        pid: Its number.
        started: Its start time.
        line: Its command line.
        is_helper: Whether it is no command of the agent's but serves the harness.
    """

    pid: int
    started: str
    line: str
    is_helper: bool = False


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
    for pid, (_, started, group) in stats.items():
        if pid in (harness_pid, os.getpid()):
            continue
        is_descendant = harness_pid is not None and _descends(pid, harness_pid, stats)
        if is_descendant or (marker and _is_marked(pid, marker)):
            is_helper = is_descendant and group == harness_pid
            line = _command_line(pid)
            if line:
                found.append(Command(pid, started, line, is_helper))
    return tuple(found)


def start_time(pid: int) -> str | None:
    """Return what tells a process from a later one with its pid; `None` if that cannot be told."""
    stat = _read_stat(pid)
    return None if stat is None else stat[1]


def end_commands(commands: Iterable[Command]) -> tuple[str, ...]:
    """Kill those that still run; return the agent's command lines, in the order they began."""
    ordered = sorted(commands, key=lambda command: (int(command.started), command.pid))
    for command in ordered:
        stat = _read_stat(command.pid)
        if stat is not None and stat[1] == command.started:
            with contextlib.suppress(OSError):
                os.kill(command.pid, signal.SIGKILL)
    return tuple(command.line for command in ordered if not command.is_helper)


def _descends(pid: int, ancestor: int, stats: dict[int, tuple[int, str, int]]) -> bool:
    seen = set()
    while pid in stats and pid not in seen:
        seen.add(pid)
        pid = stats[pid][0]
        if pid == ancestor:
            return True
    return False


def _read_stats() -> dict[int, tuple[int, str, int]]:
    stats = {}
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            stat = _read_stat(int(entry))
            if stat is not None:
                stats[int(entry)] = stat
    return stats


def _read_stat(pid: int) -> tuple[int, str, int] | None:
    """Return parent, start time and group; `None` if it is gone or only its exit code is left."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The second field is the name in parentheses, which may hold anything.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] == "Z":
        return None
    return int(fields[1]), fields[19], int(fields[2])


def _is_marked(pid: int, marker: bytes) -> bool:
    try:
        return marker in (_PROC / str(pid) / "environ").read_bytes() + b"\0"
    except OSError:
        return False


def _command_line(pid: int) -> str:
    """Return the command line, or the name in brackets of what has none, as `ps` does.

    `""` if it is gone.
    """
    try:
        for _ in range(_READS):
            raw = (_PROC / str(pid) / "cmdline").read_bytes()
            if line := raw.replace(b"\0", b" ").decode("utf-8", "replace").strip():
                return line
        return f"[{(_PROC / str(pid) / 'comm').read_text('utf-8', 'replace').strip()}]"
    except OSError:
        return ""
