"""close() ends everything, in order, once, from anywhere, within its budget."""

from __future__ import annotations

import logging
import os
import signal
import threading

import pytest

from antigravity_sync import policy
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._transport.process import HarnessProcess
from antigravity_sync.errors import AgentClosedError, ConfigError, SessionLostError
from antigravity_sync.responses import CloseReport
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    drop,
    hook,
    idle,
    mark,
    running,
    spawn_child,
    user_echo,
    wait_for,
    wait_for_signal,
)
from tests.gates import CEILING, Gate, Task, wait_until
from tests.leaks import state
from tests.loop.fakes import VERSION, fake_agent, interrupted_when

STUCK = [running(), user_echo(), delta("some"), wait_for_signal("never")]
#: A budget that leaves the end of stdin a fraction of a second before force is used.
SHORT = 1.3


def assert_in_order(fake: FakeHarness, *events: str) -> None:
    """Fail unless these events happened, each after the one before it."""
    happened = fake.events
    assert [event for event in happened if event in events] == list(events), happened


# ── the ladder ──────────────────────────────────────────────────────────────────────────────────


def test_close_when_idle_then_close_frame_end_of_file_and_a_clean_report():
    """An idle agent needs no halt: close frame, end of file, exit code 0."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        agent.chat("hi")
        report = agent.close()
        assert_in_order(fake, "close:1000", "eof", "exit:0")
        assert "message:haltRequest" not in fake.events
        assert (report.exit_code, report.clean) == (0, True)
        assert (report.forced, report.ended_commands, report.leftovers) == ((), (), ())
        assert state(fake.pid) == "gone"


def test_close_when_a_turn_runs_then_halts_it_first():
    """The turn is halted before the connection goes, and that before stdin."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        report = agent.close()
        assert_in_order(fake, "message:haltRequest", "close:1000", "eof", "exit:0")
        assert report.clean
        with pytest.raises(AgentClosedError):
            turn.response()


def test_close_when_nothing_helps_then_every_rung_is_climbed_in_order():
    """Halt, close frame, end of file, SIGTERM, SIGKILL; the report names what was forced."""
    knobs = {"ignore_eof": True, "ignore_sigterm": True, "ignore_close": True, "ignore_halt": True}
    with FakeHarness(STUCK, version=VERSION, **knobs) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        report = agent.close(timeout=SHORT)
        assert_in_order(fake, "message:haltRequest", "close:1000", "eof", "sigterm")
        assert report.forced == ("terminate", "kill")
        assert (report.exit_code, report.clean, report.leftovers) == (-9, False, ())
        fake.wait_for_exit()
        assert fake.events[-1] == "gone"
        with pytest.raises(AgentClosedError):
            turn.response()


def test_close_when_end_of_file_is_ignored_then_terminates():
    """A harness that does not exit by itself gets SIGTERM, and no more than that."""
    with FakeHarness(version=VERSION, ignore_eof=True) as fake:
        report = fake_agent(fake).start().close(timeout=SHORT)
        assert_in_order(fake, "eof", "sigterm", "exit:-15")
        assert (report.forced, report.exit_code, report.clean) == (("terminate",), -15, False)


def test_close_when_the_close_frame_is_ignored_then_goes_on():
    """An unanswered close frame costs its grace and nothing else."""
    with FakeHarness(version=VERSION, ignore_close=True) as fake:
        report = fake_agent(fake).start().close()
        assert_in_order(fake, "close:1000", "eof", "exit:0")
        assert report.clean


def test_close_when_the_harness_exits_with_3_then_the_report_says_so():
    """A bad exit code is no exception but an unclean report."""
    with FakeHarness(version=VERSION, exit_code_at_eof=3) as fake:
        report = fake_agent(fake).start().close()
        assert (report.exit_code, report.clean, report.forced) == (3, False, ())


