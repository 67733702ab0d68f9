"""One harness process, and the engines that have a conversation on it: one of its own, or several.

An engine's own host ends with it. A shared one is ended by whoever started it, and what happens to
one of its conversations is no business of the others; only its death is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, Protocol

from .._clock import Clock, Deadline
from .._transport.binary import HarnessBinary
from .._transport.commands import Command
from .._transport.process import HarnessProcess
from .._wire.dialect import Dialect
from .._wire.frames import Endpoint
from .._wire.redact import Redactor
from .plan import Directories, Plan
from .wiretap import Wiretap

#: How long the readers get to post what a harness sent before it died.
LAST_FRAMES: Final = 0.25
#: How long the pumps get to tell of its death, before it is told past them.
_DEATH_GRACE: Final = 0.5


class Guest(Protocol):
    """An engine with a conversation on a host."""

    def take_line(self, line: str, *, is_own: bool) -> None:
        """Take in a line of stderr, `is_own` if no other conversation can have caused it."""

    def take_exit(self, code: int | None, deadline: Deadline) -> None:
        """Take in that the process is gone."""

    def insist_on_exit(self, code: int | None, deadline: Deadline) -> None:
        """See to it that everybody has been told by the deadline."""


class Host:
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
        is_shared: Whether several engines use it.
        dialect: What it understands, `None` while that is not known.
        on_empty: Called when the last guest has left, on the thread that closes it, with the
            deadline of that close.
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
        version = plan.binary.version
        self.process: HarnessProcess = tap.make_process()
        self.directories = directories
        self.is_shared = is_shared
        self.dialect: Dialect | None = None if version is None else Dialect.of(version)
        self._plan = plan
        self._tap = tap
        self._clock = clock
        self._endpoint: Endpoint | None = None
        self._lock = threading.Lock()
        self._guests: list[Guest] = []
        self._exit: list[int | None] = []
        self.on_empty: Callable[[Deadline], None] = lambda _deadline: None

    def start(self, deadline: Deadline) -> None:
        """Start the process; if that fails, `process.undo_start` cleans up.

        Blocks until it listens, exits, or the deadline passes.

        Raises:
            LaunchError: Any of its kinds.
        """
        path = os.fspath(self._plan.binary.path)
        self.process.spawn(path, self._plan.environ)
        self._tap.spawned(path, self.process.pid)
        self._endpoint = self.process.shake_hands(self.directories.storage, deadline)
        self.process.watch(self._take_line, self._take_exit)

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens; only after `start`."""
        assert self._endpoint is not None
        return self._endpoint

    @property
    def binary(self) -> HarnessBinary:
        """What runs."""
        return self._plan.binary

    @property
    def redactor(self) -> Redactor:
        """What is secret to any of its conversations."""
        return self._tap.redactor

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

    def leave(self, guest: Guest, deadline: Deadline) -> None:
        """Tell `guest` no more; any number of times.

        Blocks for what is done when it was the last one, about until the deadline.
        """
        with self._lock:
            was_here = guest in self._guests
            self._guests = [each for each in self._guests if each is not guest]
            is_empty = was_here and not self._guests
        if is_empty:
            self.on_empty(deadline)

    @property
    def guests(self) -> tuple[Guest, ...]:
        """The engines that use it."""
        with self._lock:
            return tuple(self._guests)

    def find_commands(self, conversation_id: str) -> set[Command]:
        """Return what the agent with this conversation has running."""
        return self.process.find_commands(conversation_id, is_alone=not self.is_shared)

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
