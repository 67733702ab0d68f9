"""What a reader who answers for himself says, as replies to what the harness asks."""

from __future__ import annotations

import logging
from typing import Final

from .._convert import ArgumentError
from .._core.asks import Ask, AskKind
from .._core.replies import ErrorText, GoOn, Heard, QuestionsReply, Reply, ToolReply
from .._messages import WireAnswer
from .._results import encode_result
from .._wire.dialect import Dialect
from .._wire.media import fit_result
from ..errors import ConfigError
from ..hooks import StopDecision, as_decision
from ..questions import CancelQuestions, Question, settle
from ..responses import Allowed, Denied

_log: Final = logging.getLogger("antigravity_sync.runtime")

_DECIDE: Final = frozenset({"PRE_TOOL", "PRE_TURN"})


def tool_reply(ask: Ask, result: object, dialect: Dialect) -> Reply:
    """Return a tool's result, or its failure if that is an exception.

    Raises:
        ConfigError: The result has no JSON form, or its files are none that this harness takes.
    """
    if isinstance(result, BaseException):
        return ToolReply(error=str(result) or type(result).__name__)
    try:
        encoded = encode_result(ask.name, result)
    except ArgumentError as error:
        raise ConfigError(f"{error}; send another result") from error
    return ToolReply(encoded.json, fit_result(encoded.media, dialect), result)


def confirmation_reply(ask: Ask, accepted: bool) -> Reply:
    """Return the word on a step that waits for a confirmation."""
    return Allowed() if accepted is True else Denied(f"{ask.name} was not confirmed")


def hook_reply(ask: Ask, result: object) -> Reply:
    """Return what a hook's result means to the hook that was asked.

    Raises:
        ConfigError: It changes arguments, which only an agent checks.
    """
    hook = ask.hook_type.removeprefix("LIFECYCLE_HOOK_")
    if ask.kind is AskKind.POLICY or hook in _DECIDE:
        said = as_decision(result)
        if said.args is not None:
            raise ConfigError(
                "a connection cannot change the arguments of a call; refuse it with a reason, or "
                "use an Agent with an on_pre_tool hook"
            )
        return Allowed() if said.is_allowed else Denied(said.reason)
    if hook == "ON_TOOL_ERROR" and isinstance(result, str):
        return ErrorText(result)
    if hook == "STOP" and isinstance(result, StopDecision) and result.goes_on:
        return GoOn(result.reason)
    return Heard()


def questions_reply(ask: Ask, answers: object) -> Reply:
    """Return the answers to a step's questions; what is wrong with them is logged."""
    settled, warnings = settle(tuple(Question.parse(raw) for raw in ask.questions), answers)
    for warning in warnings:
        _log.warning("%s", warning)
    if isinstance(settled, CancelQuestions):
        return QuestionsReply(None)
    return QuestionsReply(tuple(WireAnswer(each.selected, each.text) for each in settled))
