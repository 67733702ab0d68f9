"""An agent on a connection: mock, and one of a user's own."""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Iterator

import pytest

from antigravity_sync import (
    Action,
    Agent,
    Capabilities,
    Decision,
    Hooks,
    Image,
    Step,
    Usage,
    policy,
    tool,
)
from antigravity_sync.connections import (
    ConnectionStrategy,
    HookRequest,
    MockConnection,
    RequestStep,
    ToolRequest,
)
from antigravity_sync.errors import (
    AgentClosedError,
    ConfigError,
    RateLimitError,
    TurnError,
    TurnTimeoutError,
    UsageError,
)
from antigravity_sync.events import TextDelta, ToolAction
from tests.gates import CEILING, Gate, Task, wait_until
from tests.loop.test_connections_contract import Parrot, ParrotStrategy, text_step

NUMBERS = itertools.count()
PNG = b"\x89PNG\r\n\x1a\n"


@tool
def price(item: str) -> float:
    """Tell what an item costs."""
    return {"tea": 2.5}[item]


def asking(request: object, **fields: object) -> RequestStep:
    where = {"index": -1, "trajectory_id": "t", "is_main": True, "source": "MODEL"}
    target = {"target": "ENVIRONMENT", "state": "WAITING_FOR_USER", "request": request}
    return RequestStep(**{**where, **target, **fields})


def hook(name: str, args: dict[str, object], **fields: object) -> RequestStep:
    return asking(HookRequest(f"h{next(NUMBERS)}", "on_pre_tool", name, args, **fields))


def mock(*steps: object, hooks: tuple[str, ...] = ()) -> MockConnection:
    connection = MockConnection("mock-1")
    connection.steps_to_yield = list(steps)
    connection.asked_hooks = hooks
    return connection


# ── a connection of one's own ───────────────────────────────────────────────────────────────────


def test_mock_when_an_agent_uses_it_then_its_steps_are_a_turn():
    """Text comes as it grows; what was said is recorded; usage is the connection's."""
    connection = mock(text_step(5, "hel", "ACTIVE"), text_step(5, "hello"))
    connection.usage = Usage(prompt_tokens=3, total_tokens=5)
    with Agent(connection=connection) as agent:
        assert agent.conversation_id == "mock-1"
        assert (agent.pid, agent.harness_version) == (None, None)
        events = list(agent.stream("Hi, mock."))
        assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "hello"
        response = events[-1].response
        assert (response.text, response.incomplete) == ("hello", False)
        assert response.usage.total_tokens == 5
        assert agent.usage == Usage(prompt_tokens=3, total_tokens=5)
        connection.steps_to_yield = [text_step(0, "again")]  # counted from 0 once more
        assert agent.chat(["Look:", Image.from_bytes(PNG, "image/png")]).text == "again"
        assert connection.sent_prompts == ["Hi, mock.", "Look:"]
        assert [step.text for step in agent.history if step.source == "MODEL"] == ["hello", "again"]
    assert not connection.is_connected


def test_tools_when_a_connection_asks_for_them_then_the_agent_runs_them():
    """On the caller's thread; what fails is told as an exception; actions of others are shown."""
    threads = []

    @tool
    def where() -> str:
        """Tell the thread."""
        threads.append(threading.current_thread())
        return "here"

    connection = mock(
        asking(ToolRequest("c1", "price", {"item": "tea"})),
        asking(ToolRequest("c2", "price", {"item": "gold"})),
        asking(ToolRequest("c3", "where", {})),
        Step(
            *(1, "t", True, "MODEL", "ENVIRONMENT", "DONE"),
            action=Action("weather", {"city": "Rome"}, {"sky": "blue"}),
        ),
        text_step(2, "done"),
    )
    with Agent(connection=connection, tools=[price, where]) as agent:
        response = agent.chat("go")
    first, second, third = connection.sent_answers
    assert first == ("send_tool_response", "c1", 2.5)
    assert second[:2] == ("send_tool_response", "c2")
    assert "KeyError" in str(second[2])
    assert third == ("send_tool_response", "c3", "here")
    assert threads == [threading.current_thread()]
    assert {each.name: each.result for each in response.tool_calls if not each.error} == {
        "price": 2.5,
        "where": "here",
        "weather": {"sky": "blue"},
    }


