"""A connection in place of a harness: a link in memory.

The pump sends and receives as it does over a socket. What it sends becomes verbs of the connection,
and a thread reads the connection's steps and makes frames of them.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import logging
import queue
import secrets
import threading
from collections.abc import Callable
from typing import Final

from .._clock import Deadline, MonotonicClock
from .._runtime.hosting import ForeignHost
from .._transport.channel import Channel, Closed, LinkDownError
from .._transport.process import start_thread
from .._wire.dialect import NEWEST
from .._wire.redact import Redactor
from ..errors import AntigravityError, TurnError, UsageError
from ..responses import Step, Usage
from ._base import Connection
from ._requests import RequestStep
from ._translate import Frames, answer, frame, prompt_of

_log: Final = logging.getLogger("antigravity_sync.connections")
_labels: Final = itertools.count(1)

#: How an error that the pump passes on is told from a harness's words.
_MARK: Final = "connection error "
#: How many errors are kept; each is asked for at the end of its turn.
_KEPT_ERRORS: Final = 64
#: Seconds for the pump's reader to hand over what a connection said before it was lost.
_LAST_FRAMES: Final = 0.25
#: Seconds that a connection may take to end beyond the budget of a close.
_END_GRACE: Final = 0.25


class BridgedHost(ForeignHost):
    """A connection in place of a harness.

    Thread: any. It has a thread that reads the connection while a turn runs, once one has begun.

    Args:
        connection: The connection, which it ends.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(Redactor(), NEWEST)
        self.connection = connection
        self.frames = Frames(connection.conversation_id or secrets.token_hex(16))
        self.on_empty = self.end_connection
        self._label = f"agsync-b{next(_labels)}"
        self._turns: queue.SimpleQueue[MemoryLink | None] = queue.SimpleQueue()
        self._reading = threading.Lock()
        self._reader: threading.Thread | None = None
        self._errors: dict[str, Exception] = {}
        self._error_numbers = itertools.count()
        self._is_over = False

    @property
    def is_harness(self) -> bool:
        return False

    def connect(self, _deadline: Deadline) -> Channel:
        return MemoryLink(self)

    # ── errors ──────────────────────────────────────────────────────────────────────────────────

    def keep(self, error: Exception) -> str:
        """Keep an error for whoever waits for the turn; return what stands for it on the wire."""
        if not isinstance(error, AntigravityError):
            _log.error("the connection failed", exc_info=error)
            failure = TurnError(f"the connection failed with {error!r:.500}; see the log")
            failure.__cause__ = error
            error = failure
        name = f"{_MARK}{next(self._error_numbers)}"
        self._errors[name] = error
        if len(self._errors) > _KEPT_ERRORS:
            del self._errors[next(iter(self._errors))]
        return name

    def find_error(self, message: str) -> Exception | None:
        error = self._errors.get(message)
        if error is None:
            return None
        fresh = copy.copy(error)  # whoever raises one twice keeps the frames of both
        fresh.__cause__ = error.__cause__
        return fresh

    def check_reset(self) -> None:
        raise UsageError(
            "a connection has one conversation; close() the agent and start() it again, with a "
            "ConnectionStrategy"
        )

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def read_turn(self, link: MemoryLink) -> None:
        """Have the steps of the turn that was just begun read; their frames go to `link`.

        Raises:
            LaunchError: There is no thread for it.
        """
        with self._reading:
            if self._reader is None:
                reader = threading.Thread(
                    target=self._read, name=f"{self._label}-steps", daemon=True
                )
                start_thread(reader)
                self._reader = reader
        self._turns.put(link)

    def _read(self) -> None:
        while (link := self._turns.get()) is not None:
            error, is_lost = "", False
            try:
                for step in self.connection.receive_steps():
                    link.show(step)
                link.wait_answered()
            except Exception as failure:  # noqa: BLE001 - boundary: a connection of a user's; whoever waits for the turn is told
                error = self.keep(failure)
                is_lost = isinstance(failure, AntigravityError) and not failure.session_usable
            link.end_turn(error)
            if is_lost:
                self._lose()

    def _lose(self) -> None:
        """Tell the engine that the connection says of itself that nothing more will come of it."""
        last_frames = Deadline.after(MonotonicClock(), _LAST_FRAMES)
        for guest in self.guests:
            guest.take_exit(None, last_frames)

    def end_connection(self, deadline: Deadline) -> None:
        """Disconnect, and end the thread; once.

        Blocks until that is done, about until the deadline: a connection of a user's may hang.
        """
        with self._reading:
            if self._is_over:
                return
            self._is_over = True
        thread = threading.Thread(
            target=self._disconnect, name=f"{self._label}-disconnect", daemon=True
        )
        threads = [thread]
        try:
            start_thread(thread)
        except AntigravityError:  # the interpreter ends, or there is no thread to be had
            threads = []
            self._disconnect()
        self._turns.put(None)
        if self._reader is not None:
            threads.append(self._reader)
        for each in threads:
            each.join(max(_END_GRACE, deadline.remaining() or 0.0))
            if each.is_alive():
                _log.warning(
                    "%r does not end in time; %s is left behind", self.connection, each.name
                )

    def _disconnect(self) -> None:
        try:
            self.connection.disconnect()
        except Exception:  # noqa: BLE001 - boundary: a connection of a user's; a close never raises
            _log.exception("%r could not be disconnected", self.connection)


