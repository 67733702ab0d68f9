"""The stand-in harness obeys gates and halts, and tells the test what happened, in order."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    answer,
    custom_tool,
    delta,
    done,
    idle,
    mark,
    running,
    spawn_child,
    user_echo,
    wait_for,
    wait_for_signal,
)
from tests.loop.raw_client import (
    CEILING,
    RawHarness,
    answer_of,
    is_running,
    receive,
    send,
    step_of,
    turn,
    until_idle,
)

# ── order ───────────────────────────────────────────────────────────────────────────────────────


def test_halt_when_a_turn_plays_then_its_step_is_closed_and_it_is_idle():
    """A halt ends a turn that waits for something else, and the next input is served."""
    script = [running(), user_echo(), delta("par"), wait_for_signal("never"), delta("not sent")]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        fake.wait_for_event("gate:never")
        send(client, haltRequest=True)
        frames = until_idle(client)
        assert step_of(frames[-2])["state"] == "STATE_DONE"
        assert answer_of(frames) == "par"
        send(client, haltRequest=True)  # when idle it changes nothing
        assert answer_of(turn(client)) == "ok"


def test_halt_when_a_tool_is_called_then_its_step_never_ends():
    """A halted call leaves its step open, and the next turn has the next index."""
    with FakeHarness(custom_tool("slow")) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        fake.wait_for_event("wait:toolResponse")
        send(client, haltRequest=True)
        states = [step_of(f)["state"] for f in until_idle(client) if "stepUpdate" in f]
        assert states == ["STATE_ACTIVE"]
        assert step_of(turn(client)[1])["stepIndex"] == 1


def test_turn_when_empty_then_nothing_comes_until_it_is_halted():
    """A turn without items swallows the prompt."""
    with FakeHarness([]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        fake.wait_for_event("turn:1")
        send(client, haltRequest=True)
        assert receive(client)["seqNum"] == "2"
        fake.wait_for_event("turn-end:1")


def test_halt_when_it_comes_right_behind_the_input_then_ends_that_turn():
    """A halt is not lost when it arrives before the turn has begun."""
    with FakeHarness([wait_for_signal("never")]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        send(client, haltRequest=True)
        assert [next(iter(frame)) for frame in until_idle(client)] == ["trajectoryStateUpdate"]
        assert answer_of(turn(client)) == "ok"


def test_halt_when_script_never_went_idle_then_still_ends_the_turn():
    """A turn whose items are used up without an idle runs on until it is halted."""
    with FakeHarness([running(), delta("x")]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        assert [receive(client) for _ in range(2)]
        assert "turn-end:1" not in fake.events
        send(client, haltRequest=True)
        assert len(until_idle(client)) == 2
        fake.wait_for_event("turn-end:1")


def test_halt_when_script_waits_for_it_then_the_script_decides():
    """A script with a wait for the halt handles it, even when the halt is early."""
    script = [
        *(running(), wait_for_signal("go"), wait_for("haltRequest")),
        *(delta("late"), done(), idle()),
    ]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        send(client, haltRequest=True)
        fake.wait_for("haltRequest")
        assert "trajectoryStateUpdate" in receive(client)
        fake.signal("go")
        assert answer_of(until_idle(client)) == "late"


def test_halt_when_ignored_then_the_turn_goes_on():
    """With `ignore_halt` a halt changes nothing."""
    script = [running(), wait_for_signal("go"), delta("on"), done(), idle()]
    with FakeHarness(script, ignore_halt=True) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        send(client, haltRequest=True)
        fake.wait_for("haltRequest")
        fake.signal("go")
        assert answer_of(until_idle(client)) == "on"


def test_signal_when_given_before_or_after_the_wait_then_opens_the_gate_everywhere():
    """A gate opens for good: for the process that waits and for one that starts later."""
    script = [running(), wait_for_signal("a"), mark("through"), wait_for_signal("b"), idle()]
    with FakeHarness(script, script) as fake:
        with RawHarness(fake.path) as harness:
            client, _ = harness.ready().open()
            send(client, userInput="x")
            fake.wait_for_event("gate:a")
            assert "mark:through" not in fake.events
            fake.signal("a")
            fake.wait_for_event("gate:b")
            fake.signal("b")
            until_idle(client)
        with RawHarness(fake.path) as harness:
            client, _ = harness.ready().open()
            assert len(turn(client)) == 2


def test_wait_for_when_message_came_before_its_turn_then_it_does_not_count():
    """An answer that is late for one turn does not answer the next."""
    script = [running(), wait_for("toolResponse"), idle()]
    with FakeHarness("one", script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        turn(client)
        send(client, toolResponse={"id": "late"})
        send(client, userInput="x")
        fake.wait_for_event("wait:toolResponse")
        assert "turn-end:2" not in fake.events
        send(client, toolResponse={"id": "now"})
        until_idle(client)
        assert fake.wait_for("toolResponse", nth=2) == {"toolResponse": {"id": "now"}}


def test_inputs_when_sent_while_a_turn_plays_then_wait_for_its_end():
    """An input that comes too early is played next."""
    script = [running(), wait_for_signal("go"), *answer("first")[1:]]
    with FakeHarness(script, "second") as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="1")
        send(client, userInput="2")
        fake.wait_for(lambda message: message.get("userInput") == "2")
        fake.signal("go")
        assert answer_of(until_idle(client)) == "first"
        assert answer_of(until_idle(client)) == "second"


# ── the test's side ─────────────────────────────────────────────────────────────────────────────


def test_received_when_answer_was_seen_then_message_is_there_without_waiting():
    """What a client has seen answered is in `received`, `events` and `records` at once."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open(models=[])
        for number in range(200):
            turn(client, str(number))
            assert fake.received[-1] == {"userInput": str(number)}
        assert fake.received[0] == {"config": {"models": []}}
        record = fake.records[-2]
        assert (record.pid, record.socket) == (harness.process.pid, 1) or record.socket is None
    assert len(fake.received) == 201


