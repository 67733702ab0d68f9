"""One spelling for the arguments of a tool call, over harness versions and a model's whims.

The harness names the arguments of its own tools in three ways (`AbsolutePath`; `file_path` up to
0.1.6), and reads what the model wrote with a forgiving eye: `commandline` is `CommandLine`. A rule
that looks at one spelling must not miss another, so a call is put into one, and one that names the
same argument twice is told apart: the harness takes the last, a rule might look at the first.

Values and pure functions; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from ._paths import PATH_TOOLS, folded, is_file_uri, uri_path
from .responses import JsonObject

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

#: The arguments of each built-in tool, as the harness declares them to the model.
_DECLARED: Final[Mapping[str, str]] = {
    "view_file": "AbsolutePath StartLine EndLine ContentOffset IsSkillFile",
    "list_directory": "DirectoryPath",
    "search_directory": "SearchPath Query CaseInsensitive Includes IsRegex MatchPerLine",
    "find_file": "SearchDirectory Pattern Excludes Extensions FullPath MaxDepth Type",
    "create_file": "TargetFile Overwrite Append CodeContent Description ArtifactMetadata",
    "edit_file": (
        "TargetFile Instruction Description AllowMultiple TargetContent ReplacementContent "
        "StartLine EndLine ReplacementChunks TargetLintErrorIds ArtifactMetadata"
    ),
    "run_command": (
        "CommandLine Cwd WaitMsBeforeAsync NotificationTimeoutSeconds RequestedTerminalID "
        "RunPersistent"
    ),
    "ask_question": "questions",
    "start_subagent": "Subagents",
    "generate_image": "Prompt ImageName AspectRatio ImagePaths",
    "search_web": "query domain",
    "read_url_content": "Url",
    "run_workflow": "Script ScriptPath Args Description",
    "list_resources": "ServerName",
    "read_resource": "ServerName Uri",
    # Not asked about by any rule of ours yet: every name of theirs is put into snake_case.
    "finish": "",
    "manage_task": "",
    "schedule": "",
}
#: What the step of a call says instead, which is all that 0.1.5 and 0.1.6 show of it.
_IN_STEPS: Final[Mapping[str, Mapping[str, str]]] = {
    "view_file": {"file_path": "absolute_path"},
    "search_directory": {"directory_path": "search_path"},
    "find_file": {"directory_path": "search_directory", "query": "pattern"},
    "create_file": {"file_path": "target_file", "contents": "code_content"},
    "edit_file": {"file_path": "target_file"},
    "run_command": {"working_dir": "cwd"},
}
#: What stands around the arguments of an MCP tool's call.
_ENVELOPE: Final = frozenset({"ServerName", "ToolName", "Arguments"})


def snake_case(name: str) -> str:
    """Return `commandLine` or `CommandLine` as `command_line`."""
    return _HUMP.sub("_", name).lower()


def _spellings() -> dict[str, dict[str, tuple[str, str]]]:
    """Return for each tool: folded name → the one spelling, and the harness's own."""
    table: dict[str, dict[str, tuple[str, str]]] = {}
    for tool, names in _DECLARED.items():
        known = {folded(name): (snake_case(name), name) for name in names.split()}
        for step_name, name in _IN_STEPS.get(tool, {}).items():
            known.setdefault(folded(step_name), known[folded(name)])
        table[tool] = known
    return table


_SPELLINGS: Final = _spellings()


def _tool(name: str) -> str:
    return "start_subagent" if name == "invoke_subagent" else name


