"""What a model is offered: flags for the harness's own tools, declarations for the user's."""

from __future__ import annotations

import json
from typing import Any, Final

from ..capabilities import BuiltinTool, Capabilities
from ..tools import Tool

#: Canonical tool name → the flag that offers it.
_FLAGS: Final = {
    BuiltinTool.LIST_DIRECTORY: "listDir",
    BuiltinTool.SEARCH_DIRECTORY: "grepSearch",
    BuiltinTool.FIND_FILE: "find",
    BuiltinTool.VIEW_FILE: "viewFile",
    BuiltinTool.CREATE_FILE: "writeToFile",
    BuiltinTool.EDIT_FILE: "fileEdit",
    BuiltinTool.RUN_COMMAND: "runCommand",
    BuiltinTool.ASK_QUESTION: "userQuestions",
    BuiltinTool.START_SUBAGENT: "subagents",
    BuiltinTool.GENERATE_IMAGE: "generateImage",
    BuiltinTool.SEARCH_WEB: "searchWeb",
    BuiltinTool.READ_URL_CONTENT: "readUrlContent",
    BuiltinTool.MANAGE_TASK: "manageTask",
    BuiltinTool.SCHEDULE: "schedule",
    BuiltinTool.RUN_WORKFLOW: "runWorkflow",
}


def tool_flags(capabilities: Capabilities) -> dict[str, Any]:
    """Return the flag of every tool, on or off: what an absent one means has changed twice."""
    wanted = capabilities.tools
    return {flag: {"enabled": tool in wanted} for tool, flag in _FLAGS.items()}


def declared_tool(tool: Tool) -> dict[str, Any]:
    """Return how a tool of the user's is declared."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": json.dumps(tool.parameters),
    }
