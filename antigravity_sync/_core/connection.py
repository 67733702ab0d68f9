"""The connection comes and goes; the process may go too."""

from __future__ import annotations

from collections import deque

from .. import _messages as m
from .actions import Failure, FailureKind, Lose
from .inputs import Attached, Detach, HarnessExited, InputDropped, LinkClosed, Shutdown
from .phases import FINAL_PHASES, Phase, Signal
from .rules import EXIT_GRACE
from .state import State
from .steps import StepRecord
from .timers import Timer


def take_attached(state: State, happened: Attached, _now: float) -> None:
    init = happened.init
    if state.phase in FINAL_PHASES:
        return
    if happened.is_new:
        state.forget_conversation()
    if not state.main_id:
        state.main_id = init.cascade_id
        state.name = happened.name
        state.initial_history = tuple(
            StepRecord(f.trajectory_id == init.cascade_id, f, action_frame=f).step()
            for f in init.history
        )
        state.history = deque(maxlen=state.rules.max_history)
        state.keep(state.initial_history)
    for frame in init.history:
        if frame.trajectory_id in (state.main_id, ""):
            state.last_index = max(state.last_index, frame.index)
    if init.usage is not None:
        state.usage.take(init.usage)
    state.asks.forget()
    state.background.forget()
    state.close_code = None
    state.is_fresh_link = bool(init.history)
    state.move(Signal.ATTACHED)


def take_detach(state: State, _happened: Detach, now: float) -> None:
    if state.phase in (Phase.IDLE, Phase.BACKGROUND):
        state.break_link(now, "another conversation is wanted", at_once=True)


def take_link_closed(state: State, happened: LinkClosed, now: float) -> None:
    if not state.is_connected:
        return
    state.close_code = happened.code
    state.withdraw()
    if happened.code is None and state.phase is not Phase.BREAKING:
        # Death of the process looks like this too, and its news is on the way.
        if state.turn is None:
            state.move(Signal.BROKE)
        state.timers.set(Timer.EXIT, now + EXIT_GRACE)
        return
    detach(state, now)


def detach(state: State, now: float) -> None:
    state.timers.stop(Timer.BREAK, Timer.EXIT)
    _end_detached(state, now)
    state.move(Signal.LINK_DOWN)


def _end_detached(state: State, now: float) -> None:
    turn = state.turn
    if turn is None:
        return
    detached = Failure(FailureKind.DETACHED, close_code=state.close_code)
    state.end(now, detached if turn.halt is None else turn.halt_failure())


def take_exit(state: State, happened: HarnessExited, now: float) -> None:
    if state.phase in FINAL_PHASES:
        return
    failure = Failure(FailureKind.LOST, exit_code=happened.exit_code, close_code=state.close_code)
    state.end(now, failure)
    state.withdraw()
    state.timers.stop_all()
    state.move(Signal.DIED)
    state.out.append(Lose(failure))


def take_shutdown(state: State, _happened: Shutdown, now: float) -> None:
    if state.phase is Phase.CLOSED:
        return
    if state.phase in (Phase.RUNNING, Phase.BACKGROUND):
        state.send(m.Halt())
    state.end(now, Failure(FailureKind.CLOSED))
    state.withdraw()
    state.timers.stop_all()
    state.move(Signal.CLOSED)


def take_dropped(state: State, happened: InputDropped, now: float) -> None:
    if state.phase is Phase.RUNNING:
        state.end(now, Failure(FailureKind.INPUT_DROPPED, happened.line))
        state.break_link(now, "the harness dropped what we sent", at_once=True)
    else:
        state.note(f"the harness dropped a message: {happened.line}", is_warning=True)
