"""One agent at a time has a conversation open, in this process or any other."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import pytest

from antigravity_sync import Agent
from antigravity_sync.errors import (
    ConversationBusyError,
    ConversationNotFoundError,
    LaunchError,
    SessionLostError,
)
from antigravity_sync.testing.fake_harness import FakeHarness, drop, running, user_echo
from tests.gates import Task
from tests.leaks import state
from tests.loop.fakes import VERSION, fake_agent
from tests.loop.scripts import Script, orphans_come_to_us

HOLDER = """
agent = make(save_dir=sys.argv[2], conversation_id="bob").start()
print("open", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def _reaper():
    with orphans_come_to_us():
        yield


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "saved"


def make(fake: FakeHarness, saved: Path, **options: object) -> Agent:
    return fake_agent(fake, **{"save_dir": saved, "conversation_id": "bob", **options})


def refused(fake: FakeHarness, saved: Path, **options: object) -> ConversationBusyError:
    count = len(fake.pids)
    with pytest.raises(ConversationBusyError) as caught:
        make(fake, saved, **options).start()
    assert len(fake.pids) == count, "a harness was started"
    return caught.value


def locks(saved: Path) -> list[str]:
    return [path.name for path in saved.glob("*.lock")]


def test_second_agent_when_the_first_is_open_then_busy_by_either_id(saved):
    """No harness is started for it, and when the first is closed it can go on."""
    with FakeHarness(version=VERSION) as fake:
        with make(fake, saved) as first:
            first.chat("hi")
            assert (first.conversation_id, first.chat("ho").conversation_id) == ("bob", "bob")
            wire_id = first._engine.store.wire_id
            for name in ("bob", wire_id):
                error = refused(fake, saved, conversation_id=name, resume="must")
                assert error.pid == os.getpid()
                assert "another agent of this program" in str(error)
                assert pickle.loads(pickle.dumps(error)).pid == os.getpid()
            with make(fake, saved, conversation_id="alice") as other:
                assert other.initial_history == ()
        assert locks(saved) == []
        with make(fake, saved, conversation_id=wire_id, resume="must") as second:
            assert second.conversation_id == wire_id
            assert [step.text for step in second.initial_history] == ["hi", "ok", "ho", "ok"]


def test_many_agents_when_started_at_once_then_one_of_them_is(saved):
    """The others are told that it is busy."""
    with FakeHarness(version=VERSION) as fake:
        agents = [make(fake, saved) for _ in range(6)]
        tasks = [Task(agent.start) for agent in agents]
        outcomes = []
        for task in tasks:
            try:
                outcomes.append(task.result())
            except ConversationBusyError:
                outcomes.append(None)
        assert len([one for one in outcomes if one is not None]) == 1
        for agent in agents:
            agent.close()
        assert locks(saved) == []


def test_second_agent_when_another_process_has_it_then_busy_until_that_dies(saved):
    """The error says which process; its death, however sudden, frees the conversation."""
    with FakeHarness(version=VERSION) as fake:
        script = Script(HOLDER, fake.path, str(saved))
        script.expect("open")
        error = refused(fake, saved)
        assert error.pid == script.pid
        assert f"in process {script.pid}" in str(error)
        script.process.kill()
        assert script.end().code == -9
        with make(fake, saved, resume="must") as agent:
            assert agent.chat("hi").text == "ok"
        assert locks(saved) == []


def test_second_agent_when_only_the_owner_of_the_harness_died_then_busy_until_the_harness_did(
    saved,
):
    """A harness that lingers still writes; two of them would spoil the conversation."""
    with FakeHarness(version=VERSION, ignore_eof=True) as fake:
        script = Script(HOLDER, fake.path, str(saved))
        script.expect("open")
        (harness,) = fake.pids
        script.process.kill()
        assert script.end().code == -9
        for _ in range(2):
            with pytest.raises(ConversationBusyError) as caught:
                make(fake, saved).start(timeout=0.1)
            assert caught.value.pid == harness
        assert state(harness) != "gone"
        os.kill(harness, signal.SIGKILL)
        with make(fake, saved, close_timeout=0.5) as agent:
            assert agent.chat("hi").text == "ok"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_when_the_child_lives_or_ends_then_the_lock_is_the_parents_alone(saved):
    """A child keeps nothing locked, and frees nothing."""
    with FakeHarness(version=VERSION) as fake, make(fake, saved) as first:
        for leave in (os._exit, None):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(writer)
                if leave is not None:
                    first.close()
                    leave(0)
                os.read(reader, 1)
                os._exit(0)
            os.close(reader)
            if leave is not None:
                assert os.waitpid(pid, 0)[1] == 0
                refused(fake, saved)
            else:
                first.close()
                with make(fake, saved) as second:
                    assert second.is_started
            os.close(writer)
        os.waitpid(pid, 0)


def test_heal_when_the_connection_was_down_then_still_held(saved):
    """Between two connections of one agent nobody else gets in."""
    script = [running(), user_echo(), drop()]
    with FakeHarness(script, version=VERSION) as fake, make(fake, saved) as agent:
        with pytest.raises(SessionLostError):
            agent.chat("hi")
        refused(fake, saved)
        assert agent.chat("again").text == "ok"
        refused(fake, saved)
        assert agent.conversation_id == "bob"


def test_reset_when_done_then_the_lock_moves_to_the_new_conversation(saved):
    """The old one keeps its id and is free; the new one has an id of its own."""
    with FakeHarness(version=VERSION) as fake, make(fake, saved) as agent:
        agent.chat("hi")
        agent.reset()
        new = agent.conversation_id
        assert new != "bob"
        assert agent.chat("ho").conversation_id == new
        assert locks(saved) == [f"{new}.lock"]
        refused(fake, saved, conversation_id=new)
        with make(fake, saved, resume="must") as other:
            assert [step.text for step in other.initial_history] == ["hi", "ok"]
        agent.close()
        with agent:
            assert agent.conversation_id == new
            assert [step.text for step in agent.initial_history] == ["ho", "ok"]


def test_start_when_it_fails_then_nothing_is_held(saved):
    """Whatever comes of a start, the next one is not told that it is busy."""
    with FakeHarness(version=VERSION, exit_at="init") as fake:
        for _ in range(2):
            with pytest.raises(LaunchError) as caught:
                make(fake, saved).start()
            assert not isinstance(caught.value, ConversationBusyError)
        with pytest.raises(ConversationNotFoundError):
            make(fake, saved, conversation_id="nobody", resume="must").start()
        assert locks(saved) == []


def test_death_when_told_then_another_agent_can_go_on_without_a_close(saved):
    """What has died holds nothing, and starts again only if nobody else has gone on."""
    with FakeHarness(version=VERSION) as fake, make(fake, saved) as first:
        first.chat("hi")
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError):
            first.chat("again")
        with make(fake, saved) as second:
            assert second.chat("ho").text == "ok"
            with pytest.raises(ConversationBusyError):
                first.start()
        with first:
            assert len(first.initial_history) == 4


def test_start_again_when_its_conversation_was_removed_then_said_so(saved):
    """An agent that had one does not begin another in silence."""
    with FakeHarness(version=VERSION) as fake:
        agent = make(fake, saved, conversation_id=None)
        with agent:
            agent.chat("hi")
        for path in saved.glob("*.db"):
            path.unlink()
        with pytest.raises(ConversationNotFoundError):
            agent.start()
