"""The engine: opens everything an agent needs, in order, and closes it again, in order.

What it owns: the mailbox, the pump, and its host with the private directory unless others use that
too. Everything that must not be left behind is registered for unwinding the moment it exists, so
that a start that fails or is interrupted at any point leaves nothing.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from typing import Final

from .._clock import Clock, Deadline, MonotonicClock
from .._core.inputs import Attached, CancelTurn, Decided, Detach, HarnessExited, InputDropped
from .._core.phases import Phase
from .._core.session import Session
from .._messages import Halt
from .._transport.process import start_thread
from .._wire.encode import encode
from .._wire.glog import says_dropped
from ..errors import ForkedProcessError, LaunchError, StartTimeoutError
from ..responses import CloseReport
from . import lifecycle, roles
from .board import Board
from .closing import UNATTENDED, Closing
from .failures import Circumstances, lost_error
from .host import Host
from .hosting import BaseHost
from .live_turn import LiveTurn
from .mailbox import Attach, Call, Close, Mailbox
from .opening import Opened, join_conversation, open_conversation, reopen_conversation
from .plan import Directories, Plan
from .pump import OnFrame, Pump
from .respond import Taker
from .setup import make_renderer, make_responder, make_rules
from .store import Store
from .triggers import Triggers
from .turns import DRAIN_GRACE, Turns
from .watch import Watch
from .wiretap import Wiretap

_labels: Final = itertools.count(1)

#: How long the pump may take to begin a close at exit before the main thread does it.
PUMP_GRACE: Final = 0.25


class Engine:
    """One conversation on a running harness.

    Thread: any, except where a method says otherwise.

    Attributes:
        label: Prefix of its threads' names.
        board: What other threads may know, and the claim on the turn.
        turns: Begins its turns.
        triggers: What wakes it without a prompt.
        pid: The harness's process id, `None` if it is no process of ours.
        store: The conversation that is open.
    """

    def __init__(
        self,
        plan: Plan,
        host: BaseHost,
        opened: Opened,
        store: Store,
        clock: Clock,
        tap: Wiretap,
    ) -> None:
        config = plan.config
        dialect = opened.dialect
        self._plan = plan
        self._host = host
        self._dialect = dialect
        self._clock = clock
        self._tap = tap
        self._owner_pid = os.getpid()
        self._mailbox = Mailbox()
        self._halt_text = encode(Halt(), dialect)
        self.board = Board()
        self.label = tap.label
        self.pid = host.pid
        self.store = store
        self.version = plan.version or host.version or dialect.version
        self.unswitchable_tools = dialect.unswitchable_tools
        self._watch = Watch(clock, config.hook_timeout)
        self._responder = make_responder(
            plan, store.directories, dialect, self._mailbox, self.board, self._watch, self.label
        )
        self.pump = Pump(
            Session(make_rules(config, dialect)),
            self._mailbox,
            self.board,
            clock,
            dialect,
            self._responder,
            self.label,
        )
        self.triggers = Triggers(config, clock, self.label, self._responder.through_wrapper)
        self._closing = Closing(
            self._mailbox,
            self.board,
            self.pump,
            self._responder,
            self.triggers,
            host,
            clock,
        )
        self._closing.on_closed = self._closed
        self.pump.on_close(self._closing.run_on_pump)
        self.pump.tap = tap if tap.is_on else None
        self.turns = self._make_turns(plan)

    def _make_turns(self, plan: Plan) -> Turns:
        return Turns(
            label=self.label,
            version=self.version,
            dialect=self._dialect,
            board=self.board,
            mailbox=self._mailbox,
            pump=self.pump,
            watch=self._watch,
            clock=self._clock,
            is_closing=lambda: self._closing.has_begun,
            on_overdue=self._closing.hook_ran_out,
            halts_triggers=plan.config.on_trigger_busy == "halt",
            attach_again=self._attach_again,
            cancel=self.cancel,
            circumstances=self.circumstances,
        )

    # ── opening ─────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(
        cls,
        plan: Plan,
        deadline: Deadline,
        clock: Clock | None = None,
        host: BaseHost | None = None,
    ) -> Engine:
        """Open the conversation that is wanted, on a harness that is started for it or on `host`.

        Blocks until that is done or the deadline passes.

        Raises:
            LaunchError: Any of its kinds; nothing is left behind.
        """
        undo = contextlib.ExitStack()
        try:
            return cls._open(plan, deadline, clock or MonotonicClock(), undo, host)
        except BaseException:  # unwinding: an interrupt may come between any two lines
            undo.close()
            raise

    @classmethod
    def _open(
        cls,
        plan: Plan,
        deadline: Deadline,
        clock: Clock,
        undo: contextlib.ExitStack,
        joined: BaseHost | None,
    ) -> Engine:
        """Take the steps of a start; the undoing of each is arranged before it is taken."""
        if joined is not None:
            plan = joined.plan_for(plan)
        label = f"agsync-{next(_labels)}"
        tap = Wiretap(plan, label, clock, None if joined is None else joined.redactor)
        undo.callback(tap.finish)
        tap.begin()
        if joined is None:
            directories = Directories.choose(plan.config)
            undo.callback(directories.remove_private)
        else:
            directories = joined.place(label, plan.config)
        directories.create()
        store = Store(directories, plan.wanted)
        undo.callback(store.release)
        store.claim(deadline)
        host = joined or cls._start(plan, directories, tap, deadline, undo)
        if joined is not None and plan.binary is not None and host.pid is not None:
            tap.spawned(os.fspath(plan.binary.path), host.pid)
        if host.pid is not None:
            store.note_harness(host.pid)
        opened = cls._open_on(host, plan, store, deadline, tap)
        host.dialect = opened.dialect
        undo.callback(opened.link.release)
        undo.callback(opened.link.abort)
        store.opened(opened.init.cascade_id, deadline)
        tap.opened(store.name or store.wire_id)
        engine = cls(plan, host, opened, store, clock, tap)
        undo.callback(engine._closing.cut_short)
        engine._begin(opened)
        return engine

    @staticmethod
    def _start(
        plan: Plan,
        directories: Directories,
        tap: Wiretap,
        deadline: Deadline,
        undo: contextlib.ExitStack,
    ) -> Host:
        """Start a harness for this engine alone."""
        host = Host(plan, directories, tap, deadline.clock)
        undo.callback(host.process.undo_start, deadline.clock)
        host.start(deadline)
        return host

    @staticmethod
    def _open_on(
        host: BaseHost, plan: Plan, store: Store, deadline: Deadline, tap: Wiretap
    ) -> Opened:
        render = make_renderer(plan, store, host, store.first)
        # An earlier agent may just have closed it, and a shared harness lets go a moment later.
        if host.is_foreign and store.wire_id:
            return join_conversation(host, render, deadline, tap)
        if host.dialect is None or not (host.is_shared and store.wire_id):
            return open_conversation(host, render, deadline, tap)
        mine = functools.partial(host.find_commands, store.wire_id)
        return reopen_conversation(host, render, deadline, tap, mine)

    def _begin(self, opened: Opened) -> None:
        """Start the pump and hand it the connection.

        Raises:
            InternalError: The pump failed.
            LaunchError: There is no thread for it.
        """
        lifecycle.register(self)
        self._mailbox.post(Attach(opened.link, Attached(opened.init, name=self.store.name)))
        self._tap.hand_over(self.pump.thread, lambda do: self._mailbox.post(Call(do)))
        start_thread(self.pump.thread)
        self._host.enter(self)
        grace = Deadline.after(self._clock, DRAIN_GRACE)
        self.board.wait_until(lambda seen: seen.phase is not Phase.FRESH, grace)
        if self.board.loss is not None and self.board.snapshot.phase is Phase.FRESH:
            raise lost_error(self.board.loss, None, self.circumstances())
        self.triggers.start(self.turns)

    def listen(self, on_frame: OnFrame, taker: Taker) -> None:
        """Have somebody see each frame and answer what is asked; before the first turn.

        Both are called on the pump's thread.
        """
        self._responder.taker = taker
        self.pump.on_frame = on_frame

    def answer(self, decided: Decided) -> None:
        """Answer what the harness asked; an ask that is not open any more is passed over."""
        self._mailbox.post(decided)

    # ── what happens to the host; on a thread of it ─────────────────────────────────────────────

    def take_line(self, line: str, *, is_own: bool) -> None:
        """Take in a line of stderr, `is_own` if no other conversation can have caused it."""
        if self._host.is_shared:
            self._tap.overheard(line)
        if is_own and says_dropped(line):
            self._mailbox.post(InputDropped(line))

    def take_exit(self, code: int | None, deadline: Deadline) -> None:
        """Take in that the process is gone."""
        reader = self.pump.reader
        if reader is not None:
            reader.join(deadline.remaining())
        if code is not None:
            self.store.release()  # so that whoever hears of it can go on in another agent
        self._mailbox.post(HarnessExited(code))

    def insist_on_exit(self, code: int | None, deadline: Deadline) -> None:
        """See to it that everybody has been told of the exit by the deadline.

        The pump tells them, with all that came before. If user code holds it up, they must still
        hear of it within the second (rule 11).
        """
        if not self.board.wait_until(lambda _: self.board.is_over, deadline):
            self._closing.declare_lost(code)

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def _attach_again(self, deadline: Deadline) -> None:
        """Connect to the same conversation again if the connection is down; the caller's thread."""
        settled = self.board.wait_until(lambda seen: seen.phase is not Phase.BREAKING, deadline)
        self.turns.check_open()
        if not settled:
            raise StartTimeoutError(
                "the old connection did not go down in time; try again",
                stage="reconnect",
                timeout=None,
            )
        if self.board.snapshot.phase is not Phase.DETACHED:
            return
        try:
            opened = reopen_conversation(
                self._host,
                make_renderer(self._plan, self.store, self._host, self.store.again),
                deadline,
                self._tap,
                lambda: self._host.find_commands(self.store.wire_id),
            )
        except LaunchError:
            self.turns.check_open()  # a close or the process's death is the better explanation
            raise
        self._attach(opened, deadline)

    def reset(self, deadline: Deadline) -> None:
        """Open a new conversation on the same process; the old one's memory is left behind.

        Blocks until it is open, at most until the deadline.

        Raises:
            AgentBusyError: Somebody else's turn ran all the time.
            LaunchError: The new conversation could not be opened.
            UsageError: The agent is closed, or calls itself.
        """
        roles.refuse_inside(self.label, "reset()")
        self._host.check_reset()
        claim = self.turns.claim(deadline)
        try:
            self._mailbox.post(Detach())
            self.board.wait_until(lambda seen: seen.phase is Phase.DETACHED, deadline)
            self.turns.check_open()
            opened = open_conversation(
                self._host,
                make_renderer(self._plan, self.store, self._host, self.store.other),
                deadline,
                self._tap,
            )
            self._tap.opened(self.store.name or opened.init.cascade_id)
            try:
                self.store.moved(opened.init.cascade_id, deadline)
            except BaseException:
                opened.link.abort()
                opened.link.release()
                raise
            self._attach(opened, deadline, is_new=True)
        finally:
            self.board.release(claim)

    def _attach(self, opened: Opened, deadline: Deadline, *, is_new: bool = False) -> None:
        self._mailbox.post(Attach(opened.link, Attached(opened.init, is_new)))
        self.board.wait_until(lambda seen: seen.phase is not Phase.DETACHED, deadline)
        if not self.pump.thread.is_alive():
            self.pump.drop_unattached()
        self.turns.check_open()

    @property
    def harness_version(self) -> str | None:
        """Version of the harness, `None` if there is none."""
        return self.version if self._host.is_harness else None

    def wait_idle(self, deadline: Deadline) -> bool:
        """Wait until nothing of the conversation runs; return whether that came in time.

        Raises:
            AgentClosedError: The agent is closed, or was while this waited.
            ReentrantCallError: A callback of this very agent calls.
            SessionLostError: The session is over, or ended while this waited.
        """
        roles.refuse_inside(self.label, "wait_idle()")
        board = self.board
        is_idle = board.wait_until(lambda seen: seen.is_idle and board.live is None, deadline)
        self.turns.check_open()
        return is_idle

    def cancel(self, turn: LiveTurn | None = None) -> bool:
        """Ask for the end of a turn, `None` for the live one; return whether there is one.

        Any thread and signal handlers: takes no lock that the interrupted code may hold.
        """
        live = turn or self.board.live
        if live is None or live.end is not None:
            return False
        live.is_cancelled = True
        self._mailbox.post(CancelTurn(live.turn_id))
        link = self.pump.link
        if self._watch.is_running and link is not None and link.try_send_halt(self._halt_text):
            # The pump could not send now; a halt must not wait for a hook.
            self._tap.sent(self._halt_text)
        return True

    def circumstances(self, timeout: float | None = None) -> Circumstances:
        """Return the facts that errors tell."""
        stderr = self._host.stderr
        find = self._host.find_error
        return Circumstances(self.harness_version, stderr.text(), timeout, stderr.redact, find)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def close(self, timeout: float) -> CloseReport:
        """Close everything; see `Closing`."""
        return self._closing.run(timeout)

    def begin_close(self, timeout: float = UNATTENDED) -> None:
        """Start closing without waiting; the pump finishes it. Safe in a finalizer."""
        if self.is_ours:
            self._mailbox.post(Close(timeout))

    def close_at_exit(self, timeout: float) -> None:
        """Wait for the close that has been begun, or close if the pump is too busy to."""
        if self.is_ours:
            self._closing.wait_begun(PUMP_GRACE)
            self._closing.run(timeout)

    def _closed(self, deadline: Deadline) -> None:
        self._tap.finish()
        self.store.directories.remove_private()
        self.store.release()
        self._host.leave(self, deadline)
        # Last: whoever is not registered is not waited for at exit, with its work half done.
        lifecycle.unregister(self)

    def check_fork(self) -> None:
        """Refuse a call in a forked child.

        Raises:
            ForkedProcessError: This is not the process that started it.
        """
        if not self.is_ours:
            raise ForkedProcessError(
                "this agent belongs to the parent process; make a new one after the fork"
            )

    @property
    def is_ours(self) -> bool:
        """Whether this process started it, and not a parent before a fork."""
        return os.getpid() == self._owner_pid

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """Our own threads, for tests and diagnosis."""
        reader = self.pump.reader
        mine = (*self._host.threads, self.pump.thread)
        return mine if reader is None else (*mine, reader)
