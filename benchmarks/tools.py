"""Tool calls against the real harness: this SDK, one by hand, the official one; and rules alone.

One turn makes 200 calls of a tool. The first two clients live in one child process, are sent the
same and answer the same: a hook that asks whether a call may run, and the call. They take turns, a
turn here, a turn there, each in a conversation of its own; the official SDK, in a child of its own
in between, is asked and answers the same too. The scripted model answers from this process, so it
costs all the same.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import side_by_side as side
from raw_client import RawClient
from side_by_side import Row, official_python, options, run_child, show, verdict
from turns import VERSION, Contest, init_message, timed

from antigravity_sync import Agent, policy, tool
from antigravity_sync._transport.install import install_harness
from antigravity_sync.hooks import ToolInvocation
from antigravity_sync.policy import Policy, PolicySet
from antigravity_sync.testing import ScriptedModel, call

CALLS = 200
CALL_BAR = 1.15
#: What we add to a call by hand, of what the official SDK adds.
OFFICIAL_BAR = 1 / 2
#: Blocks in which the official SDK takes turns with the others.
BLOCKS = 3
RULES = 200
#: Microseconds for one call against all the rules.
RULES_BAR = 50.0


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# ── the child ───────────────────────────────────────────────────────────────────────────────────


class ToolClient(RawClient):
    """Lets every call run and adds what it is given, with no more than it takes."""

    def turn_of_calls(self, prompt: str) -> int:
        """Send a prompt; return how many calls were made by the time the turn is over."""
        made = 0
        recv, send = self.ws.recv, self.ws.send
        send(json.dumps({"userInput": prompt}))
        while True:
            frame = json.loads(recv())
            wanted = frame.get("toolCall")
            if wanted is not None:
                given = json.loads(wanted["argumentsJson"])
                result = json.dumps({"result": given["a"] + given["b"]})
                answer = {"id": wanted["id"], "responseJson": result}
                send(json.dumps({"toolResponse": answer}))
                made += 1
                continue
            hook = frame.get("callHookRequest")
            if hook is not None:
                result = {"emptyResult": {}}
                if hook["type"] == "LIFECYCLE_HOOK_PRE_TOOL":
                    result = {"preToolResult": {"decision": "ALLOW"}}
                send(json.dumps({"callHookResponse": {"requestId": hook["requestId"], **result}}))
                continue
            update = frame.get("trajectoryStateUpdate")
            if update is not None and self._is_end(update):
                return made


class ToolContest(Contest):
    """Makes clients of both kinds that offer one tool."""

    def __init__(self, model_options: dict[str, Any]) -> None:
        super().__init__({**model_options, "tools": [add], "policies": [policy.allow("add")]})

    def prepare_raw(self) -> Callable[[], ToolClient]:
        """Return what starts a raw client, its directories made and its first message written."""
        storage = tempfile.mkdtemp(dir=self._storage.name)
        app_data = str(Path(storage, "app_data"))
        os.mkdir(app_data)
        init = init_message(self.config, app_data)
        return lambda: ToolClient(self.path, storage, init, dict(os.environ))


def make_turn(client: Any) -> int:
    """Have a client make a turn; return how many calls it was asked for."""
    if isinstance(client, Agent):
        response = client.chat("go")
        assert response.text == "ok", response
        return sum(entry.result is not None for entry in response.tool_calls)
    made: int = client.turn_of_calls("go")
    return made


def measure_calls(contest: ToolContest, times: int) -> dict[str, list[float]]:
    """Measure turns of each; milliseconds per call.

    Each turn has a fresh conversation: the harness's own work grows with the length of one.
    """
    got: dict[str, list[float]] = {"ours": [], "raw": []}
    for round_ in range(times + 1):
        makers = [("ours", contest.agent), ("raw", contest.raw)]
        for name, make in makers if round_ % 2 else makers[::-1]:
            client: Any = make()
            took, made = timed(lambda client=client: make_turn(client))
            client.close()
            assert made == CALLS, f"{name} made {made} calls"
            if round_:  # the first one loads what is loaded lazily
                got[name].append(took / CALLS)
    return got


def child(job: dict[str, Any]) -> None:
    print(json.dumps(measure_calls(ToolContest(job["model"]), job["times"])))


def measure_all(job: str) -> dict[str, list[float]]:
    """Measure all three clients in turns; milliseconds per call."""
    official = official_python()
    got: dict[str, list[float]] = {"ours": [], "raw": [], "official": []}
    for _ in range(BLOCKS):
        for python, script in ((sys.executable, "tools.py"), (official, "tools_official.py")):
            for name, values in run_child(python, script, job).items():
                got[name] += values
    return got


def compare_calls(got: dict[str, list[float]]) -> list[bool]:
    rows = {name: Row(name, values) for name, values in got.items()}
    ours, raw, official = (rows[name].median for name in ("ours", "raw", "official"))
    show(f"a tool call, of {CALLS} in one turn", "ms", rows.values(), against=rows["raw"])
    added = (ours - raw) / (official - raw)
    return [
        verdict("ours / raw", ours / raw, CALL_BAR),
        verdict("what we add / what the official SDK adds", added, OFFICIAL_BAR),
    ]


# ── rules ───────────────────────────────────────────────────────────────────────────────────────


def rule_sets() -> dict[str, list[Policy]]:
    """Return 200 rules in which a call finds its own at once, and 200 that are all asked."""

    def never(asked: ToolInvocation) -> bool:
        return asked.args["a"] == -1

    others = [policy.deny(f"tool_{number}") for number in range(RULES - 2)]
    return {
        "of 200 tools": [*others, policy.deny("*"), policy.allow("add")],
        "all about this one": [policy.deny("add", when=never) for _ in range(RULES)],
    }


def measure_rules(rules: list[Policy], times: int) -> dict[str, list[float]]:
    """Measure one call against rules, sorted once as an agent has them, and plain; microseconds."""
    asked = ToolInvocation("add", {"a": 1, "b": 2}, {"a": 1, "b": 2}, "", "id", "main", True)
    known = PolicySet(rules)
    assert known.evaluate(asked) == policy.evaluate(rules, asked)
    ways = {
        "as an agent asks": lambda: known.evaluate(asked),
        "policy.evaluate": lambda: policy.evaluate(rules, asked),
    }
    got: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, ask in ways.items():
            began = time.perf_counter()
            for _ in range(100):
                ask()
            got[name].append((time.perf_counter() - began) * 1e4)
    return got


# ── the parent ──────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    is_quick = options(__doc__ or "").quick
    install_harness(VERSION, progress=print)
    calls = [call("add", a=1, b=number) for number in range(CALLS)]
    with ScriptedModel(calls, "ok", loop=True, max_requests=1) as model:
        job = {"model": model.agent_options(), "calls": CALLS, "times": 2 if is_quick else 8}
        got = measure_all(json.dumps(job))
    results = compare_calls(got)
    for title, rules in rule_sets().items():
        measured = measure_rules(rules, 20 if is_quick else 100)
        rows = [Row(name, values) for name, values in measured.items()]
        show(f"a call against {RULES} rules, {title}", "µs", rows)
        results += [verdict(row.name, row.median, RULES_BAR, unit=" µs") for row in rows]
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    assert side.ROOT  # imported first: it puts the checkout on the path
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        child(json.loads(sys.argv[1]))
    else:
        main()
