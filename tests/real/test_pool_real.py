"""Pools of real agents: bounds, sessions, deaths, forks, and nothing left at the end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync import AgentPool
from antigravity_sync.errors import (
    AgentClosedError,
    ConfigError,
    ConversationBusyError,
    HarnessNotFoundError,
    PoolClosedError,
    PoolTimeoutError,
    SessionLostError,
)
from antigravity_sync.testing import ModelRequest, ScriptedModel
from tests.gates import CEILING, Gate, Task, wait_until
from tests.leaks import state
from tests.versions import harness_path

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]


@pytest.fixture
def make_pool(version, tmp_path, _leaves_nothing) -> Iterator[Callable[..., AgentPool]]:
    """Make pools on harnesses of `version`; all are closed at the end."""
    made: list[AgentPool] = []
    (tmp_path / "workspace").mkdir()

    def make(model: ScriptedModel, **options: object) -> AgentPool:
        defaults = {
            "harness_path": harness_path(version),
            "workspaces": [tmp_path / "workspace"],
            "env": {"HOME": str(tmp_path)},
            **model.agent_options(),
        }
        made.append(AgentPool(**{**defaults, **options}))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def echoing(request: ModelRequest) -> str:
    """Answer with the names that were said in the whole conversation, `nobody` if none were."""
    return " ".join(re.findall(r"I am (\w+)", str(request.contents))) or "nobody"


def test_pool_when_many_threads_lease_then_bounds_hold_and_nobody_meets_another(make_pool):
    """24 leases, 6 at a time on 2 processes: every answer is for its own question alone."""
    out, most, lock = set(), [], threading.Lock()

    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, max_size=6, per_process=3) as pool,
    ):

        def visit(name: str) -> list[str]:
            with pool.agent() as agent:
                with lock:
                    out.add(name)
                    most.append((len(out), pool.stats().processes))
                answers = [agent.chat(f"I am {name}").text, agent.chat("who?").text]
                with lock:
                    out.remove(name)
                return answers

        names = [f"zqx{number}" for number in range(24)]
        tasks = [Task(lambda name=name: visit(name)) for name in names]
        for name, task in zip(names, tasks, strict=True):
            first, second = task.result()
            assert set(first.split()) == set(second.split()) == {name}
        assert max(leases for leases, _ in most) <= 6
        assert max(processes for _, processes in most) == 2
        assert pool.stats().leased == 24
        assert (pool.stats().boots, pool.stats().deaths, pool.stats().leases) == (2, 0, 0)
        report = pool.close()
    assert report.clean, report


def test_session_when_leased_again_then_it_goes_on_and_one_has_it_at_a_time(make_pool, tmp_path):
    """By its key, on whichever process; a second caller waits, or is told at its deadline."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, save_dir=tmp_path / "saved", per_process=1) as pool,
    ):
        with pool.session("user:42") as agent:
            agent.chat("I am ada")
            with (
                pytest.raises(ConversationBusyError),
                pool.session("user:42", timeout=0.2),
            ):
                raise AssertionError
            gate = Gate()

            def wait() -> str:
                gate.arrived.set()
                with pool.session("user:42") as mine:
                    return mine.chat("who?").text

            waiter = Task(wait)
            gate.wait_arrived()
            with pool.session("user:43") as other:
                assert other.chat("who?").text == "nobody"
        assert set(waiter.result().split()) == {"ada"}


def test_session_when_another_process_has_it_then_it_is_waited_for(make_pool, tmp_path):
    """Two pools stand for two processes: what they share is the lock in the directory."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, save_dir=tmp_path / "saved") as one,
        make_pool(model, save_dir=tmp_path / "saved") as two,
    ):
        with one.session("ada") as agent:
            agent.chat("I am ada")

            gate = Gate()

            def join() -> str:
                gate.arrived.set()
                with two.session("ada") as mine:
                    return mine.chat("who?").text

            waiter = Task(join)
            gate.wait_arrived()
        assert set(waiter.result().split()) == {"ada"}


def test_pool_when_a_process_is_killed_then_its_leases_fail_and_the_next_works(make_pool):
    """Each lease hears of it, and the place is free again."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, max_size=2) as pool,
    ):
        with pytest.raises(SessionLostError), pool.agent() as agent:
            agent.chat("I am zqx")
            os.kill(agent.pid, signal.SIGKILL)
            agent.chat("who?")
        with pool.agent() as agent:
            assert agent.chat("I am zqx").text == "zqx"
        stats = pool.stats()
        assert (stats.deaths, stats.boots, stats.leases) == (1, 2, 0)


def test_pool_when_a_process_is_frozen_then_it_gets_no_more_leases(make_pool):
    """It does not answer the end of a conversation, so it is ended and another one started."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, close_timeout=2.0) as pool,
    ):
        with pool.agent() as agent:
            frozen = agent.pid
            os.kill(frozen, signal.SIGSTOP)
            wait_until(lambda: state(frozen).endswith("T"), "the frost")
        with pool.agent() as agent:
            assert agent.pid != frozen
            assert agent.chat("I am zqx").text == "zqx"
        wait_until(lambda: not os.path.exists(f"/proc/{frozen}"), "its end")


def test_pool_when_all_are_out_then_a_waiter_is_told_at_its_deadline(make_pool):
    """With what to do about it; the body's own error goes up and gives the agent back."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, max_size=1) as pool,
        pytest.raises(KeyError),
        pool.agent() as agent,
    ):
        with pytest.raises(PoolTimeoutError, match="max_size"), pool.agent(timeout=0.05):
            raise AssertionError
        assert agent.chat("I am zqx").text == "zqx"
        raise KeyError


