"""The HTTP at the beginning of a relayed WebSocket: what a client asks, and what it is told."""

from __future__ import annotations

import hmac
import re
import socket
import struct
from typing import Final

import attrs

from .._clock import Deadline
from .._wire.frames import Endpoint

#: Bytes of a head; a WebSocket client's has a few hundred.
MAX_HEAD: Final = 16 * 1024
_END: Final = b"\r\n\r\n"
_KEY: Final = "x-goog-api-key"
_PHRASES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
_CLOSE_STATUS: Final = struct.Struct("!H")
#: What a close frame may hold beside its code.
_MAX_REASON: Final = 123
_LONG_QUOTE: Final = re.compile(r'"([^"]{8})[^"]{8,}"')


class RefusedError(Exception):
    """A client gets this answer and no connection.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    def response(self) -> bytes:
        """Return the answer."""
        body = " ".join(str(self).split()).encode("utf-8", "replace") + b"\n"
        head = (
            f"HTTP/1.1 {self.status} {_PHRASES[self.status]}\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode("ascii") + body


@attrs.frozen
class Head:
    """A request or an answer, and what came right after it.

    Attributes:
        first: Its first line.
        headers: Its headers in their order, names as they came.
        rest: Bytes that came after it.
    """

    first: str
    headers: tuple[tuple[str, str], ...]
    rest: bytes = attrs.field(default=b"", repr=False)

    def get(self, name: str) -> str | None:
        """Return the value of a header, `None` without one; the case of names does not matter."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def to_bytes(self) -> bytes:
        """Return it as it is sent."""
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join(lines).encode("latin-1") + _END + self.rest


def read_head(sock: socket.socket, deadline: Deadline) -> Head:
    """Read a head.

    Blocks until it is whole or the deadline passes.

    Raises:
        OSError: The peer went away, or was too slow.
        RefusedError: It is none, or too long.
    """
    data = b""
    while _END not in data:
        if len(data) > MAX_HEAD:
            raise RefusedError(400, f"the request is longer than {MAX_HEAD} bytes")
        remaining = deadline.remaining()
        if remaining == 0.0:
            raise TimeoutError("the head did not come in time")
        sock.settimeout(remaining)
        piece = sock.recv(4096)
        if not piece:
            raise ConnectionError("the connection ended before its head did")
        data += piece
    text, _, rest = data.partition(_END)
    first, *lines = text.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    if any(not colon or not name or name != name.strip() for name, colon, _ in pairs):
        raise RefusedError(400, "the request's headers cannot be read")
    return Head(first, tuple((name, value.strip()) for name, _, value in pairs), rest)


def check_request(request: Head, token: str) -> None:
    """Refuse a client that wants no WebSocket, is a web page, or does not know the token.

    Raises:
        RefusedError: It is to be told so.
    """
    if request.get("origin") is not None:
        # A page of any site may try to reach what listens on this machine.
        raise RefusedError(403, "web pages are not served")
    wants = (request.get("upgrade") or "").lower()
    if not request.first.startswith("GET ") or wants != "websocket":
        raise RefusedError(400, "this is a WebSocket server; connect with a WebSocket client")
    given = (request.get(_KEY) or "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, token.encode()):
        raise RefusedError(401, f"the token in {_KEY} is missing or wrong")


def readdressed(request: Head, endpoint: Endpoint) -> Head:
    """Return a client's request as the harness expects it."""
    kept = [pair for pair in request.headers if pair[0].lower() not in ("host", _KEY)]
    host = ("Host", f"127.0.0.1:{endpoint.port}")
    return attrs.evolve(request, headers=(host, *kept, (_KEY, endpoint.key)))


def close_frame(code: int, reason: str) -> bytes:
    """Return a server's close frame; of a reason that is too long the ids and paths are cut."""
    text = reason.encode("utf-8", "replace")
    if len(text) > _MAX_REASON:
        text = _LONG_QUOTE.sub(r'"\1…"', reason).encode("utf-8", "replace")[:_MAX_REASON]
        text = text.decode("utf-8", "ignore").encode("utf-8")
    payload = _CLOSE_STATUS.pack(code) + text
    return bytes((0x88, len(payload))) + payload
