"""What looking at the wire costs: CPU of a flooded turn with no inspector, and with a recorder.

With no inspector a turn is measured beside one of a build without the taps (`flood_untapped.py`).
The recorder is measured against none, in fresh processes that take turns.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
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
RECORDER_BAR = 1.15
#: Deltas, characters in each, turns of each build usual and quick.
OFF_LOAD = (500, 4, 1200, 200)
OFF_BAR = 1.01


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


def compare_off(count: int, size: int, times: int) -> bool:
    turn = [running(), user_echo(), flood(count, size), done(), idle()]
    with FakeHarness(*[turn] * 2 * (times + 1), version="0.1.10") as fake:
        got = run_child(sys.executable, "flood_untapped.py", fake.path, str(times))
    off, untapped = (Row(name, got[name]) for name in ("off", "untapped"))
    title = f"{count:,} deltas of {size} characters, no inspector: CPU of the turn"
    show(title, "ms", (off, untapped), against=untapped)
    return verdict("off / a build without taps", off.median / untapped.median, OFF_BAR)


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
    return verdict("recorder / off", rows["recorder"].median / rows["off"].median, RECORDER_BAR)


def main() -> None:
    is_quick = options(__doc__ or "").quick
    count, size, *times = OFF_LOAD
    results = [compare_off(count, size, times[is_quick])]
    for count, size, *times in LOADS:
        results.append(compare(count, size, times[is_quick]))
    print(f"\n{'all bars hold' if all(results) else 'a bar does not hold'}")


if __name__ == "__main__":
    main()
