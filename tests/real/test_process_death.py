"""The real harness is killed, frozen or cut off in the middle of a turn."""

from __future__ import annotations

import os
import signal

import pytest

from antigravity_sync.errors import SessionLostError, TurnTimeoutError
from antigravity_sync.events import TextDelta
from antigravity_sync.testing import ModelGate, ScriptedModel, chunks
from tests.gates import Task

pytestmark = pytest.mark.real


def first_text(turn) -> str:
    """Iterate up to the first piece of text, so that the turn is known to be under way."""
    return next(event.text for event in turn if isinstance(event, TextDelta))


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_death_when_killed_mid_turn_then_all_waiters_are_told_and_it_starts_again(make_agent, name):
    """The death is told with its signal and the partial text; a new start works."""
    gate = ModelGate()
    number = getattr(signal, name)
    with ScriptedModel(chunks("The answer", gate, " is 4."), "fine") as model:
        agent = make_agent(model).start()
        turn = agent.stream("hi")
        assert first_text(turn) == "The answer"
        other = Task(lambda: agent.chat("too"))
        idle = Task(agent.wait_idle)
        os.kill(agent.pid, number)
        with pytest.raises(SessionLostError) as caught:
            turn.response()
        assert caught.value.exit_code == -number
        assert caught.value.partial.text == "The answer"
        for task in (other, idle):
            with pytest.raises(SessionLostError) as caught:
                task.result()
            assert caught.value.exit_code == -number
        with pytest.raises(SessionLostError):
            agent.chat("again")
        assert agent.close().exit_code == -number
        with agent:
            assert agent.chat("hi").text == "fine"


def test_death_when_idle_then_the_next_call_says_so(make_agent):
    """A death between two turns is told to the next caller."""
    with ScriptedModel("one") as model, make_agent(model) as agent:
        assert agent.chat("hi").text == "one"
        os.kill(agent.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError) as caught:
            agent.chat("again")
        assert caught.value.exit_code == -9


def test_freeze_when_a_turn_runs_then_it_times_out_and_close_kills(make_agent):
    """A stopped harness costs a turn its timeout, and close() its patience."""
    gate = ModelGate()
    with ScriptedModel(chunks("The answer", gate, " is 4.")) as model:
        agent = make_agent(model).start()
        turn = agent.stream("hi", timeout=2.0)
        assert first_text(turn) == "The answer"
        os.kill(agent.pid, signal.SIGSTOP)
        with pytest.raises(TurnTimeoutError) as caught:
            turn.response()
        assert caught.value.partial.text == "The answer"
        report = agent.close(timeout=1.3)
        assert (report.exit_code, report.forced) == (-9, ("terminate", "kill"))
        assert report.leftovers == ()


def test_hang_up_when_the_connection_is_cut_then_the_next_turn_heals(make_agent):
    """The turn is lost, the process is not: the next call resumes the same conversation."""
    gate = ModelGate()
    with (
        ScriptedModel("zero", chunks("The answer", gate, " is 4."), "fine") as model,
        make_agent(model) as agent,
    ):
        assert agent.chat("remember 17").text == "zero"
        pid, conversation = agent.pid, agent.conversation_id
        turn = agent.stream("hi")
        assert first_text(turn) == "The answer"
        # What a cut line looks like from here; the real one cannot be made to cut it.
        agent._engine.pump.close_link(is_forced=True)
        with pytest.raises(SessionLostError) as caught:
            turn.response()
        assert caught.value.session_usable
        assert caught.value.partial.text == "The answer"
        assert agent.chat("again").text == "fine"
        assert (agent.pid, agent.conversation_id) == (pid, conversation)
        assert "remember 17" in str(model.requests[-1].body)
