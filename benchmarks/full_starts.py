"""Start-up of an agent that was given a lot, beside a raw client with the same first message.

Three MCP servers, two subagents and ten tools. Servers are started by the harness at the first
turn, not at the start, so the way to the end of a first turn is shown too, without a bar.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import side_by_side as side
from side_by_side import Row, options, run_child, show, verdict
from turns import VERSION, Contest, timed

from antigravity_sync import Capabilities, McpServer, Subagent, Tool, policy
from antigravity_sync._transport.install import install_harness
from antigravity_sync.testing import ScriptedModel

BAR = 1.15
SERVER = side.ROOT / "tests" / "mcp_servers" / "plain.py"


def tools() -> Iterator[Tool]:
    for number in range(10):
        members = {"city": {"type": "string"}, "days": {"type": "integer"}}
        schema = {"type": "object", "properties": members, "required": ["city"]}
        yield Tool(f"tool_{number}", "Tell the weather.", schema, lambda **_: "fine")


def servers(place: Path) -> Iterator[McpServer]:
    for number in range(3):
        mode = place / f"{number}.mode"
        mode.write_text("")
        yield McpServer.stdio(sys.executable, [str(SERVER), str(mode)], name=f"server_{number}")


def measure(start: Callable[[], Any], turn: Callable[[Any], object]) -> tuple[float, float]:
    """Return the milliseconds of a start, and of a start with its first turn."""
    took, client = timed(start)
    longer, _ = timed(lambda: turn(client))
    client.close()
    return took, took + longer


def child(job: dict[str, Any]) -> None:
    got: dict[str, list[tuple[float, float]]] = {"ours": [], "raw": []}
    with tempfile.TemporaryDirectory(prefix="bench-servers-") as place:
        contest = Contest(
            job["model"],
            capabilities=Capabilities.read_only().enable("start_subagent"),
            policies=[policy.allow_all()],
            contain_workspaces=False,
            mcp_servers=list(servers(Path(place))),
            subagents=[Subagent("reader", description="reads"), Subagent("critic")],
            tools=list(tools()),
        )
        for round_ in range(job["times"] + 1):
            sides = [
                ("ours", contest.agent, lambda agent: agent.chat("hi")),
                ("raw", contest.prepare_raw(), lambda raw: list(raw.turn("hi"))),
            ]
            for name, start, turn in sides if round_ % 2 else sides[::-1]:
                took = measure(start, turn)
                if round_:  # the first one loads what is loaded lazily
                    got[name].append(took)
    print(json.dumps(got))


def main() -> None:
    is_quick = options(__doc__ or "").quick
    install_harness(VERSION, progress=print)
    with ScriptedModel("ok", loop=True) as model:
        job = {"model": model.agent_options(), "times": 5 if is_quick else 31}
        got = run_child(sys.executable, "full_starts.py", json.dumps(job))
    titles = ("a start with all that", "a start and a first turn, no bar")
    rows = []
    for index, title in enumerate(titles):
        ours, raw = (Row(name, [took[index] for took in got[name]]) for name in ("ours", "raw"))
        show(title, "ms", (ours, raw), against=raw)
        rows.append((ours, raw))
    ours, raw = rows[0]
    verdict("ours / raw", ours.median / raw.median, BAR)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        child(json.loads(sys.argv[1]))
    else:
        main()
