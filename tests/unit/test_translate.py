"""A connection's steps as the pump sees them, and the pump's answers as a connection's verbs."""

from __future__ import annotations

import base64
import json

import pytest

from antigravity_sync import Action, Answer, Decision, Question, Step, StopDecision, Usage
from antigravity_sync import _messages as m
from antigravity_sync._core.asks import AskKind
from antigravity_sync._core.steps import StepRecord
from antigravity_sync._wire.codec import decode
from antigravity_sync._wire.dialect import NEWEST
from antigravity_sync._wire.encode import encode
from antigravity_sync.connections import (
    ConfirmationRequest,
    HookRequest,
    MockConnection,
    QuestionsRequest,
    RequestStep,
    ToolRequest,
)
from antigravity_sync.connections._translate import Frames, answer, prompt_of
from antigravity_sync.content import Document, Image, SlashCommand
from antigravity_sync.errors import ToolDispatchError
from antigravity_sync.questions import CancelQuestions

PNG = b"\x89PNG\r\n\x1a\n"


def frames_of(frames: Frames, step: Step) -> list[m.PeerFrame]:
    return [frame for data in frames.step(step) for frame in decode(data)]


def shown(step: Step) -> Step:
    """Return a step as it comes back from the wire."""
    frames = Frames("main")
    frames.begin("hi", is_trigger=False)
    (frame,) = frames_of(frames, step)
    return StepRecord(step.is_main, frame, action_frame=frame).step()


def request(what: object, **fields: object) -> RequestStep:
    given = {
        "index": -1,
        "trajectory_id": "theirs",
        "is_main": True,
        "source": "MODEL",
        "target": "ENVIRONMENT",
        "state": "WAITING_FOR_USER",
        "request": what,
    }
    return RequestStep(**{**given, **fields})


@pytest.mark.parametrize(
    "step",
    [
        Step(1, "main", True, "MODEL", "USER", "ACTIVE", text="hé\n", thinking="hm"),
        Step(1, "main", True, "MODEL", "USER", "DONE", text="done"),
        Step(1, "main", True, "SYSTEM", "USER", "ERROR", error="no", http_code=429),
        Step(1, "other", False, "MODEL", "USER", "DONE", text="of a subagent"),
        Step(
            *(1, "main", True, "MODEL", "ENVIRONMENT", "DONE"),
            action=Action("run_command", {"command_line": "ls"}, {"exit_code": 0}),
        ),
        Step(
            *(1, "main", True, "MODEL", "ENVIRONMENT", "DONE"),
            action=Action(
                *("mcp_a_b_c", {"x": [1]}, None, None),
                {"server_name": "a_b", "tool_name": "c"},
            ),
        ),
        Step(
            *(1, "main", True, "MODEL", "ENVIRONMENT", "DONE"),
            action=Action("start_subagent", {}, None, "scout"),
        ),
        Step(1, "main", True, "ORACLE", "VOID", "FADING", text="?"),
    ],
)
def test_step_when_it_goes_over_then_it_comes_back_the_same(step):
    """With an index of ours, and the conversation's main trajectory."""
    back = shown(step)
    for name in ("is_main", "source", "target", "state", "text", "thinking", "action", "http_code"):
        assert getattr(back, name) == getattr(step, name), name
    assert back.error == step.error
    assert back.trajectory_id == ("main" if step.is_main else "other")


def test_step_when_it_grows_then_only_what_is_new_is_a_delta():
    """A text that begins anew has none; the whole is always there."""
    frames = Frames("main")
    deltas = []
    for text in ("he", "hello", "hello", "bye"):
        (frame,) = frames_of(frames, Step(4, "main", True, "MODEL", "USER", "ACTIVE", text=text))
        deltas.append((frame.index, frame.text_delta, frame.text))
    assert deltas == [(0, "he", "he"), (0, "llo", "hello"), (0, "", "hello"), (0, "", "bye")]


