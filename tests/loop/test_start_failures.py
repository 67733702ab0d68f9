"""A start that fails or is interrupted, wherever that may be, leaves nothing and says why."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from antigravity_sync import Agent
from antigravity_sync.errors import (
    ConfigError,
    ConversationBusyError,
    ConversationExistsError,
    ConversationNotFoundError,
    HandshakeError,
    HarnessExitedError,
    HarnessNotFoundError,
    InitError,
    LaunchError,
    StartTimeoutError,
)
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.leaks import state
from tests.loop.conftest import private_directories
from tests.loop.fakes import VERSION, fake_agent, interrupted_when


@pytest.fixture(autouse=True)
def _nothing_left(temporary):
    """Nothing is left right after the failed start, with nobody calling close()."""
    yield
    assert [t.name for t in threading.enumerate() if t.name.startswith("agsync-")] == []
    assert private_directories(temporary) == []


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def an_elf(machine: int) -> bytes:
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine)
    return head + bytes(100)


def missing(path: Path) -> None:
    assert not path.exists()


def directory(path: Path) -> None:
    path.mkdir()


def empty(path: Path) -> None:
    path.write_bytes(b"")
    path.chmod(0o755)


def not_executable(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o644)


def no_program(path: Path) -> None:
    path.write_text("hello")
    path.chmod(0o755)


def wrong_machine(path: Path) -> None:
    path.write_bytes(an_elf(21))
    path.chmod(0o755)


def cut_off(path: Path) -> None:
    path.write_bytes(Path(sys.executable).resolve().read_bytes()[:200])
    path.chmod(0o755)


def no_interpreter(path: Path) -> None:
    path.write_text("#!/nowhere/python\n")
    path.chmod(0o755)


BAD_FILES = {
    missing: "does not exist",
    directory: "is a directory",
    empty: "is empty",
    not_executable: "not executable",
    no_program: "not a program",
    wrong_machine: "is built for",
    cut_off: "cannot run",
    no_interpreter: "cannot run",
}


@pytest.mark.parametrize("make", BAD_FILES, ids=lambda make: make.__name__)
def test_start_when_the_binary_is_unusable_then_says_why_and_where(make, tmp_path):
    """Each kind of bad binary is a HarnessNotFoundError that names the file and what is wrong."""
    path = tmp_path / "localharness"
    make(path)
    with pytest.raises(HarnessNotFoundError) as caught:
        Agent(harness_path=path, api_key="k").start()
    assert BAD_FILES[make] in str(caught.value)
    assert str(path) in str(caught.value)
    assert str(path) in caught.value.searched[0]


# ── the process ends ────────────────────────────────────────────────────────────────────────────

STAGES = ["spawn", "config", "handshake", "connect", "init"]


@pytest.mark.parametrize("code", [7, -6])
@pytest.mark.parametrize("stage", STAGES)
def test_start_when_the_harness_exits_at_a_stage_then_code_and_last_words_are_told(stage, code):
    """An exit at any stage is a HarnessExitedError with exit code and stderr."""
    knobs = {"exit_at": stage, "exit_code": code, "exit_stderr": "panic: out of ideas"}
    with FakeHarness(version=VERSION, **knobs) as fake:
        with pytest.raises(HarnessExitedError) as caught:
            fake_agent(fake).start()
        assert caught.value.exit_code == code
        assert "panic: out of ideas" in caught.value.stderr_tail
        assert "panic: out of ideas" in str(caught.value)
        assert str(code) in str(caught.value)
        fake.wait_for_exit()
        assert len(fake.pids) == 1


@pytest.mark.parametrize("stage", STAGES)
def test_start_when_a_grandchild_holds_stderr_of_a_dead_harness_then_does_not_hang(stage):
    """The end of stderr is not awaited: a grandchild may keep it open for ever."""
    knobs = {
        "exit_at": stage,
        "exit_code": 3,
        "exit_stderr": "gone",
        "grandchild_holds_stderr": True,
    }
    with FakeHarness(version=VERSION, **knobs) as fake:
        with pytest.raises(HarnessExitedError) as caught:
            fake_agent(fake).start()
        assert caught.value.exit_code == 3
        assert "gone" in caught.value.stderr_tail
        fake.wait_for_exit()
        assert fake.alive == fake.grandchildren
        assert state(fake.pid) == "gone"


def test_start_when_stdout_is_closed_early_then_says_so_and_ends_the_harness():
    """A harness that closes its output and lives on is ended, and has no exit code."""
    with FakeHarness(version=VERSION, close_stdout_early=True) as fake:
        with pytest.raises(HarnessExitedError, match="closed its output") as caught:
            fake_agent(fake).start()
        assert caught.value.exit_code is None
        assert state(fake.pid) == "gone"


# ── the handshake ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("noise", [1_000_000, b"x" * 1_000_000], ids=["lines", "one-line"])
def test_start_when_a_megabyte_of_stderr_comes_first_then_starts(noise):
    """Stderr is drained from the first moment, so any amount of it holds up nothing."""
    with (
        FakeHarness("fine", version=VERSION, stderr_before_handshake=noise) as fake,
        fake_agent(fake) as agent,
    ):
        assert agent.chat("hi").text == "fine"


@pytest.mark.parametrize("noise", [200_000, b"x" * 200_000], ids=["lines", "one-line"])
def test_start_when_stdout_goes_on_after_the_handshake_then_it_is_drained(noise):
    """Output after the handshake is read and forgotten."""
    with (
        FakeHarness(version=VERSION, stdout_after_handshake=noise) as fake,
        fake_agent(fake) as agent,
    ):
        fake.wait_for_event("stdout-written")
        assert agent.chat("hi").text == "ok"


NO_HANDSHAKES = {
    "silent": {"no_handshake": True},
    "half a length": {"partial_handshake": "length"},
    "half a body": {"partial_handshake": "body"},
    "a length too long": {"handshake_length": 4000},
}


@pytest.mark.parametrize("name", NO_HANDSHAKES)
def test_start_when_the_handshake_does_not_come_then_times_out_at_that_stage(name):
    """A handshake that never gets whole is a StartTimeoutError with stage and timeout."""
    with FakeHarness(version=VERSION, **NO_HANDSHAKES[name]) as fake:
        with pytest.raises(StartTimeoutError) as caught:
            fake_agent(fake).start(timeout=0.5)
        assert (caught.value.stage, caught.value.timeout) == ("handshake", 0.5)
        assert isinstance(caught.value, TimeoutError)


def test_start_when_the_length_is_absurd_then_error_shows_the_first_bytes():
    """A length beyond reason is no handshake, and what came instead is shown."""
    with FakeHarness(version=VERSION, handshake_length=4_000_000_000) as fake:
        with pytest.raises(HandshakeError) as caught:
            fake_agent(fake).start()
        assert repr(struct.pack("<I", 4_000_000_000))[2:-1] in str(caught.value)


def test_start_when_the_length_is_too_short_then_error_shows_the_bytes():
    """A cut handshake cannot be read, and what came is shown."""
    with (
        FakeHarness(version=VERSION, handshake_length=2) as fake,
        pytest.raises(HandshakeError, match=r"b'\\x08"),
    ):
        fake_agent(fake).start()


@pytest.mark.parametrize("noise", [b"Welcome to the wrapper!\n", b"\x00\xff\x00\xff", b"12"])
def test_start_when_stdout_noise_comes_first_then_error_shows_it(noise):
    """Anything in front of the handshake is named, because that is what must be removed."""
    with FakeHarness(version=VERSION, stdout_noise=noise) as fake:
        with pytest.raises(HandshakeError) as caught:
            fake_agent(fake).start()
        assert repr(noise)[2:-1] in str(caught.value)


# ── the connection ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("times", [1, 4])
def test_start_when_connections_are_dropped_then_tries_five_times(times):
    """Up to four dropped connections are survived."""
    with FakeHarness("fine", version=VERSION, drop_connects=times) as fake:
        with fake_agent(fake) as agent:
            assert agent.chat("hi").text == "fine"
        assert fake.events.count("accepted") == times + 1


@pytest.mark.parametrize(
    "knobs", [{"drop_connects": 1000}, {"refuse_connections": True}], ids=["dropped", "refused"]
)
def test_start_when_connections_always_fail_then_gives_up_after_five(knobs):
    """The fifth failure is a HandshakeError, and the harness is ended."""
    words = b"E1202 no room at the inn\n"
    with FakeHarness(version=VERSION, stderr_before_handshake=words, **knobs) as fake:
        with pytest.raises(HandshakeError, match="5 tries") as caught:
            fake_agent(fake).start()
        assert "127.0.0.1" in str(caught.value)
        assert caught.value.attempts == 5
        assert f":{caught.value.port} " in str(caught.value)
        assert "no room at the inn" in caught.value.stderr_tail
        assert fake.events.count("accepted") in (0, 5)
        assert state(fake.pid) == "gone"


def test_start_when_refused_until_it_listens_then_starts():
    """The port is announced before it listens; the first refusals are no failure."""
    with FakeHarness("fine", version=VERSION, refuse_connections="listen") as fake:

        def listen() -> None:
            fake.wait_for_event("handshake")
            fake.signal("listen")

        opener = threading.Thread(target=listen, daemon=True)
        opener.start()
        with fake_agent(fake) as agent:
            assert agent.chat("hi").text == "fine"
        opener.join()


def test_start_when_the_key_is_refused_then_says_so_at_once():
    """HTTP 401 is not tried again."""
    with FakeHarness(version=VERSION, reject_key=True) as fake:
        with pytest.raises(HandshakeError, match="401"):
            fake_agent(fake).start()
        assert fake.events.count("rejected:401") == 1


STUCK = {"connect": {"no_upgrade": True}, "init": {"no_init_response": True}}


@pytest.mark.parametrize("stage", STUCK)
def test_start_when_an_answer_never_comes_then_times_out_at_that_stage(stage):
    """An upgrade or a first message without an answer is a StartTimeoutError of its stage."""
    with FakeHarness(version=VERSION, **STUCK[stage]) as fake:
        with pytest.raises(StartTimeoutError) as caught:
            fake_agent(fake, start_timeout=2.0).start()
        assert (caught.value.stage, caught.value.timeout) == (stage, 2.0)
        assert state(fake.pid) == "gone"


# ── the first message ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [{"somethingElse": {}}, {"stepUpdate": {"text": "hi"}}])
def test_start_when_the_first_frame_is_another_then_error_shows_it(reply):
    """A first frame that does not answer the first message is no conversation."""
    with FakeHarness(version=VERSION, init_reply=reply) as fake:
        with pytest.raises(HandshakeError) as caught:
            fake_agent(fake).start()
        assert next(iter(reply)) in str(caught.value)


REFUSALS = {
    "Failed to create agent: no text model configuration provided": InitError,
    'Failed to create agent: conversation "c" not found in "s" (cannot resume)': (
        ConversationNotFoundError
    ),
    'Failed to create agent: conversation "c" already exists in "s"': ConversationExistsError,
    "Cascade ID c is already in use": ConversationBusyError,
}


@pytest.mark.parametrize("line", REFUSALS)
def test_start_when_the_first_message_is_refused_then_error_is_typed_and_says_why(line):
    """The reason stands on stderr alone; it decides the class and is in the message."""
    with FakeHarness(version=VERSION, drop_on_init=line) as fake:
        with pytest.raises(InitError) as caught:
            fake_agent(fake).start()
        assert type(caught.value) is REFUSALS[line]
        assert line in str(caught.value)
        assert line in caught.value.stderr_tail
        assert fake.events.count("init") == 1


def test_start_when_the_connection_drops_without_a_reason_then_says_that():
    """A refusal without a line is an InitError that admits it and shows the last words."""
    with (
        FakeHarness(version=VERSION, drop_on_init="I am tired") as fake,
        pytest.raises(InitError, match=r"no reason .*I am tired"),
    ):
        fake_agent(fake).start()


# ── probing ─────────────────────────────────────────────────────────────────────────────────────

UNKNOWN = 'Failed to parse initial message: proto: (line 1:99): unknown field "{}"'


def test_start_when_the_version_is_unknown_then_refusals_narrow_it_down_on_one_process():
    """Each refused first message narrows the version; the one accepted is the session."""
    lines = [UNKNOWN.format("mcpMaxOutputBytes"), UNKNOWN.format("agentBehavior")]
    with FakeHarness("fine", drop_on_init=lines) as fake:
        with fake_agent(fake) as agent:
            assert agent.harness_version == "0.1.10"
            assert agent.chat("hi").text == "fine"
        assert len(fake.pids) == 1
        inits = [message["config"] for message in fake.received if "config" in message]
        assert len(inits) == 3
        assert "mcpMaxOutputBytes" in inits[0]
        assert "mcpMaxOutputBytes" not in inits[1]
        assert "agentBehavior" in inits[1]
        assert "agentBehavior" not in inits[2]


@pytest.mark.parametrize("version", [None, VERSION])
def test_start_when_raw_config_has_a_junk_field_then_error_names_it(version):
    """A field no release knows is not tried again: the error names it."""
    with FakeHarness(version=version, drop_on_init=UNKNOWN.format("junkField")) as fake:
        with pytest.raises(InitError, match="junkField"):
            fake_agent(fake, raw_config={"junkField": 1}).start()
        assert fake.events.count("init") == 1
        assert fake.received[0]["config"]["junkField"] == 1


@pytest.mark.parametrize("is_wanted", [True, False])
@pytest.mark.parametrize(
    "status",
    [{"sandboxStatus": {}}, {"sandboxStatus": {"available": False}}, {"sandboxStatus": None}, {}],
    ids=str,
)
def test_start_when_a_sandbox_is_wanted_and_there_is_none_then_says_so(is_wanted, status):
    """Commands would run without it; where the harness does not tell, it has the last word."""
    reply = {"initializeConversationResponse": {"cascadeId": "$C", **status}}
    raw = {"harnessSideTools": {"runCommand": {"enableSandbox": is_wanted}}}
    with FakeHarness("fine", init_reply=reply, version="0.1.22") as fake:
        agent = fake_agent(fake, raw_config=raw, system_instructions='"enableSandbox": true')
        if is_wanted and status.get("sandboxStatus") is not None:
            with pytest.raises(InitError, match="sandbox"):
                agent.start()
            fake.wait_for_exit()
        else:
            with agent:
                assert agent.chat("go").text == "fine"


def test_start_when_every_first_message_is_refused_then_ends():
    """Refusals that lead nowhere end in an InitError, not in a loop."""
    with (
        FakeHarness(drop_on_init=UNKNOWN.format("retryConfig")) as fake,
        pytest.raises(InitError, match="retryConfig"),
    ):
        fake_agent(fake).start()


# ── interrupts ──────────────────────────────────────────────────────────────────────────────────

WAITS = {
    "handshake": ({"no_handshake": True}, "config"),
    "half handshake": ({"partial_handshake": "body"}, "config"),
    "refused": ({"refuse_connections": True}, "handshake"),
    "upgrade": ({"no_upgrade": True}, "upgrade"),
    "init": ({"no_init_response": True}, "init"),
}


@pytest.mark.parametrize("stage", WAITS)
@pytest.mark.parametrize("timeout", [20.0, None])
def test_start_when_interrupted_while_it_waits_then_leaves_nothing(stage, timeout):
    """Ctrl-C goes up from every wait of a start, and the harness is gone."""
    knobs, event = WAITS[stage]
    with FakeHarness(version=VERSION, **knobs) as fake:
        agent = fake_agent(fake)
        with (
            interrupted_when(lambda: fake.wait_for_event(event)),
            pytest.raises(KeyboardInterrupt),
        ):
            agent.start(timeout=timeout)
        assert state(fake.pid) == "gone"
        assert not agent.is_started


def test_start_when_it_failed_before_then_can_be_tried_again():
    """A failed start leaves an agent that starts as if nothing had been."""
    with FakeHarness("fine", version=VERSION, exit_at="init") as fake:
        agent = fake_agent(fake)
        with pytest.raises(HarnessExitedError):
            agent.start()
        fake.configure(exit_at=None)
        with agent:
            assert agent.chat("hi").text == "fine"


# ── this process ────────────────────────────────────────────────────────────────────────────────


def test_start_when_there_is_no_temporary_directory_then_a_config_error(monkeypatch):
    """What keeps the private directory from being made is an option's error, before a process."""
    with FakeHarness(version=VERSION) as fake:
        monkeypatch.setattr(tempfile, "tempdir", "/dev/null/temporary")
        with pytest.raises(ConfigError, match="save_dir"):
            fake_agent(fake).start()
        assert fake.events == []


def test_start_when_no_thread_can_be_started_then_a_launch_error_and_nothing_left():
    """A system without threads to give fails the start, not the process."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        before = threading.stack_size(1 << 46)
        try:
            with pytest.raises(LaunchError, match="thread"):
                agent.start()
        finally:
            threading.stack_size(before)
        with agent:
            assert agent.chat("hi").text == "ok"


def test_start_when_the_binary_is_removed_in_between_then_not_found():
    """A binary that was there and is gone is a HarnessNotFoundError at the next start."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        agent.start()
        agent.close()
        shutil.rmtree(os.path.dirname(fake.path))
        with pytest.raises(HarnessNotFoundError, match="does not exist"):
            agent.start()
