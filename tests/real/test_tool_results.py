"""What tools give back, at its largest and when somebody fails over it."""

from __future__ import annotations

import pytest

from antigravity_sync import Hooks, tool
from antigravity_sync.testing import ScriptedModel, call
from tests.kinds import told

pytestmark = pytest.mark.real


def test_result_when_it_is_five_megabytes_then_the_turn_goes_on(make_agent):
    """The model is shown a part of it; nothing hangs and nothing is lost on our side."""
    heard = []

    @tool
    def dump() -> str:
        """Give everything."""
        return "zqx" + "x" * 5_000_000

    hooks = [Hooks(on_post_tool=lambda outcome: heard.append(len(outcome.result)))]
    with (
        ScriptedModel(call("dump"), "done", "again") as model,
        make_agent(model, tools=[dump], hooks=hooks) as agent,
    ):
        assert agent.chat("go").text == "done"
        assert "zqx" in told(model, 1)
        assert agent.chat("and now?").text == "again"
    assert heard == [5_000_003]


def test_post_hook_when_it_fails_then_kept_and_the_result_counts(make_agent):
    """It comes too late to stop anything, so it is told and no more."""

    @tool
    def act() -> str:
        """Act."""
        return "acted"

    def fail(_outcome):
        raise LookupError("zqx")

    with (
        ScriptedModel(call("act"), "done") as model,
        make_agent(model, tools=[act], hooks=[Hooks(on_post_tool=fail)]) as agent,
    ):
        response = agent.chat("go")
    assert response.text == "done"
    assert "acted" in told(model, 1)
    assert [repr(error) for error in response.errors] == ["LookupError('zqx')"]