def test_pool_when_idle_then_its_processes_end_and_the_thread_with_them(make_pool):
    """And the next lease starts one again."""
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, max_idle=0.05) as pool,
    ):
        for _ in range(2):
            with pool.agent() as agent:
                pid = agent.pid
            wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), "the end of it")
            wait_until(
                lambda: not any(each.name == "agsync-pool" for each in threading.enumerate()),
                "the end of the thread",
            )
            assert pool.stats().processes == 0


def test_pool_when_closed_then_agents_and_waiters_are_told(make_pool):
    """Whoever has one finds it closed; whoever waits does not wait on."""
    with ScriptedModel(echoing, loop=True) as model:
        pool = make_pool(model, max_size=1)

        def wait() -> None:
            with pool.agent():
                raise AssertionError

        with pool.agent() as agent:
            waiter = Task(wait)
            wait_until(lambda: pool.stats().waiting == 1, "the waiter")
            report = pool.close()
            with pytest.raises(PoolClosedError):
                waiter.result()
            with pytest.raises(AgentClosedError):
                agent.chat("still there?")
        assert report.leftovers == ()
        with pytest.raises(PoolClosedError), pool.agent():
            raise AssertionError


def test_pool_when_drained_then_those_that_are_out_are_waited_for(make_pool):
    """For a deployment: nobody new, nobody cut off."""
    with ScriptedModel(echoing, loop=True) as model:
        pool, gate = make_pool(model), Gate()

        def visit() -> str:
            with pool.agent() as agent:
                gate.pass_through()
                return agent.chat("I am zqx").text

        visitor = Task(visit)
        gate.wait_arrived()
        drainer = Task(pool.drain)
        with pytest.raises(PoolClosedError):
            while True:
                with pool.agent():
                    pass
        gate.open()
        assert drainer.result() is True
        assert visitor.result() == "zqx"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_pool_when_forked_then_the_child_has_one_of_its_own(make_pool):
    """A server that forks its workers may use the pool before and after."""
    with ScriptedModel(echoing, loop=True) as model:
        pool = make_pool(model)
        with pool.agent() as agent:
            mine = agent.pid
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    with pool.agent() as theirs:
                        is_fine = theirs.pid != mine and theirs.chat("I am zqx").text == "zqx"
                    pool.close()
                    code = 0 if is_fine else 2
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
            assert agent.chat("I am zqx").text == "zqx"


def test_session_when_there_is_no_save_dir_or_no_key_then_refused():
    """It could not be gone on with."""
    with pytest.raises(ConfigError, match="save_dir"), AgentPool().session("x"):
        raise AssertionError
    with pytest.raises(ConfigError, match="empty"), AgentPool(save_dir="x").session(""):
        raise AssertionError


class Ledger:
    """A lock of a user's own: in memory, and with a record of who had it when."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self.log: list[str] = []

    @contextlib.contextmanager
    def held(self, key: str, *, timeout: float | None) -> Iterator[None]:
        lock = self._locks.setdefault(key, threading.Lock())
        if not lock.acquire(timeout=-1 if timeout is None else timeout):
            raise ConversationBusyError("somebody else has it; try later")
        self.log.append(f"take {key}")
        try:
            yield
        finally:
            self.log.append(f"free {key}")
            lock.release()


def test_session_when_the_lock_is_the_users_own_then_it_holds_pools_apart(make_pool, tmp_path):
    """It is free again however a lease ends: its end, an error, an interrupt, no agent at all."""
    ledger = Ledger()
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, save_dir=tmp_path / "saved", session_lock=ledger) as pool,
        make_pool(model, save_dir=tmp_path / "saved", session_lock=ledger) as other,
    ):
        with pool.session("ada") as agent:
            assert agent.chat("I am ada").text == "ada"
            with pytest.raises(ConversationBusyError, match="somebody else has it"):
                other.session("ada", timeout=0.05).__enter__()
        with other.session("ada") as agent:
            assert agent.chat("who?").text == "ada"
        for error in (ValueError("mine"), KeyboardInterrupt()):
            with pytest.raises(type(error)), pool.session("ada"):
                raise error
        missing = tmp_path / "none"
        broken = make_pool(
            model, save_dir=tmp_path / "saved", session_lock=ledger, harness_path=missing
        )
        with pytest.raises((ConfigError, HarnessNotFoundError)):
            broken.session("ada").__enter__()
        assert not os.path.exists(tmp_path / "saved" / ".locks")
    assert ledger.log == ["take ada", "free ada"] * 5


def test_session_when_a_pool_of_another_process_has_it_then_its_pid_is_told(make_pool, tmp_path):
    """And it is free when that process is killed, however that happens."""
    script = (
        "import sys\n"
        "from antigravity_sync import FileSessionLock\n"
        "with FileSessionLock(sys.argv[1]).held('ada', timeout=0.0):\n"
        "    print('taken', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    saved = tmp_path / "saved"
    with (
        ScriptedModel(echoing, loop=True) as model,
        make_pool(model, save_dir=saved) as pool,
        subprocess.Popen(
            [sys.executable, "-c", script, str(saved / ".locks")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as other,
    ):
        assert other.stdout.readline() == "taken\n"
        with pytest.raises(ConversationBusyError, match=f"process {other.pid}") as caught:
            pool.session("ada", timeout=0.05).__enter__()
        assert caught.value.pid == other.pid
        with pool.session("bob") as agent:
            assert agent.chat("I am bob").text == "bob"
        other.kill()
        with pool.session("ada", timeout=CEILING) as agent:
            assert agent.chat("I am ada").text == "ada"