def test_close_when_the_harness_is_dead_already_then_reports_how_it_died():
    """Closing after a death forces nothing and tells the signal."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        os.kill(fake.pid, signal.SIGKILL)
        fake.wait_for_exit()
        report = agent.close()
        assert (report.exit_code, report.clean, report.forced) == (-9, False, ())
        assert report.leftovers == ()


def test_close_when_the_harness_is_frozen_then_kills_it():
    """A stopped process reads nothing and takes no SIGTERM; SIGKILL ends it."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        os.kill(fake.pid, signal.SIGSTOP)
        report = agent.close(timeout=SHORT)
        assert (report.exit_code, report.forced) == (-9, ("terminate", "kill"))
        with pytest.raises(AgentClosedError):
            turn.response()


def test_close_when_a_grandchild_holds_stderr_of_a_killed_harness_then_nothing_is_left():
    """Threads and descriptors go with the harness even if its stderr stays open."""
    with FakeHarness(version=VERSION, grandchild_holds_stderr=True) as fake:
        agent = fake_agent(fake).start()
        os.kill(fake.pid, signal.SIGKILL)
        wait_until(lambda: not agent.is_started, "the news of its death")
        # Nobody's child any more and without the conversation's mark, so it is none of ours.
        report = agent.close(timeout=0.001)
        assert (report.leftovers, report.ended_commands) == ((), ())
        assert threads_of_ours() == []
        assert fake.alive == fake.grandchildren


def threads_of_ours() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("agsync-")]


