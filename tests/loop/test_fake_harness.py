"""The stand-in harness plays its script on the real wire and tells what reached it."""

from __future__ import annotations

import json
import signal
import sys

import pytest
import websocket

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    answer,
    binary,
    custom_tool,
    delta,
    done,
    hook,
    idle,
    ping,
    question,
    running,
    state,
    step,
    text_frame,
    tool_call,
    wait_for,
)
from tests.loop.raw_client import (
    CEILING,
    STORAGE,
    RawHarness,
    answer_of,
    message_field,
    receive,
    send,
    step_of,
    text_field,
    turn,
    until_idle,
    varint,
)
from tests.recordings import load


def played(*turns, **knobs):
    """Return the frames of one turn, after the init response."""
    with FakeHarness(*turns, **knobs) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        return turn(client)


# ── the wire ────────────────────────────────────────────────────────────────────────────────────


def shape_of(frame):
    """Return what of a frame does not differ from run to run."""
    body = json.loads(json.dumps(frame))
    conversation = body.get("stepUpdate", body.get("trajectoryStateUpdate", {})).get("trajectoryId")
    text = json.dumps(body, sort_keys=True)
    shape = json.loads(text.replace(str(conversation), "C") if conversation else text)
    for name in ("seqNum", "timestampMicros"):
        assert isinstance(shape.pop(name), str)
    return shape


def test_ordinary_turn_when_compared_with_a_recorded_one_then_has_the_same_frames():
    """An ordinary turn has the frames of the real harness, less usage and empty deltas."""
    records = load("0.1.10")["0.1.10", "01_text"].records
    real = [record.msg for record in records if record.dir == "recv" and record.msg]
    real = [frame for frame in real if "initializeConversationResponse" not in frame]
    expected = []
    for frame in real:
        update = frame.get("stepUpdate")
        is_empty = update and update["state"] == "STATE_ACTIVE" and not update["textDelta"]
        if "usageUpdate" not in frame and not is_empty:
            expected.append(shape_of(frame))
    assert [shape_of(frame) for frame in played(answer("Hello ", "world"))] == expected


def test_handshake_when_config_is_full_then_every_field_is_decoded():
    """The stdin handshake is decoded field by field, unknown ones under their number."""
    about = b"".join(
        text_field(number, text)
        for number, text in enumerate(("python", "1.0", "3.11", "linux", "6.1"), start=1)
    )
    entry = text_field(1, "A") + text_field(2, "b=c ü")
    body = text_field(1, STORAGE) + text_field(3, "127.0.0.1") + message_field(4, about)
    body += message_field(5, entry) + varint(6 << 3) + varint(1) + varint(99 << 3) + varint(300)
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.ready(body=body)
        assert fake.input_config == {
            "storage_directory": STORAGE,
            "bind_address": "127.0.0.1",
            "client_info": {
                "language": "python",
                "version": "1.0",
                "language_version": "3.11",
                "os": "linux",
                "os_version": "6.1",
            },
            "env": {"A": "b=c ü"},
            "use_interactions_api": True,
            "#99": 300,
        }
        assert len(harness.key) == 32
        assert fake.wait_for_event("config").facts["data"] == body.hex()


def test_handshake_when_port_is_given_then_it_listens_there():
    """The port of the config is used, and a second process on it fails as the real one does."""
    with FakeHarness() as fake, RawHarness(fake.path) as first:
        port = first.ready().port
        with RawHarness(fake.path) as second:
            second.send_config(varint(2 << 3) + varint(port))
            assert second.process.wait(CEILING) == 1
            assert f"Failed to listen on any of [127.0.0.1:{port}]" in second.stderr()


@pytest.mark.parametrize("data", [b"", b"\x04\0", b"\x04\0\0\0\x0a", b"\x02\0\0\0\x0a\x09"])
def test_handshake_when_config_is_broken_then_exits_with_a_line(data):
    """An end of stdin, a short or a malformed config ends the process with code 1."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.process.stdin.write(data)
        assert harness.end() == 1
        assert harness.stderr().startswith("Failed to read InputConfig: ")


def test_environment_when_it_is_almost_empty_then_process_starts_and_reports_it():
    """The stand-in needs no PATH, and reports exactly the environment it was given."""
    with FakeHarness() as fake, RawHarness(fake.path, env={"ONLY": "ünïque"}) as harness:
        harness.ready()
        if sys.platform == "linux":
            assert fake.environ == {"ONLY": "ünïque"}
        assert fake.environ["ONLY"] == "ünïque"
        assert "PATH" not in fake.environ


@pytest.mark.parametrize("key", ["", "wrong"])
def test_upgrade_when_key_is_wrong_then_401(key):
    """A WebSocket without the key of the handshake is refused, and its headers are kept."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.ready()
        with pytest.raises(websocket.WebSocketBadStatusException) as caught:
            harness.connect(key=key)
        assert caught.value.status_code == 401
        assert fake.headers[-1]["x-goog-api-key"] == key
        assert harness.open()[1]["seqNum"] == "1"
        assert fake.headers[-1]["x-goog-api-key"] == harness.key


