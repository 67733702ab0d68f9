"""Turns of automated triggers on the real harness, begun past the public API that has none yet."""

from __future__ import annotations

import pytest

from antigravity_sync import Agent, Hooks, tool
from antigravity_sync._clock import Deadline
from antigravity_sync._core.inputs import StartTurn
from antigravity_sync._runtime.live_turn import LiveTurn, TurnEnd
from antigravity_sync.testing import ScriptedModel, call
from tests.gates import CEILING

pytestmark = pytest.mark.real


def trigger(agent: Agent, text: str) -> TurnEnd:
    """Run a trigger's turn to its end."""
    engine = agent._engine
    deadline = Deadline.after(agent._clock, CEILING)
    live = LiveTurn(1000, deadline, CEILING, is_trigger=True)
    assert engine.board.claim(live, deadline) is None
    engine._mailbox.post(StartTurn(1000, (), agent._clock.now(), deadline.at, text))
    end = live.wait_over(deadline)
    assert end is not None
    return end


def test_trigger_turn_when_after_a_prompt_then_own_answer_and_effects_stay(make_agent):
    """Its tools run though nobody reads it; its answer is its own; the model remembers it."""
    ran: list[str] = []
    prompts: list[str] = []

    @tool
    def ring(bell: str) -> str:
        """Ring a bell."""
        ran.append(bell)
        return "rung"

    hooks = Hooks(on_pre_turn=lambda prompt: prompts.append(prompt) or True)

    def reply(request):
        # By what it says and not in order: 0.1.22 may run once more by itself after a trigger.
        asked = str(request.contents)
        if "and now?" in asked:
            return "U"
        if "zqx wake up" not in asked:
            return "hello"
        return "T" if request.function_responses else call("ring", bell="big")

    with (
        ScriptedModel(reply, loop=True) as model,
        make_agent(model, tools=[ring], hooks=[hooks]) as agent,
    ):
        assert agent.chat("hi").text == "hello"
        end = trigger(agent, "zqx wake up")
        assert end.failure is None
        assert end.response.text == "T"
        assert ran == ["big"]
        assert "zqx wake up" in str(model.requests[1].body)
        assert agent.chat("and now?").text == "U"
        assert "zqx wake up" in str(model.requests[-1].body)
        assert len(prompts) == 2
