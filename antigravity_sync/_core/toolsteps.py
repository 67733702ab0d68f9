"""Steps that act: one name and one spelling for what the wire says in eighteen ways."""

from __future__ import annotations

from typing import Final

from .._arguments import plain_path, snake_case
from .._messages import StepFrame
from ..responses import Action, JsonObject

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
    "mcpTool": ("mcp", frozenset()),
    "searchWeb": ("search_web", frozenset({"summary"})),
    "readUrlContent": ("read_url_content", frozenset({"title", "summary", "content_path"})),
    "skillLookup": ("skill_lookup", frozenset({"resolved_skill_names", "error_message"})),
    "runWorkflow": ("run_workflow", frozenset({"output"})),
}

#: Actions that are not tools of the harness; they have events of their own.
OTHER_ACTIONS: Final = frozenset({"compaction", "finish", "error", "customTool"})

#: The one tool that may go on after the answer (LIVE 6, background).
RUN_COMMAND: Final = "runCommand"


def is_known(frame: StepFrame) -> bool:
    """Return whether the action of a step is one that this SDK knows."""
    return frame.action in _ACTIONS or frame.action in OTHER_ACTIONS


def read_action(frame: StepFrame) -> Action | None:
    """Return what a step does, `None` for one that is no tool of the harness.

    An action that nobody knows keeps its name as it is on the wire: that is what a rule may name.
    """
    known = _ACTIONS.get(frame.action)
    if known is None:
        if not frame.action or frame.action in OTHER_ACTIONS:
            return None
        return Action(frame.action, extra=frame.payload)
    name, result_names = known
    members = {snake_case(key): plain_path(value) for key, value in frame.payload.items()}
    result = {key: members.pop(key) for key in tuple(members) if key in result_names}
    subagent = None
    if name == "mcp":
        name = f"mcp_{members.pop('server_name', '')}_{members.pop('tool_name', '')}"
    elif name == "start_subagent":
        subagent = _subagent_name(members)
    return Action(name, members, result or None, subagent)


def _subagent_name(members: JsonObject) -> str | None:
    found = members.get("type_name") or members.get("name")
    return found if isinstance(found, str) else None