def test_sockets_when_several_then_each_is_a_conversation_with_its_own_numbers():
    """Two WebSockets of one process have two ids, and each counts its frames from 1."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.ready()
        first, second = harness.open(), harness.open()
        ids = [r["initializeConversationResponse"]["cascadeId"] for _, r in (first, second)]
        assert len(set(ids)) == 2
        for (client, _), conversation in zip((first, second), ids, strict=True):
            frames = turn(client)
            assert [frame["seqNum"] for frame in frames] == ["2", "3", "4", "5", "6"]
            assert step_of(frames[1])["cascadeId"] == conversation


def test_stdin_when_it_ends_then_exits_with_code_0_and_the_order_is_told():
    """A whole life is reported in order, up to the exit by the end of stdin."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        turn(client)
        fake.wait_for_event("turn-end:default")
        client.close()
        assert harness.end() == 0
        assert harness.stderr() == "Stdin closed, cleaning up...\n"
        fake.wait_for_exit()
        assert fake.events == [
            *("spawned", "config", "handshake", "accepted", "upgrade", "connected", "init"),
            *("message:userInput", "turn:default", "turn-end:default", "close:1000"),
            *("eof", "exit:0", "gone"),
        ]
        assert fake.pids == [harness.process.pid]
        assert fake.alive == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_when_it_arrives_then_process_dies_by_it_and_says_so(name):
    """SIGTERM and SIGINT kill as they kill the real harness, and are reported first."""
    number = getattr(signal, name)
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        harness.ready()
        harness.process.send_signal(number)
        assert harness.process.wait(CEILING) == -number
        fake.wait_for_exit()
        assert fake.events[-3:] == [name.lower(), f"exit:{-number}", "gone"]


# ── turns ───────────────────────────────────────────────────────────────────────────────────────


def test_turns_when_inputs_come_to_several_processes_then_they_are_played_in_order_of_arrival():
    """The script goes on over sockets and processes, and ends in the default turn."""
    with FakeHarness("one", "two", "three") as fake:
        with RawHarness(fake.path) as first, RawHarness(fake.path) as second:
            clients = [first.ready().open()[0], second.ready().open()[0], first.open()[0]]
            assert [answer_of(turn(client)) for client in clients] == ["one", "two", "three"]
            assert answer_of(turn(clients[0])) == "ok"
        fake.add_turns("four")
        fake.configure(default_turn="over")
        with RawHarness(fake.path) as third:
            client, _ = third.ready().open()
            assert [answer_of(turn(client)) for _ in range(2)] == ["four", "over"]
        assert [event for event in fake.events if event.startswith("turn:")] == [
            *("turn:1", "turn:2", "turn:3", "turn:default", "turn:4", "turn:default")
        ]


def test_turns_when_added_while_process_runs_then_its_next_input_plays_them():
    """A turn that was added before the input was sent is seen, however late it was added."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        assert answer_of(turn(client)) == "ok"
        for text in ("first", "second"):
            fake.add_turns(text)
            assert answer_of(turn(client)) == text


INPUTS = {
    "string": {"userInput": "hello"},
    "parts": {"userInput": {"parts": [{"text": "hel"}, {"media": {}}, {"text": "lo"}]}},
    "complex": {"complexUserInput": {"parts": [{"text": "hello"}]}},
}


@pytest.mark.parametrize("form", INPUTS)
def test_echo_when_prompt_has_any_form_then_shows_its_text(form):
    """Both wire forms of an input start a turn and are echoed as text."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, **INPUTS[form])
        echo = step_of(until_idle(client)[1])
        assert (echo["source"], echo["text"]) == ("SOURCE_USER", "hello")
        assert fake.received[-1] == INPUTS[form]


def test_trigger_when_it_arrives_then_its_own_turn_is_played():
    """An automated trigger is echoed as SYSTEM and uses up no turn."""
    with FakeHarness("for the user") as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, automatedTrigger="wake up")
        echo = step_of(until_idle(client)[1])
        assert echo["source"] == "SOURCE_SYSTEM"
        assert echo["text"].endswith("content=wake up")
        assert answer_of(turn(client)) == "for the user"


