"""What holds a keyed session of a pool against all other pools; see `AgentPool.session`."""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import threading
from collections.abc import Iterator
from typing import Final, Protocol

from ._checks import local_path
from ._clock import Deadline, MonotonicClock
from ._runtime.filelock import FileLock
from ._runtime.store import wire_id
from ._timeouts import seconds_of
from .errors import AntigravityError, ConfigError, ConversationBusyError, PoolError

_log: Final = logging.getLogger("antigravity_sync.pool")

#: How often a conversation that somebody else has is asked for again.
BUSY_PAUSE: Final = 0.02


class SessionLock(Protocol):
    """What an `AgentPool` holds a session by; write one where files do not reach, as in a database.

    Thread: any, several at once, each for its own lease.
    """

    def held(self, key: str, *, timeout: float | None) -> contextlib.AbstractContextManager[object]:
        """Return a context manager that holds a session, from its entry to its exit.

        A pool enters it before it takes a place, and exits it when the agent is closed, however
        that came about. What it holds must outlast the longest lease.

        Args:
            key: The session's, any text.
            timeout: Seconds that the entry may wait for it; `None` is for ever.

        Entering blocks until the session is free. `False` from there also says that it is not.

        Raises:
            ConversationBusyError: Somebody else had it all the time. Any other exception reaches
                the caller as the cause of a `PoolError`.
        """


class FileSessionLock:
    """Holds sessions by locked files, against all processes that see the same directory.

    The system frees the lock of a process that dies. Whether a network file system takes locks to
    other machines is its own affair.

    Args:
        directory: Where the files are, made when it is needed; for nothing else.

    Raises:
        ConfigError: It is no path.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = local_path("directory", directory)

    @contextlib.contextmanager
    def held(self, key: str, *, timeout: float | None) -> Iterator[None]:
        """Return a context manager that holds a session; see `SessionLock`.

        Raises:
            ConfigError: A file cannot be made or locked there.
            ConversationBusyError: Somebody else had it all the time.
        """
        deadline = Deadline.after(MonotonicClock(), seconds_of(timeout, None))
        lock = FileLock(os.path.join(self._directory, f"{wire_id(key)}.lock"))
        try:
            self._take(lock, deadline)
            yield
        finally:
            lock.release()

    def _take(self, lock: FileLock, deadline: Deadline) -> None:
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            while not lock.take():
                if deadline.expired():
                    raise _busy(lock.read())
                threading.Event().wait(deadline.sooner(BUSY_PAUSE).remaining())
        except OSError as error:
            raise ConfigError(
                f"the session's lock in {self._directory} cannot be made ({error.strerror}); "
                "choose a directory you may write to"
            ) from error
        lock.write(str(os.getpid()))

    def __repr__(self) -> str:
        return f"FileSessionLock({self._directory!r})"


def _busy(word: str = "") -> ConversationBusyError:
    holder = int(word) if word.isdecimal() else None
    where = "elsewhere" if holder in (None, os.getpid()) else f"in process {holder}"
    return ConversationBusyError(
        f"the session was in use {where} for the whole timeout; try again later", pid=holder
    )


# ── for the pool ────────────────────────────────────────────────────────────────────────────────


def check_session_lock(lock: object) -> None:
    """Check for a lock that a user gave.

    Raises:
        ConfigError: It is none.
    """
    held = getattr(lock, "held", None)
    if isinstance(lock, type) or not callable(held):
        raise ConfigError(
            f"session_lock must be an object with held(key, timeout=...), as FileSessionLock has, "
            f"not {lock!r:.200}"
        )
    if inspect.iscoroutinefunction(held) or inspect.isasyncgenfunction(held):
        raise ConfigError("session_lock: held must be a plain function, not a coroutine function")


@contextlib.contextmanager
def session_held(lock: SessionLock, key: str, deadline: Deadline) -> Iterator[None]:
    """Hold a session by a lock that may be a user's, and may fail in any way.

    Blocks until it is free; the deadline is the lock's to keep.

    Raises:
        ConfigError: The lock is none.
        ConversationBusyError: Somebody else had it all the time.
        PoolError: The lock failed.
    """
    is_held, failure = False, None
    try:
        with _asked(lock, key, deadline) as answer:
            if answer is False:
                raise _busy()
            is_held = True
            try:
                yield
            except BaseException as error:  # unwinding: what happened under the lock comes first
                failure = error
                raise
        if failure is not None:
            raise failure  # the lock has no say in it, though it would swallow it
    except BaseException as error:  # boundary: a user's lock failed, unless the block did
        if error is failure or not isinstance(error, Exception):
            raise
        if failure is not None:
            _log.exception("the session lock failed, after its lease had")
            raise failure
        if isinstance(error, AntigravityError):
            raise
        what = "to let go of a session" if is_held else "to take a session"
        raise _failed(what, error) from error
    finally:
        failure = None  # it holds this frame


def _asked(
    lock: SessionLock, key: str, deadline: Deadline
) -> contextlib.AbstractContextManager[object]:
    """Return the lock's context manager for a session."""
    found: object = lock.held(key, timeout=deadline.remaining())
    if isinstance(found, contextlib.AbstractContextManager):
        return found
    if inspect.iscoroutine(found):
        found.close()
    raise ConfigError(
        f"session_lock: held() must return a context manager, not {type(found).__name__}; "
        "decorate it with contextlib.contextmanager"
    )


def _failed(what: str, error: Exception) -> PoolError:
    return PoolError(
        f"the session lock failed {what} with {type(error).__name__}; see its cause, and whether "
        "what it locks by can be reached"
    )
