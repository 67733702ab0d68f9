"""Several agents on one process: nothing of one reaches another, and the process ends in time."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator

import pytest

from antigravity_sync import Agent, AgentConfig, Capabilities, Harness, Hooks, policy, tool
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync.errors import (
    ConfigError,
    ConversationNotFoundError,
    ModelError,
    SessionLostError,
)
from antigravity_sync.testing import ModelRequest, ScriptedModel, call, http_error
from tests.gates import CEILING, Gate, Task, wait_until
from tests.leaks import children
from tests.versions import harness_path

pytestmark = pytest.mark.real

SHELL = {
    "capabilities": Capabilities.read_only().enable("run_command"),
    "policies": [policy.allow_all()],
    "contain_workspaces": False,
}


@pytest.fixture
def make_harness(version, tmp_path, _leaves_nothing) -> Iterator[Callable[..., Harness]]:
    """Make harnesses of `version`; all are closed at the end."""
    made: list[Harness] = []
    (tmp_path / "workspace").mkdir()

    def make(model: ScriptedModel, **options: object) -> Harness:
        defaults = {
            "harness_path": harness_path(version),
            "workspaces": [tmp_path / "workspace"],
            "env": {"HOME": str(tmp_path)},
            **model.agent_options(),
        }
        made.append(Harness(**{**defaults, **options}))
        return made[-1]

    yield make
    for harness in made:
        harness.close()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return the directory that private directories are made in."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def last_text(request: ModelRequest) -> str:
    return str(request.contents[-1])


def echoing(request: ModelRequest) -> str:
    """Answer with the name that was said, and how much was said so far."""
    said = re.findall(r"I am (\w+)", last_text(request))
    return f"{said[-1] if said else 'who?'} {len(request.contents)}"


def test_agents_when_on_one_harness_then_each_has_its_own_conversation(make_harness):
    """One process, many threads, and no answer or memory goes astray."""
    with ScriptedModel(echoing, loop=True) as model, make_harness(model) as harness:

        def talk(name: str) -> list[str]:
            with harness.agent() as agent:
                assert agent.pid == harness.pid
                return [agent.chat(f"I am {name}").text.partition(" ")[0] for _ in range(3)]

        names = [f"zqx{number}" for number in range(6)]
        tasks = [Task(lambda name=name: talk(name)) for name in names]
        assert [task.result() for task in tasks] == [[name] * 3 for name in names]
        for request in model.requests:
            assert len({name for name in names if name in str(request.contents)}) <= 1
        report = harness.close()
    assert report.clean, report


def test_agents_when_they_have_rules_and_tools_then_each_has_its_own(make_harness):
    """What is allowed to one is denied to the other; a tool is not offered next door."""
    ran = []

    @tool
    def ring() -> str:
        """Ring a bell."""
        ran.append("ring")
        return "rung"

    def reply(request: ModelRequest) -> object:
        if request.function_responses or "rung" in last_text(request):
            return "done"
        return call("ring") if "ring" in request.tools else "no bell"

    with (
        ScriptedModel(reply, loop=True) as model,
        make_harness(model) as harness,
        harness.agent(tools=[ring]) as free,
        harness.agent(tools=[ring], policies=[policy.deny("ring", "quiet")]) as held,
        harness.agent() as bare,
    ):
        assert free.chat("go").text == "done"
        assert ran == ["ring"]
        response = held.chat("go")
        assert response.tool_calls[0].decision.reason == "quiet"
        assert ran == ["ring"]
        assert bare.chat("go").text == "no bell"


def test_agent_when_it_fails_or_closes_then_the_others_go_on(make_harness):
    """A fatal model error, a halt, a close: none of it is the neighbour's business."""
    gate = Gate()

    def reply(request: ModelRequest) -> object:
        said = last_text(request)
        if "bad" in said:
            return http_error(400, "no")
        if "wait" in said:
            gate.pass_through()
        return "fine"

    with ScriptedModel(reply, loop=True) as model, make_harness(model) as harness:
        steady, other = harness.agent().start(), harness.agent().start()
        turn = Task(lambda: steady.chat("wait for it"))
        gate.wait_arrived()
        with pytest.raises(ModelError):
            other.chat("bad")
        assert other.chat("good").text == "fine"
        report = other.close()
        assert report.clean, report
        assert report.exit_code is None
        with harness.agent() as third:
            assert third.chat("hello").text == "fine"
        gate.open()
        assert turn.result().text == "fine"
        assert steady.chat("still there?").text == "fine"
        other.start()
        assert other.chat("again").text == "fine"


