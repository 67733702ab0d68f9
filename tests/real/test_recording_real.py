"""A recording of the real harness, and what can be done with it."""

from __future__ import annotations

import logging

import pytest

from antigravity_sync import policy, tool
from antigravity_sync.testing import ScriptedModel, call, chunks, replay
from antigravity_sync.wire import JsonlRecorder, clear_drift_report, drift_report, read_recording
from tests.versions import release

pytestmark = pytest.mark.real


@tool
def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"sunny in {city}"


def test_recording_when_replayed_then_gives_the_same_turns(make_agent, tmp_path, version, caplog):
    """The same texts, steps, tool calls and usage, without a harness; nothing secret, no drift."""
    path = tmp_path / "wire.jsonl"
    clear_drift_report()
    replies = ("Hello.", call("weather", city="Rome"), chunks("It ", "is ", "sunny."))
    with caplog.at_level(logging.DEBUG), ScriptedModel(*replies) as model:
        with make_agent(
            model,
            api_key="hush-hush-1",
            tools=[weather],
            policies=[policy.allow_all()],
            wire_inspectors=[JsonlRecorder(path)],
        ) as agent:
            live = [agent.chat("hi ZQX"), agent.chat("weather?")]
            conversation = agent.conversation_id
        assert model.requests[0].prompt == "hi ZQX"
    turns = replay(path)
    assert [turn.prompt for turn in turns] == ["hi ZQX", "weather?"]
    assert [turn.failure for turn in turns] == ["", ""]
    for turn, response in zip(turns, live, strict=True):
        assert turn.response is not None
        assert turn.response.text == response.text
        assert turn.response.steps == response.steps
        assert turn.response.tool_calls == response.tool_calls
        assert turn.response.usage == response.usage
    records = list(read_recording(path))
    assert records[0]["kind"] == "HarnessSpawn"
    assert records[0]["version"] == version
    assert {each["kind"] for each in records} >= {"WsSend", "WsReceive"}
    if release(version) >= (0, 1, 10):
        assert "HarnessStderr" in {each["kind"] for each in records}
    assert len({each["correlation_id"] for each in records}) == 1
    assert records[-1]["conversation_id"] == conversation
    assert "hush-hush-1" not in path.read_text() + caplog.text
    assert drift_report() == {}
    loud = [r for r in caplog.records if r.levelno > logging.DEBUG and "ZQX" in r.getMessage()]
    assert loud == []
