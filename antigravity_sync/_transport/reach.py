"""Where a harness can be reached, and what a connection to another machine needs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

from .._wire.frames import Endpoint
from ..errors import HandshakeError

#: By what headers a served harness tells of itself in its answer to the upgrade.
VERSION_HEADER: Final = "x-antigravity-harness-version"
APP_DATA_HEADER: Final = "x-antigravity-app-data"
#: How much of the body of a refusal is told.
_SHOWN: Final = 300
#: Seconds of silence before the system asks a peer whether it is there, and between its questions;
#: and how many of them may stay unanswered.
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


def addresses(endpoint: Endpoint) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield family and address of each way there.

    Blocks for the name service, if the host is a name.

    Raises:
        OSError: There is no such host.
    """
    if endpoint.is_ours:
        yield socket.AF_INET, (endpoint.host, endpoint.port)
        return
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    for family, _, _, _, address in found:
        yield family, address


def watch_peer(sock: socket.socket) -> None:
    """Have the system notice in about a minute that a peer is gone without a word."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def key_refused(endpoint: Endpoint, attempts: int) -> HandshakeError:
    """Return the error for a key that is not taken."""
    problem = "its own key (HTTP 401); check that nothing else listens on its port"
    if not endpoint.is_ours:
        problem = "the token (HTTP 401); set key= or ANTIGRAVITY_HARNESS_TOKEN to the server's"
    return HandshakeError(
        f"the harness at {endpoint.address} refuses {problem}",
        attempts=attempts,
        port=endpoint.port,
    )


def unreachable(endpoint: Endpoint, attempts: int, failure: str) -> HandshakeError:
    """Return the error for a harness that no try has reached."""
    advice = "that loopback connections are allowed"
    if not endpoint.is_ours:
        advice = "host and port, and that a harness is served there"
    return HandshakeError(
        f"no WebSocket to {endpoint.address} after {attempts} tries ({failure}); check {advice}",
        attempts=attempts,
        port=endpoint.port,
    )


def said_in(body: bytes | None) -> str:
    """Return the first line of a refusal's body as a part of a sentence, `""` for none."""
    line = (body or b"").decode("utf-8", "replace").strip().partition("\n")[0]
    return f": {line[:_SHOWN]}" if line else ""
