"""Ten thousand turns of one agent; `pytest -m soak tests/real/test_turn_soak.py`.

The conversation is begun anew now and then, because the harness's own work grows with its length.
"""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION, Agent, tool
from antigravity_sync.testing import ScriptedModel, call
from tests.versions import harness_path

pytestmark = [pytest.mark.real, pytest.mark.soak]

TURNS = int(os.environ.get("ANTIGRAVITY_SYNC_SOAK_TURNS", "10000"))
#: Turns after which everything that is made once has been made.
WARM = TURNS // 10
RESET_EVERY = 20
#: Megabytes that nine thousand turns may add; what an allocator keeps for later is no leak.
MAY_GROW = 3.0


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def resident() -> float:
    """Return the megabytes of memory that this process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_agent_when_it_has_had_ten_thousand_turns_then_nothing_has_piled_up(tmp_path) -> None:
    """Memory, threads and descriptors are what they were after the first thousand."""
    was: tuple[float, int, int] = (0.0, 0, 0)
    with (
        ScriptedModel(call("add", a=1, b=2), "three", loop=True, max_requests=1) as model,
        Agent(
            harness_path=harness_path(SUPPORTED_HARNESS_VERSION),
            workspaces=[tmp_path],
            env={"HOME": str(tmp_path)},
            tools=[add],
            max_history=100,
            **model.agent_options(),
        ) as agent,
    ):
        for number in range(1, TURNS + 1):
            response = agent.chat("How much is one and two?")
            assert (response.text, response.tool_calls[0].result) == ("three", 3)
            if number % RESET_EVERY == 0:
                agent.reset()
            if number == WARM:
                was = (resident(), threading.active_count(), len(os.listdir("/proc/self/fd")))
        assert len(agent.history) <= 100
        memory, threads, descriptors = was
        grown = resident() - memory
        # The figures, for whoever runs this with -s.
        print(f"{memory:.1f} MB after {WARM} turns, {grown:+.1f} MB in all the others")  # noqa: T201
        assert grown < MAY_GROW
        assert threading.active_count() <= threads
        assert len(os.listdir("/proc/self/fd")) <= descriptors
