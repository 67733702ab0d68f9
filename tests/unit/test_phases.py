"""The table of phases: complete, reachable, and what its docstring draws."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Final

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core import phases
from antigravity_sync._core.inputs import (
    Attached,
    CancelTurn,
    Decided,
    Detach,
    HaltReason,
    HarnessExited,
    Input,
    InputDropped,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from antigravity_sync._core.phases import (
    CONNECTED_PHASES,
    FINAL_PHASES,
    TRANSITIONS,
    TURN_PHASES,
    Phase,
    Signal,
    next_phase,
)
from antigravity_sync.errors import InternalError
from antigravity_sync.responses import Denied, Usage
from tests.stage import (
    IDLE,
    MAIN,
    RUNNING,
    SUB,
    WAITING,
    Stage,
    echo,
    failure_step,
    state,
    step,
    tool,
)

_PAIRS: Final = [(phase, signal) for phase in Phase for signal in Signal]


# -- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("phase", "signal"), _PAIRS, ids=lambda each: each.name)
def test_next_phase_when_any_pair_is_tried_then_it_is_in_the_table_or_a_defect(
    phase: Phase, signal: Signal
) -> None:
    """What the table has is a phase; what it has not is named as a defect of this package."""
    if signal in TRANSITIONS[phase]:
        assert next_phase(phase, signal) is TRANSITIONS[phase][signal]
    else:
        with pytest.raises(InternalError, match=re.escape(repr(signal.value))):
            next_phase(phase, signal)


def test_table_when_walked_from_the_start_then_every_phase_is_reached() -> None:
    """No phase is only on paper."""
    reached, open_ends = {Phase.FRESH}, [Phase.FRESH]
    while open_ends:
        for following in TRANSITIONS[open_ends.pop()].values():
            if following not in reached:
                reached.add(following)
                open_ends.append(following)
    assert reached == set(Phase) == set(TRANSITIONS)


def test_final_phases_when_left_then_only_for_one_another() -> None:
    """A session that is over stays over."""
    for phase in FINAL_PHASES:
        assert set(TRANSITIONS[phase].values()) <= FINAL_PHASES
    assert TRANSITIONS[Phase.CLOSED] == {}


def test_phase_sets_when_compared_with_the_table_then_they_agree() -> None:
    """Connected is what can lose its connection; a turn's phases are those an end leads out of."""
    assert {p for p in Phase if Signal.LINK_DOWN in TRANSITIONS[p]} == CONNECTED_PHASES
    assert {p for p in Phase if Signal.ENDED in TRANSITIONS[p]} == TURN_PHASES


def test_docstring_when_read_as_a_table_then_it_is_the_table() -> None:
    """The drawing in the module's docstring shows every transition, and no other."""
    everywhere = {Signal.DIED: Phase.LOST, Signal.CLOSED: Phase.CLOSED}
    drawn: dict[Phase, dict[Signal, Phase]] = {}
    for line in re.findall(r"^    ([A-Z]+.*)$", phases.__doc__ or "", re.MULTILINE):
        name, _, arrows = line.partition(" ")
        found = re.findall(r"([a-z ]+) → ([A-Z]+)", arrows)
        drawn[Phase[name]] = {Signal(s.strip()): Phase[p] for s, p in found}

    for phase, shown in drawn.items():
        if phase in CONNECTED_PHASES:
            shown[Signal.LINK_DOWN] = Phase.DETACHED
        if phase in CONNECTED_PHASES - {Phase.BREAKING, Phase.SETTLING}:
            shown[Signal.BROKE] = Phase.BREAKING
        if phase not in FINAL_PHASES:
            shown |= everywhere
    assert drawn == TRANSITIONS


# -- the session never leaves the table --------------------------------------------------------

_OLD: Final = "0.1.7"  # its main trajectory is idle while subagents run
_SUB_RUNS: Final = state("RUNNING", SUB)


def _fresh() -> Stage:
    return Stage()


def _idle() -> Stage:
    return Stage.of("0.1.22")


def _background() -> Stage:
    stage = Stage.of("0.1.22")
    stage.feed(RUNNING)
    return stage


def _running() -> Stage:
    stage = Stage.of("0.1.22")
    stage.begin()
    return stage


def _starting() -> Stage:
    stage = Stage.of("0.1.22")
    stage.start(timeout=5.0)
    return stage


def _waiting_for_tasks() -> Stage:
    stage = Stage.of("0.1.22")
    stage.begin(timeout=5.0)
    stage.feed(tool(1), step(2, "done"), WAITING)
    return stage


def _old_waiting_for_tasks() -> Stage:
    stage = Stage.of(_OLD)
    stage.begin(timeout=5.0)
    stage.feed(_SUB_RUNS, tool(1), step(2, "done"), IDLE)
    return stage


def _halting() -> Stage:
    stage = Stage.of("0.1.22")
    stage.begin(timeout=1.0)
    stage.cancel()
    return stage


