"""What the model asks a person, and what is answered.

A handler is given `Question`s and returns `Answer`s, one for each. What it forgets or gets wrong
counts as unanswered, with a warning: nothing is ever guessed on a person's behalf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, cast

import attrs
from attrs.validators import optional

from ._checks import check_text
from .errors import ConfigError
from .responses import JsonObject

_KIND: Final = "multipleChoice"
_MEMBERS: Final = frozenset({"question", "choices", "isMultiSelect"})


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.frozen
class Question:
    """One question of the model.

    Attributes:
        text: What it asks.
        choices: What it offers to choose from; a free text may be answered even so.
        multi_select: Whether more than one choice may be taken.
        is_unknown_type: Whether it is of a kind this SDK does not know; then there is neither a
            text nor choices, and what came is in `extra`.
        extra: Members that this SDK does not know.
    """

    text: str = ""
    choices: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    multi_select: bool = False
    is_unknown_type: bool = False
    extra: JsonObject = attrs.field(factory=dict)

    @classmethod
    def unknown(cls, extra: JsonObject) -> Question:
        """Return a question of an unknown kind, to try out what a handler does with one."""
        return cls(is_unknown_type=True, extra=dict(extra))

    @classmethod
    def parse(cls, raw: JsonObject) -> Question:
        """Return the question that a member of the harness's `questionsRequest` is.

        Anything will do: what is not as expected is kept in `extra`.
        """
        members = raw.get(_KIND)
        if not isinstance(members, Mapping):
            return cls.unknown(raw)
        known = cast("JsonObject", members)
        text, choices = known.get("question"), known.get("choices")
        extra = {name: value for name, value in raw.items() if name != _KIND}
        extra |= {name: value for name, value in known.items() if name not in _MEMBERS}
        return cls(
            text if isinstance(text, str) else "",
            tuple(str(choice) for choice in choices) if isinstance(choices, list) else (),
            known.get("isMultiSelect") is True,
            extra=extra,
        )


def _indices(values: Iterable[object]) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"a choice is given by its position, from 0 up, not by {value!r}")
        found[value] = None
    return tuple(found)


def _said(text: str | None) -> str | None:
    return None if text == "" else text


@attrs.frozen
class Answer:
    """The answer to one question, made by `choices`, `freeform` or `unanswered`.

    Attributes:
        selected: Positions of the choices taken, from 0 up.
        text: Free text, beside choices or instead; `None` if there is none.
    """

    selected: tuple[int, ...] = attrs.field(default=(), converter=_indices)
    text: str | None = attrs.field(default=None, converter=_said, validator=optional(check_text))

    @classmethod
    def choices(cls, *indices: int, freeform: str | None = None) -> Answer:
        """Take the choices at these positions, with a word added perhaps.

        Args:
            indices: Positions in `Question.choices`, from 0 up; several only where allowed.
            freeform: What is added.

        Raises:
            ConfigError: A position is no whole number, or the text is none.
        """
        return cls(indices, freeform)

    @classmethod
    def freeform(cls, text: str) -> Answer:
        """Answer in one's own words.

        Raises:
            ConfigError: It is no text.
        """
        return cls((), text)

    @classmethod
    def unanswered(cls) -> Answer:
        """Leave the question open; the model is told that it was skipped."""
        return cls()

    @property
    def is_unanswered(self) -> bool:
        """Return whether nothing is answered."""
        return not self.selected and self.text is None


@attrs.frozen
class CancelQuestions:
    """Instead of answers: the model shall stop asking. The turn goes on without them."""


Reply: TypeAlias = "tuple[Answer, ...] | CancelQuestions"


def settle(questions: Sequence[Question], answers: object) -> tuple[Reply, tuple[str, ...]]:
    """Return what is sent for what a handler returned, and what was wrong with it.

    There is one answer for each question. Those missing are unanswered, those left over are
    dropped; so is a choice that there is not, and so are several where one may be taken, for which
    of them was meant nobody knows.

    Args:
        questions: What was asked.
        answers: What the handler returned; an iterator is read to its end.
    """
    if isinstance(answers, CancelQuestions) or answers is CancelQuestions:
        return CancelQuestions(), ()
    warnings: list[str] = []
    if isinstance(answers, Answer):
        given: tuple[object, ...] = (answers,)
    elif isinstance(answers, Iterable) and not isinstance(answers, (str, bytes, Mapping)):
        given = tuple(cast("Iterable[object]", answers))
    else:
        given = ()
        warnings.append(
            f"the question handler returned {_shown(answers)}; return a list of Answer, "
            "or CancelQuestions()"
        )
    if len(given) != len(questions) and not warnings:
        warnings.append(
            f"the question handler returned {len(given)} answers to {len(questions)} questions; "
            "what is missing counts as unanswered, what is too much is dropped"
        )
    settled = [
        _fitted(number, question, given[number] if number < len(given) else Answer(), warnings)
        for number, question in enumerate(questions)
    ]
    return tuple(settled), tuple(warnings)


def _fitted(number: int, question: Question, answer: object, warnings: list[str]) -> Answer:
    where = f"question {number + 1}"
    if not isinstance(answer, Answer):
        warnings.append(f"{where} was answered by {_shown(answer)}, which is no Answer; it is open")
        return Answer()
    fitting = tuple(index for index in answer.selected if 0 <= index < len(question.choices))
    if fitting != answer.selected:
        stray = ", ".join(str(index) for index in answer.selected if index not in fitting)
        warnings.append(
            f"{where} has {len(question.choices)} choices, from 0 up, and none at {stray}; dropped"
        )
    if len(fitting) > 1 and not question.multi_select:
        warnings.append(
            f"{where} takes one choice and {len(fitting)} were given, so none counts; "
            "look at Question.multi_select"
        )
        fitting = ()
    return Answer(fitting, answer.text)


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value!r:.80}"
