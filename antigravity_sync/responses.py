"""What a finished turn leaves: the response, its steps and its token counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

JsonObject = Mapping[str, object]

_COUNTERS: Final = (
    "prompt_tokens",
    "cached_tokens",
    "candidates_tokens",
    "thoughts_tokens",
    "total_tokens",
)


@attrs.frozen
class Usage:
    """Token counts as the model reported them; `None` is "not reported", `0` a reported zero.

    Attributes:
        prompt_tokens: Tokens sent, cached ones included.
        cached_tokens: The part of `prompt_tokens` that came from a cache.
        candidates_tokens: Tokens of the answer.
        thoughts_tokens: Tokens of thinking.
        total_tokens: The model's own sum.
        service_tier: Name of the tier that served the calls, where reported.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    candidates_tokens: int | None = None
    thoughts_tokens: int | None = None
    total_tokens: int | None = None
    service_tier: str | None = None

    def __add__(self, other: Usage) -> Usage:
        return self._combine(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._combine(other, -1)

    def _combine(self, other: Usage, sign: int) -> Usage:
        counts: dict[str, int | None] = {}
        for name in _COUNTERS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is None and (theirs is None or sign < 0):
                counts[name] = None
            else:
                counts[name] = (mine or 0) + sign * (theirs or 0)
        return Usage(**counts, service_tier=self.service_tier or other.service_tier)


@attrs.frozen
class Allowed:
    """The call was let through."""


@attrs.frozen
class Denied:
    """The call was refused.

    Attributes:
        reason: What the model was told.
    """

    reason: str


Decision = Allowed | Denied


@attrs.frozen
class Action:
    """What a step did, in one spelling over all harness versions.

    Attributes:
        name: Canonical tool name, such as `run_command`.
        args: Its arguments, snake_case, paths as local paths.
        result: What came of it, `None` while it runs or when there is nothing to tell.
        subagent_name: The subagent it started, where the harness says so.
        extra: Members of the step's action that this SDK does not know; for an MCP server's tool
            also `server_name` and `tool_name`, of which its name is made.
    """

    name: str
    args: JsonObject = attrs.field(factory=dict)
    result: JsonObject | None = None
    subagent_name: str | None = None
    extra: JsonObject = attrs.field(factory=dict)


@attrs.frozen
class Step:
    """The last known form of one step of a trajectory.

    Attributes:
        index: Position in its trajectory, from 0.
        trajectory_id: Which trajectory.
        is_main: Whether that is the conversation's main one.
        source: `MODEL`, `USER`, `SYSTEM`, or a name this SDK does not know.
        target: `USER`, `MODEL`, `ENVIRONMENT`, or a name this SDK does not know.
        state: `DONE`, `ERROR`, `ACTIVE`, `WAITING_FOR_USER`, or a name this SDK does not know.
        text: Its whole text.
        thinking: Its whole thinking.
        action: What it did, if it is a tool step.
        error: Error text, `""` if none.
        http_code: Status of the model call behind the error, if any.
        extra: Members of the frame that this SDK does not know.
    """

    index: int
    trajectory_id: str
    is_main: bool
    source: str
    target: str
    state: str
    text: str = ""
    thinking: str = ""
    action: Action | None = None
    error: str = ""
    http_code: int | None = None
    extra: JsonObject = attrs.field(factory=dict)

    @property
    def is_interrupted(self) -> bool:
        """Whether it never ended: the turn was cut off, or the harness died in it."""
        return self.state not in ("DONE", "ERROR")


@attrs.frozen
class ToolCall:
    """One tool call of a turn, built-in, custom or MCP.

    Attributes:
        name: Canonical tool name.
        args: Its arguments.
        decision: `Allowed()` or `Denied(reason)`.
        result: What came of it, `None` if unknown.
        error: Error text, `""` if none.
        call_id: The harness's id of the call, where it has one.
        trajectory_id: Who called.
        is_main: Whether that is the main trajectory.
    """

    name: str
    args: JsonObject = attrs.field(factory=dict)
    decision: Decision = attrs.field(factory=Allowed)
    result: object = None
    error: str = ""
    call_id: str | None = None
    trajectory_id: str = ""
    is_main: bool = True


@attrs.frozen
class ChatResponse:
    """The outcome of one turn.

    Attributes:
        text: The last of `messages`; `""` if none; the open partial text of a cut turn.
        messages: Texts from the model to the user on the main trajectory, in order.
        thoughts: The model's thinking on the main trajectory.
        usage: Tokens of this turn alone.
        structured_output: The structured answer, `None` when the model answered in plain text.
        tool_calls: Calls of this turn, in the order they were decided or seen.
        steps: Every step of this turn in its last form, all trajectories.
        errors: Errors that did not end the turn, those of callbacks and tool dispatch included.
        cancelled: Whether the turn was halted by us.
        incomplete: Whether the last frame of an answer never came.
        stop_reason: Why the turn was stopped early, by its `Budget` or the harness, such as
            `MAX_MODEL_CALLS_EXCEEDED`; else `None`.
        pending_tasks: Commands that still run in the background.
        conversation_id: Which conversation.
        duration: Seconds from the prompt to the end.
    """

    text: str = ""
    messages: tuple[str, ...] = ()
    thoughts: str = ""
    usage: Usage = attrs.field(factory=Usage)
    structured_output: object = None
    tool_calls: tuple[ToolCall, ...] = ()
    steps: tuple[Step, ...] = ()
    errors: tuple[Exception, ...] = ()
    cancelled: bool = False
    incomplete: bool = False
    stop_reason: str | None = None
    pending_tasks: tuple[Action, ...] = ()
    conversation_id: str = ""
    duration: float = 0.0

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class CloseReport:
    """How a close went.

    Attributes:
        exit_code: Exit code of the harness, negative for a signal; `None` if there was no process.
        clean: Whether it ended by itself with 0 and nothing had to be forced.
        forced: What had to be forced, in order: `disconnect` where others go on using the process,
            else `terminate`, `kill`.
        ended_commands: Command lines that the agent had left running and that were ended.
        leftovers: Threads or processes that would not end in time.
        duration: Seconds it took.
        trigger_errors: What ended triggers before the close, in order.
    """

    exit_code: int | None = None
    clean: bool = True
    forced: tuple[str, ...] = ()
    ended_commands: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    duration: float = 0.0
    trigger_errors: tuple[Exception, ...] = ()
