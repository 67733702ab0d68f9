"""Triggers and `notify` on the real harness: when they are sent, and who gets the answer."""

from __future__ import annotations

import logging
import os

import pytest

from antigravity_sync import Agent, Hooks, Trigger, TriggerContext, tool
from antigravity_sync.testing import ModelRequest, ScriptedModel, call, http_error
from tests.gates import Gate, History, LeapingClock, Task, wait_until
from tests.versions import release

pytestmark = pytest.mark.real

EVERY = 1000.0
WAKE = "zqx wake up"
#: Nothing here may time out because a clock leapt.
PATIENT = {"turn_timeout": None}


def last_text(request: ModelRequest) -> str:
    """Return what the model is asked last; 0.1.22 may run once more by itself after a trigger."""
    return str(request.contents[-1])


def by_text(answers):
    """Return a script that answers by the last thing said: a text, or a function of the request."""

    def reply(request: ModelRequest):
        for said, answer in answers.items():
            if said in last_text(request):
                return answer(request) if callable(answer) else answer
        return "nothing more"

    return reply


def asked(model: ScriptedModel) -> list[str]:
    """Return what of interest the model was asked, in order, each once."""
    found = []
    for request in model.requests:
        for word in ("zqx wake up", "zqx one", "zqx two", "zqx three"):
            if word in last_text(request) and word not in found:
                found.append(word)
    return found


def leap(agent: Agent, clock: LeapingClock, seconds: float = EVERY) -> None:
    clock.ahead += seconds
    agent._engine.triggers.wake()


@pytest.fixture
def clock():
    return LeapingClock()


@pytest.fixture
def start(make_agent, clock):
    """Start agents on a clock that the test may put forward."""

    def started(model: ScriptedModel, *triggers, **options) -> Agent:
        agent = make_agent(model, triggers=triggers, **{**PATIENT, **options})
        agent._clock = clock
        return agent.start()

    return started


class Answers:
    """Takes the answers of a trigger."""

    def __init__(self) -> None:
        self.got = []
        self.texts = History()

    def __call__(self, response) -> None:
        self.got.append(response)
        self.texts.add(response.text)


def test_trigger_when_its_interval_passes_then_sent_and_answered(start, clock, version):
    """Without a caller; where the harness cannot begin with one, the first turn is waited for."""
    answers = Answers()
    script = by_text({WAKE: "T", "zqx one": "one"})
    with (
        ScriptedModel(script, loop=True) as model,
        start(model, Trigger(WAKE, every=EVERY, on_response=answers)) as agent,
    ):
        leap(agent, clock)
        if release(version) < (0, 1, 19):
            # Held; a trigger in front of everything else would be this harness's end.
            assert agent.chat("zqx one").text == "one"
        answers.texts.wait_for("T")
        leap(agent, clock)
        wait_until(lambda: len(answers.got) == 2, "the second answer")
        assert all(not got.cancelled and got.messages == ("T",) for got in answers.got)
        if release(version) < (0, 1, 19):
            assert asked(model) == ["zqx one", WAKE]
        assert agent.close().trigger_errors == ()


def test_trigger_when_due_in_mid_turn_then_sent_at_its_end(start, clock):
    """The caller's turn is not disturbed, and gets its own answer."""
    answers, gate = Answers(), Gate()

    @tool
    def ring() -> str:
        """Ring a bell."""
        gate.pass_through()
        return "rung"

    script = by_text({WAKE: "T", "zqx one": call("ring"), "ring": "one"})
    with (
        ScriptedModel(script, loop=True) as model,
        start(model, Trigger(WAKE, every=EVERY, on_response=answers), tools=[ring]) as agent,
    ):
        chat = Task(lambda: agent.chat("zqx one"))
        gate.wait_arrived()
        leap(agent, clock)
        leap(agent, clock, 2 * EVERY)
        gate.open()
        assert chat.result().text == "one"
        answers.texts.wait_for("T")
        assert asked(model) == ["zqx one", WAKE]


@pytest.mark.parametrize("choice", ["halt", "wait"])
def test_call_when_a_triggers_turn_runs_then_it_is_halted_or_waited_for(start, clock, choice):
    """Either way each answer goes to whom it belongs."""
    answers, gate = Answers(), Gate()

    def slowly(_request: ModelRequest) -> str:
        gate.pass_through()
        return "T"

    script = by_text({WAKE: slowly, "zqx one": "one", "zqx two": "two"})
    with (
        ScriptedModel(script, loop=True) as model,
        start(
            model, Trigger(WAKE, every=EVERY, on_response=answers), on_trigger_busy=choice
        ) as agent,
    ):
        agent.chat("zqx one")
        leap(agent, clock)
        gate.wait_arrived()
        assert not agent.is_idle
        chat = Task(lambda: agent.chat("zqx two"))
        if choice == "wait":
            wait_until(lambda: agent._engine.board._callers, "the caller")
            gate.open()
        assert chat.result().text == "two"
        gate.open()
        wait_until(lambda: answers.got, "the trigger's answer")
        (got,) = answers.got
        assert (got.cancelled, got.text) == ((True, "") if choice == "halt" else (False, "T"))


