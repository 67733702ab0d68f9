"""What goes wrong on a WebSocket of the stand-in harness is what the script says, and no more."""

from __future__ import annotations

import os
import select
import struct
import sys
import threading

import pytest
import websocket

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    close,
    delta,
    done,
    drop,
    exit,
    failure,
    flood,
    half_frame,
    idle,
    raw_frame,
    running,
    spawn_child,
    stop_reading,
    tool_call,
    usage,
    wait_for,
    wait_for_signal,
)
from tests.loop.raw_client import (
    CEILING,
    CONVERSATION,
    RawHarness,
    answer_of,
    close_code,
    is_running,
    receive,
    send,
    step_of,
    turn,
    until_idle,
)


def is_readable(pipe):
    return bool(select.select([pipe], [], [], 0)[0])


# ── the WebSocket ───────────────────────────────────────────────────────────────────────────────


def test_init_when_never_answered_then_turns_are_served_all_the_same():
    """No first frame comes, so the first one is that of the turn."""
    with FakeHarness(no_init_response=True) as fake, RawHarness(fake.path) as harness:
        client = harness.ready().connect()
        send(client, config={})
        fake.wait_for("config")
        assert turn(client)[0]["trajectoryStateUpdate"]["state"] == "STATE_RUNNING"


def test_init_when_reply_is_given_then_that_is_the_first_frame():
    """Another first frame replaces the usual one."""
    reply = {"initializeConversationResponse": {"cascadeId": "$C", "sandboxStatus": {}}}
    with FakeHarness(init_reply=reply, cascade_id="C1") as fake, RawHarness(fake.path) as harness:
        _, frame = harness.ready().open()
        assert frame["initializeConversationResponse"] == {"cascadeId": "C1", "sandboxStatus": {}}


def test_init_when_dropped_by_a_list_then_each_entry_counts_once_over_processes():
    """A list of lines is used up by inits, in whatever process, then all are accepted."""
    lines = ["Failed to parse initial message: one", None, "two"]
    with FakeHarness(drop_on_init=lines) as fake:
        with RawHarness(fake.path) as harness:
            client = harness.ready().connect()
            send(client, config={"a": 1})
            assert close_code(client) is None
            assert harness.open()[1]["seqNum"] == "1"
            harness.end()
            assert harness.stderr().splitlines()[0] == lines[0]
        with RawHarness(fake.path) as harness:
            client = harness.ready().connect()
            send(client, config={})
            assert close_code(client) is None
            assert answer_of(turn(harness.open()[0])) == "ok"
        assert [m["config"] for m in fake.received if "config" in m] == [{"a": 1}, {}, {}, {}]


def test_init_when_dropped_by_a_text_then_always():
    """A single line drops every init."""
    with FakeHarness(drop_on_init="no") as fake, RawHarness(fake.path) as harness:
        harness.ready()
        for _ in range(2):
            client = harness.connect()
            send(client, config={})
            assert close_code(client) is None
        harness.end()
        assert harness.stderr().splitlines()[:2] == ["no", "no"]


@pytest.mark.parametrize("is_ignored", [False, True])
def test_close_when_sent_by_the_client_then_answered_unless_ignored(is_ignored):
    """A close frame is answered with its code, or reported and left without an answer."""
    with FakeHarness(ignore_close=is_ignored) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        client.send_close(4001)
        if is_ignored:
            fake.wait_for_event("close:4001")
            assert not is_readable(client.sock)
            assert fake.events[-1] == "close:4001"
        else:
            assert close_code(client) == 4001
            assert "lost" not in fake.events


