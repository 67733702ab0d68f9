"""What the agent's shell started ends with the agent, and never gets to see the model's key."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from antigravity_sync import Capabilities, policy
from antigravity_sync._transport.commands import end_commands, find_commands
from antigravity_sync.testing import ScriptedModel, call
from tests.gates import Task, wait_until
from tests.leaks import state

pytestmark = pytest.mark.real

SHELL = {
    "capabilities": Capabilities.read_only().enable("run_command"),
    "policies": [policy.allow_all()],
    "contain_workspaces": False,
    "task_wait": 0.2,
}


def command(line: str, cwd: Path, wait_ms: int = 20_000):
    return call(
        "run_command",
        CommandLine=line,
        Cwd=str(cwd),
        WaitMsBeforeAsync=wait_ms,
        toolAction="Running",
        toolSummary="command",
    )


def sleeper(pid_file: Path, seconds: int) -> str:
    """Return a command that tells its process id and then does nothing."""
    return f"echo $$ > {pid_file}.new && mv {pid_file}.new {pid_file} && exec sleep {seconds}"


def pid_in(pid_file: Path) -> int:
    wait_until(pid_file.exists, "the command")
    return int(pid_file.read_text())


def is_gone(pid: int) -> bool:
    """Say whether it runs no more; who reaps it is not our concern."""
    return state(pid) == "gone" or state(pid).endswith(("Z", "X"))


def assert_ends(pid: int) -> None:
    wait_until(lambda: is_gone(pid), f"the end of {pid}: {state(pid)}")


def test_close_when_a_command_runs_in_the_foreground_then_ends_and_lists_it(make_agent, tmp_path):
    """Closing in the middle of a command ends it and says so."""
    pid_file = tmp_path / "pid"
    with ScriptedModel(command(sleeper(pid_file, 311), tmp_path)) as model:
        agent = make_agent(model, **SHELL).start()
        turn = agent.stream("go")
        pid = pid_in(pid_file)
        report = agent.close()
        assert turn.done
        assert_ends(pid)
        assert any("sleep 311" in line for line in report.ended_commands), report
        assert (report.exit_code, report.leftovers) == (0, ())


def test_cancel_when_a_command_runs_in_the_foreground_then_it_is_gone_after_close(
    make_agent, tmp_path
):
    """Cancelling in the middle of a command ends the turn; close() ends what is left of it."""
    pid_file = tmp_path / "pid"
    with ScriptedModel(command(sleeper(pid_file, 312), tmp_path), "fine") as model:
        with make_agent(model, **SHELL) as agent:
            chat = Task(lambda: agent.chat("go"))
            pid = pid_in(pid_file)
            assert agent.cancel()
            assert chat.result().cancelled
            assert agent.chat("again").text == "fine"
            still_runs = not is_gone(pid)
            report = agent.close()
            listed = any("sleep 312" in line for line in report.ended_commands)
        assert_ends(pid)
        assert listed or not still_runs, report


def test_close_when_a_command_was_left_in_the_background_then_ends_and_lists_it(
    make_agent, tmp_path
):
    """A command that went to the background survives the turn, not the agent."""
    pid_file = tmp_path / "pid"
    with ScriptedModel(command(sleeper(pid_file, 313), tmp_path, 50), "started") as model:
        with make_agent(model, **SHELL) as agent:
            assert agent.chat("go").text == "started"
            pid = pid_in(pid_file)
            assert not is_gone(pid)
            report = agent.close()
        assert_ends(pid)
        assert any("sleep 313" in line for line in report.ended_commands), report


@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "harness dead"])
def test_close_when_a_daemon_got_away_then_it_is_found_ended_and_listed(
    make_agent, tmp_path, is_killed
):
    """A process with a session and a parent of its own still carries the conversation's id."""
    pid_file = tmp_path / "pid"
    script = tmp_path / "daemon.sh"
    script.write_text(sleeper(pid_file, 314))
    # The harness ends the command's own group with the command, so it must have left it by then.
    wait = f"while [ ! -e {pid_file} ]; do sleep 0.02; done"
    line = f"(setsid nohup sh {script} >/dev/null 2>&1 </dev/null &); {wait}"
    with ScriptedModel(command(line, tmp_path), "started") as model:
        agent = make_agent(model, **SHELL).start()
        assert agent.chat("go").text == "started"
        pid = pid_in(pid_file)
        assert os.getsid(pid) != os.getsid(agent.pid)
        if is_killed:
            os.kill(agent.pid, 9)
            wait_until(lambda: not agent.is_started, "the news of its death")
        assert not is_gone(pid)
        report = agent.close()
        assert_ends(pid)
        assert any("sleep 314" in line for line in report.ended_commands), report


