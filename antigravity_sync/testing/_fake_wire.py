"""The stand-in process's wire by hand: the stdio handshake, the HTTP upgrade, RFC 6455 frames.

Modules of the stand-in process use the standard library alone and import nothing of the package
above them: the process runs from this directory without site-packages, in about 30 ms.
"""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct
import threading
from collections.abc import Iterator

# Spelled out instead of imported: `typing` is a tenth of the process's start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: A JSON object as it is on the wire.
Message = dict[str, "Any"]

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA

_ACCEPT_SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ_SIZE = 1 << 20


def read_exactly(descriptor: int, count: int) -> bytes:
    """Return the next `count` bytes of a pipe, fewer only at its end.

    Blocks: on the pipe; its writer or its end ends the wait.
    """
    parts = bytearray()
    while len(parts) < count:
        part = os.read(descriptor, min(_READ_SIZE, count - len(parts)))
        if not part:
            break
        parts += part
    return bytes(parts)


def write_all(descriptor: int, data: bytes) -> bool:
    """Write `data` to a pipe; return False when nobody reads it any more.

    Blocks: while the pipe is full.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        return False
    return True


# ── protobuf ────────────────────────────────────────────────────────────────────────────────────


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("proto: cannot parse invalid wire-format data")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("proto: cannot parse invalid wire-format data")
        if at + size > len(data):
            raise ValueError("proto: unexpected EOF")
        yield number, data[at : at + size]
        at += size


def _named(data: int | bytes, names: dict[int, str]) -> Message:
    """Decode one message: known fields by name, the others under `#number`."""
    named: Message = {}
    # A number in the message's place decodes to nothing.
    for number, value in _fields(data if isinstance(data, bytes) else b""):
        decoded = value.decode() if isinstance(value, bytes) and number in names else value
        if isinstance(decoded, bytes):
            decoded = decoded.hex()
        named[names.get(number, f"#{number}")] = decoded
    return named


def decode_input_config(data: bytes) -> Message:
    """Return the fields of an InputConfig that are present; `client_info` and `env` always are.

    Raises:
        ValueError: The bytes are not that message.
    """
    config: Message = {"client_info": {}, "env": {}}
    for number, value in _fields(data):
        if number == 4:
            config["client_info"] = _named(
                value,
                {1: "language", 2: "version", 3: "language_version", 4: "os", 5: "os_version"},
            )
        elif number == 5:
            entry = _named(value, {1: "key", 2: "value"})
            config["env"][entry.get("key", "")] = entry.get("value", "")
        elif number == 6:
            config["use_interactions_api"] = bool(value)
        else:
            name = {1: "storage_directory", 2: "port", 3: "bind_address"}.get(number, f"#{number}")
            config[name] = value.decode() if isinstance(value, bytes) else value
    return config


def encode_output_config(port: int, api_key: str) -> bytes:
    """Return the OutputConfig that tells a client where to connect and with which key."""
    low, high = (port & 0x7F) | 0x80, (port >> 7) & 0x7F
    number = bytes([low, high | 0x80, port >> 14]) if port >> 14 else bytes([low, high])
    return b"\x08" + number + b"\x12" + bytes([len(api_key)]) + api_key.encode("ascii")


# ── WebSocket ───────────────────────────────────────────────────────────────────────────────────


def frame_head(opcode: int, size: int) -> bytes:
    """Return the head of a server's unfragmented frame with `size` bytes of payload."""
    if size < 126:
        return bytes([0x80 | opcode, size])
    if size < 1 << 16:
        return struct.pack(">BBH", 0x80 | opcode, 126, size)
    return struct.pack(">BBQ", 0x80 | opcode, 127, size)


