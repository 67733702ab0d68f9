"""Usage that comes when the turn it belongs to is over."""

from __future__ import annotations

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    idle,
    mark,
    running,
    usage,
    user_echo,
)
from tests.gates import wait_until
from tests.loop.fakes import VERSION, fake_agent


def test_usage_when_it_comes_after_the_idle_then_it_is_nobody_elses():
    """It counts in the conversation, and the next turn has but its own."""
    first = [running(), user_echo(), delta("one"), done(), idle(), usage(10, 5), mark("told")]
    second = [running(), user_echo(), delta("two"), done(), usage(20, 5), idle()]
    with FakeHarness(first, second, version=VERSION) as fake, fake_agent(fake) as agent:
        assert agent.chat("one").text == "one"
        wait_until(lambda: agent.usage.total_tokens == 15, "the usage of the first turn")
        assert agent.chat("two").usage.total_tokens == 25
        assert agent.usage.total_tokens == 40
