"""The close ladder: refuse turns, halt, close the socket, end of file, wait, force, reap, join.

Any thread may climb it, once; others wait for the report. From inside a callback on the pump it
begins and the pump climbs it when the callback has returned. Every rung has a budget out of one
deadline, so the whole never takes longer than its timeout and the second a kill needs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from .._clock import Clock, Deadline
from .._core.actions import Failure, FailureKind
from .._core.inputs import Shutdown
from .._core.phases import Phase
from .._transport.commands import Command, end_commands
from .._wire import drift
from ..responses import CloseReport
from .board import Board
from .hosting import BaseHost
from .mailbox import Call, Close, Mailbox, Stop
from .pump import Pump
from .respond import Responder
from .triggers import Triggers

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: How long the pump may take to end the turn and the peer to answer the close frame.
_POLITE_GRACE: Final = 0.5
#: The same for a peer that goes on afterwards.
_SHARED_GRACE: Final = 3.0
#: What it gets to end in at the least, when the process has used up the budget.
_JOIN_GRACE: Final = 0.25
#: Seconds for a close that nobody waits for: a dropped agent, a close from inside a callback.
UNATTENDED: Final = 10.0


class Closing:
    """Closes one engine, once."""

    def __init__(
        self,
        mailbox: Mailbox,
        board: Board,
        pump: Pump,
        responder: Responder,
        triggers: Triggers,
        host: BaseHost,
        clock: Clock,
    ) -> None:
        self._mailbox = mailbox
        self._board = board
        self._pump = pump
        self._responder = responder
        self._triggers = triggers
        self._host = host
        self._clock = clock
        #: Who closes it; `setdefault` settles who comes first without a lock, which an interrupt
        #: might leave taken.
        self._climber: dict[str, object] = {}
        self._begun = threading.Event()
        self._done = threading.Event()
        self._report = CloseReport(clean=False, leftovers=("close still runs",))
        #: Releases what the engine holds, at the end.
        self.on_closed: Callable[[Deadline], None] = lambda _deadline: None

    @property
    def has_begun(self) -> bool:
        """Whether somebody closes it, or has."""
        return bool(self._climber)

    def run(self, timeout: float) -> CloseReport:
        """Close, or wait for the close that runs already.

        Blocks at most `timeout` seconds, and a second more where something must be killed. Called
        from the pump's own thread it only begins the close. Ctrl-C kills what is left and goes up.
        """
        if threading.current_thread() is self._pump.thread:
            self._mailbox.post(Close(timeout))
            return self._report
        deadline = Deadline.after(self._clock, timeout)
        climber = object()
        try:
            if self._take(climber):
                self._climb(deadline)
            elif not self._triggers.is_inside:  # whose thread the climber waits for
                self._done.wait(deadline.remaining())
        except BaseException:  # unwinding: nobody else will climb the rest of the ladder
            if self._take(climber) and not self._done.is_set():
                self.cut_short()
            raise
        return self._report

    def run_on_pump(self, timeout: float) -> None:
        """Close from the pump's thread, because the one who asked does not wait."""
        if self._take(object()):
            self._climb(Deadline.after(self._clock, timeout))

    def wait_begun(self, timeout: float) -> None:
        """Wait until somebody closes it, at most `timeout` seconds."""
        self._begun.wait(timeout)

    def cut_short(self) -> None:
        """Kill and release everything at once: a start or a close was interrupted.

        Blocks about a second at most.
        """
        self._take(self)
        self._triggers.stop()
        self._board.declare_closed()
        grace = Deadline.after(self._clock, _POLITE_GRACE)
        commands = self._find_commands()
        exit_code = self._host.put_down(grace)
        self._mailbox.post(Stop())
        self._pump.close_link(is_forced=True)
        leftovers = self._join_pump(grace, on_pump=False)
        leftovers += self._responder.close(grace)
        leftovers += self._triggers.join(grace)
        self._finish(
            CloseReport(
                exit_code=exit_code,
                clean=False,
                forced=("kill",),
                ended_commands=end_commands(commands),
                leftovers=leftovers,
                trigger_errors=self._triggers.errors,
            ),
            grace,
        )

    def hook_ran_out(self, name: str) -> None:
        """Tear the session down because a hook holds it; the thread of a waiting caller."""
        self._board.declare_lost(Failure(FailureKind.LOST, f"hook timeout: {name}"))
        self._responder.tools.cancel_all()
        self._pump.close_link(is_forced=True)
        self._mailbox.post(Close(_POLITE_GRACE))

    def declare_lost(self, exit_code: int | None) -> None:
        """Tell all waiters of a death that the pump is too busy to tell of."""
        if not self.has_begun:
            self._board.declare_lost(Failure(FailureKind.LOST, exit_code=exit_code))
            self._responder.tools.cancel_all()

    def _take(self, climber: object) -> bool:
        """Return whether `climber` is the one who closes it."""
        first = self._climber.setdefault("climber", climber) is climber
        self._begun.set()
        return first

    def _climb(self, deadline: Deadline) -> None:
        started = self._clock.now()
        on_pump = threading.current_thread() is self._pump.thread
        self._triggers.stop()
        # Twice: newer harnesses end commands themselves once the connection goes, and a turn that
        # is being halted may still start one.
        commands = self._find_commands()
        self._close_session(deadline, on_pump=on_pump)
        commands |= self._find_commands()
        exit_code, forced = self._end_process(deadline, commands)
        ended = end_commands(commands)
        leftovers = list(self._join_pump(deadline, on_pump=on_pump))
        leftovers += self._responder.close(deadline.sooner(_POLITE_GRACE * 2))
        leftovers += self._triggers.join(deadline.sooner(_POLITE_GRACE * 2))
        leftovers += self._host.release(deadline.sooner(_POLITE_GRACE * 2))
        if exit_code is None and not self._host.is_shared:
            leftovers.append(f"process {self._host.pid}")
        self._finish(
            CloseReport(
                exit_code=exit_code,
                clean=(self._host.is_shared or exit_code == 0) and not (forced or leftovers),
                forced=forced,
                ended_commands=ended,
                leftovers=tuple(leftovers),
                trigger_errors=self._triggers.errors,
                duration=self._clock.now() - started,
            ),
            deadline,
        )

    def _finish(self, report: CloseReport, deadline: Deadline) -> None:
        drift.log_summary()
        self.on_closed(deadline)
        self._report = report
        self._done.set()

    def _find_commands(self) -> set[Command]:
        return self._host.find_commands(self._board.snapshot.main_id)

    def _end_process(
        self, deadline: Deadline, commands: set[Command]
    ) -> tuple[int | None, tuple[str, ...]]:
        """End the process if it is this engine's own; return its exit code and what was forced."""
        if self._host.is_shared:
            return None, ("disconnect",) if self._pump.has_torn_off else ()
        return self._host.end(deadline, lambda: end_commands(commands))

    def _close_session(self, deadline: Deadline, *, on_pump: bool) -> None:
        """End the turn and the connection, by the pump where it can, past it where it cannot."""
        grace = deadline.sooner(_POLITE_GRACE)
        if on_pump:
            self._pump.shut_down_here(grace)
            return
        self._responder.tools.cancel_all()
        if self._responder.wants("on_session_end"):
            self._mailbox.post(Call(self._responder.session_ends))
            remaining = deadline.remaining() or 0.0
            grace = deadline.sooner(max(_POLITE_GRACE, remaining / 2))
        self._mailbox.post(Shutdown())
        self._board.wait_until(lambda seen: seen.phase is Phase.CLOSED, grace)
        # A process that others use is not ended next, so it is given the time of a busy machine.
        grace = deadline.sooner(_SHARED_GRACE if self._host.is_shared else _POLITE_GRACE)
        self._board.declare_closed()
        self._pump.close_link(is_forced=False)
        if not self._pump.wait_detached(grace):
            self._pump.close_link(is_forced=True)
        self._mailbox.post(Stop())

    def _join_pump(self, deadline: Deadline, *, on_pump: bool) -> tuple[str, ...]:
        if on_pump:
            return ()
        thread = self._pump.thread
        if thread.is_alive():
            thread.join(max(_JOIN_GRACE, deadline.sooner(_POLITE_GRACE * 2).remaining() or 0.0))
        if thread.is_alive():
            _log.warning("%s is still in a hook or policy at close", thread.name)
            return (thread.name,)
        self._pump.release_link()
        self._pump.drop_unattached()
        return ()
