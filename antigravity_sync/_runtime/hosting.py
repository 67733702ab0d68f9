"""What an engine needs of whatever carries its conversation, be it a process of ours or not.

`Host` is a harness process on this machine. A `ForeignHost` has none here: it is joined, not
started, and everything that concerns a process has nothing to do.
"""

from __future__ import annotations

import abc
import os
import threading
from collections.abc import Callable
from typing import Protocol

from .._clock import Deadline
from .._transport.channel import Channel
from .._transport.commands import Command
from .._transport.drain import Tail
from .._wire.dialect import Dialect
from .._wire.redact import Redactor
from ..config import AgentConfig
from .plan import Directories, Plan, check_options


class Guest(Protocol):
    """An engine with a conversation on a host."""

    def take_line(self, line: str, *, is_own: bool) -> None:
        """Take in a line of stderr, `is_own` if no other conversation can have caused it."""

    def take_exit(self, code: int | None, deadline: Deadline) -> None:
        """Take in that the process is gone."""

    def insist_on_exit(self, code: int | None, deadline: Deadline) -> None:
        """See to it that everybody has been told by the deadline."""


class BaseHost(abc.ABC):
    """A harness, and the engines that have a conversation on it.

    Thread: any.

    Args:
        stderr: What is known of its stderr.
        redactor: What is secret to any of its conversations.
        dialect: What it understands, `None` while that is not known.
        is_shared: Whether it goes on without an engine, as one does that several use.

    Attributes:
        stderr: What is known of its stderr.
        redactor: What is secret to any of its conversations.
        dialect: What it understands, `None` while that is not known.
        is_shared: Whether it goes on without an engine.
        on_empty: Called when the last guest has left, on the thread that closes it, with the
            deadline of that close.
    """

    def __init__(
        self, stderr: Tail, redactor: Redactor, dialect: Dialect | None, *, is_shared: bool
    ) -> None:
        self.stderr = stderr
        self.redactor = redactor
        self.dialect = dialect
        self.is_shared = is_shared
        self.on_empty: Callable[[Deadline], None] = lambda _deadline: None
        self._lock = threading.Lock()
        self._guests: list[Guest] = []

    # ── where it is ─────────────────────────────────────────────────────────────────────────────

    @abc.abstractmethod
    def connect(self, deadline: Deadline) -> Channel:
        """Return a new connection, on which nothing has been said yet.

        Blocks until there is one or the deadline passes.

        Raises:
            LaunchError: There is none to be had.
        """

    @property
    @abc.abstractmethod
    def is_foreign(self) -> bool:
        """Whether it is no process of ours."""

    @property
    @abc.abstractmethod
    def pid(self) -> int | None:
        """Process id of the harness, `None` if it is no process of ours."""

    @property
    def version(self) -> str | None:
        """Version of the harness as it was told to us, `None` if it was not."""
        return None

    @property
    def is_harness(self) -> bool:
        """Whether a harness is behind it at all."""
        return True

    @property
    def app_data_dir(self) -> str:
        """Where it wants its own files if nobody says; `""` if it does not care or tell."""
        return ""

    @abc.abstractmethod
    def plan_for(self, plan: Plan) -> Plan:
        """Return a plan as it is on this host."""

    @abc.abstractmethod
    def check_options(self, config: AgentConfig, dialect: Dialect) -> None:
        """Refuse what only shows to be impossible when the version is known.

        Raises:
            ConfigError: One of the options.
        """

    @abc.abstractmethod
    def place(self, label: str, config: AgentConfig) -> Directories:
        """Return where one conversation of several on it keeps things."""

    # ── its process, if there is one ────────────────────────────────────────────────────────────

    @property
    @abc.abstractmethod
    def threads(self) -> tuple[threading.Thread, ...]:
        """Threads of ours that serve it."""

    @abc.abstractmethod
    def check_alive(self, when: str, deadline: Deadline, grace: float = 0.0) -> None:
        """Refuse to go on with a process that has ended, or does within `grace` seconds.

        Raises:
            HarnessExitedError: It has; `when` says at what.
        """

    def find_error(self, _message: str) -> Exception | None:
        """Return the error that a failure's message stands for, `None` if it is just that."""
        return None

    def check_reset(self) -> None:  # noqa: B027 - most can
        """Refuse to begin another conversation where there is only one.

        Raises:
            UsageError: There is only one.
        """

    @abc.abstractmethod
    def hear_reason(self, reason: str) -> None:
        """Take in what a close frame gave as its reason."""

    @abc.abstractmethod
    def find_commands(self, conversation_id: str) -> set[Command]:
        """Return what the agent with this conversation has running, as far as we may end it."""

    @abc.abstractmethod
    def put_down(self, deadline: Deadline) -> int | None:
        """End it at once if it ends with its engine; return the exit code, `None` for none."""

    @abc.abstractmethod
    def end(
        self, deadline: Deadline, unblock: Callable[[], object]
    ) -> tuple[int | None, tuple[str, ...]]:
        """End it if it ends with its engine; return the exit code and what had to be forced.

        `unblock` ends what it may wait for, should it not end soon.
        """

    @abc.abstractmethod
    def release(self, deadline: Deadline) -> tuple[str, ...]:
        """Give back what is left of it; return what could not be."""

    # ── its guests ──────────────────────────────────────────────────────────────────────────────

    def enter(self, guest: Guest) -> None:
        """Tell `guest` from now on of what happens to the process."""
        with self._lock:
            self._guests.append(guest)

    def leave(self, guest: Guest, deadline: Deadline) -> None:
        """Tell `guest` no more; any number of times.

        Blocks for what is done when it was the last one, about until the deadline.
        """
        with self._lock:
            was_here = guest in self._guests
            self._guests = [each for each in self._guests if each is not guest]
            is_empty = was_here and not self._guests
        if is_empty:
            self.on_empty(deadline)

    @property
    def guests(self) -> tuple[Guest, ...]:
        """The engines that use it."""
        with self._lock:
            return tuple(self._guests)


