"""What goes over the wire in either direction, as plain values.

The codec makes and reads them, the session core decides with them; neither knows the other.
Names of states, sources, targets and actions are the wire's own, kept as they came.
"""

from __future__ import annotations

from typing import Final

import attrs

from .responses import JsonObject, Usage

ACTIVE: Final = "STATE_ACTIVE"
DONE: Final = "STATE_DONE"
ERROR: Final = "STATE_ERROR"
WAITING: Final = "STATE_WAITING_FOR_USER"

RUNNING: Final = "STATE_RUNNING"
CANCELLED: Final = "STATE_CANCELLED"
WAITING_FOR_TASKS: Final = "STATE_WAITING_FOR_TASKS"
WAITING_FOR_SUBAGENTS: Final = "STATE_WAITING_FOR_SUBAGENTS"
#: Two names of one number: the older was used up to 0.1.8 (WIRE section 0, row 2).
IDLE_STATES: Final = frozenset({"STATE_FULLY_IDLE", "STATE_IDLE"})
KNOWN_STATES: Final = IDLE_STATES | {
    RUNNING,
    CANCELLED,
    WAITING_FOR_TASKS,
    WAITING_FOR_SUBAGENTS,
    "STATE_UNSPECIFIED",
    "",
}

MODEL: Final = "SOURCE_MODEL"
USER: Final = "SOURCE_USER"
SYSTEM: Final = "SOURCE_SYSTEM"
TO_USER: Final = "TARGET_USER"
TO_MODEL: Final = "TARGET_MODEL"
TO_ENVIRONMENT: Final = "TARGET_ENVIRONMENT"


# ── from the harness ────────────────────────────────────────────────────────────────────────────


@attrs.define
class StepFrame:
    """One update of one step; `text` and `thinking` are the whole so far, `*_delta` what is new."""

    trajectory_id: str
    index: int
    state: str = ""
    source: str = ""
    target: str = ""
    text: str = ""
    text_delta: str = ""
    thinking: str = ""
    thinking_delta: str = ""
    #: Wire name of the action member, `""` if there is none.
    action: str = ""
    payload: JsonObject = attrs.field(factory=dict)
    error: str = ""
    http_code: int | None = None
    request_text: str = ""
    wants_confirmation: bool = False
    #: The raw questions of an `ask_question` step, `None` if it asks nothing.
    questions: tuple[JsonObject, ...] | None = None
    extra: JsonObject = attrs.field(factory=dict)


@attrs.define
class StateFrame:
    """The state of a whole trajectory."""

    trajectory_id: str
    state: str
    error: str = ""
    stop_reason: str = ""
    extra: JsonObject = attrs.field(factory=dict)


@attrs.define
class UsageFrame:
    """Token counts: of the session so far, or of one model call (up to 0.1.9)."""

    total: Usage
    by_trajectory: dict[str, Usage] = attrs.field(factory=dict)
    is_cumulative: bool = True


@attrs.define
class ToolCallFrame:
    """The harness wants one of the client's tools run."""

    call_id: str
    name: str
    arguments_json: str
    #: The same, parsed; the raw text when it is no JSON.
    arguments: object = None
    trajectory_id: str = ""


@attrs.define
class HookFrame:
    """The harness waits for a hook; tool hooks have their parsed `arguments` among the args."""

    request_id: str
    type: str
    args: JsonObject = attrs.field(factory=dict)


@attrs.define
class PolicyFrame:
    """The harness waits for a policy decision (0.1.10 and newer, dynamic rules only)."""

    request_id: str
    rule_id: str = ""
    args: JsonObject = attrs.field(factory=dict)


@attrs.define
class InitFrame:
    """The conversation is open."""

    cascade_id: str
    history: tuple[StepFrame, ...] = ()
    usage: UsageFrame | None = None
    #: Only 0.1.17 and newer report a sandbox status; `None` before.
    sandbox_available: bool | None = None


@attrs.define
class SessionEndFrame:
    """The answer to a session-end request."""


@attrs.define
class UnknownFrame:
    """An event this SDK does not know, or an unreadable frame (`kind` is `"unreadable"`)."""

    kind: str
    raw: JsonObject
    #: Set when it looks like a request that waits for an answer.
    request_id: str = ""


PeerFrame = (
    StepFrame
    | StateFrame
    | UsageFrame
    | ToolCallFrame
    | HookFrame
    | PolicyFrame
    | InitFrame
    | SessionEndFrame
    | UnknownFrame
)


# ── to the harness ──────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class TextPart:
    """A piece of prompt text."""

    text: str


@attrs.frozen
class MediaPart:
    """A piece of media in a prompt."""

    mime_type: str
    data: bytes = attrs.field(repr=False)
    description: str = ""


@attrs.frozen
class SlashPart:
    """A slash command in a prompt."""

    name: str


PromptPart = TextPart | MediaPart | SlashPart


def prompt_text(parts: tuple[PromptPart, ...]) -> str:
    """Return what a prompt says in words, as the harness puts them together."""
    words = ""
    is_argument = False
    for part in parts:
        if isinstance(part, TextPart):
            words += f" {part.text}" if is_argument else part.text
            is_argument = False
        elif isinstance(part, SlashPart):
            words += f"/{part.name}"
            is_argument = True
    return words


@attrs.frozen
class UserInput:
    """The user's prompt."""

    parts: tuple[PromptPart, ...]


@attrs.frozen
class Halt:
    """Stop the turn that runs."""


@attrs.frozen
class HookAnswer:
    """Answer to a hook; `allowed=None` without anything else is the empty result.

    Attributes:
        request_id: Which one.
        type: Wire name of the hook.
        allowed: For hooks that decide.
        reason: Why not, or why the model shall go on.
        arguments: The whole new argument object, by the model's own names.
        error_text: What the model sees in place of a tool's error.
    """

    request_id: str
    type: str
    allowed: bool | None = None
    reason: str = ""
    arguments: JsonObject | None = None
    error_text: str | None = None


@attrs.frozen
class PolicyAnswer:
    """Answer to a policy decision request."""

    request_id: str
    allowed: bool
    reason: str = ""


@attrs.frozen
class Confirmation:
    """Answer to a step that waits for a confirmation (up to 0.1.5)."""

    trajectory_id: str
    index: int
    accepted: bool


@attrs.frozen
class ToolAnswer:
    """Answer to a tool call: an object as JSON, or an error text."""

    call_id: str
    result_json: str = ""
    error: str = ""
    media: tuple[MediaPart, ...] = ()


@attrs.frozen
class WireAnswer:
    """Answer to one question: picked choices, own words, both, or neither."""

    choices: tuple[int, ...] = ()
    freeform: str | None = None


@attrs.frozen
class QuestionsAnswer:
    """Answer to the questions of a step; `answers=None` cancels them."""

    trajectory_id: str
    index: int
    answers: tuple[WireAnswer, ...] | None


@attrs.frozen
class AutomatedTrigger:
    """A message of a program's; `text` is never empty, which the harness takes for an error."""

    text: str


@attrs.frozen
class EndSession:
    """Have the session-end hook called."""


ClientMessage = (
    UserInput
    | Halt
    | HookAnswer
    | PolicyAnswer
    | Confirmation
    | ToolAnswer
    | QuestionsAnswer
    | AutomatedTrigger
    | EndSession
)
