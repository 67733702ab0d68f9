"""How a turn is conducted: begun, watched, halted, and ended once."""

from __future__ import annotations

import math

from .. import _messages as m
from ..events import UsageUpdated
from . import answers, asking, connection
from .actions import CloseLink, EndTurn, Failure, FailureKind, TurnSent
from .inputs import CancelTurn, HaltReason, StartTurn, Tick
from .metering import Meter
from .phases import Phase, Signal
from .rules import (
    BREAK_GRACE,
    HALT_GRACE,
    SETTLE_GRACE,
    SETTLE_GRACE_HALTED,
    STRAY_IDLE_GRACE,
    UNHEARD_GRACE,
)
from .state import State
from .steps import StepRecord
from .timers import Timer
from .turn import Turn


def start_turn(state: State, happened: StartTurn, now: float) -> None:
    if not state.is_connected or state.phase not in (Phase.IDLE, Phase.BACKGROUND):
        _refuse_turn(state, happened, now)
        return
    state.turn = Turn(
        turn_id=happened.turn_id,
        main_id=state.main_id,
        first_index=state.last_index + 1,
        started_at=happened.started_at,
        deadline_at=happened.deadline_at,
        usage_before=state.usage.begin_turn(),
        is_trigger=bool(happened.trigger),
        trigger=happened.trigger,
        meter=Meter(state.main_id, state.rules),
    )
    state.background.begin_turn()
    state.move(Signal.STARTED)
    trigger = happened.trigger
    state.send(m.AutomatedTrigger(trigger) if trigger else m.UserInput(happened.parts))
    state.out.append(TurnSent(happened.turn_id))
    if happened.deadline_at != math.inf:
        state.timers.set(Timer.DEADLINE, happened.deadline_at)
    if trigger and state.is_fresh_link:
        state.timers.set(Timer.UNHEARD, now + UNHEARD_GRACE)
    state.is_fresh_link = False


def _refuse_turn(state: State, happened: StartTurn, now: float) -> None:
    """End a turn that cannot begin."""
    over = {Phase.LOST: FailureKind.LOST, Phase.CLOSED: FailureKind.CLOSED}
    kind = over.get(state.phase, FailureKind.DETACHED)
    turn = Turn(happened.turn_id, state.main_id, 0, happened.started_at)
    response = turn.respond(now=now, usage=None, conversation_id=state.conversation_id)
    failure = Failure(kind, close_code=state.close_code)
    state.out.append(EndTurn(happened.turn_id, response, failure))


def take_cancel(state: State, happened: CancelTurn, now: float) -> None:
    turn = state.turn
    if turn is not None and happened.turn_id in (None, turn.turn_id):
        stop_turn(state, turn, happened.reason, now)


def stop_turn(state: State, turn: Turn, reason: HaltReason, now: float) -> bool:
    """Halt the turn; return whether it was not halted or over before."""
    if turn.halt is not None:
        return False
    if state.phase is Phase.RUNNING or (
        state.phase is Phase.SETTLING and state.background.holds_turn
    ):
        _halt(state, turn, reason, now)
        return True
    return False


def _halt(state: State, turn: Turn, reason: HaltReason, now: float) -> None:
    turn.halt = reason
    turn.halts = 1
    # Now, because the halt changes all that could tell why the turn hangs.
    turn.overdue = state.timeout_failure(turn)
    state.withdraw()
    state.timers.stop(*(Timer.TASKS, Timer.DEADLINE, Timer.STRAY_IDLE, Timer.SETTLE, Timer.UNHEARD))
    state.timers.set(Timer.HALT, now + HALT_GRACE)
    state.move(Signal.HALTED)
    state.send(m.Halt())
    if reason is HaltReason.CANCELLED and turn.deadline_at < now + HALT_GRACE:
        state.timers.set(Timer.DEADLINE, turn.deadline_at)


def take_step(state: State, frame: m.StepFrame, now: float) -> None:
    is_main = frame.trajectory_id == state.main_id
    if is_main:
        state.timers.stop(Timer.UNHEARD)
        state.last_index = max(state.last_index, frame.index)
    state.background.take_step(frame)
    turn = state.turn
    if turn is not None:
        state.emit_all(turn, turn.take_step(frame))
        if state.phase is Phase.SETTLING:
            if not turn.has_open_text():
                _complete(state, turn, now)
        elif is_main:
            _watch_step(state, turn, frame, now)
    elif frame.state in (m.DONE, m.ERROR):
        state.keep((StepRecord(is_main, frame, action_frame=frame).step(),))
    if frame.state == m.WAITING and (frame.wants_confirmation or frame.questions is not None):
        asking.take_ask(state, answers.step_ask(frame), now)


