"""One harness process, and the engines that have a conversation on it: one of its own, or several.

An engine's own host ends with it. A shared one is ended by whoever started it, and what happens to
one of its conversations is no business of the others; only its death is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

import attrs

from .._clock import Clock, Deadline
from .._transport.binary import HarnessBinary
from .._transport.channel import Channel
from .._transport.commands import Command
from .._transport.link import Link
from .._transport.process import HarnessProcess
from .._wire.dialect import Dialect
from .._wire.frames import Endpoint
from ..config import AgentConfig
from .hosting import BaseHost, Guest
from .plan import Directories, Plan
from .wiretap import Wiretap

#: How long the readers get to post what a harness sent before it died.
LAST_FRAMES: Final = 0.25
#: How long the pumps get to tell of its death, before it is told past them.
_DEATH_GRACE: Final = 0.5


class Host(BaseHost):
    """One harness process.

    Args:
        plan: Which binary, in which environment.
        directories: Where it keeps things.
        tap: Hears its stderr.
        clock: For the waits of a death.
        is_shared: Whether several engines use it.

    Thread: any; `start` once.

    Attributes:
        process: The process.
        directories: Where it keeps things.
    """

    def __init__(
        self,
        plan: Plan,
        directories: Directories,
        tap: Wiretap,
        clock: Clock,
        *,
        is_shared: bool = False,
    ) -> None:
        self._binary = plan.local_binary
        version = self._binary.version
        dialect = None if version is None else Dialect.of(version)
        self.process: HarnessProcess = tap.make_process()
        super().__init__(self.process.stderr, tap.redactor, dialect, is_shared=is_shared)
        self.directories = directories
        self._plan = plan
        self._tap = tap
        self._clock = clock
        self._endpoint: Endpoint | None = None
        self._exit: list[int | None] = []

    def start(self, deadline: Deadline) -> None:
        """Start the process; if that fails, `process.undo_start` cleans up.

        Blocks until it listens, exits, or the deadline passes.

        Raises:
            LaunchError: Any of its kinds.
        """
        path = os.fspath(self._binary.path)
        self.process.spawn(path, self._plan.environ)
        self._tap.spawned(path, self.process.pid)
        self._endpoint = self.process.shake_hands(self.directories.storage, deadline)
        self.process.watch(self._take_line, self._take_exit)

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens; only after `start`."""
        assert self._endpoint is not None
        return self._endpoint

    def connect(self, deadline: Deadline) -> Channel:
        link = Link.connect(self.endpoint, deadline)
        self.redactor.add(self.endpoint.key)
        return link

    @property
    def binary(self) -> HarnessBinary:
        """What runs."""
        return self._binary

    @property
    def is_foreign(self) -> bool:
        return False

    @property
    def pid(self) -> int | None:
        return self.process.pid

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        return () if self.is_shared else self.process.threads

    def plan_for(self, plan: Plan) -> Plan:
        return attrs.evolve(plan, binary=self._binary)

    def check_options(self, config: AgentConfig, dialect: Dialect) -> None:
        """Know nothing more: what its version cannot do was refused before it was started."""

    def place(self, label: str, config: AgentConfig) -> Directories:
        return self.directories.beside(label, config)

    @property
    def has_exited(self) -> bool:
        """Whether the process is gone."""
        return bool(self._exit) or self.process.poll() is not None

    def enter(self, guest: Guest) -> None:
        """Tell `guest` from now on of what happens to the process, also if it is gone already."""
        with self._lock:
            self._guests.append(guest)
            told = list(self._exit)
        for code in told:
            self._tell_exit([guest], code)

    def hear_reason(self, reason: str) -> None:
        """Leave it: its stderr says more."""

    def check_alive(self, when: str, deadline: Deadline, grace: float = 0.0) -> None:
        process = self.process
        if process.poll() is not None or (grace and process.is_ending(deadline.sooner(grace))):
            raise process.exited_error(when, deadline)

    def find_commands(self, conversation_id: str) -> set[Command]:
        return self.process.find_commands(conversation_id, is_alone=not self.is_shared)

    def put_down(self, deadline: Deadline) -> int | None:
        return None if self.is_shared else self.process.put_down(deadline)

    def end(
        self, deadline: Deadline, unblock: Callable[[], object]
    ) -> tuple[int | None, tuple[str, ...]]:
        return (None, ()) if self.is_shared else self.process.end(deadline, unblock)

    def release(self, deadline: Deadline) -> tuple[str, ...]:
        return () if self.is_shared else self.process.release(deadline)

    # ── what happens to it; on a drain's thread ─────────────────────────────────────────────────

    def _take_line(self, line: str) -> None:
        guests = self.guests
        is_own = len(guests) == 1
        for guest in guests:
            guest.take_line(line, is_own=is_own)

    def _take_exit(self, code: int | None) -> None:
        with self._lock:
            self._exit.append(code)
            guests = list(self._guests)
        self._tell_exit(guests, code)

    def _tell_exit(self, guests: list[Guest], code: int | None) -> None:
        # What it said last is still on its way through the readers, and belongs to the turns.
        last_frames = Deadline.after(self._clock, LAST_FRAMES)
        for guest in guests:
            guest.take_exit(code, last_frames)
        grace = Deadline.after(self._clock, _DEATH_GRACE)
        for guest in guests:
            guest.insist_on_exit(code, grace)
