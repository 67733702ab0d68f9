"""What a turn has used of its budget.

The harness has budgets too (0.1.11 and newer), which cannot stand in for this one: theirs is for
the whole conversation, so that each turn after the one that used it up gets a single model call and
no tool; and an answer that takes the last of it counts as cut off.

A model call is over when its tokens are reported. Up to 0.1.6 the tool calls it makes are asked
about before or after that, whichever comes; newer harnesses ask about each while the model speaks,
so that all are known by then, and one that is asked about belongs to a call yet to be reported.
"""

from __future__ import annotations

from collections import Counter

import attrs

from .._messages import StepFrame
from ..limits import Budget
from ..responses import Usage
from .answers import PRE_TOOL, asked_action
from .asks import Ask, AskKind
from .rules import SessionRules
from .toolsteps import FINISH, read_action


@attrs.define
class Meter:
    """The count of one turn.

    Attributes:
        main_id: The main trajectory.
        rules: Facts about the harness, and what the turn may use.
        model_calls: Model calls that were answered, those of subagents included.
        tool_calls: Tool calls that were asked about, or seen where nobody asks.
        fresh_calls: Those of them since the last report of tokens.
        spent: The name of the limit that is reached, `""` as long as there is none.
    """

    main_id: str = ""
    rules: SessionRules = attrs.field(factory=SessionRules)
    model_calls: int = 0
    tool_calls: int = 0
    fresh_calls: int = 0
    spent: str = ""
    _asked_ids: set[str] = attrs.field(factory=set)
    _asked_names: Counter[str] = attrs.field(factory=Counter)
    _seen_steps: set[tuple[str, int]] = attrs.field(factory=set)

    @property
    def is_on(self) -> bool:
        """Whether there is anything to keep to."""
        return self.rules.budget is not None

    def take_report(self, used: Usage, *, has_open_calls: bool) -> str:
        """Take in that a model call is over; return the name of the limit that ends the turn.

        Args:
            used: What the turn has used so far.
            has_open_calls: Whether tool calls are waited for; the model is called again after them.
        """
        self.model_calls += 1
        fresh, self.fresh_calls = self.fresh_calls, 0
        was_spent = self.spent
        if not was_spent and self.rules.budget is not None:
            self.spent = _reached(self.rules.budget, self.model_calls, used)
        goes_on = has_open_calls or (fresh > 0 and not self.rules.reports_before_calls)
        return self.spent if was_spent or goes_on else ""

    def take_ask(self, ask: Ask, *, is_midway: bool = False) -> str:
        """Take in an ask; return the name of the limit that keeps its call from running.

        Args:
            ask: What the harness waits for.
            is_midway: Whether a text of the model has not ended, so that a report is to come.
        """
        budget = self.rules.budget
        if budget is None or not self._is_new_call(ask):
            return ""
        over = self._count()
        is_early = is_midway if self.rules.reports_before_calls else ask.kind is AskKind.HOOK
        limit = budget.model_calls
        if not over and is_early and limit is not None and self.model_calls + 1 >= limit:
            return "MAX_MODEL_CALLS_EXCEEDED"
        return over

    def take_step(self, frame: StepFrame) -> str:
        """Take in a step of a subagent whose calls nobody asks about; return as `take_ask` does."""
        key = (frame.trajectory_id, frame.index)
        if (
            self.rules.budget is None
            or self.rules.asks_for_subagents
            or not self._is_foreign(frame.trajectory_id)
            or key in self._seen_steps
            or read_action(frame) is None
        ):
            return ""
        self._seen_steps.add(key)
        return self._count()

    def _count(self) -> str:
        self.tool_calls += 1
        self.fresh_calls += 1
        budget = self.rules.budget
        limit = None if budget is None else budget.tool_calls
        if limit is not None and self.tool_calls > limit:
            return "MAX_TOOL_CALLS_EXCEEDED"
        return self.spent

    def _is_new_call(self, ask: Ask) -> bool:
        """Return whether an ask is the first about its call; those of one call look different."""
        if ask.name == FINISH:
            return False
        match ask.kind:
            case AskKind.HOOK if ask.hook_type == PRE_TOOL:
                if not self.rules.asks_for_subagents and self._is_foreign(ask.trajectory_id):
                    return False  # counted by what follows: a step, or the request to run it
                if ask.call_id:
                    self._asked_ids.add(ask.call_id)
                else:
                    self._asked_names[asked_action(ask).name] += 1
                return True
            case AskKind.TOOL:
                name = asked_action(ask).name
                if ask.call_id in self._asked_ids:
                    return False
                if self._asked_names[name] > 0:
                    self._asked_names[name] -= 1
                    return False
                return True
            case AskKind.CONFIRMATION:
                # A custom call is confirmed without a name and then asked for.
                return ask.name != ""
            case _:
                return False

    def _is_foreign(self, trajectory_id: str) -> bool:
        return trajectory_id not in ("", self.main_id)


def _reached(budget: Budget, model_calls: int, used: Usage) -> str:
    """Return the name of a limit that leaves nothing for another model call."""
    output = (used.candidates_tokens or 0) + (used.thoughts_tokens or 0)
    counts = (
        (budget.model_calls, model_calls, "MAX_MODEL_CALLS_EXCEEDED"),
        (budget.input_tokens, used.prompt_tokens or 0, "MAX_INPUT_TOKENS_EXCEEDED"),
        (budget.output_tokens, output, "MAX_OUTPUT_TOKENS_EXCEEDED"),
        (budget.total_tokens, used.total_tokens or 0, "MAX_TOTAL_TOKENS_EXCEEDED"),
    )
    for limit, count, name in counts:
        if limit is not None and count >= limit:
            return name
    return ""
