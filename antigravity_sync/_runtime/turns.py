"""How a turn is claimed and begun: a caller's with a prompt, a trigger's with a message."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import attrs

from .._clock import Clock, Deadline
from .._core.inputs import CancelTurn, HaltReason, StartTurn
from .._core.phases import Phase
from .._messages import PromptPart
from .._wire.dialect import Dialect
from .._wire.media import fit_prompt
from ..errors import AgentBusyError, AgentClosedError
from . import roles
from .board import Board
from .failures import Circumstances, lost_error, unsent_error
from .live_turn import LiveTurn
from .mailbox import Mailbox
from .pump import Pump
from .watch import Watch

#: How long past its deadline a turn may take to be halted and drained.
DRAIN_GRACE: Final = 2.0

TurnKind = TypeVar("TurnKind", bound=LiveTurn)


@attrs.frozen(kw_only=True)
class Turns:
    """Begins the turns of one engine.

    Thread: any; each call runs on the thread whose turn it is.

    Attributes:
        label: Prefix of the engine's threads' names.
        version: The harness's version, for messages.
        is_closing: Returns whether the agent is being closed.
        on_overdue: Told the name of a callback that ran out of time.
        halts_triggers: Whether a caller halts a trigger's turn rather than wait for it.
        attach_again: Connects again if the connection is down.
        cancel: Asks for the end of a turn.
        circumstances: Returns the facts that errors tell.
    """

    label: str
    version: str
    dialect: Dialect
    board: Board
    mailbox: Mailbox
    pump: Pump
    watch: Watch
    clock: Clock
    is_closing: Callable[[], bool]
    on_overdue: Callable[[str], None]
    halts_triggers: bool
    attach_again: Callable[[Deadline], None]
    cancel: Callable[[LiveTurn], bool]
    circumstances: Callable[[float | None], Circumstances]
    _ids: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    def begin(
        self, parts: tuple[PromptPart, ...], deadline: Deadline, timeout: float | None
    ) -> LiveTurn:
        """Claim the turn, reconnect if need be, and send the prompt.

        Blocks until the prompt has gone out, at most until the deadline.

        Raises:
            AgentBusyError: Somebody else's turn ran all the time.
            AgentClosedError: The agent was closed.
            ConfigError: A file of the prompt is of no type that this harness takes.
            ReentrantCallError: A callback of this very agent calls.
            LaunchError: The connection could not be made again.
            SessionLostError: The session is over.
            TurnTimeoutError: The deadline passed before the prompt was sent.
        """
        roles.refuse_inside(self.label, "chat() or stream()")
        return self.run(self._make(deadline, timeout), parts)

    def begin_trigger(
        self, text: str, timeout: float | None, is_off: Callable[[], bool]
    ) -> LiveTurn | None:
        """Wait until the agent is idle, then send a trigger's message.

        Only then does its time begin to run. Where the harness takes no trigger as the first input
        of a conversation, it waits for the first turn too.

        Args:
            text: What the trigger says.
            timeout: Seconds the turn may take.
            is_off: Asked whether it is not wanted any more.

        Returns:
            The turn, `None` when it is not wanted any more or the session is over.

        Blocks until then.

        Raises:
            AntigravityError: The message could not be sent.
        """
        turn = self._make(Deadline.after(self.clock, None), timeout, is_trigger=True)
        needs_steps = not self.dialect.first_trigger_ok
        if not self.board.claim_idle(turn, is_off, needs_steps=needs_steps):
            return None
        turn.deadline = Deadline.after(self.clock, timeout)
        started = StartTurn(turn.turn_id, (), self.clock.now(), turn.deadline.at, text)
        self._send(turn, started)
        return turn

    def new_id(self) -> int:
        """Return the number of a turn that is yet to be made."""
        return next(self._ids)

    def run(self, turn: TurnKind, parts: tuple[PromptPart, ...], trigger: str = "") -> TurnKind:
        """Run a turn made elsewhere: claim, reconnect if need be, and send a prompt or a trigger.

        Raises and blocks as `begin` does.
        """
        parts = fit_prompt(parts, self.dialect)
        turn.watch, turn.on_overdue = self.watch, self.on_overdue
        started_at = self.clock.now()
        self._claim(turn, turn.deadline)
        self._send(turn, StartTurn(turn.turn_id, parts, started_at, turn.deadline.at, trigger))
        return turn

    def claim(self, deadline: Deadline) -> LiveTurn:
        """Claim the turn for something that sends no prompt; `board.release` gives it back.

        Raises:
            AgentBusyError: Somebody else's turn ran all the time.
            AgentClosedError: The agent was closed.
            SessionLostError: The session is over.
        """
        turn = self._make(deadline, None)
        self._claim(turn, deadline)
        return turn

    def check_open(self) -> None:
        """Refuse to go on when the session is over.

        Raises:
            AgentClosedError: The agent was closed.
            SessionLostError: The session is over.
        """
        if self.board.loss is not None:
            raise lost_error(self.board.loss, None, self.circumstances(None))
        if self.is_closing() or self.board.snapshot.phase is Phase.CLOSED:
            raise AgentClosedError("the agent is closed; start() opens it again")

    def abandon(self, turn: LiveTurn) -> None:
        """Say that nobody reads `turn` any more; safe in a finalizer."""
        self.mailbox.post(CancelTurn(turn.turn_id, HaltReason.ABANDONED))

    def last_moment(self, turn: LiveTurn) -> Deadline:
        """Return when whoever waits for `turn` must act.

        The pump ends a turn at its deadline and then drains it; when it cannot, because user code
        or a stuck write holds it up, those who wait `give_up`.
        """
        return turn.deadline.later(DRAIN_GRACE + 0.5)

    def give_up(self, turn: LiveTurn) -> None:
        """End a turn that the pump cannot end: halt it, and free whatever the pump hangs on."""
        self.cancel(turn)
        self.pump.close_link(is_forced=True)
        self.board.release(turn)

    def _make(
        self, deadline: Deadline, timeout: float | None, *, is_trigger: bool = False
    ) -> LiveTurn:
        return LiveTurn(
            next(self._ids),
            deadline,
            timeout,
            watch=self.watch,
            on_overdue=self.on_overdue,
            is_trigger=is_trigger,
        )

    def _send(self, turn: LiveTurn, started: StartTurn) -> None:
        """Send what begins a turn that holds the claim."""
        try:
            self.attach_again(turn.deadline)
            self.mailbox.post(started)
        except BaseException:
            self.board.release(turn)
            raise
        try:
            if turn.is_cancelled:
                self.mailbox.post(CancelTurn(turn.turn_id))
            if not turn.wait_sent(turn.deadline.later(DRAIN_GRACE)):
                self.pump.close_link(is_forced=True)
                raise unsent_error(turn.timeout, self.version)
        except BaseException:
            self.abandon(turn)
            raise

    def _claim(self, turn: LiveTurn, deadline: Deadline) -> None:
        while True:
            holder = self.board.claim(turn, deadline, over_triggers=self.halts_triggers)
            if holder is None:
                self.check_open()
                return
            is_trigger = holder.is_trigger and self.halts_triggers
            if not is_trigger:
                self._check_superseded(turn, holder)
            # A trigger's, or our own turn, which we are evidently not iterating any more: make
            # room. The trigger's reports that it was cancelled.
            self.cancel(holder) if is_trigger else self.abandon(holder)
            grace = Deadline.after(self.clock, DRAIN_GRACE + 1.0)
            if holder.wait_over(min(grace, deadline, key=lambda d: d.at)) is None:
                raise AgentBusyError("the agent's earlier turn does not end; close() the agent")

    def _check_superseded(self, turn: LiveTurn, holder: LiveTurn) -> None:
        """Refuse to end a turn that is another's, or still in use."""
        if holder.owner != turn.owner:
            raise AgentBusyError(
                "another thread's turn ran for the whole timeout; wait longer, use an agent "
                "per thread, or cancel() that turn"
            )
        if holder.is_pinned:
            raise AgentBusyError(
                "this thread is inside `with turn:` of the same agent; leave the block first"
            )
