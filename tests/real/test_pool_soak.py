"""Minutes of a pool under abuse; `pytest -m soak tests/real/test_pool_soak.py`.

200 threads lease, talk, cancel and time out while processes are killed and frozen under them.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION, AgentPool
from antigravity_sync.errors import AntigravityError, InternalError
from antigravity_sync.testing import ModelRequest, ScriptedModel
from tests.versions import harness_path

pytestmark = [pytest.mark.real, pytest.mark.soak]

THREADS, MAX_SIZE, PER_PROCESS = 200, 16, 4
SECONDS = float(os.environ.get("ANTIGRAVITY_SYNC_SOAK_SECONDS", "300"))
#: What the slowest visit may take: all that wait before it, with a kill in each.
VISIT_CEILING = 120.0


def echo(request: ModelRequest) -> str:
    return re.findall(r"tag-\w+", str(request.contents))[-1]


class Visitors:
    """Counts what becomes of visits, and how many agents are out at once."""

    def __init__(self, pool: AgentPool, until: float) -> None:
        self.pool = pool
        self.until = until
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.pids: set[int] = set()
        self.most = 0
        self._out = 0
        self._lock = threading.Lock()

    def visit(self, number: int) -> None:
        chance = random.Random(number)
        count = 0
        while time.monotonic() < self.until:
            count += 1
            began = time.monotonic()
            try:
                outcome = self._once(chance, f"tag-{number}x{count}")
            except AntigravityError as error:
                outcome = type(error).__name__
                if isinstance(error, InternalError):
                    self.problems.append(repr(error))
            except BaseException as error:  # noqa: BLE001 - anything else is what we look for
                outcome = "defect"
                self.problems.append(repr(error))
            with self._lock:
                self.outcomes[outcome] += 1
                if time.monotonic() - began > VISIT_CEILING:
                    self.problems.append(f"a visit took {time.monotonic() - began:.0f} s")

    def _once(self, chance: random.Random, tag: str) -> str:
        with self.pool.agent(timeout=chance.choice([0.05, 5.0, 60.0])) as agent:
            with self._lock:
                self._out += 1
                self.most = max(self.most, self._out)
                self.pids.add(agent.pid)
            try:
                for turn in range(chance.randint(1, 3)):
                    said = f"{tag}x{turn}"
                    if chance.random() < 0.1:
                        agent.stream(said).cancel()
                        continue
                    timeout = 0.01 if chance.random() < 0.05 else 30.0
                    response = agent.chat(said, timeout=timeout)
                    if response.text != said and not response.cancelled:
                        self.problems.append(f"{said} was answered by {response.text!r}")
            finally:
                with self._lock:
                    self._out -= 1
        return "answered"


def test_pool_when_abused_for_minutes_then_bounds_hold_and_nothing_is_left():
    """Every visit ends in an answer or a typed error."""
    with ScriptedModel(echo, loop=True) as model:
        pool = AgentPool(
            harness_path=harness_path(SUPPORTED_HARNESS_VERSION),
            max_size=MAX_SIZE,
            per_process=PER_PROCESS,
            close_timeout=5.0,
            **model.agent_options(),
        )
        visitors = Visitors(pool, time.monotonic() + SECONDS)
        threads = [
            threading.Thread(target=visitors.visit, args=(number,), name=f"visitor-{number}")
            for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        chance, stop = random.Random(0), threading.Event()
        killed = 0
        while time.monotonic() < visitors.until:
            stop.wait(chance.uniform(0.5, 3.0))
            alive = [pid for pid in sorted(visitors.pids) if os.path.exists(f"/proc/{pid}")]
            if alive:
                killed += 1
                how = signal.SIGSTOP if chance.random() < 0.1 else signal.SIGKILL
                os.kill(chance.choice(alive), how)
        for thread in threads:
            thread.join(VISIT_CEILING)
        assert not any(thread.is_alive() for thread in threads)
        stats = pool.stats()
        report = pool.close(timeout=10.0)
    print(f"\n{dict(visitors.outcomes)}\n{killed} killed, {stats}\n{report}")  # noqa: T201 - figures
    assert visitors.problems == []
    assert visitors.most <= MAX_SIZE
    assert visitors.outcomes["answered"] > THREADS
    assert (stats.leases, stats.waiting) == (0, 0)
    assert report.leftovers == ()
