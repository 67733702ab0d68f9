"""What a session wants done. The pump does it, in order."""

from __future__ import annotations

import enum

import attrs

from .._messages import ClientMessage
from ..events import Event
from ..responses import ChatResponse
from .asks import Ask, AskKey


class FailureKind(enum.Enum):
    """How a turn failed; the caller's thread turns it into a fresh exception."""

    MODEL = "model"
    TURN = "turn"
    DENIED = "denied"
    CANCELLED_BY_HARNESS = "cancelled by harness"
    TIMEOUT = "timeout"
    UNSTRUCTURED = "unstructured"
    INPUT_DROPPED = "input dropped"
    DETACHED = "detached"
    LOST = "lost"
    CLOSED = "closed"


@attrs.frozen
class Failure:
    """Why a turn did not end well, as facts."""

    kind: FailureKind
    message: str = ""
    http_code: int | None = None
    waiting_for: tuple[str, ...] = ()
    unknown_states: tuple[str, ...] = ()
    exit_code: int | None = None
    close_code: int | None = None
    raw: str = ""


@attrs.frozen
class Send:
    """Send a message; `ask` is the key of the ask it answers, which a newer halt makes void."""

    message: ClientMessage
    ask: AskKey | None = None


@attrs.frozen
class Emit:
    """Show an event to the caller of a turn."""

    turn_id: int
    event: Event


@attrs.frozen
class TurnSent:
    """The prompt of a turn has gone out."""

    turn_id: int


@attrs.frozen
class EndTurn:
    """A turn is over. `failure=None` is a completed or cancelled one.

    Attributes:
        turn_id: Its number.
        response: What it leaves.
        failure: Why it did not end well.
        answer: The structured answer as the model gave it, JSON; `None` if it gave none.
    """

    turn_id: int
    response: ChatResponse
    failure: Failure | None = None
    answer: str | None = None


@attrs.frozen
class Decide:
    """Find out what is to be answered to an ask, and come back with `Decided`."""

    ask: Ask


@attrs.frozen
class Withdraw:
    """The harness waits for these no longer; whoever works on an answer may stop."""

    keys: tuple[AskKey, ...]


@attrs.frozen
class CloseLink:
    """Close the WebSocket; the process stays. `is_forced` does not wait for the peer's answer."""

    why: str
    is_forced: bool = False


@attrs.frozen
class Lose:
    """The session is over for good."""

    failure: Failure


@attrs.frozen
class Note:
    """Something for the log."""

    text: str
    is_warning: bool = False


Action = Send | Emit | TurnSent | EndTurn | Decide | Withdraw | CloseLink | Lose | Note