def test_close_when_sent_by_the_script_then_code_arrives_and_resume_works():
    """A failed turn closes the WebSocket, and the conversation can be resumed at once."""
    config = {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_OR_RESUME"}
    with FakeHarness(failure("quota", 429), "better") as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open(**config)
        frames = turn(client)
        assert frames[2]["stepUpdate"]["error"] == {"errorMessage": "quota", "httpCode": 429}
        assert frames[-1]["trajectoryStateUpdate"]["error"] == "quota"
        assert close_code(client) == 1000
        client, opening = harness.open(cascadeId=CONVERSATION)
        states = [s["state"] for s in opening["initializeConversationResponse"]["history"]]
        assert states == ["STATE_DONE", "STATE_ERROR"]
        assert answer_of(turn(client)) == "better"
        assert "sent-close:1000" in fake.events


@pytest.mark.parametrize("code", [1000, 1001, 1011, 4000])
def test_close_when_code_is_given_then_the_client_reads_it(code):
    """Any close code can be sent; the client's answer is reported."""
    with FakeHarness([close(code, "why")]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        opcode, data = client.recv_data()
        assert (opcode, data) == (websocket.ABNF.OPCODE_CLOSE, struct.pack(">H", code) + b"why")
        fake.wait_for_event("close:1000")  # what websocket-client answers by itself


@pytest.mark.parametrize("is_reset", [False, True])
def test_drop_when_scripted_then_tcp_ends_without_a_close_frame(is_reset):
    """A drop ends the TCP connection, orderly or by a reset, and the script goes on behind it."""
    script = [running(), drop(reset=is_reset), wait_for_signal("die"), exit(4)]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        receive(client)
        if is_reset:
            with pytest.raises(ConnectionResetError):
                client.sock.recv(1)
        else:
            assert client.sock.recv(1) == b""
        fake.wait_for_event("gate:die")
        assert fake.alive
        fake.signal("die")
        assert harness.process.wait(CEILING) == 4
        assert "lost" not in fake.events


def test_frame_when_half_then_the_rest_never_comes():
    """Half a frame is announced whole and stops in the middle."""
    body = {"stepUpdate": {"text": "x" * 1000}}
    with FakeHarness([half_frame(body), drop()]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        head = client.sock.recv(4, 0x100)  # MSG_WAITALL
        announced = int.from_bytes(head[2:], "big")
        assert announced > 1000
        data = b""
        while part := client.sock.recv(65536):
            data += part
        assert 0 < len(data) < announced


def test_bytes_when_raw_then_arrive_as_they_are():
    """Raw bytes need be no frame at all."""
    fake = FakeHarness([raw_frame(b"\xff\xfe junk"), drop()])
    with fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        assert client.sock.recv(7, 0x100) == b"\xff\xfe junk"


def fill(client):
    """Send until the connection takes no more; return how many messages went out whole."""
    client.sock.setblocking(False)
    count = 0
    try:
        while True:
            client.sock.send(b"\x81\xff" + struct.pack(">Q", 1 << 40) + b"mask" + b"x" * 65536)
            count += 1
    except BlockingIOError:
        return count


def test_reading_when_it_never_happens_then_sends_block():
    """After init nothing is read, so a client's sends fill the buffers and block."""
    with FakeHarness(never_read=True) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        assert fill(client) > 0
        assert fake.events[-1] == "init"
        assert harness.end() == 0


def test_reading_when_stopped_until_a_gate_then_blocked_messages_arrive_after_it():
    """A script can stop reading and go on later; what was sent meanwhile is not lost."""
    script = [
        *(running(), stop_reading(until="again"), tool_call("t"), wait_for("toolResponse")),
        *(delta("got it"), done(), idle()),
    ]
    large = "y" * 20_000_000
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        assert "toolCall" in [receive(client) for _ in range(2)][1]
        sender = threading.Thread(
            target=lambda: send(client, toolResponse={"id": "call-1", "responseJson": large})
        )
        sender.start()
        fake.wait_for_event("wait:toolResponse")
        assert sender.is_alive()
        assert "deaf" in fake.events
        fake.signal("again")
        sender.join(CEILING)
        assert answer_of(until_idle(client)) == "got it"
        assert fake.received[-1]["toolResponse"]["responseJson"] == large


def test_flood_when_played_then_all_deltas_arrive_in_order():
    """A flood has as many frames as said, numbered without a gap, cumulative as the real ones."""
    script = [running(), delta('"é'), flood(3000, 7), done(), idle()]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        frames = turn(harness.ready().open()[0])
    steps = [step_of(frame) for frame in frames[1:-1]]
    assert [int(frame["seqNum"]) for frame in frames] == list(range(2, len(frames) + 2))
    assert len(steps) == 1 + 3000 + 1
    text = ""
    for update in steps:
        text += update["textDelta"]
        assert update["text"] == text
    assert len(text) == 2 + 3000 * 7


def test_reading_when_stopped_then_a_small_message_is_not_handled_either():
    """What fits the buffers is not handled before reading goes on."""
    script = [
        *(wait_for_signal("now"), stop_reading(until="again")),
        *(wait_for("toolResponse"), idle()),
    ]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        fake.wait_for_event("gate:now")
        client.ping()
        assert client.recv_frame().opcode == websocket.ABNF.OPCODE_PONG  # so it reads again
        fake.signal("now")
        fake.wait_for_event("deaf")
        send(client, toolResponse={"id": "1"})
        assert answer_of(turn(harness.open()[0])) == "ok"
        assert not any("toolResponse" in message for message in fake.received)
        fake.signal("again")
        until_idle(client)
        assert fake.wait_for("toolResponse")


def test_idle_state_when_given_then_turns_and_halts_end_with_it():
    """The state that ends turns has the name it had in older harnesses."""
    fake = FakeHarness("a", [wait_for_signal("never")], idle_state="STATE_IDLE")
    with fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        assert turn(client)[-1]["trajectoryStateUpdate"]["state"] == "STATE_IDLE"
        send(client, userInput="x")
        send(client, haltRequest=True)
        assert receive(client)["trajectoryStateUpdate"]["state"] == "STATE_IDLE"


def test_usage_when_sent_twice_then_totals_run_over_the_session():
    """Token counts are cumulative decimal strings."""
    fake = FakeHarness([usage(), usage(1, 2, thoughts=3), idle()])
    with fake, RawHarness(fake.path) as harness:
        frames = turn(harness.ready().open()[0])
    assert frames[1]["usageUpdate"]["total"] == {
        "promptTokenCount": "11",
        "cachedContentTokenCount": "0",
        "candidatesTokenCount": "7",
        "thoughtsTokenCount": "3",
        "totalTokenCount": "21",
    }
    agent = frames[1]["usageUpdate"]["agents"][0]
    assert agent["trajectoryId"] == frames[2]["trajectoryStateUpdate"]["trajectoryId"]


def test_child_when_spawned_by_a_turn_then_is_like_one_of_the_agents_shell():
    """A child outlives the process, leads a group of its own and carries the conversation's id."""
    fake = FakeHarness([spawn_child(), idle()], cascade_id="C1")
    with fake, RawHarness(fake.path) as harness:
        turn(harness.ready().open()[0])
        (child,) = fake.grandchildren
        assert os.getpgid(child) == child
        if sys.platform == "linux":
            with open(f"/proc/{child}/environ", "rb") as file:
                assert b"ANTIGRAVITY_CONVERSATION_ID=C1" in file.read().split(b"\0")
        assert harness.end() == 0
        assert harness.stderr() == "Stdin closed, cleaning up...\n"
        assert is_running(child)
        os.kill(child, 9)
        fake.wait_for_event("child-gone")
