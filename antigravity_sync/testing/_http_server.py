"""A small HTTP/1.1 server on the loopback interface whose every wait ends when its client leaves.

The standard library's server cannot tell that a client went away while an answer is being held
back, needs up to half a second to stop, and does not join its threads. This one serves exactly what
a scripted model needs: requests with a body, answers in one piece, answers in flushed chunks,
answers that never come, and a `close()` after which no thread and no descriptor is left.

One thread accepts, one thread serves each connection. Connections are non-blocking, and a thread
that has to wait polls its socket together with the reading end of one server-wide socket pair.
Closing the writing end makes the reading end readable for everybody at once and for good: that is
the stop signal.
"""

from __future__ import annotations

import contextlib
import http
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from antigravity_sync.errors import UsageError
from antigravity_sync.testing._gates import ModelGate

_LOG = logging.getLogger("antigravity_sync.testing")

_READ_BYTES: Final = 65_536
_MAX_HEAD_BYTES: Final = 65_536
_CLOSE_GRACE: Final = 5.0
# Pause after a failed accept (descriptors used up), so that the loop does not spin until one is
# free.
_ACCEPT_PAUSE: Final = 0.05
# poll() has no limit on descriptor numbers as select() has; Windows has only the latter.
_Selector: Final[type[selectors.BaseSelector]] = getattr(
    selectors, "PollSelector", selectors.SelectSelector
)


class PeerGoneError(Exception):
    """The client closed the connection, or the server is closing; never leaves the server."""


class BadRequestError(Exception):
    """The bytes of the client are not an HTTP request; never leaves the server."""


