"""What looking at the wire costs: CPU of one flooded turn without a tap, and with a recorder.

With no inspector there is nothing but one comparison with `None` per frame, which is measured here
as well: the same comparison, so often as there are frames, against the turn. The recorder is
measured as a ratio of turns, in fresh processes that take turns.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import timeit
from typing import Any

from side_by_side import Row, alternate, options, run_child, show, verdict

from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    answer,
    done,
    flood,
    idle,
    running,
    user_echo,
)

#: Deltas, characters in each, repetitions usual and quick.
LOADS = ((2_000, 50, 15, 5), (10_000, 20, 7, 3), (500, 4, 25, 7))
OFF_BAR = 0.01
RECORDER_BAR = 1.15


def measure(count: int, size: int, *, is_recorded: bool) -> dict[str, Any]:
    script_of_turns = [running(), user_echo(), flood(count, size), done(), idle()]
    with (
        FakeHarness(answer("ready"), script_of_turns, version="0.1.10") as fake,
        tempfile.TemporaryDirectory(prefix="bench-") as directory,
    ):
        recording = [os.path.join(directory, "wire.jsonl")] if is_recorded else []
        got = run_child(sys.executable, "flood_recorded.py", fake.path, *recording)
        got["size"] = sum(os.path.getsize(path) for path in recording)
    if got["length"] != count * size:
        raise SystemExit(f"saw {got['length']} characters of {count * size}")
    return got


def checks(count: int) -> float:
    """Return the seconds that `count` looks for a tap take."""

    class Owner:
        tap = None

    owner = Owner()
    return min(timeit.repeat(lambda: owner.tap is not None, number=count, repeat=5))


def compare(count: int, size: int, times: int) -> bool:
    got = alternate(
        {
            "off": functools.partial(measure, count, size, is_recorded=False),
            "recorder": functools.partial(measure, count, size, is_recorded=True),
        },
        times,
    )
    rows = {name: Row(name, [each["cpu"] * 1e3 for each in runs]) for name, runs in got.items()}
    title = f"{count:,} deltas of {size} characters"
    show(f"{title}: CPU of the turn", "ms", rows.values(), against=rows["off"])
    print(f"  recording: {got['recorder'][0]['size'] / 1e6:.2f} MB")
    # Per delta one frame that comes, and next to no frames that go.
    share = checks(count + 10) * 1e3 / rows["off"].median
    holds = [
        verdict("off, share of the turn", share, OFF_BAR),
        verdict("recorder / off", rows["recorder"].median / rows["off"].median, RECORDER_BAR),
    ]
    return all(holds)


def main() -> None:
    is_quick = options(__doc__ or "").quick
    results = [
        compare(count, size, (usual, quick)[is_quick]) for count, size, usual, quick in LOADS
    ]
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    main()
