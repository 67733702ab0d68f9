"""Unread data is bounded by bytes, and the bound has a name."""

from __future__ import annotations

import pytest

from antigravity_sync import Agent, Capabilities, policy
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._runtime.live_turn import LiveTurn
from antigravity_sync._runtime.mailbox import MAX_BACKLOG, Mailbox
from antigravity_sync.errors import BacklogOverflowError
from antigravity_sync.events import TextDelta
from antigravity_sync.testing.fake_harness import FakeHarness, hook, running, step, user_echo
from tests.gates import Gate, Task


def test_a_mailbox_says_when_too_much_is_unread():
    """Taking frames out makes room again."""
    mailbox = Mailbox()
    big = bytes(MAX_BACKLOG // 2)
    assert mailbox.post_frame(big, 0)
    assert mailbox.post_frame(big, 0)
    assert not mailbox.post_frame(b"x", 0)
    mailbox.take(0.0)
    assert mailbox.post_frame(b"x", 0)


def test_a_turn_says_when_too_much_is_unread():
    """Merged deltas count by their text."""
    live = LiveTurn(1, Deadline.after(MonotonicClock(), None), None)
    half = TextDelta("x" * (128 * 1024 * 1024))
    assert live.put(half)
    assert live.put(half)
    assert not live.put(TextDelta("x"))


def test_a_flood_behind_a_policy_that_stands_still_ends_in_a_named_error():
    """The pump is held by user code, the reader goes on, and the session fails with its reason."""
    gate = Gate()

    def stand(_call) -> bool:
        gate.pass_through()
        return True

    ask = hook("PRE_TOOL", toolName="run_command", argumentsJson="{}")
    big = step(text="x" * (24 * 1024 * 1024), state="STATE_ACTIVE", stepIndex=9)
    script = [running(), user_echo(), ask, *[big] * 12]
    with FakeHarness(script, version="0.1.10") as fake:
        agent = Agent(
            harness_path=fake.path,
            api_key="x",
            workspaces=[],
            contain_workspaces=False,
            capabilities=Capabilities.read_only().enable("run_command"),
            policies=[policy.allow("run_command", when=stand)],
        )
        with agent:
            chat = Task(lambda: agent.chat("go"))
            gate.wait_arrived()
            with pytest.raises(BacklogOverflowError):
                chat.result()
            gate.open()
            with pytest.raises(BacklogOverflowError):
                agent.chat("again")
