"""A harness that is offered to others: real conversations through `Harness.serve` and `serve`."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync import AgentConfig, Capabilities, Harness
from antigravity_sync.cli import main
from antigravity_sync.connections import Conversation, RemoteConnectionStrategy, Text
from antigravity_sync.errors import (
    AntigravityError,
    ConversationBusyError,
    ConversationNotFoundError,
    HandshakeError,
    LaunchError,
)
from antigravity_sync.serving import HarnessServer
from antigravity_sync.testing import ModelGate, ScriptedModel, always, chunks
from tests.gates import CEILING, Task, wait_until
from tests.leaks import children
from tests.versions import harness_path

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]

NO_TOOLS = {"capabilities": Capabilities.none(), "contain_workspaces": False}


@pytest.fixture
def harness(version, tmp_path, _leaves_nothing) -> Iterator[Harness]:
    one = Harness(harness_path=harness_path(version), env={"HOME": str(tmp_path)})
    yield one
    one.close()


def strategy(server: HarnessServer, model: ScriptedModel, **options: object):
    config = AgentConfig(**model.agent_options(), **NO_TOOLS)
    where = {"host": server.host, "port": server.port, "key": server.token}
    return RemoteConnectionStrategy(config, **{**where, **options})


def said(conversation: Conversation, prompt: str) -> str:
    return "".join(each.text for each in conversation.chat(prompt) if isinstance(each, Text))


def test_clients_when_several_join_then_each_has_a_conversation_and_the_process_stays(harness):
    """Beside an agent of the harness's own; what one says nobody else hears."""
    with ScriptedModel(always("yes")) as model, harness.serve() as server:
        pid = harness.pid
        with (
            strategy(server, model).connect() as one,
            strategy(server, model).connect() as other,
            harness.agent(**model.agent_options(), **NO_TOOLS) as agent,
        ):
            assert len({one.conversation_id, other.conversation_id, agent.conversation_id}) == 3
            assert said(Conversation(one), "I am one") == "yes"
            assert said(Conversation(other), "I am another") == "yes"
            assert agent.chat("I am the agent").text == "yes"
            assert server.connections == 2
        texts = [str(request.contents) for request in model.requests]
        assert [sum(word in text for text in texts) for word in ("one", "another", "agent")] == [
            *(1, 1, 1)
        ]
        wait_until(lambda: server.connections == 0, "the end of the connections")
        assert harness.pid == pid


def test_client_when_it_comes_back_then_goes_on_with_its_conversation(harness, version):
    """Whoever asks for one that is in use or not there hears it as if the harness were here."""
    with ScriptedModel(always("yes")) as model, harness.serve() as server:
        name = {} if version in ("0.1.5",) else {"conversation_id": "mine"}
        with strategy(server, model, **name).connect() as first:
            wanted = {"conversation_id": first.conversation_id, "resume": "must"}
            assert said(Conversation(first), "remember the plum") == "yes"
            with pytest.raises(ConversationBusyError, match="already in use"):
                strategy(server, model, **wanted).connect()
        with strategy(server, model, **wanted).connect() as second:
            assert second.conversation_id == first.conversation_id
            assert said(Conversation(second), "which fruit?") == "yes"
        assert "remember the plum" in str(model.requests[-1].contents)
        with pytest.raises(ConversationNotFoundError, match="not found"):
            strategy(server, model, conversation_id="f" * 32, resume="must").connect()


def test_client_when_its_token_is_wrong_then_refused(harness):
    """With what to do about it, and without either token."""
    with ScriptedModel("yes") as model, harness.serve() as server:
        with pytest.raises(HandshakeError, match="ANTIGRAVITY_HARNESS_TOKEN") as caught:
            strategy(server, model, key="some-other-token").connect()
        assert server.token not in str(caught.value)
        assert "some-other-token" not in str(caught.value)
        assert server.token not in repr(server)
        assert not model.requests


