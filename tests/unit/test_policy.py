"""What a set of rules says about a call."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antigravity_sync import BuiltinTool, ToolInvocation, policy
from antigravity_sync.errors import ConfigError
from antigravity_sync.policy import (
    Effect,
    Policy,
    PolicyDecision,
    PolicySet,
    allow,
    allow_all,
    confirm,
    deny,
    deny_all,
    evaluate,
    explain,
    unknown_names,
    workspace_only,
)

ALLOW, DENY, CONFIRM = Effect.ALLOW, Effect.DENY, Effect.CONFIRM


def yes(_call: ToolInvocation) -> bool:
    return True


def no(_call: ToolInvocation) -> bool:
    return False


def raises(_call: ToolInvocation) -> bool:
    raise LookupError("no such thing")


async def in_time(_call: ToolInvocation) -> bool:
    return True


def stepwise(_call: ToolInvocation) -> Iterator[bool]:
    yield False


class Undecided:
    def __bool__(self) -> bool:
        raise TypeError("neither true nor false")


def returns(value: Any) -> Any:
    return lambda _call: value


def in_repo(call: ToolInvocation) -> bool:
    return str(call.args["path"]).startswith("/repo/")


#: Rules, the tool called, what happens. A call that no rule matches has no effect, which allows.
TABLE: list[tuple[list[Policy], str, Effect | None]] = [
    # no rule matches
    ([], "view_file", None),
    ([deny("run_command")], "view_file", None),
    ([allow("run_command")], "view_file", None),
    # one rule
    ([allow("view_file")], "view_file", ALLOW),
    ([deny("view_file")], "view_file", DENY),
    ([confirm("view_file")], "view_file", CONFIRM),
    ([allow_all()], "view_file", ALLOW),
    ([deny_all()], "view_file", DENY),
    ([confirm("*")], "view_file", CONFIRM),
    ([allow("*")], "view_file", ALLOW),
    # an exact name beats the wildcard, whatever the order
    ([deny_all(), allow("view_file")], "view_file", ALLOW),
    ([allow("view_file"), deny_all()], "view_file", ALLOW),
    ([deny_all(), allow("view_file")], "edit_file", DENY),
    ([allow_all(), deny("view_file")], "view_file", DENY),
    ([deny("view_file"), allow_all()], "view_file", DENY),
    ([allow_all(), confirm("view_file")], "view_file", CONFIRM),
    # inside a tier the first match wins
    ([allow("view_file"), deny("view_file")], "view_file", ALLOW),
    ([deny("view_file"), allow("view_file")], "view_file", DENY),
    ([confirm("view_file"), allow("view_file")], "view_file", CONFIRM),
    ([allow_all(), deny_all()], "view_file", ALLOW),
    ([deny_all(), allow_all()], "view_file", DENY),
    ([confirm("*"), deny_all()], "view_file", CONFIRM),
    # a condition that does not hold passes the call on
    ([deny("view_file", when=yes)], "view_file", DENY),
    ([deny("view_file", when=no)], "view_file", None),
    ([deny("view_file", when=no), allow("view_file")], "view_file", ALLOW),
    ([allow("view_file", when=no), deny("view_file")], "view_file", DENY),
    ([allow("view_file", when=no), deny_all()], "view_file", DENY),
    ([deny("view_file", when=no), allow_all()], "view_file", ALLOW),
    ([deny("*", when=no), allow_all()], "view_file", ALLOW),
    ([deny("*", when=yes), allow_all()], "view_file", DENY),
    # a condition that raises denies, whatever it was to do
    ([allow("view_file", when=raises)], "view_file", DENY),
    ([deny("view_file", when=raises), allow("view_file")], "view_file", DENY),
    ([allow("*", when=raises), allow_all()], "view_file", DENY),
    ([allow("run_command", when=raises)], "view_file", None),
    # wildcards touch neither `finish` nor questions; exact rules do
    ([deny_all()], "finish", None),
    ([deny("*", when=yes)], "finish", None),
    ([deny("*", when=raises)], "finish", None),
    ([confirm("*")], "ask_question", None),
    ([deny_all()], "ask_question", None),
    ([deny("finish")], "finish", DENY),
    ([deny("ask_question"), allow_all()], "ask_question", DENY),
    ([allow_all()], "finish", None),
    ([confirm("finish")], "finish", CONFIRM),
    ([confirm("ask_question")], "ask_question", CONFIRM),
    ([deny_all(), allow("finish")], "finish", ALLOW),
    ([deny("finish", when=no), deny_all()], "finish", None),
    ([allow("finish", when=no), deny_all()], "finish", None),
    ([deny_all(), deny("ask_question", when=yes)], "ask_question", DENY),
    ([deny_all()], "mcp_srv_finish", DENY),
    ([deny_all()], "mcp_srv_ask_question", DENY),
    ([deny_all()], "Finish", DENY),
    ([deny_all()], "finish_", DENY),
    # a condition need not return a bool: what counts as true is true
    ([deny("view_file", when=returns(1))], "view_file", DENY),
    ([deny("view_file", when=returns("text"))], "view_file", DENY),
    ([deny("view_file", when=returns(re.match("a", "a")))], "view_file", DENY),
    ([deny("view_file", when=returns(0))], "view_file", None),
    ([deny("view_file", when=returns(""))], "view_file", None),
    ([deny("view_file", when=returns([]))], "view_file", None),
    ([deny("view_file", when=returns(None))], "view_file", None),
    # what cannot say whether it is true denies, as one that raises does
    ([allow("view_file", when=returns(Undecided()))], "view_file", DENY),
    ([allow("view_file", when=lambda call: in_time(call))], "view_file", DENY),
    ([deny("view_file", when=lambda call: in_time(call))], "view_file", DENY),
    ([allow("view_file", when=stepwise)], "view_file", DENY),
    ([allow("*", when=stepwise)], "view_file", DENY),
    ([allow("view_file", when=lambda call: call.args["missing"])], "view_file", DENY),
    ([allow("view_file", when=lambda: True)], "view_file", DENY),
    # several conditions: each passes on what it does not hold for
    ([allow("view_file", when=no), deny("view_file", when=yes)], "view_file", DENY),
    ([allow("view_file", when=no), confirm("view_file"), deny_all()], "view_file", CONFIRM),
    ([deny("view_file", when=no), deny("*", when=no)], "view_file", None),
    ([deny("view_file", when=no), confirm("*")], "view_file", CONFIRM),
    ([allow("*", when=no), deny("*", when=no), confirm("*")], "view_file", CONFIRM),
    ([allow("view_file", when=yes), deny("view_file", when=raises)], "view_file", ALLOW),
    ([allow("view_file", when=no), deny("view_file", when=raises)], "view_file", DENY),
    # confirming is an effect of its own, with a handler and without
    ([confirm("view_file", yes)], "view_file", CONFIRM),
    ([confirm("view_file", no)], "view_file", CONFIRM),
    ([confirm("view_file", raises)], "view_file", CONFIRM),
    ([confirm("*", yes), allow("view_file")], "view_file", ALLOW),
    ([deny("view_file"), confirm("view_file", yes)], "view_file", DENY),
    ([allow("view_file"), confirm("view_file", yes)], "view_file", ALLOW),
    # two names of one tool
    ([confirm("invoke_subagent")], "start_subagent", CONFIRM),
    ([allow("start_subagent"), deny("invoke_subagent")], "start_subagent", ALLOW),
    ([deny("invoke_subagent")], "start_subagent", DENY),
    ([deny("start_subagent")], "invoke_subagent", DENY),
    ([deny("start_subagent")], "start_subagent", DENY),
    ([deny_all(), allow("invoke_subagent")], "start_subagent", ALLOW),
    # an MCP call is matched by its full name only
    ([deny("mcp_git_push")], "mcp_git_push", DENY),
    ([deny("push")], "mcp_git_push", None),
    ([deny("mcp_git_push")], "push", None),
    ([deny("git_push")], "mcp_git_push", None),
    ([deny("mcp_git_*")], "mcp_git_push", None),
    ([deny("mcp_git_")], "mcp_git_push", None),
    ([deny("mcp_git")], "mcp_git_push", None),
    ([deny("mcp_git_push")], "mcp_git_push_all", None),
    ([deny("mcp_hub_push")], "mcp_git_push", None),
    ([deny("run_command")], "mcp_shell_run_command", None),
    ([deny_all(), allow("mcp_git_push")], "mcp_git_push", ALLOW),
    ([deny_all(), allow("push")], "mcp_git_push", DENY),
    ([deny_all(), allow("run_command")], "mcp_shell_run_command", DENY),
    # names are matched whole and as they are
    ([deny("view")], "view_file", None),
    ([deny("view_*")], "view_file", None),
    ([deny("VIEW_FILE")], "view_file", None),
]


@pytest.mark.parametrize(
    ("rules", "name", "effect"),
    TABLE,
    ids=[f"{'+'.join(map(str, rules)) or 'none'}:{name}" for rules, name, _ in TABLE],
)
def test_evaluate_when_rules_meet_a_call_then_the_tiers_decide(
    rules: list[Policy], name: str, effect: Effect | None
) -> None:
    """Exact names first, then wildcards; in each the first rule that matches."""
    call = ToolInvocation(name)
    assert evaluate(rules, call).effect is effect
    assert PolicySet(rules).evaluate(call).effect is effect
    assert (effect is DENY) == bool(evaluate(rules, call).reason)


def test_evaluate_when_only_exact_and_wildcard_mix_then_order_between_tiers_is_nothing() -> None:
    """Moving wildcards among exact rules, each in its own order, never changes a decision."""
    exact, wild = [deny("a"), allow("b")], [allow("*", when=no), deny_all()]
    for name in ("a", "b", "c"):
        found = set()
        for positions in itertools.combinations(range(4), 2):
            rules = list(wild)
            for position, rule in zip(positions, exact, strict=True):
                rules.insert(position, rule)
            found.add(evaluate(rules, ToolInvocation(name)).effect)
        assert len(found) == 1, name


def test_evaluate_when_a_rule_decides_then_it_is_named() -> None:
    """The decision carries the rule that made it."""
    rules = [deny("view_file", when=no), deny("view_file", "private")]
    decision = evaluate(rules, ToolInvocation("view_file"))
    assert decision == PolicyDecision(DENY, rules[1], "private")


def test_evaluate_when_denied_without_reason_then_one_is_made() -> None:
    """The model is always told something it can act on."""
    assert evaluate([deny_all()], ToolInvocation("view_file")).reason == (
        "view_file is denied by policy"
    )


def test_evaluate_when_a_condition_raises_then_the_reason_says_what() -> None:
    """A broken condition is visible in the reason."""
    reason = evaluate([allow("view_file", when=raises)], ToolInvocation("view_file")).reason
    assert "view_file" in reason
    assert "no such thing" in reason


def test_evaluate_when_conditions_read_the_call_then_arguments_decide() -> None:
    """A condition gets the whole call."""
    rules = [allow("view_file", when=in_repo), deny("view_file")]
    inside = ToolInvocation("view_file", {"path": "/repo/a"})
    outside = ToolInvocation("view_file", {"path": "/etc/passwd"})
    nameless = ToolInvocation("view_file")
    assert [evaluate(rules, call).effect for call in (inside, outside, nameless)] == [
        ALLOW,
        DENY,
        DENY,  # the condition raised: there is no path
    ]


def test_evaluate_when_a_rule_does_not_match_the_name_then_its_condition_is_not_run() -> None:
    """Conditions run only for calls of their own tool, and not after the decision."""
    seen: list[str] = []

    def note(call: ToolInvocation) -> bool:
        seen.append(call.name)
        return True

    rules = [deny("run_command", when=note), allow("view_file"), deny("*", when=note)]
    assert evaluate(rules, ToolInvocation("view_file")).effect is ALLOW
    assert seen == []


def test_evaluate_when_a_condition_is_interrupted_then_the_interrupt_goes_up() -> None:
    """Ctrl-C in a condition is no answer."""

    def interrupted(_call: ToolInvocation) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate([allow("x", when=interrupted)], ToolInvocation("x"))


def test_evaluate_when_given_an_iterator_then_read_once() -> None:
    """Any iterable of rules will do."""
    rules = iter([deny_all(), allow("view_file")])
    assert evaluate(rules, ToolInvocation("view_file")).effect is ALLOW


def test_rule_when_made_from_a_member_then_its_plain_name() -> None:
    """A `BuiltinTool` may be given for the name."""
    rule = allow(BuiltinTool.START_SUBAGENT)
    assert (rule.name, str(rule)) == ("start_subagent", "allow(start_subagent)")
    assert evaluate([rule], ToolInvocation("invoke_subagent")).effect is ALLOW


@pytest.mark.parametrize("name", ["", "  ", None, 5, []])
@pytest.mark.parametrize("make", [allow, deny, confirm])
def test_rule_when_it_has_no_name_then_config_error(make: Any, name: object) -> None:
    """A rule for nothing is a mistake."""
    with pytest.raises(ConfigError, match="tool name"):
        make(name)


class Later:
    async def __call__(self, _call: ToolInvocation) -> bool:
        return True


@pytest.mark.parametrize("function", [5, "yes", in_time, Later(), functools.partial(in_time)])
@pytest.mark.parametrize(
    "make",
    [
        lambda function: allow("x", when=function),
        lambda function: deny("x", when=function),
        lambda function: confirm("x", function),
    ],
)
def test_rule_when_its_function_cannot_be_called_plainly_then_config_error(
    make: Any, function: object
) -> None:
    """A coroutine is true, so a coroutine function for a condition would always hold."""
    with pytest.raises(ConfigError, match="function"):
        make(function)


@pytest.mark.parametrize("reason", [5, None, "\ud800"])
def test_deny_when_the_reason_is_no_text_then_config_error(reason: object) -> None:
    """The reason goes to the model and must be text; a condition in its place is a mistake."""
    with pytest.raises(ConfigError, match="reason"):
        deny("x", reason)  # type: ignore[arg-type]


def test_rules_when_compared_then_values() -> None:
    """Rules are values, equal when they say the same."""
    assert deny("view_file", "r") == deny(BuiltinTool.VIEW_FILE, "r")
    assert len({allow_all(), allow("*"), deny_all()}) == 2


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ([], "view_file is allowed: no policy matches it"),
        ([allow_all()], "view_file is allowed by allow(*)"),
        ([deny("view_file")], "view_file is denied by deny(view_file)"),
        ([deny("view_file", when=yes)], "view_file is denied by deny(view_file) when …"),
        ([confirm("*")], "view_file is put to its handler by confirm(*)"),
    ],
)
def test_explain_when_asked_then_one_sentence(rules: list[Policy], sentence: str) -> None:
    """`explain` says what happens and which rule says so."""
    assert explain(rules, ToolInvocation("view_file")) == sentence


# ── many rules, sorted once ─────────────────────────────────────────────────────────────────────


def random_rules(chance: random.Random) -> list[Policy]:
    names = ["view_file", "run_command", "finish", "ask_question", "start_subagent"]
    names += ["invoke_subagent", "mcp_git_push", "*", "*", "*"]
    conditions = [None, None, None, yes, no, raises]

    def rule() -> Policy:
        name, when = chance.choice(names), chance.choice(conditions)
        return chance.choice(
            [allow(name, when), deny(name, f"reason {chance.random()}", when), confirm(name)]
        )

    return [rule() for _ in range(chance.randrange(8))]


def test_policy_set_when_asked_anything_then_says_what_evaluate_says() -> None:
    """Sorting the rules first changes no decision: not the effect, nor the rule, nor the reason."""
    for seed in range(3000):
        chance = random.Random(seed)
        rules = random_rules(chance)
        sorted_rules = PolicySet(rules)
        for name in ("view_file", "finish", "ask_question", "invoke_subagent", "mcp_git_push", "x"):
            call = ToolInvocation(name)
            assert sorted_rules.evaluate(call) == evaluate(rules, call), (seed, name)


def test_policy_set_when_asked_then_conditions_run_as_in_evaluate() -> None:
    """The same conditions are asked, in the same order, and no more of them."""
    for seed in range(500):
        chance = random.Random(seed)
        seen: list[int] = []

        def note(number: int, *, holds: bool, seen: list[int] = seen) -> Any:
            return lambda _call: (seen.append(number), holds)[1]

        names = ["view_file", "*", "run_command"]
        rules = [
            allow(chance.choice(names), note(number, holds=chance.random() < 0.2))
            if chance.random() < 0.8
            else deny(chance.choice(names))
            for number in range(10)
        ]
        call = ToolInvocation("view_file")
        evaluate(rules, call)
        asked = seen.copy()
        seen.clear()
        PolicySet(rules).evaluate(call)
        assert seen == asked, seed


def test_policy_set_when_made_of_an_iterator_then_keeps_its_rules() -> None:
    """A set is a value, equal to one of the same rules."""
    rules = (deny_all(), allow("view_file"))
    assert PolicySet(iter(rules)) == PolicySet(rules)
    assert PolicySet(iter(rules)).policies == rules


# ── workspace_only ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path / "ws"


def view(path: object) -> ToolInvocation:
    return ToolInvocation("view_file", {"absolute_path": str(path)})


def effects(rules: list[Policy], call: ToolInvocation) -> Effect | None:
    decision = evaluate(rules, call)
    assert PolicySet(rules).evaluate(call) == decision
    return decision.effect


@pytest.mark.parametrize(
    "others",
    [[], [allow_all()], [allow("view_file")], [allow("view_file", when=yes)], [confirm("*")]],
)
def test_workspace_only_when_a_path_is_outside_then_denied_whatever_else(
    ws: Path, others: list[Policy]
) -> None:
    """It is asked first, wherever it stands, and no other rule overrules it."""
    only = workspace_only(ws)
    (ws / "link").symlink_to(ws.parent / "out")
    for path in ("/etc/passwd", ws.parent / "out", ws / "link" / "new", f"{ws}2", "relative"):
        assert effects([only, *others], view(path)) is DENY
        assert effects([*others, only], view(path)) is DENY


def test_workspace_only_when_a_path_is_inside_then_other_rules_decide(ws: Path) -> None:
    """It says nothing on what is inside, nor on tools without paths."""
    only = workspace_only(ws)
    assert effects([only], view(ws / "new")) is None
    assert effects([only, deny_all()], view(ws / "new")) is DENY
    assert effects([allow("view_file"), only], view(ws / "new")) is ALLOW
    for name in ("finish", "my_tool", "mcp_fs_view_file", "search_web"):
        call = ToolInvocation(name, {"absolute_path": "/etc/passwd", "path": "/etc"})
        assert effects([only], call) is None
    assert effects([only], ToolInvocation("view_file", {}, server_name="fs")) is None


def test_workspace_only_when_it_denies_then_the_reason_names_the_path(ws: Path) -> None:
    """The model is told which path, and where it may go; `explain` names the rule."""
    only = workspace_only(ws)
    decision = evaluate([allow_all(), only], view("/etc/passwd"))
    assert decision.policy is only
    assert "/etc/passwd" in decision.reason
    assert str(ws) in decision.reason
    assert explain([only], view("/etc/passwd")) == f"view_file is denied by workspace_only({ws})"
    assert str(only) == f"workspace_only({ws})"


def test_workspace_only_when_there_are_several_then_all_must_be_content(ws: Path) -> None:
    """Two fences leave what is inside of both."""
    both = [workspace_only(ws.parent), workspace_only(ws)]
    assert effects(both, view(ws / "a")) is None
    assert effects(both, view(ws.parent / "out")) is DENY
    assert effects([workspace_only(ws, ws.parent / "out")], view(ws.parent / "out")) is None


def test_workspace_only_when_not_bound_then_no_path_passes(ws: Path) -> None:
    """Without paths it means the agent's workspaces, and before it knows them it is closed."""
    only = workspace_only()
    assert effects([only], view(ws)) is DENY
    assert "workspaces" in evaluate([only], view(ws)).reason
    assert effects([only], ToolInvocation("my_tool", {"absolute_path": "/"})) is None
    bound = only.bind([str(ws)])
    assert effects([bound], view(ws)) is None
    assert effects([bound], view(ws.parent / "out")) is DENY
    assert PolicySet([only]).bind([str(ws)]) == PolicySet([bound])


