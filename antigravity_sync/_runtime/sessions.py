"""The hold of a pool on a session: waited for before a place is taken, or a process started."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Final

from .._clock import Deadline
from ..errors import ConfigError, ConversationBusyError
from .filelock import FileLock
from .store import wire_id

#: How often a conversation that somebody else has is asked for again.
BUSY_PAUSE: Final = 0.02
#: Beside the conversations, whose own locks are held by agents.
_DIRECTORY: Final = ".locks"


@contextlib.contextmanager
def session_held(save_dir: str, key: str, deadline: Deadline) -> Iterator[None]:
    """Hold a session against all pools with this directory, in any process.

    Args:
        save_dir: Where conversations are kept.
        key: The session's, any text.
        deadline: Until when to wait for it.

    Blocks until it is free or the deadline passes.

    Raises:
        ConfigError: The lock cannot be made.
        ConversationBusyError: Somebody else had it all the time.
    """
    directory = os.path.join(save_dir, _DIRECTORY)
    lock = FileLock(os.path.join(directory, f"{wire_id(key)}.lock"))
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        while not lock.take():
            if deadline.expired():
                raise _busy(lock.read())
            threading.Event().wait(deadline.sooner(BUSY_PAUSE).remaining())
    except OSError as error:
        raise ConfigError(
            f"the session's lock in {directory} cannot be made ({error.strerror}); choose a "
            "save_dir you may write to"
        ) from error
    try:
        lock.write(str(os.getpid()))
        yield
    finally:
        lock.release()


def _busy(word: str) -> ConversationBusyError:
    holder = int(word) if word.isdecimal() else None
    where = "elsewhere" if holder in (None, os.getpid()) else f"in process {holder}"
    return ConversationBusyError(
        f"the session was in use {where} for the whole timeout; try again later", pid=holder
    )