def test_agent_when_it_closes_then_its_commands_end_and_no_others(make_harness, tmp_path):
    """A command that was left running belongs to one conversation."""

    def reply(request: ModelRequest) -> object:
        if request.function_responses or "sleep" in last_text(request):
            return "started"
        seconds = "301" if "one" in last_text(request) else "302"
        return call(
            "run_command", CommandLine=f"sleep {seconds}", Cwd=str(tmp_path), WaitMsBeforeAsync=100
        )

    options = {**SHELL, "task_wait": 0.3}
    with ScriptedModel(reply, loop=True) as model, make_harness(model, **options) as harness:
        one, two = harness.agent().start(), harness.agent().start()
        one.chat("one")
        two.chat("two")
        report = one.close()
        assert any("sleep 301" in line for line in report.ended_commands), report
        assert not any("sleep 302" in line for line in report.ended_commands), report
        found = two._engine._host.find_commands(two._engine.board.snapshot.main_id)
        assert any("sleep 302" in each.line for each in found)
        assert any("sleep 302" in line for line in harness.close().ended_commands)


def test_process_when_killed_then_all_hear_of_it_and_the_next_start_has_another(make_harness):
    """Each waiter is told, and each agent can be started again."""
    gate = Gate()

    def reply(request: ModelRequest) -> str:
        if "wait" in last_text(request):
            gate.pass_through()
        return "fine"

    with ScriptedModel(reply, loop=True) as model, make_harness(model) as harness:
        agents = [harness.agent().start() for _ in range(3)]
        turns = [Task(lambda agent=agent: agent.chat("wait")) for agent in agents]
        wait_until(lambda: len(model.requests) == 3, "three turns")
        before = harness.pid
        os.kill(before, signal.SIGKILL)
        for turn in turns:
            with pytest.raises(SessionLostError) as caught:
                turn.result()
            assert caught.value.exit_code == -signal.SIGKILL
        gate.open()
        assert not harness.is_started
        assert agents[0].start().chat("hello").text == "fine"
        assert harness.pid not in (None, before)
        assert agents[1].start().pid == harness.pid


def test_process_when_nobody_holds_it_then_it_ends_with_its_last_agent(make_harness, temporary):
    """An agent starts it, the last one ends it, and the private directory goes with it."""
    with ScriptedModel(echoing, loop=True) as model:
        harness = make_harness(model)
        assert not harness.is_started
        with harness.agent() as one:
            with harness.agent() as two:
                assert one.pid == two.pid == harness.pid
            assert harness.is_started
        assert not harness.is_started
        assert list(temporary.iterdir()) == []
        with harness.agent() as again:
            assert again.chat("I am zqx").text.startswith("zqx")


def test_process_when_its_last_agent_closes_in_a_hook_then_it_ends(make_harness, temporary):
    """The close is begun there and finished by the agent itself, and so is the process's end."""
    agents = []

    def close(_response_text: str) -> None:
        agents[0].close()

    with ScriptedModel(echoing, loop=True) as model:
        harness = make_harness(model)
        agent = harness.agent(hooks=[Hooks(on_post_turn=close)]).start()
        agents.append(agent)
        pid = harness.pid
        agent.chat("I am zqx")
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the process")
        wait_until(lambda: list(temporary.iterdir()) == [], "the end of its directory")
        assert not harness.is_started


def test_harness_when_closed_in_mid_turn_then_its_agents_are_closed(make_harness):
    """Turns are halted, nothing is left, and the report tells of all."""
    gate = Gate()

    def reply(request: ModelRequest) -> str:
        if "wait" in last_text(request):
            gate.pass_through()
        return "fine"

    with ScriptedModel(reply, loop=True) as model:
        harness = make_harness(model).start()
        agent = harness.agent().start()
        turn = Task(lambda: agent.chat("wait"))
        gate.wait_arrived()
        report = harness.close()
        with pytest.raises(Exception, match="closed"):
            turn.result()
        gate.open()
        assert report.exit_code is not None
        assert report.leftovers == ()
        assert not agent.is_started


