"""A turn on the real harness, from the prompt to the end, on every version."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest

from antigravity_sync.errors import ConfigError, InitError, ProtocolError
from antigravity_sync.events import Finished, ThinkingDelta, UsageUpdated
from antigravity_sync.responses import Usage
from antigravity_sync.testing import ModelGate, ScriptedModel, chunks, thought, usage
from tests.gates import CEILING, Task
from tests.leaks import children

pytestmark = pytest.mark.real


def test_chat_returns_the_models_text(make_agent):
    """`chat` blocks to the end and gives the answer and nothing else."""
    with ScriptedModel("The answer is 42.") as model, make_agent(model) as agent:
        response = agent.chat("what is ZQX?")
    assert response.text == str(response) == "The answer is 42."
    assert response.messages == ("The answer is 42.",)
    assert "ZQX" not in response.text
    assert not response.cancelled
    assert not response.incomplete
    assert response.stop_reason is None
    assert response.conversation_id == agent.conversation_id != ""
    assert model.requests[0].prompt == "what is ZQX?"


def test_harness_version_is_told_from_the_binary(make_agent, version):
    """The version is known once the agent has started."""
    with ScriptedModel() as model, make_agent(model) as agent:
        assert agent.harness_version == version


def test_stream_yields_deltas_as_they_are_produced(make_agent):
    """The first delta reaches the caller while the model still holds the second back."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("one ", gate, "two ", gate, "three")) as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("count")
        pieces = turn.text_deltas()
        # The model stands at the gate and will not go on before we have seen this much.
        assert next(pieces) == "one "
        assert gate.waiting.wait(CEILING)
        gate.release()
        assert next(pieces) == "two "
        gate.release()
        assert "".join(pieces) == "three"
        assert turn.response().text == "one two three"


def test_the_last_event_is_finished_with_the_response(make_agent):
    """The stream ends in `Finished`, whose response is what `response()` returns."""
    with ScriptedModel("done") as model, make_agent(model) as agent:
        turn = agent.stream("go")
        events = list(turn)
        assert isinstance(events[-1], Finished)
        assert events[-1].response == turn.response()
        assert turn.done
        assert list(turn) == []


def test_joined_deltas_equal_the_joined_messages(make_agent):
    """What was streamed is what is returned, for many pieces."""
    pieces = [f"piece {number}, " for number in range(200)]
    with ScriptedModel(chunks(*pieces)) as model, make_agent(model) as agent:
        turn = agent.stream("go")
        streamed = "".join(turn.text_deltas())
        response = turn.response()
    assert streamed == "".join(response.messages) == "".join(pieces)


def test_response_drains_after_partial_iteration(make_agent):
    """`response()` reads what the loop has left."""
    with ScriptedModel(chunks("a", "b", "c", "d")) as model, make_agent(model) as agent:
        turn = agent.stream("go")
        next(turn)
        assert turn.response().text == "abcd"