def test_frames_when_given_as_dicts_then_sent_as_they_are():
    """A dict is a frame: only `$C` and the missing envelope fields are filled in."""
    odd = {"brandNewEvent": {"of": "$C", "price": "$Cheap"}, "seqNum": "77"}
    script = [
        {"stepUpdate": {"trajectoryId": "$C", "stepIndex": 5, "text": "mine"}},
        odd,
        state("STATE_MOON", trajectory="sub"),
        delta("next"),
        idle(),
    ]
    with FakeHarness(script, cascade_id="C1") as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        frames = turn(client)
        stamp = frames[1].pop("timestampMicros")
        assert frames[1] == {"brandNewEvent": {"of": "C1", "price": "$Cheap"}, "seqNum": "77"}
        assert int(stamp) > 1_000_000_000_000_000
        assert frames[2]["trajectoryStateUpdate"] == {"trajectoryId": "sub", "state": "STATE_MOON"}
        assert step_of(frames[3])["stepIndex"] == 6


def test_steps_when_built_with_fields_then_share_the_current_index():
    """A step stays current until its terminal state, and deltas fit its text."""
    script = [
        running(),
        step(target="TARGET_ENVIRONMENT", text="run it", runCommand={"commandLine": "ls"}),
        step(state="STATE_DONE", runCommand={"exitCode": 0}),
        step(trajectoryId="sub", stepIndex=9, text="elsewhere"),
        delta("a"),
        delta("b"),
        done(),
        idle("boom"),
    ]
    frames = played(script)
    steps = [step_of(frame) for frame in frames if "stepUpdate" in frame]
    assert [s["stepIndex"] for s in steps] == [0, 0, 9, 1, 1, 1]
    assert [s["textDelta"] for s in steps] == ["run it", "", "", "a", "b", ""]
    assert steps[1]["runCommand"] == {"exitCode": 0}
    assert steps[1]["text"] == "run it"
    assert steps[-1]["text"] == "ab"
    assert frames[-1]["trajectoryStateUpdate"]["error"] == "boom"


def test_custom_tool_when_answered_then_done_step_carries_the_answer():
    """A custom call shows its step, asks, waits for this answer and closes the step with it."""
    call = custom_tool("add", {"a": 1, "b": [True, None, "x"], "c": {"d": 1.5}}, call_id="id-7")
    script = [running(), call, delta("3"), done(), idle()]
    with FakeHarness(script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="add")
        opening, request = [receive(client) for _ in range(3)][1:]
        assert request["toolCall"]["id"] == "id-7"
        assert json.loads(request["toolCall"]["argumentsJson"])["c"] == {"d": 1.5}
        assert request["toolCall"]["arguments"]["fields"][1]["value"]["listValue"]["values"] == [
            *({"boolValue": True}, {"nullValue": "NULL_VALUE"}, {"stringValue": "x"})
        ]
        fake.wait_for_event("wait:toolResponse")
        send(client, toolResponse={"id": "id-7", "responseJson": '{"result":3}'})
        closing = step_of(receive(client))
        assert closing["stepIndex"] == step_of(opening)["stepIndex"] == 0
        assert closing["customTool"]["toolResponse"] == {
            "id": "add",
            "responseJson": '{"result":3}',
        }
        assert answer_of(until_idle(client)) == "3"
        assert fake.wait_for("toolResponse")["toolResponse"]["id"] == "id-7"


def test_requests_when_built_then_have_the_recorded_fields():
    """Hook, question and tool requests have the names the real harness uses."""
    script = [
        hook("PRE_TOOL", request_id="h1", toolName="x", argumentsJson="{}"),
        hook("ON_SESSION_START"),
        tool_call("bare"),
        question("Pick?", "A", "B", multi_select=True),
        idle(),
    ]
    frames = played(script)
    assert frames[0]["callHookRequest"] == {
        "requestId": "h1",
        "name": "PreTool",
        "type": "LIFECYCLE_HOOK_PRE_TOOL",
        "preToolArgs": {"toolName": "x", "argumentsJson": "{}"},
    }
    assert frames[1]["callHookRequest"] == {
        "requestId": "hook_request_1",
        "name": "OnSessionStart",
        "type": "LIFECYCLE_HOOK_ON_SESSION_START",
    }
    assert frames[2]["toolCall"]["argumentsJson"] == "{}"
    assert step_of(frames[3])["state"] == "STATE_WAITING_FOR_USER"
    assert step_of(frames[3])["questionsRequest"]["questions"] == [
        {"multipleChoice": {"question": "Pick?", "choices": ["A", "B"], "isMultiSelect": True}}
    ]


