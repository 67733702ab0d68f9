"""The wiretap: what goes over the wire, shown to inspectors on the pump's thread.

Any thread notes what it sends or hears. Who owns the tap shows it: the thread that starts the
harness until the pump runs, the pump from then on, and whoever closes at the end. So inspectors run
on one thread at a time and hold nobody up but the pump. With no inspector the pump has no tap.
"""

from __future__ import annotations

import logging
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final, TypedDict

import attrs

from .. import _logs
from .._clock import Clock
from .._transport import forks
from .._transport.process import HarnessProcess
from .._wire.glog import severity_of
from .._wire.inspect import (
    HarnessSpawn,
    HarnessStderr,
    Kind,
    WireEvent,
    WireFilter,
    WsReceive,
    WsSend,
    is_object,
    message_of,
)
from .._wire.inspectors import StderrPrinter
from .._wire.recorder import JsonlRecorder, dump
from .._wire.redact import Redactor
from .._wire.shorten import Shortener
from . import roles
from .plan import Plan

_log: Final = logging.getLogger("antigravity_sync.wire")
_harness_log: Final = logging.getLogger("antigravity_sync.harness")

_LEVELS: Final = {
    "INFO": logging.INFO,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "CRITICAL": logging.CRITICAL,
}
#: How many frames of a run are written at a time.
_BATCH: Final = 256
#: Frames up to this many bytes are looked at when they are written: many at once cost half.
_SMALL: Final = 4096
#: How many seconds recordings wait for more before they are handed to the system.
_REST: Final = 0.05
#: A longer line of stderr may quote what was sent; above DEBUG only its start is logged.
_MAX_LOGGED: Final = 300

Inspector = Callable[[WireEvent], object]
Wake = Callable[[Callable[[], None]], None]


@attrs.frozen
class _Note:
    """Something that is yet to be shown."""

    kind: Kind
    time: float
    data: str | bytes


class _About(TypedDict):
    """What every event tells."""

    correlation_id: str
    time: float
    pid: int
    conversation_id: str


