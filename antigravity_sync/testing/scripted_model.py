"""A stand-in for the Gemini HTTP API on the loopback interface, answering from a script.

The real harness talks to it, so whole agents run offline, without a key, and with answers known
beforehand::

    with ScriptedModel(call("get_weather", city="Paris"), "It is sunny.") as model:
        with Agent(**model.agent_options(), tools=[get_weather]) as agent:
            assert agent.chat("How is the weather?").text == "It is sunny."
    assert model.requests[1].function_responses[0][0] == "get_weather"
"""

from __future__ import annotations

import collections
import math
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from antigravity_sync.errors import ConfigError, UsageError
from antigravity_sync.testing._answers import send_answer, send_object
from antigravity_sync.testing._http_server import HttpExchange, HttpRequest, LoopbackServer
from antigravity_sync.testing._replies import (
    Always,
    Answer,
    Reply,
    Scripted,
    as_answer,
)
from antigravity_sync.testing._requests import ModelRequest, parse_request
from antigravity_sync.testing.replies import http_error

if TYPE_CHECKING:
    from typing_extensions import Self

_DEFAULT_MODEL: Final = "gemini-3.6-flash"
_API_KEY: Final = "scripted-key"
_GENERATING: Final = frozenset({"streamGenerateContent", "generateContent"})
_COUNTING: Final = "countTokens"
_BYTES_PER_TOKEN: Final = 4
_SHOWN_PROBLEMS: Final = 5


