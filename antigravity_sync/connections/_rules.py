"""What governs the calls that a connection asks an agent about, where the agent's rules do not."""

from __future__ import annotations

from typing import Final

from .. import policy
from ..capabilities import Capabilities
from ..config import AgentConfig
from ..errors import ConfigError
from ..hooks import wanted
from ..policy import Policy
from ..tools import Tool
from ._direct import DirectConnection

_REFUSAL: Final = (
    "it may change things and nothing governs it; give the agent policies, for example "
    "policies=[policy.allow_all()], or an on_pre_tool hook"
)


def rules_for(config: AgentConfig, source: object) -> tuple[Policy, ...]:
    """Return an agent's rules on a connection, those that stand in for missing ones included.

    Who is asked and has no rule would say yes to everything. A harness is not even started so.

    Args:
        config: The agent's options.
        source: The connection, or its strategy.
    """
    given: tuple[Policy, ...] = tuple(config.policies)
    if given or "on_pre_tool" in wanted(config.hooks) or _governs_itself(source):
        return given
    own = [policy.allow(tool.name) for tool in config.tools if isinstance(tool, Tool)]
    harmless = [policy.allow(tool.value) for tool in Capabilities.read_only().tools]
    return (*own, *harmless, policy.deny_all(_REFUSAL))


def _governs_itself(source: object) -> bool:
    """Return whether a connection's own options decide, as they would for an agent."""
    if not isinstance(source, DirectConnection):
        return False
    config = source.config
    return bool(config.policies) or not (config.capabilities.write_capable() or config.mcp_servers)


def check_rules(config: AgentConfig) -> None:
    """Refuse rules that mean something only on a harness of the agent's own.

    Raises:
        ConfigError: One is about the agent's workspaces, of which it has none.
    """
    for rule in config.policies:
        if rule.is_guard and getattr(rule.when, "roots", None) is None:
            raise ConfigError(
                "workspace_only() means the agent's workspaces, and on a connection it has none; "
                "name the directories"
            )
