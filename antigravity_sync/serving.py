"""A harness offered to other processes and machines."""

from __future__ import annotations

import errno
import ipaddress
import itertools
import os
import re
import secrets
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from ._clock import Deadline, MonotonicClock
from ._timeouts import CONFIGURED, Timeout, close_seconds_of
from .errors import ConfigError, LaunchError, UsageError

if TYPE_CHECKING:
    from ._runtime.shared import SharedHost
    from ._transport.relay import Target

#: Seconds for ending the connections, unless `close` says otherwise.
_CLOSE_TIMEOUT: Final = 10.0
_SHORTEST_TOKEN: Final = 16
#: What a header may carry.
_TOKEN: Final = re.compile(r"[!-~]+")
_labels: Final = itertools.count(1)


class _Process(Protocol):
    """What is offered; see `Harness`."""

    def _join(self, deadline: Deadline) -> SharedHost:
        """Return it, started if need be, with a seat on it."""


class HarnessServer:
    """Passes clients with the right token on to a harness; `Harness.serve` makes it.

    A client is a `RemoteConnectionStrategy`, in any process. Each has a conversation of its own,
    beside those of the harness's agents here, and what it leaves behind is kept as theirs is. A
    harness that has died is started anew by the next client.

    What is sent is not encrypted, the token and the clients' model keys included: let others reach
    it through an SSH tunnel or the like. Whoever has the token can do whatever the harness can do
    as this user.

    Thread: methods may be called from any thread. It has a thread that waits for clients, and two
    for each that is connected.

    Attributes:
        host: The address that it listens at.
        port: Its port.
        token: What clients must know.
    """

    def __init__(
        self,
        process: _Process,
        address: tuple[str, int],
        *,
        token: str | None,
        expose: bool,
        max_connections: int,
        start_timeout: float | None,
    ) -> None:
        from ._transport.relay import Relay  # with the runtime, as `Agent.start` does

        self.token = check_token(token)
        check_limit(max_connections)
        self._process = process
        self._start_timeout = start_timeout
        self._clock = MonotonicClock()
        self._owner_pid = os.getpid()
        self._closing = threading.Lock()
        self._is_closed = False
        listener = _listen(*_checked(*address, expose=expose))
        try:
            self.host, self.port = listener.getsockname()[:2]
            self._open_target()
            label = f"agsync-serve{next(_labels)}"
            relay = Relay(
                listener, self.token, self._open_target, label, max_connections, self._clock
            )
        except BaseException:  # unwinding: nobody else knows of the socket
            listener.close()
            raise
        self._relay = relay
        relay.start()

    def _open_target(self) -> Target:
        """Return what a client is passed on to; on the thread of its connection."""
        from ._runtime.served import target_of

        shared = self._process._join(Deadline.after(self._clock, self._start_timeout))
        try:
            return target_of(shared.host)
        finally:
            # Which ends a process that has come after the harness was closed.
            shared.part(Deadline.after(self._clock, _CLOSE_TIMEOUT))

    @property
    def connections(self) -> int:
        """How many clients there are now."""
        return self._relay.connections

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def close(self, *, timeout: Timeout = CONFIGURED) -> None:
        """End all connections and stop listening; any thread, as often as you like. Never raises.

        The harness goes on.

        Args:
            timeout: Seconds for all of it; `None` is refused, a close must end.
        """
        self._close(Deadline.after(self._clock, close_seconds_of(timeout, _CLOSE_TIMEOUT)))

    def _close(self, deadline: Deadline) -> tuple[str, ...]:
        """Close it; return the threads that have not ended by the deadline."""
        left: tuple[str, ...] = ()
        if self._owner_pid == os.getpid():
            with self._closing:
                if not self._is_closed:
                    left = self._relay.close(deadline)
                    self._is_closed = not left
        return left

    def __enter__(self) -> HarnessServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<HarnessServer: {'closed' if self._is_closed else f'{self.host}:{self.port}'}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError("a HarnessServer cannot be pickled: serve in the process that uses it")


def check_token(token: str | None) -> str:
    """Return a token, a new one for `None`.

    Raises:
        ConfigError: It could be guessed, or no header can carry it.
    """
    if token is None:
        return secrets.token_urlsafe(32)
    given: object = token
    if not isinstance(given, str) or len(given) < _SHORTEST_TOKEN or not _TOKEN.fullmatch(given):
        raise ConfigError(
            f"a token has at least {_SHORTEST_TOKEN} letters, digits and signs without spaces; "
            "leave it out to have one made"
        )
    return given


def check_limit(max_connections: int) -> None:
    """Check for a number of connections.

    Raises:
        ConfigError: It is none above 0.
    """
    if type(max_connections) is not int or max_connections < 1:
        raise ConfigError(f"max_connections must be a number above 0, not {max_connections!r}")


def _checked(host: str, port: int, *, expose: bool) -> tuple[socket.AddressFamily, str, int]:
    """Return where to listen.

    Raises:
        ConfigError: There is no such place, or others could reach it and `expose` is not set.
    """
    if not isinstance(host, str):
        raise ConfigError(f"host must be a name or an address, not {type(host).__name__}")
    if type(port) is not int or not 0 <= port <= 65_535:
        raise ConfigError(f"port must be a number from 0 to 65535, not {port!r}")
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"there is no host {host!r} here ({error}); give another") from error
    # A name that means several addresses is listened for at one, the older kind first.
    found.sort(key=lambda each: each[0] != socket.AF_INET)
    places = [(family, str(address[0])) for family, _, _, _, address in found]
    if not expose and not all(_is_loopback(address) for _, address in places):
        raise ConfigError(
            f"{host!r} can be reached from other machines, and what is sent is not encrypted; use "
            "127.0.0.1 and a tunnel, or pass expose=True"
        )
    return *places[0], port


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        LaunchError: It cannot be had.
    """
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        advice = "choose another"
        if error.errno == errno.EADDRINUSE:
            advice = "choose another, or 0 for any that is free"
        raise LaunchError(
            f"port {port} of {host} cannot be listened at ({error.strerror}); {advice}"
        ) from error
