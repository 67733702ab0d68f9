"""The phases of a session and the only table of how they follow each other.

House rules: every change of phase goes through `next_phase`; a pair that is not in the table is a
defect of this package and says so; nothing a peer sends may lead to such a pair. The table does not
know what a frame looks like: `session.py` decides which signal a frame is.

    FRESH       attached → IDLE
    IDLE        started → RUNNING, stirred → BACKGROUND, rested → IDLE
    BACKGROUND  started → RUNNING, stirred → BACKGROUND, rested → IDLE
    RUNNING     halted → HALTING, settling → SETTLING, ended → IDLE, left → BACKGROUND
    HALTING     settling → SETTLING, ended → IDLE
    SETTLING    stirred → RUNNING, halted → HALTING, ended → IDLE, left → BACKGROUND
    BREAKING
    DETACHED    attached → IDLE
    LOST        closed → CLOSED
    CLOSED

Not listed: every phase from IDLE to HALTING also takes broke → BREAKING, every one from IDLE to
BREAKING link down → DETACHED, and every one but LOST and CLOSED died → LOST and closed → CLOSED.
"""

from __future__ import annotations

import enum
from typing import Final

from ..errors import InternalError


class Phase(enum.Enum):
    """Where a session stands."""

    # Members are looked up for every input, and the hash that `Enum` defines is Python code.
    __hash__ = object.__hash__

    FRESH = "fresh"
    """No connection yet."""
    IDLE = "idle"
    """Connected, nothing runs."""
    BACKGROUND = "background"
    """The harness runs something that no caller waits for."""
    RUNNING = "running"
    """A caller's turn runs."""
    HALTING = "halting"
    """A caller's turn was told to stop."""
    SETTLING = "settling"
    """The end has been reported; the last frame of a text is still to come."""
    BREAKING = "breaking"
    """No turn runs; the connection is about to go down."""
    DETACHED = "detached"
    """No connection; the process may live and the conversation can be resumed."""
    LOST = "lost"
    """Over, not by our will."""
    CLOSED = "closed"
    """Over, by our will."""


class Signal(enum.Enum):
    """What moves a session from phase to phase."""

    ATTACHED = "attached"
    STARTED = "started"
    STIRRED = "stirred"
    RESTED = "rested"
    HALTED = "halted"
    SETTLING = "settling"
    ENDED = "ended"
    LEFT = "left"
    BROKE = "broke"
    LINK_DOWN = "link down"
    DIED = "died"
    CLOSED = "closed"


_ANYWHERE: Final = {Signal.DIED: Phase.LOST, Signal.CLOSED: Phase.CLOSED}
_CONNECTED: Final = {**_ANYWHERE, Signal.LINK_DOWN: Phase.DETACHED}
_SOUND: Final = {**_CONNECTED, Signal.BROKE: Phase.BREAKING}

TRANSITIONS: Final[dict[Phase, dict[Signal, Phase]]] = {
    Phase.FRESH: {**_ANYWHERE, Signal.ATTACHED: Phase.IDLE},
    Phase.IDLE: {
        **_SOUND,
        Signal.STARTED: Phase.RUNNING,
        Signal.STIRRED: Phase.BACKGROUND,
        Signal.RESTED: Phase.IDLE,
    },
    Phase.BACKGROUND: {
        **_SOUND,
        Signal.STARTED: Phase.RUNNING,
        Signal.STIRRED: Phase.BACKGROUND,
        Signal.RESTED: Phase.IDLE,
    },
    Phase.RUNNING: {
        **_SOUND,
        Signal.HALTED: Phase.HALTING,
        Signal.SETTLING: Phase.SETTLING,
        Signal.ENDED: Phase.IDLE,
        Signal.LEFT: Phase.BACKGROUND,
    },
    Phase.HALTING: {
        **_SOUND,
        Signal.SETTLING: Phase.SETTLING,
        Signal.ENDED: Phase.IDLE,
    },
    Phase.SETTLING: {
        **_CONNECTED,
        # Only up to 0.1.7, where the main trajectory is idle while its subagents or commands run.
        Signal.STIRRED: Phase.RUNNING,
        Signal.HALTED: Phase.HALTING,
        Signal.ENDED: Phase.IDLE,
        # Only since then: the next run has begun before the last frame of this one came.
        Signal.LEFT: Phase.BACKGROUND,
    },
    Phase.BREAKING: _CONNECTED,
    Phase.DETACHED: {**_ANYWHERE, Signal.ATTACHED: Phase.IDLE},
    Phase.LOST: {Signal.CLOSED: Phase.CLOSED},
    Phase.CLOSED: {},
}

#: Phases in which a caller's turn is live.
TURN_PHASES: Final = frozenset({Phase.RUNNING, Phase.HALTING, Phase.SETTLING})
#: Phases in which the session is over.
FINAL_PHASES: Final = frozenset({Phase.LOST, Phase.CLOSED})
#: Phases in which frames of the peer count.
CONNECTED_PHASES: Final = TURN_PHASES | {Phase.IDLE, Phase.BACKGROUND, Phase.BREAKING}


def next_phase(phase: Phase, signal: Signal) -> Phase:
    """Return the phase that follows.

    Raises:
        InternalError: The table has no such pair.
    """
    try:
        return TRANSITIONS[phase][signal]
    except KeyError:
        raise InternalError(
            f"session in phase {phase.value!r} cannot take signal {signal.value!r}; "
            "please report this with the traceback"
        ) from None
