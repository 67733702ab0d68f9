"""A turn that leaves a command running, on every version's own way of saying so."""

from __future__ import annotations

import pytest

from antigravity_sync import Capabilities, policy
from antigravity_sync.events import ToolAction
from antigravity_sync.testing import ScriptedModel, call

pytestmark = pytest.mark.real

SHELL = {
    "capabilities": Capabilities.read_only().enable("run_command"),
    "policies": [policy.allow_all()],
    "contain_workspaces": False,
}


def command(line: str, cwd, wait_ms: int = 20_000):
    return call("run_command", CommandLine=line, Cwd=str(cwd), WaitMsBeforeAsync=wait_ms)


def test_a_command_in_the_foreground_is_one_tool_action(make_agent, tmp_path):
    """It runs, its output is in the action, and the answer follows."""
    with (
        ScriptedModel(command("echo out; echo err >&2", tmp_path), "it ran") as model,
        make_agent(model, **SHELL) as agent,
    ):
        turn = agent.stream("go")
        actions = [event for event in turn if isinstance(event, ToolAction)]
        response = turn.response()
    assert response.text == "it ran"
    assert response.pending_tasks == ()
    assert [event.action.name for event in actions] == ["run_command"]
    assert actions[0].action.args["command_line"] == "echo out; echo err >&2"
    assert "out" in actions[0].action.result["combined_output"]
    assert [entry.name for entry in response.tool_calls] == ["run_command"]


def test_a_background_command_that_ends_is_waited_for(make_agent, tmp_path):
    """The turn ends with the message that the model gives once the command has finished."""
    release = tmp_path / "release"
    line = f"while [ ! -e {release} ]; do sleep 0.05; done; echo late"
    with (
        ScriptedModel(command(line, tmp_path, 100), "started", "finished") as model,
        make_agent(model, **SHELL) as agent,
    ):
        turn = agent.stream("go")
        for event in turn:
            if getattr(event, "text", "") == "started":
                release.touch()
        response = turn.response()
    assert response.messages == ("started", "finished")
    assert response.text == "finished"
    assert response.pending_tasks == ()


def test_a_background_command_that_never_ends_is_left_after_task_wait(make_agent, tmp_path):
    """The turn returns with what runs, the next turn works, and `close()` ends the command."""
    with (
        ScriptedModel(command("sleep 300", tmp_path, 100), "started", "second", "third") as model,
        make_agent(model, **SHELL, task_wait=0.4) as agent,
    ):
        response = agent.chat("go")
        assert response.text == "started"
        assert not response.cancelled
        assert [task.name for task in response.pending_tasks] == ["run_command"]
        assert response.pending_tasks[0].args["command_line"] == "sleep 300"
        second = agent.chat("and now?")
        assert second.text == "second"
        assert [task.args["command_line"] for task in second.pending_tasks] == ["sleep 300"]
        assert agent.chat("still?").text == "third"
        report = agent.close()
    assert any("sleep 300" in line for line in report.ended_commands), report


def test_cancel_while_a_command_is_left_running(make_agent, tmp_path):
    """Also where the harness does not answer a halt then; the next turn works."""
    # Longer than a halt may stay unanswered, and not for ever: on 0.1.21 the command may outlive
    # the halt, and then the next turn waits for it too.
    with (
        ScriptedModel(command("sleep 300", tmp_path, 100), "started", "second") as model,
        make_agent(model, **SHELL, task_wait=4.0) as agent,
    ):
        turn = agent.stream("go")
        for event in turn:
            if getattr(event, "text", "") == "started":
                agent.cancel()
        response = turn.response()
        assert response.cancelled
        assert response.text == "started"
        assert agent.chat("again").text == "second"


def test_cancel_in_mid_command_ends_it(make_agent, tmp_path):
    """A halted command does not go on."""
    marker, ended = tmp_path / "began", tmp_path / "ended"
    line = f"touch {marker}; sleep 300; touch {ended}"
    with (
        ScriptedModel(command(line, tmp_path), "second") as model,
        make_agent(model, **SHELL) as agent,
    ):
        from tests.gates import Task, wait_until

        chat = Task(lambda: agent.chat("go"))
        wait_until(marker.exists, "the command")
        assert agent.cancel()
        assert chat.result().cancelled
        assert agent.chat("again").text == "second"
    assert not ended.exists()


def test_a_denied_command_leaves_no_trace_and_the_turn_goes_on(make_agent, tmp_path, version):
    """The policy's word is the last one, and the model is told why."""
    victim = tmp_path / "victim"
    with (
        ScriptedModel(command(f"touch {victim}", tmp_path), "I see") as model,
        make_agent(
            model,
            capabilities=SHELL["capabilities"],
            contain_workspaces=False,
            policies=[policy.deny("run_command", "not on my machine")],
        ) as agent,
    ):
        response = agent.chat("go")
    assert not victim.exists()
    assert response.text == "I see"
    assert response.tool_calls[0].decision.reason == "not on my machine"
    if version != "0.1.5":
        assert "not on my machine" in str(model.requests[1].contents)
