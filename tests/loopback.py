"""A server on the loopback interface for the time of a `with`."""

from __future__ import annotations

import threading

from antigravity_sync.testing._http_server import HttpExchange, HttpRequest, LoopbackServer


class Loopback:
    """Answers requests by `answer`, each on a thread of the server."""

    def __init__(self) -> None:
        self._server = LoopbackServer(self.answer)
        self._lock = threading.Lock()

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.port}"

    def answer(self, asked: HttpRequest, exchange: HttpExchange) -> None:
        raise NotImplementedError
