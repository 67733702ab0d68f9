"""Subagents in the first message, and which harnesses have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._paths import PATH_TOOLS
from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..errors import ConfigError
from ..hooks import wanted
from ..instructions import SystemInstructions
from ..models import Model
from ..policy import Effect, Policy, PolicySet
from ..subagents import Subagent
from ..tools import Tool
from .dialect import Dialect
from .offers import declared_tool, tool_flags
from .prompting import instructions


def check_subagents(config: AgentConfig, dialect: Dialect) -> None:
    """Check that a harness runs the subagents as they are declared.

    Raises:
        ConfigError: It cannot.
    """
    for subagent in _subagents(config):
        if not dialect.has_subagents:
            raise ConfigError(
                f"harness {dialect.version} does not run subagent {subagent.name!r} as it is "
                "declared; use 0.1.10 or newer, or leave subagents out"
            )
        if subagent.model is not None and not dialect.knows("CustomAgent", "model"):
            raise ConfigError(
                f"harness {dialect.version} runs subagents on the agent's own model; use 0.1.18 or "
                f"newer, or leave model of subagent {subagent.name!r} out"
            )


def render_subagents(config: AgentConfig, dialect: Dialect) -> dict[str, Any]:
    """Return what the first message says about subagents; nothing if there are none.

    Raises:
        ConfigError: This harness cannot run them as they are declared.
    """
    check_subagents(config, dialect)
    tools = {tool.name: tool for tool in config.tools if isinstance(tool, Tool)}
    rendered = [
        _subagent(one, tools, _ungoverned(one, config, dialect)) for one in _subagents(config)
    ]
    return {"customSubagents": rendered} if rendered else {}


def subagent_caveats(config: AgentConfig, dialect: Dialect) -> Iterator[str]:
    """Yield what will not be as the user may think."""
    for subagent in _subagents(config):
        if BuiltinTool.START_SUBAGENT in subagent.capabilities.tools:
            yield f"subagent {subagent.name!r} cannot start subagents of its own"
        yield from _tool_caveats(subagent, config, dialect)


def _tool_caveats(subagent: Subagent, config: AgentConfig, dialect: Dialect) -> Iterator[str]:
    withheld = _ungoverned(subagent, config, dialect)
    if withheld:
        yield (
            f"harness {dialect.version} lets subagents use built-in tools without asking, so "
            f"subagent {subagent.name!r} is not offered what a policy, a hook or the "
            f"containment might refuse: {_listed(withheld)}; give it a custom tool instead, or use "
            "a harness up to 0.1.17"
        )
    lacked = {tool.value for tool in subagent.capabilities.tools} & {*dialect.lacked_by_subagents}
    if lacked:
        yield (
            f"harness {dialect.version} does not offer subagent {subagent.name!r} these tools: "
            f"{_listed(lacked)}"
        )
    others = {tool.name for tool in config.tools if isinstance(tool, Tool)} - {*subagent.tools}
    if others and not dialect.limits_subagent_tools:
        yield (
            f"harness {dialect.version} offers subagent {subagent.name!r} the agent's other custom "
            f"tools as well: {_listed(others)}"
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _ungoverned(subagent: Subagent, config: AgentConfig, dialect: Dialect) -> frozenset[str]:
    """Return the built-in tools of a subagent that the agent's rules ought to hold and cannot."""
    if dialect.governs_subagents:
        return frozenset()
    rules = PolicySet(config.policies)
    has_guards = any(rule.is_guard for rule in rules.policies)
    is_hooked = "on_pre_tool" in wanted(config.hooks)

    def may_be_refused(tool: str) -> bool:
        is_fenced = tool in PATH_TOOLS and (config.contain_workspaces or has_guards)
        return is_hooked or is_fenced or not _is_free(rules.chain(tool))

    tools = subagent.capabilities.tools - {BuiltinTool.FINISH, BuiltinTool.START_SUBAGENT}
    return frozenset(tool.value for tool in tools if may_be_refused(tool.value))


def _is_free(rules: Iterable[Policy]) -> bool:
    """Return whether rules let every call pass, whatever it is about."""
    return all(rule.effect is Effect.ALLOW and rule.when is None for rule in rules)


def _subagents(config: AgentConfig) -> tuple[Subagent, ...]:
    return tuple(config.subagents)


def _subagent(
    subagent: Subagent, tools: dict[str, Tool], withheld: Iterable[str]
) -> dict[str, Any]:
    capabilities = subagent.capabilities.disable(BuiltinTool.START_SUBAGENT, *withheld)
    rendered: dict[str, Any] = {
        "name": subagent.name,
        "description": subagent.description,
        "harnessSideTools": tool_flags(capabilities),
        "tools": [declared_tool(tools[name]) for name in subagent.tools],
    }
    if subagent.system_instructions is not None:
        # Appended, so that the harness's own go on to name the workspaces.
        appended = SystemInstructions.append(subagent.system_instructions)
        rendered["systemInstructions"] = instructions(appended)
    if isinstance(subagent.model, Model):
        # A name alone: a harness that is given more ends at the first prompt.
        rendered["model"] = {"name": subagent.model.name, "types": ["MODEL_TYPE_TEXT"]}
    return rendered
