"""Rules on tool calls: which run, which are refused, which a person is asked about.

An exact name beats the wildcard `*`, whatever the order; within a tier the first rule that matches
wins; a call that no rule matches is allowed. Wildcards touch neither `finish`, which ends a
structured answer, nor `ask_question`, which has its own handler; an exact rule does.
`workspace_only` stands above both tiers: what lies outside is refused, whatever other rules say.

`evaluate` is a pure function of the rules and the call, so rules can be tested without an agent.
"""

from __future__ import annotations

import difflib
import enum
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs
from attrs.validators import optional

from ._checks import check_function, check_text, local_path
from ._paths import PATH_TOOLS
from .containment import Containment, real_roots
from .errors import ConfigError
from .hooks import ToolInvocation

WILDCARD: Final = "*"
_EXEMPT: Final = frozenset({"finish", "ask_question"})
#: Two names of one tool: the harness's hook says the first, its configuration the second.
_ALIASES: Final = {"invoke_subagent": "start_subagent"}
#: What the model calls tools that rules know by another name.
_MODEL_NAMES: Final = {
    "list_dir": "list_directory",
    "grep_search": "search_directory",
    "find_by_name": "find_file",
    "write_to_file": "create_file",
    "replace_file_content": "edit_file",
    "multi_replace_file_content": "edit_file",
}

StrPath = str | os.PathLike[str]
Predicate = Callable[[ToolInvocation], bool]
ConfirmHandler = Callable[[ToolInvocation], bool]


class Effect(enum.Enum):
    """What a rule does with a call it matches."""

    ALLOW = "allow"
    DENY = "deny"
    CONFIRM = "confirm"


def _check_name(instance: Policy, field: Any, name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"a policy needs a tool name or '*', not {name!r}")
    check_text(instance, field, name)


def _canonical(name: Any) -> Any:
    if not isinstance(name, str):
        return name
    plain = str.__str__(name)  # the value of a `BuiltinTool`
    return _ALIASES.get(plain, plain)


@attrs.frozen
class _Outside:
    """The condition of `workspace_only`: a path of the call lies outside.

    Attributes:
        roots: The directories; `None` until the agent says what its workspaces are.
        command_directory: Where a command starts that names no directory.
    """

    roots: tuple[str, ...] | None
    command_directory: str | None = None

    def problem(self, call: ToolInvocation) -> str | None:
        if self.roots is None:
            is_concerned = call.name in PATH_TOOLS and not call.server_name
            return "workspace_only() does not know the workspaces yet" if is_concerned else None
        return Containment(writable=self.roots, command_directory=self.command_directory).check(
            call
        )

    def __call__(self, call: ToolInvocation) -> bool:
        return self.problem(call) is not None

    def __str__(self) -> str:
        return f"workspace_only({', '.join(self.roots or ())})"


@attrs.frozen
class Policy:
    """One rule. Made by the functions of this module."""

    effect: Effect
    name: str = attrs.field(converter=_canonical, validator=_check_name)
    reason: str = attrs.field(default="", validator=check_text)
    when: Predicate | None = attrs.field(default=None, validator=optional(check_function))
    handler: ConfirmHandler | None = attrs.field(default=None, validator=optional(check_function))

    def bind(self, workspaces: Iterable[str], command_directory: str | None = None) -> Policy:
        """Return the rule as it is for an agent; only `workspace_only` needs to know anything.

        Args:
            workspaces: What `workspace_only()` without paths means.
            command_directory: Where a command starts that names no directory; without it such a
                command is refused.
        """
        if not isinstance(self.when, _Outside):
            return self
        roots = real_roots(workspaces) if self.when.roots is None else self.when.roots
        return attrs.evolve(self, when=_Outside(roots, command_directory))

    @property
    def is_guard(self) -> bool:
        """Return whether it stands above the tiers, as `workspace_only` does."""
        return type(self.when) is _Outside

    def __str__(self) -> str:
        if isinstance(self.when, _Outside):
            return str(self.when)
        condition = "" if self.when is None else " when …"
        return f"{self.effect.value}({self.name}){condition}"


