"""Small turns, start-up and rest against the real harness, beside a client written by hand.

Both clients live in one child process and take turns: a turn here, a turn there; a start here, a
start there. In blocks of 20, whatever else the machine does moved two raw clients 7 % apart. The
raw client is one thread and sends the same first message. The scripted model answers from this
process, so it costs both the same.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import side_by_side as side
from meter import resident
from raw_client import RawClient
from side_by_side import Row, options, run_child, show, verdict

from antigravity_sync import Agent, AgentConfig
from antigravity_sync._transport.install import install_harness
from antigravity_sync.testing import ScriptedModel

VERSION = "0.1.10"
#: Turns of each client in one conversation.
SESSION = 20
TURN_BAR = START_BAR = 1.10
THREADS_BAR = 4
#: Milliseconds of CPU per second of rest: the clock's own resolution, no more.
IDLE_BAR = 0.5
IDLE_AGENTS = 6


# ── the child ───────────────────────────────────────────────────────────────────────────────────


def init_message(config: AgentConfig, app_data: str) -> str:
    """Return the first message that an agent with `config` sends."""
    from antigravity_sync._wire.dialect import Dialect
    from antigravity_sync._wire.render import Conversation, render_init
    from antigravity_sync.config import resolve_key

    return render_init(
        config,
        conversation=Conversation(),
        api_key=resolve_key(config.text_model(), {}),
        app_data_dir=app_data,
        dialect=Dialect.of(VERSION),
        is_probe=False,
    ).text


class Contest:
    """Makes clients of both kinds with one configuration; `more` are options of the agent."""

    def __init__(self, model_options: dict[str, str], **more: Any) -> None:
        self.path = str(install_harness(VERSION))
        self.options = {
            **model_options,
            "harness_path": self.path,
            "workspaces": [os.getcwd()],
            **more,
        }
        self.config = AgentConfig(**self.options)
        self._storage = tempfile.TemporaryDirectory(prefix="bench-raw-")

    def agent(self) -> Agent:
        return Agent(self.config).start()

    def raw(self) -> RawClient:
        return self.prepare_raw()()

    def prepare_raw(self) -> Callable[[], RawClient]:
        """Return what starts a raw client, its directories made and its first message written."""
        # Where an agent's own directory would be: not inside the workspace.
        storage = tempfile.mkdtemp(dir=self._storage.name)
        app_data = str(Path(storage, "app_data"))
        os.mkdir(app_data)
        init = init_message(self.config, app_data)
        return lambda: RawClient(self.path, storage, init, dict(os.environ))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    got = call()
    return (time.perf_counter() - began) * 1e3, got


def measure_starts(contest: Contest, times: int) -> dict[str, list[float]]:
    got: dict[str, list[float]] = {"ours": [], "raw": []}
    for round_ in range(times + 1):
        makers = [("ours", contest.agent), ("raw", contest.prepare_raw())]
        for name, make in makers if round_ % 2 else makers[::-1]:
            took, client = timed(make)
            client.close()
            if round_:  # the first one loads what is loaded lazily
                got[name].append(took)
    return got


def measure_turns(contest: Contest, count: int) -> dict[str, list[float]]:
    """Measure `count` turns of each, `SESSION` per conversation.

    The harness sends the whole conversation to the model each time, so in a long one its own work
    hides the client's: the 200th turn takes twenty times as long as the first.
    """
    got: dict[str, list[float]] = {"ours": [], "raw": []}
    for session in range(count // SESSION):
        with contest.agent() as agent:
            raw = contest.raw()
            measure_session(agent, raw, got, is_raw_first=bool(session % 2))
            raw.close()
    return got


def measure_session(
    agent: Agent, raw: RawClient, got: dict[str, list[float]], *, is_raw_first: bool
) -> None:
    asks = [("ours", lambda: agent.chat("hi").text), ("raw", lambda: "".join(raw.turn("hi")))]
    if is_raw_first:
        asks.reverse()
    for _, ask in asks:
        ask()
    for _ in range(SESSION):
        for name, ask in asks:
            took, text = timed(ask)
            assert text == "ok", text
            got[name].append(took)


def measure_rest(contest: Contest, seconds: float) -> dict[str, Any]:
    contest.agent().close()  # what is loaded lazily is not the agent's
    threads_before, before = threading.active_count(), resident()
    agents = [contest.agent() for _ in range(IDLE_AGENTS)]
    for agent in agents:
        agent.chat("hi")
    grown = resident() - before
    names = [each.name for each in threading.enumerate() if each.name.startswith("agsync-")]
    added = threading.active_count() - threads_before
    began, cpu = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    cpu = time.process_time() - cpu
    wall = time.perf_counter() - began
    harness = [memory_of(agent.pid) for agent in agents]
    for agent in agents:
        agent.close()
    return {
        "cpu": cpu * 1e3 / wall / IDLE_AGENTS,
        "threads": added / IDLE_AGENTS,
        "names": sorted(name for name in names if name.startswith(names[0].rpartition("-")[0])),
        "memory": grown / IDLE_AGENTS,
        "harness": harness,
    }


def memory_of(pid: int | None) -> float:
    """Return the private memory of another process in bytes, 0 where that cannot be told."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    lines = [line.split() for line in rollup.splitlines() if line.startswith("Private")]
    return sum(int(line[1]) for line in lines) * 1024.0


def child(job: dict[str, Any]) -> None:
    contest = Contest(job["model"])
    measured = {
        "starts": measure_starts(contest, job["starts"]),
        "turns": measure_turns(contest, job["turns"]),
        "rest": measure_rest(contest, job["seconds"]),
    }
    print(json.dumps(measured))


# ── the parent ──────────────────────────────────────────────────────────────────────────────────


def compare(title: str, got: dict[str, list[float]], bar: float) -> bool:
    ours, raw = Row("ours", got["ours"]), Row("raw", got["raw"])
    show(title, "ms", (ours, raw), against=raw)
    return verdict("ours / raw", ours.median / raw.median, bar)


def main() -> None:
    is_quick = options(__doc__ or "").quick
    install_harness(VERSION, progress=print)
    with ScriptedModel("ok", loop=True) as model:
        job = {
            "model": model.agent_options(),
            "starts": 5 if is_quick else 41,
            "turns": 80 if is_quick else 400,
            "seconds": 1.0 if is_quick else 5.0,
        }
        got = run_child(sys.executable, "turns.py", json.dumps(job))
    rest = got["rest"]
    results = [
        compare("a turn of one word", got["turns"], TURN_BAR),
        compare("a start, from spawn to the open conversation", got["starts"], START_BAR),
    ]
    print(f"\nan idle agent (mean of {IDLE_AGENTS})")
    print(f"  threads: {', '.join(rest['names'])}")
    print(f"  memory of this process: {rest['memory'] / 1e6:.2f} MB per agent")
    print(f"  memory of its harness:  {sum(rest['harness']) / len(rest['harness']) / 1e6:.1f} MB")
    results.append(verdict("threads", rest["threads"], THREADS_BAR, unit=""))
    results.append(verdict("CPU at rest", rest["cpu"], IDLE_BAR, unit=" ms/s"))
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    assert side.ROOT  # imported first: it puts the checkout on the path
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        child(json.loads(sys.argv[1]))
    else:
        main()
