"""A turn in the caller's hands: an iterator of events that may be left at any time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import NoReturn

from ._clock import Clock, Deadline
from ._core.actions import Failure, FailureKind
from ._runtime.engine import Engine
from ._runtime.failures import make_error
from ._runtime.live_turn import LiveTurn, TurnEnd
from ._runtime.structured import with_answer
from ._runtime.tasks import ToolTask
from ._runtime.turns import DRAIN_GRACE
from .errors import AgentClosedError, ConcurrentIterationError, UsageError
from .events import Event, Finished, TextDelta
from .responses import ChatResponse


class Turn(Iterator[Event]):
    """The events of one turn, as they come; the last is `Finished`, failures are raised.

    Thread: one consumer at a time; `cancel` and `close` are for any thread. Leaving the loop,
    an exception in its body or dropping the turn halts it, and the agent's next turn starts clean.

    Blocks: iteration waits for the next event, until the turn's deadline.
    """

    def __init__(
        self, engine: Engine, live: LiveTurn, clock: Clock, response_schema: object = None
    ) -> None:
        self._engine = engine
        self._live = live
        self._clock = clock
        self._response_schema = response_schema
        self._last_moment = engine.turns.last_moment(live)
        self._in_use = threading.Lock()
        self._text: list[str] = []
        self._end: TurnEnd | None = None
        self._is_spent = False

    def __iter__(self) -> Turn:
        return self

    def __next__(self) -> Event:
        with self._using():
            event = self._next(self._live.deadline)
        if event is None:
            raise StopIteration
        return event

    def text_deltas(self) -> Iterator[str]:
        """Yield the pieces of the answer's text alone, main trajectory only."""
        for event in self:
            if isinstance(event, TextDelta) and event.is_main:
                yield event.text

    def response(self, *, timeout: float | None = None) -> ChatResponse:
        """Read what is left and return the whole response, also after partial iteration.

        Args:
            timeout: Seconds to wait; `None` waits as long as the turn may take. Running into it
                leaves the turn as it is.

        Raises:
            TurnError: The turn failed.
            TimeoutError: Only `timeout` passed; the turn goes on.
        """
        own = self._live.deadline
        deadline = own if timeout is None else own.sooner(timeout)
        with self._using():
            while not self._is_spent:
                self._next(deadline, patience=timeout, at_end=True)
        end = self._end
        if end is None:
            raise AgentClosedError("the turn was closed before its end; ask again")
        if end.failure is not None:
            self._raise(end.failure, end.response)
        return end.response

    @property
    def done(self) -> bool:
        """Whether the turn has ended; unread events may be left."""
        return self._live.end is not None

    def cancel(self) -> bool:
        """Halt the turn; its iterator ends with the partial response. Any thread, never blocks.

        Returns:
            Whether it was still running.
        """
        return self._engine.is_ours and self._engine.cancel(self._live)

    def close(self) -> None:
        """Halt the turn and forget what is unread. Any thread, never blocks."""
        self._is_spent = True
        if not self._engine.is_ours:
            return
        if self._live.end is None:
            self._engine.turns.abandon(self._live)
        self._live.drop_events()

    def __enter__(self) -> Turn:
        self._live.is_pinned = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.is_pinned = False
        if not self.done and self._engine.is_ours:
            self.close()
            self._live.wait_over(Deadline.after(self._clock, DRAIN_GRACE))

    def __del__(self) -> None:
        live = getattr(self, "_live", None)
        if live is not None and live.end is None and self._engine.is_ours:
            self._engine.turns.abandon(live)  # only posts: safe wherever the collector runs

    def __reduce__(self) -> NoReturn:
        raise UsageError("a Turn cannot be pickled: it is a conversation with a live process")

    # ── the consumer's side ─────────────────────────────────────────────────────────────────────

    def _using(self) -> _Use:
        self._engine.check_fork()
        return _Use(self._in_use)

    def _next(
        self, deadline: Deadline, *, patience: float | None = None, at_end: bool = False
    ) -> Event | None:
        """Return the next event, `None` when there are no more; raise the turn's failure."""
        if self._is_spent:
            return None
        while True:
            got = self._take(deadline, patience, at_end)
            if isinstance(got, TextDelta):
                if got.is_main:
                    self._text.append(got.text)
                return got
            if isinstance(got, TurnEnd):
                break
            if isinstance(got, ToolTask):
                self._run(got)
            elif not at_end:
                return got
        self._is_spent = True
        self._end = got = with_answer(got, self._response_schema)
        if got.failure is not None:
            self._raise(got.failure, got.response)
        return Finished(got.response, trajectory_id=self._engine.board.snapshot.main_id)

    def _run(self, task: ToolTask) -> None:
        """Run a tool on this thread; an interrupt halts the turn and goes up."""
        try:
            task.run_here()
        except BaseException:
            self._engine.turns.abandon(self._live)
            raise

    def _take(
        self, deadline: Deadline, patience: float | None, at_end: bool
    ) -> Event | ToolTask | TurnEnd:
        own = self._live.deadline
        got = self._live.take(
            deadline if deadline.at < own.at else self._last_moment, at_end=at_end
        )
        if got is not None:
            return got
        if not own.expired():
            raise TimeoutError(f"no event within {patience:g} s; the turn goes on")
        self._engine.turns.give_up(self._live)
        text = "".join(self._text)
        partial = ChatResponse(text=text, messages=(text,) if text else ())
        return TurnEnd(partial, Failure(FailureKind.TIMEOUT))

    def _raise(self, failure: Failure, response: ChatResponse) -> NoReturn:
        if not response.conversation_id and self._text:
            text = "".join(self._text)
            response = ChatResponse(text=text, messages=(text,))
        raise make_error(failure, response, self._engine.circumstances(self._live.timeout))


class _Use:
    """Marks a turn as in use by one thread; a second one is told so instead of sharing it."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise ConcurrentIterationError(
                "another thread iterates this turn; give each thread a turn of its own"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()