def test_turn_when_it_begins_then_what_was_said_is_echoed_once():
    """The connection's own echo is passed over, and its indices may begin anew."""
    frames = Frames("main")
    indices = []
    for _ in range(2):
        state, echo = (
            frame for data in frames.begin("hi", is_trigger=False) for frame in decode(data)
        )
        assert (state.state, echo.source, echo.text) == ("STATE_RUNNING", "SOURCE_USER", "hi")
        indices.append(echo.index)
        assert frames.step(Step(0, "main", True, "USER", "MODEL", "DONE", text="hi")) == []
        (frame,) = frames_of(frames, Step(1, "main", True, "MODEL", "USER", "DONE", text="yes"))
        indices.append(frame.index)
    assert indices == [0, 1, 2, 3]


def test_turn_when_it_ends_then_usage_comes_if_it_has_changed():
    """And an error, if there is one."""
    frames = Frames("main")
    usage, idle = (f for data in frames.end(Usage(total_tokens=7), "e") for f in decode(data))
    assert usage.total.total_tokens == 7
    assert (idle.state, idle.error) == ("STATE_FULLY_IDLE", "e")
    assert len(frames.end(Usage(total_tokens=7))) == 1
    assert len(frames.end(Usage())) == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("on_pre_tool", "LIFECYCLE_HOOK_PRE_TOOL"),
        ("policy", "LIFECYCLE_HOOK_PRE_TOOL"),
        ("on_post_tool", "LIFECYCLE_HOOK_POST_TOOL"),
        ("on_tool_error", "LIFECYCLE_HOOK_ON_TOOL_ERROR"),
        ("on_compaction", "LIFECYCLE_HOOK_ON_COMPACTION"),
        ("on_stop", "LIFECYCLE_HOOK_STOP"),
    ],
)
def test_hook_when_asked_for_then_it_is_the_harness_s_request(name, kind):
    """With the call's name, server, arguments and id."""
    asked = HookRequest("h7", name, "echo", {"a": 1}, "c7", "tiny")
    (frame,) = frames_of(Frames("main"), request(asked))
    assert (frame.request_id, frame.type) == ("h7", kind)
    assert frame.args["toolName"] == "echo"
    assert frame.args["serverName"] == "tiny"
    assert frame.args["callId"] == "c7"
    arguments = frame.args["arguments"] if kind.endswith("PRE_TOOL") else frame.args
    assert arguments["a"] == 1


def test_confirmation_and_questions_when_answered_then_by_the_connections_own_ids():
    """Which it counts as it likes."""
    connection, frames = MockConnection("m"), Frames("main")
    frames.begin("hi", is_trigger=False)
    where = ConfirmationRequest("theirs", 40, "run_command", {"command_line": "ls"})
    (waiting,) = frames_of(frames, request(where, index=40))
    assert (waiting.wants_confirmation, waiting.state) == (True, m.WAITING)
    assert waiting.payload["name"] == "run_command"
    questions = (Question("Which?", ("red", "blue"), multi_select=True),)
    (asking,) = frames_of(frames, request(QuestionsRequest("theirs", 41, questions), index=41))
    assert tuple(Question.parse(raw) for raw in asking.questions) == questions

    def send(message: m.ClientMessage) -> None:
        assert answer(connection, json.loads(encode(message, NEWEST)), frames)

    send(m.Confirmation("main", waiting.index, True))
    given = (m.WireAnswer((1,), "or so"), m.WireAnswer())
    send(m.QuestionsAnswer("main", asking.index, given))
    send(m.QuestionsAnswer("main", asking.index, None))
    confirmed, answered, cancelled = connection.sent_answers
    assert confirmed == ("send_tool_confirmation", "theirs", 40, True)
    assert answered[:3] == ("send_question_response", "theirs", 41)
    assert answered[3] == [Answer.choices(1, freeform="or so"), Answer()]
    assert isinstance(cancelled[3], CancelQuestions)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (m.HookAnswer("h", "LIFECYCLE_HOOK_PRE_TOOL", True), Decision.allow()),
        (m.HookAnswer("h", "LIFECYCLE_HOOK_PRE_TOOL", False, "no"), Decision.deny("no")),
        (m.HookAnswer("h", "LIFECYCLE_HOOK_POST_TOOL"), None),
        (m.HookAnswer("h", "LIFECYCLE_HOOK_ON_TOOL_ERROR", error_text="sorry"), "sorry"),
        (m.HookAnswer("h", "LIFECYCLE_HOOK_STOP", reason="more"), StopDecision.go_on("more")),
    ],
)
def test_hook_answer_when_sent_then_it_is_what_such_a_hook_returns(message, expected):
    """Decisions, words in place of an error, and nothing."""
    connection = MockConnection("m")
    assert answer(connection, json.loads(encode(message, NEWEST)), Frames("main"))
    assert connection.sent_answers == [("send_hook_response", "h", expected)]