class Wiretap:
    """The tap of one session.

    Attributes:
        label: Prefix of the threads' names of its session.
        redactor: What is secret in the session.
        is_on: Whether anybody looks.
        rest_at: When the owner should call `rest`, `None` for no need; on the clock's scale.
    """

    def __init__(
        self, plan: Plan, label: str, clock: Clock, redactor: Redactor | None = None
    ) -> None:
        self.redactor = _redactor(plan)
        if redactor is not None:  # what is secret to one conversation, its neighbours must not tell
            redactor.take_over(self.redactor)
            self.redactor = redactor
        self.label = label
        self._inspectors = _inspectors(plan)
        self.is_on = bool(self._inspectors)
        self._correlation_id = secrets.token_hex(8)
        self._version = plan.version or ""
        self._pid = 0
        self._conversation_id = ""
        self._notes: queue.SimpleQueue[_Note] = queue.SimpleQueue()
        self._owner = threading.current_thread()
        self._wake: Wake = _no_wake
        self._shortener = Shortener()
        self._batch: list[tuple[float, bytes, bytes]] = []
        self._unread: list[tuple[float, bytes]] = []
        self._is_fast = all(type(each) is JsonlRecorder for each in self._inspectors)
        self._opened: list[JsonlRecorder] = []
        self._clock = clock
        self.rest_at: float | None = None
        self._is_over = False

    @classmethod
    def for_log(cls, plan: Plan, label: str, clock: Clock) -> Wiretap:
        """Return one that only logs: inspectors see a shared harness through its conversations."""
        tap = cls(plan, label, clock)
        tap._inspectors, tap.is_on = (), False
        return tap

    # ── the session's course ────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Open what records.

        Raises:
            ConfigError: A recording cannot be written.
        """
        forks.enrol(self)
        for inspector in self._inspectors:
            if isinstance(inspector, JsonlRecorder):
                inspector.open()
                self._opened.append(inspector)

    def make_process(self) -> HarnessProcess:
        """Return a process, not started yet, whose every line on stderr is heard."""
        process = HarnessProcess(self.label)
        process.on_words = self.heard
        process.stderr.redact = self.redactor.text
        return process

    def spawned(self, path: str, pid: int) -> None:
        """Take in that the harness runs."""
        self._pid = pid
        self._note("HarnessSpawn", path)

    def opened(self, conversation_id: str) -> None:
        """Take in which conversation is open."""
        self._conversation_id = conversation_id
        _logs.set_conversation(self.label, conversation_id)

    def hand_over(self, pump: threading.Thread, wake: Wake) -> None:
        """Make the pump the owner.

        Args:
            pump: Its thread.
            wake: Has the pump call a function.
        """
        self._owner, self._wake = pump, wake

    def finish(self) -> None:
        """Show what is left and close what records; idempotent."""
        self._owner, self._wake = threading.current_thread(), _no_wake
        self._deliver()
        self.rest()
        self._is_over = True
        _logs.forget_conversation(self.label)
        opened, self._opened = self._opened, []
        for recorder in opened:
            try:
                recorder.close()
            except OSError as error:
                _log.warning("the end of %r could not be written: %s", recorder, error)

    def give_up(self) -> None:
        """In a forked child: let go of the recordings."""
        self._is_over = True
        for recorder in self._opened:
            recorder.give_up()

    # ── traffic ─────────────────────────────────────────────────────────────────────────────────

    def sent_first(self, text: str) -> None:
        """Take in the first message of a connection, which holds the credentials; any thread."""
        text = self.redactor.message(text)
        self._note("WsSend", text)

    def sent(self, text: str) -> None:
        """Take in a frame that was sent; any thread, signal handlers too."""
        self._note("WsSend", text)

    def answered(self, data: bytes) -> None:
        """Take in the answer to a connection's first message; any thread."""
        self._note("WsReceive", data)

    def received(self, data: bytes) -> None:
        """Take in a frame that has come; the owner."""
        if self._shortener.run is None or not self._is_fast or not self._notes.empty():
            self._note("WsReceive", data)
            return
        self._unread.append((time.time(), data))
        if self.rest_at is None:
            self.rest_at = self._clock.now() + _REST
        if len(data) > _SMALL:
            self._take_unread()
        if len(self._unread) + len(self._batch) >= _BATCH:
            self._end_batch()

    def heard(self, line: str) -> None:
        """Take in a line of stderr; any thread."""
        level = _LEVELS[severity_of(line)]
        if _harness_log.isEnabledFor(level):
            about = {"conversation_id": self._conversation_id}
            text = self.redactor.text(line)
            if not _harness_log.isEnabledFor(logging.DEBUG) and len(text) > _MAX_LOGGED:
                text = f"{text[:_MAX_LOGGED]}…"
            _harness_log.log(level, "%s", text, extra=about)
        self._note("HarnessStderr", line)

    def overheard(self, line: str) -> None:
        """Take in a line of a shared harness's stderr, which its own tap has logged; any thread."""
        self._note("HarnessStderr", line)

    def rest(self) -> None:
        """Hand recordings to the system, because there is nothing else to do; the owner."""
        self.rest_at = None
        self._end_batch()
        for recorder in self._opened:
            try:
                recorder.flush()
            except OSError:
                self._drop(recorder)

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def _note(self, kind: Kind, data: str | bytes) -> None:
        if not self.is_on:
            return
        self._notes.put(_Note(kind, time.time(), data))
        if threading.current_thread() is self._owner:
            self._deliver()
        else:
            self._wake(self._deliver)

    def _deliver(self) -> None:
        while threading.current_thread() is self._owner and not self._is_over:
            try:
                note = self._notes.get_nowait()
            except queue.Empty:
                return
            self._show(note)

    def _show(self, note: _Note) -> None:
        self._end_batch()
        if self.rest_at is None:
            self.rest_at = self._clock.now() + _REST
        line: bytes | None = None
        event: WireEvent | None = None
        for inspector in self._inspectors:
            try:
                if type(inspector) is JsonlRecorder:
                    line = line or self._line(note)
                    inspector.write(line)
                else:
                    event = event or self._event(note)
                    with roles.playing(frozenset({self.label})):
                        inspector(event)
            except Exception:  # noqa: BLE001 - boundary: whoever looks must not break what it looks at
                self._drop(inspector)

    def _take_unread(self) -> None:
        """See which of the frames that have come are of the run; show those that are not."""
        unread, self._unread = self._unread, []
        for when, data in unread:
            run = self._shortener.run
            taken = None if run is None else run.take(data)
            if taken is None:
                self._show(_Note("WsReceive", when, data))
            else:
                self._batch.append((when, *taken))

    def _end_batch(self) -> None:
        """Write the frames of a run that have come since the last time."""
        if self._unread:
            self._take_unread()
        run, batch = self._shortener.run, self._batch
        if run is None or not batch:
            return
        self._batch = []
        joined = b"".join([delta for _, delta, _ in batch])
        is_clean = self._is_clean(run.seam(joined))
        head: dict[str, object] = {"kind": "WsReceive", **self._about(batch[0][0])}
        del head["time"]
        start = dump({**head, "left_out": run.left_out})[:-1]
        if is_clean:
            lines = run.lines(start, batch)
        else:
            # The pieces complete a credential: the last frame tells the text, without it.
            when, _, tail = batch[-1]
            lines = run.lines(start, [(at, b"", end) for at, _, end in batch[:-1]])
            text = self.redactor.text(run.whole(b"", tail).decode("utf-8", "replace"))
            lines.append(dump({**head, "time": when, "payload": message_of(text)}))
        self._write(b"\n".join(lines))

    def _write(self, line: bytes) -> None:
        for recorder in self._opened:
            if recorder in self._inspectors:
                try:
                    recorder.write(line)
                except OSError:
                    self._drop(recorder)

    def _drop(self, inspector: Inspector) -> None:
        _log.exception("the wire inspector %r failed and is switched off", inspector)
        self._inspectors = tuple(each for each in self._inspectors if each is not inspector)

    def _line(self, note: _Note) -> bytes:
        if note.kind != "WsReceive":
            return dump(self._event(note).to_dict())
        assert isinstance(note.data, bytes)
        short, left_out = self._shortener.shorten(note.data, self._is_clean)
        text = self.redactor.text(short.decode("utf-8", "replace"))
        head: dict[str, object] = {"kind": note.kind, **self._about(note.time)}
        if left_out:
            head["left_out"] = left_out
        if "\n" in text or not is_object(text):
            return dump({**head, "payload": message_of(text)})
        return b'%s,"payload":%s}' % (dump(head)[:-1], text.encode("utf-8", "replace"))

    def _about(self, when: float) -> _About:
        return {
            "correlation_id": self._correlation_id,
            "time": when,
            "pid": self._pid,
            "conversation_id": self._conversation_id,
        }

    def _is_clean(self, text: str) -> bool:
        return self.redactor.text(text) == text

    def _event(self, note: _Note) -> WireEvent:
        data = note.data if isinstance(note.data, str) else note.data.decode("utf-8", "replace")
        about = self._about(note.time)
        match note.kind:
            case "HarnessSpawn":
                return HarnessSpawn(path=data, version=self._version, **about)
            case "HarnessStderr":
                line = self.redactor.text(data)
                return HarnessStderr(line=line, severity=severity_of(line), **about)
            case "WsSend":
                return WsSend(payload=self.redactor.text(data), **about)
            case "WsReceive":
                return WsReceive(payload=self.redactor.text(data), **about)


def _inspectors(plan: Plan) -> tuple[Inspector, ...]:
    loud = os.environ.get("LOUD_WIRE")
    wanted = None if loud is None else WireFilter.parse(loud)
    printers = (StderrPrinter(wanted),) if wanted else ()
    return (*plan.config.wire_inspectors, *printers)


def _redactor(plan: Plan) -> Redactor:
    """Return what knows this agent's secrets; those of the first message are learnt from it."""
    config = plan.config
    changes = {name: content for name, content in config.env.items() if content is not None}
    redactor = Redactor(
        (plan.key, *(content for content in changes.values() if not content.startswith("/")))
    )
    redactor.add_environment({**os.environ, **plan.environ, **changes})
    return redactor


def _no_wake(_do: Callable[[], None]) -> None:
    """Nobody to wake: the owner shows what has come with its own next note."""
