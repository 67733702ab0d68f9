"""What passes clients on to a harness: who is let in, and that bytes and ends go both ways."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import attrs
import pytest

from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._transport.relay import _MAX_ASKING, Relay, Target
from antigravity_sync._transport.upgrade import MAX_HEAD, close_frame
from antigravity_sync._wire.frames import Endpoint
from antigravity_sync.errors import HarnessExitedError
from tests.gates import CEILING, Gate, Task, wait_until

TOKEN = "a-token-of-many-letters"
KEY = "the-harness-s-own-key"
REQUEST = (
    "GET / HTTP/1.1\r\nHost: x:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: abc\r\nX-Goog-Api-Key: {TOKEN}\r\n\r\n"
)


@attrs.define(eq=False)
class Peer:
    """In place of a harness: answers the upgrade, and does with the rest what a test says.

    Attributes:
        serve: Called with each connection after its upgrade.
        requests: Heads that have come.
    """

    listener: socket.socket
    serve: Callable[[socket.socket], None]
    requests: list[str] = attrs.field(factory=list)
    reason: str = ""
    failure: Exception | None = None
    _threads: list[threading.Thread] = attrs.field(factory=list)

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                thread = threading.Thread(target=self._answer, args=(connection,), daemon=True)
                thread.start()
                self._threads.append(thread)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(CEILING)
        with connection, contextlib.suppress(OSError):
            head = read_head(connection)
            self.requests.append(head)
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
            self.serve(connection)

    def target(self) -> Target:
        if self.failure is not None:
            raise self.failure
        port = self.listener.getsockname()[1]
        return Target(Endpoint(port, KEY), (("X-More", "of it"),), lambda: self.reason)

    def end(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(CEILING)


def read_head(sock: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(1)
        if not piece:
            break
        data += piece
    return data.decode("latin-1")


def read_all(sock: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := sock.recv(65_536):
            data += piece
    return data


def echo(connection: socket.socket) -> None:
    while piece := connection.recv(65_536):
        connection.sendall(piece)


@attrs.frozen
class Served:
    """A relay in front of a peer."""

    relay: Relay
    peer: Peer
    address: tuple[str, int]

    def connect(self) -> socket.socket:
        sock = socket.create_connection(self.address)
        sock.settimeout(CEILING)
        return sock

    def ask(self, request: str) -> str:
        """Return the whole answer to a request."""
        with self.connect() as sock:
            sock.sendall(request.encode("latin-1"))
            return read_all(sock).decode()

    def close(self) -> tuple[str, ...]:
        return self.relay.close(Deadline.after(MonotonicClock(), CEILING))


@contextlib.contextmanager
def served(serve: Callable[[socket.socket], None] = echo, limit: int = 8) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = Peer(listener, serve)
        accepting = threading.Thread(target=peer.run, daemon=True)
        accepting.start()
        front = socket.create_server(("127.0.0.1", 0))
        relay = Relay(front, TOKEN, peer.target, "agsync-test", limit, MonotonicClock())
        one = Served(relay, peer, front.getsockname())
        relay.start()
        try:
            yield one
        finally:
            assert one.close() == ()
            peer.end()
            accepting.join(CEILING)


@contextlib.contextmanager
def joined(one: Served) -> Iterator[socket.socket]:
    with one.connect() as sock:
        sock.sendall(REQUEST.encode())
        assert read_head(sock).startswith("HTTP/1.1 101 ")
        yield sock


def test_client_when_it_has_the_token_then_bytes_go_both_ways():
    """The harness gets its own key and never the token; the client is told what is to be told."""
    with served() as one, one.connect() as sock:
        sock.sendall(REQUEST.encode() + b"early")
        answer = read_head(sock)
        assert answer.startswith("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n")
        assert "\r\nX-More: of it\r\n" in answer
        payload = os.urandom(3_000_000)
        sending = Task(lambda: sock.sendall(payload))
        got = b""
        while len(got) < 5 + len(payload):
            got += sock.recv(65_536)
        sending.result()
        assert got == b"early" + payload
    (head,) = one.peer.requests
    assert head.startswith("GET / HTTP/1.1\r\nHost: 127.0.0.1:")
    assert f"\r\nx-goog-api-key: {KEY}\r\n" in head
    assert TOKEN not in head


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (("X-Goog-Api-Key: a-token", "X-Goog-Api-Key: b-token"), 401),
        ((f"X-Goog-Api-Key: {TOKEN}\r\n", ""), 401),
        (("Host: x:1", "Host: x:1\r\nOrigin: http://example.com"), 403),
        (("Upgrade: websocket", "Upgrade: h2c"), 400),
        (("GET /", "POST /"), 400),
        (("Host: x:1", "Host x"), 400),
        (("Host: x:1", f"Host: {'x' * 2 * MAX_HEAD}"), 400),
    ],
)
def test_client_when_it_has_no_business_here_then_is_told_so_and_reaches_nothing(change, status):
    """Nor does it hear the token, or the harness's key."""
    with served() as one:
        answer = one.ask(REQUEST.replace(*change))
        assert answer.startswith(f"HTTP/1.1 {status} ")
        assert TOKEN not in answer
        assert one.peer.requests == []
        wait_until(lambda: one.relay.connections == 0, "the end of the connection")