@attrs.frozen
class HttpRequest:
    """One request as it arrived; header names are lower-case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


class HttpExchange:
    """One connection of a client: reads its requests, sends the answers, waits without losing it.

    Thread: only the thread that serves the connection, `abort` apart.
    """

    def __init__(self, connection: socket.socket, stop: socket.socket) -> None:
        self._connection = connection
        self._stop = stop
        self._inbox = bytearray()
        self._head = b""
        self._is_chunked = True
        self.is_over = False

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def read_request(self) -> HttpRequest:
        """Return the next request.

        Blocks: until it has arrived, the client leaves or the server closes.

        Raises:
            PeerGoneError: There is no next request.
            BadRequestError: What arrived is not HTTP.
        """
        lines = self._read_head().decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            raise BadRequestError("the request line is not METHOD TARGET HTTP/1.x")
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadRequestError("a header has no colon")
            headers[name.strip().lower()] = value.strip()
        wishes = headers.get("connection", "").lower()
        self._is_chunked = parts[2] != "HTTP/1.0"
        self.is_over = "close" in wishes or not self._is_chunked
        if headers.get("expect", "").lower() == "100-continue":
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return HttpRequest(parts[0], parts[1], headers, self._read_body(headers))

    def _read_head(self) -> bytes:
        while (end := self._inbox.find(b"\r\n\r\n")) < 0:
            if len(self._inbox) > _MAX_HEAD_BYTES:
                raise BadRequestError("the request head does not end")
            self._fill()
        return self._take(end + 4)[:-4]

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = bytearray()
            while size := self._number(self._read_line().partition(b";")[0], base=16):
                body += self._read_exactly(size)
                self._read_line()
            while self._read_line():
                pass
            return bytes(body)
        return self._read_exactly(
            self._number(headers.get("content-length", "0").encode(), base=10)
        )

    @staticmethod
    def _number(digits: bytes, *, base: int) -> int:
        try:
            number = int(digits, base)
        except ValueError:
            number = -1
        if number < 0:
            raise BadRequestError("a length is not a number")
        return number

    def _read_line(self) -> bytes:
        while (end := self._inbox.find(b"\r\n")) < 0:
            if len(self._inbox) > _MAX_HEAD_BYTES:
                raise BadRequestError("a line does not end")
            self._fill()
        return self._take(end + 2)[:-2]

    def _read_exactly(self, size: int) -> bytes:
        while len(self._inbox) < size:
            self._fill()
        return self._take(size)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._inbox[:size])
        del self._inbox[:size]
        return taken

    def _fill(self) -> None:
        while not self._receive():
            self._poll(None)

    def _receive(self) -> bool:
        try:
            received = self._connection.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        if not received:
            raise PeerGoneError
        self._inbox += received
        return True

    # ── waiting ─────────────────────────────────────────────────────────────────────────────────

    def pause(self, seconds: float | None) -> None:
        """Wait `seconds`, or for ever if `None`.

        Raises:
            PeerGoneError: The client left or the server closes; nothing else ends a wait for ever.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while self._poll_once(until, None):
            pass

    def pass_gate(self, gate: ModelGate) -> None:
        """Stand at the gate until it lets this connection through.

        Raises:
            PeerGoneError: The client left or the server closes; the place is given up.
        """
        woken, waker = socket.socketpair()
        with woken, waker:
            waker.setblocking(False)
            place = gate.enter(lambda: waker.send(b"!"))
            has_passed = False
            try:
                while not place.is_granted:
                    self._poll_once(None, woken)
                has_passed = True
            finally:
                # Before the pair is closed, so that no release writes to a descriptor of others.
                gate.leave(place, has_passed=has_passed)

    def _poll_once(self, until: float | None, woken: socket.socket | None) -> bool:
        """Return whether something happened before `until`; what the client sent is put by."""
        remaining = None if until is None else until - time.monotonic()
        if remaining is not None and remaining <= 0:
            return False
        ready = self._poll(remaining, woken)
        if self._connection in ready:
            if len(self._inbox) > _MAX_HEAD_BYTES:
                raise PeerGoneError
            self._receive()
        return bool(ready)

    def _poll(
        self,
        timeout: float | None,
        woken: socket.socket | None = None,
        events: int = selectors.EVENT_READ,
    ) -> set[object]:
        with _Selector() as selector:
            ready: set[object]
            try:
                selector.register(self._stop, selectors.EVENT_READ)
                selector.register(self._connection, events)
                if woken is not None:
                    selector.register(woken, selectors.EVENT_READ)
                ready = {key.fileobj for key, _ in selector.select(timeout)}
            except (OSError, ValueError):
                # `close()` ran out of patience and took the sockets away.
                raise PeerGoneError from None
        if self._stop in ready:
            raise PeerGoneError
        return ready

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def respond(
        self, status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        lines = {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
        self._send(self._render_head(status, lines) + body)

    def respond_short(self, body: bytes, content_type: str, *, missing: int) -> None:
        """Announce `missing` bytes more than there are, and leave after the last one."""
        lines = {"Content-Type": content_type, "Content-Length": str(len(body) + missing)}
        self._send(self._render_head(200, lines) + body)
        self.is_over = True

    def begin_stream(self, content_type: str) -> None:
        """Prepare an answer in chunks; its head goes out together with the first of them."""
        lines = {"Content-Type": content_type, "Cache-Control": "no-cache"}
        if self._is_chunked:
            lines["Transfer-Encoding"] = "chunked"
        self._head = self._render_head(200, lines)

    def send_chunk(self, chunk: bytes, *, last: bool = False) -> None:
        """Send one piece of the stream at once; the `last` one ends the answer."""
        framed = chunk
        if self._is_chunked:
            framed = b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunk else b""
            framed += b"0\r\n\r\n" if last else b""
        head, self._head = self._head, b""
        self._send(head + framed)

    def drop(self) -> None:
        """Leave after this request, whatever the client was promised."""
        if self._head:
            head, self._head = self._head, b""
            self._send(head)
        self.is_over = True

    def _render_head(self, status: int, headers: Mapping[str, str]) -> bytes:
        try:
            phrase = http.HTTPStatus(status).phrase
        except ValueError:
            phrase = "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if self.is_over:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _send(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            try:
                rest = rest[self._connection.send(rest) :]
            except BlockingIOError:
                self._poll(None, events=selectors.EVENT_WRITE)
            except OSError:
                raise PeerGoneError from None

    def abort(self) -> None:
        """Close the connection now. Any thread; the serving thread finds its client gone."""
        # shutdown() first: a forked child may hold a copy of the descriptor, and then close() alone
        # would leave the client waiting.
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class LoopbackServer:
    """Serve HTTP on 127.0.0.1, one thread per connection.

    Args:
        answer: Called for each request on the thread of its connection; it answers through the
            exchange and may raise `PeerGoneError` out of it.
    """

    def __init__(self, answer: Callable[[HttpRequest, HttpExchange], None]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._exchanges: dict[threading.Thread, HttpExchange] = {}
        self._accepting: threading.Thread | None = None
        self._is_closing = False
        self._pid = 0
        self.port = 0

    def start(self) -> None:
        """Listen on a free port.

        Raises:
            UsageError: It was started before; a server runs once.
        """
        if self.port or self._is_closing:
            raise UsageError("The server was started already; make a new one.")
        with contextlib.ExitStack() as undo:
            self._stop, self._stop_signal = socket.socketpair()
            undo.callback(self._stop.close)
            undo.callback(self._stop_signal.close)
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            undo.callback(self._listener.close)
            self._listener.setblocking(False)
            self._pid = os.getpid()
            self.port = self._listener.getsockname()[1]
            thread = threading.Thread(
                target=self._accept, name=f"agsync-{self.port}-accept", daemon=True
            )
            thread.start()
            self._accepting = thread
            undo.pop_all()

    def close(self, *, grace: float = _CLOSE_GRACE) -> None:
        """Drop every connection, end every thread and give the port back. Idempotent, any thread.

        Blocks: at most `grace` seconds, and only on an `answer` that is busy with something other
        than the exchange.
        """
        with self._lock:
            self._is_closing = True
        # The threads and connections of a forked child's copy are its parent's, which goes on.
        if self._accepting is None or os.getpid() != self._pid:
            return
        until = time.monotonic() + grace
        # shutdown() and not only close(): a forked child may hold copies of these descriptors.
        with contextlib.suppress(OSError):
            self._stop_signal.shutdown(socket.SHUT_RDWR)
        self._join(self._accepting, until)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            exchanges = dict(self._exchanges)
        for thread, exchange in exchanges.items():
            self._join(thread, until)
            if thread.is_alive() and thread is not threading.current_thread():
                _LOG.warning(
                    "%s is still busy with a reply function; its client is cut off", thread
                )
            exchange.abort()
        self._stop_signal.close()
        self._stop.close()

    @staticmethod
    def _join(thread: threading.Thread, until: float) -> None:
        # An `answer` may close its own server; it cannot wait for itself.
        if thread is not threading.current_thread():
            thread.join(max(0.0, until - time.monotonic()))

    def _accept(self) -> None:
        with _Selector() as selector:
            selector.register(self._stop, selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            while all(key.fileobj is not self._stop for key, _ in selector.select()):
                try:
                    connection, _ = self._listener.accept()
                except BlockingIOError:
                    continue
                except OSError as problem:
                    _LOG.warning("a client has to wait: %s", problem)
                    threading.Event().wait(_ACCEPT_PAUSE)
                    continue
                self._begin_serving(connection)

    def _begin_serving(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        # Fails on some systems if the client is gone already; its thread will find that out.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        exchange = HttpExchange(connection, self._stop)
        thread = threading.Thread(
            target=self._serve, args=(exchange,), name=f"agsync-{self.port}-reply", daemon=True
        )
        with self._lock:
            self._exchanges[thread] = exchange
        try:
            thread.start()
        except RuntimeError:
            # No thread to be had (limit reached, interpreter exiting): refuse the client.
            with self._lock:
                del self._exchanges[thread]
            exchange.abort()

    def _serve(self, exchange: HttpExchange) -> None:
        try:
            while not exchange.is_over:
                self._answer(exchange.read_request(), exchange)
        except PeerGoneError:
            _LOG.debug("a client left")
        except BadRequestError as problem:
            exchange.is_over = True
            with contextlib.suppress(PeerGoneError):
                exchange.respond(400, f"{problem}\n".encode(), "text/plain; charset=utf-8")
        finally:
            exchange.abort()
            with self._lock:
                del self._exchanges[threading.current_thread()]
