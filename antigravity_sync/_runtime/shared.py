"""A host that several engines use: started once, ended by whoever started it."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from typing import Final

from .._clock import Clock, Deadline, MonotonicClock
from .._transport.commands import end_commands
from .._transport.process import start_thread
from ..config import AgentConfig
from ..responses import CloseReport
from . import lifecycle
from .engine import Engine
from .host import Host
from .plan import Directories, Plan
from .wiretap import Wiretap

_log: Final = logging.getLogger("antigravity_sync.runtime")
_labels: Final = itertools.count(1)

#: How long the process gets to end in at the least, when its conversations have used up the budget.
_END_GRACE: Final = 1.0
#: What the closing of its drains may take.
_JOIN_GRACE: Final = 1.0
#: Seconds for a close that nobody waits for.
_UNATTENDED: Final = 10.0


class SharedHost:
    """A host of its own, and its end.

    Thread: any.

    Attributes:
        host: What engines are opened on.
        clock: Measures all of its waits.
        is_held: Whether it outlives its last conversation.
    """

    def __init__(self, host: Host, tap: Wiretap, clock: Clock) -> None:
        self.host = host
        self.clock = clock
        self._tap = tap
        self._owner_pid = os.getpid()
        self._closing = threading.Lock()
        #: Over the seats; whoever takes one while it is about to end gets none.
        self._seating = threading.Lock()
        self._seats = 0
        self._is_ending = False
        self._report: CloseReport | None = None
        self.is_held = False
        host.on_empty = self._emptied

    @classmethod
    def open(cls, config: AgentConfig, deadline: Deadline) -> SharedHost:
        """Start a harness without a conversation.

        Blocks until it listens or the deadline passes.

        Raises:
            LaunchError: Any of its kinds; nothing is left behind.
        """
        undo = contextlib.ExitStack()
        try:
            clock = MonotonicClock()
            plan = Plan.of_host(config)
            tap = Wiretap.for_log(plan, f"agsync-h{next(_labels)}", clock)
            directories = Directories.choose(config)
            undo.callback(directories.remove_private)
            directories.create()
            host = Host(plan, directories, tap, clock, is_shared=True)
            undo.callback(host.process.undo_start, clock)
            host.start(deadline)
            shared = cls(host, tap, clock)
            lifecycle.register(shared)
        except BaseException:  # unwinding: an interrupt may come between any two lines
            undo.close()
            raise
        return shared

    def take_seat(self) -> bool:
        """Keep it for an engine that is about to be opened; return `False` if it ends already."""
        with self._seating:
            if not self._is_ending:
                self._seats += 1
            return not self._is_ending

    def part(self, deadline: Deadline) -> None:
        """Give a seat back: the engine has come, or will not.

        Blocks for the end of the process if nobody else uses or holds it, about until the deadline.
        """
        with self._seating:
            self._seats -= 1
        self._emptied(deadline)

    @property
    def is_ours(self) -> bool:
        """Whether this process started it, and not a parent before a fork."""
        return os.getpid() == self._owner_pid

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._report is not None

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those that have a conversation on it."""
        return tuple(guest for guest in self.host.guests if isinstance(guest, Engine))

    def close(self, timeout: float) -> CloseReport:
        """Close all conversations, then the process; whoever comes second gets the same report.

        Blocks at most `timeout` seconds, and a second more where something must be killed.
        """
        deadline = Deadline.after(self.clock, timeout)
        with self._seating:
            self._is_ending = True
        with self._closing:
            if self._report is None:
                self._report = self._close(deadline)
            return self._report

    def _emptied(self, deadline: Deadline) -> None:
        """Close it after its last conversation, unless somebody holds it or closes it already."""
        with self._seating:
            if self.is_held or self._seats or self.host.guests:
                return
            self._is_ending = True
        if not self._closing.acquire(blocking=False):
            return
        try:
            if self._report is None:
                self._report = self._close(deadline)
        finally:
            self._closing.release()

    def _close(self, deadline: Deadline) -> CloseReport:
        started = self.clock.now()
        engines = self.engines
        for engine in engines:  # all at once: each may have a turn to halt and a command to end
            engine.begin_close(deadline.remaining() or 0.0)
        reports = [engine.close(deadline.remaining() or 0.0) for engine in engines]
        process = self.host.process
        commands = process.find_commands("")
        patience = max(_END_GRACE, deadline.remaining() or 0.0)
        end = Deadline.after(self.clock, patience)
        exit_code, forced = process.end(end, lambda: end_commands(commands))
        ended = end_commands(commands)
        leftovers = [each for report in reports for each in report.leftovers]
        leftovers += process.release(Deadline.after(self.clock, _JOIN_GRACE))
        if exit_code is None:
            leftovers.append(f"process {process.pid}")
        self._tap.finish()
        self.host.directories.remove_private()
        lifecycle.unregister(self)
        return CloseReport(
            exit_code=exit_code,
            clean=exit_code == 0 and not forced and not leftovers,
            forced=forced,
            ended_commands=(*(line for each in reports for line in each.ended_commands), *ended),
            leftovers=tuple(leftovers),
            duration=self.clock.now() - started,
            trigger_errors=tuple(error for each in reports for error in each.trigger_errors),
        )

    # ── when nobody closes it ───────────────────────────────────────────────────────────────────

    def drop(self) -> None:
        """Close it on a thread of its own; safe in a finalizer."""
        if self.is_ours and self._report is None:
            name = f"{self._tap.label}-end"
            thread = threading.Thread(
                target=self.close, args=(_UNATTENDED,), name=name, daemon=True
            )
            start_thread(thread)

    def begin_close(self, timeout: float) -> None:
        """Do nothing yet: its engines are told to close, and it waits for them."""

    def close_at_exit(self, timeout: float) -> None:
        """Close from the main thread, starting no thread."""
        if self.is_ours:
            self.close(timeout)