@attrs.frozen
class PolicyDecision:
    """What the rules say about a call.

    Attributes:
        effect: `None` when no rule matched, which allows.
        policy: The rule that decided.
        reason: For a denial, what the model is told.
    """

    effect: Effect | None
    policy: Policy | None = None
    reason: str = ""


def allow(name: str, when: Predicate | None = None) -> Policy:
    """Let calls of `name` run, those for which `when(call)` holds."""
    return Policy(Effect.ALLOW, name, when=when)


def deny(name: str, reason: str = "", when: Predicate | None = None) -> Policy:
    """Refuse calls of `name`; the model is told `reason`."""
    return Policy(Effect.DENY, name, reason, when)


def confirm(name: str, handler: ConfirmHandler | None = None) -> Policy:
    """Ask `handler(call)` about calls of `name`; without one they are refused."""
    return Policy(Effect.CONFIRM, name, handler=handler)


def allow_all() -> Policy:
    """Let everything run that no exact rule refuses."""
    return Policy(Effect.ALLOW, WILDCARD)


def deny_all(reason: str = "") -> Policy:
    """Refuse everything that no exact rule lets run."""
    return Policy(Effect.DENY, WILDCARD, reason)


def workspace_only(*paths: StrPath) -> Policy:
    """Refuse the harness's own tools all paths outside, and say nothing on anything else.

    It is asked before every other rule, and an exact `allow` does not overrule it: add the
    directory instead. Paths are judged by where they really lead. Of a command only the directory
    it starts in is known.

    Args:
        paths: Directories; none means the agent's workspaces.

    Raises:
        ConfigError: One is no path.
    """
    roots = real_roots(local_path("workspace_only", path) for path in paths) if paths else None
    return Policy(Effect.DENY, WILDCARD, when=_Outside(roots))


def evaluate(policies: Iterable[Policy], call: ToolInvocation) -> PolicyDecision:
    """Return what `policies` say about `call`.

    A `when` predicate that raises denies: a rule that cannot be checked must not let a call pass.
    So does one that returns a coroutine or a generator, which would always count as true.
    """
    name = _canonical(call.name)
    guards: list[Policy] = []
    exact: list[Policy] = []
    wildcards: list[Policy] = []
    for policy in policies:
        rule = policy.name
        if rule == name:
            exact.append(policy)
        elif rule == WILDCARD:
            (guards if type(policy.when) is _Outside else wildcards).append(policy)
    return _refused(guards, call) or _first(exact + _touching(name, wildcards), call)


def _touching(name: str, wildcards: list[Policy]) -> list[Policy]:
    return [] if name in _EXEMPT else wildcards