def test_wait_for_when_it_does_not_come_then_fails_with_what_did():
    """A wait that fails names what it waited for and what happened instead."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.ready().open()
        with pytest.raises(AssertionError, match=r"'haltRequest' did not come .*'init'"):
            fake.wait_for("haltRequest", timeout=0.0)
        with pytest.raises(AssertionError, match="gate:x did not come 2 time"):
            fake.wait_for_event("gate:x", nth=2, timeout=0.0)
        with pytest.raises(AssertionError, match="still live"):
            fake.wait_for_exit(timeout=0.0)


def test_wait_for_when_another_thread_waits_then_it_is_woken():
    """A thread that waits before the message is sent gets it."""
    found = []
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        waiter = threading.Thread(target=lambda: found.append(fake.wait_for("haltRequest")))
        waiter.start()
        send(client, haltRequest=True)
        waiter.join(CEILING)
        assert found == [{"haltRequest": True}]


MISTAKES = {
    "unknown knob": (lambda: FakeHarness(exit_att="spawn"), "did you mean exit_at"),
    "bad stage": (lambda: FakeHarness(exit_at="boot"), "use one of None, 'spawn'"),
    "text in a turn": (lambda: FakeHarness(["hello"]), "use delta"),
    "number": (lambda: FakeHarness([3]), "3 cannot be played"),
    "bad script knob": (lambda: FakeHarness(default_turn=[3]), "3 cannot be played"),
    "path too early": (lambda: FakeHarness().path, "not started"),
    "records too early": (lambda: FakeHarness().events, "never started"),
    "signal too early": (lambda: FakeHarness().signal("x"), "not started"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_when_made_then_config_error_says_what_to_do(name):
    """Mistakes in scripts and knobs are errors where they are made."""
    make, text = MISTAKES[name]
    with pytest.raises(ConfigError, match=text):
        make()


def test_start_when_repeated_or_version_changed_then_config_error():
    """A fake is started once, and its version is fixed with its files."""
    with FakeHarness() as fake:
        with pytest.raises(ConfigError, match="started once"):
            fake.start()
        with pytest.raises(ConfigError, match="cannot be changed"):
            fake.configure(version="1")


def test_version_when_given_then_metadata_beside_the_binary_says_so():
    """The layout is that of an installed wheel."""
    with FakeHarness(version="0.1.22") as fake:
        found = {d.name: d.version for d in importlib.metadata.distributions(path=[str(fake.root)])}
        assert found == {"google-antigravity": "0.1.22"}
        assert Path(fake.path) == fake.root / "google/antigravity/bin/localharness"
        assert os.access(fake.path, os.X_OK)
    with FakeHarness() as fake:
        assert list(importlib.metadata.distributions(path=[str(fake.root)])) == []


@pytest.mark.parametrize("name", ["with space", "d" * 150])
def test_binary_when_interpreter_path_fits_no_shebang_then_starts_all_the_same(
    tmp_path, monkeypatch, name
):
    """An interpreter with a space in its path, or a very long one, is started through a shell."""
    directory = tmp_path / name
    directory.mkdir()
    interpreter = directory / "python"
    interpreter.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(sys, "executable", str(interpreter))
    with FakeHarness("hi") as fake, RawHarness(fake.path, env={}) as harness:
        client, _ = harness.ready().open()
        assert answer_of(turn(client)) == "hi"
        assert fake.pid == harness.process.pid


def test_close_when_processes_hang_then_nothing_is_left():
    """Closing ends stubborn processes and children, and leaves no thread, file or descriptor."""
    before = set(threading.enumerate())
    descriptors = len(os.listdir("/dev/fd"))
    script = [running(), spawn_child(), wait_for_signal("never")]
    fake = FakeHarness(script, ignore_eof=True, ignore_sigterm=True)
    with fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        fake.wait_for_event("gate:never")
        pids = fake.alive
        assert pids == [harness.process.pid, *fake.grandchildren]
        assert all(map(is_running, pids))
        root = fake.root
        fake.close()
        harness.process.wait(CEILING)
        assert not any(map(is_running, pids))
    assert not root.exists()
    assert set(threading.enumerate()) == before
    assert len(os.listdir("/dev/fd")) == descriptors
    assert "gate:never" in fake.events  # still readable
    assert fake.alive == []


def test_owner_when_killed_then_its_stand_ins_end():
    """A stand-in does not outlive the process that owns the fake, even without any cleaning up."""
    program = """if True:
        import os, signal, subprocess
        from antigravity_sync.testing.fake_harness import FakeHarness
        fake = FakeHarness(ignore_eof=True).start()
        subprocess.Popen([fake.path], stdin=subprocess.PIPE)
        fake.wait_for_event("spawned")
        print(fake.root, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    owner = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=CEILING,
    )
    # The stand-in inherited stdout, so the end of that pipe is the end of the stand-in.
    assert owner.returncode == -9
    root = Path(owner.stdout.strip())
    assert root.exists()
    shutil.rmtree(root.parent)


def test_control_port_when_a_stranger_connects_then_it_is_turned_away():
    """A connection without the token is closed and counts as no process."""
    with FakeHarness() as fake:
        spec = json.loads((fake.root.parent / "spec.json").read_text())
        for greeting in (b"hello\n", b'{"token":"x","pid":1,"role":"process"}\n'):
            with socket.create_connection(("127.0.0.1", spec["control_port"])) as stranger:
                stranger.settimeout(CEILING)
                stranger.sendall(greeting)
                assert stranger.recv(1) == b""
        assert fake.alive == []
