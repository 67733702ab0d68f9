"""`antigravity-sync run` on the real harness: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION
from antigravity_sync.cli import main
from antigravity_sync.testing import ScriptedModel, call, hang, http_error, thought, truncated
from tests.contract.source import ROOT
from tests.gates import CEILING, wait_until
from tests.versions import harness_path

pytestmark = pytest.mark.real

Capture = pytest.CaptureFixture[str]
Run = Callable[..., int]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a place of its own, the pinned harness and a key."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTIGRAVITY_SYNC_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANTIGRAVITY_HARNESS_PATH", str(harness_path(SUPPORTED_HARNESS_VERSION)))
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("hello\n")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def run(model: ScriptedModel, *arguments: str) -> int:
    """Run the command in this process, against a scripted model."""
    return main(["run", "--base-url", model.base_url, "--retries", "0", *arguments])


def look(place: Path) -> object:
    return call("view_file", AbsolutePath=str(place / "work" / "a.txt"))


def command(model: ScriptedModel, *arguments: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "antigravity_sync.cli",
        "run",
        "--base-url",
        model.base_url,
        *arguments,
    ]


@pytest.fixture
def spawn(place: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command in a process of its own, whose stdin stays open and says nothing."""
    started: list[subprocess.Popen[str]] = []

    def start(model: ScriptedModel, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(model, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def test_run_when_answered_then_the_answer_alone_and_0(
    version: str, place: Path, capsys: Capture
) -> None:
    """Standard output is the last answer, so that a shell can use it; nothing else is said."""
    script = [thought("Hm."), "I look.", look(place)], "It says\nhello."
    with ScriptedModel(*script) as model:
        assert run(model, "What is in it?", "--harness", str(harness_path(version))) == 0
        assert model.requests[0].prompt == "What is in it?"
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("It says\nhello.\n", "")


def test_run_when_json_is_wanted_then_one_object(place: Path, capsys: Capture) -> None:
    """`--json` prints one object with everything about the turn."""
    with ScriptedModel([look(place)], "hello") as model:
        assert run(model, "Look.", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["exit_code"], found["error"], found["text"]) == (
        True,
        0,
        None,
        "hello",
    )
    assert [(one["name"], one["decision"]["allowed"]) for one in found["tool_calls"]] == [
        ("view_file", True)
    ]
    assert found["usage"]["total_tokens"] == 30
    assert (place / "state" / "sessions" / f"{found['conversation_id']}.db").is_file()


def test_run_when_jsonl_is_wanted_then_an_event_a_line(place: Path, capsys: Capture) -> None:
    """`--jsonl` prints numbered events and at the end how it went."""
    with ScriptedModel(["One ", "two.", look(place)], "Done.") as model:
        assert run(model, "Look.", "--jsonl") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    kinds = [line["event"] for line in lines]
    assert kinds[-1] == "End"
    assert kinds.count("ToolAction") == 1
    text = "".join(line["text"] for line in lines if line["event"] == "TextDelta")
    assert text == "One two.Done."
    assert (lines[-1]["exit_code"], lines[-1]["text"]) == (0, "Done.")


@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        (http_error(401, "bad key"), 77, "refused the key"),
        (http_error(429, "slow down"), 75, "quota or rate limit"),
        (http_error(503, "busy"), 75, "overloaded"),
        (http_error(404, "no model"), 1, "refused the request"),
    ],
    ids=["401", "429", "503", "404"],
)
def test_run_when_the_model_fails_then_its_code_and_the_reason(
    reply: object, code: int, said: str, place: Path, capsys: Capture
) -> None:
    """The exit code says who must act, standard error says why; JSON has both."""
    with ScriptedModel(reply) as model:
        assert run(model, "Hi!", "--json") == code
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["ok"], found["exit_code"]) == (False, code)
    assert said in found["error"]["message"]
    assert f"error: {found['error']['message']}" in shown.err
    assert f"--resume {found['conversation_id']}" in shown.err


