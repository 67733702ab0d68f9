"""Steps that act: one name and one spelling for what the wire says in eighteen ways."""

from __future__ import annotations

import json
from typing import Final

import attrs

from .._arguments import from_step, normalised, plain_path, snake_case
from .._messages import StepFrame
from ..responses import Action, JsonObject

#: Wire name of giving the structured answer.
FINISH: Final = "finish"

#: Name of the member by which a connection tells what a step does; no harness sends it.
TOLD_ACTION: Final = "toldAction"

#: Wire name of what a tool of an MCP server does.
MCP_TOOL: Final = "mcpTool"

#: Wire name of the action → canonical tool name, and which members are its result.
_ACTIONS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "listDirectory": ("list_directory", frozenset({"results"})),
    "findFile": ("find_file", frozenset({"output"})),
    "searchDirectory": ("search_directory", frozenset({"num_results"})),
    "viewFile": ("view_file", frozenset()),
    "createFile": ("create_file", frozenset()),
    "editFile": ("edit_file", frozenset({"diff_block"})),
    "runCommand": ("run_command", frozenset({"exit_code", "combined_output"})),
    "invokeSubagent": ("start_subagent", frozenset()),
    "generateImage": ("generate_image", frozenset({"output_path"})),
    MCP_TOOL: ("mcp", frozenset()),
    "searchWeb": ("search_web", frozenset({"summary"})),
    "readUrlContent": ("read_url_content", frozenset({"title", "summary", "content_path"})),
    "skillLookup": ("skill_lookup", frozenset({"resolved_skill_names", "error_message"})),
    "runWorkflow": ("run_workflow", frozenset({"output"})),
}

#: Actions that are not tools of the harness; they have events of their own.
OTHER_ACTIONS: Final = frozenset({"compaction", FINISH, "error", "customTool"})

#: The one tool that may go on after the answer (LIVE 6, background).
RUN_COMMAND: Final = "runCommand"


def is_known(frame: StepFrame) -> bool:
    """Return whether the action of a step is one that this SDK knows."""
    return frame.action in _ACTIONS or frame.action in OTHER_ACTIONS or frame.action == TOLD_ACTION


def read_action(frame: StepFrame) -> Action | None:
    """Return what a step does, `None` for one that is no tool of the harness.

    An action that nobody knows keeps its name as it is on the wire: that is what a rule may name.
    """
    known = _ACTIONS.get(frame.action)
    if known is None:
        if frame.action == TOLD_ACTION:
            return _told_action(frame.payload)
        if not frame.action or frame.action in OTHER_ACTIONS:
            return None
        return Action(frame.action, extra=frame.payload)
    if frame.action == MCP_TOOL:
        return _read_mcp_action(frame.payload)
    name, result_names = known
    members = {snake_case(key): plain_path(value) for key, value in frame.payload.items()}
    result = {key: members.pop(key) for key in tuple(members) if key in result_names}
    subagent = None
    if name == "start_subagent":
        subagent = _subagent_name(members)
    return Action(name, from_step(name, members), result or None, subagent)


def _told_action(payload: JsonObject) -> Action:
    args, result, extra = (payload.get(name) for name in ("args", "result", "extra"))
    return Action(
        _text(payload.get("name")),
        args if isinstance(args, dict) else {},
        result if isinstance(result, dict) else None,
        _text(payload.get("subagent_name")) or None,
        extra if isinstance(extra, dict) else {},
    )


def mcp_action(server: str, tool: str, args: JsonObject) -> Action:
    """Return the call of an MCP server's tool.

    Its name is made of two, which are kept: it does not always tell where one ends.
    """
    return Action(f"mcp_{server}_{tool}", args, extra={"server_name": server, "tool_name": tool})


def _read_mcp_action(payload: JsonObject) -> Action:
    members = dict(payload)
    server = _text(members.pop("serverName", ""))
    tool = _text(members.pop("toolName", ""))
    action = mcp_action(server, tool, _parsed(members.pop("argumentsJson", None)))
    unknown = {snake_case(key): value for key, value in members.items()}
    return attrs.evolve(action, extra={**action.extra, **unknown}) if unknown else action


def finish_args(frame: StepFrame) -> tuple[JsonObject, JsonObject]:
    """Return the structured answer in the one spelling of arguments, and as it was given."""
    try:
        found: object = json.loads(_text(frame.payload.get("outputString", "")))
    except (ValueError, RecursionError):
        found = None
    given: JsonObject = found if isinstance(found, dict) else frame.payload
    return normalised(FINISH, given), given


def _parsed(text: object) -> JsonObject:
    """Return arguments as a call's hook has them; what is no object is kept whole."""
    if not isinstance(text, str) or not text:
        return {}
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    return normalised("", found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _subagent_name(members: JsonObject) -> str | None:
    found = members.get("type_name") or members.get("name")
    return found if isinstance(found, str) else None