class MemoryLink:
    """A link to a connection; see `Channel`.

    It comes and goes as a socket does: after a turn that failed the session makes another.
    """

    def __init__(self, host: BridgedHost) -> None:
        self._host = host
        self._connection = host.connection
        self._frames = host.frames
        self._inbox: queue.SimpleQueue[bytes | Closed] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_open = False
        self._in_turn = False
        #: How many requests of the turn wait for an answer; nobody does after a halt.
        self._asked = 0
        self._answered = threading.Condition(self._lock)
        self.epoch = 0
        self.redact: Callable[[str], str] = str

    # ── what the pump sends ─────────────────────────────────────────────────────────────────────

    def send(self, text: str, *, epoch: int | None = None) -> bool:
        with self._lock:
            if self._is_closed:
                raise LinkDownError("closed")
            if epoch is not None and epoch != self.epoch:
                return False
        self._take(text)
        return True

    def send_halt(self, text: str) -> None:
        with self._lock:
            if self._is_closed:
                raise LinkDownError("closed")
            self.epoch += 1
            self._forget_asked()
        self._take(text)

    def try_send_halt(self, text: str) -> bool:
        """Send a halt, unless this may be a signal handler: a user's connection may take a lock."""
        if threading.current_thread() is threading.main_thread():
            return False
        with contextlib.suppress(LinkDownError):
            self.send_halt(text)
        return True

    def _take(self, text: str) -> None:
        event = json.loads(text)
        try:
            self._pass_on(event)
        except Exception as error:  # noqa: BLE001 - boundary: a connection of a user's; whoever waits for the turn is told
            self.end_turn(self._host.keep(error))

    def _pass_on(self, event: dict[str, object]) -> None:
        if not self._is_open:
            self._is_open = True
            opened = {"cascadeId": self._frames.main_id}
            self.post([frame(initializeConversationResponse=opened)])
        elif "userInput" in event:
            prompt, words = prompt_of(event["userInput"])
            self._begin(words, is_trigger=False)
            self._connection.send(prompt)
            self._host.read_turn(self)
        elif "automatedTrigger" in event:
            words = str(event["automatedTrigger"])
            self._begin(words, is_trigger=True)
            self._connection.send_trigger_notification(words)
            self._host.read_turn(self)
        elif "haltRequest" in event:
            self._connection.send_halt_request()
        elif "sessionEndRequest" in event:
            self.post([frame(sessionEndResponse={})])
        elif answer(self._connection, event, self._frames):
            with self._lock:
                self._asked -= 1
                self._answered.notify_all()
        else:
            _log.warning("nothing of this reaches the connection: %s", ", ".join(event))

    def _begin(self, words: str, *, is_trigger: bool) -> None:
        with self._lock:
            self._in_turn, self._asked = True, 0
        self.post(self._frames.begin(words, is_trigger=is_trigger))

    def _forget_asked(self) -> None:
        self._asked = 0
        self._answered.notify_all()

    # ── what it receives ────────────────────────────────────────────────────────────────────────

    def post(self, frames: list[bytes]) -> None:
        """Have the pump take frames in; any thread."""
        for each in frames:
            self._inbox.put(each)

    def show(self, step: Step) -> None:
        """Have the pump take a step in; the reading thread."""
        if isinstance(step, RequestStep):
            with self._lock:
                self._asked += 1
        self.post(self._frames.step(step))

    def wait_answered(self) -> None:
        """Wait until all that was asked has been answered, or nobody will; the reading thread.

        A connection that does not wait for answers itself may be at its end before.
        """
        with self._lock:
            self._answered.wait_for(lambda: self._asked <= 0 or self._is_closed)

    def end_turn(self, error: str) -> None:
        """Tell the pump that the turn is over, once; any thread.

        As with a harness, one that failed takes the link with it.
        """
        with self._lock:
            was_in_turn, self._in_turn = self._in_turn, False
        if was_in_turn:
            usage, stop_reason = Usage(), None
            try:
                usage, stop_reason = self._connection.usage, self._connection.stop_reason
            except Exception as failure:  # noqa: BLE001 - boundary: a connection of a user's; whoever waits for the turn is told
                error = error or self._host.keep(failure)
            self.post(self._frames.end(usage, error, stop_reason))
        if error:
            self._inbox.put(Closed(1000))

    def receive(self) -> bytes | Closed:
        return self._inbox.get()

    def receive_first(self, deadline: Deadline) -> bytes | Closed | None:
        with contextlib.suppress(queue.Empty):
            return self._inbox.get(timeout=deadline.remaining())
        return None

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def begin_close(self) -> None:
        self._close(1000)

    def abort(self) -> None:
        self._close(None)

    def _close(self, code: int | None) -> None:
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
            self._forget_asked()
        if not was_closed:
            self._inbox.put(Closed(code))

    def release(self) -> None:
        """Nothing: it holds nothing."""
