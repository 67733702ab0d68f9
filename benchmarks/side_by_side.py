"""What the benchmarks share: children to measure in, the official SDK's venv, tables and verdicts.

Everything that is compared is measured in one run, taking turns, and compared as a ratio of
medians: the machine may be busy, but it is equally busy for both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
sys.path.insert(0, str(ROOT))  # a checkout works without being installed

from antigravity_sync._transport.binary import cache_dir  # noqa: E402

OFFICIAL: Final = "google-antigravity==0.1.10"
_ENVIRON_DROPPED: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY", "PYTHONPATH")


def options(about: str) -> argparse.Namespace:
    """Return the command line's options: `--quick` for fewer repetitions."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, wider noise")
    return parser.parse_args()


# ── where it runs ───────────────────────────────────────────────────────────────────────────────


def official_python() -> str:
    """Return the interpreter of a venv that holds the official SDK, made once in the cache."""
    venv = cache_dir(os.environ) / "official-venv"
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    probe = "import importlib.metadata as m; print(m.version('google-antigravity'))"
    wanted = OFFICIAL.partition("==")[2]
    if python.exists():
        found = subprocess.run(
            [python, "-c", probe], capture_output=True, text=True, check=False
        ).stdout.strip()
        if found == wanted:
            return str(python)
    print(f"making {venv} with {OFFICIAL} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", OFFICIAL], check=True
    )
    return str(python)


def environ(**more: str) -> dict[str, str]:
    """Return an environment for a child: no model keys, no inherited import path."""
    kept = {name: value for name, value in os.environ.items() if name not in _ENVIRON_DROPPED}
    return {**kept, **more}


def run_child(python: str, script: str, *args: str, **more: str) -> dict[str, Any]:
    """Run a script of this directory in a fresh process; return the JSON of its last line.

    Args:
        python: The interpreter.
        script: Name of the script.
        args: Its arguments.
        more: Environment variables to add.

    Raises:
        SystemExit: The child failed; its output is printed.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        done = subprocess.run(
            [python, str(HERE / script), *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
            env=environ(**more),
        )
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise SystemExit(f"{script} {' '.join(args)} failed with exit code {done.returncode}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def alternate(
    runs: Mapping[str, Any], times: int, *, also: Mapping[str, tuple[Any, int]] | None = None
) -> dict[str, list[Any]]:
    """Call each of `runs` in turn, `times` times over; return what they gave, by name.

    Args:
        runs: Functions without arguments.
        times: How often each is called.
        also: Functions that are called fewer times, spread over the first rounds.
    """
    also = also or {}
    got: dict[str, list[Any]] = {name: [] for name in (*runs, *also)}
    for done in range(times):
        for name, run in runs.items():
            got[name].append(run())
        for name, (run, fewer) in also.items():
            if done < fewer:
                got[name].append(run())
    return got


# ── what it shows ───────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class Row:
    """One variant's measurements in one unit."""

    name: str
    values: Sequence[float]

    @property
    def median(self) -> float:
        return median(self.values)


def show(title: str, unit: str, rows: Iterable[Row], *, against: Row | None = None) -> None:
    """Print a table of minimum, median and maximum, and the ratio of medians to `against`."""
    print(f"\n{title}")
    print(f"  {'':<28} {'n':>4} {'min':>10} {'median':>10} {'max':>10} {unit:<4}  ratio")
    for row in rows:
        low, high = min(row.values), max(row.values)
        ratio = "" if against is None else f"{row.median / against.median:6.2f}"
        print(
            f"  {row.name:<28} {len(row.values):>4} {low:>10.2f} {row.median:>10.2f} "
            f"{high:>10.2f} {'':<4} {ratio}"
        )


def verdict(what: str, measured: float, bar: float, *, unit: str = "x") -> bool:
    """Print whether `measured` is at most `bar`, and return it."""
    holds = measured <= bar
    print(f"  {'PASS' if holds else 'FAIL'}  {what}: {measured:.3f}{unit}, bar {bar:.3f}{unit}")
    return holds
