"""What the harness asks, and that it is answered once."""

from __future__ import annotations

import attrs

from .. import _messages as m
from ..errors import ToolDispatchError
from ..events import QuestionAsked, ToolAction, ToolCallDispatched, ToolCallFinished, UnknownEvent
from ..responses import Denied, ToolCall
from . import answers
from .actions import Decide
from .asks import Ask, AskKind
from .inputs import CallbackFailed, Decided, Dispatched
from .phases import Phase
from .replies import ToolReply, Unheard
from .state import State
from .turn import Turn


def take_unknown(state: State, frame: m.UnknownFrame, now: float) -> None:
    if state.turn is not None:
        state.turn.unknown[frame.kind] = None
        state.emit(state.turn, UnknownEvent(frame.kind, frame.raw))
    if frame.request_id:
        take_ask(state, answers.unknown_ask(frame), now)


def take_request(
    state: State, frame: m.ToolCallFrame | m.HookFrame | m.PolicyFrame, now: float
) -> None:
    take_ask(state, answers.frame_ask(frame), now)


def take_ask(state: State, ask: Ask, _now: float) -> None:
    if ask.trajectory_id not in ("", state.main_id):
        ask = attrs.evolve(ask, is_main=False)
    if not state.asks.open(ask):
        state.note(f"{ask.kind.value} {ask.key[-1]} came again; ignored")
        return
    if state.phase is Phase.BREAKING or (
        state.phase is Phase.HALTING and answers.dies_with_the_turn(ask)
    ):
        # The harness forgot it when it stopped, or will: an answer would be stale (LIVE A3).
        state.asks.close(ask.key)
        if state.turn is not None:
            state.halt_again(state.turn)
        return
    if ask.kind is AskKind.QUESTIONS and state.turn is not None:
        where, is_main = _where(state, ask)
        asked = QuestionAsked(ask.questions, trajectory_id=where, is_main=is_main)
        state.emit(state.turn, asked)
    state.out.append(Decide(ask))


def take_dispatch(state: State, happened: Dispatched, _now: float) -> None:
    ask = state.asks.get(happened.key)
    if ask is None or state.turn is None:
        return
    where, is_main = _where(state, ask)
    state.emit(
        state.turn,
        ToolCallDispatched(
            ask.name, happened.args, ask.call_id, trajectory_id=where, is_main=is_main
        ),
    )


def take_reply(state: State, happened: Decided, _now: float) -> None:
    ask = state.asks.close(happened.key)
    if ask is None:
        return
    reply = happened.reply
    if isinstance(reply, Unheard) and not answers.is_routine(ask):
        state.note(f"{ask.kind.value} {ask.name} has no taker", is_warning=True)
    state.send(answers.answer(ask, reply), ask.key)
    if state.turn is None:
        return
    if isinstance(reply, Denied):
        if answers.is_about_a_call(ask):
            _show_denial(state, state.turn, ask, reply)
    elif isinstance(reply, ToolReply):
        _show_result(state, state.turn, ask, reply)


def take_callback_failure(state: State, happened: CallbackFailed, _now: float) -> None:
    if state.turn is not None:
        state.turn.errors.append(happened.error)


def _where(state: State, ask: Ask) -> tuple[str, bool]:
    where = ask.trajectory_id or state.main_id
    return where, where == state.main_id


def _show_denial(state: State, turn: Turn, ask: Ask, decision: Denied) -> None:
    action = answers.asked_action(ask)
    where, is_main = _where(state, ask)
    if ask.kind is AskKind.CONFIRMATION:
        turn.refuse_step(where, ask.index)
    else:
        turn.refuse(action, where, decision.reason)
    turn.tool_calls.append(
        ToolCall(
            action.name,
            action.args,
            decision,
            error=decision.reason,
            call_id=ask.call_id or None,
            trajectory_id=where,
            is_main=is_main,
        )
    )
    state.emit(turn, ToolAction(action, decision, trajectory_id=where, is_main=is_main))


def _show_result(state: State, turn: Turn, ask: Ask, reply: ToolReply) -> None:
    where, is_main = _where(state, ask)
    if reply.error:
        turn.errors.append(ToolDispatchError(reply.error, name=ask.name))
    turn.tool_calls.append(
        ToolCall(
            ask.name,
            ask.args,
            result=reply.result,
            error=reply.error,
            call_id=ask.call_id or None,
            trajectory_id=where,
            is_main=is_main,
        )
    )
    state.emit(
        turn,
        ToolCallFinished(
            ask.name,
            ask.call_id,
            reply.result,
            reply.error,
            trajectory_id=where,
            is_main=is_main,
        ),
    )
