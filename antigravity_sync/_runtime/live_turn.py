"""The meeting point of a turn: the pump puts events in, its caller takes them out."""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

import attrs

from .._clock import Deadline
from .._core.actions import Failure
from ..events import Event, TextDelta, ThinkingDelta
from ..responses import ChatResponse
from . import roles
from .tasks import ToolTask
from .watch import Watch

#: Bytes of unread events a turn may pile up; adjacent deltas are merged, so this is text.
MAX_UNREAD: Final = 256 * 1024 * 1024
#: A lock wait cannot be interrupted by Ctrl-C on Windows, so there it is cut into slices.
_SLICE: Final = 0.1 if os.name == "nt" else None

_Delta = TextDelta | ThinkingDelta


def _condition() -> threading.Condition:
    """Return a condition over a plain lock: nothing here takes it twice."""
    return threading.Condition(threading.Lock())


@attrs.define(eq=False)
class _Merged:
    """Deltas of one kind and trajectory that nobody has read yet, to be shown as one."""

    first: _Delta
    pieces: list[str]

    def event(self) -> Event:
        if len(self.pieces) == 1:
            return self.first
        return attrs.evolve(self.first, text="".join(self.pieces))


@attrs.frozen
class TurnEnd:
    """How a turn ended; `answer` is its structured answer as the model gave it."""

    response: ChatResponse
    failure: Failure | None = None
    answer: str | None = None


@attrs.define(eq=False)
class LiveTurn:
    """One turn between the pump and its caller.

    The pump calls `put`, `mark_sent` and `finish`; the caller `take`, `wait_sent` and `wait_over`.
    One short lock, never held while anybody waits for anything else.

    Attributes:
        turn_id: Its number.
        deadline: When it must be over.
        owner: Identity of the thread that claimed it.
        timeout: The budget in seconds behind `deadline`, for messages.
        roles: The callbacks that led to it, see `roles`.
        context: The context variables of its caller, for callbacks on other threads.
        watch: Who holds the pump; looked at while waiting.
        on_overdue: Told the name of a callback that ran out of time.
        is_pinned: Whether its caller is inside `with turn:`.
        is_trigger: Whether an automated trigger began it; nobody reads its events.
        is_cancelled: Whether somebody asked for its end before it was on its way.
        end: How it ended, once it has.
    """

    turn_id: int
    deadline: Deadline
    timeout: float | None
    owner: int = attrs.field(factory=threading.get_ident)
    roles: frozenset[str] = attrs.field(factory=roles.current)
    context: contextvars.Context = attrs.field(factory=contextvars.copy_context)
    watch: Watch | None = None
    on_overdue: Callable[[str], None] | None = None
    is_pinned: bool = False
    is_trigger: bool = False
    is_cancelled: bool = False
    end: TurnEnd | None = None
    _is_sent: bool = False
    _events: deque[Event | _Merged | ToolTask] = attrs.field(factory=deque)
    _unread: int = 0
    _changed: threading.Condition = attrs.field(factory=_condition)
    _readers: int = 0
    _work: int = 0

    # ── the pump's side ─────────────────────────────────────────────────────────────────────────

    def put(self, event: Event) -> bool:
        """Show an event; return `False` once too much is unread."""
        if self.is_trigger:
            return True
        with self._changed:
            if type(event) is TextDelta or type(event) is ThinkingDelta:
                self._unread += len(event.text)
                self._merge(event)
            else:
                self._events.append(event)
            if self._readers:
                self._changed.notify_all()
            return self._unread <= MAX_UNREAD

    def put_task(self, task: ToolTask) -> None:
        """Have the caller's thread do something, once it has read what came before."""
        with self._changed:
            self._events.append(task)
            self._work += 1
            self._changed.notify_all()

    def _merge(self, event: _Delta) -> None:
        last = self._events[-1] if self._events else None
        if (
            type(last) is _Merged
            and type(last.first) is type(event)
            and last.first.trajectory_id == event.trajectory_id
        ):
            last.pieces.append(event.text)
        else:
            self._events.append(_Merged(event, [event.text]))

    def mark_sent(self) -> None:
        """Tell the caller that its prompt has gone out."""
        with self._changed:
            self._is_sent = True
            self._changed.notify_all()

    def finish(self, end: TurnEnd) -> None:
        """End the turn; the first end counts. Any thread that declares a loss may call it too."""
        with self._changed:
            if self.end is None:
                self.end = end
            self._changed.notify_all()

    # ── the caller's side ───────────────────────────────────────────────────────────────────────

    def take(
        self, deadline: Deadline, *, at_end: bool = False
    ) -> Event | ToolTask | TurnEnd | None:
        """Return the next event or task, the end once all are read, `None` at the deadline.

        Args:
            deadline: Until when to wait.
            at_end: Sleep until the turn has ended, or has work for this thread, before reading
                anything. A caller who wants only the response need not be woken for each event, on
                a busy machine at the expense of the harness.

        Blocks until one of the three; a signal's exception goes up.
        """
        with self._changed:
            if self.end is None and at_end:
                self._wait(deadline, lambda: self.end is not None or self._work > 0)
            elif self.end is None and not self._events:
                self._readers += 1
                try:
                    self._wait(deadline, lambda: bool(self._events) or self.end is not None)
                finally:
                    self._readers -= 1
            if not self._events:
                return self.end
            item = self._events.popleft()
            if isinstance(item, _Merged):
                self._unread -= sum(map(len, item.pieces))
                return item.event()
            if isinstance(item, ToolTask):
                self._work -= 1
            return item

    def drop_events(self) -> None:
        """Forget what is unread: nobody will read it."""
        with self._changed:
            self._events.clear()

    def wait_sent(self, deadline: Deadline) -> bool:
        """Wait until the prompt has gone out or the turn has ended; return whether one happened."""
        with self._changed:
            return self._wait(deadline, lambda: self._is_sent or self.end is not None)

    def wait_over(self, deadline: Deadline) -> TurnEnd | None:
        """Wait until the turn has ended; return how, `None` when the deadline passes first."""
        with self._changed:
            self._wait(deadline, lambda: self.end is not None)
            return self.end

    def _wait(self, deadline: Deadline, done: Callable[[], bool]) -> bool:
        while not done():
            remaining = deadline.remaining()
            if remaining is not None and remaining <= 0.0:
                return False
            if _SLICE is not None:
                remaining = _SLICE if remaining is None else min(remaining, _SLICE)
            if self.watch is not None:
                patience = self.watch.patience()
                remaining = patience if remaining is None else min(remaining, patience)
            self._changed.wait(remaining)
            if self.watch is not None and self.watch.is_running:
                self._look_at_pump(self.watch)
        return True

    def _look_at_pump(self, watch: Watch) -> None:
        """See whether a callback holds the pump up; not under the lock, for that may log."""
        self._changed.release()
        try:
            name = watch.overdue()
            if name is not None and self.on_overdue is not None:
                self.on_overdue(name)
        finally:
            self._changed.acquire()
