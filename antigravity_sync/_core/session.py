"""The session machine: inputs in, actions out.

Theory of operation. A session is one conversation with the harness, over as many connections as it
takes. One turn of a caller runs at a time. Only a terminal state of the *main* trajectory ends it,
and only after the turn's own prompt was echoed; idles are never counted, because the harness may
report one for a run that was not ours, or one for two inputs (LIVE 18, section A rule 6). A failed
turn makes the harness close the connection, so the session breaks its own side and waits in
DETACHED for the next caller to attach it again. Phases and their order stand in `phases.py`.

Invariants (pinned by `tests/property`): an ask is answered or withdrawn exactly once; a turn ends
exactly once; nothing is sent after close; an idle that does not belong to the running turn ends
nothing; no peer input raises; same inputs, same actions.

Owner: the pump thread. Nothing here locks, waits or reads a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from .. import _messages as m
from . import asking, budgets, conduct, connection
from .actions import Action
from .inputs import (
    Attached,
    CallbackFailed,
    CancelTurn,
    Decided,
    Detach,
    Dispatched,
    HarnessExited,
    Input,
    InputDropped,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from .phases import TURN_PHASES, Phase
from .rules import SessionRules
from .state import State


@attrs.define
class Session:
    """One conversation. See the module's theory of operation."""

    rules: SessionRules
    state: State = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.state = State(self.rules)

    def handle(self, happened: Input, now: float) -> list[Action]:
        """Take in one input at time `now` (seconds); return what is to be done, in order."""
        state = self.state
        state.out = []
        kind = type(happened)
        handler = _COMMANDS.get(kind)
        if handler is None and state.is_connected:
            handler = _FRAMES.get(kind)
        if handler is not None:
            handler(state, happened, now)
        return state.out

    def next_timer(self) -> float | None:
        """Return when `Tick` is due, `None` if no timer runs."""
        return self.state.timers.next()

    @property
    def phase(self) -> Phase:
        """Where the session stands."""
        return self.state.phase

    @property
    def is_idle(self) -> bool:
        """Whether the harness runs nothing of this conversation."""
        return self.phase not in TURN_PHASES and self.phase is not Phase.BACKGROUND


#: Frames count only while connected. Those that are missing here concern other floors.
_FRAMES: Final[dict[type, Callable[[State, Any, float], None]]] = {
    m.StepFrame: budgets.take_step,
    m.StateFrame: conduct.take_state,
    m.UsageFrame: budgets.take_usage,
    m.ToolCallFrame: budgets.take_request,
    m.HookFrame: budgets.take_request,
    m.PolicyFrame: budgets.take_request,
    m.UnknownFrame: asking.take_unknown,
}
_COMMANDS: Final[dict[type, Callable[[State, Any, float], None]]] = {
    Attached: connection.take_attached,
    Detach: connection.take_detach,
    LinkClosed: connection.take_link_closed,
    HarnessExited: connection.take_exit,
    InputDropped: connection.take_dropped,
    Shutdown: connection.take_shutdown,
    StartTurn: conduct.start_turn,
    CancelTurn: conduct.take_cancel,
    Decided: budgets.take_reply,
    Dispatched: asking.take_dispatch,
    CallbackFailed: asking.take_callback_failure,
    Tick: conduct.tick,
}