def test_conversations_when_they_are_kept_then_each_can_be_gone_on_with(make_harness, tmp_path):
    """`save_dir` is the harness's, the conversation the agent's; one has it open at a time."""
    saved = {"save_dir": tmp_path / "saved"}
    with ScriptedModel(echoing, loop=True) as model, make_harness(model, **saved) as harness:
        with harness.agent(conversation_id="ada") as agent:
            agent.chat("I am ada")
            with pytest.raises(Exception, match="open by another agent"):
                harness.agent(conversation_id="ada").start()
            with harness.agent(conversation_id="bob") as other:
                other.chat("I am bob")
        with harness.agent(conversation_id="ada", resume="must") as agent:
            assert [step.text for step in agent.initial_history if "ada" in step.text]
            agent.chat("who?")
            assert "ada" in str(model.requests[-1].contents)
            assert "bob" not in str(model.requests[-1].contents)


@pytest.mark.parametrize("name", ["env", "harness_path", "save_dir"])
def test_option_when_it_is_the_processs_then_an_agent_may_not_change_it(name):
    """It would be ignored."""
    value = {"env": {"A": "b"}, "harness_path": "x", "save_dir": "y"}[name]
    with pytest.raises(ConfigError, match="option of the process"):
        Harness().agent(**{name: value})


def test_option_when_unknown_or_bad_then_refused_as_by_an_agent():
    """With a hint."""
    with pytest.raises(ConfigError, match="did you mean model"):
        Harness(modle="x")
    with pytest.raises(ConfigError, match="AgentConfig"):
        Harness({"model": "x"})
    with pytest.raises(ConfigError, match="did you mean model"):
        Harness(AgentConfig()).agent(modle="x")


def test_start_when_there_is_no_key_then_nothing_is_spawned(monkeypatch, version):
    """The agent says so before a process exists."""
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    harness = Harness(harness_path=harness_path(version))
    with pytest.raises(ConfigError, match="key"):
        harness.agent().start()
    assert not harness.is_started


def test_harness_when_dropped_then_its_process_ends(make_harness, temporary):
    """With a warning, and its agents with it."""
    with ScriptedModel(echoing, loop=True) as model:
        options = make_harness(model).config
        harness = Harness(options).start()
        pid = harness.pid
        agent = harness.agent().start()
        assert isinstance(agent, Agent)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del agent, harness
        assert {each.category for each in caught} == {ResourceWarning}
        assert len(caught) == 2
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the process")
        wait_until(lambda: list(temporary.iterdir()) == [], "the end of its directory")


def test_process_when_its_first_agent_cannot_start_then_it_ends(make_harness, tmp_path):
    """Nobody holds it, and nobody has come; for the next agent there is another."""
    with ScriptedModel("here") as model:
        harness = make_harness(model, save_dir=tmp_path / "saved")
        with pytest.raises(ConversationNotFoundError):
            harness.agent(conversation_id="none", resume="must").start()
        assert not harness.is_started
        assert children() == []
        with harness.agent() as agent:
            assert agent.chat("hello").text == "here"
        assert not harness.is_started


def test_agent_when_it_comes_as_the_last_one_leaves_then_it_gets_a_process(make_harness):
    """The old one ends; an agent that has a seat already keeps it."""
    with ScriptedModel("here", loop=True) as model:
        harness = make_harness(model)
        for _ in range(3):
            first, second = harness.agent().start(), harness.agent()
            shared = harness._shared
            leaving = Task(first.close)
            wait_until(lambda shared=shared: shared._is_ending, "the end of the process")
            assert second.start().chat("hello").text == "here"
            leaving.result()
            assert second.pid != first.pid
            seat = harness._join(Deadline.after(MonotonicClock(), CEILING))
            pid = second.pid
            second.close()
            assert harness.pid == pid
            seat.part(Deadline.after(MonotonicClock(), CEILING))
            assert not harness.is_started
