"""One harness process for several agents."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from ._clock import Deadline, MonotonicClock
from ._timeouts import CONFIGURED, Timeout, close_seconds_of, seconds_of
from .agent import Agent
from .config import AgentConfig, config_of
from .errors import ConfigError, ForkedProcessError, StartTimeoutError, UsageError
from .responses import CloseReport
from .serving import HarnessServer

if TYPE_CHECKING:
    from ._runtime.plan import Plan, Wanted
    from ._runtime.shared import SharedHost

#: Options of the process, which its agents cannot have each for itself.
_OF_THE_PROCESS: Final = ("env", "harness_path", "save_dir")


class Harness:
    """A harness process on which several agents have a conversation each.

    It costs a tenth of a process per further agent. Agents do not see each other: each has tools,
    rules, hooks, a model and a turn of its own, and what fails in one is no business of the others.
    Only the death of the process ends all of them; the next `start()` of any starts another one.

    The process is started by `start()`, by `with`, or by the first agent, and ends with `close()`
    or the end of the block. Started by an agent, it ends with its last one.

    Thread: methods may be called from any thread.

    Args:
        config: The options that its agents begin with, or
        options: single fields of `AgentConfig`, which override those of `config`.

    Raises:
        ConfigError: An option does not exist or has a bad value.
    """

    def __init__(self, config: AgentConfig | None = None, /, **options: Any) -> None:
        self._config = config_of(config, options)
        self._lock = threading.Lock()
        self._shared: SharedHost | None = None
        self._is_held = False
        self._servers: list[HarnessServer] = []
        self._finalizer: weakref.finalize[..., Harness] | None = None
        self._owner_pid = os.getpid()

    def agent(self, **options: Any) -> Agent:
        """Return an agent whose conversation is on this process; it is not started yet.

        Args:
            options: Fields of `AgentConfig` that differ from the harness's. `env`, `harness_path`
                and `save_dir` are the process's, and refused.

        Raises:
            ConfigError: An option does not exist, has a bad value, or is the process's.
        """
        for name in _OF_THE_PROCESS:
            if name in options:
                raise ConfigError(
                    f"{name} is an option of the process; give it to Harness(...) and not to one "
                    "of its agents"
                )
        agent = Agent(self._config.evolve(**options))
        agent._place = self
        return agent

    def start(self, *, timeout: Timeout = CONFIGURED) -> Harness:
        """Start the process; nothing happens if it runs already.

        Args:
            timeout: Seconds, from spawn to the handshake.

        Blocks until that is done.

        Raises:
            ConfigError: A directory cannot be written.
            LaunchError: Any of its kinds; no process, thread or descriptor is left.
        """
        seconds = seconds_of(timeout, self._config.start_timeout)
        self._hold()
        try:
            self._running(Deadline.after(MonotonicClock(), seconds))
        except StartTimeoutError as error:
            error.timeout = seconds
            raise
        return self

    def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | None = None,
        expose: bool = False,
        max_connections: int = 64,
    ) -> HarnessServer:
        """Let clients with a token have conversations on this process, from other processes too.

        It is started if it does not run, and kept until `close()`, which ends the serving too.

        Args:
            host: Name or address to listen at.
            port: Port; 0 is any that is free.
            token: What clients must know; `None` makes one, to be read from the server.
            expose: Whether other machines may reach it; nothing that is sent is encrypted.
            max_connections: How many clients there may be at once.

        Blocks until it listens and the process runs, at most `start_timeout` seconds.

        Raises:
            ConfigError: There is no such host, or others could reach it and `expose` is not set;
                or another argument has a bad value.
            LaunchError: The port is in use, or the harness could not be started.
        """
        was_held = self._is_held
        self._hold()
        try:
            server = HarnessServer(
                self,
                (host, port),
                token=token,
                expose=expose,
                max_connections=max_connections,
                start_timeout=self._config.start_timeout,
            )
        except BaseException:
            self._hold(is_held=was_held)
            raise
        self._servers.append(server)
        return server

    def close(self, *, timeout: Timeout = CONFIGURED) -> CloseReport:
        """Close its agents and end the process; any thread, as often as you like. Never raises.

        Args:
            timeout: Seconds for all of it; `None` is refused, a close must end.

        Returns:
            How it went, with what its agents had to tell.
        """
        seconds = close_seconds_of(timeout, self._config.close_timeout)
        deadline = Deadline.after(MonotonicClock(), seconds)
        self._hold(is_held=False)
        left = tuple(name for server in self._servers for name in server._close(deadline))
        shared = self._shared
        report = CloseReport()
        if shared is not None and shared.is_ours:
            report = shared.close(deadline.remaining() or 0.0)
            if self._finalizer is not None:
                self._finalizer.detach()
        if left:
            report = attrs.evolve(report, clean=False, leftovers=(*report.leftovers, *left))
        return report

    def __enter__(self) -> Harness:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def config(self) -> AgentConfig:
        """The options that its agents begin with."""
        return self._config

    @property
    def pid(self) -> int | None:
        """Process id, `None` while none runs."""
        shared = self._shared
        return shared.host.process.pid if shared is not None and self.is_started else None

    @property
    def is_started(self) -> bool:
        """Whether the process runs."""
        shared = self._shared
        return (
            shared is not None
            and shared.is_ours
            and not shared.is_closed
            and not shared.host.has_exited
        )

    def __repr__(self) -> str:
        return f"<Harness: {f'process {self.pid}' if self.is_started else 'not started'}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("a Harness cannot be pickled: make one in the process that uses it")

    # ── for its agents ──────────────────────────────────────────────────────────────────────────

    def _plan(self, config: AgentConfig, earlier: Wanted | None = None) -> Plan:
        """Return the plan for an agent with these options."""
        from ._runtime.plan import Plan  # with the runtime, as `Agent.start` does

        return Plan.make(config, earlier)

    def _running(self, deadline: Deadline) -> SharedHost:
        """Return the process, started if it is not running; one at a time does that."""
        from ._runtime.shared import SharedHost  # with the runtime, as `Agent.start` does

        if os.getpid() != self._owner_pid:
            raise ForkedProcessError(
                "this harness belongs to the parent process; make a new one after the fork"
            )
        remaining = deadline.remaining()
        if not self._lock.acquire(timeout=-1 if remaining is None else remaining):
            raise StartTimeoutError(
                "another thread has not started the harness in time; raise start_timeout",
                stage="spawn",
                timeout=None,
            )
        try:
            if self._shared is not None and self.is_started:
                return self._shared
            self._retire()
            shared = self._shared = SharedHost.open(self._config, deadline)
            shared.is_held = self._is_held
            self._finalizer = weakref.finalize(self, _dropped, shared)
            self._finalizer.atexit = False
            return shared
        finally:
            self._lock.release()

    def _join(self, deadline: Deadline) -> SharedHost:
        """Return the process, with a seat on it for an engine that is about to be opened."""
        while True:
            shared = self._running(deadline)
            if shared.take_seat():
                return shared
            shared.close(self._config.close_timeout)  # waits for whoever ends it

    def _retire(self) -> None:
        """Clean up after a process that has ended by itself."""
        if self._shared is not None:
            self._shared.close(self._config.close_timeout)
        if self._finalizer is not None:
            self._finalizer.detach()
        self._shared = None

    def _hold(self, *, is_held: bool = True) -> None:
        """Keep the process, also one that an agent is yet to start, after its last agent."""
        self._is_held = is_held
        if self._shared is not None:
            self._shared.is_held = is_held


def _dropped(shared: SharedHost) -> None:
    if shared.is_ours and not shared.is_closed:
        warnings.warn(
            "a Harness was dropped without close(); use `with Harness(...)`",
            ResourceWarning,
            stacklevel=2,
        )
        shared.drop()
