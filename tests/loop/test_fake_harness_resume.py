"""A conversation of the stand-in harness lives on over sockets and processes, or is refused."""

from __future__ import annotations

import pytest

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    drop,
    idle,
    running,
    thinking,
    usage,
    user_echo,
)
from tests.loop.raw_client import CONVERSATION, RawHarness, close_code, receive, send, step_of, turn

# ── conversations ───────────────────────────────────────────────────────────────────────────────


def test_resume_when_socket_and_process_are_new_then_history_is_there():
    """A conversation is resumed on a new socket and in a new process, and its steps go on."""
    config = {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_OR_RESUME"}
    script = [running(), user_echo(), thinking("hm"), delta("42"), done(), usage(7, 3), idle()]
    with FakeHarness(script, script) as fake:
        with RawHarness(fake.path) as harness:
            client, opening = harness.ready().open(**config)
            assert opening["initializeConversationResponse"] == {"cascadeId": CONVERSATION}
            turn(client)
            client.close()
            client, opening = harness.open(cascadeId=CONVERSATION)
            response = opening["initializeConversationResponse"]
            assert [s["textDelta"] for s in response["history"]] == ["hi", "42"]
            assert response["cumulativeUsage"]["totalTokenCount"] == "10"
            frames = turn(client)
            assert [step_of(f)["stepIndex"] for f in frames if "stepUpdate" in f] == [2, 3, 3, 3]
            harness.end()
        with RawHarness(fake.path) as harness:
            _, opening = harness.ready().open(**config)
            response = opening["initializeConversationResponse"]
            assert [s["stepIndex"] for s in response["history"]] == [0, 1, 2, 3]
            assert response["history"][1]["thinkingDelta"] == "hm"
            assert response["cumulativeUsage"]["promptTokenCount"] == "14"


MISSING = "deadbeefdeadbeefdeadbeefdeadbeef"
REFUSED = {
    "unknown": ({"cascadeId": MISSING}, f'conversation "{MISSING}" not found in'),
    "no id": ({"sessionContinuationMode": "RESUME"}, "cascade_id must be specified"),
    "short": (
        {"cascadeId": "short", "sessionContinuationMode": "CREATE_ONLY"},
        "cascade_id must be at least 32 characters long, got 5",
    ),
    "path": (
        {"cascadeId": "../" + "a" * 40, "sessionContinuationMode": "CREATE_ONLY"},
        "cascade_id must match [a-zA-Z0-9-], got",
    ),
    "exists": (
        {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_ONLY"},
        "already exists",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_init_when_conversation_does_not_fit_then_dropped_with_a_line(name):
    """What the real harness refuses is refused the same way: stderr, no frame, no close frame."""
    config, line = REFUSED[name]
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open(cascadeId=CONVERSATION, sessionContinuationMode="2")
        turn(client)
        client.close()
        client = harness.connect()
        send(client, config=config)
        assert close_code(client) is None
        harness.end()
        assert line in harness.stderr()


def test_init_when_conversation_is_open_elsewhere_then_dropped():
    """One conversation has one WebSocket at a time, whichever way it ended it is free again."""
    config = {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_OR_RESUME"}
    with FakeHarness([running(), drop()]) as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open(**config)
        other = harness.connect()
        send(other, config=config)
        assert close_code(other) is None
        send(client, userInput="end this")
        receive(client)
        # The stand-in has dropped it, and this end does not even know yet.
        assert "initializeConversationResponse" in harness.open(**config)[1]
        harness.end()
        assert f"Cascade ID {CONVERSATION} is already in use" in harness.stderr()


def test_resume_when_conversation_has_no_steps_then_it_is_there():
    """A conversation exists from its init on, before anything was said in it."""
    config = {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_ONLY"}
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready().open(**config)
        client.close()
        _, opening = harness.open(cascadeId=CONVERSATION)
        assert opening["initializeConversationResponse"] == {"cascadeId": CONVERSATION}


def test_resume_when_there_is_no_save_dir_then_refused():
    """Without a storage directory nothing outlives its WebSocket."""
    config = {"cascadeId": CONVERSATION, "sessionContinuationMode": "CREATE_OR_RESUME"}
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client, _ = harness.ready(storage="").open(**config)
        turn(client)
        client.close()
        client, opening = harness.open(**config)
        assert opening["initializeConversationResponse"] == {"cascadeId": CONVERSATION}
        client.close()
        client = harness.connect()
        send(client, config={"cascadeId": CONVERSATION})
        assert close_code(client) is None
        harness.end()
        assert "in ephemeral mode" in harness.stderr()


def test_history_when_given_then_resume_of_any_id_shows_it():
    """The history knob stands for a conversation that was there before."""
    past = {"stepIndex": 4, "trajectoryId": "$C", "text": "before", "state": "STATE_DONE"}
    with FakeHarness(history=[past]) as fake, RawHarness(fake.path) as harness:
        client, opening = harness.ready().open(cascadeId=CONVERSATION)
        assert opening["initializeConversationResponse"]["history"] == [
            {**past, "trajectoryId": CONVERSATION}
        ]
        assert step_of(turn(client)[1])["stepIndex"] == 5


@pytest.mark.parametrize(
    "text",
    ["not json", '{"userInput":"too early"}', "[]", '{"config":3}', "\ud800"],
)
def test_init_when_first_message_is_no_config_then_dropped(text):
    """Whatever is not a config first drops the connection, and the process lives on."""
    with FakeHarness() as fake, RawHarness(fake.path) as harness:
        client = harness.ready().connect()
        client.send(text.encode("utf-8", "surrogatepass"))
        assert close_code(client) is None
        assert harness.open()[1]["seqNum"] == "1"
        assert "unparseable" in fake.events