def test_policies_when_a_connection_asks_for_hooks_then_they_hold():
    """By name and arguments, an MCP server's tool by its server too; hooks may not rewrite."""
    connection = mock(
        hook("run_command", {"command_line": "rm -r /"}),
        hook("run_command", {"command_line": "ls"}),
        hook("echo", {}, server_name="tiny"),
        hook("view_file", {"absolute_path": "/etc/passwd"}),
        text_step(2, "done"),
        hooks=("on_pre_tool",),
    )
    rules = [
        policy.deny("run_command", "not that", when=lambda call: "rm" in call.args["command_line"]),
        policy.deny("mcp_tiny_echo", "no echo"),
    ]

    def rewrite(invocation: object) -> Decision | None:
        changed = {"absolute_path": "/tmp/x"}
        return Decision.allow(changed) if invocation.name == "view_file" else None

    options = {"policies": rules, "hooks": [Hooks(on_pre_tool=rewrite)]}
    with Agent(connection=connection, **options) as agent:
        response = agent.chat("go")
    said = [answer[2] for answer in connection.sent_answers]
    assert [each.is_allowed for each in said] == [False, True, False, False]
    assert [said[0].reason, said[2].reason] == ["not that", "no echo"]
    assert "cannot be changed" in said[3].reason
    assert [each.name for each in response.tool_calls if each.error] == [
        *("run_command", "mcp_tiny_echo")
    ]


def test_rules_when_the_connection_asks_for_no_hooks_then_refused_before_anything_is_sent():
    """They would be without effect, and nobody would know."""
    for options in (
        {"policies": [policy.deny_all()]},
        {"hooks": [Hooks(on_pre_tool=lambda _: True)]},
        {"hooks": [Hooks(on_post_tool=lambda _: None)]},
    ):
        connection = mock()
        with pytest.raises(ConfigError, match="would be without effect"):
            Agent(connection=connection, **options).start()
        assert (connection.sent_prompts, connection.is_connected) == ([], True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "another"),
        ("capabilities", Capabilities.none()),
        ("save_dir", "somewhere"),
        ("env", {"A": "b"}),
        ("system_instructions", "Be brief."),
        ("response_schema", {"type": "object", "properties": {}}),
        ("api_key", "none-such-key"),
    ],
)
def test_option_when_only_a_connection_could_honour_it_then_refused(name, value):
    """By its name, when the agent is made."""
    with pytest.raises(ConfigError, match=f"^{name} would be ignored"):
        Agent(connection=mock(), **{name: value})


def test_connection_when_it_is_none_then_refused():
    """A class, a name, and what only looks like one."""
    for value in ("local", MockConnection, object()):
        with pytest.raises(ConfigError, match="connection must be"):
            Agent(connection=value)
    with pytest.raises(UsageError):
        pickle.dumps(Agent(connection=mock()))


def test_connection_when_its_agent_starts_again_then_a_strategy_is_asked_for():
    """A connection is used up by one start; a strategy makes another."""
    agent = Agent(connection=mock(text_step(0, "one")))
    with agent:
        assert agent.chat("go").text == "one"
    with pytest.raises(UsageError, match="ConnectionStrategy"):
        agent.start()

    made: list[Parrot] = []

    class Parrots(ConnectionStrategy):
        def connect(self) -> Parrot:
            made.append(Parrot())
            made[-1].answer = f"parrot {len(made)}"
            return made[-1]

    agent = Agent(connection=Parrots())
    for number in (1, 2):
        with agent:
            assert agent.chat("go").text == f"parrot {number}"
    assert [each._is_closed for each in made] == [True, True]


@pytest.mark.parametrize("error", [RateLimitError("slow down; wait"), AgentClosedError("gone")])
def test_turn_when_the_connection_raises_then_that_error_goes_up(error):
    """With what there was of the turn; the next one works if the connection does."""
    connection = mock(text_step(0, "half", "ACTIVE"), error)
    with Agent(connection=connection) as agent:
        with pytest.raises(type(error)) as caught:
            agent.chat("go")
        assert (str(caught.value), type(caught.value)) == (str(error), type(error))
        if isinstance(error, TurnError):
            assert caught.value.partial.text == "half"
        connection.steps_to_yield = [text_step(0, "whole")]
        assert agent.chat("again").text == "whole"


