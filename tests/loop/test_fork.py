"""A fork shares nothing with its parent's agents, and disturbs nothing."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import tempfile
from pathlib import Path

import pytest

from antigravity_sync.errors import UsageError
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    idle,
    running,
    user_echo,
    wait_for_signal,
)
from tests.gates import CEILING
from tests.loop.fakes import VERSION, fake_agent
from tests.loop.scripts import (
    Script,
    adopted_exit_codes,
    assert_reaped_by_its_parent,
    orphans_come_to_us,
)

#: As it was before the fixtures moved it.
SHORT_TEMPORARY = tempfile.gettempdir()
HELD = [
    running(),
    user_echo(),
    delta("some"),
    wait_for_signal("go"),
    delta(" more"),
    done(),
    idle(),
]

HELPERS = """
import gc, traceback, warnings
from antigravity_sync.errors import ForkedProcessError
warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)

def refused(call):
    try:
        call()
    except ForkedProcessError as error:
        assert not error.session_usable
        assert "fork" in str(error)
    else:
        raise AssertionError("not refused: %r" % call)

def all_refused(agent):
    for call in (agent.start, agent.wait_idle, lambda: agent.chat("x"), lambda: agent.stream("x"),
                 lambda: agent.__enter__(), lambda: agent.chat("x", timeout=None)):
        refused(call)
    assert not agent.cancel()
    assert not agent.is_started
    agent.close()
    repr(agent), agent.history, agent.usage, agent.conversation_id, agent.is_idle, agent.pid

def fork(child, leave=os._exit):
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(15)  # a hang is a death by SIGALRM
    try:
        child()
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    leave(code)

def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def say(word):
    print(word, flush=True)

"""


@pytest.fixture(autouse=True)
def _reaper():
    with orphans_come_to_us():
        yield


def run(source: str, fake: FakeHarness) -> None:
    ended = Script(HELPERS + source, fake.path).end()
    assert (ended.code, ended.err) == (0, "")
    assert_reaped_by_its_parent(fake)


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_fork_when_idle_then_the_child_is_refused_and_the_parent_goes_on(leave):
    """Every call in the child raises at once; its end, orderly or not, is no concern of ours."""
    source = f"""
agent = make().start()
agent.chat("hi")
assert ended(fork(lambda: all_refused(agent), {leave})) == 0
assert agent.chat("hi").text == "ok"
report = agent.close()
assert report.clean, report
"""
    with FakeHarness(version=VERSION) as fake:
        run(source, fake)
        assert len(fake.pids) == 1


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_fork_when_a_turn_runs_then_the_child_cannot_touch_it(leave):
    """The turn is refused in the child, not ended by it, and goes on in the parent."""
    source = f"""
agent = make().start()
turn = agent.stream("hi")
next(turn)

def child():
    for call in (lambda: next(turn), turn.response, lambda: list(turn.text_deltas())):
        refused(call)
    assert not turn.cancel()
    with turn:
        pass
    turn.close()
    all_refused(agent)

assert ended(fork(child, {leave})) == 0
say("forked")
assert turn.response().text == "some more"
assert agent.close().clean
"""
    with FakeHarness(HELD, version=VERSION) as fake:
        script = Script(HELPERS + source, fake.path)
        script.expect("forked")
        assert "message:haltRequest" not in fake.events
        fake.signal("go")
        ended = script.end()
        assert (ended.code, ended.err) == (0, "")
        assert_reaped_by_its_parent(fake)


def test_fork_when_another_thread_is_inside_chat_then_no_lock_of_it_hangs_the_child():
    """Whatever the other threads hold at that moment, the child's calls return."""
    source = """
agent = make().start()
stop = threading.Event()

def work():
    while not stop.is_set():
        agent.chat("hi")

thread = threading.Thread(target=work)
thread.start()
for _ in range(40):
    assert ended(fork(lambda: all_refused(agent))) == 0
stop.set()
thread.join()
assert agent.close().clean
"""
    with FakeHarness(version=VERSION) as fake:
        run(source, fake)


def test_fork_when_another_thread_is_inside_start_then_the_child_can_start_its_own():
    """The start of a parent's thread is not the child's: there the agent is not started."""
    source = """
agent = make()
thread = threading.Thread(target=agent.start)
thread.start()
say("starting")
sys.stdin.readline()

def child():
    with agent:
        assert agent.chat("hi").text == "ok"

say("forked")
assert ended(fork(child)) == 0
thread.join()
assert agent.chat("hi").text == "ok"
assert agent.close().clean
"""
    with FakeHarness(version=VERSION, refuse_connections="listen") as fake:
        script = Script(HELPERS + source, fake.path)
        script.expect("starting")
        fake.wait_for_event("handshake")
        script.go_on()
        script.expect("forked")
        fake.signal("listen")
        ended = script.end()
        assert (ended.code, ended.err) == (0, "")
        assert len(fake.pids) == 2
        assert fake.events.count("exit:0") == 2


@pytest.mark.parametrize("moment", ["idle", "mid-turn", "start"])
def test_fork_when_the_child_lives_on_then_the_parents_close_is_not_held_up(moment):
    """The child has given up its copy of stdin, so the harness sees the end of it."""
    source = f"""
moment = {moment!r}
agent = make()
if moment == "start":
    thread = threading.Thread(target=agent.start)
    thread.start()
    say("ready")
    sys.stdin.readline()
else:
    agent.start()
    if moment == "mid-turn":
        turn = agent.stream("hi")
pid = fork(signal.pause)
if moment == "start":
    say("forked")
    thread.join()
report = agent.close()
assert (report.exit_code, report.forced) == (0, ()), report
os.kill(pid, signal.SIGKILL)
assert ended(pid) == -9
"""
    knobs = {"refuse_connections": "listen"} if moment == "start" else {}
    with FakeHarness(HELD, version=VERSION, **knobs) as fake:
        script = Script(HELPERS + source, fake.path)
        if moment == "start":
            script.expect("ready")
            fake.wait_for_event("handshake")
            script.go_on()
            script.expect("forked")
            fake.signal("listen")
        ended = script.end()
        assert (ended.code, ended.err) == (0, "")
        assert_reaped_by_its_parent(fake)
        assert "sigterm" not in fake.events


