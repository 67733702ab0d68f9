"""From rules to the harness's own `policyConfig`, as far as they mean the same there.

There a rule on a tool beats `*`, DENY beats ALLOW in whatever order they stand, and a call that no
rule matches is denied. Here the first match wins, a call that no rule matches is allowed, wildcards
pass over `finish` and `ask_question`, and a rule may depend on the call or ask a person. So what is
sent is not the rules but what is certain of them: a DENY for a tool whose every call they refuse,
an ALLOW for what is not to fall under a `*` that refuses, and in the end a `*` for all the rest.
Thus the harness refuses nothing that the rules let run or put to a person. What it lets run is
judged here all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..policy import WILDCARD, Effect, Policy, PolicySet

_ALLOW: Final = "POLICY_DECISION_ALLOW"
_DENY: Final = "POLICY_DECISION_DENY"
#: Canonical name → the harness's, where they differ: `start_subagent` matches nothing there.
_WIRE_NAMES: Final = {"start_subagent": "invoke_subagent"}
#: Tools that wildcards pass over.
_EXEMPT: Final = ("finish", "ask_question")


def static_rules(
    policies: Iterable[Policy], mcp_servers: Iterable[str]
) -> list[dict[str, Any]] | None:
    """Return the `rules` of a `policyConfig`, `None` if there is nothing to say.

    The list is never empty, and its last rule is one for all tools that the others do not name: an
    empty list would allow everything, and one without the last would deny what it does not name.

    Args:
        policies: The rules, in their order.
        mcp_servers: Names of the MCP servers; the harness wants server and tool apart.
    """
    rules = PolicySet(policies)
    if not rules.policies:
        return None
    servers = tuple(dict.fromkeys(mcp_servers))
    for_all = _certain_denial(rules.chain(WILDCARD))
    names = dict.fromkeys(rule.name for rule in rules.policies if rule.name != WILDCARD)
    names |= dict.fromkeys(_EXEMPT)
    rendered: list[dict[str, Any]] = []
    for name in names:
        denial = _certain_denial(rules.chain(name))
        if denial is None and for_all is None:
            continue  # allowed by the last rule as well
        rendered += [{**tool, **_decision(denial)} for tool in _tools(name, servers)]
    return [*rendered, {"tool": WILDCARD, **_decision(for_all)}]


def _certain_denial(chain: Iterable[Policy]) -> Policy | None:
    """Return the rule that refuses every call which meets these rules, `None` if one may pass."""
    for policy in chain:
        if policy.effect is not Effect.DENY:
            return None
        if policy.when is None:
            return policy
    return None


def _decision(denial: Policy | None) -> dict[str, str]:
    if denial is None:
        return {"decision": _ALLOW}
    return {"decision": _DENY, **({"denyReason": denial.reason} if denial.reason else {})}


def _tools(name: str, servers: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield what the harness knows a tool by: all that have this name here.

    A rule without a server matches no MCP tool there, so it is right for your own tool of a name
    that looks like one.
    """
    yield {"tool": _WIRE_NAMES.get(name, name)}
    for server in servers:
        tool = name.removeprefix(f"mcp_{server}_")
        # The name of a server alone is no tool, and the harness refuses an empty one; nor may a
        # tool of the name `*` become a rule for all of them.
        if tool not in (name, "", WILDCARD):
            yield {"tool": tool, "serverName": server}
