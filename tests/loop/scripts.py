"""Programs of their own: how an interpreter ends, and what becomes of the harness then."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from antigravity_sync.testing.fake_harness import FakeHarness
from tests.gates import CEILING, wait_until
from tests.leaks import state

ROOT = Path(__file__).parents[2]
_SUBREAPER = 36

_PRELUDE = """\
import os, signal, sys, threading
from antigravity_sync import Agent, policy

def make(**options):
    return Agent(harness_path=sys.argv[1], api_key="k", **options)

"""


@attrs.frozen
class Ended:
    """How a program ended."""

    code: int
    out: str
    err: str


class Script:
    """A running program that uses agents on a harness; it fails on any warning.

    Its source finds `make(**options)`, which makes an agent, and the usual modules.
    """

    def __init__(
        self, source: str, harness: str, *args: str, temporary: Path | None = None
    ) -> None:
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(temporary or tempfile.gettempdir()),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _PRELUDE + source, harness, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            # A group of its own, so that a test can do to it what a terminal does.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def expect(self, word: str) -> None:
        """Wait until it says `word` on a line of its own."""
        line = self.process.stdout.readline()
        assert line == f"{word}\n", (line, self.end())

    def go_on(self) -> None:
        """Let it read a line."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> Ended:
        """Wait for its end; it does not hang."""
        try:
            out, err = self.process.communicate(timeout=CEILING)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, 9)
            out, err = self.process.communicate()
            raise AssertionError(f"the program hangs; it said:\n{out}\n{err}") from None
        return Ended(self.process.returncode, out, err)


@contextlib.contextmanager
def orphans_come_to_us() -> Iterator[None]:
    """Become the parent of what our children leave behind, so that no init has to reap it."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
        wait_until(_are_all_reaped, "the end of what the programs left behind")
    finally:
        libc.prctl(_SUBREAPER, 0, 0, 0, 0)


def _are_all_reaped() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


def assert_reaped_by_its_parent(fake: FakeHarness) -> None:
    """Fail if a harness lives, is a zombie, or was left to us."""
    fake.wait_for_exit()
    assert fake.pids, "no harness was started"
    for pid in fake.pids:
        assert state(pid) == "gone"
        try:
            found, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
        raise AssertionError(f"harness {pid} was left as an orphan (waitpid: {found})")


def adopted_exit_codes(fake: FakeHarness) -> list[int]:
    """Reap harnesses whose parent died before them; return how they exited."""
    fake.wait_for_exit()
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in fake.pids]
