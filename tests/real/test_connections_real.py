"""A local connection on the real harness: what it asks, what it keeps, and how it fails."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync import AgentConfig, Answer, Capabilities, Decision, policy, tool
from antigravity_sync.connections import (
    ConfirmationRequest,
    Conversation,
    HookRequest,
    LocalConnection,
    LocalConnectionStrategy,
    QuestionsRequest,
    RequestStep,
    Text,
    Thought,
    ToolCall,
    ToolRequest,
)
from antigravity_sync.errors import (
    AgentBusyError,
    AgentClosedError,
    ConfigError,
    ConversationBusyError,
    InvalidRequestError,
    SessionLostError,
    TurnTimeoutError,
    UsageError,
)
from antigravity_sync.testing import (
    ModelGate,
    ScriptedModel,
    call,
    chunks,
    hang,
    http_error,
    thought,
    usage,
)
from tests.gates import Task
from tests.kinds import told
from tests.versions import harness_path, release

pytestmark = pytest.mark.real

Connect = Callable[..., LocalConnection]


@tool
def price(item: str) -> float:
    """Tell what an item costs."""
    raise AssertionError(f"a connection runs no tool: {item}")


@pytest.fixture
def connect(version: str, tmp_path: Path, _leaves_nothing: None) -> Iterator[Connect]:
    """Connect to a harness of `version`; all connections are closed at the end."""
    made: list[LocalConnection] = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def make(model: ScriptedModel, hooks: object = (), /, **options: object) -> LocalConnection:
        config = AgentConfig(
            harness_path=harness_path(version),
            workspaces=[workspace],
            env={"HOME": str(tmp_path)},
            **{**model.agent_options(), **options},
        )
        made.append(LocalConnectionStrategy(config, hooks=hooks).connect())
        return made[-1]

    yield make
    for one in made:
        one.disconnect()


def test_conversation_when_the_model_thinks_calls_and_answers_then_chunks_in_order(connect):
    """Thought, call and text in their order, the tokens as scripted, the tool's result told."""
    script = [
        usage(chunks(thought("hmm"), call("price", item="nail")), prompt=10, candidates=2),
        usage(chunks("It is ", "5."), prompt=20, candidates=3),
    ]
    with ScriptedModel(*script) as model:
        connection = connect(model, tools=[price])
        conversation = Conversation(connection)
        seen: list[object] = []
        for chunk in conversation.chat("what is a nail?"):
            seen.append(chunk)
            if isinstance(chunk, ToolCall):
                assert not connection.is_idle
                connection.send_tool_response(chunk.call_id, 5)
                connection.send_tool_response(chunk.call_id, 6)  # late: goes nowhere
        assert "5" in told(model, 1)
    kinds = [type(chunk) for chunk in seen]
    assert kinds[:2] == [Thought, ToolCall]
    assert set(kinds[2:]) == {Text}
    assert (seen[1].name, seen[1].args) == ("price", {"item": "nail"})
    assert "".join(text.text for text in seen[2:]) == conversation.last_response == "It is 5."
    assert conversation.total_usage.total_tokens == 35
    assert conversation.total_usage.candidates_tokens == 5


