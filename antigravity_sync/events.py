"""What a caller sees while a turn runs: frozen values, in the order the harness made them.

The set may grow; a `match` over events needs a default branch.
"""

from __future__ import annotations

import enum
from typing import Any

import attrs

from .responses import Action, Allowed, ChatResponse, Decision, Denied, JsonObject, Usage

__all__ = [
    "Action",
    "Allowed",
    "Compacted",
    "Decision",
    "Denied",
    "ErrorRaised",
    "Event",
    "Finished",
    "QuestionAsked",
    "Severity",
    "TextDelta",
    "ThinkingDelta",
    "ToolAction",
    "ToolCallDispatched",
    "ToolCallFinished",
    "UnknownEvent",
    "UsageUpdated",
]


class Severity(enum.Enum):
    """How bad an error is that did not end the turn."""

    TRANSIENT = "transient"
    """The harness handles it itself, typically by a retry."""
    SEVERE = "severe"
    """Something failed for good, yet the turn goes on."""


def _plain(_instance: type, _field: attrs.Attribute[Any] | None, value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Exception):
        return str(value)
    if isinstance(value, bytes):  # of an image, which would fill the log
        return f"{len(value)} bytes"
    if isinstance(value, Allowed | Denied):
        return {"allowed": isinstance(value, Allowed), "reason": getattr(value, "reason", "")}
    return value


@attrs.frozen(kw_only=True)
class _Event:
    """Common to all events.

    Attributes:
        trajectory_id: Which trajectory it belongs to.
        is_main: Whether that is the conversation's main trajectory, not a subagent's.
    """

    trajectory_id: str = ""
    is_main: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain data with its name under `event`, fit for JSON."""
        fields = attrs.asdict(self, value_serializer=_plain)
        return {"event": type(self).__name__, **fields}


@attrs.frozen
class TextDelta(_Event):
    """More text of an answer."""

    text: str


@attrs.frozen
class ThinkingDelta(_Event):
    """More of the model's thinking."""

    text: str


@attrs.frozen
class ToolAction(_Event):
    """A tool that the harness runs itself has finished, or was refused."""

    action: Action
    decision: Decision = attrs.field(factory=Allowed)


@attrs.frozen
class ToolCallDispatched(_Event):
    """One of your own tools is about to run."""

    name: str
    args: JsonObject
    call_id: str


@attrs.frozen
class ToolCallFinished(_Event):
    """One of your own tools has run; `error` is `""` when it succeeded."""

    name: str
    call_id: str
    result: object = None
    error: str = ""


@attrs.frozen
class QuestionAsked(_Event):
    """The model asks the user."""

    questions: tuple[object, ...]


@attrs.frozen
class UsageUpdated(_Event):
    """Token counts of the conversation so far."""

    usage: Usage


@attrs.frozen
class Compacted(_Event):
    """The harness shortened the conversation it sends to the model.

    Attributes:
        summary: What the step says; the model's own words reach an `on_compaction` hook alone, and
            from 0.1.14 on.
    """

    summary: str = ""


@attrs.frozen
class ErrorRaised(_Event):
    """An error that did not end the turn."""

    message: str
    severity: Severity = Severity.TRANSIENT
    http_code: int | None = None


@attrs.frozen
class UnknownEvent(_Event):
    """Something this SDK does not know, kept as it came."""

    kind: str
    raw: JsonObject


@attrs.frozen
class Finished(_Event):
    """The last event of a turn that did not fail."""

    response: ChatResponse


Event = (
    TextDelta
    | ThinkingDelta
    | ToolAction
    | ToolCallDispatched
    | ToolCallFinished
    | QuestionAsked
    | UsageUpdated
    | Compacted
    | ErrorRaised
    | UnknownEvent
    | Finished
)
