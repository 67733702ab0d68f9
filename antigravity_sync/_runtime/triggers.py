"""What wakes an agent without a prompt: one thread per trigger, and one for `notify`.

They hold the engine's parts and not the agent, so that an agent which nobody holds is closed.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import queue
import threading
from collections.abc import Callable
from typing import Final

from .._clock import LONGEST_WAIT, Clock, Deadline
from .._core.actions import Failure, FailureKind
from .._transport.process import start_thread
from ..config import AgentConfig
from ..errors import AntigravityError, SessionLostError, TurnError
from ..responses import ChatResponse
from ..triggers import Trigger, TriggerContext
from .failures import make_error
from .live_turn import LiveTurn, TurnEnd
from .mailbox import Call
from .structured import with_answer
from .turns import Turns

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: Milliseconds after which changes of files count as over, and the end of a watch is noticed.
_QUIET_MS: Final = 100


class Triggers:
    """The triggers of one engine.

    Args:
        config: The options.
        clock: What intervals are measured by.
        label: Prefix of the threads' names.
        wrapped: Makes a call of user code through the configured wrapper.

    Thread: any, except where a method says otherwise.

    Attributes:
        stopped: Set once nothing more may be sent.
        errors: What ended triggers.
    """

    def __init__(
        self,
        config: AgentConfig,
        clock: Clock,
        label: str,
        wrapped: Callable[[Callable[[], object]], object],
    ) -> None:
        self._config = config
        self._clock = clock
        self._label = label
        self._wrapped = wrapped
        self._turns: Turns | None = None
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._has_notifier = False
        self.stopped = threading.Event()
        self.errors: tuple[Exception, ...] = ()

    def start(self, turns: Turns) -> None:
        """Start them.

        Raises:
            LaunchError: There is no thread for one.
        """
        self._turns = turns
        for number, trigger in enumerate(self._config.triggers, 1):
            self._start(f"trigger-{number}", functools.partial(self._live, turns, trigger))

    def notify(self, text: str) -> None:
        """Have the agent told `text` once it is idle; safe in a signal handler."""
        turns = self._turns
        if turns is not None:
            turns.mailbox.post(Call(lambda: self._take(turns, text)))

    def stop(self) -> None:
        """Let nothing more be sent, and wake whoever waits for its moment."""
        self.stopped.set()
        self._texts.put(None)
        if self._turns is not None:
            self._turns.board.wake()
        self.wake()

    def wake(self) -> None:
        """Have those that wait look at the clock again."""
        with self._changed:
            self._changed.notify_all()

    def join(self, deadline: Deadline) -> tuple[str, ...]:
        """Wait for the threads; return the names of those that would not end in time."""
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(deadline.remaining())
        return tuple(thread.name for thread in others if thread.is_alive())

    @property
    def is_inside(self) -> bool:
        """Whether this is the thread of one of them."""
        return threading.current_thread() in self._threads

    def _start(self, name: str, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name=f"{self._label}-{name}", daemon=True)
        start_thread(thread)
        self._threads.append(thread)

    # ── texts from outside ──────────────────────────────────────────────────────────────────────

    def _take(self, turns: Turns, text: str) -> None:
        """Pass a text on to the thread that sends them; on the pump, where nothing can race."""
        if self.stopped.is_set():
            return
        self._texts.put(text)
        if self._has_notifier:
            return
        try:
            self._start("notify", lambda: self._send_texts(turns))
            self._has_notifier = True
        except AntigravityError:  # the text stays, for the next one may have more luck
            _log.exception("%s: a notification must wait", self._label)

    def _send_texts(self, turns: Turns) -> None:
        while True:
            text = self._texts.get()
            if text is None or self.stopped.is_set():
                return
            try:
                self._deliver(turns, text)
            except Exception:  # noqa: BLE001 - boundary: one delivery; the next may go better
                _log.exception("%s: a notification failed", self._label)

    # ── one trigger ─────────────────────────────────────────────────────────────────────────────

    def _live(self, turns: Turns, trigger: Trigger | Callable[[TriggerContext], object]) -> None:
        """Run one trigger to its end; on its own thread."""
        try:
            if not isinstance(trigger, Trigger):
                context = TriggerContext(
                    turns.board.snapshot.conversation_id,
                    self.stopped,
                    functools.partial(self._deliver, turns),
                )
                self._wrapped(lambda: trigger(context))
            elif trigger.path is not None:
                self._watch(turns, trigger, trigger.path)
            elif trigger.every is not None:
                self._tick(turns, trigger, trigger.every)
        except Exception as error:  # noqa: BLE001 - boundary: ends this trigger alone
            if not self.stopped.is_set():
                self.errors = (*self.errors, error)
                _log.exception("%s has ended", threading.current_thread().name)

    def _tick(self, turns: Turns, trigger: Trigger, interval: float) -> None:
        first = self._clock.now()
        due = first + interval
        while self._sleep_until(due) and not turns.board.is_over:
            self._fire(turns, trigger)
            passed = math.floor((self._clock.now() - first) / interval)
            due = first + (passed + 1) * interval  # those that were missed are one

    def _sleep_until(self, due: float) -> bool:
        """Return whether the moment has come; otherwise everything is over."""
        with self._changed:
            while not self.stopped.is_set():
                remaining = due - self._clock.now()
                if remaining <= 0.0:
                    return True
                self._changed.wait(min(remaining, LONGEST_WAIT))
            return False

    def _watch(self, turns: Turns, trigger: Trigger, path: str) -> None:
        import watchfiles  # an extra, which this trigger could not be made without

        # A file by way of its directory: editors replace files instead of writing into them.
        is_file = not os.path.isdir(path)
        name = os.path.basename(path)
        watched = os.path.dirname(path) if is_file else path
        changes = watchfiles.watch(
            os.path.realpath(watched),
            watch_filter=(lambda _, changed: os.path.basename(changed) == name)
            if is_file
            else watchfiles.DefaultFilter(),
            step=_QUIET_MS,
            stop_event=self.stopped,
            recursive=not is_file,
        )
        for _ in changes:
            if turns.board.is_over:
                return
            self._fire(turns, trigger)

    def _fire(self, turns: Turns, trigger: Trigger) -> None:
        """Send a trigger's message and pass on the answer."""
        try:
            response = self._deliver(turns, trigger.message)
        except (TurnError, SessionLostError) as error:
            # The next moment may go better; if the session is over for good, it never comes.
            _log.warning("a turn of %s failed: %s", threading.current_thread().name, error)
            return
        answer = trigger.on_response
        if response is not None and answer is not None:
            self._wrapped(lambda: answer(response))

    def _deliver(self, turns: Turns, text: str) -> ChatResponse | None:
        """Send a text once the agent is idle; return the answer, `None` when it is closed."""
        timeout = self._config.turn_timeout
        live = turns.begin_trigger(text, timeout, self.stopped.is_set)
        if live is None:
            return None
        end = with_answer(self._wait(turns, live), self._config.response_schema)
        if end.failure is None:
            return end.response
        if end.failure.kind is FailureKind.CLOSED:
            return None
        raise make_error(end.failure, end.response, turns.circumstances(timeout))

    def _wait(self, turns: Turns, live: LiveTurn) -> TurnEnd:
        end = live.wait_over(turns.last_moment(live))
        if end is not None:
            return end
        turns.give_up(live)
        return TurnEnd(ChatResponse(), Failure(FailureKind.TIMEOUT))
