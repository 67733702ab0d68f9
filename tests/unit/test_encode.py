"""What goes out: each message in the spelling of the harness that shall read it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.encode import encode

PRE_TOOL: Final = "LIFECYCLE_HOOK_PRE_TOOL"
PRE_TURN: Final = "LIFECYCLE_HOOK_PRE_TURN"
_TEXT: Final = m.TextPart("hi")
_IMAGE: Final = m.MediaPart("image/png", b"\x00\xff")


def event(message: m.ClientMessage, version: str = "0.1.22") -> dict[str, Any]:
    return json.loads(encode(message, Dialect(version)))


@pytest.mark.parametrize(
    ("parts", "old", "new"),
    [
        ((_TEXT,), {"userInput": "hi"}, {"userInput": {"parts": [{"text": "hi"}]}}),
        (
            (_TEXT, m.TextPart("there")),
            {"userInput": "hi\nthere"},
            {"userInput": {"parts": [{"text": "hi"}, {"text": "there"}]}},
        ),
        (
            (_TEXT, _IMAGE),
            {
                "complexUserInput": {
                    "parts": [{"text": "hi"}, {"media": {"mimeType": "image/png", "data": "AP8="}}]
                }
            },
            {
                "userInput": {
                    "parts": [{"text": "hi"}, {"media": {"mimeType": "image/png", "data": "AP8="}}]
                }
            },
        ),
        (
            (m.SlashPart("goal"),),
            {"complexUserInput": {"parts": [{"slashCommand": {"name": "goal"}}]}},
            {"userInput": {"parts": [{"slashCommand": {"name": "goal"}}]}},
        ),
    ],
    ids=["text", "two texts", "media", "command"],
)
def test_encode_when_a_prompt_is_sent_then_its_form_is_the_versions(
    parts: tuple[m.PromptPart, ...], old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Up to 0.1.10 text is a string and all else has another name; from 0.1.11 all is parts."""
    for version in ALL_VERSIONS:
        is_old = ALL_VERSIONS.index(version) <= ALL_VERSIONS.index("0.1.10")
        assert event(m.UserInput(parts), version) == (old if is_old else new), version


def test_encode_when_media_is_described_then_the_description_goes_along() -> None:
    """What the user says about a picture stands beside it."""
    media = m.MediaPart("image/png", b"", "a cat")
    (part,) = event(m.UserInput((media,)))["userInput"]["parts"]
    assert part == {"media": {"mimeType": "image/png", "data": "", "description": "a cat"}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (m.Halt(), {"haltRequest": True}),
        (
            m.HookAnswer("h1", PRE_TOOL, allowed=True),
            {"callHookResponse": {"requestId": "h1", "preToolResult": {"decision": "ALLOW"}}},
        ),
        (
            m.HookAnswer("h1", PRE_TOOL, allowed=False, reason="no"),
            {
                "callHookResponse": {
                    "requestId": "h1",
                    "preToolResult": {"decision": "DENY", "reason": "no"},
                }
            },
        ),
        (
            m.HookAnswer("h1", PRE_TURN, allowed=False),
            {"callHookResponse": {"requestId": "h1", "preTurnResult": {"decision": "DENY"}}},
        ),
        (
            m.HookAnswer("h1", PRE_TURN),
            {"callHookResponse": {"requestId": "h1", "emptyResult": {}}},
        ),
        (
            m.HookAnswer("h1", "LIFECYCLE_HOOK_NEW", allowed=False, reason="no"),
            {"callHookResponse": {"requestId": "h1", "emptyResult": {}}},
        ),
        (
            m.PolicyAnswer("1", allowed=True),
            {
                "policyDecisionResponse": {
                    "requestId": "1",
                    "outcome": "POLICY_EVALUATION_OUTCOME_ALLOW",
                }
            },
        ),
        (
            m.PolicyAnswer("1", allowed=False, reason="no"),
            {
                "policyDecisionResponse": {
                    "requestId": "1",
                    "outcome": "POLICY_EVALUATION_OUTCOME_DENY",
                    "denyReason": "no",
                }
            },
        ),
        (
            m.Confirmation("t", 0, accepted=False),
            {"toolConfirmation": {"trajectoryId": "t", "stepIndex": 0, "accepted": False}},
        ),
        (
            m.QuestionsAnswer("t", 2, (m.WireAnswer(), m.WireAnswer())),
            {
                "questionResponse": {
                    "trajectoryId": "t",
                    "stepIndex": 2,
                    "response": {"answers": [{"unanswered": True}, {"unanswered": True}]},
                }
            },
        ),
        (
            m.QuestionsAnswer("t", 2, None),
            {"questionResponse": {"trajectoryId": "t", "stepIndex": 2, "cancelled": True}},
        ),
        (
            m.QuestionsAnswer("t", 2, (m.WireAnswer((0, 2)), m.WireAnswer((), "own"))),
            {
                "questionResponse": {
                    "trajectoryId": "t",
                    "stepIndex": 2,
                    "response": {
                        "answers": [
                            {"multipleChoiceAnswer": {"selectedChoiceIndices": [0, 2]}},
                            {
                                "multipleChoiceAnswer": {
                                    "selectedChoiceIndices": [],
                                    "freeformResponse": "own",
                                }
                            },
                        ]
                    },
                }
            },
        ),
        (
            m.ToolAnswer("c", '{"result":1}'),
            {"toolResponse": {"id": "c", "responseJson": '{"result":1}'}},
        ),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, dict) else "",
)
def test_encode_when_a_message_has_one_form_then_all_versions_get_it(
    message: m.ClientMessage, expected: dict[str, Any]
) -> None:
    """Everything but prompts and tool errors reads the same on every release."""
    for version in ALL_VERSIONS:
        assert event(message, version) == expected


def test_encode_when_a_tool_failed_then_only_the_oldest_gets_it_as_a_result() -> None:
    """0.1.5 loses an answer with `errorMessage`, and the turn hangs."""
    failed = m.ToolAnswer("c", error='it "broke"')
    old = {"id": "c", "responseJson": '{"error": "it \\"broke\\""}'}
    assert event(failed, "0.1.5") == {"toolResponse": old}
    new = {"id": "c", "errorMessage": 'it "broke"'}
    assert event(failed, "0.1.6") == event(failed, "0.1.22") == {"toolResponse": new}


def test_encode_when_text_is_not_ascii_then_it_goes_as_it_is_and_compactly() -> None:
    """No escapes to blow a frame up, no spaces between."""
    assert encode(m.UserInput((m.TextPart("é€😀"),)), Dialect("0.1.10")) == '{"userInput":"é€😀"}'


def test_encode_when_a_reason_has_half_a_surrogate_pair_then_the_frame_can_still_be_sent() -> None:
    """The harness drops a frame with one without a word; a question mark is better."""
    text = encode(m.PolicyAnswer("\udfff", allowed=False, reason="no\ud800 é"), Dialect("0.1.22"))
    answer = json.loads(text.encode("utf-8"))["policyDecisionResponse"]
    assert (answer["requestId"], answer["denyReason"]) == ("?", "no? é")
