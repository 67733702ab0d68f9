"""An agent on a connection that misbehaves, or that nothing governs: told, refused, never hung."""

from __future__ import annotations

import copy
import threading

import pytest

from antigravity_sync import Agent, Hooks, Usage, policy
from antigravity_sync.connections import (
    ConnectionStrategy,
    HookRequest,
    MockConnection,
    RequestStep,
)
from antigravity_sync.errors import (
    ConfigError,
    HarnessNotFoundError,
    LaunchError,
    RateLimitError,
    SessionLostError,
    TurnError,
    UsageError,
)
from antigravity_sync.responses import Step
from tests.gates import CEILING, Gate, Task, wait_until


def said(index: int, text: str) -> Step:
    return Step(index, "t", True, "MODEL", "USER", "DONE", text=text)


def asks(name: str, request_id: str = "h") -> RequestStep:
    return RequestStep(
        index=-1,
        trajectory_id="t",
        is_main=True,
        source="MODEL",
        target="ENVIRONMENT",
        state="WAITING_FOR_USER",
        request=HookRequest(request_id, "on_pre_tool", name, {}),
    )


class Miscounting(MockConnection):
    """Cannot say what it has used."""

    @property
    def usage(self) -> Usage:
        raise ValueError("lost count")


class Failing(ConnectionStrategy):
    """Has no connection to give."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def connect(self) -> MockConnection:
        raise self.error


def decisions(mock: MockConnection) -> list[bool]:
    return [result.is_allowed for _, _, result in mock.sent_answers]  # type: ignore[attr-defined]


def test_agent_when_usage_raises_then_the_turn_fails_at_once() -> None:
    """What the connection raises beside its steps is told too."""
    mock = Miscounting("m")
    mock.steps_to_yield = [said(1, "x")]
    with Agent(connection=mock) as agent, pytest.raises(TurnError, match="lost count") as caught:
        agent.chat("hi")
    assert isinstance(caught.value.__cause__, ValueError)


def test_agent_when_connect_raises_anything_then_a_launch_error_tells() -> None:
    """Nothing but this package's errors leaves it; one of its own comes as it is."""
    with pytest.raises(LaunchError, match="no route") as caught:
        Agent(connection=Failing(OSError("no route"))).start()
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(HarnessNotFoundError):
        Agent(connection=Failing(HarnessNotFoundError("none", searched=()))).start()


def test_agent_when_a_turn_fails_then_the_error_is_fresh_with_its_facts_and_partial() -> None:
    """The connection's own object is not raised, and the next turn works."""
    mock = MockConnection("m")
    error = RateLimitError("slow down", http_code=429, retryable=True)
    mock.steps_to_yield = [said(1, "so far"), error]
    with Agent(connection=mock) as agent:
        with pytest.raises(RateLimitError, match="slow down") as caught:
            agent.chat("hi")
        assert caught.value is not error
        assert caught.value.http_code == 429
        assert caught.value.retryable
        assert caught.value.partial is not None
        assert caught.value.partial.text == "so far"
        assert error.partial is None
        assert copy.copy(error).http_code == 429
        mock.steps_to_yield = [said(1, "well")]
        assert agent.chat("again").text == "well"


def test_agent_when_the_connection_is_lost_for_good_then_so_is_its_session() -> None:
    """The turn fails with that, and later calls say so; a start with a strategy connects anew."""
    made: list[MockConnection] = []

    class Mocks(ConnectionStrategy):
        def connect(self) -> MockConnection:
            made.append(MockConnection("m"))
            made[-1].steps_to_yield = [said(1, "well")]
            return made[-1]

    agent = Agent(connection=Mocks())
    with agent:
        made[0].steps_to_yield = [said(1, "x"), SessionLostError("gone; start again")]
        with pytest.raises(SessionLostError, match="gone"):
            agent.chat("hi")
        wait_until(lambda: not agent.is_started, "the end of the session")
        with pytest.raises(SessionLostError):
            agent.chat("again")
        assert agent.start().chat("hello").text == "well"
    assert [each.is_connected for each in made] == [False, False]


def test_agent_when_cancelled_inside_a_hook_then_the_halt_goes_out_at_once() -> None:
    """From another thread; the pump is in the hook and could not send it."""
    gate, halted = Gate(), threading.Event()

    class Halting(MockConnection):
        def send_halt_request(self) -> None:
            super().send_halt_request()
            halted.set()

    mock = Halting("m")
    mock.asked_hooks = frozenset({"on_pre_tool"})
    mock.steps_to_yield = [asks("view_file", "a"), said(1, "x")]
    with Agent(connection=mock, hooks=[Hooks(on_pre_tool=lambda _: gate.pass_through())]) as agent:
        chat = Task(lambda: agent.chat("hi"))
        gate.wait_arrived()
        assert Task(agent.cancel).result()
        assert halted.wait(CEILING)
        gate.open()
        assert chat.result().cancelled


def test_agent_when_it_has_no_rules_then_calls_that_change_things_are_refused() -> None:
    """A connection that asks is no way round the safety gate; read-only tools pass."""
    mock = MockConnection("m")
    mock.asked_hooks = frozenset({"on_pre_tool"})
    mock.steps_to_yield = [
        asks("run_command", "a"),
        asks("view_file", "b"),
        asks("unheard_of", "c"),
        said(1, "x"),
    ]
    with Agent(connection=mock) as agent:
        agent.chat("go")
    assert decisions(mock) == [False, True, False]


@pytest.mark.parametrize(
    "options",
    [
        {"policies": [policy.allow_all()]},
        {"hooks": Hooks(on_pre_tool=lambda _: True)},
    ],
)
def test_agent_when_it_has_rules_then_they_alone_decide(options: dict) -> None:
    """What stands in for missing rules is gone."""
    mock = MockConnection("m")
    mock.asked_hooks = frozenset({"on_pre_tool"})
    mock.steps_to_yield = [asks("run_command"), said(1, "x")]
    with Agent(connection=mock, **options) as agent:
        agent.chat("go")
    assert decisions(mock) == [True]


def test_agent_when_workspace_only_names_no_directory_then_refused() -> None:
    """It has no workspaces that this could mean."""
    with pytest.raises(ConfigError, match="workspace_only"):
        Agent(connection=MockConnection("m"), policies=[policy.workspace_only()])
    Agent(connection=MockConnection("m"), policies=[policy.workspace_only("/srv")])


def test_agent_when_reset_on_a_connection_then_refused_and_goes_on() -> None:
    """A connection has one conversation, which cannot be taken for a new one."""
    mock = MockConnection("m")
    with Agent(connection=mock) as agent:
        with pytest.raises(UsageError, match="one conversation"):
            agent.reset()
        mock.steps_to_yield = [said(1, "still here")]
        assert agent.chat("hi").text == "still here"


def test_agent_when_the_connection_says_why_it_stopped_then_the_response_does() -> None:
    """The limit is the connection's, and its name comes through."""

    class Limited(MockConnection):
        @property
        def stop_reason(self) -> str | None:
            return "MAX_TOOL_CALLS_EXCEEDED"

    mock = Limited("m")
    mock.steps_to_yield = [said(1, "so far")]
    with Agent(connection=mock) as agent:
        assert agent.chat("hi").stop_reason == "MAX_TOOL_CALLS_EXCEEDED"
    plain = MockConnection("m")
    plain.steps_to_yield = [said(1, "all")]
    with Agent(connection=plain) as agent:
        assert agent.chat("hi").stop_reason is None
