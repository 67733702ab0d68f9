"""Lets clients with a token reach a harness on this machine: a listener that passes bytes on.

The harness listens on loopback alone and has a key of its own, which never leaves this machine.
Each client has a connection of its own to the harness; after the upgrade nothing is looked at.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
from collections.abc import Callable
from typing import Final

import attrs

from .._clock import Clock, Deadline
from .._wire.frames import Endpoint
from ..errors import AntigravityError
from . import forks
from .process import start_thread
from .reach import watch_peer
from .upgrade import Head, RefusedError, check_request, close_frame, read_head, readdressed

_log: Final = logging.getLogger("antigravity_sync.transport")

#: Seconds for a client's request, and for the harness's answer.
_HEAD_PATIENCE: Final = 10.0
_PIECE: Final = 64 * 1024
#: How many clients may be in the middle of saying who they are.
_MAX_ASKING: Final = 64
#: Seconds for a client to read why it is refused, and how much of what it sent is thrown away.
_LINGER: Final = 1.0
_UNREAD_PIECES: Final = 4
#: Close code of a connection that the harness dropped at its first message.
_REFUSED_INIT: Final = 1011


@attrs.frozen
class Target:
    """The harness that a client is passed on to.

    Attributes:
        endpoint: Where it listens, and its key.
        headers: What a client is told of it, beside what it answers itself.
        find_reason: Returns why it dropped a connection that was just made, `""` if it did not say.
    """

    endpoint: Endpoint
    headers: tuple[tuple[str, str], ...]
    find_reason: Callable[[], str]


class Relay:
    """A listener, and the connections that it passes on.

    Thread: any. It has a thread that accepts, and two for each connection.

    Args:
        listener: The listening socket; the relay owns and closes it.
        token: What clients must send.
        open_target: Returns the harness, started if need be; called for each connection.
        label: Prefix of its threads' names.
        max_connections: How many clients there may be at once.
        clock: Measures its waits.
    """

    def __init__(
        self,
        listener: socket.socket,
        token: str,
        open_target: Callable[[], Target],
        label: str,
        max_connections: int,
        clock: Clock,
    ) -> None:
        self._listener = listener
        self._token = token
        self._open_target = open_target
        self._label = label
        self._max = max_connections
        self._clock = clock
        self._lock = threading.Lock()
        #: In the order in which they came.
        self._passages: dict[_Passage, None] = {}
        self._is_closed = False
        self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._accept_all, name=label, daemon=True)
        forks.enrol(self)

    def start(self) -> None:
        """Begin to accept.

        Raises:
            LaunchError: There is no thread for it.
        """
        try:
            start_thread(self._thread)
        except BaseException:
            self.give_up()
            raise

    @property
    def connections(self) -> int:
        """How many clients there are."""
        with self._lock:
            return sum(passage.is_admitted for passage in self._passages)

    def close(self, deadline: Deadline) -> tuple[str, ...]:
        """End all connections and stop accepting; return the threads that are still there.

        Blocks until they have ended, at most until the deadline.
        """
        with self._lock:
            self._is_closed = True
            passages = tuple(self._passages)
        with contextlib.suppress(OSError):
            self._wake[1].send(b"\0")
        threads = [self._thread]
        for passage in passages:
            passage.abort()
            threads += passage.threads
        left = []
        for thread in threads:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(deadline.remaining())
                if thread.is_alive():
                    left.append(thread.name)
        if not self._thread.is_alive():  # or whoever calls now would wait for an answer
            for sock in (self._listener, *self._wake):
                sock.close()
        return tuple(left)

    def give_up(self) -> None:
        """Close our descriptors and touch nothing else; what a forked child does."""
        for sock in (self._listener, *self._wake):
            sock.close()
        for passage in tuple(self._passages):
            passage.release()

    # ── accepting; its own thread ───────────────────────────────────────────────────────────────

    def _accept_all(self) -> None:
        self._listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake[0], selectors.EVENT_READ)
            while not self._is_closed:
                selector.select()
                self._accept()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if not self._is_closed:
                _log.warning("%s: a connection could not be accepted: %s", self._label, error)
                self._pause()
            return
        passage = _Passage(self, client)
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._passages[passage] = None
            asking = [each for each in self._passages if not each.is_admitted]
        if is_closed:
            passage.release()
            return
        if len(asking) > _MAX_ASKING:
            asking[0].abort()  # who has said nothing for longest; others ask at once
        try:
            passage.start()
        except AntigravityError as error:
            _log.warning("%s: a connection could not be served: %s", self._label, error)
            self.forget(passage)

    def _pause(self) -> None:
        """Wait a moment: the system has no descriptor to spare, and the client still waits."""
        threading.Event().wait(0.1)

    # ── for its connections ─────────────────────────────────────────────────────────────────────

    def admit(self, passage: _Passage, client: socket.socket) -> tuple[Head, Target]:
        """Return a client's request as the harness expects it, and the harness.

        Raises:
            OSError: The client is gone, or too slow.
            RefusedError: It is to be told so.
        """
        request = read_head(client, self.head_deadline())
        check_request(request, self._token)
        with self._lock:
            # Only now: whoever does not know the token must not take a place.
            if sum(each.is_admitted for each in self._passages) >= self._max:
                raise RefusedError(503, f"all {self._max} connections are in use; try again later")
            passage.is_admitted = True
        try:
            target = self._open_target()
        except AntigravityError as error:
            raise RefusedError(503, f"there is no harness: {error}") from error
        return readdressed(request, target.endpoint), target

    def head_deadline(self) -> Deadline:
        """Return when a head must have come that begins to be waited for now."""
        return Deadline.after(self._clock, _HEAD_PATIENCE)

    def thread(self, run: Callable[[], None], what: str) -> threading.Thread:
        """Return a thread for one direction of a connection."""
        return threading.Thread(target=run, name=f"{self._label}-{what}", daemon=True)

    def forget(self, passage: _Passage) -> None:
        """Take a connection off the list, and close it."""
        with self._lock:
            self._passages.pop(passage, None)
        passage.release()


class _Passage:
    """One client's connection: what it sends goes to the harness, and the other way round.

    Attributes:
        is_admitted: Whether its client knows the token, and has a place; the relay's to write.
    """

    def __init__(self, relay: Relay, client: socket.socket) -> None:
        self._relay = relay
        self._client = client
        self._harness: socket.socket | None = None
        self._target: Target | None = None
        self._upward = relay.thread(self._serve, "up")
        self._downward = relay.thread(self._pass_down, "down")
        self._is_aborted = False
        self.is_admitted = False

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """Its threads, not all of which need have been started."""
        return self._upward, self._downward

    def start(self) -> None:
        """Begin.

        Raises:
            LaunchError: There is no thread for it.
        """
        start_thread(self._upward)

    def _refuse(self, why: RefusedError) -> None:
        """Tell the client why it is not served, as far as it listens."""
        with contextlib.suppress(OSError):
            self._client.settimeout(_LINGER)
            self._client.sendall(why.response())
            self._client.shutdown(socket.SHUT_WR)
            # A close with unread bytes would be a reset, and the answer lost with it.
            for _ in range(_UNREAD_PIECES):
                if not self._client.recv(_PIECE):
                    break

    def abort(self) -> None:
        """Tear it down; its threads end."""
        self._is_aborted = True
        for sock in (self._client, self._harness):
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Close its descriptors."""
        self._client.close()
        if self._harness is not None:
            self._harness.close()

    # ── from the client to the harness ──────────────────────────────────────────────────────────

    def _serve(self) -> None:
        try:
            if self._connect():
                _pass_on(self._client, self._harness)
                # The harness closes its side now, unless it hangs.
                self._downward.join(_HEAD_PATIENCE)
        except RefusedError as error:
            _log.info("a client was refused (HTTP %d): %s", error.status, error)
            self._refuse(error)
        except (OSError, AntigravityError) as error:
            _log.debug("a client's connection ended: %s", error)
        finally:
            self.abort()
            if self._downward.ident is not None:
                self._downward.join()
            self._relay.forget(self)

    def _connect(self) -> bool:
        """Connect the client with the harness; return whether there is anything to pass on."""
        self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        watch_peer(self._client)
        request, target = self._relay.admit(self, self._client)
        deadline = self._relay.head_deadline()
        self._target = target
        self._harness = harness = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            harness.settimeout(deadline.remaining())
            harness.connect(("127.0.0.1", target.endpoint.port))
            harness.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            harness.sendall(request.to_bytes())
            answer = read_head(harness, deadline)
        except OSError as error:
            raise RefusedError(503, f"the harness does not answer: {error}") from error
        if " 101 " not in f"{answer.first} ":
            raise RefusedError(502, f"the harness answered {answer.first}")
        answer = attrs.evolve(answer, headers=(*answer.headers, *target.headers))
        for sock in (self._client, harness):
            sock.settimeout(None)
        if self._is_aborted:
            return False
        self._client.sendall(answer.to_bytes())
        start_thread(self._downward)
        return True

    # ── from the harness to the client ──────────────────────────────────────────────────────────

    def _pass_down(self) -> None:
        try:
            passed = _pass_on(self._harness, self._client, is_last=False)
            if not passed and not self._is_aborted and self._target is not None:
                reason = self._target.find_reason()
                self._client.sendall(close_frame(_REFUSED_INIT, reason))
        except OSError as error:
            _log.debug("a client's connection ended: %s", error)
        finally:
            # The harness has had its say; what the client still sends goes nowhere.
            with contextlib.suppress(OSError):
                self._client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                if self._harness is not None:
                    self._harness.shutdown(socket.SHUT_RDWR)


def _pass_on(
    source: socket.socket | None, sink: socket.socket | None, *, is_last: bool = True
) -> int:
    """Pass bytes on until the source ends; return how many there were.

    Blocks while the sink does not read; a shutdown of either from another thread ends it.

    Raises:
        OSError: One of the two is gone.
    """
    assert source is not None
    assert sink is not None
    count = 0
    while piece := source.recv(_PIECE):
        count += len(piece)
        sink.sendall(piece)
    if is_last:
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
    return count
