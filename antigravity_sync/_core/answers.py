"""From a frame that wants an answer to an ask, and from a decision to the answer."""

from __future__ import annotations

from typing import Final

from .. import _messages as m
from .._arguments import normalised
from .._paths import folded
from ..responses import Action, Allowed, Denied, JsonObject
from .asks import Ask, AskKind
from .replies import ErrorText, GoOn, Heard, QuestionsReply, Reply, Rewritten, ToolReply, Unheard
from .toolsteps import FINISH, MCP_TOOL, finish_args, is_known, mcp_action, read_action

PRE_TOOL: Final = "LIFECYCLE_HOOK_PRE_TOOL"
#: The harness's own tool by which the model calls those of MCP servers.
_MCP_CALL: Final = "call_mcp_tool"

#: Hooks that belong to a tool or a prompt: a halt makes the harness forget them. The others are
#: awaited even after a halt (0.1.14 and newer: STOP and POST_TURN come before the idle).
_FORGOTTEN_BY_HALT: Final = frozenset(
    {
        PRE_TOOL,
        "LIFECYCLE_HOOK_POST_TOOL",
        "LIFECYCLE_HOOK_ON_TOOL_ERROR",
        "LIFECYCLE_HOOK_PRE_TURN",
    }
)


def frame_ask(frame: m.ToolCallFrame | m.HookFrame | m.PolicyFrame) -> Ask:
    """Return the ask that a request frame is."""
    match frame:
        case m.ToolCallFrame():
            return Ask(
                ("tool", frame.call_id),
                AskKind.TOOL,
                frame.name,
                call_id=frame.call_id,
                trajectory_id=frame.trajectory_id,
                args=normalised(frame.name, frame.arguments),
                raw_args=frame.arguments,
            )
        case m.HookFrame():
            return _hook_ask(frame)
        case m.PolicyFrame():
            return _call_ask(("policy", frame.request_id), AskKind.POLICY, frame.args)


def _hook_ask(frame: m.HookFrame) -> Ask:
    key = ("hook", frame.request_id)
    if frame.type == PRE_TOOL:
        return _call_ask(key, AskKind.HOOK, frame.args, frame.type)
    return Ask(
        key,
        AskKind.HOOK,
        _text(frame.args, "toolName") or frame.type.removeprefix("LIFECYCLE_HOOK_"),
        hook_type=frame.type,
        args=frame.args,
        server_name=_text(frame.args, "serverName"),
        call_id=_text(frame.args, "callId"),
        trajectory_id=_text(frame.args, "trajectoryId"),
    )


def _call_ask(key: tuple[str, ...], kind: AskKind, args: JsonObject, hook_type: str = "") -> Ask:
    """Return the ask about a call that has not been made yet."""
    parsed = args.get("arguments")
    name, server = _tool_names(args, parsed)
    return Ask(
        key,
        kind,
        name,
        hook_type=hook_type,
        args=normalised(name, parsed, server),
        raw_args=parsed,
        server_name=server,
        call_id=_text(args, "callId"),
        trajectory_id=_text(args, "trajectoryId"),
    )


def _tool_names(args: JsonObject, parsed: object) -> tuple[str, str]:
    """Return a call's tool and MCP server; up to 0.1.9 the tool is only among the arguments."""
    name, server = _text(args, "toolName"), _text(args, "serverName")
    if name != _MCP_CALL or not isinstance(parsed, dict):
        return name, server
    spelled = {folded(key): value for key, value in parsed.items()}
    inner, other = _text(spelled, "toolname"), _text(spelled, "servername")
    return (inner, server or other) if inner and (server or other) else (name, server)


def step_ask(frame: m.StepFrame) -> Ask:
    """Return the ask that a waiting step is: a confirmation (0.1.5) or questions."""
    where = (frame.trajectory_id, str(frame.index))
    if frame.questions is not None:
        return Ask(
            ("questions", *where),
            AskKind.QUESTIONS,
            "ask_question",
            trajectory_id=frame.trajectory_id,
            index=frame.index,
            questions=frame.questions,
        )
    action = read_action(frame)
    name, server = _names(frame, action)
    args: JsonObject = {} if action is None else action.args
    raw_args = frame.payload
    if frame.action == FINISH:
        # Only a rule or a hook that names it has a say, as it has on newer harnesses.
        name, args, raw_args = FINISH, *finish_args(frame)
    # A step that waits without an action announces a call that gets its own check (R75, R76); an
    # action nobody knows keeps its wire name and is decided like any other (R77).
    return Ask(
        ("confirmation", *where),
        AskKind.CONFIRMATION,
        name,
        args=args,
        raw_args=raw_args,
        server_name=server,
        is_unknown=action is not None and not is_known(frame),
        trajectory_id=frame.trajectory_id,
        index=frame.index,
    )


