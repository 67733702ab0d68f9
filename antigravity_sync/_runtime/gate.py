"""Whether a tool call may run: containment, then policies, then `on_pre_tool`; on the pump."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

from .._arguments import doubled, respelled
from .._core.answers import asked_action
from .._core.asks import Ask, AskKind
from .._core.replies import Reply, Rewritten
from ..containment import Containment
from ..hooks import Hooks, Run, ToolInvocation, decide_tool, wanted
from ..policy import Effect, PolicyDecision, PolicySet
from ..responses import Allowed, Denied, JsonObject
from .delegation import Delegation

_log: Final = logging.getLogger("antigravity_sync.runtime")

_REMEMBERED: Final = 1024
#: Of two decisions about one call the higher counts.
_STRICTNESS: Final = {None: 0, Effect.ALLOW: 0, Effect.CONFIRM: 1, Effect.DENY: 2}

#: Asks a person about a call and comes back with the answer, on the pump.
AskPerson = Callable[
    [Callable[[ToolInvocation], bool], ToolInvocation, Callable[[Reply], None]], None
]


@attrs.define(eq=False)
class Gate:
    """Decides about calls, each once, whichever way the version asks about them.

    Attributes:
        policies: The rules, bound to the agent's workspaces.
        hooks: The user's hooks.
        containment: The fence, `None` where the user wants none.
        ask_person: Puts a question to the thread that may wait for a person.
        run: Calls a hook.
        can_rewrite: Whether arguments can be rewritten before the harness runs a call (not on
            0.1.5 and 0.1.6).
        has_hooks: Whether the harness calls tool hooks of its own (not on 0.1.5).
        has_compaction_hook: Whether it calls one that tells the summary of a compaction.
        delegation: What subagents may be started and use, `None` where nothing bounds them.
        runs_user_code: Whether a decision may run a predicate or a hook, on the pump.
    """

    policies: PolicySet
    hooks: tuple[Hooks, ...]
    containment: Containment | None
    ask_person: AskPerson
    run: Run
    can_rewrite: bool = True
    has_hooks: bool = True
    has_compaction_hook: bool = False
    delegation: Delegation | None = None
    runs_user_code: bool = attrs.field(init=False)
    _has_pre_hook: bool = attrs.field(init=False)
    _passed: OrderedDict[str, ToolInvocation] = attrs.field(factory=OrderedDict)
    _passed_names: Counter[str] = attrs.field(factory=Counter)

    @runs_user_code.default
    def _look_for_user_code(self) -> bool:
        rules = self.policies.policies
        has_predicate = any(rule.when is not None and not rule.is_guard for rule in rules)
        return has_predicate or "on_pre_tool" in wanted(self.hooks)

    @_has_pre_hook.default
    def _look_for_pre_hook(self) -> bool:
        return "on_pre_tool" in wanted(self.hooks)

    def decide(self, ask: Ask, then: Callable[[Reply], None]) -> None:
        """Find out whether a call may run and hand the reply to `then`, now or later, on the pump.

        Only a rule that asks a person makes it later.
        """
        call = invocation(ask)
        if _is_strange(ask):
            then = _told(call.name, then)
        twice = doubled(ask.name, ask.raw_args, ask.server_name)
        if twice is not None:
            then(Denied(f"{call.name} was given {twice} more than once; give it once"))
            return
        problem = self._problem(call)
        if problem is not None:
            then(Denied(problem))
            return
        decision = self._evaluate(ask, call)
        if decision.effect is Effect.DENY:
            then(Denied(decision.reason))
        elif decision.effect is Effect.CONFIRM and decision.policy and decision.policy.handler:
            self.ask_person(
                decision.policy.handler,
                call,
                lambda reply: then(
                    self._ask_hooks(ask, call, decision) if reply == Allowed() else reply
                ),
            )
        else:
            then(self._ask_hooks(ask, call, decision))

    def _problem(self, call: ToolInvocation) -> str | None:
        """Return what speaks against a call before any rule is asked."""
        problem = None if self.delegation is None else self.delegation.check(call)
        if problem is None and self.containment is not None:
            problem = self.containment.check(call)
        return problem

    def _evaluate(self, ask: Ask, call: ToolInvocation) -> PolicyDecision:
        """Return what the rules say; where a step does not tell two tools apart, the stricter.

        A step says `edit_file` of a call of `create_file` too, and 0.1.5 shows nothing else.
        """
        decision = self.policies.evaluate(call)
        if ask.kind is not AskKind.CONFIRMATION or call.name != "edit_file":
            return decision
        other = self.policies.evaluate(attrs.evolve(call, name="create_file"))
        return max(decision, other, key=lambda each: _STRICTNESS[each.effect])

    def has_passed(self, ask: Ask) -> bool:
        """Return whether a tool call was let through when the hook asked about it before."""
        if ask.call_id in self._passed:
            return True
        name = asked_action(ask).name
        if self._passed_names[name] > 0:
            # 0.1.6–0.1.9 give the hook no call id; there each call of a name is asked about first.
            self._passed_names[name] -= 1
            return True
        return False

    def passed(self, call_id: str) -> ToolInvocation | None:
        """Return a call as it was let through, `None` if that is not known."""
        return self._passed.get(call_id)

    def _ask_hooks(self, ask: Ask, call: ToolInvocation, decision: PolicyDecision) -> Reply:
        if not self._has_pre_hook:
            if decision.effect is Effect.CONFIRM and not (
                decision.policy and decision.policy.handler
            ):
                return Denied(f"{call.name} needs a confirmation and nobody can give one")
            if decision.effect is None and _is_strange(ask):
                return Denied(f"{call.name} is unknown and no policy allows it")
            return self._pass(ask, call)
        said = decide_tool(self.hooks, call, self.run)
        if not said.is_allowed:
            return Denied(said.reason)
        if said.args is None:
            return self._pass(ask, call)
        return self._rewrite(ask, call, said.args)

    def _rewrite(self, ask: Ask, call: ToolInvocation, args: JsonObject) -> Reply:
        changed = attrs.evolve(call, args=args)
        problem = self._problem(changed)
        if problem is not None:
            return Denied(problem)
        if ask.kind is not AskKind.TOOL and not self.can_rewrite:
            _log.warning("%s was denied: this harness cannot rewrite its arguments", call.name)
            return Denied(f"the arguments of {call.name} cannot be changed on this harness")
        self._pass(ask, changed)
        return Rewritten(respelled(ask.name, ask.raw_args, args, ask.server_name))

    def _pass(self, ask: Ask, call: ToolInvocation) -> Allowed:
        if ask.kind is AskKind.HOOK:
            if ask.call_id:
                self._passed[ask.call_id] = call
                if len(self._passed) > _REMEMBERED:
                    self._passed.popitem(last=False)
            else:
                self._passed_names[call.name] += 1
        return Allowed()


def invocation(ask: Ask) -> ToolInvocation:
    """Return the call that an ask is about, as policies and hooks see it."""
    action = asked_action(ask)
    return ToolInvocation(
        action.name,
        action.args,
        ask.raw_args,
        ask.server_name,
        ask.call_id,
        ask.trajectory_id,
        ask.is_main,
    )


def _told(name: str, then: Callable[[Reply], None]) -> Callable[[Reply], None]:
    """Return `then` with a warning before it (R81)."""

    def take(reply: Reply) -> None:
        how = "denied" if isinstance(reply, Denied) else "allowed"
        _log.warning("the harness wants to do %s, which this SDK does not know: %s", name, how)
        then(reply)

    return take


def _is_strange(ask: Ask) -> bool:
    """Return whether a waiting step acts in a way that nobody knows (R77)."""
    return ask.kind is AskKind.CONFIRMATION and ask.is_unknown
