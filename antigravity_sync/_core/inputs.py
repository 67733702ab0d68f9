"""What can happen to a session: frames of the peer, commands of callers, time and loss."""

from __future__ import annotations

import enum

import attrs

from .._messages import InitFrame, PeerFrame, PromptPart
from ..responses import JsonObject
from .asks import AskKey
from .replies import Reply


class HaltReason(enum.Enum):
    """Why a turn is being stopped by us."""

    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    DEADLINE = "deadline"
    BUDGET = "budget"


@attrs.frozen
class Attached:
    """A connection is up and the harness has opened a conversation on it.

    Attributes:
        init: What the harness said of it.
        is_new: Whether it takes the place of the session's earlier conversation.
        name: The user's id of the conversation, `""` if it has none but the harness's.
    """

    init: InitFrame
    is_new: bool = False
    name: str = ""


@attrs.frozen
class Detach:
    """The owner wants the connection down, because it will open another."""


@attrs.frozen
class StartTurn:
    """A caller has claimed the turn and wants its prompt sent.

    Attributes:
        turn_id: Number of the turn, unique in the session.
        parts: The prompt.
        started_at: When the caller came, on the clock's scale.
        deadline_at: When the turn must be over; `math.inf` for never.
        trigger: What an automated trigger says, in place of a prompt; `""` if it is a prompt.
    """

    turn_id: int
    parts: tuple[PromptPart, ...]
    started_at: float
    deadline_at: float
    trigger: str = ""


@attrs.frozen
class CancelTurn:
    """Somebody wants a turn stopped; `turn_id=None` is the one that runs."""

    turn_id: int | None
    reason: HaltReason = HaltReason.CANCELLED


@attrs.frozen
class Decided:
    """The reply to an ask is known."""

    key: AskKey
    reply: Reply


@attrs.frozen
class Dispatched:
    """A tool of ours is about to run.

    Attributes:
        key: The ask it answers.
        args: The arguments it is given.
    """

    key: AskKey
    args: JsonObject


@attrs.frozen
class CallbackFailed:
    """A callback of the user's raised; the turn goes on."""

    error: Exception


@attrs.frozen
class InputDropped:
    """The harness said on stderr that it dropped something we sent."""

    line: str


@attrs.frozen
class LinkClosed:
    """The WebSocket is gone; `code=None` without a close frame."""

    code: int | None = None


@attrs.frozen
class HarnessExited:
    """The process is gone."""

    exit_code: int | None


@attrs.frozen
class Tick:
    """Time has passed."""


@attrs.frozen
class Shutdown:
    """The owner closes the session."""


Command = (
    Attached
    | Detach
    | StartTurn
    | CancelTurn
    | Decided
    | Dispatched
    | CallbackFailed
    | InputDropped
    | LinkClosed
    | HarnessExited
    | Tick
    | Shutdown
)
Input = PeerFrame | Command
