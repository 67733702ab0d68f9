"""A lock between agents of any process: a file that its holder keeps locked.

The system frees it when the holder dies, however that happens, so there is no stale lock. What a
dead holder leaves is the file with its last words, for the next one to read.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
from typing import Final

from .._transport import forks

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: Where Windows locks a byte: past the text, which others could not read otherwise.
_FAR: Final = 1 << 30
#: What a file system says that has no locks.
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class FileLock:
    """One such lock, free at first; taken once.

    Thread: one takes it, any may release it, more than once.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        # A list: `pop` settles who closes it without a lock that an interrupt might leave taken.
        self._descriptors: list[int] = []
        self._is_held = False

    def take(self) -> bool:
        """Take the lock; return whether nobody else holds it. Never waits.

        Raises:
            OSError: The file cannot be opened or locked.
        """
        forks.enrol(self)
        while True:
            self._descriptors.append(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            descriptor = self._descriptors[0]
            if not _lock(descriptor, self._path):
                self.give_up()
                return False
            if _is_at(descriptor, self._path):
                self._is_held = True
                return True
            self.give_up()  # whoever held it has removed the file that we had just opened

    def read(self) -> str:
        """Return what the holder wrote, or the last one; `""` if nothing can be read."""
        try:
            with open(self._path, encoding="ascii", errors="replace") as file:
                return file.read(200)
        except OSError:
            return ""

    def write(self, text: str) -> None:
        """Leave a word for others, if there is room for it; only while it is held."""
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):  # a full disk: the lock holds without it
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, text.encode("ascii", "replace"))

    def release(self) -> None:
        """Remove the file and free the lock."""
        with contextlib.suppress(IndexError):
            descriptor = self._descriptors.pop()
            if self._is_held:
                # Before it is free, when it would be another's. Windows keeps a file that is open.
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
            os.close(descriptor)

    def give_up(self) -> None:
        """Close our copy of it and touch nothing else, in a forked child for one."""
        with contextlib.suppress(IndexError):
            os.close(self._descriptors.pop())


def _is_at(descriptor: int, path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, _path: str) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int, path: str) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            _log.warning(
                "%s is on a file system without locks: nothing keeps a second agent from the "
                "same conversation",
                path,
            )
        return True
