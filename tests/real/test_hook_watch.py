"""A hook that blocks, on the real harness: a warning, a cancel that passes it, a timeout."""

from __future__ import annotations

import logging

import pytest

from antigravity_sync import Agent, Capabilities, Decision, Hooks, ToolInvocation
from antigravity_sync._runtime.watch import SLOW_HOOK
from antigravity_sync.errors import AgentClosedError, HookTimeoutError, ReentrantCallError
from antigravity_sync.events import ToolAction
from antigravity_sync.responses import Denied
from antigravity_sync.testing import ScriptedModel, call
from tests.gates import CEILING, Gate, LeapingClock, Task, wait_until
from tests.kinds import told

pytestmark = pytest.mark.real

COMMANDS = Capabilities.read_only().enable("run_command")


@pytest.fixture
def workspace(tmp_path):
    return tmp_path / "workspace"


def touch(path) -> object:
    return call(
        "run_command", CommandLine=f"touch {path}", Cwd=str(path.parent), WaitMsBeforeAsync=20_000
    )


def wake_caller(agent: Agent) -> None:
    """Have the waiting caller look at the clock now, and not at its next look ten seconds on."""
    live = agent._engine.board.live
    with live._changed:
        live._changed.notify_all()


def test_hook_when_it_blocks_then_warned_once_and_a_cancel_passes_it(make_agent, workspace, caplog):
    """The halt does not wait for the hook, so what it allows in the end never runs."""
    gate, clock = Gate(), LeapingClock()

    def zqx_stands_still(_invocation: ToolInvocation) -> bool:
        gate.pass_through()
        return True

    with (
        ScriptedModel(touch(workspace / "victim"), "fresh") as model,
        caplog.at_level(logging.WARNING, "antigravity_sync.runtime"),
    ):
        hooks = [Hooks(on_pre_tool=zqx_stands_still)]
        agent = make_agent(model, capabilities=COMMANDS, hooks=hooks)
        agent._clock = clock
        agent.start()
        chat = Task(lambda: agent.chat("go"))
        gate.wait_arrived()
        assert caplog.records == []
        clock.ahead += SLOW_HOOK
        wake_caller(agent)
        wait_until(lambda: caplog.records, "the warning")
        (said,) = [record.getMessage() for record in caplog.records]
        assert said.startswith("on_pre_tool has held the agent for 10 s")
        assert "in zqx_stands_still" in said
        mailbox = agent._engine._mailbox
        waiting = mailbox.unread
        assert agent.cancel()
        wait_until(lambda: mailbox.unread > waiting, "what the harness says to a halt")
        gate.open()
        response = chat.result()
        assert response.cancelled
        assert agent.chat("again").text == "fresh"
        assert len(caplog.records) == 1
    assert not (workspace / "victim").exists()


def test_hook_when_its_time_is_up_then_the_session_ends_and_nothing_has_run(make_agent, workspace):
    """It fails closed: the caller hears who it was, and the hook's late `True` is not sent."""
    gate = Gate()

    def stand(_invocation: ToolInvocation) -> bool:
        gate.pass_through()
        return True

    with (
        ScriptedModel(touch(workspace / "victim"), "fresh") as model,
        make_agent(
            model, capabilities=COMMANDS, hooks=[Hooks(on_pre_tool=stand)], hook_timeout=0.05
        ) as agent,
    ):
        with pytest.raises(HookTimeoutError, match="on_pre_tool") as caught:
            agent.chat("go")
        assert gate.arrived.is_set()
        assert not caught.value.session_usable
        with pytest.raises((HookTimeoutError, AgentClosedError)):
            agent.chat("again")
        gate.open()
        agent.close()
        assert not (workspace / "victim").exists()
        # What remains is an agent that can be opened anew.
        assert agent.start().chat("anew").text == "fresh"
    assert len(model.requests) == 2


def test_hook_when_it_calls_its_own_agent_then_refused_and_the_call_is_denied(
    make_agent, workspace
):
    """It would wait for what waits for it, so every call that blocks says so at once."""
    holder: list[Agent] = []
    raised = []

    def reenter(_invocation: ToolInvocation) -> Decision | None:
        agent = holder[0]
        for ask in (lambda: agent.stream("me"), lambda: agent.wait_idle(timeout=CEILING)):
            with pytest.raises(ReentrantCallError) as caught:
                ask()
            raised.append(caught.value)
        agent.chat("me too")
        return None

    with (
        ScriptedModel(touch(workspace / "victim"), "well") as model,
        make_agent(model, capabilities=COMMANDS, hooks=[Hooks(on_pre_tool=reenter)]) as agent,
    ):
        holder.append(agent)
        turn = agent.stream("go")
        (action,) = [event for event in turn if isinstance(event, ToolAction)]
        response = turn.response()
    holder.clear()
    assert len(raised) == 2
    assert isinstance(action.decision, Denied)
    assert "ReentrantCallError" in action.decision.reason
    assert [type(error) for error in response.errors] == [ReentrantCallError]
    assert response.text == "well"
    assert not (workspace / "victim").exists()
    assert told(model)