def test_trigger_when_its_turn_fails_then_warned_and_it_goes_on(start, clock, caplog):
    """A refused model call is no reason to stop watching."""
    answers = Answers()
    replies = iter([http_error(400, "zqx bad"), "T", "T", "T"])
    script = by_text({WAKE: lambda _request: next(replies), "zqx one": "one"})
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync.runtime"),
        ScriptedModel(script, loop=True) as model,
        start(model, Trigger(WAKE, every=EVERY, on_response=answers)) as agent,
    ):
        agent.chat("zqx one")
        leap(agent, clock)
        wait_until(lambda: "a turn of" in caplog.text, "the warning")
        assert "trigger-1 failed" in caplog.text
        # Once it sleeps again: an earlier leap would be one that it has missed.
        wait_until(lambda: agent._engine.triggers._changed._waiters, "its sleep")
        leap(agent, clock)
        answers.texts.wait_for("T")
        assert answers.got[0].text == "T"
        assert agent.chat("zqx one").text == "one"


def test_notify_when_busy_then_sent_at_the_end_of_the_turn(start):
    """Also from inside a hook, which must not wait for it."""
    agents = []

    def tell(prompt: str) -> bool:
        if "zqx one" in prompt:
            agents[0].notify(WAKE)
        return True

    with (
        ScriptedModel(by_text({WAKE: "T", "zqx one": "one"}), loop=True) as model,
        start(model, hooks=[Hooks(on_pre_turn=tell)]) as agent,
    ):
        agents.append(agent)
        assert agent.chat("zqx one").text == "one"
        wait_until(lambda: WAKE in asked(model), "the notification")
        assert asked(model) == ["zqx one", WAKE]
        agent.wait_idle()


def test_function_when_it_notifies_then_it_gets_the_answer_and_the_end(start):
    """A source of one's own: it tells, reads, may chat as well, and is told to stop."""
    seen = History()

    def watch(context: TriggerContext) -> None:
        answer = context.notify(WAKE)
        assert answer is not None
        seen.add(answer.text)
        assert context.stopped.wait(20.0)
        seen.add("stopped")

    def break_down(_context: TriggerContext) -> None:
        raise ValueError("zqx oops")

    with (
        ScriptedModel(by_text({WAKE: "T", "zqx one": "one"}), loop=True) as model,
        start(model, watch, break_down, on_trigger_busy="wait") as agent,
    ):
        assert agent.chat("zqx one").text == "one"
        seen.wait_for("T")
        report = agent.close()
    assert seen.entries == ("T", "stopped")
    assert [str(error) for error in report.trigger_errors] == ["zqx oops"]
    assert report.leftovers == ()


def test_answer_when_taken_then_the_agent_may_be_used_and_closed_there(start, clock):
    """On the trigger's own thread; what wraps callbacks wraps it too."""
    seen = History()
    agents = []

    def wrap(make_call):
        seen.add("wrapped")
        return make_call()

    def go_on(response) -> None:
        seen.add(response.text)
        seen.add(agents[0].chat("zqx two").text)
        agents[0].close()
        seen.add("closed")

    with (
        ScriptedModel(by_text({WAKE: "T", "zqx one": "one", "zqx two": "two"}), loop=True) as model,
        start(model, Trigger(WAKE, every=EVERY, on_response=go_on), callback_wrapper=wrap) as agent,
    ):
        agents.append(agent)
        agent.chat("zqx one")
        leap(agent, clock)
        seen.wait_for("closed")
        assert not agent.is_started
    assert seen.entries == ("wrapped", "T", "two", "closed")


def test_agent_when_closed_in_a_triggers_turn_then_nothing_is_left(start, clock):
    """The turn is halted, nobody is told of an answer, and the agent can be started again."""
    answers, gate = Answers(), Gate()

    def slowly(_request: ModelRequest) -> str:
        gate.pass_through()
        return "T"

    with (
        ScriptedModel(by_text({WAKE: slowly, "zqx one": "one"}), loop=True) as model,
        start(model, Trigger(WAKE, every=EVERY, on_response=answers)) as agent,
    ):
        agent.chat("zqx one")
        leap(agent, clock)
        gate.wait_arrived()
        threads = agent._engine.triggers._threads
        report = agent.close()
        assert report.leftovers == ()
        assert report.trigger_errors == ()
        assert not any(thread.is_alive() for thread in threads)
        gate.open()
        agent.start()
        assert agent.chat("zqx one").text == "one"
        leap(agent, clock)
        answers.texts.wait_for("T")


def test_file_trigger_when_the_file_is_replaced_then_the_agent_is_told(start, tmp_path):
    """A write and a replacement, as editors do it; not its neighbour."""
    answers = Answers()
    watched = tmp_path / "watched.txt"
    watched.write_text("one")
    trigger = Trigger.on_file_change(watched, WAKE, answers)
    with (
        ScriptedModel(by_text({WAKE: "T", "zqx one": "one"}), loop=True) as model,
        start(model, trigger) as agent,
    ):
        agent.chat("zqx one")

        def replace() -> bool:
            other = tmp_path / "other.txt"
            other.write_text("two")
            os.replace(other, watched)
            return len(answers.got) > 0

        # Again and again, because nobody tells from when on it is watched.
        wait_until(replace, "the first answer")
        assert answers.got[0].text == "T"


def test_directory_trigger_when_something_below_it_changes_then_the_agent_is_told(start, tmp_path):
    """However deep."""
    answers = Answers()
    deep = tmp_path / "watched" / "deep"
    deep.mkdir(parents=True)
    trigger = Trigger.on_file_change(tmp_path / "watched", WAKE, answers)
    with (
        ScriptedModel(by_text({WAKE: "T", "zqx one": "one"}), loop=True) as model,
        start(model, trigger) as agent,
    ):
        agent.chat("zqx one")
        wait_until(lambda: (deep / "new").write_text("x") and answers.got, "the answer")
        assert answers.got[0].text == "T"
