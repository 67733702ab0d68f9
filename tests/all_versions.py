"""Run the real-harness suite on every harness release, one after the other, and print a table.

    python tests/all_versions.py                  # all of them, half a minute or more for each
    python tests/all_versions.py 0.1.8 0.1.13     # some

The output of a run that fails is shown when it ends; the exit code is 1 if any failed.
"""

# ruff: noqa: T201 - a program, whose output is for people
from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[1]
_SHOWN_LINES: Final = 60


@attrs.frozen
class Outcome:
    """How the suite went on one release.

    Attributes:
        version: The release.
        has_passed: Whether all went well and anything was run at all.
        summary: pytest's last line, or why it was not run.
        seconds: How long it took.
    """

    version: str
    has_passed: bool
    summary: str
    seconds: float = 0.0


def main(arguments: Sequence[str]) -> int:
    """Run the suite on the releases named, on all known ones if none is."""
    # The checkout itself, whether or not it is installed.
    sys.path[0] = str(ROOT)
    from antigravity_sync._wire.dialect import ALL_VERSIONS

    unknown = [version for version in arguments if version not in ALL_VERSIONS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(ALL_VERSIONS)}", file=sys.stderr)
        return 2
    outcomes = []
    for version in arguments or ALL_VERSIONS:
        print(f"── {version} ", "─" * 40, flush=True)
        outcomes.append(run_on(version))
        print(outcomes[-1].summary, flush=True)
    print_table(outcomes)
    return 0 if all(outcome.has_passed for outcome in outcomes) else 1


def run_on(version: str) -> Outcome:
    """Install one release and run the suite on it."""
    from antigravity_sync import install_harness
    from antigravity_sync.errors import AntigravityError

    try:
        install_harness(version, progress=print)
    except AntigravityError as error:
        return Outcome(version, has_passed=False, summary=f"not installed: {error}")
    started = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-n",
            "auto",
            "--dist",
            "loadfile",
            "-m",
            "not soak",
            "tests/real",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "ANTIGRAVITY_SYNC_TEST_VERSIONS": version},
    )
    lines = done.stdout.strip().splitlines() or ["no output"]
    summary = lines[-1].strip("= ")
    if done.returncode != 0:  # also when nothing was collected: that proves nothing
        print("\n".join(lines[-_SHOWN_LINES:]))
        if not re.search(r"\bin [0-9.]+s", summary):  # pytest did not get as far as that line
            summary = f"pytest ended with {done.returncode}, see above: a test hung, or it crashed"
    seconds = time.monotonic() - started
    return Outcome(version, done.returncode == 0, summary, seconds)


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print a line for each release."""
    print(f"\n{'harness':<10}{'result':<9}{'seconds':>7}  summary")
    for outcome in outcomes:
        result = "passed" if outcome.has_passed else "FAILED"
        print(f"{outcome.version:<10}{result:<9}{outcome.seconds:>7.0f}  {outcome.summary}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
