"""Questions of the model on the real harness: several at once, and several times in a turn."""

from __future__ import annotations

import logging

import pytest

from antigravity_sync import Answer, Capabilities, Hooks, policy
from antigravity_sync.events import QuestionAsked
from antigravity_sync.questions import Question
from antigravity_sync.testing import ScriptedModel, call
from tests.kinds import told

pytestmark = pytest.mark.real

SINGLE = {"question": "Which one?", "options": ["a", "b"], "is_multi_select": False}
MULTI = {"question": "Which ones?", "options": ["x", "y", "z"], "is_multi_select": True}


def test_questions_when_asked_twice_in_a_turn_then_each_answer_reaches_its_own(make_agent, caplog):
    """Two at once, one of them with several choices; then one more, with too short an answer."""
    heard: list[tuple[str, bool]] = []

    def answer(questions: tuple[Question, ...]) -> list[Answer]:
        heard.extend((one.text, one.multi_select) for one in questions)
        if len(questions) == 2:
            return [Answer.choices(1), Answer.choices(0, 2, freeform="and w")]
        return []

    script = [
        call("ask_question", questions=[SINGLE, MULTI]),
        call("ask_question", questions=[MULTI]),
        "thanks",
    ]
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(*script) as model,
        make_agent(
            model,
            capabilities=Capabilities.none().enable("ask_question"),
            policies=[policy.deny_all()],
            hooks=[Hooks(on_questions=answer)],
        ) as agent,
    ):
        turn = agent.stream("go")
        asked = [event for event in turn if isinstance(event, QuestionAsked)]
        assert turn.response().text == "thanks"
    assert heard == [("Which one?", False), ("Which ones?", True), ("Which ones?", True)]
    assert [len(event.questions) for event in asked] == [2, 1]
    first, second = told(model, 1), told(model, 2)
    assert "A1: b" in first
    assert "A2: x, z, and w" in first
    assert "Skipped" in second
    assert caplog.records, "an answer that is missing is worth a warning"
