"""CPU and memory of one flooded turn: this SDK, the same by hand in one thread, the official SDK.

The stand-in harness sends text as the real one does: every frame carries the whole text so far
beside what is new, so n deltas of s characters are about n*n*s/2 bytes. Each measurement is a
fresh process; only the turn is counted, user and system time of all its threads. Memory is the
highest resident size during the turn over the resident size before it.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import attrs
from side_by_side import Row, alternate, official_python, options, run_child, show, verdict

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    answer,
    done,
    flood,
    idle,
    running,
    user_echo,
)


@attrs.frozen
class Load:
    """A flood and what is asked of it.

    Attributes:
        count: Number of deltas.
        size: Characters in each.
        times: Repetitions, usual and quick.
        bar: Highest ratio of our CPU to the bare floor's.
        official: Repetitions of the official SDK, usual and quick; 0 leaves it out.
    """

    count: int
    size: int
    times: tuple[int, int]
    bar: float
    official: tuple[int, int] = (0, 0)


LOADS = (
    Load(2_000, 50, (9, 3), 1.8, (3, 1)),
    Load(10_000, 20, (5, 1), 1.3),
    Load(500, 4, (15, 5), 3.0),
)
#: Our CPU against the official SDK's, and our memory in MB, both on the first load.
OFFICIAL_BAR = 1 / 8
MEMORY_BAR = 10.0


def measure(load: Load, python: str, script: str, *, is_given_by_variable: bool) -> dict[str, Any]:
    script_of_turns = [running(), user_echo(), flood(load.count, load.size), done(), idle()]
    with FakeHarness(answer("ready"), script_of_turns, version="0.1.10") as fake:
        if is_given_by_variable:
            got = run_child(python, script, ANTIGRAVITY_HARNESS_PATH=fake.path)
        else:
            got = run_child(python, script, fake.path)
    if got["length"] != load.count * load.size:
        raise SystemExit(f"{script} saw {got['length']} characters of {load.count * load.size}")
    return got


def compare(load: Load, official: str, *, is_quick: bool) -> bool:
    run = functools.partial(measure, load)
    got = alternate(
        {
            "ours": lambda: run(sys.executable, "flood_ours.py", is_given_by_variable=False),
            "floor": lambda: run(sys.executable, "flood_raw.py", is_given_by_variable=False),
        },
        load.times[is_quick],
        also={
            "official": (
                lambda: run(official, "flood_official.py", is_given_by_variable=True),
                load.official[is_quick],
            )
        },
    )

    def rows(what: str, factor: float) -> dict[str, Row]:
        return {
            name: Row(name, [each[what] * factor for each in measured])
            for name, measured in got.items()
            if measured
        }

    cpu, growth, events = rows("cpu", 1e3), rows("growth", 1e-6), rows("events", 1)
    title = f"{load.count:,} deltas of {load.size} characters"
    show(f"{title}: CPU of the turn", "ms", cpu.values(), against=cpu["floor"])
    show(f"{title}: growth of memory", "MB", growth.values())
    show(f"{title}: deltas seen by the caller (unread ones are merged)", "", events.values())
    holds = [
        verdict("CPU, ours / floor", cpu["ours"].median / cpu["floor"].median, load.bar),
    ]
    if "official" in cpu:
        ratio = cpu["ours"].median / cpu["official"].median
        holds.append(verdict("CPU, ours / official", ratio, OFFICIAL_BAR))
        holds.append(
            verdict("memory, ours, highest", max(growth["ours"].values), MEMORY_BAR, unit=" MB")
        )
    return all(holds)


def main() -> None:
    is_quick = options(__doc__ or "").quick
    official = official_python()
    results = [compare(load, official, is_quick=is_quick) for load in LOADS]
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    main()
