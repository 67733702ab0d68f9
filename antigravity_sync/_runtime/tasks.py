"""One call of a tool of the user's: run once, by whoever takes it first, and answered once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import attrs

from .._core.asks import AskKey
from .._core.inputs import Decided, Input
from .._core.replies import ToolReply
from .._messages import MediaPart
from ..tools import ArgumentError, Tool, ToolContext, encode_result, error_text, invoke

_log: Final = logging.getLogger("antigravity_sync.tools")

#: Runs a piece of user code; the configured `callback_wrapper`, or a plain call.
Wrapper = Callable[[Callable[[], object]], object]


@attrs.define(eq=False)
class ToolTask:
    """A call waiting for a thread: the caller of its turn, or a worker.

    Attributes:
        key: The ask it answers.
        tool: What to run.
        arguments: What the model gave, as parsed.
        context: What the tool may know; its `cancelled` is set when nobody waits any more.
        post: Takes the reply, from whichever thread ran it.
        role: Makes calls into the same agent fail instead of waiting for themselves.
        turnstile: What an exclusive tool waits at, and the others wait for it.
        fit: Gives the files of its result types that the harness passes on.
    """

    key: AskKey
    tool: Tool
    arguments: object
    context: ToolContext
    post: Callable[[Input], None]
    role: Callable[[], AbstractContextManager[None]]
    turnstile: Turnstile
    fit: Callable[[tuple[MediaPart, ...]], tuple[MediaPart, ...]]
    _taken: threading.Lock = attrs.field(factory=threading.Lock)

    def run_here(self) -> None:
        """Run on the thread of the turn's caller, once no tool runs that it must not run beside.

        Only an `Exception` becomes the model's answer; an interrupt goes up, for it is the
        caller's, and the caller halts the turn.
        """
        reply: ToolReply | None = None
        with self.turnstile.passing(self):
            if self._take():
                try:
                    reply = self._run()
                except Exception as error:  # noqa: BLE001 - boundary: a user's tool; the model is told
                    reply = self._failed(error)
        if reply is not None:  # last: the pump begins when this thread waits, and the model with it
            self.post(Decided(self.key, reply))

    def run_on_worker(self, wrapper: Wrapper) -> None:
        """Run on a worker's thread, where nobody could catch anything: all becomes an answer."""
        with self.turnstile.passing(self):
            if self._take():
                self._answer(wrapper)

    def _answer(self, wrapper: Wrapper) -> None:
        found: list[ToolReply] = []
        try:
            wrapper(lambda: found.append(self._run()))
            reply = found[0] if found else ToolReply(error="the tool was not run")
        except BaseException as error:  # noqa: BLE001 - boundary: a user's tool; the model is told
            reply = self._failed(error)
        self.post(Decided(self.key, reply))

    def _take(self) -> bool:
        return self._taken.acquire(blocking=False) and not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.context.cancelled.is_set()

    def _run(self) -> ToolReply:
        with self.role():
            value = invoke(self.tool, self.arguments, self.context)
        encoded = encode_result(self.tool.name, value)
        media = self.fit(encoded.media) if encoded.media else ()
        return ToolReply(encoded.json, media, value)

    def _failed(self, error: BaseException) -> ToolReply:
        if not isinstance(error, ArgumentError):
            _log.warning("tool %s failed; the model is told", self.tool.name, exc_info=error)
        return ToolReply(error=error_text(error))


class Turnstile:
    """Lets tools run side by side, and an exclusive one alone, on whichever threads they run."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._is_exclusive = False

    def passing(self, task: ToolTask) -> AbstractContextManager[None]:
        """Wait until a tool may run, or need not any more, and keep others out accordingly.

        Entering blocks until then; `wake` makes it look again.
        """
        return _Passage(self, task)

    def enter(self, task: ToolTask) -> bool:
        """Wait until a tool may run; return `False` if it need not any more."""
        alone = task.tool.exclusive
        with self._changed:
            while not task.is_over and (self._is_exclusive or (alone and self._inside)):
                self._changed.wait()
            if task.is_over:
                return False
            self._inside += 1
            self._is_exclusive = alone
            return True

    def wake(self) -> None:
        """Look again at who need not run any more; any thread."""
        with self._changed:
            self._changed.notify_all()

    def leave(self) -> None:
        """Let others in."""
        with self._changed:
            self._inside -= 1
            self._is_exclusive = False
            self._changed.notify_all()


class _Passage:
    """One tool's way through a turnstile."""

    def __init__(self, turnstile: Turnstile, task: ToolTask) -> None:
        self._turnstile = turnstile
        self._task = task
        self._is_inside = False

    def __enter__(self) -> None:
        self._is_inside = self._turnstile.enter(self._task)

    def __exit__(self, *_: object) -> None:
        if self._is_inside:
            self._turnstile.leave()