def test_fork_when_the_parent_dies_and_the_child_lives_then_the_harness_goes_too(tmp_path):
    """The harness belongs to the parent alone, and does not live on with a child of it."""
    source = """
agent = make().start()
pid = fork(signal.pause)
say(str(pid))
os._exit(0)
"""
    with FakeHarness(version=VERSION) as fake:
        script = Script(HELPERS + source, fake.path, temporary=tmp_path)
        child = int(script.process.stdout.readline())
        try:
            assert script.process.wait(CEILING) == 0
            assert adopted_exit_codes(fake) == [0]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert script.end().err == ""


def test_fork_when_the_child_makes_agents_of_its_own_then_they_work():
    """A new agent, one never started, and one closed before the fork all start in the child."""
    source = """
agent, unused, closed = make().start(), make(), make().start()
closed.close()

def child():
    for mine in (make(), unused, closed):
        with mine:
            assert mine.chat("hi").text == "ok"
    refused(lambda: agent.chat("x"))

assert ended(fork(child)) == 0
assert agent.chat("hi").text == "ok"
agent.close()
"""
    with FakeHarness(version=VERSION) as fake:
        run(source, fake)
        assert len(fake.pids) == 5


def test_fork_when_the_child_forgets_its_own_agent_then_it_is_closed_at_its_exit():
    """The child's exit closes the child's agents, and those alone."""
    source = """
agent = make().start()
made = []

def child():
    made.append(make().start())

assert ended(fork(child, sys.exit)) == 0
assert agent.chat("hi").text == "ok"
agent.close()
"""
    with FakeHarness(version=VERSION) as fake:
        run(source, fake)
        assert fake.events.count("exit:0") == 2


def test_fork_when_the_child_drops_the_agent_then_nothing_happens():
    """Garbage collection in the child warns of nothing and ends nothing."""
    source = """
agent = make().start()
turn = agent.stream("hi")

def child():
    global agent, turn
    del turn
    del agent
    gc.collect()

assert ended(fork(child, sys.exit)) == 0
say("forked")
assert turn.response().text == "some more"
agent.close()
"""
    with FakeHarness(HELD, version=VERSION) as fake:
        script = Script(HELPERS + source, fake.path)
        script.expect("forked")
        fake.signal("go")
        ended = script.end()
        assert (ended.code, ended.err) == (0, "")


def test_fork_when_the_child_forks_again_then_the_grandchild_is_refused_too():
    """The parent's agent stays the parent's, however many forks away."""
    source = """
agent = make().start()

def child():
    assert ended(fork(lambda: all_refused(agent))) == 0

assert ended(fork(child)) == 0
assert agent.chat("hi").text == "ok"
agent.close()
"""
    with FakeHarness(version=VERSION) as fake:
        run(source, fake)


# ── multiprocessing ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_when_the_worker_makes_its_own_agent_then_it_works(method, tmp_path):
    """Workers with agents of their own work beside the parent's, by every start method."""
    source = f"""
import multiprocessing, warnings
warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
from antigravity_sync import Agent

def work(path, queue):
    with Agent(harness_path=path, api_key="k") as agent:
        queue.put(agent.chat("hi").text)

if __name__ == "__main__":
    import sys
    context = multiprocessing.get_context({method!r})
    with Agent(harness_path=sys.argv[1], api_key="k") as agent:
        queue = context.SimpleQueue()
        workers = [context.Process(target=work, args=(sys.argv[1], queue)) for _ in range(2)]
        for worker in workers:
            worker.start()
        assert [queue.get(), queue.get()] == ["ok", "ok"]
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        assert agent.chat("hi").text == "ok"
"""
    program = tmp_path / "program.py"
    program.write_text(source)
    # A fork server listens on a socket in the temporary directory, whose path must be short.
    with (
        tempfile.TemporaryDirectory(dir=SHORT_TEMPORARY) as short,
        FakeHarness(version=VERSION) as fake,
    ):
        runner = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
        if method != "fork":
            # The workers import the program by its path, so it has to be the program itself.
            runner = f"os.execv(sys.executable, [sys.executable, {str(program)!r}, sys.argv[1]])"
        ended = Script(runner, fake.path, temporary=Path(short)).end()
        assert (ended.code, ended.err) == (0, "")
        assert len(fake.pids) == 3
        assert fake.events.count("exit:0") == 3


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_when_an_agent_or_turn_then_refused_with_a_sentence(copier):
    """Neither can be sent to another process or doubled, and the error says what to do."""
    with FakeHarness(HELD, version=VERSION) as fake:
        with pytest.raises(UsageError, match="cannot be pickled: make one"):
            copier(fake_agent(fake))
        with fake_agent(fake) as agent:
            with pytest.raises(UsageError, match="Agent cannot be pickled"):
                copier(agent)
            turn = agent.stream("hi")
            with pytest.raises(UsageError, match="Turn cannot be pickled"):
                copier(turn)
            fake.signal("go")
            assert turn.response().text == "some more"
