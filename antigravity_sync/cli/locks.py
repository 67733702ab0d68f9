"""`--lock NAME`: at most one command of that name at a time, on this machine."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from ..errors import ConfigError
from .exits import CommandError, Exit
from .places import locks_dir

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@contextlib.contextmanager
def held(name: str | None, environ: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock of that name meanwhile; `None` is no lock. Never waits for it.

    The system frees it when this process ends, however that happens; the harness has no part in it.

    Raises:
        CommandError: Another process holds it.
        ConfigError: It is no name, or the file cannot be made.
    """
    if name is None:
        yield
        return
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"--lock {name!r} is no name for a lock; use letters, digits, '.', '_' and '-'"
        )
    from .._runtime.filelock import FileLock

    directory = locks_dir(environ)
    path = directory / f"{name}.lock"
    lock = FileLock(os.fspath(path))
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = lock.take()
    except OSError as error:
        raise ConfigError(
            f"the lock {path} cannot be made ({error.strerror}); make its directory writable"
        ) from error
    if not is_ours:
        holder = lock.read() or "unknown"
        raise CommandError(
            Exit.TRY_LATER, f"process {holder} holds the lock {name!r}; try again when it has ended"
        )
    try:
        lock.write(str(os.getpid()))
        yield
    finally:
        lock.release()
