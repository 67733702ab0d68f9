"""What of the rules is sent to the harness, judged by a model of how the harness reads it.

The model says what was seen on real harnesses; `tests/real/test_policies_agreement.py` asks them
themselves.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from antigravity_sync import BuiltinTool, ToolInvocation
from antigravity_sync._wire.policies import static_rules
from antigravity_sync.policy import (
    Effect,
    Policy,
    allow,
    allow_all,
    confirm,
    deny,
    deny_all,
    evaluate,
    workspace_only,
)

ALLOW, DENY = "POLICY_DECISION_ALLOW", "POLICY_DECISION_DENY"
REST_ALLOWED, REST_DENIED = {"tool": "*", "decision": ALLOW}, {"tool": "*", "decision": DENY}
TALKS = [{"tool": "finish", "decision": ALLOW}, {"tool": "ask_question", "decision": ALLOW}]


@attrs.frozen
class Call:
    """A call as the harness has it, and as the rules here have it."""

    tool: str
    server: str = ""

    @property
    def here(self) -> ToolInvocation:
        name = f"mcp_{self.server}_{self.tool}" if self.server else self.tool
        return ToolInvocation(name, server_name=self.server)


def harness_denies(rules: Sequence[dict[str, Any]], call: Call) -> bool:
    """Say what the harness does: the most specific rules decide, and of those a DENY."""

    def matching(tool: str, server: str) -> list[str]:
        return [
            rule["decision"]
            for rule in rules
            if rule["tool"] == tool and rule.get("serverName", "") == server
        ]

    tiers = [matching(call.tool, call.server)]
    if call.server:
        tiers.append(matching("*", call.server))
    tiers.append(matching("*", ""))
    decisive = next((tier for tier in tiers if tier), None)
    if decisive is None:
        return bool(rules)  # nothing matches, and that is no, unless there are no rules at all
    return DENY in decisive


def no(_call: ToolInvocation) -> bool:
    return False


def yes(_call: ToolInvocation) -> bool:
    return True


def raises(_call: ToolInvocation) -> bool:
    raise LookupError("no such thing")


def rule(tool: str, decision: str, **more: str) -> dict[str, Any]:
    return {"tool": tool, "decision": decision, **more}


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("policies", "sent"),
    [
        ([allow_all()], [REST_ALLOWED]),
        ([deny_all()], [*TALKS, REST_DENIED]),
        ([deny_all("no")], [*TALKS, rule("*", DENY, denyReason="no")]),
        ([deny("run_command")], [rule("run_command", DENY), REST_ALLOWED]),
        ([deny("run_command", "no")], [rule("run_command", DENY, denyReason="no"), REST_ALLOWED]),
        ([allow("view_file")], [REST_ALLOWED]),
        ([deny_all(), allow("view_file")], [rule("view_file", ALLOW), *TALKS, REST_DENIED]),
        ([allow("view_file"), deny_all()], [rule("view_file", ALLOW), *TALKS, REST_DENIED]),
        # the losers of a name are dropped: there a DENY would win
        ([allow("a"), deny("a")], [REST_ALLOWED]),
        ([deny("a", "1"), allow("a")], [rule("a", DENY, denyReason="1"), REST_ALLOWED]),
        ([deny("a", "1"), deny("a", "2")], [rule("a", DENY, denyReason="1"), REST_ALLOWED]),
        ([allow_all(), deny_all()], [REST_ALLOWED]),
        ([deny_all(), allow_all()], [*TALKS, REST_DENIED]),
        # `finish` and questions: not by `*`, but by name
        ([deny("finish")], [rule("finish", DENY), REST_ALLOWED]),
        (
            [deny_all(), deny("finish")],
            [rule("finish", DENY), rule("ask_question", ALLOW), REST_DENIED],
        ),
        # what depends on the call, or on a person, is not for the harness to refuse
        ([deny("a", when=yes)], [REST_ALLOWED]),
        ([confirm("a")], [REST_ALLOWED]),
        ([confirm("*")], [REST_ALLOWED]),
        ([confirm("a"), deny("a")], [REST_ALLOWED]),
        ([deny_all(), confirm("a")], [rule("a", ALLOW), *TALKS, REST_DENIED]),
        ([allow("a", when=no), deny("a")], [REST_ALLOWED]),
        ([allow("*", when=no), deny_all()], [REST_ALLOWED]),
        ([deny_all(), allow("a", when=no)], [rule("a", ALLOW), *TALKS, REST_DENIED]),
        # … and what does not depend on it after all, is
        ([deny("a", when=no), deny("a", "2")], [rule("a", DENY, denyReason="2"), REST_ALLOWED]),
        ([deny("a", when=yes), deny_all()], [rule("a", DENY), *TALKS, REST_DENIED]),
        ([deny("*", when=no), deny_all()], [*TALKS, REST_DENIED]),
        # names of the harness
        ([deny("start_subagent")], [rule("invoke_subagent", DENY), REST_ALLOWED]),
        ([deny("invoke_subagent")], [rule("invoke_subagent", DENY), REST_ALLOWED]),
        # workspace_only is decided here alone
        ([workspace_only("/ws")], [REST_ALLOWED]),
        ([workspace_only("/ws"), deny_all()], [*TALKS, REST_DENIED]),
    ],
)
def test_static_rules_when_rendered_then_what_is_certain(
    policies: list[Policy], sent: list[dict[str, Any]]
) -> None:
    """Each tool has one rule at most, and the last is for all the rest."""
    assert static_rules(policies, []) == sent


def test_static_rules_when_there_are_none_then_none() -> None:
    """Without rules there is nothing to say; whether containment needs some is not asked here."""
    assert static_rules([], ["git"]) is None


def test_static_rules_when_an_mcp_tool_is_named_then_by_server_and_tool() -> None:
    """The harness knows an MCP tool by two names; a rule without a server matches none of them."""
    assert static_rules([deny("mcp_git_push", "no")], ["git", "hub"]) == [
        rule("mcp_git_push", DENY, denyReason="no"),
        rule("push", DENY, serverName="git", denyReason="no"),
        REST_ALLOWED,
    ]
    assert static_rules([deny_all(), allow("mcp_git_push")], iter(["git"])) == [
        rule("mcp_git_push", ALLOW),
        rule("push", ALLOW, serverName="git"),
        *TALKS,
        REST_DENIED,
    ]
    assert static_rules([deny("mcp_git_push")], []) == [rule("mcp_git_push", DENY), REST_ALLOWED]


def test_static_rules_when_servers_have_similar_names_then_all_that_it_may_be() -> None:
    """`mcp_a_b_c` is tool `b_c` of server `a` and tool `c` of server `a_b`; both have this name."""
    sent = static_rules([deny("mcp_a_b_c")], ["a", "a_b", "a"])
    assert sent == [
        rule("mcp_a_b_c", DENY),
        rule("b_c", DENY, serverName="a"),
        rule("c", DENY, serverName="a_b"),
        REST_ALLOWED,
    ]


@pytest.mark.parametrize("name", ["mcp_git_", "mcp_git_*", "mcp_git"])
def test_static_rules_when_no_tool_of_a_server_is_meant_then_none_of_it(name: str) -> None:
    """A name without a tool would be refused by the harness, and `*` would be all of the server."""
    assert static_rules([deny(name)], ["git"]) == [rule(name, DENY), REST_ALLOWED]


# ── at random ───────────────────────────────────────────────────────────────────────────────────

SERVERS = ["git", "git_hub", "x"]
CALLS = [
    *(Call(tool.value) for tool in BuiltinTool if tool is not BuiltinTool.START_SUBAGENT),
    Call("invoke_subagent"),
    Call("mine"),
    Call("push"),
    Call("mcp_git_push"),
    *(Call(tool, server) for server in SERVERS for tool in ("push", "hub_push", "finish")),
    Call("run_command", "git"),
]
NAMES = [
    "*", "*", "*", "view_file", "run_command", "run_command", "finish", "ask_question",
    "start_subagent", "invoke_subagent", "mine", "push", "mcp_git_push", "mcp_git_hub_push",
    "mcp_x_push", "mcp_git_finish", "mcp_git_*", "mcp_git_", "mcp_git_run_command",
]  # fmt: skip


def random_rules(chance: random.Random) -> list[Policy]:
    def one() -> Policy:
        name = chance.choice(NAMES)
        when = chance.choice([None, None, None, None, yes, no, raises])
        kinds = [allow(name, when), deny(name, "", when), deny(name, "", when), confirm(name)]
        return chance.choice([*kinds, workspace_only("/")] if chance.random() < 0.1 else kinds)

    return [one() for _ in range(chance.randrange(1, 9))]


def test_static_rules_when_random_then_harness_denies_nothing_that_may_run_here() -> None:
    """What the rules allow, or ask a person about, the harness lets pass, whatever they say."""
    refused = 0
    for seed in range(5000):
        policies = random_rules(random.Random(seed))
        sent = static_rules(policies, SERVERS)
        assert sent is not None
        for call in CALLS:
            if not harness_denies(sent, call):
                continue  # decided here all the same
            refused += 1
            assert evaluate(policies, call.here).effect is Effect.DENY, (seed, call)
    assert refused > 10_000  # or nothing was shown


def test_static_rules_when_conditions_could_be_otherwise_then_still_nothing() -> None:
    """That holds for any outcome of the conditions, for what is sent cannot know it."""
    for seed in range(2000):
        policies = random_rules(random.Random(seed))
        sent = static_rules(policies, SERVERS)
        assert sent is not None
        for outcome in (yes, no, raises):
            other = [
                one if one.when is None or one.is_guard else attrs.evolve(one, when=outcome)
                for one in policies
            ]
            assert static_rules(other, SERVERS) == sent
            for call in CALLS:
                if harness_denies(sent, call):
                    assert evaluate(other, call.here).effect is Effect.DENY, (seed, call)


def test_static_rules_when_nothing_depends_on_the_call_then_the_harness_says_the_same() -> None:
    """Rules without conditions and questions survive whole: both sides refuse the same calls."""
    for seed in range(3000):
        policies = [
            attrs.evolve(one, when=None)
            for one in random_rules(random.Random(seed))
            if one.effect is not Effect.CONFIRM and not one.is_guard
        ]
        sent = static_rules(policies, SERVERS)
        for call in CALLS:
            here = evaluate(policies, call.here).effect is Effect.DENY
            assert harness_denies(sent or [], call) is here, (seed, call)


def test_static_rules_when_random_then_the_harness_takes_them() -> None:
    """No rule is empty, none is there twice, each decides, and the last is for all the rest."""
    for seed in range(1000):
        sent = static_rules(random_rules(random.Random(seed)), SERVERS)
        assert sent
        keys = [(one["tool"], one.get("serverName")) for one in sent]
        assert len(keys) == len(set(keys))
        assert all(tool and server != "" for tool, server in keys)
        assert {one["decision"] for one in sent} <= {ALLOW, DENY}
        assert sent[-1]["tool"] == "*"
        assert keys.count(("*", None)) == 1
        assert not [server for tool, server in keys if tool == "*" and server is not None]


# ── the model itself ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rules", "call", "denies"),
    [
        ([], Call("a"), False),
        ([rule("b", ALLOW)], Call("a"), True),
        ([rule("a", ALLOW), rule("a", DENY)], Call("a"), True),
        ([REST_ALLOWED, REST_DENIED], Call("a"), True),
        ([rule("a", ALLOW), REST_DENIED], Call("a"), False),
        ([REST_ALLOWED, rule("a", DENY)], Call("a"), True),
        ([rule("a", DENY), REST_ALLOWED], Call("a", "s"), False),
        ([rule("a", ALLOW), REST_DENIED], Call("a", "s"), True),
        ([rule("a", DENY, serverName="s"), REST_ALLOWED], Call("a", "s"), True),
        ([rule("a", DENY, serverName="s"), REST_ALLOWED], Call("a"), False),
        ([rule("a", DENY, serverName="t"), REST_ALLOWED], Call("a", "s"), False),
        ([rule("*", DENY, serverName="s"), REST_ALLOWED], Call("a", "s"), True),
        ([rule("*", DENY, serverName="s"), REST_ALLOWED], Call("a"), False),
        ([REST_DENIED], Call("finish"), True),
    ],
)
def test_model_when_asked_what_was_seen_then_says_it(
    rules: list[dict[str, Any]], call: Call, denies: bool
) -> None:
    """The model gives the answers that real harnesses gave."""
    assert harness_denies(rules, call) is denies