def test_run_when_the_answer_is_cut_off_then_not_0(place: Path, capsys: Capture) -> None:
    """Half an answer is printed, and never passes for a whole one."""
    with ScriptedModel(truncated("Half an"), truncated("Half an"), truncated("Half an")) as model:
        assert run(model, "Hi!") == 1
    assert "error:" in capsys.readouterr().err


def test_run_when_the_time_is_up_then_124_and_what_there_was(place: Path, capsys: Capture) -> None:
    """`--timeout` covers the whole command; what had come is printed."""
    with ScriptedModel(["Once ", look(place)], hang()) as model:
        assert run(model, "Tell.", "--timeout", "1") == 124
    shown = capsys.readouterr()
    assert shown.out == "Once\n" or shown.out == "Once \n"
    assert "did not end within" in shown.err


def test_run_when_a_tool_is_denied_then_4_and_which(place: Path, capsys: Capture) -> None:
    """The model goes on without it, but the caller learns of it."""
    with ScriptedModel([look(place)], "I may not.") as model:
        assert run(model, "Look.", "--deny", "view_file") == 4
        assert "denied on the command line" in str(model.requests[1].function_responses)
    shown = capsys.readouterr()
    assert shown.out == "I may not.\n"
    assert "view_file was denied: denied on the command line" in shown.err


def test_run_when_a_budget_is_used_up_then_3_and_what_there_was(
    version: str, place: Path, capsys: Capture
) -> None:
    """A turn that a limit cut off is no whole one, whoever enforces the limit."""
    harness = ("--harness", str(harness_path(version)))
    with ScriptedModel(["One. ", look(place)], "Two.") as model:
        assert run(model, "Look.", "--max-model-calls", "1", "--json", *harness) == 3
        assert len(model.requests) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["stop_reason"] == "MAX_MODEL_CALLS_EXCEEDED"
    assert "the turn was stopped: MAX_MODEL_CALLS_EXCEEDED" in shown.err


def test_run_when_a_tool_is_allowed_then_it_runs(place: Path, capsys: Capture) -> None:
    """`--allow` offers a tool that changes something; without it the model is not offered it."""
    with ScriptedModel(
        "no",
        [
            call(
                "run_command",
                CommandLine="echo hi > new.txt",
                Cwd=str(place / "work"),
                WaitMsBeforeAsync=5000,
            )
        ],
        "ok",
    ) as model:
        assert run(model, "Try.") == 0
        assert "run_command" not in model.requests[0].tools
        assert run(model, "Try.", "--allow", "run_command") == 0
        assert "run_command" in model.requests[1].tools
    assert (place / "work" / "new.txt").read_text() == "hi\n"