def test_process_when_killed_then_its_clients_hear_of_it_and_the_next_gets_another(harness):
    """Without waiting for anything, in mid-turn."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("half", gate, "whole"), always("yes")) as model,
        harness.serve() as server,
    ):
        pid = harness.pid
        assert pid is not None
        with strategy(server, model).connect() as one:
            pieces = Conversation(one).chat("go")
            assert next(pieces) == Text("half")
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(AntigravityError):
                Task(lambda: list(pieces)).result()
        gate.release()
        with strategy(server, model).connect() as other:
            assert said(Conversation(other), "again") == "yes"
        assert harness.pid != pid


def test_harness_when_closed_then_its_server_is_too(harness):
    """And nothing is left of it, though a client is connected."""
    with ScriptedModel(always("yes")) as model:
        server = harness.serve()
        connection = strategy(server, model).connect()
        assert harness.close().exit_code == 0
        assert server.is_closed
        assert repr(server) == "<HarnessServer: closed>"
        with pytest.raises(HandshakeError):
            strategy(server, model).connect()
        connection.disconnect()


def test_harness_when_closed_while_a_client_waits_for_it_then_no_process_is_left(harness):
    """Whoever is about to start one for a client finds that nobody holds it, and ends it."""
    with ScriptedModel(always("yes")) as model:
        server = harness.serve()
        os.kill(harness.pid, signal.SIGKILL)
        wait_until(lambda: not harness.is_started, "the end of the process")
        with harness._lock:  # as somebody does who starts one
            joining = Task(lambda: strategy(server, model).connect())
            wait_until(lambda: server.connections == 1, "the client")
            report = harness.close(timeout=1.0)
            assert report.leftovers  # the thread that waits for the process
        with pytest.raises(AntigravityError):
            joining.result()
        wait_until(lambda: not harness.is_started and not children(), "the end of it all")
        assert harness.close().clean
        assert server.is_closed


def test_serve_when_the_port_is_in_use_then_said(harness):
    """Before a harness is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LaunchError, match="choose another, or 0"):
            harness.serve(port=port)
    assert not harness.is_started


# ── the command ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def command(version, tmp_path, _leaves_nothing) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `antigravity-sync serve` as a user does; it is ended at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "antigravity_sync.cli", "serve", "--port", "0"),
                *("--harness", str(harness_path(version)), *options),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), **environ},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_command_when_run_then_another_process_can_join_until_sigterm(command, tmp_path):
    """The token is in a file of this user's alone, and in no output."""
    token_file = tmp_path / "token"
    process = command("--json", "--token-file", str(token_file))
    facts = json.loads(process.stdout.readline())
    token = token_file.read_text().strip()
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert facts == {"host": "127.0.0.1", "port": facts["port"], "token_file": str(token_file)}
    with ScriptedModel(always("yes")) as model:
        config = AgentConfig(**model.agent_options(), **NO_TOOLS)
        joining = RemoteConnectionStrategy(config, port=facts["port"], key=token)
        with joining.connect() as connection:
            assert said(Conversation(connection), "hello") == "yes"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=CEILING)
    assert process.returncode == 143
    assert token not in out + err


def test_command_when_interrupted_then_ends_in_order(command):
    """The token of the environment is used, and printed where no file is named."""
    token = "a-token-that-i-have-chosen"
    process = command(ANTIGRAVITY_HARNESS_TOKEN=token)
    lines = [process.stdout.readline() for _ in range(3)]
    assert lines[0] == "host: 127.0.0.1\n"
    assert lines[2] == f"token: {token}\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=CEILING)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_command_when_it_cannot_serve_then_its_exit_code_tells_why(monkeypatch, capsys, tmp_path):
    """A host for others, a token that could be guessed, a port in use, no binary."""
    monkeypatch.setenv("ANTIGRAVITY_SYNC_STATE", str(tmp_path))
    binary = str(harness_path("0.1.10"))
    assert main(["serve", "--host", "0.0.0.0", "--harness", binary]) == 78
    assert "expose" in capsys.readouterr().err
    monkeypatch.setenv("ANTIGRAVITY_HARNESS_TOKEN", "short")
    assert main(["serve", "--port", "0", "--harness", binary]) == 78
    monkeypatch.delenv("ANTIGRAVITY_HARNESS_TOKEN")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--port", port, "--harness", binary]) == 69
    assert main(["serve", "--port", "0", "--harness", str(tmp_path / "none")]) in (69, 78)
