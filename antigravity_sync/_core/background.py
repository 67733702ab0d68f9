"""What runs beside the main trajectory: subagents, and commands left in the background."""

from __future__ import annotations

import attrs

from .. import _messages as m
from ..responses import Action
from .rules import SessionRules
from .toolsteps import RUN_COMMAND, read_action


@attrs.define
class Background:
    """Subagents that run and commands that have not ended."""

    rules: SessionRules
    _subagents: set[str] = attrs.field(factory=set)
    _tasks: dict[tuple[str, int], m.StepFrame] = attrs.field(factory=dict)
    _tasks_before: frozenset[tuple[str, int]] = frozenset()
    _was_left: bool = False

    def forget(self) -> None:
        """Forget everything: the connection is gone, and with it the news."""
        self._subagents.clear()
        self._tasks.clear()
        self._was_left = False

    def rest(self) -> None:
        """Take in that the main trajectory is idle, which newer versions say when all has ended."""
        if not self.rules.idles_while_tasks_run:
            # Also those whose last frame never came, such as a command that a halt killed.
            self._tasks.clear()
        self._was_left = False

    def leave(self) -> None:
        """Take note that a turn has waited long enough for what runs."""
        self._was_left = True

    def begin_turn(self) -> None:
        """Take note of what runs already; the new turn does not wait for it."""
        self._tasks_before = frozenset(self._tasks)

    def take_step(self, frame: m.StepFrame) -> None:
        """Take in a step, which may be a command."""
        key = (frame.trajectory_id, frame.index)
        if frame.state == m.ERROR:  # which may no longer say what the step was about
            self._tasks.pop(key, None)
        elif frame.action == RUN_COMMAND:
            if frame.state == m.DONE:
                self._tasks.pop(key, None)
            else:
                self._tasks[key] = frame

    def take_state(self, frame: m.StateFrame) -> None:
        """Take in the state of a trajectory that is not the main one."""
        if frame.state in m.IDLE_STATES or frame.state == m.CANCELLED:
            self._subagents.discard(frame.trajectory_id)
        else:
            self._subagents.add(frame.trajectory_id)

    @property
    def holds_turn(self) -> bool:
        """Whether an idle of the main trajectory is not the end yet (up to 0.1.7)."""
        return not self.rules.coordinates_subagents and bool(self._subagents)

    @property
    def has_new_tasks(self) -> bool:
        """Whether this turn has left commands running."""
        return not self._tasks_before.issuperset(self._tasks)

    @property
    def tasks(self) -> tuple[Action, ...]:
        """The commands that run."""
        actions = (read_action(frame) for frame in self._tasks.values())
        return tuple(action for action in actions if action is not None)

    def wait(self) -> float:
        """Return how long to wait: not at all for what an earlier turn has waited for.

        Whether it runs is the harness's word: a schedule, or on 0.1.10 a command without a summary,
        shows no step that could be counted here (LIVE 6).
        """
        return self.rules.task_wait if self.has_new_tasks or not self._was_left else 0.0

    @property
    def has_tasks(self) -> bool:
        """Whether commands run."""
        return bool(self._tasks)