class ScriptedModel:
    """Serve scripted answers to the harness.

    Each reply answers one request, in the order the requests arrive, whichever agent they come
    from. Several agents, subagents included, may use one model at the same time; to answer them by
    what they ask, use one function that repeats: `ScriptedModel(lambda request: "echo " +
    request.prompt, loop=True)`.

    A call that has no reply left is answered with HTTP 400, which ends the turn, and fails the
    test: leaving the `with` block raises `AssertionError` unless another exception is on its way.

    Args:
        replies: Text, a list of pieces, what the functions of `antigravity_sync.testing` return, or
            a function of the `ModelRequest` that returns any of these. Functions run on the thread
            that serves the request, so they may run at the same time when several agents ask.
        loop: Start the script again when it is used up.
        name: The model's name in `agent_options()`; requests for other models are answered too.
        max_requests: How many of the newest requests to keep for `requests`; `None` keeps all.
        fill_summaries: Add `toolAction` and `toolSummary` to scripted calls of tools that require
            them, as a model does (some harness versions do not report the step of a call without
            them). A part given as a dict is always sent as it is.

    Raises:
        ConfigError: A reply is nothing that can be sent.

    Thread: any thread may call every method. Nothing runs before `start()`.

    Example:
        >>> from antigravity_sync.testing import ScriptedModel
        >>> with ScriptedModel("Hello") as model:
        ...     sorted(model.agent_options())
        ['api_key', 'base_url', 'model']
    """

    def __init__(
        self,
        *replies: Reply | Always,
        loop: bool = False,
        name: str = _DEFAULT_MODEL,
        max_requests: int | None = None,
        fill_summaries: bool = True,
    ) -> None:
        self.name = name
        self._loop = loop
        self._fill_summaries = fill_summaries
        self._replies, self._endless = _check_script(replies)
        self._server = LoopbackServer(self._answer)
        self._arrival = threading.Condition()
        self._requests: collections.deque[ModelRequest] = collections.deque(maxlen=max_requests)
        self._request_count = 0
        self._used_count = 0
        self._unscripted: list[ModelRequest] = []
        self._failures: list[tuple[ModelRequest, Exception]] = []
        self._is_closed = False

    # ── life ────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> Self:
        """Begin to serve on a free port of 127.0.0.1.

        Raises:
            UsageError: It was started before; a model runs once.
        """
        if self._server.port or self._is_closed:
            raise UsageError("This ScriptedModel was started already; make a new one per run.")
        self._server.start()
        return self

    def close(self) -> None:
        """Cut off every client and end every thread; idempotent, any thread, checks nothing.

        Blocks: until the threads have ended, at most 5 s, and only on a reply function that does
            not
        return.
        """
        with self._arrival:
            self._is_closed = True
            self._arrival.notify_all()
        self._server.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
        if problem is None:
            self.check()

    @property
    def base_url(self) -> str:
        """The address to give to the harness; it stays the same after `close()`.

        Raises:
            UsageError: The model was not started.
        """
        if not self._server.port:
            raise UsageError(
                "ScriptedModel is not started: use it in a `with` block or call start()."
            )
        return f"http://127.0.0.1:{self._server.port}"

    def agent_options(self) -> dict[str, Any]:
        """Return the options for an `Agent`: `Agent(**model.agent_options(), …)`.

        Raises:
            UsageError: The model was not started.
        """
        return {"model": self.name, "api_key": _API_KEY, "base_url": self.base_url}

    # ── what was asked ──────────────────────────────────────────────────────────────────────────

    @property
    def requests(self) -> list[ModelRequest]:
        """The requests so far, oldest first, without token counts."""
        with self._arrival:
            return list(self._requests)

    @property
    def unscripted(self) -> tuple[ModelRequest, ...]:
        """The requests for which no reply was left."""
        with self._arrival:
            return tuple(self._unscripted)

    def wait_for_request(self, number: int, *, timeout: float | None = 20.0) -> ModelRequest:
        """Return the request with this number, counted from 1, as soon as it has arrived.

        Args:
            number: 1 for the first request.
            timeout: Seconds to wait; `None` is for ever.

        Blocks: until then, `timeout` or `close()`.

        Raises:
            AssertionError: It did not arrive, or `max_requests` dropped it.
        """
        until = math.inf if timeout is None else time.monotonic() + timeout
        with self._arrival:
            while self._request_count < number and not self._is_closed:
                remaining = until - time.monotonic()
                if remaining <= 0:
                    break
                self._arrival.wait(None if remaining == math.inf else remaining)
            kept = [request for request in self._requests if request.number == number]
            seen = self._request_count
        if not kept:
            why = "the model is closed" if self._is_closed else f"waited {timeout} s"
            raise AssertionError(
                f"Request {number} is not there ({why}): {seen} arrived. "
                "Check the script and the prompt."
            )
        return kept[0]

    def check(self) -> None:
        """Fail if a request had no reply or a reply function raised; `with` does this at its end.

        Raises:
            AssertionError: Says what was asked and how many replies there were.
        """
        with self._arrival:
            unscripted, failures = list(self._unscripted), list(self._failures)
        if failures:
            request, failure = failures[0]
            raise AssertionError(
                f"The reply function of request {request.number} failed: {failure!r}. "
                f"It was asked: {request.describe()}. Mend the function."
            ) from failure
        if unscripted:
            asked = "; ".join(
                f"request {request.number}: {request.describe()}"
                for request in unscripted[:_SHOWN_PROBLEMS]
            )
            raise AssertionError(
                f"The model was called {len(unscripted)} times more than its script has replies "
                f"({len(self._replies)}). Add replies for {asked}."
            )

    def assert_done(self) -> None:
        """Fail if a reply of the script was never used, or if `check()` fails.

        Raises:
            AssertionError: Names the first unused reply.
        """
        self.check()
        with self._arrival:
            used = self._used_count
        if used < len(self._replies):
            raise AssertionError(
                f"The model used {used} of {len(self._replies)} replies; the next one is "
                f"{self._replies[used]!r:.300}. Remove it or ask the model for it."
            )

    def __repr__(self) -> str:
        where = f"http://127.0.0.1:{self._server.port}" if self._server.port else "not started"
        with self._arrival:
            seen = self._request_count
        return f"<ScriptedModel {where}, {seen} requests, {len(self._replies)} replies>"

    # ── answering, on the thread of the connection ──────────────────────────────────────────────

    def _answer(self, asked: HttpRequest, exchange: HttpExchange) -> None:
        method = asked.target.partition("?")[0].rpartition(":")[2]
        if asked.method == "POST" and method in _GENERATING:
            request, reply = self._take_reply(asked)
            answer = self._decide(request, reply)
            send_answer(exchange, request, answer, fill_summaries=self._fill_summaries)
        elif asked.method == "POST" and method == _COUNTING:
            send_object(exchange, 200, {"totalTokens": len(asked.body) // _BYTES_PER_TOKEN})
        else:
            message = (
                f"ScriptedModel does not serve {asked.method} {asked.target.partition('?')[0]}"
            )
            send_object(exchange, 404, {"error": {"code": 404, "message": message}})

    def _take_reply(self, asked: HttpRequest) -> tuple[ModelRequest, Scripted | None]:
        # One lock for the number, the reply and the record: whoever waits for a request sees all
        # three.
        with self._arrival:
            self._request_count += 1
            request = parse_request(self._request_count, asked.target, asked.headers, asked.body)
            self._requests.append(request)
            reply = self._next_reply()
            if reply is None:
                self._unscripted.append(request)
            self._arrival.notify_all()
        return request, reply

    def _next_reply(self) -> Scripted | None:
        position = self._used_count
        self._used_count += 1
        if self._loop and self._replies:
            position %= len(self._replies)
        if position < len(self._replies):
            return self._replies[position]
        return None if self._endless is None else self._endless.reply

    def _decide(self, request: ModelRequest, reply: Scripted | None) -> Answer:
        if reply is None:
            return http_error(
                400,
                f"ScriptedModel has no reply for request {request.number}: the script has "
                f"{len(self._replies)}. It was asked: {request.describe()}. Add a reply.",
            )
        if not callable(reply):
            return reply
        try:
            return as_answer(reply(request))
        # Boundary: user code. Its failure is the test's to see, at the end of the `with` block;
        # here it must end the turn, and 400 is what the harness does not retry.
        except Exception as failure:  # noqa: BLE001
            with self._arrival:
                self._failures.append((request, failure))
            return http_error(400, f"The reply function failed: {failure!r}. Mend it.")


def _check_script(
    replies: tuple[Reply | Always, ...],
) -> tuple[tuple[Scripted, ...], Always | None]:
    endless = replies[-1] if replies and isinstance(replies[-1], Always) else None
    script = replies[:-1] if endless is not None else replies
    checked: list[Scripted] = []
    for number, reply in enumerate(script, 1):
        if isinstance(reply, Always):
            raise ConfigError(f"Reply {number} is always(): nothing after it is used; put it last.")
        checked.append(reply if callable(reply) else as_answer(reply))
    return tuple(checked), endless