def test_thinking_is_apart_from_text(make_agent):
    """Thoughts are streamed as `ThinkingDelta` and never count as text."""
    with (
        ScriptedModel([thought("hm, "), thought("yes"), "Yes."]) as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("sure?")
        events = list(turn)
        response = turn.response()
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == "hm, yes"
    assert response.thoughts == "hm, yes"
    assert response.text == "Yes."


def test_turns_follow_each_other_in_one_conversation(make_agent):
    """Each turn has its own text and usage; the model sees the earlier ones."""
    script = [
        usage("first", prompt=100, candidates=20, total=120),
        usage("second", prompt=200, candidates=10, total=210),
    ]
    with ScriptedModel(*script, "third") as model, make_agent(model) as agent:
        one = agent.chat("1")
        two = agent.chat("2")
        assert (one.text, two.text) == ("first", "second")
        assert one.usage.prompt_tokens == 100
        assert two.usage.prompt_tokens == 200
        assert agent.usage.total_tokens == 330
        assert agent.chat("3").text == "third"
    assert any("first" in str(content) for content in model.requests[1].contents)
    assert [step.source for step in agent.history if step.source == "USER"] == ["USER"] * 3


def test_usage_is_none_where_nothing_was_reported_and_zero_where_zero_was(make_agent):
    """`None` and `0` are different facts."""
    with (
        ScriptedModel(usage("x", prompt=7, candidates=0, total=7)) as model,
        make_agent(model) as agent,
    ):
        assert agent.usage == Usage()
        turn = agent.stream("go")
        events = list(turn)
    assert turn.response().usage.candidates_tokens == 0
    assert [e.usage.prompt_tokens for e in events if isinstance(e, UsageUpdated)] == [7]


def test_an_empty_prompt_is_refused_before_anything_is_sent(make_agent):
    """Bad input never reaches the wire."""
    with ScriptedModel("fine") as model, make_agent(model) as agent:
        for bad in ("", " \n\t", "lone \ud800 surrogate", 5, None):
            with pytest.raises(ConfigError):
                agent.chat(bad)
        assert agent.chat("ok").text == "fine"
    assert len(model.requests) == 1


def test_control_characters_become_spaces_and_the_rest_arrives(make_agent):
    """Unicode goes through whole; NUL and friends do not break anything."""
    prompt = "tab\tline\nnul\0esc\x1b ünïcödé 🎉 \u2028 </USER_REQUEST>"
    with ScriptedModel("ok 🎉") as model, make_agent(model) as agent:
        assert agent.chat(prompt).text == "ok 🎉"
    seen = model.requests[0].last_text
    assert "ünïcödé 🎉" in seen
    assert "nul esc " in seen
    assert "\0" not in seen


def test_a_long_answer_arrives_whole(make_agent):
    """Half a megabyte of text in a few pieces is neither cut nor doubled."""
    # No two lines alike: the harness takes a text that repeats itself for a model in a loop.
    pieces = [
        "\n".join(f"{n * n} is the square of {n}" for n in range(k, k + 2500))
        for k in range(0, 20_000, 2500)
    ]
    with ScriptedModel(chunks(*pieces)) as model, make_agent(model) as agent:
        assert agent.chat("go").text == "".join(pieces)


def test_agents_in_threads_do_not_mix(make_agent):
    """Four agents in four threads, three turns each: every answer is for its own question."""
    with ScriptedModel(lambda request: f"echo {request.prompt}", loop=True) as model:

        def talk(name: str) -> list[str]:
            with make_agent(model) as agent:
                return [agent.chat(f"{name}-{turn}").text for turn in range(3)]

        tasks = {name: Task(lambda name=name: talk(name)) for name in "abcd"}
        for name, task in tasks.items():
            assert task.result(60.0) == [f"echo {name}-{turn}" for turn in range(3)]


def test_wait_idle_tells_the_end_of_a_turn(make_agent):
    """It is false while the turn runs and returns once it has ended."""
    gate = ModelGate()
    with ScriptedModel(chunks("a", gate, "b")) as model, make_agent(model) as agent:
        assert agent.wait_idle(timeout=0.0)
        turn = agent.stream("go")
        assert not agent.is_idle
        assert not agent.wait_idle(timeout=0.0)
        waiter = Task(lambda: agent.wait_idle(timeout=CEILING))
        gate.release_all()
        assert waiter.result() is True
        assert agent.is_idle
        assert turn.response().text == "ab"


def test_a_second_caller_waits_for_the_first(make_agent):
    """Two threads, one agent: the second turn starts when the first has ended; nothing mixes."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("first", gate), "second") as model,
        make_agent(model) as agent,
    ):
        first = Task(lambda: agent.chat("1").text)
        model.wait_for_request(1)
        started = threading.Event()

        def other() -> str:
            started.set()
            return agent.chat("2").text

        second = Task(other)
        assert started.wait(CEILING)
        gate.release_all()
        assert first.result() == "first"
        assert second.result() == "second"


def test_system_instructions_replace_the_harness_own(make_agent):
    """The model is given our instructions."""
    with (
        ScriptedModel("ok") as model,
        make_agent(model, system_instructions="You are a parrot. PQR.") as agent,
    ):
        agent.chat("hi")
    assert "You are a parrot. PQR." in model.requests[0].system_instruction


def test_raw_config_is_merged_last(make_agent):
    """A field of the user's own reaches the harness beside ours."""
    raw = {"systemInstructions": {"custom": {"part": [{"text": "from raw"}]}}}
    with ScriptedModel("ok") as model, make_agent(model, raw_config=raw) as agent:
        agent.chat("hi")
    assert "from raw" in model.requests[0].system_instruction


def test_an_agent_has_one_connection_and_one_child(make_agent):
    """The harness calls the model, so no connection of this process goes there."""

    def connections() -> int:
        """Count the TCP connections that are open here; other sockets wake threads."""
        ours = set()
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                ours.add(os.readlink(f"/proc/self/fd/{name}"))
        rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        return sum(row[3] == "01" and f"socket:[{row[9]}]" in ours for row in rows)

    with ScriptedModel("ok") as model:
        before = connections(), children()
        with make_agent(model) as agent:
            assert connections() == before[0] + 1
            assert children() == [*before[1], agent.pid]
            assert agent.chat("hi").text == "ok"


def test_a_start_that_the_harness_refuses_has_its_words(make_agent):
    """They are in the sentence, and its last lines on stderr beside them."""
    with ScriptedModel() as model:
        agent = make_agent(model, raw_config={"models": []})
        with pytest.raises(InitError, match="no text model configuration provided") as caught:
            agent.start()
    assert "no text model configuration provided" in caught.value.stderr_tail


def test_drift_report_is_empty_after_a_turn(make_agent):
    """On a supported harness nothing is unknown to us."""
    from antigravity_sync._wire.drift import clear_drift_report, drift_report

    clear_drift_report()
    with ScriptedModel([thought("t"), "x"], "y") as model, make_agent(model) as agent:
        agent.chat("a")
        agent.chat("b")
    assert drift_report() == {}


def test_an_input_that_the_harness_drops_fails_the_turn_at_once(make_agent):
    """It only says so on stderr, in words of its version, and would leave everybody waiting."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("one", gate, "two"), "fine") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go")
        assert next(turn.text_deltas()) == "one"
        agent._engine.pump.link.send('{"noSuchThing": 1}')
        with pytest.raises(ProtocolError, match="noSuchThing"):
            turn.response()
        gate.release_all()
        assert agent.chat("again").text == "fine"
