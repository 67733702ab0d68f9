"""Frames in the middle of a turn that are legal and unusual, or no frames of ours at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    binary,
    delta,
    done,
    frame,
    idle,
    ping,
    running,
    step,
    text_frame,
    user_echo,
)
from antigravity_sync.wire import clear_drift_report
from tests.loop.fakes import VERSION, fake_agent

LARGE = 20_000_000


@pytest.fixture(autouse=True)
def _own_report() -> Iterator[None]:
    yield
    clear_drift_report()


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([ping(b"p")], id="ping"),
        pytest.param([text_frame("")], id="empty"),
        pytest.param([text_frame("{not json")], id="not JSON"),
        pytest.param([text_frame("[1, 2]")], id="no object"),
        pytest.param([text_frame(b"\xff\xfe{}")], id="no UTF-8"),
        pytest.param([binary({"brandNewEvent": {"x": 1}})], id="binary"),
        pytest.param([frame({"brandNewEvent": {"x": 1}, "seqNum": "9"})], id="unknown event"),
        pytest.param([step(newThing={"a": [1]}, state="STATE_MOON")], id="unknown members"),
        pytest.param([frame({"stepUpdate": 3})], id="a step that is none"),
    ],
)
def test_turn_when_a_strange_frame_comes_then_it_goes_on(items):
    """Nothing is lost of what comes before and after it, and the next turn works."""
    script = [running(), user_echo(), delta("be"), *items, delta("fore"), done(), idle()]
    with (
        FakeHarness(script, [*script, *items], version=VERSION) as fake,
        fake_agent(fake) as agent,
    ):
        assert agent.chat("one").text == "before"
        assert agent.chat("two").text == "before"
        if items == [ping(b"p")]:
            assert fake.wait_for_event("pong").facts["data"] == b"p".hex()


def test_turn_when_one_frame_has_twenty_megabytes_then_it_arrives_whole():
    """A message has no limit of ours but that of what may be unread."""
    script = [running(), user_echo(), delta("x" * LARGE), done(), idle()]
    with FakeHarness(script, "after", version=VERSION) as fake, fake_agent(fake) as agent:
        assert len(agent.chat("one").text) == LARGE
        assert agent.chat("two").text == "after"
