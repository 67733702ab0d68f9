"""From an `AgentConfig` to the first message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs

from .._structured import AnswerForm
from ..config import AgentConfig
from ..hooks import wanted
from ..tools import Tool
from .dialect import Dialect
from .limits import render_limits
from .mcp import render_servers
from .models import render_models
from .offers import declared_tool, tool_flags
from .policies import static_rules
from .probing import with_probe
from .prompting import main_instructions
from .subagents import render_subagents

#: Hook of ours → the harness's, for those that only it can call.
_HOOKS: Final = {
    "on_post_tool": "LIFECYCLE_HOOK_POST_TOOL",
    "on_tool_error": "LIFECYCLE_HOOK_ON_TOOL_ERROR",
    "on_compaction": "LIFECYCLE_HOOK_ON_COMPACTION",
    "on_stop": "LIFECYCLE_HOOK_STOP",
}


@attrs.frozen
class Conversation:
    """Which conversation to open.

    Attributes:
        cascade_id: Its wire id, `""` to let the harness choose one.
        mode: `CREATE_ONLY`, `RESUME` or `CREATE_OR_RESUME`; unknown to 0.1.6 and older, which
            create without an id and resume with one.
    """

    cascade_id: str = ""
    mode: str = "CREATE_ONLY"


@attrs.frozen
class Rendered:
    """A first message.

    Attributes:
        text: The message.
        dropped: Paths of what this harness version does not understand.
        is_named: Whether it says which conversation to open.
    """

    text: str = attrs.field(repr=False)
    dropped: tuple[str, ...] = ()
    is_named: bool = False


def render_init(
    config: AgentConfig,
    *,
    conversation: Conversation,
    api_key: str,
    app_data_dir: str,
    dialect: Dialect,
    is_probe: bool = False,
) -> Rendered:
    """Return the first message.

    Args:
        config: The options.
        conversation: What to open.
        api_key: The text model's key.
        app_data_dir: Where the harness keeps its own files, an absolute path; `""` leaves it to the
            harness.
        dialect: What this harness understands.
        is_probe: Whether the version is a guess, so that the message must make a wrong guess show.
    """
    harness_config = _harness_config(config, conversation, api_key, app_data_dir, dialect)
    if is_probe:
        harness_config = with_probe(harness_config)
    known, dropped = dialect.filter("HarnessConfig", harness_config)
    merged = _merge(known, config.raw_config)
    text = json.dumps({"config": merged}, ensure_ascii=False)
    return Rendered(text, dropped, bool(conversation.cascade_id))


def _harness_config(
    config: AgentConfig,
    conversation: Conversation,
    api_key: str,
    app_data_dir: str,
    dialect: Dialect,
) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "models": render_models(config, api_key, dialect),
        "workspaces": [
            {"filesystemWorkspace": {"directory": str(path)}} for path in config.workspaces
        ],
        "harnessSideTools": tool_flags(config.capabilities),
        "retryConfig": _retry(config),
        "sessionContinuationMode": conversation.mode,
    }
    if app_data_dir:
        rendered["appDataDir"] = app_data_dir
    if conversation.cascade_id:
        rendered["cascadeId"] = conversation.cascade_id
    enabled = _enabled_hooks(config)
    if enabled:
        rendered["enabledHooks"] = enabled
    if config.tools:
        rendered["tools"] = [declared_tool(one) for one in config.tools if isinstance(one, Tool)]
    if "on_questions" in wanted(config.hooks):
        rendered["agentBehavior"] = "AGENT_BEHAVIOR_INTERACTIVE"
    rendered |= render_limits(config)
    rendered |= render_servers(config, dialect)
    rendered |= render_subagents(config, dialect)
    governance = _policy_config(config, dialect)
    if governance is not None:
        rendered["policyConfig"] = governance
    told = main_instructions(config, dialect)
    if told is not None:
        rendered["systemInstructions"] = told
    if config.response_schema is not None:
        schema = AnswerForm.of(config.response_schema).schema
        rendered["finishToolSchemaJson"] = json.dumps(schema, ensure_ascii=False)
    if config.skills_paths:
        rendered["skillsPaths"] = [str(path) for path in config.skills_paths]
    return rendered


def _enabled_hooks(config: AgentConfig) -> list[str]:
    """Return the hooks whose answer only the harness can wait for; the others we call ourselves."""
    hooks = wanted(config.hooks)
    is_governed = config.contain_workspaces or config.policies or "on_pre_tool" in hooks
    is_counted = config.budget is not None
    names = ["LIFECYCLE_HOOK_PRE_TOOL"] if is_governed or is_counted else []
    return names + [wire for hook, wire in _HOOKS.items() if hook in hooks]


def _policy_config(config: AgentConfig, dialect: Dialect) -> dict[str, Any] | None:
    """Return what the harness enforces itself, beside what we decide: defence in depth.

    Its presence switches the harness's own containment on; without workspaces or rules a harness
    refuses to start with it (DESIGN section 4).
    """
    is_contained = config.contain_workspaces and bool(tuple(config.workspaces))
    rules = static_rules(config.policies, (server.name for server in config.mcp_servers))
    if not is_contained and (rules is None or not dialect.has_containment_switch):
        return None
    rendered: dict[str, Any] = {
        "rules": rules or [{"tool": "*", "decision": "POLICY_DECISION_ALLOW"}]
    }
    if not is_contained:
        rendered["workspaceContainment"] = "WORKSPACE_CONTAINMENT_DISABLED"
    return rendered


def _retry(config: AgentConfig) -> dict[str, Any]:
    retry = config.retry
    return {
        "apiRetry": {
            "maxRetries": retry.max_retries,
            "initialSleepDurationMs": round(retry.first_delay * 1000),
            "exponentialMultiplier": retry.multiplier,
        },
        "modelOutputRetry": {"maxRetries": retry.max_output_retries},
    }


def _merge(base: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in extra.items():
        own = merged.get(key)
        if isinstance(own, dict) and isinstance(value, Mapping):
            merged[key] = _merge(own, value)
        else:
            merged[key] = value
    return merged
