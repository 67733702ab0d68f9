"""Where the user's tools run: on the thread that waits for the turn, or on workers.

A blocking caller is idle anyway, so a tool runs there by default, where database connections,
thread-locals and Ctrl-C behave as in ordinary code. A tool with a timeout or `worker=True`, all
tools of an agent with `tool_workers`, and those of turns nobody waits for run on workers.
"""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import attrs

from .._clock import Clock, Deadline
from .._core.asks import Ask, AskKey
from .._core.inputs import Decided, Dispatched, Input
from .._core.replies import ToolReply
from .._messages import MediaPart
from ..hooks import Hooks
from ..responses import JsonObject
from ..tools import Tool, ToolContext
from . import roles
from .board import Board
from .mailbox import Mailbox
from .tasks import ToolTask, Turnstile, Wrapper
from .workers import Workers


@attrs.frozen
class Callbacks:
    """The user's code, as configured.

    Attributes:
        tools: By name.
        hooks: In order.
        wrapper: Put around each hook, handler and worker call.
        tool_workers: How many tools may run at once on workers; 0 runs them on the caller.
        fit: Gives the files of a tool's result types that the harness passes on.
        state: Shared by the agent's tools.
    """

    tools: dict[str, Tool]
    hooks: tuple[Hooks, ...] = ()
    wrapper: Wrapper | None = None
    tool_workers: int = 0
    fit: Callable[[tuple[MediaPart, ...]], tuple[MediaPart, ...]] = lambda files: files
    state: dict[str, object] = attrs.field(factory=dict)


#: Workers of an agent that set no number, for the tools that asked for one.
_DEFAULT_WORKERS: Final = 4


class ToolRoom:
    """Runs tool calls and watches their time.

    Thread: the pump's, except where a method says otherwise.
    """

    def __init__(
        self, callbacks: Callbacks, mailbox: Mailbox, board: Board, clock: Clock, label: str
    ) -> None:
        self._callbacks = callbacks
        self._mailbox = mailbox
        self._board = board
        self._clock = clock
        self._roles = frozenset({label})
        self._workers = Workers(f"{label}-tool", callbacks.tool_workers or _DEFAULT_WORKERS)
        self._turnstile = Turnstile()
        self._tasks: dict[AskKey, ToolTask] = {}
        self._due: dict[AskKey, float] = {}
        self._running: set[AskKey] = set()
        self._late: set[AskKey] = set()
        #: Over the two sets; the pump and the workers write them.
        self._lock = threading.Lock()
        self._feed: Callable[[Input], None] = mailbox.post

    def bind(self, feed: Callable[[Input], None]) -> None:
        """Set how the pump takes an input at once, on its own thread."""
        self._feed = feed

    def dispatch(self, ask: Ask, tool: Tool, arguments: object) -> None:
        """Have a tool run, where the design says: DESIGN section 3."""
        shown: JsonObject = arguments if isinstance(arguments, dict) else {}
        self._feed(Dispatched(ask.key, shown))
        live = self._board.live
        due = None if tool.timeout is None else self._clock.now() + tool.timeout
        end = math.inf if live is None else live.deadline.at
        if due is not None:
            end = min(end, due)
        task = ToolTask(
            ask.key,
            tool,
            arguments,
            ToolContext(
                deadline=None if end == math.inf else end,
                state=self._callbacks.state,
                conversation_id=self._board.snapshot.conversation_id,
                call_id=ask.call_id,
            ),
            self._mailbox.post,
            self._play,
            self._turnstile,
            self._callbacks.fit,
        )
        self._tasks[ask.key] = task
        on_worker = tool.worker or tool.timeout is not None or self._callbacks.tool_workers > 0
        if live is not None and not live.is_trigger and not on_worker:
            live.put_task(task)
            return
        if due is not None:
            self._due[ask.key] = due
        context = contextvars.copy_context() if live is None else live.context
        self._workers.submit(lambda: self._work(task), context)

    def _play(self) -> AbstractContextManager[None]:
        return roles.playing(self._roles)

    def _work(self, task: ToolTask) -> None:
        """Run a task; a worker's thread."""
        with self._lock:
            self._running.add(task.key)
        try:
            task.run_on_worker(self._callbacks.wrapper or _plainly)
        finally:
            with self._lock:
                self._running.discard(task.key)
                was_late = task.key in self._late
                self._late.discard(task.key)
            if was_late:
                self._workers.release()

    def take_back(self, key: AskKey) -> ToolTask | None:
        """Take in that a call is answered; return it, `None` if it was none of ours."""
        self._due.pop(key, None)
        return self._tasks.pop(key, None)

    def next_due(self) -> float | None:
        """Return when the first tool runs out of time."""
        return min(self._due.values()) if self._due else None

    def expire(self) -> None:
        """Answer for the tools that have run out of time; they may go on, for nobody."""
        if not self._due:
            return
        now = self._clock.now()
        for key in [key for key, due in self._due.items() if due <= now]:
            del self._due[key]
            task = self._tasks.get(key)
            if task is None:
                continue
            self._tell(task)
            with self._lock:
                is_stuck = key in self._running
                if is_stuck:
                    self._late.add(key)
            if is_stuck:
                self._workers.replace()
            seconds = task.tool.timeout
            text = f"{task.tool.name} did not answer within {seconds:g} s"
            self._feed(Decided(key, ToolReply(error=text)))

    def withdraw(self, keys: tuple[AskKey, ...]) -> None:
        """Tell the tools behind these asks that nobody waits for them any more."""
        for key in keys:
            task = self._tasks.pop(key, None)
            self._due.pop(key, None)
            if task is not None:
                self._tell(task)

    def _tell(self, task: ToolTask) -> None:
        task.context.cancelled.set()
        self._turnstile.wake()

    def cancel_all(self) -> None:
        """Tell every tool that nobody waits for it any more; any thread."""
        for task in list(self._tasks.values()):
            self._tell(task)

    def close(self, deadline: Deadline) -> tuple[str, ...]:
        """End the workers; return the names of those that would not end in time. Any thread."""
        self.cancel_all()
        return self._workers.close(deadline)


def _plainly(call: Callable[[], object]) -> object:
    return call()
