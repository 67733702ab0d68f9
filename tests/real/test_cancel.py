"""Stopping a turn on the real harness, in every way there is."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading

import pytest

from antigravity_sync import Retry
from antigravity_sync.errors import AgentBusyError, TurnTimeoutError
from antigravity_sync.events import Finished, TextDelta
from antigravity_sync.testing import ModelGate, ScriptedModel, chunks, hang, http_error
from tests.gates import CEILING, Task, wait_until

pytestmark = pytest.mark.real


def first_delta(turn) -> str:
    return next(event.text for event in turn if isinstance(event, TextDelta))


def test_cancel_from_another_thread_returns_the_partial_text(make_agent):
    """A halted turn returns, marked, with what had come; the next turn is clean."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("partial ", gate, "never"), "fresh") as model,
        make_agent(model) as agent,
    ):
        chat = Task(lambda: agent.chat("go"))
        assert gate.waiting.wait(CEILING)
        assert agent.cancel()
        response = chat.result()
        assert response.cancelled
        assert "partial ".startswith(response.text)
        assert not response.errors
        after = agent.chat("again")
    assert after.text == "fresh"
    assert not after.cancelled


def test_cancel_while_iterating_ends_in_finished(make_agent):
    """The iterator of a cancelled turn ends normally, with the partial response."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("partial", gate, "never"), "fresh") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go")
        assert first_delta(turn) == "partial"
        assert turn.cancel()
        last = list(turn)[-1]
        assert isinstance(last, Finished)
        assert last.response.cancelled
        assert last.response.text == "partial"
        assert not turn.cancel()
        assert agent.chat("again").text == "fresh"


def test_a_halt_right_after_the_prompt_works(make_agent):
    """Also on the version that ignores the first one."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("a", gate, "b", gate, "c"), "fresh") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go")
        assert agent.cancel()
        response = turn.response()
        assert response.cancelled
        assert "b" not in response.text
        gate.release_all()
        assert agent.chat("again").text in ("fresh", "abc")  # the script's next, whichever it is
        if len(model.requests) == 1:
            assert agent.chat("more").text == "fresh"


def test_cancel_before_the_first_piece(make_agent):
    """A model that never answers is left; the text is empty."""
    with ScriptedModel(hang(), "fresh") as model, make_agent(model) as agent:
        chat = Task(lambda: agent.chat("go"))
        model.wait_for_request(1)
        assert agent.cancel()
        response = chat.result()
        assert response.cancelled
        assert response.text == ""
        assert agent.chat("again").text == "fresh"


def test_cancel_is_idempotent_and_harmless_when_idle(make_agent):
    """Calling it twice, or with nothing to stop, changes nothing."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("x", gate, "y"), "fresh") as model,
        make_agent(model) as agent,
    ):
        assert not agent.cancel()
        turn = agent.stream("go")
        first_delta(turn)
        assert agent.cancel()
        agent.cancel()
        assert turn.response().cancelled
        assert not agent.cancel()
        assert agent.chat("again").text == "fresh"


def test_cancel_racing_with_the_end_never_breaks_the_next_turn(make_agent):
    """Forty cancels sent around the natural end: each turn ends once, each next one is clean."""
    with (
        ScriptedModel(lambda request: f"echo {request.prompt}", loop=True) as model,
        make_agent(model) as agent,
    ):
        for number in range(20):
            turn = agent.stream(f"race {number}")
            racer = Task(agent.cancel)
            response = turn.response()
            racer.result()
            assert response.cancelled or response.text == f"echo race {number}"
            assert agent.chat(f"calm {number}").text == f"echo calm {number}"


def test_cancel_handle_works_and_does_not_keep_the_agent(make_agent):
    """A handle taken before the turn cancels it, and is harmless when the agent is gone."""
    gate = ModelGate()
    with ScriptedModel(chunks("x", gate, "y")) as model:
        agent = make_agent(model)
        handle = agent.cancel_handle()
        with agent:
            turn = agent.stream("go")
            first_delta(turn)
            assert handle.cancel()
            assert turn.response().cancelled
    assert not handle.cancel()


def test_cancel_while_the_next_try_is_waited_for(make_agent, caplog):
    """A pause between two tries, ten minutes here, is no longer than the caller likes."""
    patient = Retry(max_retries=5, first_delay=600.0, multiplier=1.0)
    script = [http_error(503, "busy"), "fresh"]
    with (
        caplog.at_level(logging.INFO, "antigravity_sync.harness"),
        ScriptedModel(*script) as model,
        make_agent(model, retry=patient) as agent,
    ):
        turn = agent.stream("go")
        wait_until(lambda: "503" in caplog.text, "the harness's line on the failure")
        assert turn.cancel()
        assert turn.response().cancelled
        assert len(model.requests) == 1
        assert agent.chat("again").text == "fresh"


def test_cancel_from_a_signal_handler(make_agent):
    """A handler on the main thread stops the chat that the same thread waits in."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("partial", gate, "never"), "fresh") as model,
        make_agent(model) as agent,
    ):
        previous = signal.signal(signal.SIGUSR1, lambda *_: agent.cancel())
        try:

            def raise_it() -> None:
                assert gate.waiting.wait(CEILING)
                os.kill(os.getpid(), signal.SIGUSR1)

            sender = Task(raise_it)
            response = agent.chat("go")
            sender.result()
        finally:
            signal.signal(signal.SIGUSR1, previous)
        assert response.cancelled
        assert agent.chat("again").text == "fresh"


