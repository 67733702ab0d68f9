"""Parts of the command that need no harness: places, locks, what is typed and what is shown."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from antigravity_sync.cli.chat import answer_of
from antigravity_sync.cli.exits import CommandError
from antigravity_sync.cli.locks import held
from antigravity_sync.cli.options import seconds
from antigravity_sync.cli.places import locks_dir, sessions_dir, state_dir
from antigravity_sync.cli.say import harmless
from antigravity_sync.errors import ConfigError
from antigravity_sync.questions import Answer, Question


@pytest.mark.parametrize(
    ("environ", "system", "expected"),
    [
        ({"HOME": "/h"}, "linux", "/h/.local/state/antigravity-sync"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/x"}, "linux", "/x/antigravity-sync"),
        ({"HOME": "/h", "XDG_STATE_HOME": "x"}, "linux", "/h/.local/state/antigravity-sync"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/antigravity-sync"),
        ({"HOME": "/h", "LOCALAPPDATA": "/l"}, "win32", "/l/antigravity-sync/state"),
        ({"HOME": "/h", "ANTIGRAVITY_SYNC_STATE": "/s"}, "linux", "/s"),
    ],
)
def test_state_when_looked_for_then_where_the_system_keeps_such_things(
    environ: dict[str, str], system: str, expected: str
) -> None:
    """Our own variable beats the system's, and that beats the home directory."""
    assert str(state_dir(environ, system=system)) == expected


def test_state_when_split_then_conversations_and_locks() -> None:
    """Conversations and locks do not mix."""
    environ = {"ANTIGRAVITY_SYNC_STATE": "/s"}
    assert (sessions_dir(environ), locks_dir(environ)) == (Path("/s/sessions"), Path("/s/locks"))


def test_state_when_there_is_no_home_then_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cron job may have neither a home directory nor a variable."""
    monkeypatch.setenv("HOME", "none")
    with pytest.raises(ConfigError, match="set ANTIGRAVITY_SYNC_STATE"):
        state_dir({})


def test_lock_when_held_then_nobody_else_gets_it_and_no_file_is_left(tmp_path: Path) -> None:
    """Within one process, too; another name is another lock; no name is none."""
    environ = {"ANTIGRAVITY_SYNC_STATE": str(tmp_path)}
    with held("a", environ), held("b", environ), held(None, environ):
        assert sorted(os.listdir(tmp_path / "locks")) == ["a.lock", "b.lock"]
        with pytest.raises(CommandError, match=f"process {os.getpid()} holds"), held("a", environ):
            pass
    assert os.listdir(tmp_path / "locks") == []
    with held("a", environ):
        pass


@pytest.mark.parametrize("name", ["", ".", "../a", "a/b", ".hidden", "a b", "ä", "x" * 101])
def test_lock_when_the_name_is_none_then_refused(name: str, tmp_path: Path) -> None:
    """A name is no path."""
    environ = {"ANTIGRAVITY_SYNC_STATE": str(tmp_path)}
    with pytest.raises(ConfigError, match="no name for a lock"), held(name, environ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_lock_when_it_cannot_be_made_then_refused() -> None:
    """A place that cannot be written is named."""
    environ = {"ANTIGRAVITY_SYNC_STATE": "/proc/self"}
    with pytest.raises(ConfigError, match="cannot be made"), held("a", environ):
        pass


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "x", ""])
def test_timeout_when_it_is_none_then_refused(text: str) -> None:
    """A command must end some time."""
    with pytest.raises(argparse.ArgumentTypeError, match="no number of seconds"):
        seconds(text)
    assert seconds("0.5") == 0.5


def test_text_when_shown_then_it_steers_no_terminal() -> None:
    """Escape sequences, bells and returns are spelled out; line ends, tabs and letters stay."""
    assert harmless("a\tb\nä日") == "a\tb\nä日"
    assert harmless("\x1b[2Jx\x07\r\x9b") == "\\x1b[2Jx\\x07\\x0d\\x9b"


ONE = Question("Which?", ("red", "blue", "green"))
MANY = Question("Which?", ("red", "blue", "green"), multi_select=True)


@pytest.mark.parametrize(
    ("question", "said", "answer"),
    [
        (ONE, "2", Answer.choices(1)),
        (ONE, "", Answer.unanswered()),
        (ONE, "4", Answer.freeform("4")),
        (ONE, "0", Answer.freeform("0")),
        (ONE, "1 2", Answer.freeform("1 2")),
        (ONE, "2 of them", Answer.freeform("2 of them")),
        (MANY, "1, 3", Answer.choices(0, 2)),
        (Question("How many?"), "2", Answer.freeform("2")),
    ],
)
def test_answer_when_typed_then_choices_or_own_words(
    question: Question, said: str, answer: Answer
) -> None:
    """Numbers of choices that there are, and as many as may be, are choices; all else is words."""
    assert answer_of(question, said) == answer