def _settling() -> Stage:
    stage = Stage.of("0.1.22")
    stage.begin(timeout=1.0)
    stage.feed(step(1, "The", "ACTIVE"), IDLE)
    return stage


def _settling_and_running() -> Stage:
    stage = _settling()
    stage.feed(RUNNING)
    return stage


def _old_settling() -> Stage:
    stage = Stage.of(_OLD)
    stage.begin(timeout=5.0)
    stage.feed(_SUB_RUNS, step(1, "done"), IDLE)
    return stage


def _old_halted_settling() -> Stage:
    stage = Stage.of(_OLD)
    stage.begin(timeout=5.0)
    stage.feed(_SUB_RUNS, step(1, "do", "ACTIVE"))
    stage.cancel()
    stage.feed(IDLE)
    return stage


def _breaking() -> Stage:
    stage = _running()
    stage.feed(state("FULLY_IDLE", error="boom"))
    return stage


def _link_gone() -> Stage:
    stage = _running()
    stage.feed(LinkClosed(None))
    return stage


def _detached() -> Stage:
    stage = _idle()
    stage.feed(LinkClosed(1000))
    return stage


def _lost() -> Stage:
    stage = _idle()
    stage.feed(HarnessExited(1))
    return stage


def _closed() -> Stage:
    stage = _idle()
    stage.feed(Shutdown())
    return stage


_PLACES: Final[list[tuple[Callable[[], Stage], Phase]]] = [
    (_fresh, Phase.FRESH),
    (_idle, Phase.IDLE),
    (_background, Phase.BACKGROUND),
    (_starting, Phase.RUNNING),
    (_running, Phase.RUNNING),
    (_waiting_for_tasks, Phase.RUNNING),
    (_old_waiting_for_tasks, Phase.RUNNING),
    (_link_gone, Phase.RUNNING),
    (_halting, Phase.HALTING),
    (_settling, Phase.SETTLING),
    (_settling_and_running, Phase.SETTLING),
    (_old_settling, Phase.SETTLING),
    (_old_halted_settling, Phase.SETTLING),
    (_breaking, Phase.BREAKING),
    (_detached, Phase.DETACHED),
    (_lost, Phase.LOST),
    (_closed, Phase.CLOSED),
]
_ASK: Final = m.HookFrame("hook_1", "LIFECYCLE_HOOK_PRE_TOOL", {"toolName": "view_file"})
_INPUTS: Final[list[Input]] = [
    *(state(name, who) for name in ("RUNNING", "FOO", "WAITING_FOR_TASKS") for who in (MAIN, SUB)),
    *(state("FULLY_IDLE", who, error=error) for error in ("", "boom") for who in (MAIN, SUB)),
    *(state("CANCELLED", who, error=error) for error in ("", "no") for who in (MAIN, SUB)),
    *(step(1, "text", name) for name in ("ACTIVE", "DONE", "FOO")),
    echo(9),
    tool(9),
    failure_step(9, "boom", 400),
    step(1, "", "WAITING_FOR_USER", questions=({},), target=m.TO_ENVIRONMENT),
    m.UsageFrame(Usage(total_tokens=1)),
    m.ToolCallFrame("call_1", "mine", "{}", {}),
    _ASK,
    m.PolicyFrame("1", args={"toolName": "view_file"}),
    m.UnknownFrame("newThing", {}, "request_1"),
    m.SessionEndFrame(),
    m.InitFrame(MAIN),
    StartTurn(7, (m.TextPart("go"),), 100.0, math.inf),
    *(CancelTurn(None, reason) for reason in HaltReason),
    CancelTurn(7),
    Decided(("hook", "hook_1"), Denied("no")),
    InputDropped("dropped"),
    Detach(),
    LinkClosed(1000),
    LinkClosed(None),
    HarnessExited(0),
    Tick(),
    Shutdown(),
]


@pytest.mark.parametrize(("place", "phase"), _PLACES, ids=lambda each: getattr(each, "name", ""))
def test_session_when_anything_happens_in_any_phase_then_the_table_has_it(
    place: Callable[[], Stage], phase: Phase
) -> None:
    """Any two inputs in a row, and all timers after them, lead to no missing pair."""
    assert place().phase is phase
    for first, second in itertools.product(_INPUTS, _INPUTS):
        stage = place()
        stage.feed(first, second)
        stage.pass_time(100.0)


@pytest.mark.parametrize(("place", "phase"), _PLACES, ids=lambda each: getattr(each, "name", ""))
def test_session_when_attached_in_a_wrong_phase_then_that_is_a_defect_of_ours(
    place: Callable[[], Stage], phase: Phase
) -> None:
    """Only our own side attaches: before the first connection, after the last, or too late."""
    stage = place()
    attached = Attached(m.InitFrame(MAIN))
    if phase in (Phase.FRESH, Phase.DETACHED):
        stage.feed(attached)
        assert stage.phase is Phase.IDLE
    elif phase in FINAL_PHASES:
        assert stage.feed(attached) == []
    else:
        with pytest.raises(InternalError):
            stage.feed(attached)