@pytest.mark.parametrize("is_scripted", [False, True])
def test_session_end_when_requested_then_answered_at_once_or_as_scripted(is_scripted):
    """A session end is answered in the middle of a turn, unless a script wants a hook first."""
    script = [hook("ON_SESSION_END"), wait_for("callHookResponse"), {"sessionEndResponse": True}]
    knobs = {"on_session_end": script} if is_scripted else {}
    with FakeHarness([running()], **knobs) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        if is_scripted:
            send(client, sessionEndRequest=True)
            assert receive(client)["callHookRequest"]["name"] == "OnSessionEnd"
            send(client, callHookResponse={"requestId": "hook_request_1", "emptyResult": {}})
        else:
            send(client, userInput="x")
            receive(client)
            send(client, sessionEndRequest=True)
        assert receive(client)["sessionEndResponse"] is True


def test_after_init_when_scripted_then_played_before_any_input():
    """What follows the init response needs no input."""
    script = [hook("ON_SESSION_START")]
    with FakeHarness(after_init=script) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        assert "callHookRequest" in receive(client)
        assert answer_of(turn(client)) == "ok"


def test_binary_text_and_ping_when_sent_then_arrive_as_such():
    """Frames that are not JSON text keep their opcode, and a pong is reported."""
    script = [binary({"a": "$C"}), text_frame("{not json"), text_frame(b"\xff"), ping(b"p"), idle()]
    with FakeHarness(script, cascade_id="C1") as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        send(client, userInput="x")
        opcode, data = client.recv_data()
        assert (opcode, json.loads(data)["a"]) == (websocket.ABNF.OPCODE_BINARY, "C1")
        assert client.recv_data() == (websocket.ABNF.OPCODE_TEXT, b"{not json")
        frame = client.recv_frame()
        assert (frame.opcode, frame.data) == (websocket.ABNF.OPCODE_TEXT, b"\xff")
        frame = client.recv_frame()
        assert (frame.opcode, frame.data) == (websocket.ABNF.OPCODE_PING, b"p")
        client.pong(b"p")
        assert fake.wait_for_event("pong").facts["data"] == b"p".hex()


def test_messages_when_large_fragmented_or_pinged_between_then_read_whole():
    """A message in fragments with a ping between them is one message; 5 MB arrive unchanged."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        whole = json.dumps({"userInput": "ab"}).encode()
        fragment = websocket.ABNF.create_frame
        client.send_frame(fragment(whole[:7], websocket.ABNF.OPCODE_TEXT, 0))
        client.ping(b"x")
        client.send_frame(fragment(whole[7:], websocket.ABNF.OPCODE_CONT, 1))
        frame = client.recv_frame()
        assert (frame.opcode, frame.data) == (websocket.ABNF.OPCODE_PONG, b"x")
        assert step_of(until_idle(client)[1])["text"] == "ab"
        large = "0123456789" * 500_000
        assert step_of(turn(client, large)[1])["text"] == large
        assert fake.received[-1] == {"userInput": large}


USELESS = {
    "bad json": ("{bad", "failed to unmarshal InputEvent"),
    "second config": ('{"config":{}}', 'unknown field "config"'),
    "unknown": ('{"noSuchThing":1}', 'unknown field "noSuchThing"'),
}
FALSE_IDLE = ["{}", '{"haltRequest":false}', '{"automatedTrigger":""}']


@pytest.mark.parametrize("name", USELESS)
def test_message_when_harness_cannot_read_it_then_only_stderr_says_so(name):
    """A message the real harness drops is dropped: no frame, and the next turn is played."""
    text, line = USELESS[name]
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        client.send(text)
        assert turn(client)[0]["seqNum"] == "2"
        harness.end()
        assert "Failed to send InputEvent: " in (tail := harness.stderr())
        assert line in tail
        assert len(fake.received) + fake.events.count("unparseable") == 3


@pytest.mark.parametrize("text", FALSE_IDLE)
def test_message_when_it_means_nothing_then_false_idle_with_an_error(text):
    """A message without meaning is answered by an idle with an error, as by the real harness."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open()
        client.send(text)
        update = receive(client)["trajectoryStateUpdate"]
        assert (update["state"], update["error"]) == ("STATE_FULLY_IDLE", "unknown input type")
