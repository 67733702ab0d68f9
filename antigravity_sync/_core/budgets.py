"""Turns are held to their budget: what uses something of it is counted before it is taken in."""

from __future__ import annotations

import attrs

from .. import _messages as m
from . import answers, asking, conduct
from .asks import Ask
from .inputs import Decided, HaltReason
from .replies import GoOn, Heard
from .state import State


def take_step(state: State, frame: m.StepFrame, now: float) -> None:
    turn = state.turn
    if turn is not None and turn.meter.is_on:
        if frame.state == m.WAITING and frame.wants_confirmation:
            _take_ask(state, answers.step_ask(frame), now)
        else:
            _stop(state, turn.meter.take_step(frame), now)
    conduct.take_step(state, frame, now)


def take_request(
    state: State, frame: m.ToolCallFrame | m.HookFrame | m.PolicyFrame, now: float
) -> None:
    if state.turn is not None and state.turn.meter.is_on:
        _take_ask(state, answers.frame_ask(frame), now)
    asking.take_request(state, frame, now)


def _take_ask(state: State, ask: Ask, now: float) -> None:
    turn = state.turn
    if turn is not None and not state.asks.knows(ask.key):
        _stop(state, turn.meter.take_ask(ask, is_midway=turn.has_open_text()), now)


def take_usage(state: State, frame: m.UsageFrame, now: float) -> None:
    turn = state.turn
    if turn is not None and turn.meter.is_on and turn.echo_index is not None:
        before = state.usage.total
        conduct.take_usage(state, frame, now)
        if state.usage.total in (before, None):
            return
        used = state.usage.total - turn.usage_before
        waits = state.asks.holds(answers.is_about_a_call) or (
            state.rules.reports_before_calls and turn.has_open_call()
        )
        _stop(state, turn.meter.take_report(used, has_open_calls=waits), now)
        conduct.go_on_settling(state, now)
    else:
        conduct.take_usage(state, frame, now)


def take_reply(state: State, happened: Decided, now: float) -> None:
    turn = state.turn
    if turn is not None and isinstance(happened.reply, GoOn):
        # A hook would have the model called again.
        if turn.meter.spent and turn.halt is None:
            turn.stop_reason = turn.meter.spent
        if turn.meter.spent or turn.halt is not None:
            happened = attrs.evolve(happened, reply=Heard())
    asking.take_reply(state, happened, now)


def _stop(state: State, reason: str, now: float) -> None:
    """Stop the turn for this reason, if there is one."""
    turn = state.turn
    if reason and turn is not None and conduct.stop_turn(state, turn, HaltReason.BUDGET, now):
        turn.stop_reason = reason