def test_connection_when_the_caller_answers_then_the_model_is_told(connect, version, tmp_path):
    """A failure of a tool and the answer to a question; ids that nobody gave out are refused."""
    question = {"question": "Which one?", "options": ["a", "b"], "is_multi_select": False}
    script = [call("price", item="x"), call("ask_question", questions=[question]), "fine"]
    asked: list[object] = []
    with ScriptedModel(*script) as model:
        capabilities = Capabilities.none().enable("ask_question")
        rules = [policy.allow_all()]
        connection = connect(model, tools=[price], capabilities=capabilities, policies=rules)
        for wrong in (
            lambda: connection.send_tool_response("nobody", 1),
            lambda: connection.send_question_response("t", 1, []),
            lambda: connection.send_hook_response("h", None),
            lambda: connection.send_tool_confirmation("t", 1, True),
        ):
            with pytest.raises(UsageError, match="nothing asked for"):
                wrong()
        connection.send("go")
        for step in connection.receive_steps():
            if not isinstance(step, RequestStep):
                continue
            asked.append(step.request)
            match step.request:
                case ToolRequest(call_id=call_id, args=args):
                    assert args == {"item": "x"}
                    with pytest.raises(ConfigError, match="send another"):
                        connection.send_tool_response(call_id, object())
                    connection.send_tool_response(call_id, LookupError("no x here"))
                case QuestionsRequest(trajectory_id=where, step_index=index, questions=questions):
                    assert [one.text for one in questions] == ["Which one?"]
                    assert step.index == index
                    connection.send_question_response(where, index, [Answer.choices(1)])
                case ConfirmationRequest(trajectory_id=where, step_index=index):
                    connection.send_tool_confirmation(where, index, True)
        assert "no x here" in told(model, 1)
        assert "b" in told(model, 2)
    kinds = [type(request) for request in asked if not isinstance(request, ConfirmationRequest)]
    assert kinds == [ToolRequest, QuestionsRequest]


def test_connection_when_asked_before_a_call_then_the_caller_decides(connect, version, tmp_path):
    """By a hook; on 0.1.5 by a confirmation. What the workspace forbids is not even asked about."""
    mine = tmp_path / "workspace" / "mine.txt"
    mine.write_text("the needle")
    (tmp_path / "outside.txt").write_text("the secret")
    script = [
        call("view_file", AbsolutePath=str(tmp_path / "outside.txt")),
        call("view_file", AbsolutePath=str(mine)),
        call("view_file", AbsolutePath=str(mine)),
        "done",
    ]
    has_hooks = release(version) > (0, 1, 5)
    verdicts = [Decision.deny("not yet"), True]
    requests: list[object] = []
    with ScriptedModel(*script) as model:
        connection = connect(model, ["on_pre_tool"])
        connection.send("go")
        for step in connection.receive_steps():
            if not isinstance(step, RequestStep):
                continue
            requests.append(step.request)
            verdict = verdicts[len(requests) - 1]
            match step.request:
                case HookRequest(request_id=request_id, hook="on_pre_tool", name="view_file"):
                    assert has_hooks
                    with pytest.raises(ConfigError, match="cannot change the arguments"):
                        connection.send_hook_response(request_id, Decision.allow({"path": "/"}))
                    connection.send_hook_response(request_id, verdict)
                case ConfirmationRequest(trajectory_id=where, step_index=index, name="view_file"):
                    assert not has_hooks
                    connection.send_tool_confirmation(where, index, verdict is True)
        seen = [str(request.contents[-1]) for request in model.requests]
    assert len(requests) == 2
    assert all(request.args["absolute_path"] == str(mine) for request in requests)
    assert "the secret" not in "".join(seen)
    assert "the needle" not in seen[2]
    assert "the needle" in seen[3]


def test_connection_when_a_policy_refuses_then_the_caller_is_not_asked(connect, version, tmp_path):
    """The configuration's rules hold; what they let pass runs without a word."""
    mine = tmp_path / "workspace" / "mine.txt"
    mine.write_text("the needle")
    script = [
        call("view_file", AbsolutePath=str(mine)),
        call("list_dir", DirectoryPath=str(mine.parent)),
        "ok",
    ]
    with ScriptedModel(*script) as model:
        connection = connect(model, policies=[policy.deny("view_file", "rules are rules")])
        asked: list[str] = []

        def confirm(step: RequestStep) -> None:
            assert isinstance(step.request, ConfirmationRequest)
            asked.append(step.request.name)
            connection.send_tool_confirmation(step.trajectory_id, step.index, True)

        said = list(Conversation(connection, on_request=confirm).chat("go"))
        seen = str([request.contents for request in model.requests])
    assert "the needle" not in seen
    assert "mine.txt" in str(model.requests[2].contents[-1])
    assert said[-1] == Text("ok")
    assert asked == (["list_directory"] if version == "0.1.5" else [])


