"""What a session knows, and the few moves that everything it does is made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs

from .. import _messages as m
from ..events import Event, ToolAction
from ..responses import Action as StepAction
from ..responses import Step, ToolCall
from .actions import Action, CloseLink, Emit, EndTurn, Failure, FailureKind, Note, Send, Withdraw
from .asks import Ask, AskKey, AskTable
from .background import Background
from .phases import CONNECTED_PHASES, Phase, Signal, next_phase
from .rules import BREAK_GRACE, HALT_REPEATS, SessionRules
from .timers import TURN_TIMERS, Timer, Timers
from .turn import Turn
from .usage import UsageBook


@attrs.define
class State:
    """One conversation, over as many connections as it takes.

    Attributes:
        rules: Facts about the harness's version.
        phase: Where it stands; changed by `move` alone.
        main_id: The main trajectory, fixed for life by the first attach.
        name: The user's id of the conversation, `""` if it has none but the harness's.
        usage: Token counts.
        history: Final steps, newest last, at most `rules.max_history`.
        history_count: How many steps were ever added.
        initial_history: Steps the harness restored at the first attach.
        turn: The caller's turn that runs.
        asks: What the harness waits for.
        timers: When to look again.
        background: What runs beside the main trajectory.
        last_index: Highest step index of the main trajectory.
        close_code: Of the connection that went down last.
        is_closing_link: Whether our close frame is out.
        is_fresh_link: Whether nothing has been said yet on a connection that was made again.
        out: Actions of the input being handled.
    """

    rules: SessionRules
    phase: Phase = Phase.FRESH
    main_id: str = ""
    name: str = ""
    usage: UsageBook = attrs.field(factory=UsageBook)
    history: deque[Step] = attrs.field(factory=deque)
    history_count: int = 0
    initial_history: tuple[Step, ...] = ()
    turn: Turn | None = None
    asks: AskTable = attrs.field(factory=AskTable)
    timers: Timers = attrs.field(factory=Timers)
    background: Background = attrs.field(init=False)
    last_index: int = -1
    close_code: int | None = None
    is_closing_link: bool = False
    is_fresh_link: bool = False
    out: list[Action] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.background = Background(self.rules)

    def withdraw(self, is_void: Callable[[Ask], bool] = lambda _: True) -> None:
        """Forget open asks, all of them or those that are void: the harness has dropped them."""
        keys = self.asks.withdraw(is_void)
        if keys:
            self.out.append(Withdraw(keys))

    def forget_conversation(self) -> None:
        """Forget everything about the conversation: another one takes its place."""
        self.main_id = ""
        self.last_index = -1
        self.usage = UsageBook()
        self.initial_history = ()
        self.history.clear()
        self.history_count += 1

    def keep(self, steps: tuple[Step, ...]) -> None:
        """Add final steps to the history."""
        self.history.extend(steps)
        self.history_count += len(steps)

    def move(self, signal: Signal) -> None:
        """Change the phase."""
        self.phase = next_phase(self.phase, signal)

    @property
    def conversation_id(self) -> str:
        """The id by which the user knows the conversation."""
        return self.name or self.main_id

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection; it may be down while news of the process is awaited."""
        return self.phase in CONNECTED_PHASES and not self.timers.is_on(Timer.EXIT)

    def send(self, message: m.ClientMessage, ask: AskKey | None = None) -> None:
        """Have a message sent, unless the connection is gone; `ask` is what it answers."""
        if self.is_connected:
            self.out.append(Send(message, ask))

    def emit(self, turn: Turn, event: Event) -> None:
        """Show an event to the caller."""
        self.out.append(Emit(turn.turn_id, event))

    def emit_all(self, turn: Turn, events: list[Event]) -> None:
        """Show events to the caller; tool actions are kept for the response."""
        for event in events:
            if type(event) is ToolAction:
                turn.tool_calls.append(
                    ToolCall(
                        event.action.name,
                        event.action.args,
                        result=event.action.result,
                        trajectory_id=event.trajectory_id,
                        is_main=event.is_main,
                    )
                )
            self.out.append(Emit(turn.turn_id, event))

    def end(
        self,
        now: float,
        failure: Failure | None = None,
        *,
        pending: tuple[StepAction, ...] = (),
    ) -> None:
        """End the turn, if one is live. The caller moves the phase."""
        turn, self.turn = self.turn, None
        if turn is None:
            return
        self.timers.stop(*TURN_TIMERS)
        is_fatal = failure is not None and failure.kind in (FailureKind.MODEL, FailureKind.TURN)
        self.emit_all(turn, turn.claim_rest(is_fatal=is_fatal))
        response = turn.respond(
            now=now,
            usage=self.usage.total if self.usage.is_fresh else None,
            pending=pending,
            conversation_id=self.conversation_id,
        )
        self.keep(response.steps)
        self.out.append(EndTurn(turn.turn_id, response, failure, turn.answer()))

    def halt_again(self, turn: Turn) -> None:
        """Repeat a halt that output runs past: 0.1.10 ignores one sent right after the prompt."""
        if turn.halts < HALT_REPEATS:
            turn.halts += 1
            self.send(m.Halt())

    def timeout_failure(self, turn: Turn) -> Failure:
        """Return what is known about a turn that did not end in time."""
        return Failure(
            FailureKind.TIMEOUT,
            waiting_for=self.asks.describe() or turn.open_steps(),
            unknown_states=tuple(turn.unknown),
            message=turn.last_state,
        )

    def break_link(self, now: float, why: str, *, at_once: bool) -> None:
        """Give the connection up: at once, or when the harness has not closed it soon."""
        self.withdraw()
        self.move(Signal.BROKE)
        self.is_closing_link = at_once
        if at_once:
            self.out.append(CloseLink(why))
        self.timers.set(Timer.BREAK, now + BREAK_GRACE)

    def note(self, text: str, *, is_warning: bool = False) -> None:
        """Have something logged."""
        self.out.append(Note(text, is_warning))