def test_bind_when_the_rule_has_paths_then_they_stay(ws: Path) -> None:
    """Paths that were given are meant; only where commands start is learned."""
    bound = workspace_only(ws).bind([str(ws.parent / "out")], str(ws))
    assert effects([bound], view(ws)) is None
    assert effects([bound], view(ws.parent / "out")) is DENY
    command = ToolInvocation("run_command", {"command_line": "ls"})
    assert effects([bound], command) is None
    assert effects([workspace_only(ws)], command) is DENY
    assert effects([workspace_only(ws).bind([], str(ws.parent))], command) is DENY


@pytest.mark.parametrize("rule", [allow_all(), deny("x", when=yes), confirm("x", yes)])
def test_bind_when_another_rule_then_itself(rule: Policy) -> None:
    """Other rules have nothing to learn."""
    assert rule.bind(["/ws"], "/ws") is rule
    assert not rule.is_guard


@pytest.mark.parametrize("path", ["", 5, None, "a\0b", "~nobody-of-that-name"])
def test_workspace_only_when_given_no_path_then_config_error(path: Any) -> None:
    """What is no path is found when the rule is written."""
    with pytest.raises(ConfigError, match="workspace_only"):
        workspace_only(path)


def test_workspace_only_when_compared_then_a_value(ws: Path) -> None:
    """Paths are real ones, so a link to a directory is that directory."""
    (ws.parent / "alias").symlink_to(ws)
    assert workspace_only(ws.parent / "alias") == workspace_only(str(ws))
    assert len({workspace_only(), workspace_only(ws), deny_all()}) == 3