def test_hook_answer_when_it_changes_arguments_then_the_call_is_refused():
    """A connection cannot change them, and the call as it was is not what the hook let pass."""
    connection = MockConnection("m")
    message = m.HookAnswer("h", "LIFECYCLE_HOOK_PRE_TOOL", True, arguments={"a": 2})
    answer(connection, json.loads(encode(message, NEWEST)), Frames("main"))
    ((_, _, said),) = connection.sent_answers
    assert not said.is_allowed


def test_tool_answer_when_sent_then_result_failure_or_files():
    """A failure is an exception with the tool's name, as `send_tool_response` takes it."""
    connection, frames = MockConnection("m"), Frames("main")
    (frame,) = frames_of(frames, request(ToolRequest("c1", "draw", {"a": [1, "é"]})))
    assert (frame.name, frame.arguments, frame.call_id) == ("draw", {"a": [1, "é"]}, "c1")
    for message in (
        m.ToolAnswer("c1", '{"result": 3}'),
        m.ToolAnswer("c1", '{"result": 3, "more": 4}'),
        m.ToolAnswer("c1", error="it broke"),
        m.ToolAnswer("c1", '{"result": "see"}', media=(m.MediaPart("image/png", PNG),)),
    ):
        assert answer(connection, json.loads(encode(message, NEWEST)), frames)
    plain, whole, failed, drawn = (said[2] for said in connection.sent_answers)
    assert (plain, whole) == (3, {"result": 3, "more": 4})
    assert isinstance(failed, ToolDispatchError)
    assert (str(failed), failed.name) == ("it broke", "draw")
    assert drawn[0] == "see"
    assert isinstance(drawn[1], Image)


def test_event_when_it_is_no_answer_then_said_so():
    """The bridge logs it."""
    assert not answer(MockConnection("m"), {"policyDecisionResponse": {}}, Frames("main"))


def test_prompt_when_it_has_parts_then_a_connection_gets_them():
    """One text is a text; files keep their type, commands their name."""
    assert prompt_of({"parts": [{"text": "hi"}]}) == ("hi", "hi")
    image = {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}
    letter = {"mimeType": "application/pdf", "data": base64.b64encode(b"%PDF-1.4").decode()}
    parts = [
        {"slashCommand": {"name": "goal"}},
        {"text": "go"},
        {"media": image},
        {"media": letter},
    ]
    found, words = prompt_of({"parts": parts})
    assert words == "/goal go"
    assert found[:2] == [SlashCommand("goal"), "go"]
    assert [type(part) for part in found[2:]] == [Image, Document]


def test_ask_when_a_confirmation_came_over_then_it_is_about_the_call():
    """So that rules see its name and arguments, as they do on 0.1.5."""
    from antigravity_sync._core.answers import step_ask

    where = ConfirmationRequest("theirs", 1, "run_command", {"command_line": "ls"})
    (frame,) = frames_of(Frames("main"), request(where, index=1))
    ask = step_ask(frame)
    assert (ask.kind, ask.name, ask.args) == (
        *(AskKind.CONFIRMATION, "run_command"),
        {"command_line": "ls"},
    )
