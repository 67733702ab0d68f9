"""The pump: the one thread that owns the session, and the reader that feeds it.

The pump takes one item from the mailbox, decodes it, hands it to the session and carries out what
the session answers. It blocks on the mailbox and on user code it calls (policies, hooks), on
nothing else. A reader blocks on its socket and on nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from .. import _messages as m
from .._clock import Clock, Deadline
from .._core.actions import (
    Action,
    CloseLink,
    Decide,
    Emit,
    EndTurn,
    Failure,
    FailureKind,
    Lose,
    Note,
    Send,
    TurnSent,
    Withdraw,
)
from .._core.asks import AskKey
from .._core.inputs import (
    Attached,
    Decided,
    Input,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from .._core.phases import Phase
from .._core.session import Session
from .._core.state import State
from .._transport.channel import Channel, Closed, LinkDownError
from .._transport.process import start_thread
from .._wire import codec
from .._wire.dialect import Dialect
from .._wire.encode import encode
from .._wire.redact import hide_secrets
from ..events import Compacted, ToolAction
from ..responses import ChatResponse
from .board import Board
from .live_turn import TurnEnd
from .mailbox import Attach, Call, Close, Frame, Mailbox, Stop
from .respond import Responder
from .wiretap import Wiretap

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: Seconds for the close after an overflow.
_OVERFLOW_CLOSE: Final = 10.0
#: When the reader rests: after how many bytes, above how many unread ones, and for how long.
_REST_EVERY: Final = 256 * 1024
_MUCH: Final = 1024 * 1024
_REST_PER_BYTE: Final = 0.5e-9
_LONGEST_REST: Final = 0.005


OnFrame = Callable[[m.PeerFrame, State], bool]


class Pump:
    """Owner of the session.

    Attributes:
        thread: Its thread; the engine starts and joins it.
        link: The connection in use, `None` while detached. Written by the pump alone.
        reader: The thread that reads it.
        has_torn_off: Whether a connection had to be cut because nothing came of asking.
        tap: What is told of all traffic, `None` if nobody looks; set before the thread starts.
        on_frame: Told of each frame before the session is; `False` says that too much is unread.
    """

    def __init__(
        self,
        session: Session,
        mailbox: Mailbox,
        board: Board,
        clock: Clock,
        dialect: Dialect,
        responder: Responder,
        label: str,
    ) -> None:
        self._session = session
        self._mailbox = mailbox
        self._board = board
        self._clock = clock
        self._dialect = dialect
        self._responder = responder
        responder.bind(self._take_reply)
        self._label = label
        self._epochs: dict[AskKey, int] = {}
        self._epoch = 0
        self._detached = threading.Event()
        self._on_close: Callable[[float], None] = _no_close
        self.link: Channel | None = None
        self._redact: Callable[[str], str] = str
        self.reader: threading.Thread | None = None
        self.tap: Wiretap | None = None
        self.on_frame: OnFrame | None = None
        self.has_torn_off = False
        self._has_failed = False
        self.thread = threading.Thread(target=self._run, name=f"{label}-pump", daemon=True)

    def on_close(self, close: Callable[[float], None]) -> None:
        """Set what a posted `Close` runs, on the pump's thread, with its timeout in seconds."""
        self._on_close = close

    # ── the loop ────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        try:
            while self._turn_over():
                pass
        except BaseException as error:  # noqa: BLE001 - boundary: a defect here must wake every waiter, not hang
            _log.exception("the pump failed; the session is lost")
            why = Failure(FailureKind.LOST, f"internal error: {error!r}")
            self._has_failed = True
            self.release_link()
            self._board.declare_lost(why)
            # An agent that is dropped now still needs somebody to close its engine.
            while self._wait_for_end():
                pass

    def _wait_for_end(self) -> bool:
        match self._mailbox.take(None):
            case Stop():
                self.drop_unattached()
                return False
            case Close(timeout=timeout):
                self._on_close(timeout)
            case Attach(link=link):
                link.abort()
                link.release()
            case _:
                pass
        return True

    def _turn_over(self) -> bool:
        """Handle one item; return `False` when it was the last."""
        tap = self.tap
        due = _sooner(self._session.next_timer(), self._responder.tools.next_due())
        if tap is not None:
            due = _sooner(due, tap.rest_at)
        item = self._mailbox.take(None if due is None else max(0.0, due - self._clock.now()))
        self._responder.tools.expire()  # here, because a flood of frames leaves no quiet moment
        match item:
            case Stop():
                self.release_link()
                self.drop_unattached()
                return False
            case Close(timeout=timeout):
                self._on_close(timeout)
                return True
            case None:
                if tap is not None:
                    tap.rest()
                self._feed(Tick())
            case Frame(data=data, epoch=epoch):
                self._epoch = epoch
                if tap is not None:
                    tap.received(data)
                for frame in codec.decode(data):
                    hide_secrets(frame, self._redact)
                    if self.on_frame is not None and not self.on_frame(frame, self._session.state):
                        self._overflow()
                    self._feed(frame)
            case Attach(link=link, happened=happened):
                self._attach(link, happened)
            case LinkClosed():
                self.release_link()
                self._feed(item)
            case Call(do=do):
                do()
            case StartTurn():
                self._start_turn(item)
            case Decided():
                self._take_reply(item)
            case _:
                self._feed(item)
        return True

    def _start_turn(self, happened: StartTurn) -> None:
        """Send a prompt that the pre-turn hooks let pass."""
        # Harnesses with such a hook do not call it for a trigger either.
        prompt = m.prompt_text(happened.parts)
        denied = None if happened.trigger else self._responder.pre_turn(prompt)
        if denied is None:
            self._feed(happened)
            return
        response = ChatResponse(conversation_id=self._session.state.conversation_id)
        failure = Failure(FailureKind.DENIED, denied.reason)
        self._board.end_turn(happened.turn_id, TurnEnd(response, failure))

    def _take_reply(self, happened: Input) -> None:
        if isinstance(happened, Decided):
            happened = self._responder.finished(happened)
        self._feed(happened)

    def _feed(self, happened: Input) -> None:
        assert threading.current_thread() is self.thread
        phase = self._session.phase
        actions = self._session.handle(happened, self._clock.now())
        if self._session.phase is Phase.CLOSED:
            # The halt goes first: whoever waits for this phase closes the connection next.
            while actions and isinstance(actions[0], Send):
                self._perform(actions.pop(0))
        if self._session.phase is not phase or type(happened) in _PUBLISHED:
            # What woke up must find the reason too, which is among the actions yet to be taken.
            loss = next((act.failure for act in actions if type(act) is Lose), None)
            self._board.publish(self._session, loss)
        for action in actions:
            self._perform(action)

    def _perform(self, action: Action) -> None:
        match action:
            case Emit(turn_id=turn_id, event=event):
                live = self._board.live
                if live is not None and live.turn_id == turn_id and not live.put(event):
                    self._overflow()
                if type(event) in _WATCHED:
                    self._responder.watch_event(event)
            case Send(message=message, ask=ask):
                self._send(message, ask)
            case TurnSent(turn_id=turn_id):
                live = self._board.live
                if live is not None and live.turn_id == turn_id:
                    live.mark_sent()
            case EndTurn(turn_id=turn_id, response=response, failure=failure, answer=answer):
                self._board.publish(self._session)
                if failure is None:
                    response = self._responder.after_turn(response)
                self._board.end_turn(turn_id, TurnEnd(response, failure, answer))
            case Decide(ask=ask):
                self._epochs[ask.key] = self._epoch
                if self.tap is not None:
                    self.tap.rest()  # who decides may take long, and be all that is ever heard
                self._responder.respond(ask)
            case Withdraw(keys=keys):
                self._responder.tools.withdraw(keys)
            case CloseLink(why=why, is_forced=is_forced):
                _log.debug("%s: closing the connection: %s", self._label, why)
                self.close_link(is_forced=is_forced)
            case Lose(failure=failure):
                self._board.declare_lost(failure)
                self._responder.tools.cancel_all()
            case Note(text=text, is_warning=is_warning):
                _log.log(logging.WARNING if is_warning else logging.DEBUG, "%s", text)

    def _overflow(self) -> None:
        why = Failure(FailureKind.LOST, "backlog")
        self._board.declare_lost(why)
        self._mailbox.post(Close(_OVERFLOW_CLOSE))

    # ── the connection ──────────────────────────────────────────────────────────────────────────

    def _attach(self, link: Channel, happened: Input) -> None:
        self.link = link
        self._redact = link.redact
        self._detached.clear()
        self._epochs.clear()
        self._feed(happened)
        if isinstance(happened, Attached):
            self._responder.session_started(self._session.state.conversation_id)
        reader = threading.Thread(
            target=_read,
            args=(link, self._mailbox, self._overflow),
            name=f"{self._label}-reader",
            daemon=True,
        )
        start_thread(reader)
        self.reader = reader

    def _send(self, message: m.ClientMessage, ask: AskKey | None) -> None:
        link = self.link
        if link is None:
            return
        text = encode(message, self._dialect)
        if self.tap is not None:
            self.tap.sent(text)
        try:
            if isinstance(message, m.Halt):
                link.send_halt(text)
            elif ask is None:
                link.send(text)
            elif not link.send(text, epoch=self._epochs.pop(ask, self._epoch)):
                _log.debug("%s: an answer was overtaken by a halt and dropped", self._label)
        except LinkDownError as error:
            # The reader sees the same loss and posts it; that is where it is dealt with.
            _log.debug("%s: not sent: %s", self._label, error)

    def close_link(self, *, is_forced: bool) -> None:
        """Start closing the connection; any thread. The reader posts when it is closed."""
        link = self.link
        if link is not None:
            if is_forced:
                self.has_torn_off = True
                link.abort()
            else:
                link.begin_close()

    def wait_detached(self, deadline: Deadline) -> bool:
        """Wait until the connection has been given back; any thread."""
        return self._detached.wait(deadline.remaining())

    def shut_down_here(self, deadline: Deadline) -> None:
        """End the session and its connection from the pump's own thread."""
        if not self._has_failed:
            self._feed(Shutdown())
        self.close_link(is_forced=False)
        if self.reader is not None:
            self.reader.join(deadline.remaining())
        self.release_link()
        self._mailbox.post(Stop())

    def drop_unattached(self) -> None:
        """Release connections that came too late; when the pump takes nothing any more."""
        while (item := self._mailbox.take(0.0)) is not None:
            if isinstance(item, Attach):
                item.link.abort()
                item.link.release()

    def release_link(self) -> None:
        """Give the connection back: the pump's thread, or any other once that has ended."""
        link, self.link = self.link, None
        reader, self.reader = self.reader, None
        if link is not None:
            link.abort()  # frees the reader, if it has not posted its last already
            if reader is not None:
                reader.join()
            link.release()
        self._detached.set()