# ── names that nobody has ───────────────────────────────────────────────────────────────────────

KNOWN = [tool.value for tool in BuiltinTool]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        # what the model calls them
        ("list_dir", "list_directory"),
        ("grep_search", "search_directory"),
        ("find_by_name", "find_file"),
        ("write_to_file", "create_file"),
        ("replace_file_content", "edit_file"),
        ("multi_replace_file_content", "edit_file"),
        # slips
        ("run_comand", "run_command"),
        ("runCommand", "run_command"),
        ("viewfile", "view_file"),
        ("RUN_COMMAND", None),
        ("get_wether", "get_weather"),
        ("zzz", None),
        ("view_*", "view_file"),
        ("push", None),
    ],
)
def test_unknown_names_when_no_tool_has_it_then_what_may_be_meant(
    name: str, meant: str | None
) -> None:
    """A rule that can never match is found, with a guess at what it was to be."""
    rules = [deny_all(), deny(name), allow("run_command"), workspace_only("/")]
    assert unknown_names(rules, [*KNOWN, "get_weather"]) == {name: meant}


def test_unknown_names_when_a_tool_has_it_then_not_listed() -> None:
    """Built-in tools under both names, your own, and all tools of a server are known."""
    rules = [*map(deny, [*KNOWN, "invoke_subagent", "mine", "mcp_git_push", "mcp_hub_x"])]
    assert unknown_names(rules, [*KNOWN, "mine", "mcp_hub_x"], ["git"]) == {}
    assert unknown_names(rules, [*KNOWN, "mcp_hub_x"]) == {
        "mine": None,
        "mcp_git_push": None,
    }
    assert unknown_names([deny("start_subagent")], ["invoke_subagent"]) == {}
    assert unknown_names([], []) == {}


def test_unknown_names_when_the_guess_is_not_known_then_no_guess() -> None:
    """What is guessed is a tool that there is."""
    assert unknown_names([deny("list_dir")], ["view_file"]) == {"list_dir": None}


@pytest.mark.parametrize("make", [allow, deny, confirm])
def test_rule_when_its_name_is_no_text_then_config_error(make: Any) -> None:
    """Names go over the wire."""
    with pytest.raises(ConfigError, match="surrogate"):
        make("view_\ud800")


def test_module_when_imported_from_the_top_then_the_same() -> None:
    """`from antigravity_sync import policy` is this module."""
    assert policy.allow_all is allow_all
