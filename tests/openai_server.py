"""A server of the chat completions protocol, for the harness to talk to, with scripted answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs

from antigravity_sync.testing._http_server import HttpExchange, HttpRequest
from tests.loopback import Loopback

_USAGE: Final = {
    "prompt_tokens": 30,
    "completion_tokens": 7,
    "total_tokens": 37,
    "prompt_tokens_details": {"cached_tokens": 4},
}


@attrs.frozen
class Asked:
    """One request: where to, with which headers (names in lower case), and its JSON."""

    target: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation without the instructions."""
        return [one for one in self.body["messages"] if one["role"] != "system"]

    @property
    def tools(self) -> list[str]:
        """Names of the tools that are offered."""
        return [one["function"]["name"] for one in self.body.get("tools", ())]


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an answer that calls a tool."""
    said = json.dumps({**arguments, "toolAction": "Act", "toolSummary": "Act"})
    function = {"name": name, "arguments": said}
    return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}


class OpenAIServer(Loopback):
    """Answers one request after the other: with text, a `calling`, or an HTTP status."""

    def __init__(self, *answers: str | dict[str, Any] | int) -> None:
        super().__init__()
        self._answers = list(answers)
        self._asked: list[Asked] = []

    @property
    def base_url(self) -> str:
        return f"http://{self.address}"

    @property
    def asked(self) -> list[Asked]:
        """The requests so far."""
        with self._lock:
            return list(self._asked)

    def answer(self, asked: HttpRequest, exchange: HttpExchange) -> None:
        with self._lock:
            self._asked.append(Asked(asked.target, asked.headers, json.loads(asked.body)))
            answer = self._answers.pop(0) if self._answers else 500
        if isinstance(answer, int):
            error = {"error": {"message": "scripted trouble", "code": "trouble"}}
            exchange.respond(answer, json.dumps(error).encode(), "application/json")
            return
        delta = {"content": answer} if isinstance(answer, str) else answer
        reason = "stop" if isinstance(answer, str) else "tool_calls"
        events = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": _USAGE},
        ]
        shared = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        lines = [f"data: {json.dumps({**shared, **event})}\n\n" for event in events]
        exchange.respond(200, "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")