def _rules(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    return tuple(policies)


@attrs.frozen
class PolicySet:
    """Rules sorted once, for many calls; says of each what `evaluate` says.

    Attributes:
        policies: The rules, in their order.
    """

    policies: tuple[Policy, ...] = attrs.field(converter=_rules)
    _guards: tuple[Policy, ...] = attrs.field(init=False, eq=False, repr=False)
    _chains: Mapping[str, tuple[Policy, ...]] = attrs.field(init=False, eq=False, repr=False)
    _others: tuple[Policy, ...] = attrs.field(init=False, eq=False, repr=False)

    @_guards.default
    def _pick_guards(self) -> tuple[Policy, ...]:
        return tuple(policy for policy in self.policies if policy.is_guard)

    @_chains.default
    def _sort(self) -> Mapping[str, tuple[Policy, ...]]:
        wildcards: list[Policy] = []
        exact: dict[str, list[Policy]] = {name: [] for name in _EXEMPT}
        for policy in self.policies:
            if policy.name != WILDCARD:
                exact.setdefault(policy.name, []).append(policy)
            elif not policy.is_guard:
                wildcards.append(policy)
        chains = {name: _asked(own + _touching(name, wildcards)) for name, own in exact.items()}
        return {**chains, WILDCARD: _asked(wildcards)}

    @_others.default
    def _pick_others(self) -> tuple[Policy, ...]:
        return self._chains[WILDCARD]

    def chain(self, name: str) -> tuple[Policy, ...]:
        """Return the rules that a call of a tool meets, in their order; guards are not among them.

        Args:
            name: Name of the tool, `*` for one that no exact rule is about.
        """
        return self._chains.get(_canonical(name), self._others)

    def bind(self, workspaces: Iterable[str], command_directory: str | None = None) -> PolicySet:
        """Return the set as it is for an agent; see `Policy.bind`."""
        known = tuple(workspaces)
        return PolicySet(policy.bind(known, command_directory) for policy in self.policies)

    def evaluate(self, call: ToolInvocation) -> PolicyDecision:
        """Return what the rules say about `call`."""
        return _refused(self._guards, call) or _first(self.chain(call.name), call)


def _asked(rules: list[Policy]) -> tuple[Policy, ...]:
    """Return the rules that can be asked at all: behind one that always matches is none."""
    for number, policy in enumerate(rules, 1):
        if policy.when is None:
            return tuple(rules[:number])
    return tuple(rules)


def explain(policies: Iterable[Policy], call: ToolInvocation) -> str:
    """Return one sentence on what happens to `call` and which rule says so."""
    decision = evaluate(policies, call)
    if decision.effect is None:
        return f"{call.name} is allowed: no policy matches it"
    verb = {"allow": "allowed", "deny": "denied", "confirm": "put to its handler"}
    return f"{call.name} is {verb[decision.effect.value]} by {decision.policy}"


def unknown_names(
    policies: Iterable[Policy], known: Iterable[str], mcp_servers: Iterable[str] = ()
) -> dict[str, str | None]:
    """Return the names in rules that no tool has, each with the name that may have been meant.

    Args:
        policies: The rules.
        known: Names of built-in tools, of your own, and of MCP tools as `mcp_<server>_<tool>`.
        mcp_servers: Names of servers whose tools are not known; every name of theirs will do.
    """
    names = sorted({_canonical(name) for name in known})
    prefixes = tuple(f"mcp_{server}_" for server in mcp_servers)
    unknown: dict[str, str | None] = {}
    for policy in policies:
        name = policy.name
        if name == WILDCARD or name in names or (prefixes and name.startswith(prefixes)):
            continue
        meant = _MODEL_NAMES.get(name)
        near = [meant] if meant in names else difflib.get_close_matches(name, names, 1)
        unknown[name] = near[0] if near else None
    return unknown


def _refused(guards: Iterable[Policy], call: ToolInvocation) -> PolicyDecision | None:
    for policy in guards:
        if isinstance(policy.when, _Outside):
            problem = policy.when.problem(call)
            if problem is not None:
                return PolicyDecision(Effect.DENY, policy, problem)
    return None


def _first(rules: Iterable[Policy], call: ToolInvocation) -> PolicyDecision:
    for policy in rules:
        condition = policy.when
        if condition is not None:
            try:
                holds: object = condition(call)
                if holds is False or (holds is not True and not _is_true(holds)):
                    continue
            except Exception as error:  # noqa: BLE001 - boundary: a user's predicate; failing closed is the answer
                return PolicyDecision(
                    Effect.DENY, policy, f"the policy for {call.name} failed: {error!r}"
                )
        reason = policy.reason
        if policy.effect is Effect.DENY and not reason:
            reason = f"{call.name} is denied by policy"
        return PolicyDecision(policy.effect, policy, reason)
    return PolicyDecision(None)


def _is_true(result: object) -> bool:
    if result is None:
        return False
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()  # nobody will ever wait for it, and Python would complain of that
        raise TypeError(f"it returned {type(result).__name__}, which is neither true nor false")
    return bool(result)