def test_connection_when_a_turn_runs_then_a_second_prompt_is_refused(connect):
    """It says so at once; the first turn is none the worse for it."""
    gate = ModelGate()
    with ScriptedModel(chunks("one ", gate, "two")) as model:
        connection = connect(model)
        connection.send("go")
        with pytest.raises(AgentBusyError, match="halt request"):
            Task(lambda: connection.send("me too")).result()
        with pytest.raises(AgentBusyError, match="halt request"):
            connection.send_trigger_notification("me too")
        gate.release()
        assert [step.text for step in connection.receive_steps()][-1] == "one two"


def test_connection_when_the_model_fails_then_raises_and_goes_on(connect):
    """The reader gets the error once; the next prompt connects to the same conversation again."""
    with ScriptedModel(http_error(400, "bad thing"), "well") as model:
        connection = connect(model)
        name = connection.conversation_id
        connection.send("go")
        with pytest.raises(InvalidRequestError, match="bad thing"):
            list(connection.receive_steps())
        assert list(connection.receive_steps()) == []
        connection.send("again")
        assert [step.text for step in connection.receive_steps()][-1] == "well"
        assert connection.conversation_id == name


def test_connection_when_the_harness_dies_then_the_reader_hears_of_it(connect):
    """And so does whoever sends next."""
    with ScriptedModel(hang()) as model:
        connection = connect(model)
        connection.send("go")
        reader = Task(lambda: list(connection.receive_steps()))
        model.wait_for_request(1)
        os.kill(connection.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError):
            reader.result()
        with pytest.raises(SessionLostError):
            connection.send("again")


def test_connection_when_disconnected_while_read_then_the_reader_is_told(connect):
    """A disconnect from another thread ends the wait, the process, and its threads."""
    with ScriptedModel(hang()) as model:
        connection = connect(model)
        connection.send("go")
        reader = Task(lambda: list(connection.receive_steps()))
        model.wait_for_request(1)
        connection.disconnect()
        with pytest.raises(AgentClosedError, match="connect\\(\\) anew"):
            reader.result()
        assert connection.close_report is not None
        with pytest.raises(ProcessLookupError):
            os.kill(connection.pid, 0)


def test_connection_when_nobody_answers_then_the_turn_times_out(connect):
    """The error names the call that waits, and the connection can be used again."""
    with ScriptedModel(call("price", item="nail"), "well") as model:
        connection = connect(model, tools=[price], turn_timeout=1.0)
        connection.send("go")
        with pytest.raises(TurnTimeoutError, match="price"):
            list(connection.receive_steps())
        connection.send("again")
        assert [step.text for step in connection.receive_steps()][-1] == "well"


def test_connection_when_made_again_for_a_conversation_then_goes_on_with_it(connect, tmp_path):
    """The model sees what was said before; meanwhile nobody else may open it."""
    saved = {"save_dir": tmp_path / "saved", "conversation_id": "shop"}
    with ScriptedModel("noted", "Ada") as model:
        first = connect(model, **saved)
        assert first.conversation_id == "shop"
        first.send("I am Ada")
        list(first.receive_steps())
        with pytest.raises(ConversationBusyError):
            connect(model, **saved)
        first.disconnect()
        second = connect(model, **saved)
        second.send("Who am I?")
        assert [step.text for step in second.receive_steps()][-1] == "Ada"
        assert "I am Ada" in str(model.requests[1].contents)


def test_conversation_when_halted_in_a_call_then_nothing_is_said_in_the_models_name(connect):
    """0.1.7 to 0.1.13 report the cut call as a text of the model, which it never wrote."""
    with ScriptedModel(call("price", item="nail"), "well") as model:
        connection = connect(model, tools=[price])
        conversation = Conversation(connection)
        for chunk in conversation.chat("go"):
            assert isinstance(chunk, ToolCall)
            Task(connection.send_halt_request).result()
        assert conversation.last_response == ""
        assert "context canceled" not in [step.text for step in conversation.history]
        assert list(conversation.chat("again"))
        assert conversation.last_response == "well"
