"""A trap on the loopback interface for every call of a harness that is not to the model."""

from __future__ import annotations

from typing import Final

from antigravity_sync.testing._http_server import HttpExchange, HttpRequest
from tests.loopback import Loopback

#: What the trap gives to whoever asks it for a token, as the metadata server of a Google machine.
TOKEN: Final = "trap-token-1234567890"


class Trap(Loopback):
    """Stands where proxies and the metadata server stand, and notes who comes.

    A program that honours the usual variables connects to it for whatever is not on the loopback
    interface: `CONNECT host:443` for https, the whole address for http. It lets nobody through.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[str] = []

    @property
    def seen(self) -> list[str]:
        """Who came so far: method and target of each request."""
        with self._lock:
            return list(self._seen)

    @property
    def env(self) -> dict[str, str | None]:
        """Variables that lead a harness here."""
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        proxies = dict.fromkeys((*names, *map(str.lower, names)), f"http://{self.address}")
        return {**proxies, "NO_PROXY": None, "no_proxy": None, "GCE_METADATA_HOST": self.address}

    def answer(self, asked: HttpRequest, exchange: HttpExchange) -> None:
        with self._lock:
            self._seen.append(f"{asked.method} {asked.target}")
        if asked.target.startswith("/computeMetadata/") and "/token" in asked.target:
            token = f'{{"access_token":"{TOKEN}","expires_in":3600,"token_type":"Bearer"}}'
            exchange.respond(200, token.encode(), "application/json", {"Metadata-Flavor": "Google"})
        else:
            exchange.respond(403, b"", "text/plain")
