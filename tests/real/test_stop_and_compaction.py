"""Hooks on the end of a run and on the shortening of a history, where the harness has them."""

from __future__ import annotations

import pytest

from antigravity_sync import Hooks, StopDecision
from antigravity_sync.events import Compacted
from antigravity_sync.testing import ScriptedModel, usage
from tests.kinds import seen
from tests.versions import release

pytestmark = pytest.mark.real

#: What makes 0.1.22 shorten a history by what the model reports; older ones count for themselves.
BY_REPORT = {"tokenThreshold": 20_000, "useModelReportedTokenCount": True}


def has_stop_hook(version: str) -> bool:
    return release(version) >= (0, 1, 16)


def test_stop_hook_when_it_says_go_on_then_the_model_is_asked_again(make_agent, version, caplog):
    """What it says reaches the model; a harness without the hook is warned about."""
    heard = []

    def stop(info):
        heard.append((info.response_text, info.continuation_count))
        return StopDecision.go_on("zqx not yet") if len(heard) == 1 else StopDecision.stop()

    with (
        ScriptedModel("one", "two") as model,
        make_agent(model, hooks=[Hooks(on_stop=stop)]) as agent,
    ):
        response = agent.chat("go")
        if has_stop_hook(version):
            assert response.messages == ("one", "two")
            assert "zqx not yet" in seen(model, 1)
            assert heard == [("one", 0), ("two", 1)]
        else:
            assert (response.text, heard) == ("one", [])
            assert "does not call on_stop" in caplog.text
            assert agent.chat("again").text == "two"


@pytest.mark.parametrize("version", ["0.1.22"], indirect=True)
def test_compaction_when_it_happens_then_the_hook_and_an_event_tell(make_agent):
    """The hook gets what the model wrote, once for each; the event says that it happened."""
    heard = []
    with (
        ScriptedModel(
            usage("one", prompt=30_000, candidates=10),
            lambda request: "zqx summary" if "summary" in str(request.contents) else "two",
            loop=True,
        ) as model,
        make_agent(
            model,
            hooks=[Hooks(on_compaction=heard.append)],
            raw_config={"compactionConfig": BY_REPORT},
        ) as agent,
    ):
        events = [*agent.stream("go"), *agent.stream("again")]
    told = [event for event in events if isinstance(event, Compacted)]
    assert len(told) == len(heard) > 0
    assert "zqx summary" in heard[0]
