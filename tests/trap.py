"""A trap on the loopback interface for every call of a harness that is not to the model."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final

from antigravity_sync.testing._http_server import HttpExchange, HttpRequest, LoopbackServer

#: What the trap gives to whoever asks it for a token, as the metadata server of a Google machine.
TOKEN: Final = "trap-token-1234567890"


class Trap:
    """Stands where proxies and the metadata server stand, and notes who comes.

    A program that honours the usual variables connects to it for whatever is not on the loopback
    interface: `CONNECT host:443` for https, the whole address for http. It lets nobody through.
    """

    def __init__(self) -> None:
        self._server = LoopbackServer(self._answer)
        self._lock = threading.Lock()
        self._seen: list[str] = []

    def __enter__(self) -> Trap:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()

    @property
    def seen(self) -> list[str]:
        """Who came so far: method and target of each request."""
        with self._lock:
            return list(self._seen)

    @property
    def env(self) -> dict[str, str | None]:
        """Variables that lead a harness here."""
        address = f"127.0.0.1:{self._server.port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        proxies = dict.fromkeys((*names, *map(str.lower, names)), f"http://{address}")
        return {**proxies, "NO_PROXY": None, "no_proxy": None, "GCE_METADATA_HOST": address}

    def _answer(self, asked: HttpRequest, exchange: HttpExchange) -> None:
        with self._lock:
            self._seen.append(f"{asked.method} {asked.target}")
        if asked.target.startswith("/computeMetadata/") and "/token" in asked.target:
            token = f'{{"access_token":"{TOKEN}","expires_in":3600,"token_type":"Bearer"}}'
            exchange.respond(200, token.encode(), "application/json", {"Metadata-Flavor": "Google"})
        else:
            exchange.respond(403, b"", "text/plain")
