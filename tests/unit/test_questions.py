"""Questions of the model, and what becomes of the answers."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import attrs
import pytest

from antigravity_sync import Answer, CancelQuestions, Question
from antigravity_sync.errors import ConfigError
from antigravity_sync.questions import settle

ONE = Question("Which?", ("A", "B", "C"))
MANY = Question("Which ones?", ("A", "B", "C"), multi_select=True)
UNKNOWN = Question.unknown({"slider": {"min": 1}})
OPEN = Answer.unanswered()


def choice(question: object = "Q", choices: object = ("A", "B"), **more: object) -> dict[str, Any]:
    return {"multipleChoice": {"question": question, "choices": choices, **more}}


# ── what is asked ───────────────────────────────────────────────────────────────────────────────


def test_parse_when_multiple_choice_then_text_and_choices() -> None:
    """The question of a recorded session is read."""
    raw = choice("Pick one?", ["A", "B", "C"], isMultiSelect=False)
    assert Question.parse(raw) == Question("Pick one?", ("A", "B", "C"))
    raw = choice("Pick some?", ["A"], isMultiSelect=True)
    assert Question.parse(raw) == Question("Pick some?", ("A",), multi_select=True)


@pytest.mark.parametrize(
    "raw",
    [
        {"slider": {"min": 1}},
        {},
        {"multipleChoice": None},
        {"multipleChoice": "text"},
        {"multipleChoice": ["A"]},
    ],
)
def test_parse_when_of_an_unknown_kind_then_said_so_and_kept(raw: dict[str, Any]) -> None:
    """What this SDK does not know has neither text nor choices, and is all in `extra`."""
    question = Question.parse(raw)
    assert question == Question.unknown(raw)
    assert question.is_unknown_type
    assert (question.text, question.choices, question.multi_select) == ("", (), False)
    assert question.extra == raw


def test_parse_when_members_are_odd_then_something_comes_of_it() -> None:
    """Nothing that a harness sends is an exception."""
    assert Question.parse({"multipleChoice": {}}) == Question()
    assert Question.parse(choice(5, "ABC", isMultiSelect="yes")) == Question()
    assert Question.parse(choice("Q", [1, None, "A"])).choices == ("1", "None", "A")


def test_parse_when_there_are_new_members_then_in_extra() -> None:
    """Members that this SDK does not know are kept, of the question and around it."""
    raw = choice("Q", ["A"], hint="h") | {"id": "7"}
    assert Question.parse(raw) == Question("Q", ("A",), extra={"id": "7", "hint": "h"})


def test_unknown_when_made_for_a_test_then_like_a_parsed_one() -> None:
    """A handler can be tried on a kind of question that does not exist yet."""
    extra = {"slider": {}}
    question = Question.unknown(extra)
    assert question == Question.parse(extra)
    extra["more"] = {}
    assert question.extra == {"slider": {}}


# ── what is answered ────────────────────────────────────────────────────────────────────────────


def test_answers_when_made_then_what_they_say() -> None:
    """Free text alone is a choice of nothing with that text; nothing at all is unanswered."""
    assert Answer.choices(1).selected == (1,)
    assert Answer.choices(2, 0, freeform="and").selected == (2, 0)
    assert Answer.choices(2, 0, freeform="and").text == "and"
    assert Answer.freeform("mine") == Answer.choices(freeform="mine")
    assert Answer.choices() == Answer.freeform("") == Answer.unanswered()
    assert Answer.choices(1, 1, 0) == Answer.choices(1, 0)
    assert Answer.unanswered().is_unanswered
    assert not Answer.freeform("mine").is_unanswered
    assert not Answer.choices(0).is_unanswered


@pytest.mark.parametrize("index", ["1", 1.0, None, True, [0]])
def test_choices_when_not_by_position_then_config_error(index: Any) -> None:
    """The text of a choice, or a truth, in place of its position is a mistake."""
    with pytest.raises(ConfigError, match="position"):
        Answer.choices(index)


@pytest.mark.parametrize("text", [5, b"x", "\ud800"])
def test_freeform_when_it_is_no_text_then_config_error(text: Any) -> None:
    """Free text goes over the wire."""
    with pytest.raises(ConfigError, match="text"):
        Answer.freeform(text)
    with pytest.raises(ConfigError, match="text"):
        Answer.choices(0, freeform=text)


@pytest.mark.parametrize(
    "value", [ONE, UNKNOWN, Answer.choices(1, freeform="x"), CancelQuestions()]
)
def test_values_when_copied_or_pickled_then_equal(value: Any) -> None:
    """Questions and answers are plain values."""
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        value.text = "x"


# ── what is sent ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("questions", "answers", "settled"),
    [
        ([ONE], [Answer.choices(1)], [Answer.choices(1)]),
        ([ONE], (Answer.choices(1),), [Answer.choices(1)]),
        ([ONE], iter([Answer.choices(1)]), [Answer.choices(1)]),
        ([ONE], Answer.choices(1), [Answer.choices(1)]),
        ([ONE], [Answer.choices(2, freeform="x")], [Answer.choices(2, freeform="x")]),
        ([ONE], [Answer.freeform("mine")], [Answer.freeform("mine")]),
        ([ONE], [OPEN], [OPEN]),
        ([MANY], [Answer.choices(2, 0)], [Answer.choices(2, 0)]),
        ([ONE, MANY], [OPEN, Answer.choices(0)], [OPEN, Answer.choices(0)]),
        ([UNKNOWN], [OPEN], [OPEN]),
        ([UNKNOWN], [Answer.freeform("x")], [Answer.freeform("x")]),
        ([], [], []),
    ],
)
def test_settle_when_answers_fit_then_taken_without_a_word(
    questions: list[Question], answers: object, settled: list[Answer]
) -> None:
    """Answers that fit go out as they are."""
    assert settle(questions, answers) == (tuple(settled), ())


@pytest.mark.parametrize(
    ("questions", "answers", "settled", "warnings"),
    [
        # too few, too many
        ([ONE, ONE], [Answer.choices(1)], [Answer.choices(1), OPEN], ["1 answers to 2"]),
        ([ONE, ONE], [], [OPEN, OPEN], ["0 answers to 2"]),
        ([ONE], [Answer.choices(0), Answer.choices(1)], [Answer.choices(0)], ["2 answers to 1"]),
        ([], [Answer.choices(0)], [], ["1 answers to 0"]),
        ([ONE, ONE], Answer.choices(0), [Answer.choices(0), OPEN], ["1 answers to 2"]),
        # choices that there are not
        ([ONE], [Answer.choices(3)], [OPEN], ["question 1 has 3 choices.*none at 3"]),
        ([ONE], [Answer.choices(-1)], [OPEN], ["none at -1"]),
        ([MANY], [Answer.choices(0, 7, 2, 9)], [Answer.choices(0, 2)], ["none at 7, 9"]),
        ([ONE], [Answer.choices(1, 7)], [Answer.choices(1)], ["none at 7"]),
        ([ONE], [Answer.choices(7, freeform="x")], [Answer.freeform("x")], ["none at 7"]),
        ([UNKNOWN], [Answer.choices(0)], [OPEN], ["has 0 choices"]),
        # several where one may be taken: which was meant?
        ([ONE], [Answer.choices(0, 1)], [OPEN], ["takes one choice and 2"]),
        ([ONE], [Answer.choices(0, 1, freeform="x")], [Answer.freeform("x")], ["takes one choice"]),
        ([ONE], [Answer.choices(0, 1, 9)], [OPEN], ["none at 9", "takes one choice"]),
        # what is no answer
        ([ONE], ["B"], [OPEN], ["question 1 was answered by str 'B'"]),
        ([ONE, ONE], [1, Answer.choices(1)], [OPEN, Answer.choices(1)], ["by int 1"]),
        ([ONE], [None], [OPEN], ["NoneType"]),
        ([ONE], [CancelQuestions()], [OPEN], ["CancelQuestions"]),
        ([ONE], [[Answer.choices(1)]], [OPEN], ["list"]),
        # what is no list of answers
        ([ONE, ONE], None, [OPEN, OPEN], ["returned NoneType None"]),
        ([ONE], "B", [OPEN], ["returned str 'B'"]),
        ([ONE], b"B", [OPEN], ["returned bytes"]),
        ([ONE], {"Which?": 1}, [OPEN], ["returned dict"]),
        ([ONE], 1, [OPEN], ["returned int 1"]),
        ([ONE], True, [OPEN], ["returned bool True"]),
        ([ONE], Answer, [OPEN], ["returned type"]),
    ],
)
def test_settle_when_answers_do_not_fit_then_open_with_a_warning(
    questions: list[Question], answers: object, settled: list[Answer], warnings: list[str]
) -> None:
    """There is one answer to each question; what does not fit is left out, and said."""
    found, said = settle(questions, answers)
    assert found == tuple(settled)
    assert len(said) == len(warnings)
    for text, pattern in zip(said, warnings, strict=True):
        assert re.search(pattern, text)


@pytest.mark.parametrize("cancel", [CancelQuestions(), CancelQuestions])
def test_settle_when_cancelled_then_cancelled(cancel: object) -> None:
    """The class will do as well as what it makes."""
    assert settle([ONE, MANY], cancel) == (CancelQuestions(), ())


def test_settle_when_an_answer_is_huge_then_the_warning_is_not() -> None:
    """A warning is a line."""
    _, (warning,) = settle([ONE], ["x" * 10_000])
    assert len(warning) < 200


def test_settle_when_the_iterator_fails_then_its_error() -> None:
    """A handler that is a generator runs while its answers are read."""

    def handler() -> Any:
        yield Answer.choices(0)
        raise LookupError("no such thing")

    with pytest.raises(LookupError):
        settle([ONE, ONE], handler())
