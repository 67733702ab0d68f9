"""The conversation of an engine in the directory where it is kept: its ids, and the hold on it.

A harness keeps a conversation in one file that is named after its wire id, and does not refuse a
second process that opens it too. So whoever opens one here holds a lock beside that file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
from typing import Final

import attrs

from .._clock import Deadline
from .._transport.commands import start_time
from .._wire.dialect import Dialect
from .._wire.render import Conversation
from ..errors import (
    ConfigError,
    ConversationBusyError,
    ConversationExistsError,
    ConversationNotFoundError,
    InitError,
)
from .filelock import FileLock
from .plan import Directories, Wanted

#: What a harness takes as an id that it did not choose itself; beyond 244 its files get no names.
_LEGAL: Final = re.compile(r"[a-zA-Z0-9-]{32,244}")
#: How long a harness whose owner was killed may take to notice and end.
_GHOST_GRACE: Final = 2.0
_GHOST_POLL: Final = 0.01


def wire_id(conversation_id: str) -> str:
    """Return the id that the harness knows a conversation by: itself if it may be, else a hash."""
    if _LEGAL.fullmatch(conversation_id):
        return conversation_id
    return hashlib.sha256(conversation_id.encode()).hexdigest()


class Store:
    """The conversation of one engine.

    Thread: whoever opens or resets the engine; `release` may come from any.

    Attributes:
        directories: Where it is kept.
        name: The user's id of it, `""` if it has none but the harness's.
        wire_id: The harness's id of it, `""` while that is not known.
    """

    def __init__(self, directories: Directories, wanted: Wanted) -> None:
        self.directories = directories
        self.name = wanted.name
        self.wire_id = ""
        self._wanted = wanted
        self._is_there = False
        self._locks: list[FileLock] = []
        self._note = f"{os.getpid()}"

    # ── before there is a process ───────────────────────────────────────────────────────────────

    def claim(self, deadline: Deadline) -> None:
        """Hold the conversation that is wanted, if it can exist already, and see whether it does.

        Blocks while a harness whose owner died still has it open, a moment at most.

        Raises:
            ConfigError: Its lock or alias cannot be used.
            ConversationBusyError: Somebody else has it open.
            ConversationExistsError: It is there and must not be.
            ConversationNotFoundError: It is not there and must be.
            InitError: Its file is damaged.
        """
        wanted = self._wanted
        key = wanted.wire_id or (wire_id(wanted.name) if wanted.name else "")
        if not key:
            return
        if self.directories.is_elsewhere:
            self.wire_id = key  # whether it is there is for the harness to say
            return
        self._hold(key, deadline)
        self.wire_id = self._alias_of(key) or key
        if self.wire_id != key:
            self._hold(self.wire_id, deadline)
        self._is_there = self._looks_sound()
        shown = f"{wanted.name or key!r:.200}"
        if self._is_there and wanted.resume == "never":
            raise ConversationExistsError(
                f"the conversation {shown} exists already in {self.directories.storage}; "
                'choose another conversation_id, or resume="auto" to go on with it'
            )
        if not self._is_there and wanted.resume == "must":
            raise ConversationNotFoundError(
                f"there is no conversation {shown} in {self.directories.storage}; "
                'check save_dir and conversation_id, or use resume="auto" to begin it'
            )

    def _looks_sound(self) -> bool:
        """Return whether the conversation is there."""
        path = os.path.join(self.directories.storage, f"{self.wire_id}.db")
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return False
        if stat.S_ISREG(found.st_mode) and found.st_size:
            return True
        # A harness would take an empty one for a conversation in which nothing was said.
        raise InitError(
            f"the saved conversation {path} is damaged: it is empty or no file; restore it from a "
            "backup, or remove it to begin anew"
        )

    # ── what to open ────────────────────────────────────────────────────────────────────────────

    def first(self, dialect: Dialect) -> Conversation:
        """Return what the first message of a start opens."""
        if self._is_there:
            return Conversation(self.wire_id, "RESUME")
        if not self.wire_id:
            return Conversation()
        if self.directories.is_elsewhere and self._wanted.resume == "must":
            return Conversation(self.wire_id, "RESUME")
        if not dialect.has_continuation_mode:
            return self._old_first(dialect)
        mode = "CREATE_ONLY" if self._wanted.resume == "never" else "CREATE_OR_RESUME"
        return Conversation(self.wire_id, mode)

    def _old_first(self, dialect: Dialect) -> Conversation:
        """Return what opens a named conversation that is not known to be there, on an old harness.

        Such a one chooses the ids itself, and elsewhere there is nobody to remember the user's.

        Raises:
            ConfigError: It cannot.
        """
        if not self.directories.is_elsewhere:
            return Conversation()
        if self._wanted.resume == "auto":
            return Conversation(self.wire_id, "RESUME")
        raise ConfigError(
            f"harness {dialect.version} chooses the ids of new conversations itself; leave out "
            "conversation_id, and resume by the id that the conversation has then"
        )

    def again(self, _dialect: Dialect) -> Conversation:
        """Return what opens the conversation again after its connection went down."""
        return Conversation(self.wire_id, "RESUME")

    def other(self, _dialect: Dialect) -> Conversation:
        """Return what opens a new conversation."""
        return Conversation()

    # ── what is open ────────────────────────────────────────────────────────────────────────────

    def note_harness(self, pid: int) -> None:
        """Leave word of which process has it open, for whoever comes after a sudden death."""
        self._note = f"{os.getpid()} {pid} {start_time(pid) or ''}"
        for lock in self._locks:
            lock.write(self._note)

    def opened(self, cascade_id: str, deadline: Deadline) -> None:
        """Take in that it is open, under this id; hold it, and remember the user's id for it.

        Raises:
            ConfigError: It cannot be written down.
            ConversationBusyError: Somebody else was faster.
        """
        if cascade_id == self.wire_id:
            return
        self._hold(cascade_id, deadline)
        if self.name and not self.directories.is_elsewhere:
            self._write_alias(wire_id(self.name), cascade_id)
        self.wire_id = cascade_id

    def moved(self, cascade_id: str, deadline: Deadline) -> None:
        """Take in that a new conversation took its place, and let go of the old one.

        Raises:
            ConfigError: Its lock cannot be made.
        """
        old = tuple(self._locks)
        self._hold(cascade_id, deadline)
        for lock in old:
            lock.release()
        self.name, self.wire_id = "", cascade_id

    def wanted_again(self) -> Wanted | None:
        """Return what a later start goes on with, `None` if nothing is kept of it."""
        if self.directories.private is not None or not self.wire_id:
            return None
        return Wanted(self.name, "must", self.wire_id)

    def release(self) -> None:
        """Let go of it; any number of times."""
        for lock in self._locks:
            lock.release()

    # ── locks ───────────────────────────────────────────────────────────────────────────────────

    def _hold(self, conversation: str, deadline: Deadline) -> None:
        if self.directories.private is not None or self.directories.is_elsewhere:
            return  # nobody else knows of it, or the harness holds it
        lock = FileLock(os.path.join(self.directories.storage, f"{conversation}.lock"))
        self._locks.append(lock)
        try:
            is_ours = lock.take()
        except OSError as error:
            raise ConfigError(
                f"the lock of the conversation in save_dir {self.directories.storage!r} cannot be "
                f"made ({error.strerror}); choose a directory you may write to"
            ) from error
        word = lock.read()
        if not is_ours:
            raise _busy(word.partition(" ")[0])
        try:
            _wait_for_end(_ghost_in(word), deadline)
        except BaseException:
            lock.give_up()  # and leave the file: whoever comes next must read of it too
            raise
        lock.write(self._note)

    # ── aliases ─────────────────────────────────────────────────────────────────────────────────

    def _alias_path(self, key: str) -> str:
        return os.path.join(self.directories.storage, f"{key}.alias")

    def _alias_of(self, key: str) -> str:
        """Return the id that a harness chose for this conversation, `""` if none did."""
        path = self._alias_path(key)
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)["wire_id"]
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _alias_error(path) from error
        if not isinstance(found, str) or not _LEGAL.fullmatch(found):
            raise _alias_error(path)
        return found

    def _write_alias(self, key: str, cascade_id: str) -> None:
        """Write it whole or not at all; the lock on `key` keeps others away meanwhile."""
        path = self._alias_path(key)
        entry = {"conversation_id": self.name, "wire_id": cascade_id}
        try:
            with open(f"{path}.tmp", "w", encoding="utf-8") as file:
                json.dump(entry, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(f"{path}.tmp", path)
        except OSError as error:
            raise ConfigError(
                f"the id of the conversation cannot be noted in {path} ({error.strerror}); "
                "choose a save_dir you may write to"
            ) from error


@attrs.frozen
class _Ghost:
    """A harness that may have outlived its owner."""

    pid: int
    started: str


def _ghost_in(word: str) -> _Ghost | None:
    parts = word.split()
    if len(parts) != 3 or not parts[1].isdecimal():
        return None
    ghost = _Ghost(int(parts[1]), parts[2])
    return ghost if start_time(ghost.pid) == ghost.started else None


def _wait_for_end(ghost: _Ghost | None, deadline: Deadline) -> None:
    """Wait for a harness that notices the death of its owner and saves what it has."""
    grace = deadline.sooner(_GHOST_GRACE)
    while ghost is not None and start_time(ghost.pid) == ghost.started:
        if grace.expired():
            raise _busy(str(ghost.pid))
        threading.Event().wait(_GHOST_POLL)


def _busy(pid: str) -> ConversationBusyError:
    holder = int(pid) if pid.isdecimal() else None
    where = "elsewhere"
    if holder is not None:
        where = "by another agent of this program" if holder == os.getpid() else f"in process {pid}"
    return ConversationBusyError(
        f"the conversation is open {where}; close it there, or choose another conversation_id",
        pid=holder,
    )


def _alias_error(path: str) -> InitError:
    return InitError(
        f"the alias file {path} is damaged; restore it from a backup, or remove it to begin anew"
    )
