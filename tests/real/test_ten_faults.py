"""Ten things that go wrong in the field: the error or the doctor names the cause of each."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antigravity_sync import Agent, McpServer, Retry, doctor, policy
from antigravity_sync import run as ask_once
from antigravity_sync.cli import main
from antigravity_sync.errors import (
    AuthenticationError,
    HarnessNotFoundError,
    InitError,
    McpServerError,
    ModelError,
    ProtocolError,
    SessionLostError,
    TurnTimeoutError,
)
from antigravity_sync.testing import FakeHarness, ScriptedModel, always, call, hang, http_error
from tests.contract.source import ROOT
from tests.versions import harness_path

pytestmark = pytest.mark.real

HARNESS = harness_path("0.1.10")
KEY = "AIza" + "x" * 35

Capture = pytest.CaptureFixture[str]


def failures(**options: object) -> dict[str, doctor.Finding]:
    """Return what the doctor calls a failure, by check."""
    found = doctor.examine(**{"api_key": KEY, **options})
    return {one.check: one for one in found if one.level is doctor.Level.FAILURE}


def claiming(place: Path, real: str, claimed: str) -> Path:
    """Return a harness beside which the files tell another version."""
    source = harness_path(real)
    place.mkdir()
    (place / "localharness").symlink_to(source)
    told = json.loads((source.parent / "harness.json").read_text())
    (place / "harness.json").write_text(json.dumps({**told, "version": claimed}))
    return place / "localharness"


@pytest.fixture
def dead_port() -> Iterator[int]:
    """Give a port on which nobody listens, and nobody will."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def test_fault_1_when_the_key_is_wrong_then_the_error_and_the_code_say_so(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service answers 400 to a wrong key; that is told from other bad requests."""
    with ScriptedModel(always(http_error(400, "API key not valid. Please pass one."))) as model:
        options = model.agent_options()
        with pytest.raises(AuthenticationError, match=r"refused the key .*check api_key"):
            ask_once("Hi!", harness_path=HARNESS, **options)
        monkeypatch.setenv("GEMINI_API_KEY", "wrong")
        where = ["--base-url", options["base_url"], "--harness", str(HARNESS)]
        assert main(["run", "Hi!", "--no-save", *where]) == 77
    assert "refused the key" in capsys.readouterr().err
    assert "no key has" in failures(harness_path=HARNESS, api_key="'wrong'")["credentials"].message


def test_fault_2_when_the_binary_is_missing_then_where_was_looked(tmp_path: Path) -> None:
    """The error has every place; the doctor says how to get one."""
    missing = tmp_path / "localharness"
    with pytest.raises(HarnessNotFoundError, match="does not exist") as caught:
        ask_once("Hi!", harness_path=missing, api_key=KEY)
    assert str(missing) in caught.value.searched[0]
    found = failures(harness_path=missing)["harness"]
    assert f"{missing} does not exist" in found.message
    assert "install-harness" in found.advice


def test_fault_3_when_a_field_is_of_another_version_then_it_is_named(tmp_path: Path) -> None:
    """Whether raw_config has it, or the files beside the binary tell another version."""
    with ScriptedModel(always("ok")) as model:
        options = model.agent_options()
        with pytest.raises(InitError, match=r'unknown field "rulesConfig".*raw_config'):
            ask_once("Hi!", harness_path=HARNESS, raw_config={"rulesConfig": {}}, **options)
        with pytest.raises(InitError, match='unknown field "turboMode"; correct the option'):
            ask_once("Hi!", harness_path=HARNESS, raw_config={"turboMode": 1}, **options)
    liar = claiming(tmp_path / "liar", "0.1.10", "0.1.22")
    found = failures(harness_path=liar)["start"]
    assert 'unknown field "manageTask"' in found.message
    assert "the version beside the binary is its own" in found.advice


def test_fault_4_when_the_harness_is_frozen_then_said(tmp_path: Path) -> None:
    """In a turn, and at a start."""
    with (
        ScriptedModel(always("ok")) as model,
        Agent(harness_path=HARNESS, close_timeout=1.0, **model.agent_options()) as agent,
    ):
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGSTOP)
        with pytest.raises(TurnTimeoutError, match="has said nothing since the prompt"):
            agent.chat("Hi!", timeout=0.5)
    with FakeHarness(no_handshake=True, version="0.1.10") as fake:
        found = failures(harness_path=fake.path, start_timeout=0.5)["start"]
    assert "did not answer its handshake" in found.message


