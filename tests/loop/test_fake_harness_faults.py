"""Every failure knob of the stand-in harness makes the failure it is named after."""

from __future__ import annotations

import select
import struct

import pytest
import websocket

from antigravity_sync.testing.fake_harness import FakeHarness, delta, exit, kill, running, stderr
from tests.loop.raw_client import (
    CEILING,
    RawHarness,
    answer_of,
    close_code,
    is_running,
    receive,
    send,
    turn,
)


def is_readable(pipe):
    return bool(select.select([pipe], [], [], 0)[0])


# ── before and at the handshake ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("noise", [300_000, b"\x00\xff" * 100_000])
def test_stderr_when_spewed_before_handshake_then_all_of_it_comes_first(noise):
    """Much stderr comes before the handshake, which is held up until it is read."""
    size = noise if isinstance(noise, int) else len(noise)
    with FakeHarness(stderr_before_handshake=noise) as fake, RawHarness(fake.path) as harness:
        harness.send_config()
        assert not is_readable(harness.process.stdout)
        data = harness.process.stderr.read(size)
        assert data == noise or data.startswith(b"ERROR: logging before google.Init")
        assert harness.read_handshake().open()


def test_stdout_when_noise_comes_first_then_the_handshake_follows_it():
    """Bytes in front of the handshake are on stdout before its length."""
    with FakeHarness(stdout_noise=b"hello\n") as fake, RawHarness(fake.path) as harness:
        harness.send_config()
        assert harness.process.stdout.read(6) == b"hello\n"
        assert harness.read_handshake().port


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"no_handshake": True}, 0),
        ({"partial_handshake": "length"}, 2),
        ({"partial_handshake": "body"}, 4 + 19),
    ],
)
def test_handshake_when_withheld_then_no_more_than_that_comes(knobs, expected):
    """A withheld handshake stops where it should, and the process stays until stdin ends."""
    with FakeHarness(**knobs) as fake, RawHarness(fake.path) as harness:
        harness.send_config()
        assert len(harness.process.stdout.read(expected)) == expected
        fake.wait_for_event("config")
        assert not is_readable(harness.process.stdout)
        assert harness.end() == 0
        assert "handshake" not in fake.events
        assert harness.process.stdout.read() == b""


def test_handshake_when_its_length_lies_then_the_length_says_so():
    """The announced length is the knob's, the body the true one."""
    with FakeHarness(handshake_length=4_000_000_000) as fake, RawHarness(fake.path) as harness:
        harness.send_config()
        assert struct.unpack("<I", harness.process.stdout.read(4)) == (4_000_000_000,)
        assert harness.process.stdout.read(1) == b"\x08"


def test_stdout_when_closed_early_then_it_ends_and_the_process_lives():
    """A closed stdout is an end of file, not a death."""
    with FakeHarness(close_stdout_early=True) as fake, RawHarness(fake.path) as harness:
        harness.send_config()
        assert harness.process.stdout.read() == b""
        assert fake.alive == [harness.process.pid]
        assert harness.end() == 0


@pytest.mark.parametrize("noise", [200_000, b"x" * 200_000])
def test_stdout_when_spewed_after_handshake_then_it_holds_up_nothing(noise):
    """Stdout that nobody reads after the handshake blocks neither turns nor the exit."""
    with FakeHarness(stdout_after_handshake=noise) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        assert answer_of(turn(client)) == "ok"
        assert "stdout-written" not in fake.events
        assert len(harness.process.stdout.read(200_000)) == 200_000
        fake.wait_for_event("stdout-written")
        assert harness.end() == 0


def test_stderr_when_a_grandchild_holds_it_then_it_outlives_the_process():
    """A child keeps stderr open after the process is gone, until the fake is closed."""
    knobs = {"exit_at": "spawn", "exit_code": 3, "grandchild_holds_stderr": True}
    with FakeHarness(**knobs) as fake, RawHarness(fake.path) as harness:
        assert harness.process.wait(CEILING) == 3
        fake.wait_for_exit()
        assert fake.alive == fake.grandchildren
        assert is_running(fake.grandchildren[0])
        assert not is_readable(harness.process.stderr)
        fake.close()
        assert harness.stderr() == ""
        assert fake.events[-1] == "child-gone"


# ── dying ───────────────────────────────────────────────────────────────────────────────────────

LAST_EVENT = {
    "spawn": "spawned",
    "config": "config",
    "handshake": "handshake",
    "connect": "connected",
    "init": "init",
}


