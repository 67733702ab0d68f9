"""The public API as a type checker sees it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.source import ROOT

HERE = Path(__file__).parent


def mypy(file: Path, cache: Path) -> str:
    """Return what mypy says about a file of ours, as strict as a user may be."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *(
                "--config-file",
                "setup.cfg",
                f"--cache-dir={cache}",
                "--hide-error-context",
                str(file),
            ),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def errors(output: str, file: Path) -> dict[int, set[str]]:
    """Return the codes of the errors in a file, by line."""
    pattern = rf"^{re.escape(str(file.relative_to(ROOT)))}:(\d+): error: .*\[([\w-]+)\]$"
    found: dict[int, set[str]] = {}
    for line, code in re.findall(pattern, output, re.MULTILINE):
        found.setdefault(int(line), set()).add(code)
    return found


def test_api_when_used_as_meant_then_no_complaint(cache: Path) -> None:
    """A program that uses everything is clean under `--strict`, and every type is as asserted."""
    assert mypy(HERE / "api.py", cache) == ""


def test_api_when_used_wrongly_then_each_mistake_is_found(cache: Path) -> None:
    """Each wrong line is found with the expected code, and no other line is complained about."""
    file = HERE / "wrong.py"
    expected = {
        number: set(match[1].split(", "))
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if (match := re.search(r"# expect: (.+)$", line))
    }
    output = mypy(file, cache)
    found = errors(output, file)
    assert set(found) == set(expected), output
    assert all(codes <= expected[line] for line, codes in found.items()), output
    assert len(expected) > 25


def test_package_when_typed_then_marked(cache: Path) -> None:
    """The marker is there, without which no checker would read the annotations."""
    assert (ROOT / "antigravity_sync" / "py.typed").exists()