class ForeignHost(BaseHost):
    """A harness that is no process of ours: joined by whoever derives from this.

    What it says on stderr is not heard here. Only the reason of a close frame is.

    Args:
        redactor: What is secret to any of its conversations.
        dialect: What it understands, `None` if that shows only when it is joined.
    """

    def __init__(self, redactor: Redactor, dialect: Dialect | None = None) -> None:
        stderr = Tail(redact=redactor.text)
        stderr.end()  # nobody need wait for more of it
        super().__init__(stderr, redactor, dialect, is_shared=True)

    @property
    def pid(self) -> int | None:
        return None

    @property
    def is_foreign(self) -> bool:
        return True

    def plan_for(self, plan: Plan) -> Plan:
        return plan

    def check_options(self, config: AgentConfig, dialect: Dialect) -> None:
        check_options(config, dialect)

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        return ()

    def check_alive(self, _when: str, _deadline: Deadline, _grace: float = 0.0) -> None:
        """Know nothing of it: only the connection shows whether it lives."""

    def find_commands(self, _conversation_id: str) -> set[Command]:
        return set()

    def put_down(self, _deadline: Deadline) -> int | None:
        return None

    def end(
        self, _deadline: Deadline, _unblock: Callable[[], object]
    ) -> tuple[int | None, tuple[str, ...]]:
        return None, ()

    def release(self, _deadline: Deadline) -> tuple[str, ...]:
        return ()

    def place(self, _label: str, config: AgentConfig) -> Directories:
        app_data = "" if config.app_data_dir is None else os.fspath(config.app_data_dir)
        return Directories("", app_data, is_elsewhere=True)

    def hear_reason(self, reason: str) -> None:
        if reason:
            self.stderr.feed(f"{reason}\n".encode())
