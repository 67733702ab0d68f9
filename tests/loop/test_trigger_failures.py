"""Triggers of which something goes wrong that the real harness cannot be made to do."""

from __future__ import annotations

import os
import signal

import pytest

from antigravity_sync import Trigger
from antigravity_sync.errors import InitError, SessionLostError
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    drop,
    running,
    user_echo,
    wait_for_signal,
)
from tests.gates import History, LeapingClock, Task, wait_until
from tests.loop.fakes import VERSION, fake_agent

EVERY = 1000.0


def trigger_threads(agent):
    return agent._engine.triggers._threads


def leap(agent, clock):
    clock.ahead += EVERY
    agent._engine.triggers.wake()


def test_delivery_when_it_cannot_be_sent_then_that_trigger_alone_ends():
    """The harness hung up and refuses once; the other trigger and the session go on."""
    clock, seen = LeapingClock(), History()

    def watch(context):
        seen.add("began")
        context.stopped.wait(20.0)

    triggers = [
        Trigger("first", every=EVERY),
        Trigger("second", every=3 * EVERY, on_response=lambda got: seen.add(got.text)),
        watch,
    ]
    script = [running(), user_echo(), delta("x"), drop()]
    refusals = [None, "Failed to create agent: no more"]
    with FakeHarness(script, version=VERSION, drop_on_init=refusals) as fake:
        agent = fake_agent(fake, triggers=triggers, turn_timeout=1e6)
        agent._clock = clock
        with agent:
            with pytest.raises(SessionLostError):
                agent.chat("hi")
            leap(agent, clock)
            first = trigger_threads(agent)[0]
            wait_until(lambda: not first.is_alive(), "the end of the first trigger")
            leap(agent, clock)
            leap(agent, clock)
            seen.wait_for("ok")
            assert agent.chat("hi").text == "ok"
            report = agent.close()
    assert seen.entries == ("began", "ok")
    assert [type(error) for error in report.trigger_errors] == [InitError]


def test_harness_when_it_dies_then_triggers_end_without_a_word():
    """Nothing can be sent any more; whoever calls hears of the death, and close() of no error."""
    clock = LeapingClock()
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake, triggers=[Trigger("tick", every=EVERY)])
        agent._clock = clock
        with agent:
            agent.chat("hi")
            os.kill(fake.pid, signal.SIGKILL)
            wait_until(lambda: not agent.is_started, "the death")
            leap(agent, clock)
            (thread,) = trigger_threads(agent)
            wait_until(lambda: not thread.is_alive(), "the end of the trigger")
            assert agent.close().trigger_errors == ()


def test_call_when_a_triggers_turn_runs_then_halt_comes_before_the_prompt():
    """In this order on the wire: trigger, halt, prompt."""
    clock = LeapingClock()
    stuck = [running(), wait_for_signal("never")]
    with FakeHarness(version=VERSION, trigger_turn=stuck) as fake:
        agent = fake_agent(fake, triggers=[Trigger("tick", every=EVERY)], turn_timeout=1e6)
        agent._clock = clock
        with agent:
            agent.chat("hi")
            leap(agent, clock)
            fake.wait_for_event("gate:never")
            assert Task(lambda: agent.chat("and now?")).result().text == "ok"
    order = [event for event in fake.events if event.startswith("message:")]
    at = order.index("message:automatedTrigger")
    prompt = order.index("message:userInput", at)
    # More than one halt where the harness has not shown yet whose run it halts.
    assert set(order[at + 1 : prompt]) == {"message:haltRequest"}
