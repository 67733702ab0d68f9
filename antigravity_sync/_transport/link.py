"""One WebSocket to the harness. The only module that knows the WebSocket library.

Facts that shape it (STYLE section 1): the library's `close` can hang for ever while another thread
reads, so it is never called: we send a close frame, give the reader a grace, then shut down our own
socket, which frees reader and writer alike. Its proxy settings would capture loopback, so we open
the TCP connection ourselves. Its UTF-8 check costs more than all the rest, so it is off.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import websocket
from websocket import ABNF

from .._clock import Deadline
from .._wire.frames import Endpoint
from ..errors import StartTimeoutError
from . import forks, reach
from .channel import Closed, LinkDownError

_TRIES: Final = 5
_FIRST_PAUSE: Final = 0.1
_CLOSE_STATUS: Final = struct.Struct("!H")
_DONT_WAIT: Final[int] = getattr(socket, "MSG_DONTWAIT", 0)
_WAIT_ALL: Final[int] = getattr(socket, "MSG_WAITALL", 0)
#: Bytes to ask the system for at a time: a burst of small frames, or most of a large one.
_READ_AHEAD: Final = 64 * 1024
_PIECE: Final = 256 * 1024
#: Texts of answers up to this size do not pay for page faults; see `_prime_allocator`.
_PRIMER: Final = 1024 * 1024
#: First bytes of a frame that is a whole message of text, or of data.
_TEXT: Final = 0x80 | ABNF.OPCODE_TEXT
_WHOLE_MESSAGES: Final = (_TEXT, 0x80 | ABNF.OPCODE_BINARY)
#: Heads of masked frames that are longer than 125 bytes, and than 65,535.
_MASKED: Final = 0x80
_MEDIUM_HEAD: Final = struct.Struct("!BBH")
_LARGE_HEAD: Final = struct.Struct("!BBQ")


class _Socket(socket.socket):
    """A TCP socket that reads ahead and takes whole messages out of what it has read.

    The library asks for head, length and payload of a frame by a call each, 16 KiB at most. Every
    call gives the interpreter's lock away and has to win it back from the pump: so a burst of 500
    small frames cost two to three times what it costs one thread, and this way 1.4 times. Anything
    but a plain, whole message is left to the library, which reads through `recv` here.
    """

    def __init__(self, family: int = socket.AF_INET) -> None:
        self._ahead = b""
        self._at = 0
        # Last: an interrupt after it would drop an open socket.
        super().__init__(family, socket.SOCK_STREAM)

    def __del__(self) -> None:
        # Ctrl-C may come between any two lines, also between making a socket and keeping it, or in
        # the middle of closing it. Then this is the end of it, and nobody forgot anything. The
        # base's close, because an interrupted `__init__` left nothing that Python's could use.
        super(socket.socket, self).close()

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        if self._at == len(self._ahead):
            self._ahead, self._at = super().recv(_READ_AHEAD, flags), 0
        at = self._at
        self._at = min(at + size, len(self._ahead))
        return self._ahead[at : self._at]

    def take_message(self) -> bytes | None:
        """Return the next message's payload, `None` if it is for the library to read.

        Blocks until something comes.

        Raises:
            OSError: The connection broke in the middle of it.
        """
        if self._at == len(self._ahead):
            self._ahead, self._at = super().recv(_READ_AHEAD), 0
        ahead, at = self._ahead, self._at
        if len(ahead) - at < 10 or ahead[at] not in _WHOLE_MESSAGES:
            return None  # the shortest data frame of the harness is longer than the longest head
        length, start = ahead[at + 1], at + 2
        if length > 127:
            return None  # masked, which a server must not do
        if length > 125:
            start += 2 if length == 126 else 8
            length = int.from_bytes(ahead[at + 2 : start], "big")
        end = start + length
        if end <= len(ahead):
            self._at = end
            return ahead[start:end]
        self._ahead, self._at = b"", 0
        return self._complete(ahead[start:], length)

    def _complete(self, begun: bytes, length: int) -> bytes:
        """Return a payload of `length` bytes that begins with `begun`."""
        pieces, missing = [begun], length - len(begun)
        while missing:
            piece = super().recv(min(missing, _PIECE), _WAIT_ALL)
            if not piece:
                raise ConnectionError("the connection ended in the middle of a message")
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


def _masking_keys() -> Iterator[bytes]:
    """Yield fresh random keys of four bytes; asking the system for each would take 5 µs."""
    while True:
        pool = os.urandom(1024)
        for at in range(0, len(pool), 4):
            yield pool[at : at + 4]


def _text_frame(payload: bytes, key: bytes) -> bytes:
    """Return a whole message of text as a client sends it (RFC 6455, section 5.2)."""
    size = len(payload)
    if size <= 125:
        head = bytes((_TEXT, _MASKED | size))
    elif size <= 0xFFFF:
        head = _MEDIUM_HEAD.pack(_TEXT, _MASKED | 126, size)
    else:
        head = _LARGE_HEAD.pack(_TEXT, _MASKED | 127, size)
    mask = (key * (size // 4 + 1))[:size]
    number = int.from_bytes(payload, sys.byteorder) ^ int.from_bytes(mask, sys.byteorder)
    return b"".join((head, key, number.to_bytes(size, sys.byteorder)))


class Link:
    """An open WebSocket.

    Threads: one reader calls `receive`; any thread may `send`, under a lock; `begin_close` and
    `abort` are for any thread and never block for long.

    Attributes:
        epoch: Number of halts sent so far. An answer that was asked for in an older epoch is void,
            because the harness forgets its asks at a halt and a stale answer ends the session.
        redact: Takes secrets out of what the harness says of failures.
        headers: What the answer to the upgrade said, under names in lower case.
    """

    def __init__(self, ws: websocket.WebSocket, sock: _Socket) -> None:
        self._ws = ws
        self._sock = sock
        self._send_lock = threading.Lock()
        self._keys = _masking_keys()
        self._close_sent = False
        self.epoch = 0
        self.redact: Callable[[str], str] = str
        self.headers: Mapping[str, str] = dict(ws.getheaders() or {})
        forks.enrol(self)

    @classmethod
    def connect(cls, endpoint: Endpoint, deadline: Deadline) -> Link:
        """Connect to a harness, past any proxy.

        Tries five times, 100 ms apart and doubling: the port is announced just before it listens.
        Blocks until connected, refused, or the deadline passes.

        Raises:
            HandshakeError: The harness refuses the connection or the key.
            StartTimeoutError: The deadline passed.
        """
        pause, failure = _FIRST_PAUSE, ""
        for attempt in range(_TRIES):
            if attempt:
                threading.Event().wait(deadline.sooner(pause).remaining())
                pause *= 2
            if deadline.expired():
                break
            try:
                return cls._connect_once(endpoint, deadline)
            except websocket.WebSocketBadStatusException as error:
                if error.status_code == 401:
                    raise reach.key_refused(endpoint, attempt + 1) from error
                failure = f"HTTP {error.status_code}{reach.said_in(error.resp_body)}"
            except (websocket.WebSocketException, OSError, UnicodeError) as error:
                failure = str(error) or type(error).__name__
        if deadline.expired():
            raise StartTimeoutError(
                f"no WebSocket to {endpoint.address} in time ({failure or 'no answer'}); "
                "raise start_timeout or check the machine's load",
                stage="connect",
                timeout=None,
            )
        raise reach.unreachable(endpoint, _TRIES, failure)

    @staticmethod
    def _prime_allocator() -> None:
        """Free one large block, from which glibc learns to keep blocks up to that size.

        Each frame of an answer carries its whole text, so it is a bit larger than any block freed
        before, and glibc maps such blocks and unmaps them again: 185,000 page faults and a third of
        all CPU in a turn of 10,000 deltas. Elsewhere this does nothing.
        """
        bytes(_PRIMER)

    @classmethod
    def _connect_once(cls, endpoint: Endpoint, deadline: Deadline) -> Link:
        cls._prime_allocator()
        failure: OSError | None = None
        for family, address in reach.addresses(endpoint):
            sock: _Socket | None = None
            try:
                sock = _Socket(family)
                sock.settimeout(deadline.remaining())
                sock.connect(address)
                return cls._upgrade(sock, endpoint)
            except OSError as error:
                failure = error  # a name may have another address, where it listens
                if sock is not None:
                    sock.close()
            except BaseException:
                if sock is not None:
                    sock.close()
                raise
        raise failure or OSError(f"{endpoint.host!r} has no address")

    @classmethod
    def _upgrade(cls, sock: _Socket, endpoint: Endpoint) -> Link:
        """Make a WebSocket of a connected socket, which the caller closes if that fails."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not endpoint.is_ours:
            reach.watch_peer(sock)
        ws = websocket.WebSocket(skip_utf8_validation=True, enable_multithread=True)
        ws.connect(  # type: ignore[no-untyped-call]
            f"ws://{endpoint.address}/",
            socket=sock,
            header={"x-goog-api-key": endpoint.key},
            suppress_origin=True,
            redirect_limit=0,  # whoever is behind it must not be given the key
        )
        # From here on waits are ended by shutting the socket down, never by a timeout: one that
        # fires in the middle of a frame leaves the stream unusable (STYLE F4).
        sock.settimeout(None)
        return cls(ws, sock)

    # ── traffic ─────────────────────────────────────────────────────────────────────────────────

    def send(self, text: str, *, epoch: int | None = None) -> bool:
        """Send one text frame.

        Args:
            text: The frame.
            epoch: For answers, the `epoch` in which they were asked for.

        Returns:
            `False` if the answer is void by now and was not sent.

        Blocks while the peer does not read; `abort` from another thread ends the wait.

        Raises:
            LinkDownError: The connection is down.
        """
        with self._send_lock:
            if epoch is not None and epoch != self.epoch:
                return False
            self._write(text)
            return True

    def send_halt(self, text: str) -> None:
        """Send a halt and make every answer that is still on its way void.

        Raises:
            LinkDownError: The connection is down.
        """
        with self._send_lock:
            self.epoch += 1
            self._write(text)

    def try_send_halt(self, text: str) -> bool:
        """Send a halt unless somebody is sending right now; safe in a signal handler.

        A handler may have interrupted the very thread that holds the lock, so it must not wait.
        """
        if not self._send_lock.acquire(blocking=False):
            return False
        try:
            self.epoch += 1
            self._write(text)
        except LinkDownError:
            return False
        finally:
            self._send_lock.release()
        return True

    def _write(self, text: str) -> None:
        if self._close_sent:
            raise LinkDownError("closing")
        try:
            # Not by the library, which takes longer: a tool call waits for two of these.
            frame = _text_frame(text.encode(), next(self._keys))
            with self._ws.lock:  # or a pong of its own would come amid a message of ours
                self._sock.sendall(frame)
        except OSError as error:
            raise LinkDownError(str(error)) from error

    def receive(self) -> bytes | Closed:
        """Return the next message's payload, or `Closed`, after which nothing more comes.

        Blocks until one of the two; `abort` from another thread ends the wait.
        """
        try:
            while True:
                message = self._sock.take_message()
                if message is not None:
                    return message
                opcode, data = self._ws.recv_data()
                if opcode == ABNF.OPCODE_CLOSE:
                    return Closed.read(data)
                if opcode in (ABNF.OPCODE_TEXT, ABNF.OPCODE_BINARY):
                    return bytes(data)
        except (websocket.WebSocketException, OSError, ValueError):
            return Closed()

    def receive_first(self, deadline: Deadline) -> bytes | Closed | None:
        """Return the next payload or `Closed`; `None` when the deadline passes first.

        Only before the reader runs: a socket timeout is used, which must not meet a sender. After
        `None` the link is good for nothing but `abort`.
        """
        self._sock.settimeout(deadline.remaining())
        try:
            opcode, data = self._ws.recv_data()
        except (websocket.WebSocketTimeoutException, TimeoutError):
            return None
        except (websocket.WebSocketException, OSError):
            return Closed()
        finally:
            with contextlib.suppress(OSError):
                self._sock.settimeout(None)
        if opcode == ABNF.OPCODE_CLOSE:
            return Closed.read(data)
        return bytes(data)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def begin_close(self) -> None:
        """Send a close frame, once; the reader sees the answer. Never waits for anything."""
        if not self._send_lock.acquire(blocking=False):
            self.abort()  # a writer is stuck in there, or about to be
            return
        try:
            if self._close_sent:
                return
            self._close_sent = True
            # Straight to the socket and without waiting: with a peer that does not read, the
            # library's own call would block like any other write.
            frame = ABNF.create_frame(_CLOSE_STATUS.pack(1000), ABNF.OPCODE_CLOSE)
            self._sock.send(frame.format(), _DONT_WAIT)
        except OSError:
            self.abort()
        finally:
            self._send_lock.release()

    def abort(self) -> None:
        """Shut the socket down: reader and writers return at once."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close the descriptor; only when no thread uses the link any more."""
        self._ws.sock = None
        self._sock.close()

    def give_up(self) -> None:
        """In a forked child: close our copy of the socket; the parent's connection stays."""
        self._sock.close()