def test_fault_5_when_an_input_is_dropped_then_the_turn_ends_at_once(tmp_path: Path) -> None:
    """A real harness that is spoken to as another version drops the prompt; nothing hangs."""
    liar = claiming(tmp_path / "liar", "0.1.22", "0.1.10")
    with (
        ScriptedModel() as model,
        pytest.raises(ProtocolError, match=r"dropped a message of ours.*do not fit"),
    ):
        ask_once("Hi!", harness_path=liar, **model.agent_options())
    assert "dropped a message of ours" in failures(harness_path=liar)["turn"].message


def test_fault_6_when_a_tool_is_denied_then_which_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The response, the command's words and its code all tell."""
    (tmp_path / "a.txt").touch()
    look = call("view_file", AbsolutePath=str(tmp_path / "a.txt"))
    with ScriptedModel(look, "No.", look, "No.") as model:
        response = ask_once(
            "Look.",
            harness_path=HARNESS,
            workspaces=[tmp_path],
            policies=[policy.deny("view_file", "not today")],
            **model.agent_options(),
        )
        (refused,) = response.tool_calls
        assert (refused.name, refused.decision.reason) == ("view_file", "not today")
        monkeypatch.setenv("GEMINI_API_KEY", "key")
        arguments = ["--base-url", model.base_url, "--harness", str(HARNESS), "--no-save"]
        arguments += ["--workspace", str(tmp_path), "--deny", "view_file"]
        assert main(["run", "Look.", *arguments]) == 4
    assert "view_file was denied: denied on the command line" in capsys.readouterr().err


def test_fault_7_when_an_mcp_server_hangs_then_it_is_named() -> None:
    """A server that never says anything is named by the turn's error, and by the doctor."""
    code = "import sys; sys.stdin.read()"
    server = McpServer.stdio(sys.executable, ["-c", code], name="sleepy", timeout=0.5)
    options = {"mcp_servers": [server], "policies": [policy.allow_all()], "harness_path": HARNESS}
    with ScriptedModel(always("ok")) as model, pytest.raises(McpServerError) as caught:
        ask_once("Hi!", **options, **model.agent_options())
    assert caught.value.server == "sleepy"
    assert "'sleepy' could not be used" in str(caught.value)
    assert any("'sleepy'" in found.message for found in failures(**options).values())


def test_fault_8_when_the_disk_is_full_then_which(tmp_path: Path) -> None:
    """The doctor finds it by writing; the harness's own complaint gets the right advice."""
    command = [sys.executable, "-m", "antigravity_sync.cli", "doctor", "--json"]
    done = subprocess.run(
        [*command, "--harness", str(tmp_path / "none"), "--save-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        # Files that may not grow are what a full disk or a quota looks like.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert f"{tmp_path} is full" in found["save_dir"]["message"]
    assert "free some space" in found["save_dir"]["advice"]
    # In the words of 0.1.10 on a full file system.
    words = (
        "Failed to create agent: failed to create LocalAgent: failed to setup trajectory: failed "
        "to load/create DB trajectory: open backend /saves/1d.db: database or disk is full"
    )
    with (
        FakeHarness(drop_on_init=words, version="0.1.10") as fake,
        pytest.raises(InitError, match=r"the disk is full .*/saves/1d.db.*free some space"),
    ):
        ask_once("Hi!", harness_path=fake.path, save_dir=tmp_path / "s", api_key=KEY)


def test_fault_9_when_the_proxy_is_dead_then_it_is_named(dead_port: int) -> None:
    """The model's error quotes the harness, the doctor names the variable."""
    environ = {"HTTP_PROXY": f"http://user:secret@127.0.0.1:{dead_port}", "NO_PROXY": None}
    with pytest.raises(ModelError, match=f"proxyconnect tcp: dial tcp 127.0.0.1:{dead_port}") as e:
        ask_once(
            "Hi!",
            harness_path=HARNESS,
            env=environ,
            base_url="http://model.invalid",
            api_key=KEY,
            retry=Retry(max_retries=0),
        )
    assert "secret" not in str(e.value)
    found = failures(harness_path=HARNESS, env=environ)["proxy"]
    assert f"127.0.0.1:{dead_port} of HTTP_PROXY does not answer" in found.message
    assert "secret" not in str(found)


def test_fault_10_when_the_harness_is_killed_then_by_what() -> None:
    """The error has the exit code, and says what to do."""
    with (
        ScriptedModel(hang()) as model,
        Agent(harness_path=HARNESS, **model.agent_options()) as agent,
    ):
        turn = agent.stream("Hi!")
        model.wait_for_request(1)
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError, match=r"exited with code -9.*start.. it again") as e:
            turn.response()
    assert e.value.exit_code == -signal.SIGKILL
