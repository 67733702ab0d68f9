"""An agent that is dropped instead of closed is closed all the same, and says so."""

from __future__ import annotations

import gc
import os
import signal
import threading
import warnings

import pytest

from antigravity_sync import Agent, policy
from antigravity_sync.errors import AgentClosedError
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    hook,
    idle,
    running,
    user_echo,
    wait_for,
    wait_for_signal,
)
from tests.gates import Gate, Task, wait_until
from tests.leaks import children, state
from tests.loop.conftest import private_directories
from tests.loop.fakes import VERSION, fake_agent
from tests.loop.scripts import Script, assert_reaped_by_its_parent, orphans_come_to_us

STUCK = [running(), user_echo(), delta("some"), wait_for_signal("never")]
ASK = [running(), user_echo(), hook("PRE_TOOL", toolName="x", argumentsJson="{}")]


def assert_all_gone(fake: FakeHarness, temporary) -> None:
    """Wait for the end of everything; nobody joins the threads of a dropped agent."""
    fake.wait_for_exit()
    wait_until(lambda: fake.pid not in children(), "reaping")
    assert state(fake.pid) == "gone"
    wait_until(lambda: threads_of_ours() == [], "the end of the threads")
    assert private_directories(temporary) == []


def wait_until_lost(agent: Agent) -> None:
    wait_until(lambda: not agent.is_started, "the news of its death")


def threads_of_ours() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("agsync-")]


def test_drop_when_idle_then_warns_and_closes_in_order(temporary):
    """A dropped agent is a ResourceWarning; its harness ends as by close()."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        agent.chat("hi")
        with pytest.warns(ResourceWarning, match="without close"):
            del agent
        assert_all_gone(fake, temporary)
        events = fake.events
        assert events.index("close:1000") < events.index("eof") < events.index("exit:0")


def test_drop_when_in_a_reference_cycle_then_the_collector_closes_it(temporary):
    """It makes no difference that the garbage collector finds it, on whatever thread."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        agent.myself = agent
        del agent
        with pytest.warns(ResourceWarning, match="without close"):
            Task(gc.collect).result()
        assert_all_gone(fake, temporary)


def test_drop_when_a_turn_is_open_then_halts_and_ends_it(temporary):
    """The turn does not keep the agent: it is halted, and its iterator raises closed."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        agent = fake_agent(fake).start()
        turn = agent.stream("hi")
        next(turn)
        with pytest.warns(ResourceWarning, match="without close"):
            del agent
        with pytest.raises(AgentClosedError):
            turn.response()
        assert_all_gone(fake, temporary)
        assert "message:haltRequest" in fake.events


def test_drop_when_together_with_its_turn_then_both_are_ended(temporary):
    """Nothing of a forgotten loop is left."""

    def forgetful() -> None:
        agent = fake_agent(fake).start()
        for _ in agent.stream("hi"):
            return

    with FakeHarness(STUCK, version=VERSION) as fake:
        with pytest.warns(ResourceWarning, match="without close"):
            forgetful()
        assert_all_gone(fake, temporary)


def test_drop_when_inside_a_policy_then_the_pump_closes_its_own_engine(temporary):
    """The last reference may go on the pump's own thread, in the middle of a callback."""
    holder = []
    dropped_on = []
    gate = Gate()

    def drop(_call) -> bool:
        gate.pass_through()  # until the reference in the holder is the last one
        dropped_on.append(threading.current_thread().name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            holder.clear()
        dropped_on.append(caught[0].category)
        return True

    with FakeHarness([*ASK, wait_for("callHookResponse"), idle()], version=VERSION) as fake:
        agent = fake_agent(fake, policies=[policy.allow("*", when=drop)]).start()
        holder.append(agent)
        turn = agent.stream("hi")
        del agent
        gate.open()
        assert_all_gone(fake, temporary)
        assert dropped_on[0].endswith("-pump")
        assert dropped_on[1] is ResourceWarning
        assert turn.done


def test_drop_when_only_a_cancel_handle_is_left_then_it_is_dropped(temporary):
    """A handle to cancel with does not keep the agent, and is harmless afterwards."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake).start()
        handle = agent.cancel_handle()
        with pytest.warns(ResourceWarning, match="without close"):
            del agent
        assert not handle.cancel()
        assert_all_gone(fake, temporary)


def test_drop_when_warnings_are_errors_then_it_is_closed_all_the_same():
    """A filter that turns the warning into an exception does not keep the harness alive."""
    source = (
        "agent = make().start()\ndel agent\nprint('dropped', flush=True)\nsys.stdin.readline()\n"
    )
    with orphans_come_to_us(), FakeHarness(version=VERSION) as fake:
        script = Script(source, fake.path)
        script.expect("dropped")
        fake.wait_for_exit()
        assert "exit:0" in fake.events
        script.go_on()
        ended = script.end()
        assert ended.code == 0
        assert "ResourceWarning: an Agent was dropped" in ended.err
        assert_reaped_by_its_parent(fake)


@pytest.mark.parametrize("how", ["closed", "never started", "lost"])
def test_drop_when_there_is_nothing_to_close_then_no_warning(how, temporary):
    """Only an agent that still runs was dropped by mistake."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        if how != "never started":
            agent.start()
        if how == "closed":
            agent.close()
        if how == "lost":
            os.kill(fake.pid, signal.SIGKILL)
            wait_until_lost(agent)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            del agent
            gc.collect()
        if how != "never started":
            assert_all_gone(fake, temporary)