def test_run_when_the_command_line_is_wrong_then_its_code(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot work is refused before a harness runs, and each kind has its code."""
    cases = [
        (["--timeout", "0"], 2),
        (["--json", "--jsonl"], 2),
        (["--conversation", "a", "--resume", "a"], 2),
        (["--allow", "nonsense"], 78),
        (["--deny", "nonsense"], 78),
        (["--workspace", str(place / "nowhere")], 78),
        (["--resume", "nobody"], 78),
        (["--resume", "nobody", "--no-save"], 78),
        (["--lock", "../x"], 78),
        (["--retries", "-1"], 78),
        (["--max-tool-calls", "0"], 78),
        (["--harness", str(place / "nowhere")], 69),
    ]
    for arguments, code in cases:
        assert main(["run", "Hi!", *arguments]) == code, arguments
        assert capsys.readouterr().out == ""
    monkeypatch.delenv("GEMINI_API_KEY")
    assert main(["run", "Hi!"]) == 77
    assert "GEMINI_API_KEY" in capsys.readouterr().err


def test_run_when_recorded_then_trace_shows_it(version: str, place: Path, capsys: Capture) -> None:
    """What `--record` writes is a timeline to `trace`, on every version."""
    harness = ("--harness", str(harness_path(version)))
    with ScriptedModel([look(place)], "hello") as model:
        assert run(model, "Look.", "--record", "wire.jsonl", "--deny", "view_file", *harness) == 4
    capsys.readouterr()
    assert main(["trace", "wire.jsonl", "--json"]) == 0
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    spans = [(one["lane"], one["name"], one["mark"]) for one in session["spans"]]
    assert session["version"] == version
    assert ("turn", "Look.", "") in spans
    assert ("model", "answer", "") in spans
    (decision,) = [one for one in spans if one[0] == "decision"]
    assert decision[1].startswith("view_file: denied")
    assert decision[2] == "denied"
    assert sum(one["tokens"] for one in session["spans"]) == 30
    assert [one for one in spans if one[2] == "unfinished"] == []


def test_run_when_offline_then_no_key_and_it_says_so(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--offline` needs no key, runs the real harness, and does not pass for an answer."""
    monkeypatch.delenv("GEMINI_API_KEY")
    assert main(["run", "Hi!", "--offline", "--no-save"]) == 0
    shown = capsys.readouterr()
    assert "scripted model" in shown.out
    assert "offline" in shown.err
    assert not (place / "state").exists()


def test_run_when_a_conversation_is_named_then_it_goes_on(version: str, place: Path) -> None:
    """`--conversation` begins and goes on; `--resume` goes on."""
    with ScriptedModel("one", "two", "three") as model:
        for which in ("--conversation", "--conversation", "--resume"):
            harness = ("--harness", str(harness_path(version)))
            assert run(model, "Go on.", which, "nightly", *harness) == 0
        texts = str(model.requests[2].contents)
    assert "one" in texts
    assert "two" in texts


def test_run_when_the_lock_is_held_then_75_and_free_after_a_kill(
    place: Path, spawn: Callable[..., subprocess.Popen[str]], capsys: Capture
) -> None:
    """Two commands of one lock do not overlap, and a killed one leaves no lock behind."""
    with ScriptedModel(hang(), "free") as model:
        holder = spawn(model, "Wait.", "--lock", "nightly")
        model.wait_for_request(1)
        assert run(model, "Hi!", "--lock", "nightly") == 75
        assert f"process {holder.pid} holds the lock 'nightly'" in capsys.readouterr().err
        assert run(model, "Hi!", "--lock", "weekly") == 0
        holder.kill()
        holder.wait(CEILING)
    with ScriptedModel("free") as model:
        assert run(model, "Hi!", "--lock", "nightly") == 0
    assert os.listdir(place / "state" / "locks") == []


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["SIGINT", "SIGTERM"],
)
def test_run_when_a_signal_comes_then_its_code_and_no_harness_is_left(
    number: int,
    code: int,
    word: str,
    spawn: Callable[..., subprocess.Popen[str]],
) -> None:
    """The turn is halted, the harness closed, and JSON says so; nobody waits for stdin."""
    with ScriptedModel(hang()) as model:
        process = spawn(model, "Wait.", "--json")
        model.wait_for_request(1)
        children = _children(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=CEILING)
    assert process.returncode == code
    found = json.loads(out)
    assert (found["exit_code"], found["error"]["message"]) == (code, word)
    assert "Traceback" not in err
    assert len(children) == 1
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), "its end")


def test_run_when_stdin_is_an_open_pipe_then_it_ends_all_the_same(
    spawn: Callable[..., subprocess.Popen[str]],
) -> None:
    """Nothing is ever read from standard input."""
    with ScriptedModel("done") as model:
        process = spawn(model, "Hi!")
        assert process.wait(CEILING) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "done\n"


def test_run_when_nobody_reads_then_no_traceback(place: Path) -> None:
    """A reader that has gone ends the command with a code and without a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    with ScriptedModel("x" * 100) as model:
        done = subprocess.run(
            command(model, "Hi!"),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""


def test_run_when_its_output_is_full_then_said(place: Path) -> None:
    """An answer that cannot be written is no success."""
    with ScriptedModel("x" * 100) as model, open("/dev/full", "w") as full:
        done = subprocess.run(
            command(model, "Hi!"),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 1
    assert "the output cannot be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
