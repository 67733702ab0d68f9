"""What a server refuses before it listens, and its token's file."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path

import pytest

from antigravity_sync import Harness
from antigravity_sync.cli.exits import CommandError
from antigravity_sync.cli.serve import write_token
from antigravity_sync.errors import ConfigError, UsageError
from antigravity_sync.serving import HarnessServer, check_token


class NeverStarted:
    """In place of a harness that must not be started."""

    def _join(self, deadline: object) -> object:
        raise AssertionError("it was started")


def serve(address: tuple[object, object] = ("127.0.0.1", 0), **options: object) -> HarnessServer:
    defaults = {"token": None, "expose": False, "max_connections": 1, "start_timeout": 1.0}
    return HarnessServer(NeverStarted(), address, **{**defaults, **options})


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.1.2.3"])
def test_serve_when_others_could_reach_it_then_refused_before_anything_starts(host):
    """What is sent is not encrypted, so that is to be said in so many words."""
    with pytest.raises(ConfigError, match="pass expose=True"):
        serve((host, 0))


@pytest.mark.parametrize(
    ("address", "options", "named"),
    [
        (("no such host!", 0), {}, "no such host!"),
        ((b"127.0.0.1", 0), {}, "host must be"),
        (("127.0.0.1", -1), {}, "port must be"),
        (("127.0.0.1", 65_536), {}, "port must be"),
        (("127.0.0.1", "80"), {}, "port must be"),
        (("127.0.0.1", True), {}, "port must be"),
        (("127.0.0.1", 0), {"token": "short"}, "a token has at least 16"),
        (("127.0.0.1", 0), {"token": "with a space in between"}, "a token has at least 16"),
        (("127.0.0.1", 0), {"token": "line\r\nbreak: injected"}, "a token has at least 16"),
        (("127.0.0.1", 0), {"token": b"bytes-and-no-text-at-all"}, "a token has at least 16"),
        (("127.0.0.1", 0), {"max_connections": 0}, "max_connections"),
        (("127.0.0.1", 0), {"max_connections": True}, "max_connections"),
    ],
)
def test_serve_when_an_argument_is_bad_then_refused_before_anything_starts(address, options, named):
    """By its name, and without the token."""
    with pytest.raises(ConfigError, match=named) as caught:
        serve(address, **options)
    assert str(options.get("token", "?????")) not in str(caught.value)


def test_token_when_none_is_given_then_a_new_one_each_time():
    """Nobody can guess it."""
    tokens = {check_token(None) for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 40


def test_token_file_when_written_then_only_this_user_reads_it(tmp_path: Path):
    """At no moment anybody else, and also where a file lies that everybody reads."""
    path = tmp_path / "token"
    path.write_text("old")
    path.chmod(0o666)
    before = path.stat().st_ino
    mask = os.umask(0)
    try:
        write_token("a-new-token", str(path))
    finally:
        os.umask(mask)
    assert path.read_text() == "a-new-token\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_ino != before
    assert os.listdir(tmp_path) == ["token"]


def test_token_file_when_it_cannot_be_written_then_said_and_nothing_left(tmp_path: Path):
    """Into a directory that is none, and over a directory."""
    (tmp_path / "directory").mkdir()
    for path in (tmp_path / "missing" / "token", tmp_path / "directory"):
        with pytest.raises(CommandError, match="the token cannot be written") as caught:
            write_token("a-new-token", str(path))
        assert caught.value.code == 78
        assert "a-new-token" not in str(caught.value)
    assert os.listdir(tmp_path) == ["directory"]


def test_harness_when_serving_is_refused_then_it_is_not_held():
    """It still ends with its last agent."""
    harness = Harness(api_key="none-such-key")
    with pytest.raises(ConfigError):
        harness.serve("0.0.0.0")
    assert harness._is_held is False
    assert not harness.is_started


def test_server_when_pickled_then_refused():
    """Its sockets belong to one process."""
    server = object.__new__(HarnessServer)
    with pytest.raises(UsageError, match="cannot be pickled"):
        pickle.dumps(server)