@pytest.mark.parametrize("timeout", [0.0, 0.001])
def test_close_when_there_is_no_time_then_still_leaves_nothing(timeout):
    """A budget of nothing means force at once, not half a close."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        report = agent.close(timeout=timeout)
        assert turn.done
        assert report.leftovers == ()
        assert report.exit_code is not None
        assert threads_of_ours() == []
        assert state(fake.pid) == "gone"


def test_close_when_commands_were_left_then_they_are_ended_and_listed():
    """What the agent's shell started ends with the agent, in whatever group it runs."""
    script = [running(), user_echo(), spawn_child(), delta("x"), done(), idle()]
    with FakeHarness(script, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        agent.chat("hi")
        (child,) = fake.grandchildren
        report = agent.close()
        assert len(report.ended_commands) == 1
        assert report.clean
        wait_until(lambda: state(child) == "gone" or state(child).endswith("Z"), "its end")


# ── who closes ──────────────────────────────────────────────────────────────────────────────────


def test_close_when_another_thread_is_in_chat_then_that_raises_closed():
    """chat() in one thread is freed by close() in another, and says why."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        chat = Task(lambda: agent.chat("hi"))
        fake.wait_for_event("gate:never")
        agent.close()
        with pytest.raises(AgentClosedError, match="start"):
            chat.result()
        with pytest.raises(AgentClosedError, match="start"):
            agent.chat("again")
        with pytest.raises(AgentClosedError):
            agent.wait_idle()
        assert not agent.is_started


def test_close_when_threads_wait_for_their_turn_then_all_are_freed():
    """Callers that wait for the one turn, and for idleness, are freed as well."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        tasks = [Task(lambda: agent.chat("hi"))]
        fake.wait_for_event("gate:never")
        tasks += [Task(lambda: agent.chat("too")), Task(lambda: agent.chat("too", timeout=None))]
        tasks.append(Task(agent.wait_idle))
        agent.close()
        for task in tasks:
            with pytest.raises(AgentClosedError):
                task.result()


def test_close_when_called_again_then_returns_the_same_report():
    """The second close does nothing and returns the first one's report."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        report = agent.close()
        assert agent.close() is report
        assert fake.events.count("eof") == 1


def test_close_when_eight_threads_close_at_once_then_one_climbs_and_all_get_its_report():
    """However many close, it is closed once."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        barrier = threading.Barrier(8)

        def close() -> CloseReport:
            barrier.wait(CEILING)
            return agent.close()

        reports = [task.result() for task in [Task(close) for _ in range(8)]]
        assert all(report is reports[0] for report in reports)
        assert reports[0].clean
        assert turn.done
        assert fake.events.count("close:1000") == fake.events.count("eof") == 1


def test_close_when_inside_the_loop_over_a_turn_then_the_next_event_is_the_end():
    """Closing between two events is allowed; the loop ends with AgentClosedError."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        seen = []
        with pytest.raises(AgentClosedError):
            for event in agent.stream("hi"):
                seen.append(event)
                assert agent.close().clean
        assert seen


def test_close_when_called_from_a_policy_then_begins_and_the_pump_finishes():
    """A callback does not wait for itself: close() returns, and the engine closes behind it."""
    script = [running(), user_echo(), hook("PRE_TOOL", toolName="x", argumentsJson="{}")]
    with FakeHarness([*script, wait_for("never")], version=VERSION) as fake:
        reports = []

        def close(_call):
            reports.append(agent.close())
            return True

        agent = fake_agent(fake, policies=[policy.allow("*", when=close)])
        agent.start()
        with pytest.raises(AgentClosedError):
            agent.chat("hi")
        fake.wait_for_exit()
        assert not reports[0].clean
        assert agent.close().clean
        assert not agent.is_started


def test_close_when_a_policy_blocks_then_leaves_only_that_thread_and_says_so():
    """A thread in user code cannot be ended: it is reported, and the rest is closed."""
    gate = Gate()

    def block(_call):
        gate.pass_through()
        return True

    script = [running(), user_echo(), hook("PRE_TOOL", toolName="x", argumentsJson="{}")]
    with FakeHarness([*script, wait_for("callHookResponse"), idle()], version=VERSION) as fake:
        agent = fake_agent(fake, policies=[policy.allow("*", when=block)]).start()
        chat = Task(lambda: agent.chat("hi"))
        gate.wait_arrived()
        report = agent.close()
        (leftover,) = report.leftovers
        assert leftover.endswith("-pump")
        assert (report.clean, report.exit_code) == (False, 0)
        with pytest.raises(AgentClosedError):
            chat.result()
        with pytest.raises(AgentClosedError):
            agent.chat("again")
        with agent:  # and it starts again, next to what is left
            assert agent.chat("hi").text == "ok"
        gate.open()
        wait_until(lambda: threads_of_ours() == [], "the end of the thread")


def test_close_when_interrupted_while_it_waits_then_kills_and_goes_up():
    """A second Ctrl-C in a slow close leaves nothing either."""
    with FakeHarness(version=VERSION, ignore_eof=True, ignore_sigterm=True) as fake:
        agent = fake_agent(fake).start()
        with (
            interrupted_when(lambda: fake.wait_for_event("eof")),
            pytest.raises(KeyboardInterrupt),
        ):
            agent.close(timeout=CEILING)
        assert state(fake.pid) == "gone"
        assert threads_of_ours() == []
        report = agent.close()
        assert (report.clean, report.forced, report.exit_code) == (False, ("kill",), -9)


# ── the with block ──────────────────────────────────────────────────────────────────────────────


def test_exit_when_the_body_raises_then_its_exception_goes_up_and_the_close_is_logged(caplog):
    """An unclean close never masks what the body raised; it is logged."""
    with FakeHarness(version=VERSION, ignore_eof=True) as fake:
        with (
            caplog.at_level(logging.WARNING, "antigravity_sync"),
            pytest.raises(ValueError, match="mine"),
            fake_agent(fake, close_timeout=SHORT),
        ):
            raise ValueError("mine")
        assert "did not close cleanly" in caplog.text
        assert "terminate" in caplog.text


def test_exit_when_the_session_is_lost_then_that_error_goes_up():
    """The error of the turn is what the caller sees, not one of the close."""
    with (
        FakeHarness(STUCK, version=VERSION) as fake,
        pytest.raises(SessionLostError),
        fake_agent(fake) as agent,
    ):
        turn = agent.stream("hi")
        fake.wait_for_event("gate:never")
        os.kill(fake.pid, signal.SIGKILL)
        turn.response()


@pytest.mark.parametrize("timeout", [None, -1, "soon", float("nan"), True])
def test_close_when_the_timeout_is_no_limit_then_refuses(timeout):
    """A close must end, so it wants a number of seconds; nothing was closed by the refusal."""
    with FakeHarness(version=VERSION) as fake, fake_agent(fake) as agent:
        with pytest.raises(ConfigError, match="timeout"):
            agent.close(timeout=timeout)
        assert agent.chat("hi").text == "ok"


def test_close_when_never_started_then_a_clean_report():
    """Closing what never ran is no error, and spawns nothing."""
    with FakeHarness(version=VERSION) as fake:
        assert fake_agent(fake).close() == CloseReport()
        assert fake.events == []


def test_start_when_closed_before_then_a_new_harness_and_conversation():
    """A closed agent starts again, as often as one likes."""
    with FakeHarness("one", "two", "three", version=VERSION) as fake:
        agent = fake_agent(fake)
        conversations = set()
        for text in ("one", "two", "three"):
            with agent:
                assert agent.chat("hi").text == text
                conversations.add(agent.conversation_id)
        assert len(conversations) == len(fake.pids) == 3


# ── a peer that does not read ───────────────────────────────────────────────────────────────────


def test_close_when_a_send_is_blocked_then_frees_it():
    """A prompt that nobody reads blocks the pump; close() tears it loose."""
    with FakeHarness(version=VERSION, never_read=True) as fake:
        agent = fake_agent(fake).start()
        chat = Task(lambda: agent.chat("x" * 8_000_000, timeout=None))
        wait_until(lambda: not agent.is_idle, "the turn")
        report = agent.close()
        assert (report.leftovers, report.exit_code) == ((), 0)
        with pytest.raises(AgentClosedError):
            chat.result()


def test_close_when_a_reconnect_is_stuck_then_frees_that_call_too():
    """A call that is connecting again to a frozen harness is freed, with the right reason."""
    with FakeHarness([running(), user_echo(), delta("x"), drop()], version=VERSION) as fake:
        agent = fake_agent(fake).start()
        with pytest.raises(SessionLostError) as caught:
            agent.chat("hi")
        assert caught.value.session_usable
        os.kill(fake.pid, signal.SIGSTOP)
        chat = Task(lambda: agent.chat("again", timeout=None))
        wait_until(lambda: not agent.is_idle, "the call")
        report = agent.close(timeout=SHORT)
        assert report.exit_code == -9
        with pytest.raises(AgentClosedError):
            chat.result()


def test_close_when_it_races_with_a_turn_that_ends_then_either_is_told():
    """Whichever comes first, chat() returns or raises closed, and nothing hangs."""
    script = [running(), user_echo(), delta("ok"), mark("almost"), done(), idle()]
    for _ in range(10):
        with FakeHarness(script, version=VERSION) as fake:
            agent = fake_agent(fake).start()
            chat = Task(lambda agent=agent: agent.chat("hi").text)
            fake.wait_for_event("mark:almost")
            assert agent.close().clean
            try:
                assert chat.result() == "ok"
            except AgentClosedError:
                pass


def test_process_when_it_waits_for_a_command_of_its_own_then_that_is_ended_and_it_ends(tmp_path):
    """Nothing is forced: up to 0.1.6 a harness waits at its end for what runs in the foreground."""
    script, pid_file = tmp_path / "harness", tmp_path / "pid"
    script.write_text(
        f"#!/bin/sh\nsleep 300 &\necho $! > {pid_file}.new\nmv {pid_file}.new {pid_file}\n"
        "cat > /dev/null\nwait\n"
    )
    script.chmod(0o700)
    clock = MonotonicClock()
    process = HarnessProcess("agsync-test")
    process.spawn(str(script), dict(os.environ))
    wait_until(pid_file.exists, "the command")
    ended = []

    def unblock() -> None:
        ended.append(int(pid_file.read_text()))
        os.kill(ended[0], signal.SIGKILL)

    assert process.end(Deadline.after(clock, CEILING), unblock) == (0, ())
    assert len(ended) == 1
    assert process.release(Deadline.after(clock, CEILING)) == ()