def test_client_when_it_says_nothing_then_others_are_served():
    """They take no place, and if they are very many the one that has waited longest goes."""
    with served(limit=1) as one, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(one.connect()) for _ in range(3)]
        silent[1].sendall(b"GET / HT")
        with joined(one) as sock:
            sock.sendall(b"hello")
            assert sock.recv(5) == b"hello"
            assert one.relay.connections == 1
        silent += [stack.enter_context(one.connect()) for _ in range(_MAX_ASKING)]
        assert read_all(silent[0]) == b""
        wait_until(lambda: one.relay.connections == 0, "the end of the first")
        with joined(one) as sock:
            sock.sendall(b"hello")
            assert sock.recv(5) == b"hello"


def test_client_when_it_is_one_too_many_then_is_told_so():
    """Its place is free again once another has left."""
    with served(limit=1) as one:
        with joined(one):
            answer = one.ask(REQUEST)
            assert answer.startswith("HTTP/1.1 503 ")
            assert "all 1 connections are in use" in answer
        wait_until(lambda: one.relay.connections == 0, "the end of the first")
        with joined(one) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"


def test_client_when_no_harness_can_be_had_then_is_told_why():
    """And the next one is served, if there is one by then."""
    with served() as one:
        one.peer.failure = HarnessExitedError("it exited; see why", exit_code=1)
        answer = one.ask(REQUEST)
        assert answer.startswith("HTTP/1.1 503 ")
        assert "there is no harness: it exited; see why" in answer
        one.peer.failure = None
        with joined(one) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"


def test_first_message_when_the_harness_drops_it_then_the_reason_comes_in_a_close_frame():
    """That is said on its stderr alone, which a client does not see."""
    with served(lambda connection: connection.recv(1)) as one:
        one.peer.reason = "Cascade ID x is already in use"
        with joined(one) as sock:
            sock.sendall(b"x")
            assert read_all(sock) == close_frame(1011, "Cascade ID x is already in use")


def test_connection_when_the_harness_ends_it_later_then_nothing_is_added():
    """Only what it said itself."""

    def once(connection: socket.socket) -> None:
        connection.sendall(connection.recv(1))

    with served(once) as one, joined(one) as sock:
        sock.sendall(b"x")
        assert read_all(sock) == b"x"


@pytest.mark.parametrize("is_reset", [False, True])
def test_client_when_it_goes_then_the_harness_hears_of_it(is_reset):
    """Also when it goes without a word: the conversation is to be free for the next one."""
    gone = threading.Event()

    def wait_for_end(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.recv(1)
        gone.set()

    with served(wait_for_end) as one:
        with joined(one) as sock:
            if is_reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert gone.wait(CEILING)
        wait_until(lambda: one.relay.connections == 0, "the end of the connection")


def test_client_when_it_does_not_read_then_others_are_served():
    """What the harness says to it stands still, and nobody else's words with it."""

    def serve(connection: socket.socket) -> None:
        if connection.recv(1) != b"f":
            echo(connection)
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(bytes(65_536))

    with served(serve) as one, joined(one) as deaf, joined(one) as sock:
        deaf.sendall(b"f")
        assert deaf.recv(1) == b"\0"
        sock.sendall(b"ehello")
        assert sock.recv(5) == b"hello"


def test_relay_when_it_logs_then_neither_token_nor_key(caplog: pytest.LogCaptureFixture):
    """Whatever a client sends, and however its connection ends."""
    with caplog.at_level(logging.DEBUG), served() as one:
        one.ask(REQUEST.replace(TOKEN, f"{TOKEN}-and-more"))
        one.peer.failure = HarnessExitedError("it exited; see why", exit_code=1)
        one.ask(REQUEST)
        one.peer.failure = None
        with joined(one) as sock:
            sock.sendall(b"x")
    assert "a client was refused (HTTP 401)" in caplog.text
    assert TOKEN not in caplog.text
    assert KEY not in caplog.text


def test_close_when_connections_are_open_then_they_end_and_nobody_is_accepted():
    """One is in use, one is stuck because its client does not read, one has not said who it is."""
    gate = Gate()

    def flood(connection: socket.socket) -> None:
        gate.arrived.set()
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(bytes(65_536))

    with served(flood) as one:
        with joined(one), one.connect() as silent:
            gate.wait_arrived()
            assert one.close() == ()
            assert one.close() == ()
            assert read_all(silent) == b""
        with pytest.raises(ConnectionRefusedError):
            one.connect()


def test_relay_when_forked_then_the_child_lets_go_of_it():
    """The parent's connection ends when the parent ends it, not when the child does."""
    with served() as one, joined(one) as sock:
        reading, writing = os.pipe()
        told, telling = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            os.write(telling, b"x")
            os.read(reading, 1)
            os._exit(0)
        os.close(reading)
        try:
            assert os.read(told, 1) == b"x"  # it has run what is run first in a child
            assert one.close() == ()
            assert read_all(sock) == b""
            with pytest.raises(ConnectionRefusedError):
                one.connect()
        finally:
            for descriptor in (writing, told, telling):
                os.close(descriptor)
            os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("", ""),
        ("short “reason”", "short “reason”"),
        (
            f'conversation "{"f" * 64}" not found in "/a/{"long/" * 20}path" (cannot resume)',
            'conversation "ffffffff…" not found in "/a/long/…" (cannot resume)',
        ),
        ("ä" * 100, "ä" * 61),
    ],
)
def test_close_frame_when_the_reason_is_long_then_ids_and_paths_are_cut(reason, shown):
    """A control frame holds 125 bytes."""
    frame = close_frame(1011, reason)
    assert frame[:1] == b"\x88"
    assert frame[1] == len(frame) - 2 <= 125
    assert frame[2:] == struct.pack("!H", 1011) + shown.encode()
