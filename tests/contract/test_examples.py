"""Every example runs, offline, as a user would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION
from tests.contract.source import ROOT
from tests.gates import CEILING
from tests.versions import harness_path

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

pytestmark = pytest.mark.real


def run(example: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run an example in a directory of its own, on the pinned harness and without a key."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(cwd),
        "ANTIGRAVITY_HARNESS_PATH": str(harness_path(SUPPORTED_HARNESS_VERSION)),
    }
    return subprocess.run(
        [sys.executable, "-W", "error", str(example), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=environ,
        timeout=CEILING,
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_when_run_without_a_key_then_shows_something(example: Path, tmp_path: Path) -> None:
    """An example needs neither key nor arguments, prints something, and ends with 0."""
    done = run(example, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_when_read_then_says_how_to_run_it(example: Path) -> None:
    """Each example starts with what it shows and the line that runs it."""
    text = example.read_text("utf-8")
    assert text.startswith('"""')
    assert f"python examples/{example.name}" in text


def test_quickstart_when_there_is_no_key_then_says_who_answers(tmp_path: Path) -> None:
    """The first line says that the model is scripted; then a whole turn is shown as it comes."""
    (tmp_path / "notes.txt").touch()
    done = run(ROOT / "examples" / "quickstart.py", "What", "is", "here?", cwd=tmp_path)
    first, *_, last = done.stdout.splitlines()
    assert "No GEMINI_API_KEY" in first
    assert f"Harness {SUPPORTED_HARNESS_VERSION}" in done.stdout
    assert "> What is here?" in done.stdout
    assert f"[list_directory {tmp_path}]" in done.stdout
    assert "Those are the files I was allowed to see." in done.stdout
    assert last.endswith("tokens")


def test_quickstart_when_there_is_no_harness_then_one_line(tmp_path: Path) -> None:
    """A failure is one line on standard error, not a traceback."""
    broken = tmp_path / "localharness"
    broken.touch()
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "ANTIGRAVITY_HARNESS_PATH": str(broken)}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "quickstart.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environ,
        timeout=CEILING,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("HarnessNotFoundError: ")
    assert done.stderr.count("\n") == 1


def test_makefile_when_the_demo_is_made_then_it_runs_the_quickstart() -> None:
    """`make demo` fetches the harness and runs the example that this file tests."""
    text = (ROOT / "Makefile").read_text("utf-8")
    recipe = text.partition("\ndemo:")[2].partition("\n\n")[0]
    assert "install-harness" in recipe
    assert "examples/quickstart.py" in recipe