def test_turn_when_the_connection_is_broken_then_said_and_logged(caplog):
    """What it raised is the cause; so it is when it cannot even send."""

    class Broken(Parrot):
        def send(self, content: object) -> None:
            raise OSError("no wire")

    for connection in (mock(ZeroDivisionError("no wire")), Broken()):
        with Agent(connection=connection) as agent:
            with pytest.raises(TurnError, match="no wire") as caught:
                agent.chat("go")
            assert isinstance(caught.value.__cause__, ZeroDivisionError | OSError)
    assert caplog.text.count("the connection failed") == 2


class Stuck(Parrot):
    """A connection that says half a word and then nothing, whatever is asked of it."""

    def __init__(self, *, hears_halt: bool) -> None:
        super().__init__()
        self.gate = Gate()
        self._hears_halt = hears_halt
        self.halts = 0

    def receive_steps(self) -> Iterator[Step]:
        yield text_step(1, "half", "ACTIVE")
        self.gate.pass_through()

    def send_halt_request(self) -> None:
        self.halts += 1
        if self._hears_halt:
            self.gate.open()

    def disconnect(self) -> None:
        self.gate.open()


def test_cancel_when_the_connection_halts_then_the_turn_ends_with_what_there_was():
    """By a halt request, from another thread."""
    connection = Stuck(hears_halt=True)
    with Agent(connection=connection) as agent:
        chat = Task(lambda: agent.chat("go"))
        connection.gate.wait_arrived()
        assert agent.cancel()
        response = chat.result()
    assert (response.cancelled, response.text) == (True, "half")
    assert connection.halts >= 1


def test_deadline_when_the_connection_does_not_halt_then_the_turn_ends_all_the_same():
    """And a close ends it though the connection still says nothing."""
    connection = Stuck(hears_halt=False)
    with Agent(connection=connection) as agent:
        with pytest.raises(TurnTimeoutError) as caught:
            agent.chat("go", timeout=0.1)
        assert caught.value.partial.text == "half"
    assert connection.halts >= 1
    assert connection.gate.arrived.is_set()


def test_close_when_the_connection_reads_for_ever_then_it_is_disconnected():
    """In the middle of a turn, which fails for its caller."""
    connection = Stuck(hears_halt=False)
    agent = Agent(connection=connection).start()
    chat = Task(lambda: agent.chat("go"))
    connection.gate.wait_arrived()
    agent.close()
    with pytest.raises(AgentClosedError):
        chat.result()


def test_notify_when_a_connection_takes_triggers_then_the_answer_is_a_turn():
    """Sent as a trigger notification, and answered to nobody."""
    connection = mock(text_step(1, "first"))
    with Agent(connection=connection) as agent:
        assert agent.chat("hello").text == "first"
        connection.steps_to_yield = [text_step(1, "heard")]
        agent.notify("the file has changed")
        wait_until(lambda: agent.history[-1].text == "heard", "the trigger's turn")
        assert agent.wait_idle(timeout=CEILING)
    assert connection.sent_triggers == ["the file has changed"]


def test_parrot_when_an_agent_is_on_its_strategy_then_each_start_has_its_own():
    """What a user writes by the contract is enough."""
    with Agent(connection=ParrotStrategy(), max_history=3) as agent:
        assert agent.chat("hi").text == ""
        assert agent.config.max_history == 3


def test_tool_action_when_a_step_tells_one_then_it_is_an_event_once():
    """However often the step comes."""
    step = Step(
        *(1, "t", True, "MODEL", "ENVIRONMENT", "DONE"), action=Action("run_command", {"a": 1})
    )
    with Agent(connection=mock(step, step, text_step(2, "done"))) as agent:
        events = [each for each in agent.stream("go") if isinstance(each, ToolAction)]
    assert [each.action.name for each in events] == ["run_command"]
