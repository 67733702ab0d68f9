"""Connections without a harness: the mock, the view over it, and what a strategy refuses."""

from __future__ import annotations

import pickle

import pytest

from antigravity_sync import (
    AgentConfig,
    AgentPool,
    Answer,
    Hooks,
    Image,
    Trigger,
    Usage,
    connections,
    testing,
)
from antigravity_sync.connections import (
    ConfirmationRequest,
    Connection,
    Conversation,
    HookRequest,
    LocalConnectionStrategy,
    MockConnection,
    QuestionsRequest,
    RequestStep,
    Text,
    Thought,
    ToolCall,
    ToolRequest,
)
from antigravity_sync.errors import ConfigError, SessionLostError, UsageError
from antigravity_sync.responses import Action, Step
from antigravity_sync.testing import TINY_PNG


def step(index: int, state: str = "DONE", **fields: object) -> Step:
    known = {"trajectory_id": "t", "is_main": True, "source": "MODEL", "target": "USER"}
    return Step(index=index, state=state, **{**known, **fields})


def asks(request: object, index: int = -1) -> RequestStep:
    return RequestStep(
        index=index,
        trajectory_id="t",
        is_main=True,
        source="MODEL",
        target="ENVIRONMENT",
        state="WAITING_FOR_USER",
        request=request,
    )


# ── the mock ────────────────────────────────────────────────────────────────────────────────────


def test_mock_when_used_then_yields_what_was_loaded_and_records_what_was_sent() -> None:
    """It needs no process; idleness can be set."""
    mock = MockConnection("test-conv-1")
    assert testing.MockConnection is connections.MockConnection
    assert mock.conversation_id == "test-conv-1"
    mock.is_idle = False
    assert not mock.is_idle
    mock.steps_to_yield.append(step(0, text="a"))
    mock.steps_to_yield.append(step(1, text="b"))
    mock.send("Hello")
    mock.send(["look: ", Image.from_bytes(TINY_PNG, "image/png")])
    mock.send_trigger_notification("tick")
    mock.send_tool_response("c1", 5)
    mock.send_hook_response("h1", False)
    assert [one.text for one in mock.receive_steps()] == ["a", "b"]
    assert mock.sent_prompts == ["Hello", "look: "]
    assert mock.sent_triggers == ["tick"]
    assert mock.sent_answers == [
        ("send_tool_response", "c1", 5),
        ("send_hook_response", "h1", False),
    ]
    assert mock.is_idle


def test_mock_when_an_error_is_loaded_then_it_is_raised_in_its_place() -> None:
    """Each item is a step or an error."""
    mock = MockConnection("m")
    mock.steps_to_yield = [step(0), SessionLostError("gone")]
    steps = mock.receive_steps()
    assert next(steps).index == 0
    with pytest.raises(SessionLostError):
        next(steps)


def test_mock_when_a_prompt_is_empty_then_refused_like_any_other() -> None:
    """A test with it must not pass where the harness would refuse."""
    mock = MockConnection("m")
    with pytest.raises(ConfigError):
        mock.send("")
    with pytest.raises(ConfigError):
        mock.send_trigger_notification("")
    assert mock.sent_prompts == mock.sent_triggers == []


def test_connection_when_pickled_then_refused_with_a_sentence() -> None:
    """It is a conversation with something live."""
    with pytest.raises(UsageError, match="pickled"):
        pickle.dumps(MockConnection("m"))


def test_connection_when_it_has_no_hooks_then_says_so() -> None:
    """Hooks and usage are not for every connection; what is missing is no silent nothing."""
    assert Connection.usage.fget(MockConnection("m")) == Usage()
    with pytest.raises(ConfigError, match="has no hooks"):
        Connection.send_hook_response(MockConnection("m"), "h", None)
    with pytest.raises(TypeError, match="abstract"):
        Connection()


# ── the view ────────────────────────────────────────────────────────────────────────────────────


def test_conversation_when_steps_grow_then_only_what_is_new_is_yielded() -> None:
    """A step is yielded as often as it grows, and is one entry of the history."""
    mock = MockConnection("m")
    mock.usage = Usage(prompt_tokens=3, candidates_tokens=4, total_tokens=7)
    mock.steps_to_yield = [
        step(0, source="USER", target="MODEL", text="hi"),
        step(1, "ACTIVE", thinking="h"),
        step(1, "ACTIVE", thinking="hmm", text="It"),
        step(1, "ACTIVE", thinking="hmm", text="It is"),
        step(1, thinking="hmm", text="It is"),
        step(2, "ACTIVE", target="ENVIRONMENT", action=Action("view_file", {"path": "/a"})),
        step(2, target="ENVIRONMENT", action=Action("view_file", {"path": "/a"}), text="Viewing"),
        step(3, "ERROR", text="not an answer"),
        step(0, trajectory_id="sub", is_main=False, text="not for you"),
        step(4, "ACTIVE", text="five"),
    ]
    conversation = Conversation(mock)
    chunks = list(conversation.chat("hi"))
    assert chunks[:4] == [Thought("h"), Thought("mm"), Text("It"), Text(" is")]
    assert isinstance(chunks[4], ToolCall)
    assert (chunks[4].name, chunks[4].args) == ("view_file", {"path": "/a"})
    assert chunks[5:] == [Text("five")]
    assert [(one.trajectory_id, one.index) for one in conversation.history] == [
        *(("t", index) for index in (0, 1, 2, 3)),
        ("sub", 0),
        ("t", 4),
    ]
    assert conversation.history[-1].is_interrupted
    assert conversation.last_response == "five"
    assert conversation.total_usage.total_tokens == 7
    assert (conversation.turn_count, conversation.conversation_id) == (1, "m")


