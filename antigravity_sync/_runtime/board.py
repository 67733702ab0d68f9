"""What the pump lets other threads know, and the claim on the one live turn.

The pump publishes immutable values; everybody else reads or waits for a change. The claim lives
here too, because "nobody's turn runs" and "the session is over" must be one question.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import attrs

from .._clock import Deadline
from .._core.actions import Failure, FailureKind
from .._core.phases import FINAL_PHASES, Phase
from .._core.session import Session
from ..responses import ChatResponse, Step, Usage
from .live_turn import _SLICE, LiveTurn, TurnEnd


@attrs.frozen
class Snapshot:
    """The session as other threads may see it."""

    phase: Phase = Phase.FRESH
    is_idle: bool = True
    usage: Usage = attrs.field(factory=Usage)
    trajectory_usage: Mapping[str, Usage] = attrs.field(factory=dict)
    initial_history: tuple[Step, ...] = ()
    conversation_id: str = ""
    main_id: str = ""
    has_steps: bool = False


@attrs.define(eq=False)
class Board:
    """Shared state with one condition; its lock is held for a few assignments at a time.

    Attributes:
        snapshot: The last published state.
        live: The turn that holds the claim, `None` when it is free.
        loss: Why the session is over for good; set once.
        is_closed: Whether it is over by our will, even if the pump is too busy to take that in.
    """

    snapshot: Snapshot = attrs.field(factory=Snapshot)
    live: LiveTurn | None = None
    loss: Failure | None = None
    is_closed: bool = False
    _history: tuple[Step, ...] = ()
    _history_count: int = 0
    _callers: int = 0
    _changed: threading.Condition = attrs.field(factory=threading.Condition)

    # ── the pump's side ─────────────────────────────────────────────────────────────────────────

    def publish(self, session: Session, loss: Failure | None = None) -> None:
        """Show the session's state, and with it why it is over; wakes waiters when it changed."""
        state = session.state
        usage = state.usage.total or Usage()
        with self._changed:
            before = self.snapshot
            if self.loss is None:
                self.loss = loss
            self.snapshot = Snapshot(
                session.phase,
                session.is_idle,
                usage,
                dict(state.usage.by_trajectory),
                state.initial_history,
                state.conversation_id,
                state.main_id,
                state.last_index >= 0,
            )
            if self._history_count != state.history_count:
                self._history_count = state.history_count
                self._history = tuple(state.history)
            if before.phase is not session.phase:
                self._changed.notify_all()

    def end_turn(self, turn_id: int, end: TurnEnd) -> None:
        """End a turn and free the claim."""
        with self._changed:
            live = self.live
            if live is None or live.turn_id != turn_id:
                return
            self.live = None
            self._changed.notify_all()
        live.finish(end)

    def declare_lost(self, failure: Failure) -> None:
        """Take in that the session is over; any thread. Every waiter wakes."""
        with self._changed:
            if self.loss is None:
                self.loss = failure
            live, self.live = self.live, None
            self._changed.notify_all()
        if live is not None:
            live.finish(TurnEnd(ChatResponse(), failure))

    def declare_closed(self) -> None:
        """Take in that the agent was closed; any thread. Every waiter wakes."""
        with self._changed:
            self.is_closed = True
            live, self.live = self.live, None
            self._changed.notify_all()
        if live is not None:
            live.finish(TurnEnd(ChatResponse(), Failure(FailureKind.CLOSED)))

    # ── everybody's side ────────────────────────────────────────────────────────────────────────

    @property
    def history(self) -> tuple[Step, ...]:
        """Final steps, newest last."""
        return self._history

    @property
    def is_over(self) -> bool:
        """Whether the session has ended for good."""
        return self.is_closed or self.loss is not None or self.snapshot.phase in FINAL_PHASES

    def claim(
        self, turn: LiveTurn, deadline: Deadline, *, over_triggers: bool = False
    ) -> LiveTurn | None:
        """Take the claim for `turn`.

        Args:
            turn: The turn that wants it.
            deadline: Until when to wait.
            over_triggers: Whether a trigger's turn is not waited for.

        Returns:
            `None` on success or when the session is over (ask `is_over`), else the turn that holds
            it: the deadline has passed, or the holder must be superseded.

        Blocks until the claim is free, the session is over, or the deadline passes.
        """
        with self._changed:
            self._callers += 1
            try:
                while self.live is not None and not self.is_over:
                    is_superseded = self.live.owner == turn.owner or (
                        over_triggers and self.live.is_trigger
                    )
                    if is_superseded or not self._wait(deadline):
                        return self.live
                if not self.is_over:
                    self.live = turn
                return None
            finally:
                self._callers -= 1
                self._changed.notify_all()

    def claim_idle(self, turn: LiveTurn, is_off: Callable[[], bool], *, needs_steps: bool) -> bool:
        """Take the claim for a trigger's turn once nothing runs and no caller waits.

        Args:
            turn: The turn that wants it.
            is_off: Asked whether the wait has lost its purpose; see `wake`.
            needs_steps: Whether the conversation must have begun.

        Returns:
            Whether it was taken; `False` when the session is over or the wait is off.

        Blocks until one of these.
        """
        with self._changed:
            while not (self.is_over or is_off()):
                if self._may_trigger() and (self.snapshot.has_steps or not needs_steps):
                    self.live = turn
                    return True
                self._changed.wait(_SLICE)
            return False

    def _may_trigger(self) -> bool:
        phase = self.snapshot.phase
        return self.live is None and not self._callers and phase in (Phase.IDLE, Phase.DETACHED)

    def wake(self) -> None:
        """Have whoever waits in `claim_idle` look again."""
        with self._changed:
            self._changed.notify_all()

    def release(self, turn: LiveTurn) -> None:
        """Give back a claim whose turn was never posted."""
        with self._changed:
            if self.live is turn:
                self.live = None
                self._changed.notify_all()

    def wait_until(self, done: Callable[[Snapshot], bool], deadline: Deadline) -> bool:
        """Wait for a published state; return whether it came before the deadline.

        Blocks until then, until the session is over, or the deadline passes.
        """
        with self._changed:
            while not done(self.snapshot):
                if self.is_over or not self._wait(deadline):
                    return done(self.snapshot)
            return True

    def _wait(self, deadline: Deadline) -> bool:
        remaining = deadline.remaining()
        if remaining is not None and remaining <= 0.0:
            return False
        if _SLICE is not None:
            remaining = _SLICE if remaining is None else min(remaining, _SLICE)
        self._changed.wait(remaining)
        return True
