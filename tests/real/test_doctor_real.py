"""The doctor on the real harness, and on stand-ins that do not start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from antigravity_sync import VERIFIED_HARNESS_VERSIONS, Hooks, McpServer, doctor, policy
from antigravity_sync.cli import main
from antigravity_sync.doctor import Level
from antigravity_sync.errors import ConfigError
from antigravity_sync.testing import FakeHarness
from tests.contract.source import ROOT
from tests.versions import harness_path, release

pytestmark = pytest.mark.real

GOOD_KEY = "AIza" + "x" * 35

Capture = pytest.CaptureFixture[str]


def by_check(findings: tuple[doctor.Finding, ...]) -> dict[str, doctor.Finding]:
    return {finding.check: finding for finding in findings}


def test_doctor_when_all_is_well_then_every_line_and_nothing_left(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start and a turn are timed; a version with tools that stay on is warned of."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = by_check(
        doctor.examine(
            harness_path=harness_path(version), save_dir=tmp_path / "saves", api_key=GOOD_KEY
        )
    )
    assert list(found) == [
        *("packages", "home", "clock", "save_dir", "proxy", "credentials"),
        *("harness", "start", "tools", "turn", "close"),
    ]
    assert version in found["harness"].message
    assert "handshake in" in found["start"].message
    has_stuck_tools = (0, 1, 6) <= release(version) < (0, 1, 14)
    is_untested = version not in VERIFIED_HARNESS_VERSIONS
    for check, finding in found.items():
        is_odd = (check == "tools" and has_stuck_tools) or (check == "harness" and is_untested)
        assert finding.level is (Level.WARNING if is_odd else Level.OK), finding
    assert ("manage_task" in found["tools"].message) == has_stuck_tools
    assert list(tmp_path.iterdir()) == []


def test_doctor_when_asked_for_json_then_one_object_and_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    """The command prints a line per check, or all of them as JSON; warnings end with 0."""
    monkeypatch.setenv("ANTIGRAVITY_SYNC_STATE", str(tmp_path))
    harness = ["--harness", str(harness_path("0.1.10"))]
    monkeypatch.setenv("GEMINI_API_KEY", GOOD_KEY)
    assert main(["doctor", *harness]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["ok", "packages"], ["ok", "home"]]
    assert GOOD_KEY not in str(lines)
    monkeypatch.delenv("GEMINI_API_KEY")
    assert main(["doctor", "--json", *harness]) == 77
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["exit_code"]) == (False, 77)
    wrong = [one for one in found["findings"] if one["level"] == "failure"]
    assert [one["check"] for one in wrong] == ["credentials"]
    assert wrong[0]["advice"]


@pytest.mark.parametrize(
    ("options", "code", "check"),
    [
        (["--harness", "/dev/null/x"], 69, "harness"),
        (["--save-dir", "/proc/self/saves"], 78, "save_dir"),
    ],
)
def test_doctor_when_something_fails_then_the_code_of_whoever_must_act(
    options: list[str], code: int, check: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The exit code is that of the first failure."""
    monkeypatch.setenv("GEMINI_API_KEY", GOOD_KEY)
    monkeypatch.setenv("ANTIGRAVITY_HARNESS_PATH", str(harness_path("0.1.10")))
    assert main(["doctor", "--json", *options]) == code
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [one["check"] for one in found if one["level"] == "failure"] == [check]


@pytest.mark.parametrize(
    ("knobs", "check", "said"),
    [
        ({"no_handshake": True}, "start", "did not answer its handshake"),
        ({"exit_at": "spawn", "exit_code": 7}, "start", "exited with code 7"),
        ({"reject_key": True}, "start", "refuses its own key"),
        ({"no_init_response": True}, "start", "did not open the conversation"),
        ({"drop_on_init": "Failed to create agent: nobody home"}, "start", "nobody home"),
        ({"default_turn": []}, "turn", "did not end within"),
        ({"default_turn": "another answer"}, "turn", "did not come back"),
        ({"ignore_eof": True, "default_turn": "All is well."}, "close", "did not end by itself"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_doctor_when_the_harness_misbehaves_then_where(
    knobs: dict[str, object], check: str, said: str
) -> None:
    """Each stage of a start, the turn and the end have a line of their own."""
    with FakeHarness(version="0.1.22", **knobs) as fake:
        found = doctor.examine(
            harness_path=fake.path,
            api_key=GOOD_KEY,
            start_timeout=1.0,
            turn_timeout=1.0,
            close_timeout=1.5,
        )
    (wrong,) = [one for one in found if one.level is not Level.OK]
    assert wrong.check == check
    assert said in wrong.message
    assert wrong.advice


def test_doctor_when_an_agent_has_more_then_that_is_tried_too() -> None:
    """MCP servers come along; hooks are not run."""
    ran: list[str] = []
    found = by_check(
        doctor.examine(
            harness_path=harness_path("0.1.10"),
            api_key=GOOD_KEY,
            mcp_servers=[
                McpServer.stdio(sys.executable, ["-c", "raise SystemExit(3)"], name="ill")
            ],
            policies=[policy.allow_all()],
            hooks=[Hooks(on_pre_turn=lambda prompt: ran.append(prompt))],
        )
    )
    wrong = [one for one in found.values() if one.level is Level.FAILURE]
    assert len(wrong) == 1
    assert "ill" in wrong[0].message
    assert ran == []


def test_doctor_when_an_option_is_wrong_then_the_usual_error() -> None:
    """What an agent would refuse is refused here too."""
    with pytest.raises(ConfigError, match="did you mean save_dir"):
        doctor.examine(savedir="x")


def test_doctor_when_the_module_is_run_then_the_same(tmp_path: Path) -> None:
    """`python -m antigravity_sync.cli` is the command."""
    done = subprocess.run(
        [sys.executable, "-m", "antigravity_sync.cli", "doctor", "--harness", "/dev/null/x"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ANTIGRAVITY_SYNC_STATE": str(tmp_path)},
    )
    assert done.returncode == 77
    assert "no usable binary" in done.stdout