def _unmask(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    pattern = (mask * (size // 4 + 1))[:size]
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")
    return mixed.to_bytes(size, "big")


class WebSocket:
    """The server's end of one TCP connection.

    Thread: one thread receives; any thread sends.
    """

    def __init__(self, tcp: socket.socket) -> None:
        self._tcp = tcp
        self._unread = bytearray()
        # Of a fragmented message; control frames may come between its fragments.
        self._fragments = bytearray()
        self._opcode = 0
        self._sending = threading.Lock()

    def read_request(self) -> dict[str, str] | None:
        """Return the headers of the HTTP request, names in lower case; None if the client left.

        Blocks: on the client.
        """
        while b"\r\n\r\n" not in self._unread:
            if not self._read_more():
                return None
        head, _, rest = bytes(self._unread).partition(b"\r\n\r\n")
        self._unread = bytearray(rest)
        lines = head.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def accept(self, headers: dict[str, str]) -> None:
        """Answer the upgrade."""
        key = headers.get("sec-websocket-key", "").encode("latin-1")
        # RFC 6455 asks for SHA-1; nothing here is a secret.
        digest = hashlib.sha1(key + _ACCEPT_SALT).digest()  # noqa: S324
        self.send_bytes(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
        )

    def refuse(self) -> None:
        """Answer the upgrade with 401 and end the connection."""
        body = b"Unauthorized\n"
        self.send_bytes(
            b"HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        self.end()

    def receive(self) -> tuple[int, bytes] | None:
        """Return the next message or control frame; None when the TCP connection is over.

        Blocks: on the client.
        """
        while True:
            frame = self._receive_frame()
            if frame is None:
                return None
            is_last, kind, payload = frame
            if kind >= CLOSE:
                return kind, payload
            self._opcode = kind or self._opcode
            if not is_last:
                self._fragments += payload
            elif not self._fragments:
                return self._opcode, payload
            else:
                payload, self._fragments = bytes(self._fragments + payload), bytearray()
                return self._opcode, payload

    def _receive_frame(self) -> tuple[bool, int, bytes] | None:
        head = self._take(2)
        if head is None:
            return None
        size = head[1] & 0x7F
        if size > 125:
            longer = self._take(2 if size == 126 else 8)
            if longer is None:
                return None
            size = int.from_bytes(longer, "big")
        mask = self._take(4) if head[1] & 0x80 else b""
        payload = self._take(size)
        if mask is None or payload is None:
            return None
        return bool(head[0] & 0x80), head[0] & 0x0F, _unmask(payload, mask) if mask else payload

    def _take(self, count: int) -> bytes | None:
        while len(self._unread) < count:
            if not self._read_more():
                return None
        taken = bytes(self._unread[:count])
        del self._unread[:count]
        return taken

    def _read_more(self) -> bool:
        try:
            part = self._tcp.recv(_READ_SIZE)
        except OSError:
            return False
        self._unread += part
        return bool(part)

    def send(self, opcode: int, payload: bytes) -> None:
        """Send one whole frame.

        Blocks: while the client does not read and the buffers are full.

        Raises:
            OSError: The connection is over.
        """
        self.send_bytes(frame_head(opcode, len(payload)) + payload)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are; see `send`."""
        with self._sending:
            self._tcp.sendall(data)

    def send_close(self, code: int, reason: str = "") -> None:
        """Send a close frame and nothing after it."""
        self.send(CLOSE, struct.pack(">H", code) + reason.encode())
        self._tcp.shutdown(socket.SHUT_WR)

    def interrupt(self, *, is_reset: bool) -> None:
        """Wake the receiving thread, which then calls `end`; with `is_reset` that sends an RST."""
        try:
            if is_reset:
                linger = struct.pack("ii", 1, 0)
                self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                # Only the reading half: a FIN sent first would make the reset an ordinary end.
                self._tcp.shutdown(socket.SHUT_RD)
            else:
                self._tcp.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the client was faster

    def end(self) -> None:
        """Close the TCP connection. Thread: the receiving one."""
        try:
            self._tcp.close()
        except OSError:
            pass  # a reset that arrived before
