"""The harness dies, freezes or hangs up: every waiter hears of it, with all that is known."""

from __future__ import annotations

import os
import pickle
import signal

import pytest

from antigravity_sync import policy
from antigravity_sync.errors import (
    ConversationBusyError,
    HandshakeError,
    LaunchError,
    SessionLostError,
    TurnTimeoutError,
)
from antigravity_sync.events import TextDelta
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    close,
    delta,
    done,
    drop,
    exit,
    half_frame,
    hook,
    idle,
    kill,
    running,
    stderr,
    user_echo,
    wait_for_signal,
)
from tests.gates import Gate, Task, wait_until
from tests.loop.fakes import VERSION, fake_agent

STUCK = [
    running(),
    user_echo(),
    delta("The answer"),
    stderr("fatal: all is lost"),
    wait_for_signal("never"),
]


def killed(fake: FakeHarness) -> None:
    os.kill(fake.pid, signal.SIGKILL)


# ── the process ─────────────────────────────────────────────────────────────────────────────────


def test_death_when_killed_mid_turn_then_every_waiter_is_told():
    """chat(), the callers behind it and wait_idle() all raise, each with code and last words."""
    with FakeHarness(STUCK, version=VERSION) as fake, fake_agent(fake) as agent:
        chat = Task(lambda: agent.chat("hi"))
        fake.wait_for_event("gate:never")
        others = [
            Task(lambda: agent.chat("too")),
            Task(lambda: agent.chat("too", timeout=None)),
            Task(lambda: agent.stream("too")),
            Task(agent.wait_idle),
            Task(lambda: agent.wait_idle(timeout=None)),
        ]
        killed(fake)
        with pytest.raises(SessionLostError) as caught:
            chat.result()
        assert caught.value.exit_code == -9
        assert caught.value.partial.text == "The answer"
        assert "fatal: all is lost" in caught.value.stderr_tail
        assert "fatal: all is lost" in str(caught.value)
        assert "-9" in str(caught.value)
        assert not caught.value.session_usable
        assert pickle.loads(pickle.dumps(caught.value)).exit_code == -9
        for other in others:
            with pytest.raises(SessionLostError) as caught:
                other.result()
            assert caught.value.exit_code == -9
            assert "fatal: all is lost" in caught.value.stderr_tail


def test_death_when_killed_then_later_calls_raise_at_once_and_it_starts_again():
    """A dead session stays dead until start(), which makes a new one."""
    with FakeHarness(STUCK, "fine", version=VERSION) as fake:
        agent = fake_agent(fake).start()
        first = agent.conversation_id
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        killed(fake)
        with pytest.raises(SessionLostError):
            turn.response()
        for call in (lambda: agent.chat("x"), lambda: agent.stream("x"), agent.wait_idle):
            with pytest.raises(SessionLostError) as caught:
                call()
            assert caught.value.exit_code == -9
        assert not agent.is_started
        assert not agent.cancel()
        assert agent.is_idle
        assert agent.close().exit_code == -9
        with agent:
            assert agent.chat("hi").text == "fine"
            assert agent.conversation_id != first
        assert len(fake.pids) == 2


def test_death_when_not_closed_then_start_cleans_up_itself():
    """start() after a death needs no close() before it."""
    with FakeHarness(version=VERSION) as fake, fake_agent(fake) as agent:
        killed(fake)
        wait_until(lambda: not agent.is_started, "the news of its death")
        assert agent.start() is agent
        assert agent.chat("hi").text == "ok"


def test_death_when_iterating_then_the_events_so_far_come_first():
    """What was received before the death is still yielded; then the loop raises, once."""
    with FakeHarness(STUCK, version=VERSION) as fake, fake_agent(fake) as agent:
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        killed(fake)
        wait_until(lambda: turn.done, "the end of the turn")
        seen = []
        with pytest.raises(SessionLostError):
            for event in turn:
                seen.append(event)
        assert [event.text for event in seen if isinstance(event, TextDelta)] == ["The answer"]
        assert list(turn) == []
        with pytest.raises(SessionLostError):
            turn.response()


@pytest.mark.parametrize(
    ("how", "code"), [(exit(3), 3), (exit(0), 0), (kill(), -9), (exit(-6), -6)]
)
def test_death_when_it_exits_by_itself_then_the_code_is_told(how, code):
    """Any exit in the middle of a turn, even with 0, loses the session."""
    script = [running(), user_echo(), delta("So"), stderr("bye"), how]
    with FakeHarness(script, version=VERSION) as fake, fake_agent(fake) as agent:
        with pytest.raises(SessionLostError) as caught:
            agent.chat("hi")
        assert caught.value.exit_code == code
        assert caught.value.partial.text == "So"
        assert caught.value.stderr_tail.endswith("bye")


