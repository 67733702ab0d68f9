"""A pool of agents for programs that serve many: a bounded number of them on few processes."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final, NoReturn

import attrs

from ._clock import LONGEST_WAIT, Clock, Deadline, MonotonicClock
from ._leases import Bounds, Leases, Slot
from ._timeouts import CONFIGURED, Timeout, close_seconds_of, seconds_of
from .agent import Agent
from .config import AgentConfig, config_of
from .errors import (
    ConfigError,
    ConversationBusyError,
    HarnessExitedError,
    PoolTimeoutError,
    StartTimeoutError,
    UsageError,
)
from .harness import Harness
from .responses import CloseReport
from .session_lock import (
    BUSY_PAUSE,
    FileSessionLock,
    SessionLock,
    check_session_lock,
    session_held,
)

_log: Final = logging.getLogger("antigravity_sync.pool")

#: How many processes may die under a lease before it fails.
_TRIES: Final = 3
#: A process that has not opened a conversation after so many seconds gets no more of them.
_UNRESPONSIVE: Final = 2.0


@attrs.frozen(kw_only=True)
class PoolStats:
    """What a pool has and has done.

    Attributes:
        processes: Harness processes.
        leases: Agents that are out.
        waiting: Callers that wait for one.
        leased: Agents that were given out so far.
        boots: Processes that were started.
        deaths: Processes that died or were given up.
        timeouts: Callers that waited in vain.
        refused: Callers that were refused because too many waited.
    """

    processes: int
    leases: int
    waiting: int
    leased: int
    boots: int
    deaths: int
    timeouts: int
    refused: int


class AgentPool:
    """Agents to lease, each with a conversation of its own, on a bounded number of processes.

    Nothing is started before the first lease, so a pool may be made when a module is imported, also
    under a server that forks; a forked child has an empty pool of its own. A conversation is never
    handed from one user to another: `agent()` begins one, `session(key)` goes on with its own.

    Thread: any. Callers are served in the order in which they came. While processes wait for work a
    single thread waits with them, to end them in time.

    Args:
        config: The options of its agents.
        max_size: Agents that may be out at once.
        per_process: How many of them share a process.
        max_waiting: Callers that may wait; one more is refused at once. `None` is any number.
        timeout: Seconds that a lease may take unless it says otherwise; `None` is for ever.
        max_idle: Seconds after which a process without agents ends.
        max_lifetime: Seconds after which a process gets no more agents, and ends with its last.
        min_processes: How many processes, once started, are kept though nobody needs them.
        session_lock: What holds a session against all other pools; `None` is files in `save_dir`,
            which pools on this machine see.
        options: single fields of `AgentConfig`, which override those of `config`.

    Raises:
        ConfigError: An option does not exist or has a bad value.
    """

    def __init__(
        self,
        config: AgentConfig | None = None,
        /,
        *,
        max_size: int = 8,
        per_process: int = 8,
        max_waiting: int | None = None,
        timeout: float | None = 30.0,
        max_idle: float | None = 300.0,
        max_lifetime: float | None = 3600.0,
        min_processes: int = 0,
        session_lock: SessionLock | None = None,
        **options: Any,
    ) -> None:
        self._config = config_of(config, options)
        if session_lock is not None:
            check_session_lock(session_lock)
        self._session_lock = session_lock
        if self._config.conversation_id is not None:
            raise ConfigError(
                "a pool's agents cannot all have one conversation_id; use session(key) instead"
            )
        self._bounds = Bounds(
            max_size=max_size,
            per_process=per_process,
            min_processes=min_processes,
            max_waiting=max_waiting,
            timeout=timeout,
            max_idle=max_idle,
            max_lifetime=max_lifetime,
        )
        self._clock: Clock = MonotonicClock()
        self._state: _State | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    # ── leases ──────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def agent(self, *, timeout: Timeout = CONFIGURED) -> Iterator[Agent]:
        """Lease an agent with a new conversation; use it with `with`.

        Args:
            timeout: Seconds to wait for it, the start of a process included.

        Blocks until there is one.

        Raises:
            LaunchError: It could not be started.
            PoolClosedError: The pool is closed or being drained.
            PoolFullError: Too many wait already.
            PoolTimeoutError: All were in use for the whole timeout.
        """
        with self._leased(self._deadline(timeout), {}) as agent:
            yield agent

    @contextlib.contextmanager
    def session(self, key: str, *, timeout: Timeout = CONFIGURED) -> Iterator[Agent]:
        """Lease an agent with the conversation of this key, begun if there is none yet.

        One caller has it at a time, in all processes that use the same `save_dir` on this machine
        or the same `session_lock`; others wait.

        Args:
            key: Any text, such as the id of a user.
            timeout: Seconds to wait for it, the start of a process included.

        Blocks until there is one.

        Raises:
            ConfigError: The pool has no `save_dir`, or the key is empty.
            ConversationBusyError: Somebody else had the conversation for the whole timeout.
            LaunchError: It could not be started.
            PoolClosedError: The pool is closed or being drained.
            PoolError: The `session_lock` failed.
            PoolFullError: Too many wait already.
            PoolTimeoutError: All were in use for the whole timeout.
        """
        if self._config.save_dir is None:
            raise ConfigError("session() needs a save_dir, where conversations are kept")
        options = {"conversation_id": key, "resume": "auto"}
        self._config.evolve(**options)  # refuses a bad key before anybody waits
        deadline = self._deadline(timeout)
        lock = self._session_lock
        if lock is None:
            # Beside the conversations, whose own locks are held by agents.
            lock = FileSessionLock(os.path.join(self._config.save_dir, ".locks"))
        with session_held(lock, key, deadline), self._leased(deadline, options) as agent:
            yield agent

    @contextlib.contextmanager
    def _leased(self, deadline: Deadline, options: dict[str, Any]) -> Iterator[Agent]:
        state = self._running()
        state.leases.take(deadline)
        try:
            slot, agent = self._started(state, deadline, options)
            try:
                yield agent
            finally:
                self._return(state, slot, agent)
        finally:
            state.leases.give_back()
            state.sweep()

    def _deadline(self, timeout: Timeout) -> Deadline:
        return Deadline.after(self._clock, seconds_of(timeout, self._bounds.timeout))

    def _started(
        self, state: _State, deadline: Deadline, options: dict[str, Any]
    ) -> tuple[Slot, Agent]:
        """Start an agent on a process with room.

        Waits for a conversation that is in use; goes to another process when one dies meanwhile.
        """
        deaths = 0
        while True:
            try:
                return self._start(state, deadline, options)
            except ConversationBusyError:
                if deadline.expired():
                    raise
            except HarnessExitedError:
                deaths += 1
                if deaths >= _TRIES or deadline.expired():
                    raise
            except StartTimeoutError as error:
                if not deadline.expired():
                    raise
                state.leases.count_timeout()
                raise PoolTimeoutError(
                    "no agent could be started within the timeout; try again later, or raise it"
                ) from error
            threading.Event().wait(deadline.sooner(BUSY_PAUSE).remaining())

    def _start(
        self, state: _State, deadline: Deadline, options: dict[str, Any]
    ) -> tuple[Slot, Agent]:
        began = self._clock.now()
        slot = state.leases.place(lambda: Harness(self._config))
        try:
            slot.harness._hold()
            agent = slot.harness.agent(**options)
            agent.start(timeout=deadline.sooner(self._config.start_timeout).remaining())
            return slot, agent  # noqa: TRY300 - inside, because an interrupt may come before it too
        except BaseException as error:  # unwinding: the place is another's now
            state.leases.leave(slot, is_bad=self._blames_process(error, began))
            raise

    def _blames_process(self, error: BaseException, began: float) -> bool:
        """Return whether a start failed because of the process, and not for want of time."""
        if isinstance(error, StartTimeoutError):
            return self._clock.now() - began >= _UNRESPONSIVE
        return not isinstance(error, (ConfigError, ConversationBusyError))

    def _return(self, state: _State, slot: Slot, agent: Agent) -> None:
        """Close an agent that was given back, and take it off its process."""
        is_bad = True
        try:
            report = agent.close()
            is_bad = bool(report.forced or report.leftovers) or not slot.harness.is_started
        finally:
            state.leases.leave(slot, is_bad=is_bad)

    # ── the pool ────────────────────────────────────────────────────────────────────────────────

    def stats(self) -> PoolStats:
        """Return what it has and has done; never waits."""
        leases = self._running().leases
        processes, out, waiting = leases.sizes
        counts = leases.counts
        return PoolStats(
            processes=processes,
            leases=out,
            waiting=waiting,
            leased=counts.leased,
            boots=counts.boots,
            deaths=counts.deaths,
            timeouts=counts.timeouts,
            refused=counts.refused,
        )

    def drain(self, *, timeout: Timeout = CONFIGURED) -> bool:
        """Give out no more agents, wait for those that are out, and close; for a deployment.

        Args:
            timeout: Seconds to wait for them.

        Returns:
            Whether all came back in time; those that did not are closed.
        """
        state = self._running()
        state.leases.refuse()
        deadline = self._deadline(timeout)
        has_all = state.leases.wait_returned(deadline)
        self.close()
        return has_all

    def close(self, *, timeout: Timeout = CONFIGURED) -> CloseReport:
        """Close all agents and end all processes; any thread, as often as you like. Never raises.

        Callers that wait get `PoolClosedError`.

        Args:
            timeout: Seconds for each process; `None` is refused, a close must end.

        Returns:
            How it went, for all processes together.
        """
        seconds = close_seconds_of(timeout, self._config.close_timeout)
        state = self._running()
        state.leases.refuse()
        reports = [slot.harness.close(timeout=seconds) for slot in state.leases.take_all()]
        state.end(seconds)
        return _joined(reports)

    def __enter__(self) -> AgentPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def config(self) -> AgentConfig:
        """The options of its agents."""
        return self._config

    def __reduce__(self) -> NoReturn:
        raise UsageError("an AgentPool cannot be pickled: make one in the process that uses it")

    def _running(self) -> _State:
        """Return the state of this process: a forked child begins with an empty one."""
        if self._pid != os.getpid():
            # A lock that a thread of the parent held at the fork would be held for ever.
            self._lock, self._pid, self._state = threading.Lock(), os.getpid(), None
        with self._lock:
            if self._state is None:
                self._state = _State(self._bounds, self._clock)
            return self._state


class _State:
    """The leases of a pool, and the thread that ends processes which nobody needs."""

    def __init__(self, bounds: Bounds, clock: Clock) -> None:
        self.leases = Leases(bounds, clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._sweeper: threading.Thread | None = None

    def sweep(self) -> None:
        """See to it that somebody ends the processes whose time is over."""
        with self._lock:
            if self._sweeper is not None:
                self._wake.set()
                return
            if self.leases.next_expiry() is None:
                return
            thread = threading.Thread(target=self._sweep, name="agsync-pool", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter ends, and all processes with it
                return
            self._sweeper = thread

    def _sweep(self) -> None:
        while True:
            self._wake.clear()
            for slot in self.leases.expired():
                report = slot.harness.close()
                if not report.clean:
                    _log.warning("a process of the pool did not end cleanly: %s", report)
            with self._lock:
                due = self.leases.next_expiry()
                if due is None:
                    self._sweeper = None
                    return
            self._wake.wait(min(max(0.0, due - self._clock.now()), LONGEST_WAIT))

    def end(self, timeout: float) -> None:
        """End the thread; whatever it was ending has ended then."""
        with self._lock:
            thread = self._sweeper
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)


def _joined(reports: Iterable[CloseReport]) -> CloseReport:
    """Return one report for all."""
    several = tuple(reports)
    return CloseReport(
        exit_code=next(
            (each.exit_code for each in several if each.exit_code), 0 if several else None
        ),
        clean=all(each.clean for each in several),
        forced=tuple(word for each in several for word in each.forced),
        ended_commands=tuple(line for each in several for line in each.ended_commands),
        leftovers=tuple(line for each in several for line in each.leftovers),
        duration=sum(each.duration for each in several),
        trigger_errors=tuple(error for each in several for error in each.trigger_errors),
    )
