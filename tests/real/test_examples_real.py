"""Every example runs offline on the real harness, and says what it is there to say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION
from tests.contract.source import ROOT
from tests.versions import VERSIONS, harness_path

pytestmark = pytest.mark.real

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: The line of each that shows what it is about.
ESSENTIAL = {
    "approve_commands": "No terminal to ask at, so this is denied: echo hello",
    "ask_the_user": "No terminal to ask at, so this stays unanswered.",
    "budget": "Stopped: MAX_TOOL_CALLS_EXCEEDED after 3 tool calls.",
    "connection": "It is 34 degrees in the kitchen.",
    "custom_tools": "-> ordered on thread MainThread",
    "images": "Request 2 to the model held 2 picture(s).",
    "mcp_server": "mcp_shop_sell_out {}: Denied(",
    "policies": "[view_file was refused: secrets stay secret]",
    "quickstart": "Those are the files I was allowed to see.",
    "resume": "You are Ada; 3 messages tell me so.",
    "subagents": "clerk: There are 3 hammers.",
    "sqlite_tools": "in_stock: 7",
    "triggers": "Agent: TOO HOT: 34 degrees!",
    "structured_output": "complaint of Ada: 2 kettle",
}


#: Those whose point another version could spoil: they run on all, the others on the pinned one.
ON_ALL_VERSIONS = ("approve_commands", "custom_tools")
RUNS = [
    pytest.param(example, version, id=f"{example.stem}-{version}")
    for example in EXAMPLES
    for version in dict.fromkeys((SUPPORTED_HARNESS_VERSION, *VERSIONS))
    if version == SUPPORTED_HARNESS_VERSION or example.stem in ON_ALL_VERSIONS
]


@pytest.mark.parametrize(("example", "version"), RUNS)
def test_example_when_run_without_key_and_terminal_then_shows_its_point(
    example: Path, version: str, tmp_path: Path
) -> None:
    """Whoever adds an example says here what is essential of it."""
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env={
            **os.environ,  # in which no test has a key
            "ANTIGRAVITY_HARNESS_PATH": str(harness_path(version)),
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "No GEMINI_API_KEY: a scripted model answers" in done.stdout
    assert ESSENTIAL[example.stem] in done.stdout
