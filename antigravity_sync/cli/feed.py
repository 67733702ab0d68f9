"""What comes to the person at the terminal while a turn runs, on one queue for one thread.

The turn is read on a thread of its own, and approvals and questions come on the agent's. All of it
goes to the main thread, which alone reads the keyboard and can be interrupted by Ctrl-C.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ..errors import AntigravityError
from ..events import Event, Finished
from ..hooks import ToolInvocation
from ..questions import Answer, CancelQuestions, Question
from ..responses import ChatResponse
from ..turn import Turn

_TICK: Final = 0.2

Answers = list[Answer] | CancelQuestions


@attrs.frozen(eq=False)
class Approval:
    """Somebody must say whether a call may run."""

    call: ToolInvocation
    reply: queue.SimpleQueue[bool] = attrs.field(factory=queue.SimpleQueue, repr=False)


@attrs.frozen(eq=False)
class Asked:
    """Somebody must answer the model's questions."""

    questions: Sequence[Question]
    reply: queue.SimpleQueue[Answers] = attrs.field(factory=queue.SimpleQueue, repr=False)


@attrs.frozen
class Tick:
    """Nothing has come for a moment."""


@attrs.frozen
class Ended:
    """The turn is over.

    Attributes:
        response: What it left, `None` if it failed.
        error: Why it failed, `None` if it did not.
    """

    response: ChatResponse | None = None
    error: AntigravityError | None = None


Item = Event | Approval | Asked | Tick | Ended


class Feed:
    """The queue of one agent."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open: list[Approval | Asked] = []
        self._is_over = False

    # ── what the agent calls, on its own threads ────────────────────────────────────────────────

    def approve(self, call: ToolInvocation) -> bool:
        """Ask whether a call may run; blocks until somebody has answered."""
        approval = Approval(call)
        return approval.reply.get() if self._post(approval) else False

    def answer(self, questions: Sequence[Question]) -> Answers:
        """Ask the model's questions; blocks until somebody has answered."""
        asked = Asked(questions)
        return asked.reply.get() if self._post(asked) else CancelQuestions()

    def _post(self, ask: Approval | Asked) -> bool:
        with self._lock:
            if self._is_over:
                return False
            self._open.append(ask)
        self._items.put(ask)
        return True

    # ── the main thread ─────────────────────────────────────────────────────────────────────────

    def play(self, turn: Turn) -> Iterator[Item]:
        """Yield what comes until the turn is over, and a `Tick` when nothing does."""
        reader = threading.Thread(
            target=self._read, args=(turn,), daemon=True, name="antigravity-sync-chat"
        )
        reader.start()
        while True:
            try:
                item = self._items.get(timeout=_TICK)
            except queue.Empty:
                item = Tick()
            yield item
            if isinstance(item, Ended):
                reader.join()
                return

    def drop_asks(self) -> None:
        """Refuse everything that waits for an answer: the turn is being halted."""
        with self._lock:
            asks, self._open = self._open, []
        for ask in asks:
            if isinstance(ask, Approval):
                ask.reply.put(False)
            else:
                ask.reply.put(CancelQuestions())

    def close(self) -> None:
        """Refuse what waits and what is still to come."""
        with self._lock:
            self._is_over = True
        self.drop_asks()

    def _read(self, turn: Turn) -> None:
        response = None
        try:
            for event in turn:
                if isinstance(event, Finished):
                    response = event.response
                self._items.put(event)
        except AntigravityError as error:
            self._items.put(Ended(error=error))
        else:
            self._items.put(Ended(response))
