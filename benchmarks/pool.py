"""Many conversations on few processes: a pool of agents, beside raw clients under the same load.

64 threads with a conversation each on 8 processes, 10 turns in each. Every answer must be for its
own question. Then, one after the other: how long a lease takes on a process that runs, and how long
one of a conversation that is gone on with.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import side_by_side as side
from meter import resident
from raw_client import RawClient
from side_by_side import Row, options, run_child, show, verdict
from turns import VERSION, Contest, init_message, memory_of, timed

from antigravity_sync import AgentPool
from antigravity_sync._transport.install import install_harness
from antigravity_sync.testing import ModelRequest, ScriptedModel

PROCESSES, PER_PROCESS, TURNS = 8, 8, 10
WALL_BAR = 1.2
OUR_MEMORY_BAR, ITS_MEMORY_BAR = 3.0, 4.0
LEASE_BAR, RESUME_BAR = 25.0, 40.0


def echo(request: ModelRequest) -> str:
    """Answer with the last tag that was said."""
    return re.findall(r"tag-\w+", str(request.contents))[-1]


# ── the child ───────────────────────────────────────────────────────────────────────────────────


def talk(name: str, ask: Callable[[str], str], turns: int, wrong: list[str]) -> None:
    for number in range(turns):
        tag = f"tag-{name}x{number}"
        said = ask(tag)
        if said != tag:
            wrong.append(f"{tag} was answered by {said}")


def all_at_once(work: Sequence[Callable[[], None]]) -> float:
    """Run each on a thread of its own; return the seconds until the last is done."""
    threads = [threading.Thread(target=each) for each in work]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def measure_ours(contest: Contest, turns: int, wrong: list[str]) -> dict[str, float]:
    size = PROCESSES * PER_PROCESS
    gate = threading.Barrier(size + 1)
    pids: list[int] = []
    with AgentPool(contest.config, max_size=size, per_process=PER_PROCESS, timeout=120.0) as pool:
        with pool.agent() as first:  # what is loaded lazily is nobody's
            talk("warm", lambda tag: first.chat(tag).text, turns, wrong)
            alone = memory_of(first.pid)
        before = resident()

        def visit(name: str) -> None:
            with pool.agent() as agent:
                pids.append(agent.pid or 0)
                gate.wait()
                gate.wait()
                talk(name, lambda tag: agent.chat(tag).text, turns, wrong)
                gate.wait()
                gate.wait()

        threads = [
            threading.Thread(target=visit, args=(f"ours{number}",)) for number in range(size)
        ]
        for thread in threads:
            thread.start()
        gate.wait()
        began = time.perf_counter()
        gate.wait()
        gate.wait()
        wall = time.perf_counter() - began
        ours = (resident() - before) / size
        each = [memory_of(pid) for pid in set(pids)]
        its = (sum(each) / len(each) - alone) / (PER_PROCESS - 1)
        gate.wait()
        for thread in threads:
            thread.join()
    return {"wall": wall, "ours": ours / 1e6, "its": its / 1e6, "processes": len(each)}


def measure_raw(contest: Contest, turns: int, wrong: list[str]) -> float:
    hosts = [contest.raw() for _ in range(PROCESSES)]
    clients = list(hosts)
    with tempfile.TemporaryDirectory(prefix="bench-pool-") as place:
        init = init_message(contest.config, place)
        clients += [RawClient.beside(host, init) for host in hosts for _ in range(PER_PROCESS - 1)]
        work = [
            lambda client=client, number=number: talk(
                f"raw{number}", lambda tag: "".join(client.turn(tag)), turns, wrong
            )
            for number, client in enumerate(clients)
        ]
        wall = all_at_once(work)
        for client in clients[PROCESSES:]:
            client.ws.shutdown()
        for host in hosts:
            host.close()
    return wall


def measure_leases(contest: Contest, times: int) -> dict[str, list[float]]:
    fresh, resumed = [], []
    with (
        tempfile.TemporaryDirectory(prefix="bench-saved-") as saved,
        AgentPool(contest.config, save_dir=saved) as pool,
    ):
        with pool.session("somebody") as agent:
            agent.chat("tag-hello")
        for _ in range(times):
            lease = pool.agent()
            took, _ = timed(lease.__enter__)
            lease.__exit__(None, None, None)
            fresh.append(took)
            again = pool.session("somebody")
            took, _ = timed(again.__enter__)
            again.__exit__(None, None, None)
            resumed.append(took)
    return {"fresh": fresh, "resumed": resumed}


def child(job: dict[str, Any]) -> None:
    contest = Contest(job["model"])
    wrong: list[str] = []
    ours, raw = [], []
    for round_ in range(job["rounds"]):
        sides = [
            lambda: ours.append(measure_ours(contest, TURNS, wrong)),
            lambda: raw.append(measure_raw(contest, TURNS, wrong)),
        ]
        for measure in sides if round_ % 2 else sides[::-1]:
            measure()
    print(
        json.dumps(
            {
                "ours": ours,
                "raw": raw,
                "wrong": wrong,
                "leases": measure_leases(contest, job["leases"]),
            }
        )
    )


# ── the parent ──────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    is_quick = options(__doc__ or "").quick
    install_harness(VERSION, progress=print)
    with ScriptedModel(echo, loop=True) as model:
        job = {
            "model": model.agent_options(),
            "rounds": 1 if is_quick else 5,
            "leases": 11 if is_quick else 51,
        }
        got = run_child(sys.executable, "pool.py", json.dumps(job))
    ours = Row("ours", [each["wall"] for each in got["ours"]])
    raw = Row("raw", got["raw"])
    show(
        f"{PROCESSES * PER_PROCESS} threads on {PROCESSES} processes, {TURNS} turns each",
        "s",
        (ours, raw),
        against=raw,
    )
    results = [verdict("ours / raw", ours.median / raw.median, WALL_BAR)]
    fresh = Row("a new conversation", got["leases"]["fresh"])
    resumed = Row("one gone on with", got["leases"]["resumed"])
    show("a lease on a process that runs", "ms", (fresh, resumed), against=fresh)
    results += [
        verdict("a new conversation", fresh.median, LEASE_BAR, unit=" ms"),
        verdict("one gone on with", resumed.median, RESUME_BAR, unit=" ms"),
        # Of the first round: later ones find memory that this process has not given back.
        verdict("our memory per conversation", got["ours"][0]["ours"], OUR_MEMORY_BAR, unit=" MB"),
        verdict(
            "its memory", median(each["its"] for each in got["ours"]), ITS_MEMORY_BAR, unit=" MB"
        ),
        verdict("processes", max(each["processes"] for each in got["ours"]), PROCESSES, unit=""),
        verdict("wrong answers", float(len(got["wrong"])), 0.0, unit=""),
    ]
    for line in got["wrong"][:5]:
        print(f"  {line}")
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    assert side.ROOT  # imported first: it puts the checkout on the path
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        child(json.loads(sys.argv[1]))
    else:
        main()
