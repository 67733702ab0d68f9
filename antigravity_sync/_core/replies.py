"""What an ask can be answered with; the runtime finds it out, the session sends it."""

from __future__ import annotations

import attrs

from .._messages import MediaPart, WireAnswer
from ..responses import Allowed, Denied, JsonObject


@attrs.frozen
class Rewritten:
    """The call may run, with these arguments in place of the model's.

    Attributes:
        arguments: The whole object, by the model's own names.
    """

    arguments: JsonObject


@attrs.frozen
class ToolReply:
    """A tool has run, or could not.

    Attributes:
        result_json: Its result, an object as JSON.
        media: Media that go beside it.
        result: The result as the tool gave it, for the caller's eyes.
        error: Why it failed, `""` if it did not.
    """

    result_json: str = "{}"
    media: tuple[MediaPart, ...] = ()
    result: object = None
    error: str = ""


@attrs.frozen
class ErrorText:
    """The text that the model sees in place of a tool's error."""

    text: str


@attrs.frozen
class GoOn:
    """The model shall not stop yet."""

    reason: str


@attrs.frozen
class QuestionsReply:
    """The user has answered; `answers=None` cancels the questions."""

    answers: tuple[WireAnswer, ...] | None


@attrs.frozen
class Heard:
    """A hook that only watches has been called, or decided that nothing changes."""


@attrs.frozen
class Unheard:
    """Nobody has a say: the answer that changes nothing."""


Reply = (
    Allowed | Denied | Rewritten | ToolReply | ErrorText | GoOn | QuestionsReply | Heard | Unheard
)
