"""What a connection's caller is asked."""

from __future__ import annotations

import attrs

from .._core.asks import Ask, AskKind, hook_name
from ..questions import Question
from ..responses import JsonObject, Step


@attrs.frozen
class ToolRequest:
    """The model calls a tool that the configuration declares; see `send_tool_response`.

    Attributes:
        call_id: Id to answer with.
        name: The tool.
        args: Its arguments, by the model's own names.
    """

    call_id: str
    name: str
    args: JsonObject


@attrs.frozen
class HookRequest:
    """The harness waits for a hook; see `send_hook_response`.

    Attributes:
        request_id: Id to answer with.
        hook: Which one, as `Hooks` names it; `"policy"` for a rule of `raw_config` that asks.
        name: The tool concerned, `""` if none is.
        args: The call's arguments in the spelling of steps; for other hooks what the harness says.
        call_id: The harness's id of the call, `""` if it has none.
        server_name: The MCP server whose tool it is, `""` for others.
    """

    request_id: str
    hook: str
    name: str
    args: JsonObject
    call_id: str = ""
    server_name: str = ""


@attrs.frozen
class ConfirmationRequest:
    """A built-in tool waits to be let run (harness 0.1.5); see `send_tool_confirmation`.

    Attributes:
        trajectory_id: Whose step it is.
        step_index: Which step.
        name: The tool.
        args: Its arguments.
    """

    trajectory_id: str
    step_index: int
    name: str
    args: JsonObject


@attrs.frozen
class QuestionsRequest:
    """The model asks the user; see `send_question_response`.

    Attributes:
        trajectory_id: Whose step it is.
        step_index: Which step.
        questions: What it asks.
    """

    trajectory_id: str
    step_index: int
    questions: tuple[Question, ...]


Request = ToolRequest | HookRequest | ConfirmationRequest | QuestionsRequest


@attrs.frozen(kw_only=True)
class RequestStep(Step):
    """A step that waits for the caller's answer; the turn goes on when that has been sent.

    A call that has no step yet has `index` -1.

    Attributes:
        request: What is asked.
    """

    request: Request


def as_request(ask: Ask, where: str) -> Request:
    """Return the public form of an ask of trajectory `where`."""
    match ask.kind:
        case AskKind.TOOL:
            raw = ask.raw_args
            return ToolRequest(ask.call_id, ask.name, raw if isinstance(raw, dict) else {})
        case AskKind.HOOK | AskKind.POLICY:
            hook = hook_name(ask.hook_type) if ask.hook_type else "policy"
            return HookRequest(ask.key[-1], hook, ask.name, ask.args, ask.call_id, ask.server_name)
        case AskKind.CONFIRMATION:
            return ConfirmationRequest(where, ask.index, ask.name, ask.args)
        case AskKind.QUESTIONS:
            questions = tuple(Question.parse(raw) for raw in ask.questions)
            return QuestionsRequest(where, ask.index, questions)