def normalised(tool: str, raw: object, server: str = "") -> JsonObject:
    """Return the arguments of a call in the one spelling.

    Those of a built-in tool get snake_case names, and its paths are local ones. Those of your own
    tools stay as they are, and of an MCP call what is left is what its tool gets.

    Args:
        tool: Name of the tool as the harness has it.
        raw: The arguments as they came: `null`, a list or no JSON at all, if the model likes. What
            is no object is kept whole under `arguments`, so that a rule can still look at it.
        server: The MCP server, `""` for other tools.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        return {"arguments": raw}
    members = cast("JsonObject", raw)
    if server:
        return _unwrapped(members)
    known = _SPELLINGS.get(_tool(tool))
    if known is None:
        return dict(members)
    use = PATH_TOOLS.get(tool)
    paths: tuple[str, ...] = () if use is None else use.names
    arguments: dict[str, object] = {}
    for key in _by_weight(members, known):
        name = known.get(folded(key), (snake_case(key), ""))[0]
        is_path = name in paths
        while name in arguments:
            name += "_"
        arguments[name] = plain_path(members[key]) if is_path else members[key]
    return arguments


def from_step(tool: str, members: JsonObject) -> JsonObject:
    """Return the arguments that a step shows, in snake_case, in the one spelling."""
    names = _IN_STEPS.get(tool, {})
    return {names.get(name, name): value for name, value in members.items()}


def as_in_step(tool: str, args: JsonObject) -> JsonObject:
    """Return arguments in the one spelling as a step shows them; the reverse of `from_step`."""
    names = {name: step_name for step_name, name in _IN_STEPS.get(tool, {}).items()}
    return {names.get(name, name): value for name, value in args.items()}


def doubled(tool: str, raw: object, server: str = "") -> str | None:
    """Return the argument that a call names twice, `None` if it is plain.

    Such a call is refused before any rule looks at it: a rule might look at the other one. Your own
    tools and those of MCP servers may have arguments that differ in case alone.
    """
    if not isinstance(raw, dict):
        return None
    known = _SPELLINGS.get(_tool(tool))
    if server:
        known = {folded(name): (name, name) for name in _ENVELOPE}
    seen: set[str] = set()
    for key in cast("JsonObject", raw) if known else ():
        spelling = (known or {}).get(folded(key))
        name = key if spelling is None else spelling[0]
        if name in seen:
            return name
        seen.add(name)
    return None


def respelled(tool: str, raw: object, args: JsonObject, server: str = "") -> JsonObject:
    """Return `args`, which are in the one spelling, as the harness wants them back.

    It takes new arguments for the whole of the old ones and knows its own names only (LIVE 8).

    Args:
        tool: Name of the tool as the harness has it.
        raw: The arguments as they came; where a name was spelled in some way it stays so.
        args: All the arguments the tool shall get.
        server: The MCP server, `""` for other tools.
    """
    members = cast("JsonObject", raw) if isinstance(raw, dict) else {}
    if server:
        if not _is_envelope(members):
            return dict(args)
        around = {key: value for key, value in members.items() if folded(key) != "arguments"}
        return {**around, "Arguments": dict(args)}
    known = _SPELLINGS.get(_tool(tool))
    if known is None:
        return dict(args)
    came = {known.get(folded(key), (snake_case(key), ""))[0]: key for key in members}
    wire: dict[str, object] = {}
    for name, value in args.items():
        spelling = known.get(folded(name))
        wire[came.get(name, name if spelling is None else spelling[1])] = value
    return wire


def _by_weight(members: JsonObject, known: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the names of arguments, of several that are one that first which the harness takes.

    Its own names differ from what it takes for them in case alone; of those the last counts, in the
    order in which it has them.
    """
    own = {wire.casefold() for _, wire in known.values()}
    return sorted(members, key=lambda key: (key.casefold() in own, key), reverse=True)


def _is_envelope(members: JsonObject) -> bool:
    names = {folded(key) for key in members}
    return {folded(name) for name in ("ServerName", "ToolName")} <= names


def _unwrapped(members: JsonObject) -> JsonObject:
    if not _is_envelope(members):
        return dict(members)
    inner = [members[key] for key in sorted(members) if folded(key) == "arguments"]
    found = inner[-1] if inner else None
    if isinstance(found, dict):
        return dict(cast("JsonObject", found))
    return {} if found is None else {"arguments": found}


def plain_path(value: object) -> object:
    """Return a `file:` URI, or a list of such, as the path it means; anything else as it is."""
    if isinstance(value, list):
        return [plain_path(one) for one in cast("list[object]", value)]
    if isinstance(value, str) and is_file_uri(value):
        path = uri_path(value)
        return value if path is None else path  # what is no path is left to be refused
    return value