def test_death_when_the_connection_went_first_then_it_is_still_a_death():
    """A drop that is followed by the exit is told as the exit."""
    script = [running(), user_echo(), delta("So"), drop(), exit(4)]
    with FakeHarness(script, version=VERSION) as fake, fake_agent(fake) as agent:
        with pytest.raises(SessionLostError) as caught:
            agent.chat("hi")
        assert (caught.value.exit_code, caught.value.session_usable) == (4, False)


def test_death_when_a_grandchild_holds_stderr_then_is_noticed_all_the_same():
    """The end of stderr is not needed to know of a death."""
    with (
        FakeHarness(STUCK, version=VERSION, grandchild_holds_stderr=True) as fake,
        fake_agent(fake) as agent,
    ):
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        killed(fake)
        with pytest.raises(SessionLostError) as caught:
            turn.response()
        assert caught.value.exit_code == -9
        assert "fatal: all is lost" in caught.value.stderr_tail


def test_death_when_idle_then_the_next_call_says_so():
    """A death that nobody waited for is told to the next caller."""
    with FakeHarness(version=VERSION) as fake, fake_agent(fake) as agent:
        assert agent.chat("hi").text == "ok"
        killed(fake)
        with pytest.raises(SessionLostError) as caught:
            agent.chat("again", timeout=None)
        assert caught.value.exit_code == -9


def test_death_when_a_send_is_blocked_then_frees_it():
    """A prompt that nobody will read any more fails with the death."""
    with FakeHarness(version=VERSION, never_read=True) as fake, fake_agent(fake) as agent:
        chat = Task(lambda: agent.chat("x" * 8_000_000, timeout=None))
        wait_until(lambda: not agent.is_idle, "the turn")
        killed(fake)
        with pytest.raises(SessionLostError) as caught:
            chat.result()
        assert caught.value.exit_code == -9


def test_death_when_a_policy_blocks_the_pump_then_is_told_past_it():
    """User code that holds the pump up does not hold up the news."""
    gate = Gate()

    def block(_call):
        gate.pass_through()
        return True

    script = [
        running(),
        user_echo(),
        delta("So"),
        hook("PRE_TOOL", toolName="x", argumentsJson="{}"),
        wait_for_signal("never"),
    ]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake, policies=[policy.allow("*", when=block)]) as agent,
    ):
        chat = Task(lambda: agent.chat("hi", timeout=None))
        gate.wait_arrived()
        idle = Task(agent.wait_idle)
        killed(fake)
        for task in (chat, idle):
            with pytest.raises(SessionLostError) as caught:
                task.result()
            assert caught.value.exit_code == -9
        with pytest.raises(SessionLostError):
            agent.chat("again")
        gate.open()


# ── frozen ──────────────────────────────────────────────────────────────────────────────────────


def test_freeze_when_a_turn_runs_then_it_times_out_with_what_there_is():
    """A stopped harness answers no halt; chat() raises at its deadline all the same."""
    with (
        FakeHarness(STUCK, version=VERSION) as fake,
        fake_agent(fake, close_timeout=1.3) as agent,
    ):
        chat = Task(lambda: agent.chat("hi", timeout=1.0))
        fake.wait_for_event("gate:never")
        os.kill(fake.pid, signal.SIGSTOP)
        with pytest.raises(TurnTimeoutError) as caught:
            chat.result()
        assert caught.value.partial.text == "The answer"
        assert caught.value.timeout == 1.0
        report = agent.close()
        assert (report.exit_code, report.forced) == (-9, ("terminate", "kill"))


def test_freeze_when_it_thaws_then_the_next_turn_works():
    """What was only slow is usable again."""
    with FakeHarness(STUCK, "fine", version=VERSION) as fake, fake_agent(fake) as agent:
        chat = Task(lambda: agent.chat("hi", timeout=0.5))
        fake.wait_for_event("gate:never")
        os.kill(fake.pid, signal.SIGSTOP)
        with pytest.raises(TurnTimeoutError):
            chat.result()
        os.kill(fake.pid, signal.SIGCONT)
        assert agent.chat("again").text == "fine"
        assert len(fake.pids) == 1


def test_freeze_when_a_prompt_cannot_be_sent_then_it_times_out():
    """A peer that never reads makes no call hang past its deadline."""
    with (
        FakeHarness(version=VERSION, never_read=True) as fake,
        fake_agent(fake) as agent,
        pytest.raises(TurnTimeoutError),
    ):
        agent.chat("x" * 8_000_000, timeout=0.5)


# ── the connection ──────────────────────────────────────────────────────────────────────────────

HANG_UPS = {
    "dropped": (drop(), None),
    "reset": (drop(reset=True), None),
    "closed": (close(1000), 1000),
    "closed as broken": (close(1011), 1011),
    "in the middle of a frame": ([half_frame({"stepUpdate": {"text": "x" * 100}}), drop()], None),
}


