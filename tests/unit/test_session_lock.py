"""Locks of sessions: that of files, and how a lock of a user's own may fail."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antigravity_sync import AgentPool, FileSessionLock
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync.errors import ConfigError, ConversationBusyError, PoolError
from antigravity_sync.session_lock import session_held
from tests.gates import CEILING, Gate, Task

SOON = Deadline.after(MonotonicClock(), CEILING)


class Recorded:
    """A lock that keeps what was asked of it, and does as it is told."""

    def __init__(self, *, entering: object = None, leaving: object = None) -> None:
        self._entering = entering
        self._leaving = leaving
        self.log: list[str] = []

    def held(self, key: str, *, timeout: float | None) -> Recorded:
        assert timeout is None or 0.0 <= timeout <= CEILING
        self.log.append(f"held {key}")
        return self

    def __enter__(self) -> object:
        self.log.append("enter")
        if isinstance(self._entering, BaseException):
            raise self._entering
        return self._entering

    def __exit__(self, kind: object, error: object, traceback: object) -> object:
        self.log.append(f"exit {getattr(kind, '__name__', None)}")
        if isinstance(self._leaving, BaseException):
            raise self._leaving
        return self._leaving


class Plain:
    """A lock whose `held` returns what it was given."""

    def __init__(self, returned: object) -> None:
        self._returned = returned

    def held(self, key: str, *, timeout: float | None) -> object:
        return self._returned


def test_file_lock_when_taken_then_others_wait_or_are_told(tmp_path: Path):
    """By its key, with the process that has it; the file is gone afterwards."""
    lock, other = FileSessionLock(tmp_path / "locks"), FileSessionLock(tmp_path / "locks")
    gate = Gate()

    def wait() -> str:
        gate.pass_through()
        with other.held("ada", timeout=CEILING):
            return "mine"

    waiting = Task(wait)
    with lock.held("ada", timeout=0.0):
        with (
            other.held("bob", timeout=0.0),
            pytest.raises(ConversationBusyError) as caught,
            other.held("ada", timeout=0.0),
        ):
            raise AssertionError("two have it")
        assert caught.value.pid == os.getpid()
        gate.open()
        assert waiting.is_alive()
    assert waiting.result() == "mine"
    assert os.listdir(tmp_path / "locks") == []


def test_file_lock_when_its_directory_cannot_be_made_then_said(tmp_path: Path):
    """With what to do."""
    (tmp_path / "file").write_text("")
    lock = FileSessionLock(tmp_path / "file")
    with pytest.raises(ConfigError, match="choose a directory"), lock.held("ada", timeout=0.0):
        raise AssertionError("it has it")
    with pytest.raises(ConfigError):
        FileSessionLock(17)


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), GeneratorExit(), ConversationBusyError("b")]
)
@pytest.mark.parametrize("swallows", [False, True])
def test_lock_when_the_block_raises_then_it_is_left_and_the_error_goes_up(error, swallows):
    """The very error, also past a lock that would swallow it."""
    lock = Recorded(leaving=swallows)
    with pytest.raises(type(error)) as caught, session_held(lock, "ada", SOON):
        raise error
    assert caught.value is error
    assert lock.log == ["held ada", "enter", f"exit {type(error).__name__}"]


def test_lock_when_it_says_no_then_busy():
    """By `False`, or by the error that the page names."""
    for lock in (Recorded(entering=False), Recorded(entering=ConversationBusyError("in use"))):
        with pytest.raises(ConversationBusyError), session_held(lock, "ada", SOON):
            raise AssertionError("it has it")


def test_lock_when_it_fails_then_a_pool_error_with_its_cause():
    """At either end; its own text may hold an address or a password, so it is not repeated."""
    cause = RuntimeError("redis://user:secret@host")
    with (
        pytest.raises(PoolError, match="to take a session with RuntimeError") as caught,
        session_held(Recorded(entering=cause), "ada", SOON),
    ):
        raise AssertionError("it has it")
    assert caught.value.__cause__ is cause
    assert "secret" not in str(caught.value)
    with (
        pytest.raises(PoolError, match="to let go of a session with RuntimeError"),
        session_held(Recorded(leaving=cause), "ada", SOON),
    ):
        pass


def test_lock_when_it_fails_after_the_block_did_then_that_comes_first(
    caplog: pytest.LogCaptureFixture,
):
    """And the failure of the lock is logged."""
    with (
        pytest.raises(ValueError, match="the block"),
        caplog.at_level(logging.ERROR),
        session_held(Recorded(leaving=RuntimeError("the lock")), "ada", SOON),
    ):
        raise ValueError("the block")
    assert "the session lock failed" in caplog.text


@pytest.mark.parametrize("returned", [None, True, "ada", object()])
def test_lock_when_it_returns_no_context_manager_then_said(returned):
    """That the decorator is missing, most likely."""
    with (
        pytest.raises(ConfigError, match="decorate it with"),
        session_held(Plain(returned), "ada", SOON),
    ):
        raise AssertionError("it has it")


def test_lock_when_it_is_none_then_refused_by_the_pool():
    """Before anybody leases anything: no lock, a class, a coroutine function."""

    class Async:
        async def held(self, key: str, *, timeout: float | None) -> None: ...

    class AsyncManager:
        @contextlib.asynccontextmanager
        async def held(self, key: str, *, timeout: float | None):
            yield

    for lock in (object(), Recorded, Async(), "file"):
        with pytest.raises(ConfigError, match="session_lock"):
            AgentPool(session_lock=lock)
    with (
        pytest.raises(ConfigError, match="context manager"),
        session_held(AsyncManager(), "ada", SOON),
    ):
        raise AssertionError("it has it")


def test_lock_when_it_is_a_function_with_a_yield_then_it_will_do():
    """As the README shows it."""

    class Generated:
        @contextlib.contextmanager
        def held(self, key: str, *, timeout: float | None) -> Iterator[None]:
            yield

    with session_held(Generated(), "ada", SOON):
        pass