def test_ctrl_c_in_chat_halts_and_goes_up(make_agent):
    """KeyboardInterrupt leaves `chat` at once; the model's call is dropped and the agent usable."""
    with ScriptedModel(hang(), "fresh") as model, make_agent(model) as agent:

        def interrupt() -> None:
            model.wait_for_request(1)
            os.kill(os.getpid(), signal.SIGINT)

        sender = Task(interrupt)
        with pytest.raises(KeyboardInterrupt):
            agent.chat("go")
        sender.result()
        assert agent.wait_idle(timeout=CEILING)
        assert agent.chat("again").text == "fresh"


def test_breaking_out_of_a_stream_leaves_the_next_turn_clean(make_agent):
    """`break`, and the turn is halted and drained."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("old ", gate, "old"), "new") as model,
        make_agent(model) as agent,
    ):
        for event in agent.stream("go"):
            if isinstance(event, TextDelta):
                break
        assert agent.chat("again").text == "new"


def test_an_exception_in_the_loop_leaves_the_next_turn_clean(make_agent):
    """The body's exception goes up and nothing of the old turn comes back."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("old ", gate, "old"), "new") as model,
        make_agent(model) as agent,
    ):
        with pytest.raises(ZeroDivisionError):
            for event in agent.stream("go"):
                if isinstance(event, TextDelta):
                    _ = 1 / 0
        assert agent.chat("again").text == "new"


def test_dropping_a_turn_halts_it(make_agent):
    """A turn that is garbage posts its own end."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("old", gate, "old"), "new") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go")
        first_delta(turn)
        del turn
        gc.collect()
        assert agent.wait_idle(timeout=CEILING)
        assert agent.chat("again").text == "new"


def test_chat_supersedes_a_stream_its_own_thread_left(make_agent):
    """The thread that holds an open turn may go on; the old turn is halted first."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("old", gate, "old"), "new") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go")
        first_delta(turn)
        assert agent.chat("again").text == "new"
        assert list(turn)[-1].response.cancelled


def test_chat_inside_with_turn_is_busy_at_once(make_agent):
    """Inside the block the turn is in use, and waiting for oneself would be for ever."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("old", gate, "old"), "new") as model,
        make_agent(model) as agent,
    ):
        with agent.stream("go") as turn:
            first_delta(turn)
            with pytest.raises(AgentBusyError):
                agent.chat("again", timeout=None)
        assert agent.chat("again").text == "new"


def test_the_deadline_halts_drains_and_raises_with_the_partial_text(make_agent):
    """A turn that does not end in time raises; the next one is clean."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("half ", gate, "never"), "new") as model,
        make_agent(model) as agent,
    ):
        with pytest.raises(TurnTimeoutError) as caught:
            agent.chat("go", timeout=0.7)
        assert caught.value.timeout == 0.7
        assert caught.value.partial.text == "half "
        assert isinstance(caught.value, TimeoutError)
        assert agent.chat("again").text == "new"


def test_the_deadline_counts_the_pauses_of_the_consumer(make_agent):
    """The budget is absolute: a consumer that does not iterate runs into it too."""
    gate = ModelGate()
    with (
        ScriptedModel(chunks("half ", gate, "never"), "new") as model,
        make_agent(model) as agent,
    ):
        turn = agent.stream("go", timeout=0.7)
        assert agent.wait_idle(timeout=CEILING)
        with pytest.raises(TurnTimeoutError):
            list(turn)
        assert agent.chat("again").text == "new"


def test_no_timeout_waits_until_the_end(make_agent):
    """`timeout=None` is for ever, and is written by the user."""
    gate = ModelGate()
    with ScriptedModel(chunks("a", gate, "b")) as model, make_agent(model) as agent:
        chat = Task(lambda: agent.chat("go", timeout=None))
        assert gate.waiting.wait(CEILING)
        gate.release_all()
        assert chat.result().text == "ab"


def test_a_busy_agent_times_out_the_second_caller(make_agent):
    """The second caller gets its own error; the first turn is not disturbed."""
    gate = ModelGate()
    with ScriptedModel(chunks("a", gate, "b")) as model, make_agent(model) as agent:
        chat = Task(lambda: agent.chat("go"))
        assert gate.waiting.wait(CEILING)
        with pytest.raises(AgentBusyError):
            agent.chat("me too", timeout=0.05)
        gate.release_all()
        assert chat.result().text == "ab"


def test_response_with_a_timeout_of_its_own_leaves_the_turn(make_agent):
    """Running out of patience is not the turn's failure."""
    gate = ModelGate()
    with ScriptedModel(chunks("a", gate, "b")) as model, make_agent(model) as agent:
        turn = agent.stream("go")
        assert gate.waiting.wait(CEILING)
        with pytest.raises(TimeoutError):
            turn.response(timeout=0.1)
        assert not turn.done
        gate.release_all()
        assert turn.response().text == "ab"


def test_close_during_a_chat_wakes_it(make_agent):
    """`close()` from another thread ends the wait with its own error."""
    from antigravity_sync.errors import AgentClosedError

    gate = ModelGate()
    with ScriptedModel(chunks("a", gate, "b")) as model:
        agent = make_agent(model).start()
        chat = Task(lambda: agent.chat("go"))
        assert gate.waiting.wait(CEILING)
        closer = threading.Thread(target=agent.close)
        closer.start()
        with pytest.raises(AgentClosedError):
            chat.result()
        closer.join(CEILING)
        assert not closer.is_alive()
