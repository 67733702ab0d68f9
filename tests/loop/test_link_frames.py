"""The frames of a link, as the peer reads them: of every length, and whole beside a pong."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import attrs
import pytest
import websocket
from websocket import ABNF

from antigravity_sync._transport.link import Closed, Link, _Socket
from tests.gates import CEILING, Task

LARGE = 8 * 1024 * 1024
PINGS = 50


@attrs.frozen
class Pair:
    """A link, and a plain socket at its other end."""

    link: Link
    peer: socket.socket

    def read_frames(self, count: int) -> list[ABNF]:
        """Return the next frames that the link sent, unmasked."""
        buffer = websocket._abnf.frame_buffer(self.peer.recv, skip_utf8_validation=True)
        return [buffer.recv_frame() for _ in range(count)]


@contextlib.contextmanager
def connected() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sock = _Socket()
        sock.connect(listener.getsockname())
        peer, _ = listener.accept()
    peer.settimeout(CEILING)
    ws = websocket.WebSocket(skip_utf8_validation=True, enable_multithread=True)
    ws.sock, ws.connected = sock, True
    link = Link(ws, sock)
    try:
        with peer:
            yield Pair(link, peer)
    finally:
        link.abort()
        link.release()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 1_000_000])
def test_message_when_sent_then_the_peer_reads_it(size: int):
    """Whichever of the three forms the length of its payload takes."""
    text = ("ä€" * size)[:size]
    with connected() as pair:
        sending = Task(lambda: pair.link.send(text))
        (frame,) = pair.read_frames(1)
        sending.result()
    assert (frame.fin, frame.opcode, frame.mask_value) == (1, ABNF.OPCODE_TEXT, 1)
    assert frame.data.decode() == text


def test_masking_keys_when_many_messages_are_sent_then_all_differ():
    """More than are fetched from the system at once."""
    with connected() as pair:
        sending = Task(lambda: [pair.link.send("\0" * 4) for _ in range(600)])
        raw = b""
        while len(raw) < 600 * 10:
            raw += pair.peer.recv(65_536)
        sending.result()
    keys = {raw[at + 2 : at + 6] for at in range(0, len(raw), 10)}
    assert len(keys) > 590  # of four bytes two may be the same by chance
    assert all(raw[at + 2 : at + 6] == raw[at + 6 : at + 10] for at in range(0, len(raw), 10))


def test_pong_when_a_large_message_is_on_its_way_then_both_are_whole():
    """The library writes pongs by itself, on the thread that reads."""
    with connected() as pair:
        text = "x" * LARGE
        sending = Task(lambda: pair.link.send(text))
        first = pair.peer.recv(1)  # it has begun, and cannot end before the peer reads on
        ping = bytes((0x80 | ABNF.OPCODE_PING, 1)) + b"p"
        pair.peer.sendall(ping * PINGS)
        reading = Task(pair.link.receive)
        ahead = [first]

        def read(size: int) -> bytes:
            return ahead.pop() if ahead else pair.peer.recv(size)

        buffer = websocket._abnf.frame_buffer(read, skip_utf8_validation=True)
        frames = [buffer.recv_frame() for _ in range(1 + PINGS)]
        sending.result()
        pair.peer.shutdown(socket.SHUT_RDWR)
        assert isinstance(reading.result(), Closed)
    opcodes = [frame.opcode for frame in frames]
    assert opcodes == [ABNF.OPCODE_TEXT, *[ABNF.OPCODE_PONG] * PINGS]
    assert len(frames[0].data) == LARGE
    assert {frame.data for frame in frames[1:]} == {b"p"}