@pytest.mark.parametrize("stage", LAST_EVENT)
@pytest.mark.parametrize("code", [0, 7, -9])
def test_exit_when_at_a_stage_then_nothing_after_it_happens(stage, code):
    """The process ends right behind the stage, with the code and the line it was given."""
    with FakeHarness(exit_at=stage, exit_code=code, exit_stderr="panic: ü") as fake:
        with RawHarness(fake.path) as harness:
            if stage not in ("spawn", "config"):
                harness.ready()
            elif stage == "config":
                harness.send_config()
            if stage in ("connect", "init"):
                client = harness.connect()
                if stage == "init":
                    send(client, config={})
                assert close_code(client) is None
            assert harness.process.wait(CEILING) == code
            assert harness.stderr() == "panic: ü\n"
            fake.wait_for_exit()
            assert fake.events[-3:] == [LAST_EVENT[stage], f"exit:{code}", "gone"]
        fake.configure(exit_at=None)
        with RawHarness(fake.path) as harness:
            assert harness.ready().open()


@pytest.mark.parametrize(
    ("item", "code"), [(exit(), 0), (exit(5), 5), (exit(-15), -15), (kill(), -9)]
)
def test_turn_when_it_ends_the_process_then_code_and_stderr_are_as_scripted(item, code):
    """A script can end the process in the middle of a turn, after lines on stderr."""
    script = [running(), delta("The answ"), stderr("fatal: oops", times=2), item]
    with FakeHarness(script, "again") as fake:
        with RawHarness(fake.path) as harness:
            client, _ = harness.ready().open()
            send(client, userInput="x")
            assert "stepUpdate" in [receive(client) for _ in range(2)][1]
            assert close_code(client) is None
            assert harness.process.wait(CEILING) == code
            assert harness.stderr() == "fatal: oops\nfatal: oops\n"
        with RawHarness(fake.path) as harness:
            assert answer_of(turn(harness.ready().open()[0])) == "again"


def test_eof_when_ignored_then_only_signals_end_the_process():
    """A process that ignores the end of stdin is there until SIGTERM."""
    with FakeHarness(ignore_eof=True) as fake, RawHarness(fake.path) as harness:
        harness.ready()
        harness.process.stdin.close()
        fake.wait_for_event("eof")
        assert answer_of(turn(harness.open()[0])) == "ok"
        harness.process.terminate()
        assert harness.process.wait(CEILING) == -15


def test_sigterm_when_ignored_then_reported_and_survived():
    """A process that ignores SIGTERM says that it came, works on, and ends with the given code."""
    fake = FakeHarness(ignore_sigterm=True, exit_code_at_eof=9)
    with fake, RawHarness(fake.path) as harness:
        harness.ready()
        for nth in (1, 2):
            harness.process.terminate()
            fake.wait_for_event("sigterm", nth=nth)
        assert answer_of(turn(harness.open()[0])) == "ok"
        assert harness.end() == 9


# ── connecting ──────────────────────────────────────────────────────────────────────────────────


def test_connections_when_refused_then_until_the_gate_opens():
    """The port refuses connections until the signal, or for ever."""
    with FakeHarness(refuse_connections="listen") as fake, RawHarness(fake.path) as harness:
        harness.ready()
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                harness.connect()
        fake.signal("listen")
        fake.wait_for_event("listening")
        assert answer_of(turn(harness.open()[0])) == "ok"
        fake.configure(refuse_connections=True)
        with RawHarness(fake.path) as other, pytest.raises(ConnectionRefusedError):
            other.ready().connect()


def test_connections_when_dropped_then_the_next_one_is_served():
    """The first connections are reset before the upgrade, as often as said."""
    with FakeHarness(drop_connects=2) as fake, RawHarness(fake.path) as harness:
        harness.ready()
        for _ in range(2):
            with pytest.raises((OSError, websocket.WebSocketException)):
                harness.connect()
        assert answer_of(turn(harness.open()[0])) == "ok"
        assert [r.socket for r in fake.records if r.event == "dropped"] == [1, 2]


def test_upgrade_when_never_answered_then_the_connection_stays_open():
    """The request is read, nothing comes back, and the client's end is noticed."""
    with FakeHarness(no_upgrade=True) as fake, RawHarness(fake.path) as harness:
        harness.ready()
        with pytest.raises((TimeoutError, websocket.WebSocketTimeoutException)):
            harness.connect(timeout=0.05)
        fake.wait_for_event("upgrade")
        fake.wait_for_event("lost")
        assert "connected" not in fake.events


def test_upgrade_when_key_is_always_rejected_then_401_with_the_right_one():
    """Even the right key is refused."""
    with FakeHarness(reject_key=True) as fake, RawHarness(fake.path) as harness:
        with pytest.raises(websocket.WebSocketBadStatusException, match="401"):
            harness.ready().connect()
        assert fake.events[-1] == "rejected:401"
