"""The agent: what most programs use of this package."""

from __future__ import annotations

import logging
import os
import threading
import warnings
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ._clock import Clock, Deadline, MonotonicClock
from ._core.phases import Phase
from ._timeouts import CONFIGURED, Timeout, close_seconds_of, seconds_of
from .capabilities import BuiltinTool
from .config import AgentConfig, config_of
from .content import Prompt, prompt_parts
from .errors import (
    AgentClosedError,
    AgentNotStartedError,
    StartTimeoutError,
    UsageError,
)
from .responses import ChatResponse, CloseReport, Step, Usage
from .triggers import check_message

if TYPE_CHECKING:
    from ._runtime.engine import Engine
    from ._runtime.plan import Plan, Wanted
    from .connections import Connection, ConnectionStrategy
    from .connections._place import Place
    from .turn import Turn

_log: Final = logging.getLogger("antigravity_sync.agent")


class CancelHandle:
    """Cancels an agent's turns without keeping the agent alive."""

    def __init__(self, agent: Agent) -> None:
        self._agent = weakref.ref(agent)

    def cancel(self) -> bool:
        """Halt the turn that runs, if one does. Any thread, signal handlers, never blocks."""
        agent = self._agent()
        return agent is not None and agent.cancel()


class Agent:
    """A conversation with a harness process of its own, or on a connection.

    Nothing is spawned before `start()` or `with`. After `close()` or a loss it can be started
    again: with a `save_dir` it goes on with its conversation, without one it begins a new one.

    Thread: methods may be called from any thread; one turn runs at a time, and a second caller
    waits for it as long as its own timeout allows.

    Args:
        config: The options, or
        connection: Where the conversation takes place, if not on a harness of its own: a
            `ConnectionStrategy`, or a `Connection`, which serves for one start. Without a `config`
            that of a `LocalConnectionStrategy` or `RemoteConnectionStrategy` holds.
        options: single fields of `AgentConfig`, which override those of `config`.

    Raises:
        ConfigError: An option does not exist, has a bad value, or would be ignored on this
            connection.
    """

    def __init__(
        self,
        config: AgentConfig | None = None,
        /,
        *,
        connection: Connection | ConnectionStrategy | None = None,
        **options: Any,
    ) -> None:
        #: Where it takes place, if not on a process of its own; `Harness.agent` sets it too.
        self._place: Place | None = None
        if connection is None:
            self._config = config_of(config, options)
        else:
            from .connections._place import placed  # only now: few agents have one

            self._config, self._place = placed(connection, config, options)
        self._clock: Clock = MonotonicClock()
        self._lock = threading.Lock()
        self._lock_pid = os.getpid()
        self._engine: Engine | None = None
        self._finalizer: weakref.finalize[..., Agent] | None = None
        self._earlier: Wanted | None = None
        self._report = CloseReport()

    # ── life ────────────────────────────────────────────────────────────────────────────────────

    def start(self, *, timeout: Timeout = CONFIGURED) -> Agent:
        """Start the harness and open the conversation; nothing happens if it runs already.

        Args:
            timeout: Seconds, from spawn to the open conversation.

        Blocks until that is done.

        Raises:
            ConfigError: There is no model key, or a directory cannot be written.
            ConversationBusyError: Another agent has the conversation open.
            ConversationExistsError: It exists, and `resume` is `"never"`.
            ConversationNotFoundError: It does not exist, and `resume` is `"must"` or this agent
                had it open before.
            LaunchError: Any of its kinds; no process, thread or descriptor is left.
        """
        # Only now: the runtime brings protobuf and the WebSocket library along, two thirds of what
        # importing this package would cost a program that imports it and starts no agent. And
        # all of it: a child that is forked while a thread imports a module waits for that for ever.
        from . import turn as _  # noqa: F401 - for `stream`
        from ._runtime import engine as _engine  # noqa: F401
        from ._runtime.plan import Plan

        seconds = seconds_of(timeout, self._config.start_timeout)
        with self._start_lock():
            if self._engine is not None and not self._engine.board.is_over:
                self._engine.check_fork()
                return self
            self._retire()
            make = Plan.make if self._place is None else self._place._plan
            plan = make(self._config, self._earlier)
            deadline = Deadline.after(self._clock, seconds)
            try:
                self._engine = self._open(plan, deadline)
                self._finalizer = weakref.finalize(self, _dropped, self._engine)
                self._finalizer.atexit = False
                return self  # noqa: TRY300 - inside, because an interrupt may come before it too
            except StartTimeoutError as error:
                error.timeout = seconds
                raise
            except BaseException:  # unwinding: whoever is interrupted here has no agent to close
                self._retire()
                raise

    def _open(self, plan: Plan, deadline: Deadline) -> Engine:
        from ._runtime.engine import Engine

        if self._place is None:
            return Engine.open(plan, deadline, self._clock)
        joined = self._place._join(deadline)
        try:
            return Engine.open(plan, deadline, self._clock, joined.host)
        finally:
            joined.part(Deadline.after(self._clock, self._config.close_timeout))

    def _start_lock(self) -> threading.Lock:
        # One that a thread of the parent held at a fork would be held for ever in the child.
        if self._lock_pid != os.getpid():
            self._lock, self._lock_pid = threading.Lock(), os.getpid()
        return self._lock

    def close(self, *, timeout: Timeout = CONFIGURED) -> CloseReport:
        """End the turn, the conversation and the process; any thread, as often as you like.

        Never raises. From inside a callback of this agent it begins the close and returns.

        Args:
            timeout: Seconds for all of it; `None` is refused, a close must end.

        Returns:
            How it went; an unclean end is in the report and in the log.
        """
        seconds = close_seconds_of(timeout, self._config.close_timeout)
        engine = self._engine
        if engine is None or not engine.is_ours:
            return self._report
        report = engine.close(seconds)
        if self._finalizer is not None:
            self._finalizer.detach()
        self._report = report
        return report

    def __enter__(self) -> Agent:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        report = self.close()
        if not report.clean:
            _log.warning("the agent did not close cleanly: %s", report)

    def _retire(self) -> None:
        """Clean up after a session that is over, before a new one starts."""
        engine = self._engine
        if engine is None:
            return
        if engine.is_ours:
            engine.close(self._config.close_timeout)
        if self._finalizer is not None:
            self._finalizer.detach()
        self._earlier = engine.store.wanted_again()
        self._engine = None

    def reset(self, *, timeout: Timeout = CONFIGURED) -> None:
        """Start a new conversation on the same process.

        What went before is forgotten by the model and by this agent; use it after a prompt that the
        model refuses for good, because such a prompt stays in the history. The new conversation has
        an id of its own; in a `save_dir` the old one stays, under the id that it has.

        Args:
            timeout: Seconds for waiting for a turn that runs and for opening the conversation.

        Blocks until the new conversation is open.

        Raises:
            LaunchError: It could not be opened.
            UsageError: The agent is closed, not started, or busy for the whole timeout.
        """
        seconds = seconds_of(timeout, self._config.start_timeout)
        self._running().reset(Deadline.after(self._clock, seconds))

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def chat(self, prompt: Prompt, *, timeout: Timeout = CONFIGURED) -> ChatResponse:
        """Send a prompt and wait for the whole answer.

        A turn that was cancelled returns, with `response.cancelled` and the partial text.

        Args:
            prompt: What to say: text, a part such as `Image.from_path(…)`, or a list of these.
            timeout: Seconds for the whole call: waiting for another turn, reconnecting, the turn.

        Blocks until the turn has ended, at most until the timeout and two seconds of draining.
        Ctrl-C halts the turn and goes up.

        Raises:
            ConfigError: The prompt is empty or too big, or this harness takes no such file.
            TurnError: The turn failed; `error.partial` is the response so far.
            SessionLostError: The harness or the connection is gone.
            UsageError: The agent is closed, not started, or busy for the whole timeout.
        """
        turn = self.stream(prompt, timeout=timeout)
        try:
            return turn.response()
        except BaseException:
            if not turn.done:
                # An interrupt: stop the harness too, and wait a moment so that the next turn
                # starts clean.
                turn.close()
                turn._live.wait_over(Deadline.after(self._clock, 0.5))
            raise

    def stream(self, prompt: Prompt, *, timeout: Timeout = CONFIGURED) -> Turn:
        """Send a prompt and return the turn, to be iterated while it runs.

        Args:
            prompt: What to say: text, a part such as `Image.from_path(…)`, or a list of these.
            timeout: Seconds for the whole turn, pauses of the consumer included.

        Blocks until the prompt has been sent.

        Raises:
            ConfigError: The prompt is empty or too big, or this harness takes no such file.
            SessionLostError: The harness is gone.
            UsageError: The agent is closed, not started, or busy for the whole timeout.
        """
        from .turn import Turn  # with the runtime, see `start`

        parts = prompt_parts(prompt)
        seconds = seconds_of(timeout, self._config.turn_timeout)
        engine = self._running()
        deadline = Deadline.after(self._clock, seconds)
        live = engine.turns.begin(parts, deadline, seconds)
        return Turn(engine, live, self._clock, self._config.response_schema)

    def cancel(self) -> bool:
        """Halt the turn that runs, if one does.

        Any thread and signal handlers; never blocks; harmless when idle.

        Returns:
            Whether a turn was running.
        """
        engine = self._engine
        return engine is not None and engine.is_ours and engine.cancel()

    def notify(self, text: str) -> None:
        """Tell the model something without a prompt, as soon as the agent is idle.

        Its answer goes to nobody; a `Trigger` has `on_response`.

        Any thread, hooks and signal handlers; never blocks.

        Raises:
            ConfigError: The text is empty or none.
            UsageError: The agent is closed or not started.
        """
        text = check_message(text)
        self._running().triggers.notify(text)

    def cancel_handle(self) -> CancelHandle:
        """Return an object that can cancel and does not keep the agent alive."""
        return CancelHandle(self)

    def wait_idle(self, *, timeout: Timeout = CONFIGURED) -> bool:
        """Wait until the harness runs nothing of this conversation.

        Args:
            timeout: Seconds to wait.

        Returns:
            Whether it is idle.

        Raises:
            UsageError: The agent is closed or not started.
        """
        seconds = seconds_of(timeout, self._config.turn_timeout)
        return self._running().wait_idle(Deadline.after(self._clock, seconds))

    # ── facts; none of these ever waits ─────────────────────────────────────────────────────────

    @property
    def config(self) -> AgentConfig:
        """The options it was made with."""
        return self._config

    @property
    def conversation_id(self) -> str:
        """Id to resume the conversation by: yours, else the harness's; `""` before a start."""
        return "" if self._engine is None else self._engine.board.snapshot.conversation_id

    @property
    def initial_history(self) -> tuple[Step, ...]:
        """Steps that were restored when the conversation was opened, all of them."""
        return () if self._engine is None else self._engine.board.snapshot.initial_history

    @property
    def history(self) -> tuple[Step, ...]:
        """Steps of the conversation, restored ones first, the last `max_history` of them."""
        return () if self._engine is None else self._engine.board.history

    @property
    def usage(self) -> Usage:
        """Tokens of the whole conversation so far.

        Harness 0.1.10 and newer restore them with the conversation; older ones begin at nothing.
        """
        return Usage() if self._engine is None else self._engine.board.snapshot.usage

    @property
    def trajectory_usage(self) -> Mapping[str, Usage]:
        """Tokens per trajectory, subagents included."""
        return {} if self._engine is None else self._engine.board.snapshot.trajectory_usage

    @property
    def is_started(self) -> bool:
        """Whether the harness runs and the session is alive."""
        engine = self._engine
        return engine is not None and engine.is_ours and not engine.board.is_over

    @property
    def is_idle(self) -> bool:
        """Whether nothing of this conversation runs."""
        board = None if self._engine is None else self._engine.board
        return board is None or (board.snapshot.is_idle and board.live is None)

    @property
    def harness_version(self) -> str | None:
        """Version of the harness, from the wheel beside it or found out.

        `None` before a start, and on a connection that is no harness's.
        """
        return None if self._engine is None else self._engine.harness_version

    @property
    def unswitchable_tools(self) -> tuple[BuiltinTool, ...]:
        """Built-in tools that this harness version offers the model whatever `capabilities` say.

        0.1.6 to 0.1.13 have two, which neither policies nor hooks see; empty before a start.
        """
        names = () if self._engine is None else self._engine.unswitchable_tools
        return tuple(BuiltinTool(name) for name in names)

    @property
    def pid(self) -> int | None:
        """Process id of the harness, `None` before a start."""
        return None if self._engine is None else self._engine.pid

    def __repr__(self) -> str:
        state = "not started"
        if self._engine is not None:
            state = self._engine.board.snapshot.phase.value
        return f"<Agent {self.conversation_id or 'without conversation'}: {state}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("an Agent cannot be pickled: make one in the process that uses it")

    # ── small ───────────────────────────────────────────────────────────────────────────────────

    def _running(self) -> Engine:
        engine = self._engine
        if engine is None:
            raise AgentNotStartedError("the agent is not started; call start() or use `with agent`")
        engine.check_fork()
        if engine.board.snapshot.phase is Phase.CLOSED:
            raise AgentClosedError("the agent is closed; start() opens it again")
        return engine


def run(prompt: Prompt, *, timeout: Timeout = CONFIGURED, **options: Any) -> ChatResponse:
    """Start an agent, ask it once, close it.

    Args:
        prompt: What to say: text, a part such as `Image.from_path(…)`, or a list of these.
        timeout: Seconds for the turn.
        options: Fields of `AgentConfig`.

    Raises:
        AntigravityError: Whatever `Agent.start` and `Agent.chat` raise.
    """
    with Agent(**options) as agent:
        return agent.chat(prompt, timeout=timeout)


def _dropped(engine: Engine) -> None:
    """Close an engine whose agent is gone; may run on any thread, so it only posts."""
    was_open = engine.is_ours and not engine.board.is_over
    engine.begin_close()  # first: a filter may turn the warning into an exception
    if was_open:
        warnings.warn(
            "an Agent was dropped without close(); use `with Agent(...)`",
            ResourceWarning,
            stacklevel=2,
        )
