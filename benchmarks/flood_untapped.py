"""Child of `wire.py`: flooded turns of two agents, one of them built without the taps.

The other build is the pump's own source with the statements about the tap taken out. Both agents
live in this process and take turns, because two processes differ by more than a tap costs.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import side_by_side  # noqa: F401 - puts the checkout on the path

from antigravity_sync import Agent
from antigravity_sync._runtime import engine, pump


class _Cut(ast.NodeTransformer):
    """Takes out what is said about the tap."""

    def visit_If(self, node: ast.If) -> Any:
        return None if _is_about_tap(node.test) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return None if _is_about_tap(node.value) else self.generic_visit(node)


def _is_about_tap(node: ast.expr) -> bool:
    return re.search(r"\btap\b", ast.unparse(node)) is not None


def _without_taps(function: Callable[..., Any]) -> Callable[..., Any]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree = ast.fix_missing_locations(_Cut().visit(tree))
    made: dict[str, Any] = {}
    exec(compile(tree, pump.__file__, "exec"), vars(pump), made)
    cut: Callable[..., Any] = made[function.__name__]
    if "tap" in {*cut.__code__.co_names, *cut.__code__.co_varnames}:
        raise SystemExit(f"a tap is left in {function.__name__}: see what _Cut does not know")
    return cut


class UntappedPump(pump.Pump):
    """The pump as if there were no taps."""

    _turn_over = _without_taps(pump.Pump._turn_over)
    _send = _without_taps(pump.Pump._send)
    _perform = _without_taps(pump.Pump._perform)


def turn(agent: Agent) -> float:
    """Return the CPU time of a turn in milliseconds."""
    before = time.process_time()
    for _ in agent.stream("flood"):
        pass
    return (time.process_time() - before) * 1e3


def main(path: str, times: str) -> None:
    agents = {}
    for name, kind in (("off", pump.Pump), ("untapped", UntappedPump)):
        engine.Pump = kind
        agents[name] = Agent(harness_path=path, api_key="none-such-key").start()
    got: dict[str, list[float]] = {name: [] for name in agents}
    for agent in agents.values():
        turn(agent)  # to warm up
    for number in range(int(times)):
        # Each is as often the first as the second.
        for name in sorted(agents, reverse=bool(number % 2)):
            got[name].append(turn(agents[name]))
    for agent in agents.values():
        agent.close()
    print(json.dumps(got))


main(*sys.argv[1:])
