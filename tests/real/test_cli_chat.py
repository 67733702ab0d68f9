"""`antigravity-sync chat` on a real terminal (a pty), with `rich` and without it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync.testing import ScriptedModel, call, hang, http_error, thought
from tests.contract.source import ROOT
from tests.gates import CEILING
from tests.versions import harness_path

pytestmark = pytest.mark.real

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The command on a terminal of its own, and everything that it has shown."""

    def __init__(self, arguments: list[str], environ: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antigravity_sync.cli", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", **environ},
            start_new_session=True,
        )
        os.close(slave)
        self.raw = ""
        self._read = 0

    @property
    def shown(self) -> str:
        return _ESCAPE.sub("", self.raw).replace("\r", "")

    def wait_for(self, words: str) -> None:
        """Wait until these words are shown after the last ones that were waited for."""
        until = time.monotonic() + CEILING
        while words not in self.shown[self._read :]:
            ready, _, _ = select.select([self._master], [], [], max(0, until - time.monotonic()))
            assert ready, f"{words!r} never came; shown is:\n{self.shown}"
            assert self._more(), f"{words!r} never came; shown is:\n{self.shown}"
        self._read += self.shown[self._read :].index(words) + len(words)

    def _more(self) -> bool:
        with contextlib.suppress(OSError):  # the other side has closed
            data = os.read(self._master, 65536)
            self.raw += data.decode("utf-8", "replace")
            return bool(data)
        return False

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def interrupt_prompt(self, words: str) -> None:
        """Press Ctrl-C at a prompt, until these words are shown.

        Once more if nothing comes of it: a signal that arrives between the prompt and the read
        behind it is only seen by Python when the read ends.
        """
        for _ in range(5):
            self.interrupt()
            until = time.monotonic() + CEILING / 5
            while words not in self.shown[self._read :]:
                left = max(0, until - time.monotonic())
                if not select.select([self._master], [], [], left)[0] or not self._more():
                    break
            else:
                break
        self.wait_for(words)

    def leave(self) -> int:
        """Press Ctrl-D and return the exit code."""
        os.write(self._master, b"\x04")
        return self.end()

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code; once more if nothing comes of it, as above."""
        for _ in range(5):
            self.process.send_signal(signal.SIGTERM)
            while select.select([self._master], [], [], CEILING / 5)[0]:
                if not self._more():
                    return self.process.wait(CEILING)
        raise AssertionError(f"SIGTERM did not end it; shown is:\n{self.shown}")

    def end(self) -> int:
        while self._more():
            pass
        return self.process.wait(CEILING)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture(params=["rich", "plain"])
def chat(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Terminal]]:
    """Start chats; without `rich` a package of that name is found that cannot be imported."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTIGRAVITY_SYNC_STATE", str(tmp_path / "state"))
    path = [str(ROOT)]
    if request.param == "plain":
        (tmp_path / "hidden" / "rich").mkdir(parents=True)
        (tmp_path / "hidden" / "rich" / "__init__.py").write_text("raise ImportError\n")
        path.insert(0, str(tmp_path / "hidden"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    terminals: list[Terminal] = []

    def start(model: ScriptedModel, *arguments: str, version: str = "0.1.10") -> Terminal:
        harness = str(harness_path(version))
        options = ["--base-url", model.base_url, "--harness", harness, "--retries", "0"]
        environ = {"PYTHONPATH": os.pathsep.join(path), "GEMINI_API_KEY": "key"}
        terminal = Terminal(["chat", *options, *arguments], environ)
        terminals.append(terminal)
        return terminal

    start.kind = request.param
    yield start
    for terminal in terminals:
        terminal.close()


def touch(name: str) -> object:
    return call("run_command", CommandLine=f"touch {name}", Cwd=os.getcwd(), WaitMsBeforeAsync=5000)


def test_chat_when_talked_to_then_answers_thoughts_and_tools_are_shown(
    chat: Callable[..., Terminal],
) -> None:
    """Text as it comes, thoughts dimmed, each tool call with its decision, time and tokens."""
    here = call("list_dir", DirectoryPath=os.getcwd())
    with ScriptedModel([thought("Let me see."), "I look.\x1b[5m", here], "Done.", "Bye.") as model:
        terminal = chat(model)
        terminal.wait_for("> ")
        terminal.type("What is here?")
        terminal.wait_for("I look.\\x1b[5m")
        terminal.wait_for("list_directory")
        terminal.wait_for("— allowed")
        terminal.wait_for("Done.")
        terminal.wait_for("30 tokens · 1 tool calls")
        terminal.wait_for("> ")
        terminal.type("")
        terminal.wait_for("> ")
        terminal.type("And now?")
        terminal.wait_for("Bye.")
        terminal.wait_for("> ")
        assert terminal.leave() == 0
        assert model.requests[2].prompt == "And now?"
    assert "--resume" in terminal.shown
    is_pretty = chat.kind == "rich"
    assert ("Let me see." in terminal.shown) == is_pretty
    assert ("\x1b[2mLet me see." in terminal.raw) == is_pretty
    assert ("\x1b[?25l" in terminal.raw) == is_pretty, "a spinner hides the cursor"
    assert "\x1b[5m" not in terminal.raw


def test_chat_when_a_tool_changes_something_then_the_person_is_asked(
    chat: Callable[..., Terminal], tmp_path: Path, version: str
) -> None:
    """No is a denial, yes is for once, always is for the rest of the chat; on every version."""
    script = [[touch("a")], [touch("b")], [touch("c")], [touch("d")], "Done."]
    with ScriptedModel(*script) as model:
        terminal = chat(model, version=version)
        terminal.wait_for("> ")
        terminal.type("Make files.")
        for answer in ("", "Y", "always"):
            terminal.wait_for("allow run_command")
            terminal.wait_for("[N]o: ")
            terminal.type(answer)
        terminal.wait_for("Done.")
        terminal.wait_for("> ")
        assert terminal.leave() == 0
    assert sorted(os.listdir(tmp_path / "work")) == ["b", "c", "d"]


def test_chat_when_the_model_asks_then_the_person_answers(chat: Callable[..., Terminal]) -> None:
    """Choices are numbered; own words will do."""
    questions = [
        {"question": "Which colour?", "options": ["red", "blue"], "is_multi_select": False},
        {"question": "Which size?", "options": ["big", "huge"], "is_multi_select": False},
    ]
    with ScriptedModel(call("ask_question", questions=questions), "Thanks.") as model:
        terminal = chat(model)
        terminal.wait_for("> ")
        terminal.type("Paint it.")
        terminal.wait_for("2. blue")
        terminal.wait_for("own words: ")
        terminal.type("2")
        terminal.wait_for("Which size?")
        terminal.wait_for("own words: ")
        terminal.type("quite small")
        terminal.wait_for("Thanks.")
        terminal.wait_for("> ")
        terminal.leave()
        answered = str(model.requests[1].function_responses)
    assert "blue" in answered
    assert "quite small" in answered


def test_chat_when_ctrl_c_then_the_turn_is_halted_and_twice_leaves(
    chat: Callable[..., Terminal],
) -> None:
    """The chat goes on after a halt; at the prompt the second Ctrl-C leaves with 130."""
    with ScriptedModel(["So far", touch("x")], hang(), "Again.") as model:
        terminal = chat(model, "--allow", "run_command")
        terminal.wait_for("> ")
        terminal.type("Go.")
        model.wait_for_request(2)
        terminal.interrupt()
        terminal.wait_for("the turn was halted")
        terminal.wait_for("> ")
        terminal.type("Go on.")
        terminal.wait_for("Again.")
        terminal.wait_for("> ")
        terminal.interrupt_prompt("Ctrl-C again leaves")
        terminal.wait_for("> ")
        terminal.interrupt_prompt("--resume")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.shown


def test_chat_when_ctrl_c_comes_at_an_approval_then_denied_and_halted(
    chat: Callable[..., Terminal], tmp_path: Path
) -> None:
    """Nobody who presses Ctrl-C has said yes."""
    with ScriptedModel([touch("x")], "Again.") as model:
        terminal = chat(model)
        terminal.wait_for("> ")
        terminal.type("Go.")
        terminal.wait_for("[N]o: ")
        terminal.interrupt_prompt("the turn was halted")
        terminal.wait_for("> ")
        assert terminal.leave() == 0
    assert os.listdir(tmp_path / "work") == []


def test_chat_when_a_turn_fails_then_it_says_so_and_goes_on(chat: Callable[..., Terminal]) -> None:
    """An error of the model is shown, and the next turn works."""
    with ScriptedModel(http_error(400, "bad luck"), "Better.") as model:
        terminal = chat(model)
        terminal.wait_for("> ")
        terminal.type("Go.")
        terminal.wait_for("bad luck")
        terminal.wait_for("> ")
        terminal.type("Again.")
        terminal.wait_for("Better.")
        terminal.wait_for("> ")
        assert terminal.terminate() == 143


def test_install_when_at_a_terminal_then_a_bar_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its stage and the time; it is gone at the end, and the reason of a failure is left."""
    environ = {
        "PYTHONPATH": str(ROOT),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "ANTIGRAVITY_SYNC_CACHE": str(tmp_path),
    }
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    terminal = Terminal(["install-harness"], environ)
    try:
        assert terminal.end() == 69
    finally:
        terminal.close()
    assert "downloading google-antigravity==0.1.10 ━" in terminal.shown
    assert "0:00:0" in terminal.shown
    assert "error: pip could not fetch" in terminal.shown


def test_chat_when_there_is_no_terminal_then_2_at_once(tmp_path: Path) -> None:
    """It never waits for a standard input that nobody types into."""
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", "antigravity_sync.cli", "chat"],
        stdin=reading,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ANTIGRAVITY_SYNC_STATE": str(tmp_path)},
        timeout=CEILING,
    )
    os.close(reading)
    os.close(writing)
    assert done.returncode == 2
    assert "use `run PROMPT`" in done.stderr
