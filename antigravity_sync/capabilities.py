"""Which of the harness's own tools the model is offered."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import attrs

from .errors import ConfigError


class BuiltinTool(str, enum.Enum):
    """Tools the harness runs itself, by the names that policies and hooks use."""

    LIST_DIRECTORY = "list_directory"
    SEARCH_DIRECTORY = "search_directory"
    FIND_FILE = "find_file"
    VIEW_FILE = "view_file"
    CREATE_FILE = "create_file"
    EDIT_FILE = "edit_file"
    RUN_COMMAND = "run_command"
    ASK_QUESTION = "ask_question"
    START_SUBAGENT = "start_subagent"
    GENERATE_IMAGE = "generate_image"
    SEARCH_WEB = "search_web"
    READ_URL_CONTENT = "read_url_content"
    MANAGE_TASK = "manage_task"
    SCHEDULE = "schedule"
    RUN_WORKFLOW = "run_workflow"
    FINISH = "finish"


#: Tools that change nothing and reach nothing outside; everything else needs a policy or a hook.
READ_ONLY_TOOLS: Final = frozenset(
    {
        BuiltinTool.LIST_DIRECTORY,
        BuiltinTool.SEARCH_DIRECTORY,
        BuiltinTool.FIND_FILE,
        BuiltinTool.VIEW_FILE,
        BuiltinTool.FINISH,
    }
)


def _tools(names: Iterable[BuiltinTool | str]) -> frozenset[BuiltinTool]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ConfigError(f"capabilities take a collection of tools, not {names!r}")
    found = set()
    for name in names:
        try:
            found.add(BuiltinTool(name))
        except ValueError:
            known = ", ".join(tool.value for tool in BuiltinTool)
            raise ConfigError(f"no built-in tool is named {name!r}; choose from: {known}") from None
    return frozenset(found)


@attrs.frozen
class Capabilities:
    """A set of built-in tools; made by one of the presets and changed by `enable` and `disable`.

    Attributes:
        tools: The tools the model is offered. `FINISH` is how it gives a structured answer, and is
            offered exactly when a response schema is set.
    """

    tools: frozenset[BuiltinTool] = attrs.field(default=READ_ONLY_TOOLS, converter=_tools)

    @classmethod
    def read_only(cls) -> Capabilities:
        """Return the default: look at files, change nothing."""
        return cls(READ_ONLY_TOOLS)

    @classmethod
    def all(cls) -> Capabilities:
        """Return every tool; needs a policy or a pre-tool hook."""
        return cls(frozenset(BuiltinTool))

    @classmethod
    def none(cls) -> Capabilities:
        """Return no built-in tool; 0.1.6–0.1.13 offer `manage_task` and `schedule` even so."""
        return cls(frozenset({BuiltinTool.FINISH}))

    def enable(self, *tools: BuiltinTool | str) -> Capabilities:
        """Return a copy that also offers `tools`.

        Raises:
            ConfigError: There is no such tool.
        """
        return Capabilities(self.tools | _tools(tools))

    def disable(self, *tools: BuiltinTool | str) -> Capabilities:
        """Return a copy that does not offer `tools`.

        Raises:
            ConfigError: There is no such tool, or it is `finish`, which ends structured answers.
        """
        unwanted = _tools(tools)
        if BuiltinTool.FINISH in unwanted:
            raise ConfigError("finish cannot be disabled: leave response_schema unset instead")
        return Capabilities(self.tools - unwanted)

    def write_capable(self) -> tuple[BuiltinTool, ...]:
        """Return the tools outside the read-only set, sorted."""
        return tuple(sorted(self.tools - READ_ONLY_TOOLS, key=lambda tool: tool.value))