def test_close_when_others_have_processes_too_then_they_live_on(make_agent, tmp_path):
    """Neither what has nothing to do with it nor what another agent started is touched."""
    pid_file, other_file = tmp_path / "pid", tmp_path / "other"
    marked = {**os.environ, "ANTIGRAVITY_CONVERSATION_ID": "c0ffee" * 5 + "00"}
    foreign = [
        subprocess.Popen(["sleep", "315"], start_new_session=True),
        subprocess.Popen(["sleep", "316"], env=marked),
    ]
    lines = [command(sleeper(other_file, 317), tmp_path, 50), "started"]
    mine = [command(sleeper(pid_file, 318), tmp_path, 50), "started"]
    try:
        with ScriptedModel(*lines, *mine) as model:
            other, agent = (make_agent(model, **SHELL).start() for _ in range(2))
            other.chat("go")
            agent.chat("go")
            pid, other_pid = pid_in(pid_file), pid_in(other_file)
            report = agent.close()
            assert len([line for line in report.ended_commands if "sleep 318" in line]) >= 1
            assert_ends(pid)
            assert not any("sleep 317" in line for line in report.ended_commands)
            assert not is_gone(other_pid)
            assert [process.poll() for process in foreign] == [None, None]
            assert other.close().ended_commands
            assert_ends(other_pid)
            assert [process.poll() for process in foreign] == [None, None]
    finally:
        for process in foreign:
            process.kill()
            process.wait()


# ── the key ─────────────────────────────────────────────────────────────────────────────────────

KEY = "secret-key-4711"
LOOK = (
    "env; tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$PPID/environ;"
    " tr '\\0' ' ' < /proc/$PPID/cmdline; echo looked"
)


@pytest.mark.parametrize("where", ["option", "os.environ", "env"])
def test_key_when_the_agents_shell_looks_for_it_then_it_is_not_there(
    make_agent, tmp_path, monkeypatch, where
):
    """Neither the shell's environment nor the harness's holds the key, however it was given."""
    options = {"api_key": KEY if where == "option" else None}
    if where == "os.environ":
        for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY"):
            monkeypatch.setenv(name, KEY)
    if where == "env":
        options["env"] = {"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}
    with ScriptedModel(command(LOOK, tmp_path), "seen") as model:
        with make_agent(model, **SHELL, **options) as agent:
            assert agent.chat("look").text == "seen"
        assert [request.api_key for request in model.requests] == [KEY, KEY]
        seen = str(model.requests[1].function_responses)
        assert "looked" in seen
        assert "PATH=" in seen
        assert KEY not in seen


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def test_find_commands_when_the_harness_is_gone_then_its_number_says_nothing():
    """Only the mark counts then: the number may belong to anybody's process by now."""
    marked = {**os.environ, "ANTIGRAVITY_CONVERSATION_ID": "feed" * 8}
    process = subprocess.Popen(["sleep", "319"], env=marked)
    try:
        assert process.pid in {found.pid for found in find_commands(os.getppid(), "")}
        assert find_commands(None, "") == ()
        assert find_commands(None, "beef" * 8) == ()
        (found,) = find_commands(None, "feed" * 8)
        assert (found.pid, found.line) == (process.pid, "sleep 319")
        assert end_commands([found]) == ("sleep 319",)
        assert process.wait(20) == -9
    finally:
        process.kill()
        process.wait()


def test_end_commands_when_the_number_is_somebody_elses_by_now_then_lets_it_live():
    """A process is known by its number and its start, so a later one is not taken for it."""
    process = subprocess.Popen(["sleep", "320"])
    try:
        found = next(c for c in find_commands(os.getppid(), "") if c.pid == process.pid)
        end_commands([type(found)(found.pid, "1", found.line)])
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