def _names(frame: m.StepFrame, action: Action | None) -> tuple[str, str]:
    """Return a step's tool as a hook would name it, and the MCP server that it belongs to."""
    if action is None:
        return "", ""
    server = _text(action.extra, "server_name") if frame.action == MCP_TOOL else ""
    return (_text(action.extra, "tool_name"), server) if server else (action.name, "")


def unknown_ask(frame: m.UnknownFrame) -> Ask:
    """Return the ask that an event of an unknown kind seems to be."""
    return Ask(("hook", frame.request_id), AskKind.HOOK, frame.kind, hook_type=frame.kind)


def dies_with_the_turn(ask: Ask) -> bool:
    """Return whether a halt makes the harness forget the ask."""
    return ask.kind is not AskKind.HOOK or ask.hook_type in _FORGOTTEN_BY_HALT


def is_about_a_call(ask: Ask) -> bool:
    """Return whether the ask is about a tool call that may be refused."""
    match ask.kind:
        case AskKind.TOOL | AskKind.POLICY:
            return True
        case AskKind.HOOK:
            return ask.hook_type == PRE_TOOL
        case AskKind.CONFIRMATION:
            return ask.name != ""
        case AskKind.QUESTIONS:
            return False


def is_routine(ask: Ask) -> bool:
    """Return whether an ask that nobody hears is nothing to write home about."""
    if ask.kind is AskKind.HOOK:
        return ask.hook_type == "LIFECYCLE_HOOK_ON_SESSION_START"
    return ask.kind is AskKind.CONFIRMATION and ask.name == ""


def answer(ask: Ask, reply: Reply) -> m.ClientMessage:
    """Return the message that carries a reply. What does not fit the ask denies."""
    allowed = isinstance(reply, (Allowed, Rewritten))
    reason = reply.reason if isinstance(reply, Denied) else ""
    match ask.kind:
        case AskKind.TOOL:
            return _tool_answer(ask, reply, reason)
        case AskKind.HOOK:
            return _hook_answer(ask, reply, reason)
        case AskKind.POLICY:
            return m.PolicyAnswer(ask.key[-1], allowed, reason)
        case AskKind.CONFIRMATION:
            # A step that waits without an action only announces a call, which is asked about later.
            accepted = isinstance(reply, Allowed) or ask.name == ""
            return m.Confirmation(ask.trajectory_id, ask.index, accepted)
        case AskKind.QUESTIONS:
            answers: tuple[m.WireAnswer, ...] | None = (m.WireAnswer(),) * len(ask.questions)
            if isinstance(reply, QuestionsReply):
                answers = reply.answers
            return m.QuestionsAnswer(ask.trajectory_id, ask.index, answers)


def _tool_answer(ask: Ask, reply: Reply, reason: str) -> m.ToolAnswer:
    if isinstance(reply, ToolReply):
        return m.ToolAnswer(ask.call_id, reply.result_json, reply.error, reply.media)
    return m.ToolAnswer(ask.call_id, error=reason or f"there is no tool named {ask.name!r}")


def _hook_answer(ask: Ask, reply: Reply, reason: str) -> m.HookAnswer:
    request_id, kind = ask.key[-1], ask.hook_type
    match reply:
        case Rewritten(arguments=arguments):
            return m.HookAnswer(request_id, kind, allowed=True, arguments=arguments)
        case ErrorText(text=text):
            return m.HookAnswer(request_id, kind, error_text=text)
        case GoOn(reason=why):
            return m.HookAnswer(request_id, kind, reason=why)
        case Heard() | Unheard():
            return m.HookAnswer(request_id, kind)
        case _:
            return m.HookAnswer(request_id, kind, isinstance(reply, Allowed), reason)


def asked_action(ask: Ask) -> Action:
    """Return the call that an ask is about, in the spelling of a step's action."""
    if ask.server_name:
        return mcp_action(ask.server_name, ask.name, ask.args)
    return Action("start_subagent" if ask.name == "invoke_subagent" else ask.name, ask.args)


def _text(args: JsonObject, name: str) -> str:
    value = args.get(name)
    return value if isinstance(value, str) else ""
