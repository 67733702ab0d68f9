"""Many starts and closes, one after the other and at once, and an agent that just waits."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from antigravity_sync import Agent
from antigravity_sync.testing import ScriptedModel
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.gates import CEILING, Task
from tests.leaks import Belongings, assert_nothing_added

pytestmark = pytest.mark.real

VERSION = "0.1.10"


def fake_agent(fake: FakeHarness) -> Agent:
    return Agent(harness_path=fake.path, api_key="k")


def threads_of_ours() -> list[threading.Thread]:
    """Return the threads of agents; those of the scripted model are called alike."""
    role = re.compile(r"agsync-\d+-(?!accept|reply)")
    return [thread for thread in threading.enumerate() if role.match(thread.name)]


def test_cycles_when_a_hundred_then_nothing_piles_up():
    """A hundred agents leave what one leaves: nothing; each close is clean."""
    with FakeHarness(version=VERSION) as fake:
        before = Belongings.now()
        for _ in range(100):
            agent = fake_agent(fake)
            with agent:
                assert agent.chat("hi").text == "ok"
            assert agent.close().clean
            assert threads_of_ours() == []
        assert_nothing_added(before)
        assert len(set(fake.pids)) == 100


def test_cycles_when_one_agent_starts_a_hundred_times_then_nothing_piles_up():
    """The same for one agent that is started again and again."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        before = Belongings.now()
        for _ in range(100):
            assert agent.start().is_started
            assert agent.close().clean
        assert_nothing_added(before)


def test_cycles_when_on_the_real_harness_then_nothing_piles_up(make_agent):
    """Ten lives of the real harness, each with a turn."""
    with ScriptedModel("fine", loop=True) as model:
        agent = make_agent(model)
        before = Belongings.now()
        for _ in range(10):
            with agent:
                assert agent.chat("hi").text == "fine"
            assert agent.close().clean
            assert threads_of_ours() == []
        # The model keeps a thread for each connection until it sees its end.
        assert_nothing_added(before)


def all_at_once(agents: list[Agent]) -> None:
    barrier = threading.Barrier(len(agents))

    def live(agent: Agent) -> str:
        barrier.wait(CEILING)
        with agent:
            text = agent.chat("hi").text
            barrier.wait(CEILING)  # so that all of them run at the same time
        assert agent.close().clean
        return text

    texts = [task.result() for task in [Task(lambda a=a: live(a)) for a in agents]]
    assert texts == ["fine"] * len(agents)


def test_at_once_when_eight_then_all_work_and_nothing_is_left():
    """Eight agents in eight threads start, talk and close without getting in each other's way."""
    with FakeHarness(version=VERSION, default_turn="fine") as fake:
        before = Belongings.now()
        all_at_once([fake_agent(fake) for _ in range(8)])
        assert threads_of_ours() == []
        assert_nothing_added(before)
        assert len(set(fake.pids)) == 8


def test_at_once_when_eight_real_ones_then_all_work_and_nothing_is_left(make_agent):
    """The same with eight real processes."""
    with ScriptedModel("fine", loop=True) as model:
        before = Belongings.now()
        all_at_once([make_agent(model) for _ in range(8)])
        assert threads_of_ours() == []
        assert_nothing_added(before)


# ── waiting ─────────────────────────────────────────────────────────────────────────────────────


def switches(thread: threading.Thread) -> int:
    """Return how often a thread has gone to sleep, and so how often it had woken up."""
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return sum(int(n) for n in re.findall(r"voluntary_ctxt_switches:\s+(\d+)", status))


def test_idle_when_nothing_happens_then_four_threads_and_none_of_them_wakes(make_agent):
    """An agent that waits costs four sleeping threads; none of them polls."""
    with ScriptedModel("fine") as model, make_agent(model) as agent:
        assert agent.chat("hi").text == "fine"
        ours = threads_of_ours()
        number = ours[0].name.split("-")[1]
        expected = {f"agsync-{number}-{role}" for role in ("stdout", "stderr", "pump", "reader")}
        assert {thread.name for thread in ours} == expected
        assert all(thread.daemon for thread in ours)
        pause = threading.Event()
        before: list[int] = []
        # What follows the end of a turn may still be on its way, so the first quiet spell counts.
        for _ in range(20):
            before = [switches(thread) for thread in ours]
            pause.wait(0.5)
            if before == [switches(thread) for thread in ours]:
                break
        else:
            raise AssertionError(f"they keep waking: {before}, {[switches(t) for t in ours]}")


def test_import_when_no_agent_is_started_then_no_thread():
    """Making an agent starts nothing."""
    before = threading.enumerate()
    Agent(api_key="k")
    assert threading.enumerate() == before
