"""`antigravity-sync sessions` on conversations that real harnesses have kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from antigravity_sync import Agent
from antigravity_sync.cli import main
from antigravity_sync.testing import ScriptedModel, always, call
from tests.versions import harness_path

pytestmark = pytest.mark.real

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory where the command keeps conversations."""
    monkeypatch.setenv("ANTIGRAVITY_SYNC_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANTIGRAVITY_HARNESS_PATH", str(harness_path("0.1.10")))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "sessions"


def listed(capsys: Capture) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["sessions", "list", "--json"]) == 0
    sessions: list[dict[str, object]] = json.loads(capsys.readouterr().out)["sessions"]
    return sessions


def test_sessions_when_kept_then_listed_shown_and_deleted(
    version: str, saves: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the user's id on every version; what was said comes from the harness, without a model."""
    harness = ["--harness", str(harness_path(version))]
    for name in ("nightly report", "other"):
        assert (
            main(["run", f"Write the\n{name}.", "--offline", "--conversation", name, *harness]) == 0
        )
    first, second = listed(capsys)
    assert (first["conversation_id"], first["title"]) == (
        "nightly report",
        "Write the nightly report.",
    )
    assert second["conversation_id"] == "other"
    assert not first["is_open"]
    assert isinstance(first["size"], int)
    assert first["size"] > 10_000
    assert main(["sessions", "list"]) == 0
    assert "nightly report  Write the nightly report." in capsys.readouterr().out

    assert main(["sessions", "show", "nightly report", *harness]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("user: Write the\nnightly report.\nmodel: This is the scripted model")

    assert main(["sessions", "delete", "nightly report"]) == 0
    assert [one["conversation_id"] for one in listed(capsys)] == ["other"]
    assert not [path for path in saves.rglob("*") if str(first["wire_id"]) in path.name]
    assert main(["run", "Go on.", "--offline", "--resume", "other", *harness]) == 0


def test_session_when_a_tool_ran_then_shown_with_it(saves: Path, capsys: Capture) -> None:
    """Tool calls are part of what is shown; what would steer a terminal is not."""
    with (
        ScriptedModel(["\x1b[2J", call("list_dir", DirectoryPath=os.getcwd())], "Done.") as model,
        Agent(
            **model.agent_options(), save_dir=saves, harness_path=harness_path("0.1.10")
        ) as agent,
    ):
        agent.chat("Look.")
        name = agent.conversation_id
    assert main(["sessions", "show", name]) == 0
    shown = capsys.readouterr().out
    assert "list_directory {" in shown
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown
    assert main(["sessions", "show", name, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["source"] for step in steps][:2] == ["USER", "MODEL"]


def test_session_when_it_is_open_then_marked_and_kept(saves: Path, capsys: Capture) -> None:
    """An open conversation is neither shown nor deleted, and ends with 75."""
    with (
        ScriptedModel(always("Yes.")) as model,
        Agent(
            **model.agent_options(),
            save_dir=saves,
            conversation_id="mine",
            harness_path=harness_path("0.1.10"),
        ) as agent,
    ):
        agent.chat("Are you there?")
        (one,) = listed(capsys)
        assert one["is_open"]
        assert main(["sessions", "delete", str(one["wire_id"])]) == 75
        assert f"open in process {os.getpid()}" in capsys.readouterr().err
        assert main(["sessions", "show", str(one["wire_id"])]) == 75
        agent.chat("Still?")
    (one,) = listed(capsys)
    assert not one["is_open"]


def test_sessions_when_there_are_none_then_said(saves: Path, capsys: Capture) -> None:
    """Nothing is made by looking; an id that is not there is a wrong one."""
    assert listed(capsys) == []
    assert main(["sessions", "list"]) == 0
    assert "there are no conversations" in capsys.readouterr().err
    for action in ("show", "delete"):
        assert main(["sessions", action, "nobody"]) == 78
        assert "there is no conversation 'nobody'" in capsys.readouterr().err
    assert not saves.exists()
    assert main(["sessions", "list", "--save-dir", "/dev/null/x"]) == 78
