"""What runs beside the main trajectory, by version."""

from __future__ import annotations

import pytest

from antigravity_sync._core.background import Background
from antigravity_sync.responses import Action
from tests.stage import SUB, rules_of, state, step, tool

NEW, OLD = "0.1.22", "0.1.7"
MAKE = Action("run_command", {"command_line": "make"})


def background(version: str) -> Background:
    return Background(rules_of(version))


@pytest.mark.parametrize(("version", "holds"), [(OLD, True), (NEW, False)])
def test_subagents_when_they_run_then_they_hold_only_old_turns(version: str, holds: bool) -> None:
    """Since 0.1.8 the harness itself keeps the main trajectory busy for them."""
    beside = background(version)
    assert not beside.holds_turn
    beside.take_state(state("RUNNING", SUB))
    beside.take_state(state("FOO", "sub-2"))
    assert beside.holds_turn is holds
    beside.take_state(state("IDLE", SUB))
    assert beside.holds_turn is holds
    beside.take_state(state("CANCELLED", "sub-2"))
    assert not beside.holds_turn


def test_commands_when_they_begin_and_end_then_those_that_run_are_listed() -> None:
    """A command is open from its first frame to its last; other steps are no commands."""
    beside = background(NEW)
    beside.take_step(step(1, "text", "ACTIVE"))
    beside.take_step(tool(2))
    beside.take_step(tool(2, trajectory_id=SUB))
    beside.take_step(tool(3, "DONE"))
    assert beside.tasks == (MAKE, MAKE)
    beside.take_step(step(2, "failed", "ERROR"))  # its action may be gone by then
    beside.take_step(tool(2, "DONE", trajectory_id=SUB))
    assert (beside.tasks, beside.has_tasks) == ((), False)


def test_commands_when_a_new_turn_begins_then_the_old_ones_are_not_new() -> None:
    """What an earlier turn has left is known, what this one leaves is new."""
    beside = background(NEW)
    beside.take_step(tool(1))
    assert beside.has_new_tasks
    beside.begin_turn()
    assert not beside.has_new_tasks
    beside.take_step(tool(5))
    assert beside.has_new_tasks


def test_wait_when_an_earlier_turn_has_waited_then_there_is_none() -> None:
    """Until the main trajectory was idle, or something new runs, the wait is over."""
    beside = background(NEW)
    beside.begin_turn()
    assert beside.wait() == 60.0  # whatever it is that runs unseen
    beside.take_step(tool(1))
    beside.leave()
    beside.begin_turn()
    assert beside.wait() == 0.0
    beside.take_step(tool(3))
    assert beside.wait() == 60.0
    beside.rest()
    beside.begin_turn()
    assert beside.wait() == 60.0


@pytest.mark.parametrize(("version", "left"), [(OLD, (MAKE,)), (NEW, ())])
def test_rest_when_the_main_is_idle_then_only_old_versions_may_still_run_commands(
    version: str, left: tuple[Action, ...]
) -> None:
    """Since 0.1.8 idle means that nothing runs, even what never showed its last frame."""
    beside = background(version)
    beside.take_step(tool(1))
    beside.rest()
    assert beside.tasks == left


def test_forget_when_the_connection_is_gone_then_nothing_is_known() -> None:
    """News of what ran went with it."""
    beside = background(OLD)
    beside.take_state(state("RUNNING", SUB))
    beside.take_step(tool(1))
    beside.leave()
    beside.forget()
    assert (beside.holds_turn, beside.tasks, beside.wait()) == (False, (), 60.0)