def _read(link: Channel, mailbox: Mailbox, on_overflow: Callable[[], None]) -> None:
    """Post what comes until the connection is closed.

    A reader never waits for the pump, but it may not starve it either: each of its short system
    calls wins the interpreter's lock back before the pump has woken up, and a flood piled up 170 MB
    that way, most of it cumulative text that the pump throws away. So while much is unread it
    rests after every so many bytes, for half of what the pump needs for them; 5 ms at the most,
    because a pump that runs user code takes nothing however long it is waited for.
    """
    since_rest = 0
    while True:
        received = link.receive()
        if isinstance(received, Closed):
            mailbox.post(LinkClosed(received.code))
            return
        if not mailbox.post_frame(received, link.epoch):
            on_overflow()
            link.abort()
        since_rest += len(received)
        if since_rest > _REST_EVERY:
            since_rest = 0
            unread = mailbox.unread
            if unread > _MUCH:
                time.sleep(min(unread * _REST_PER_BYTE, _LONGEST_REST))


def _sooner(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _no_close(_timeout: float) -> None:
    """Nobody has said what closing means."""


#: Events that hooks may want to hear of.
_WATCHED: Final = frozenset({Compacted, ToolAction})
#: Inputs after which the published numbers may have changed though the phase has not.
_PUBLISHED: Final = frozenset({m.UsageFrame})
