"""The structured answer of a turn, read for its caller on the caller's thread."""

from __future__ import annotations

import re
from typing import Final

import attrs

from .._core.actions import Failure, FailureKind
from .._json_schema import MisfitError
from .._structured import AnswerForm
from .live_turn import TurnEnd

#: What the harness says once the model has given it too many answers that do not fit. Its own tools
#: check their arguments in other words, and those of custom tools are ours to check.
_GAVE_UP: Final = re.compile(
    r"invalid tool call.*arguments do not match schema.*schema\.json#'\s*(?P<why>.*)", re.DOTALL
)
_QUOTES: Final = "\"')"


def with_answer(end: TurnEnd, wanted: object) -> TurnEnd:
    """Return how a turn ended, with its structured answer or with why there is no good one.

    A cancelled turn does not fail for an answer that does not fit; it has none.

    Args:
        end: How the turn ended, as the session knows it.
        wanted: The `response_schema` of the agent.
    """
    if wanted is None:
        return end
    if end.failure is not None:
        found = _GAVE_UP.search(end.failure.message)
        if found is None or end.failure.kind not in (FailureKind.MODEL, FailureKind.TURN):
            return end
        why = " ".join(found["why"].strip().strip(_QUOTES).split()) or "it does not fit"
        return TurnEnd(end.response, Failure(FailureKind.UNSTRUCTURED, why))
    if end.answer is None:
        return end
    try:
        value = AnswerForm.of(wanted).read(end.answer)
    except MisfitError as error:
        if end.response.cancelled:
            return end
        return TurnEnd(end.response, Failure(FailureKind.UNSTRUCTURED, str(error), raw=end.answer))
    return TurnEnd(attrs.evolve(end.response, structured_output=value))