def _watch_step(state: State, turn: Turn, frame: m.StepFrame, now: float) -> None:
    """Take note of what a main step says about the state of the turn."""
    if state.timers.is_on(Timer.STRAY_IDLE) and turn.echo_index is not None:
        if turn.halt is not None:
            # The halt came so early that the echo trails the idle (seen on 0.1.5, .10 and .22).
            state.timers.stop(Timer.STRAY_IDLE)
            _settle(state, turn, now)
            return
        if frame.state not in (m.DONE, m.ERROR):
            state.timers.stop(Timer.STRAY_IDLE)
    if state.phase is Phase.RUNNING:
        _watch_tasks(state, turn, now)
    elif frame.state != m.DONE:
        state.halt_again(turn)


def _watch_tasks(state: State, turn: Turn, now: float) -> None:
    """Start or stop the wait for background commands where no state announces them (0.1.9)."""
    if state.rules.announces_tasks or state.rules.idles_while_tasks_run:
        return
    if state.background.has_tasks and turn.has_answer():
        # What looks like the answer may be a word before the next call: never end at once.
        wait = max(state.background.wait(), SETTLE_GRACE)
        state.timers.set_if_off(Timer.TASKS, now + wait)
    else:
        state.timers.stop(Timer.TASKS)


def take_state(state: State, frame: m.StateFrame, now: float) -> None:
    if frame.trajectory_id != state.main_id:
        _sub_state(state, frame, now)
        return
    state.timers.stop(Timer.UNHEARD)
    turn = state.turn
    if frame.state in m.IDLE_STATES or frame.state == m.CANCELLED:
        if frame.state != m.CANCELLED:
            _forget_run(state)
        if turn is None:
            _rest(state, frame, now)
        elif state.phase is Phase.SETTLING:
            _idle_again(state, turn, frame, now)
        else:
            _terminal(state, turn, frame, now)
        return
    if frame.error:
        state.note(f"harness reports while running: {frame.error}", is_warning=True)
    if turn is None:
        if state.phase in (Phase.IDLE, Phase.BACKGROUND):
            state.move(Signal.STIRRED)
        return
    _run_on(state, turn, frame, now)


def _run_on(state: State, turn: Turn, frame: m.StateFrame, now: float) -> None:
    """Take a state of the main trajectory that does not end the turn."""
    turn.take_state(frame)
    state.timers.stop(Timer.STRAY_IDLE)
    if frame.state not in m.KNOWN_STATES:
        turn.unknown[frame.state] = None
    is_ours = state.phase is Phase.RUNNING and turn.echo_index is not None
    if frame.state == m.WAITING_FOR_TASKS and is_ours:
        state.timers.set(Timer.TASKS, now + state.background.wait())
    else:
        state.timers.stop(Timer.TASKS)
    if state.phase is Phase.HALTING:
        state.halt_again(turn)
    elif (
        state.phase is Phase.SETTLING
        and not state.rules.coordinates_subagents
        and turn.halt is None
    ):
        # Up to 0.1.7: a command in the background has ended and the model is told.
        state.timers.stop(Timer.SETTLE)
        state.move(Signal.STIRRED)


def _forget_run(state: State) -> None:
    """Take in that the main trajectory is idle: what belonged to its run is over."""
    state.background.rest()
    if state.rules.coordinates_subagents:
        state.withdraw(answers.dies_with_the_turn)


def _sub_state(state: State, frame: m.StateFrame, now: float) -> None:
    state.background.take_state(frame)
    turn = state.turn
    if turn is None or turn.echo_index is None or _must_wait(state, turn):
        return
    if state.rules.coordinates_subagents:
        return
    if state.phase is Phase.SETTLING or (state.phase is Phase.HALTING and turn.is_main_over):
        _complete(state, turn, now)


def _rest(state: State, frame: m.StateFrame, now: float) -> None:
    """Take a terminal state while no turn runs."""
    if state.phase is Phase.BREAKING:
        return
    if frame.error and frame.state != m.CANCELLED:
        state.note(f"a run nobody waited for failed: {frame.error}", is_warning=True)
        state.break_link(now, "a run failed", at_once=False)
    else:
        state.move(Signal.RESTED)


def _idle_again(state: State, turn: Turn, frame: m.StateFrame, now: float) -> None:
    """Take a terminal state of another run while the last frame of the turn is still to come."""
    turn.is_main_over = True
    if frame.error and frame.state != m.CANCELLED:
        turn.is_cut = turn.has_open_text()
        _complete(state, turn, now, is_forced=True)
        _rest(state, frame, now)


def _terminal(state: State, turn: Turn, frame: m.StateFrame, now: float) -> None:
    """Take a terminal state of the main trajectory while a turn runs."""
    turn.take_state(frame)
    state.timers.stop(Timer.TASKS)
    if frame.state == m.CANCELLED:
        kind = FailureKind.DENIED if frame.error else FailureKind.CANCELLED_BY_HARNESS
        denial = Failure(kind, frame.error)
        state.end(now, denial if turn.halt is None else turn.halt_failure())
        state.move(Signal.ENDED)
    elif frame.error:
        kind = FailureKind.TURN if turn.http_code is None else FailureKind.MODEL
        failure = Failure(kind, frame.error, http_code=turn.http_code)
        state.end(now, failure if turn.halt is None else turn.halt_failure())
        state.break_link(now, "the turn failed", at_once=False)
    elif turn.echo_index is not None:
        _settle(state, turn, now)
    else:
        # No echo of our prompt yet: most likely the end of somebody else's run. A halted turn is
        # not kept waiting for long; should its prompt be taken up yet, the halt is repeated.
        grace = STRAY_IDLE_GRACE if turn.halt is None else SETTLE_GRACE_HALTED
        state.timers.set_if_off(Timer.STRAY_IDLE, now + grace)


