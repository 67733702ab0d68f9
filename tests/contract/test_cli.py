"""The `antigravity-sync` command: what it prints where, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION, __version__, errors
from antigravity_sync.cli import main
from antigravity_sync.cli.exits import Exit, exit_for, exit_of
from antigravity_sync.cli.outcome import complaint
from antigravity_sync.responses import Action, ChatResponse, Denied, ToolCall
from tests.contract.source import ROOT
from tests.gates import CEILING, wait_until
from tests.versions import harness_path

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty cache and let pip find nothing, so that no test downloads."""
    monkeypatch.setenv("ANTIGRAVITY_SYNC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return tmp_path / "cache"


def test_install_when_it_is_there_then_its_path_and_nothing_else(capsys: Capture) -> None:
    """Standard output is the path, so that a shell can use it; people read standard error."""
    installed = harness_path(SUPPORTED_HARNESS_VERSION)
    for arguments in (["install-harness"], ["install-harness", SUPPORTED_HARNESS_VERSION]):
        assert main(arguments) == 0
        shown = capsys.readouterr()
        assert (shown.out, shown.err) == (f"{installed}\n", "")


def test_install_when_pip_finds_nothing_then_69_and_progress(
    no_index: Path, capsys: Capture
) -> None:
    """A harness that cannot be had is exit code 69, with the reason and what was tried."""
    assert main(["install-harness"]) == 69
    shown = capsys.readouterr()
    assert shown.out == ""
    progress, *reason = shown.err.splitlines()
    assert progress == (
        f"antigravity-sync: downloading google-antigravity=={SUPPORTED_HARNESS_VERSION}"
    )
    assert "".join(reason).startswith("antigravity-sync: error: pip could not fetch")


@pytest.mark.parametrize("version", ["latest", "../x", "1.0; rm -rf /", "0.1.10 --pre", ""])
def test_install_when_the_version_is_none_then_78(
    version: str, no_index: Path, capsys: Capture
) -> None:
    """What is no version is exit code 78, before anything is looked for."""
    assert main(["install-harness", version]) == 78
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "is not a harness version" in shown.err
    assert not no_index.exists()


def test_install_when_there_is_no_place_for_a_cache_then_69(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """A cache that cannot be written is named, with the variable that moves it."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("ANTIGRAVITY_SYNC_CACHE", str(tmp_path / "file"))
    assert main(["install-harness"]) == 69
    assert "ANTIGRAVITY_SYNC_CACHE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["install-harness", "1", "2"], ["--nonsense"], ["install-harness", "--pre"]],
)
def test_command_line_when_wrong_then_2_and_usage(arguments: list[str], capsys: Capture) -> None:
    """A wrong command line is returned as 2, with the usage on standard error."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("usage: antigravity-sync")


def test_version_when_asked_then_printed(capsys: Capture) -> None:
    """`--version` prints name and version and ends with 0."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"antigravity-sync {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["install-harness", "--help"]])
def test_help_when_asked_then_printed(arguments: list[str], capsys: Capture) -> None:
    """`--help` goes to standard output and ends with 0."""
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "install-harness" in shown.out
    assert shown.err == ""


def test_help_when_exit_codes_are_listed_then_all(capsys: Capture) -> None:
    """The help names every exit code."""
    main(["--help"])
    listed = capsys.readouterr().out.partition("exit codes:")[2]
    assert {int(word) for word in listed.split() if word.isdecimal()} == set(Exit)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("x"), 78),
        (errors.LaunchError("x"), 69),
        (errors.HarnessNotFoundError("x"), 69),
        (errors.StartTimeoutError("x", stage="init", timeout=1.0), 69),
        (errors.McpServerError("x", server="s"), 69),
        (errors.ConversationNotFoundError("x"), 78),
        (errors.ConversationExistsError("x"), 78),
        (errors.ConversationBusyError("x"), 75),
        (errors.RateLimitError("x"), 75),
        (errors.OverloadedError("x"), 75),
        (errors.AuthenticationError("x"), 77),
        (errors.PromptDeniedError("x"), 4),
        (errors.TurnTimeoutError("x"), 124),
        (errors.SessionLostError("x"), 1),
        (errors.TurnError("x"), 1),
        (errors.InternalError("x"), 1),
    ],
)
def test_exit_code_when_an_error_ends_the_command_then_by_its_kind(
    error: errors.AntigravityError, code: int
) -> None:
    """A calling program can tell from the code who must act."""
    assert exit_for(error) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"text": "whole"}, 0),
        ({"cancelled": True}, 130),
        ({"stop_reason": "MAX_MODEL_CALLS_EXCEEDED"}, 3),
        ({"stop_reason": "MAX_TOTAL_TOKENS_EXCEEDED"}, 3),
        ({"stop_reason": "QUOTA_EXHAUSTED"}, 75),
        ({"stop_reason": "SOMETHING_NEW"}, 1),
        ({"incomplete": True}, 1),
        ({"pending_tasks": (Action("run_command", {"command_line": "sleep 9"}),)}, 1),
        ({"tool_calls": (ToolCall("view_file", decision=Denied("no")),)}, 4),
        ({"tool_calls": (ToolCall("view_file"),)}, 0),
    ],
)
def test_exit_code_when_a_turn_returns_then_0_for_a_whole_one_alone(
    changes: dict[str, object], code: int
) -> None:
    """A turn that was cut off, for whatever reason, never ends the command with 0."""
    response = ChatResponse(**changes)  # type: ignore[arg-type]
    assert exit_of(response) == code
    assert bool(complaint(response)) == (code != 0)


def test_command_when_interrupted_then_130_and_nothing_left(tmp_path: Path) -> None:
    """Ctrl-C while pip runs ends both, says so in a word, and leaves an empty cache."""
    # A pip that announces itself and then waits for its end, found before the real one.
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").touch()
    (tmp_path / "pip" / "__main__.py").write_text(
        f"import signal, pathlib; pathlib.Path({str(tmp_path / 'runs')!r}).touch()\n"
        "while True: signal.pause()\n"
    )
    cache = tmp_path / "cache"
    code = "import sys; from antigravity_sync.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "install-harness"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
            "ANTIGRAVITY_SYNC_CACHE": str(cache),
        },
    )
    with process:
        wait_until((tmp_path / "runs").exists, "pip's start")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=CEILING)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("antigravity-sync: interrupted\n")
    assert "Traceback" not in err
    assert {path.name for path in (cache / "harness").iterdir()} == {
        f"{SUPPORTED_HARNESS_VERSION}.lock"
    }
