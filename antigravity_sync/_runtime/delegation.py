"""What starting subagents may lead to, where the harness itself sets no bounds."""

from __future__ import annotations

from typing import Final

import attrs

from .._paths import folded
from .._wire.dialect import Dialect
from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..hooks import ToolInvocation
from ..subagents import offered_tools

_START: Final = BuiltinTool.START_SUBAGENT.value
#: What the harness itself can start; their calls are asked about on every version.
_BUILT_IN: Final = frozenset({"self", "research"})
_TYPE: Final = folded("TypeName")


@attrs.frozen
class Delegation:
    """Bounds for an agent that may start subagents.

    Whoever may do that may define new ones as well, with tools that change things, and on newer
    harnesses starts one that runs commands; no flag holds them back.

    Attributes:
        withheld: Built-in tools that neither the agent nor a subagent of the user's was given.
        types: The subagents that may be started, `None` for all: those that are defined on the way
            are held by `withheld` where the harness asks about their calls.
    """

    withheld: frozenset[str]
    types: frozenset[str] | None

    @classmethod
    def of(cls, config: AgentConfig, dialect: Dialect) -> Delegation | None:
        """Return the bounds of an agent, `None` if there is nothing to bound."""
        may_start = BuiltinTool.START_SUBAGENT in config.capabilities.tools
        if not may_start or dialect.needs_confirmations:
            return None  # 0.1.5 starts nothing but copies of the agent
        given = offered_tools(config.capabilities, config.subagents)
        withheld = frozenset(tool.value for tool in BuiltinTool if tool not in given) - {"finish"}
        types = _BUILT_IN | {subagent.name for subagent in config.subagents}
        # What the user switches on or declares by hand is the user's own word on it.
        if {"harnessSideTools", "customSubagents"} & config.raw_config.keys():
            withheld = frozenset()
        is_open = dialect.governs_defined_subagents or "customSubagents" in config.raw_config
        return cls(withheld, None if is_open else types)

    def check(self, call: ToolInvocation) -> str | None:
        """Return what speaks against a call, `None` if nothing does."""
        if call.server_name:
            return None
        if call.name in self.withheld:
            return f"{call.name} is not among the capabilities of this agent"
        if call.name == _START and self.types is not None:
            for name in _started(call.args.get("subagents")):
                if name not in self.types:
                    return (
                        f"the subagent {name!r} is none of this agent's, and on this harness "
                        "nothing would govern it"
                    )
        return None


def _started(entries: object) -> list[object]:
    """Return the names of the subagents that a call starts; `None` for one that shows none."""
    names: list[object] = []
    for entry in entries if isinstance(entries, list) else [entries]:
        members = entry if isinstance(entry, dict) else {}
        names += [value for key, value in members.items() if folded(str(key)) == _TYPE] or [None]
    return names