@pytest.mark.parametrize("name", HANG_UPS)
def test_hang_up_when_mid_turn_then_the_turn_fails_and_the_next_one_heals(name):
    """A lost connection to a living harness costs the turn; the next call resumes on a new one."""
    how, code = HANG_UPS[name]
    script = [running(), user_echo(), delta("The answer"), how]
    with FakeHarness(script, "fine", version=VERSION) as fake, fake_agent(fake) as agent:
        with pytest.raises(SessionLostError) as caught:
            agent.chat("hi")
        assert caught.value.session_usable
        assert (caught.value.exit_code, caught.value.close_code) == (None, code)
        assert caught.value.partial.text == "The answer"
        assert agent.is_started
        assert agent.chat("again").text == "fine"
        assert len(fake.pids) == 1
        first, second = [message["config"] for message in fake.received if "config" in message]
        assert second["sessionContinuationMode"] == "RESUME"
        assert second["cascadeId"] == agent.conversation_id
        assert {**first, **second} == second


def test_hang_up_when_idle_then_the_next_turn_heals_without_an_error():
    """Nobody's turn was lost, so nobody is told."""
    script = [running(), user_echo(), delta("one"), done(), idle(), close(1000)]
    with FakeHarness(script, "two", version=VERSION) as fake, fake_agent(fake) as agent:
        assert agent.chat("hi").text == "one"
        fake.wait_for_event("sent-close:1000")
        wait_until(lambda: "detached" in repr(agent), "the loss of the connection")
        assert agent.chat("again").text == "two"
        assert agent.wait_idle()


def test_hang_up_when_iterating_then_the_events_so_far_come_first():
    """As with a death, what was received is still yielded."""
    script = [running(), user_echo(), delta("one"), delta("two"), drop()]
    with FakeHarness(script, version=VERSION) as fake, fake_agent(fake) as agent:
        texts = []
        with pytest.raises(SessionLostError) as caught:
            for text in agent.stream("hi").text_deltas():
                texts.append(text)
        assert "".join(texts) == caught.value.partial.text == "onetwo"


@pytest.mark.parametrize("then", ["dies", "refuses"])
def test_hang_up_when_it_cannot_be_healed_then_the_call_says_why(then):
    """A harness that hung up and then is gone, or refuses, fails the call that wanted to heal."""
    script = [running(), user_echo(), delta("x"), drop()]
    knobs = {"drop_on_init": [None, "Failed to create agent: no more"]} if then == "refuses" else {}
    with FakeHarness(script, version=VERSION, **knobs) as fake, fake_agent(fake) as agent:
        with pytest.raises(SessionLostError):
            agent.chat("hi")
        if then == "dies":
            killed(fake)
            with pytest.raises(SessionLostError) as caught:
                agent.chat("again")
            assert caught.value.exit_code == -9
            return
        with pytest.raises(LaunchError, match="no more"):
            agent.chat("again")
        assert agent.chat("and again").text == "ok"


IN_USE = "Cascade ID c is already in use"


def test_hang_up_when_the_harness_lets_go_late_then_the_next_call_waits_for_it():
    """The real one has called its own conversation in use for 8 s after an unanswered halt."""
    script = [running(), user_echo(), delta("x"), drop()]
    lines = [None, *[IN_USE] * 12]
    with (
        FakeHarness(script, version=VERSION, drop_on_init=lines) as fake,
        fake_agent(fake) as agent,
    ):
        with pytest.raises(SessionLostError):
            agent.chat("hi")
        assert agent.chat("again").text == "ok"


def test_hang_up_when_the_harness_never_lets_go_then_the_call_says_so_at_its_deadline():
    """It is not told that somebody else has the conversation."""
    script = [running(), user_echo(), delta("x"), drop()]
    lines = [None, *[IN_USE] * 1000]
    with (
        FakeHarness(script, version=VERSION, drop_on_init=lines) as fake,
        fake_agent(fake) as agent,
    ):
        with pytest.raises(SessionLostError):
            agent.chat("hi")
        with pytest.raises(ConversationBusyError, match="does not let go") as caught:
            agent.chat("again", timeout=0.3)
        assert IN_USE in caught.value.stderr_tail


def test_hang_up_when_healing_takes_too_long_then_the_deadline_holds():
    """The call's own timeout covers the healing too."""
    script = [running(), user_echo(), delta("x"), drop()]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake, close_timeout=1.3) as agent,
    ):
        with pytest.raises(SessionLostError):
            agent.chat("hi")
        os.kill(fake.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError) as caught:
            agent.chat("again", timeout=0.5)
        assert not isinstance(caught.value, HandshakeError)
        os.kill(fake.pid, signal.SIGCONT)
        assert agent.chat("again").text == "ok"