def test_conversation_when_more_steps_come_than_it_keeps_then_the_newest_stay() -> None:
    """The history is capped, whatever comes."""
    mock = MockConnection("m")
    mock.steps_to_yield = [step(index) for index in range(5001)]
    conversation = Conversation(mock, 5000)
    list(conversation.chat("go"))
    assert [one.index for one in conversation.history] == list(range(1, 5001))


def test_conversation_when_asked_without_handler_then_answers_what_it_can() -> None:
    """Calls of tools are for whoever reads the chunks; everything else gets an answer at once."""
    mock = MockConnection("m")
    mock.steps_to_yield = [
        asks(ToolRequest("c1", "price", {"item": "nail"})),
        asks(ConfirmationRequest("t", 3, "view_file", {}), 3),
        asks(QuestionsRequest("t", 4, ()), 4),
        asks(HookRequest("h1", "on_pre_tool", "view_file", {})),
    ]
    (call,) = Conversation(mock).chat("go")
    assert isinstance(call, ToolCall)
    assert (call.name, call.args, call.call_id) == ("price", {"item": "nail"}, "c1")
    assert mock.sent_answers == [
        ("send_tool_confirmation", "t", 3, True),
        ("send_question_response", "t", 4, []),
        ("send_hook_response", "h1", None),
    ]


def test_conversation_when_asked_with_handler_then_that_answers() -> None:
    """What it answers goes out through the connection, once."""
    mock = MockConnection("m")
    mock.steps_to_yield = [asks(QuestionsRequest("t", 4, ()), 4)]

    def answer(asked: RequestStep) -> None:
        assert isinstance(asked.request, QuestionsRequest)
        mock.send_question_response("t", 4, [Answer.freeform("x")])

    assert list(Conversation(mock, on_request=answer).chat("go")) == []
    assert mock.sent_answers == [("send_question_response", "t", 4, [Answer.freeform("x")])]


@pytest.mark.parametrize("bad", [0, -1, True, "5", 2.0])
def test_conversation_when_max_history_is_no_count_then_refused(bad: object) -> None:
    """Nothing is kept by a number that is none."""
    with pytest.raises(ConfigError, match="max_history"):
        Conversation(MockConnection("m"), bad)


def test_conversation_when_given_no_connection_then_refused() -> None:
    """A class, say, is no connection."""
    with pytest.raises(ConfigError, match="must be a Connection, not type"):
        Conversation(AgentPool)


# ── the strategy ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "options",
    [
        {"hooks": [Hooks(on_pre_turn=lambda _prompt: None)]},
        {"triggers": [Trigger("tick", every=1.0)]},
        {"response_schema": {"type": "object", "properties": {}}},
        {"tool_workers": 2},
    ],
    ids=lambda options: next(iter(options)),
)
def test_strategy_when_only_an_agent_can_honour_an_option_then_refused(options: dict) -> None:
    """Nothing that the configuration says is silently ignored."""
    with pytest.raises(ConfigError, match=f"{next(iter(options))} would be ignored"):
        LocalConnectionStrategy(AgentConfig(api_key="k", **options))


def test_strategy_when_the_hook_does_not_exist_then_refused() -> None:
    """The error names those there are."""
    with pytest.raises(ConfigError, match=r"no hook 'on_pre_turn'.*on_pre_tool"):
        LocalConnectionStrategy(AgentConfig(api_key="k"), hooks=["on_pre_turn"])


def test_strategy_when_given_no_config_then_refused() -> None:
    """Before anything is started."""
    with pytest.raises(ConfigError, match="must be an AgentConfig, not dict"):
        LocalConnectionStrategy({})


def test_connection_when_printed_then_no_secret() -> None:
    """Neither what makes one nor what it is shows a key (R226)."""
    strategy = LocalConnectionStrategy(
        AgentConfig(api_key="zqx-secret", env={"TOKEN": "zqx-token"})
    )
    for shown in (repr(strategy), str(strategy), repr(MockConnection("c"))):
        assert "zqx" not in shown