def _must_wait(state: State, turn: Turn) -> bool:
    """Return whether something of the turn is still to come after its end was reported."""
    return turn.has_open_text() or turn.awaits_report or state.background.holds_turn


def go_on_settling(state: State, now: float) -> None:
    """End a turn that has waited for nothing more than what has come now."""
    if state.turn is not None and state.phase is Phase.SETTLING:
        _complete(state, state.turn, now)


def _settle(state: State, turn: Turn, now: float) -> None:
    if turn.is_trigger and turn.halt is not None:
        # 0.1.22 may run the message again by itself, and a prompt sent meanwhile would be taken
        # into that run: it is waited for, and halted as well.
        state.timers.set(Timer.STRAY_IDLE, now + SETTLE_GRACE_HALTED)
    elif turn.halt is None and state.rules.idles_while_tasks_run and state.background.has_new_tasks:
        # 0.1.5–0.1.7 say idle here; newer ones say WAITING_FOR_TASKS and run again later.
        state.timers.set(Timer.TASKS, now + state.background.wait())
    elif _must_wait(state, turn):
        state.timers.stop(Timer.HALT)
        if turn.halt is not None:
            state.timers.set(Timer.SETTLE, now + SETTLE_GRACE_HALTED)
        elif turn.has_open_text():
            state.timers.set(Timer.SETTLE, now + SETTLE_GRACE)
        if state.rules.coordinates_subagents and not turn.awaits_report:
            turn.last_index = state.last_index
        state.move(Signal.SETTLING)
    else:
        _complete(state, turn, now)


def _complete(state: State, turn: Turn, now: float, *, is_forced: bool = False) -> None:
    if state.phase is Phase.SETTLING and _must_wait(state, turn) and not is_forced:
        return
    pending = state.background.tasks if turn.halt is None else ()
    state.end(now, turn.halt_failure(), pending=pending)
    # The next run may have begun while the last frame of this one was awaited.
    state.move(Signal.ENDED if turn.is_main_over else Signal.LEFT)


def take_usage(state: State, frame: m.UsageFrame, _now: float) -> None:
    state.usage.take(frame)
    if state.turn is not None and state.usage.total is not None:
        state.emit(state.turn, UsageUpdated(state.usage.total, trajectory_id=state.main_id))


def tick(state: State, _happened: Tick, now: float) -> None:
    while (timer := state.timers.pop_due(now)) is not None:
        _expire(state, timer, now)


def _expire(state: State, timer: Timer, now: float) -> None:
    turn = state.turn
    if timer is Timer.BREAK:
        state.out.append(CloseLink("a broken connection is open", state.is_closing_link))
        if not state.is_closing_link:
            state.is_closing_link = True
            state.timers.set(Timer.BREAK, now + BREAK_GRACE)
        return
    if timer is Timer.EXIT:
        connection.detach(state, now)
        return
    assert turn is not None, "every other timer ends with its turn"
    match timer:
        case Timer.DEADLINE:
            _deadline(state, turn, now)
        case Timer.HALT:
            state.end(now, turn.halt_failure())
            state.break_link(now, "a halt stayed unanswered", at_once=True)
        case Timer.SETTLE:
            turn.is_cut = turn.has_open_text()
            _complete(state, turn, now, is_forced=turn.halt is not None)
        case Timer.STRAY_IDLE:
            _complete(state, turn, now)
        case Timer.TASKS:
            _leave_tasks(state, turn, now)
        case Timer.UNHEARD:
            state.note("nothing has come of a trigger; it is sent once more", is_warning=True)
            state.send(m.AutomatedTrigger(turn.trigger))


def _deadline(state: State, turn: Turn, now: float) -> None:
    if state.phase is Phase.RUNNING:
        if state.timers.is_on(Timer.TASKS) and not state.background.holds_turn:
            _leave_tasks(state, turn, now)
        else:
            _halt(state, turn, HaltReason.DEADLINE, now)
    elif turn.halt is not None:
        turn.halt = HaltReason.DEADLINE
    elif state.background.holds_turn:
        _halt(state, turn, HaltReason.DEADLINE, now)


def _leave_tasks(state: State, turn: Turn, now: float) -> None:
    """End a turn whose answer is there while its commands go on."""
    if state.background.holds_turn:
        turn.is_cut = turn.has_open_text()
        state.move(Signal.SETTLING)
        return
    state.background.leave()
    state.end(now, pending=state.background.tasks)
    state.move(Signal.ENDED if turn.is_main_over else Signal.LEFT)
