"""From a failure, which is a value, to an exception, which is made fresh at each raise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import attrs

from .._core.actions import Failure, FailureKind
from .._version import SUPPORTED_HARNESS_VERSION
from ..errors import (
    AgentClosedError,
    AntigravityError,
    AuthenticationError,
    BacklogOverflowError,
    HookTimeoutError,
    InternalError,
    InvalidRequestError,
    McpServerError,
    ModelError,
    OverloadedError,
    PromptDeniedError,
    ProtocolError,
    RateLimitError,
    SessionLostError,
    StructuredOutputError,
    TurnCancelledError,
    TurnError,
    TurnTimeoutError,
)
from ..responses import ChatResponse
from .mcp import load_failure

#: What the harness quotes of the model's own answer.
_QUOTED: Final = re.compile(r"Message: (?P<message>.*?), Status: (?P<status>[A-Z_]*)")
#: What it says of a server that speaks another protocol than Google's, with what that answered.
_PLAIN: Final = re.compile(r"HTTP request failed with status (?P<code>[0-9]+): (?P<body>.*)", re.S)
_MAX_DETAIL: Final = 600
_BAD_KEY: Final = re.compile(r"api key not valid|API_KEY_INVALID|invalid api key", re.IGNORECASE)
#: Words of failures that a second try may well heal: no answer, or a cut one.
_TRANSIENT: Final = re.compile(
    r"model unreachable|error sending request|iterateResponseStream|connection re|EOF"
)
#: Words of failures of the model's output rather than of its service.
_OUTPUT: Final = re.compile(r"model output error|iterateResponseStream|model unreachable")


@attrs.frozen
class Circumstances:
    """Facts that go into an error and that only the engine has.

    Attributes:
        harness_version: `None` if it could not be told.
        stderr_tail: Last lines of the harness's stderr.
        timeout: The turn's budget in seconds.
        redact: Takes secrets out of what others have said.
        find_error: Returns the error that a message stands for, `None` if it is just that.
    """

    harness_version: str | None = None
    stderr_tail: str = ""
    timeout: float | None = None
    redact: Callable[[str], str] = str
    find_error: Callable[[str], Exception | None] = lambda _message: None


def make_error(
    failure: Failure, response: ChatResponse | None, about: Circumstances
) -> AntigravityError:
    """Return a fresh exception for `failure`, to be raised at once.

    Args:
        failure: What happened.
        response: What the turn had produced.
        about: Facts for the message.
    """
    if (known := _known_error(failure, response, about)) is not None:
        return known
    failure = attrs.evolve(failure, message=about.redact(failure.message))
    match failure.kind:
        case FailureKind.MODEL | FailureKind.TURN:
            return _mcp_error(failure, about) or _turn_error(failure, response)
        case FailureKind.DENIED:
            return PromptDeniedError(
                f"the prompt was denied: {failure.message}; change it or the pre-turn hook",
                partial=response,
            )
        case FailureKind.CANCELLED_BY_HARNESS:
            return TurnCancelledError(
                "the harness cancelled the turn on its own; try the prompt again",
                partial=response,
            )
        case FailureKind.UNSTRUCTURED:
            said = failure.message[:_MAX_DETAIL]
            return StructuredOutputError(
                f"the structured answer does not fit response_schema: {said}; ask again, or make "
                "the schema simpler and say in the prompt what belongs where",
                raw=failure.raw,
                partial=response,
            )
        case FailureKind.TIMEOUT:
            return _timeout_error(failure, response, about)
        case FailureKind.INPUT_DROPPED:
            return ProtocolError(
                "the harness dropped a message of ours instead of answering it "
                f"({failure.message[:_MAX_DETAIL]}); this SDK and harness "
                f"{about.harness_version} do not fit: install {SUPPORTED_HARNESS_VERSION}",
                detail=failure.message,
                partial=response,
            )
        case FailureKind.CLOSED:
            return AgentClosedError("the agent was closed during the turn; start() opens it again")
        case FailureKind.DETACHED:
            error = SessionLostError(
                "the harness closed the connection in the middle of the turn; "
                "the next call reconnects to the same conversation",
                close_code=failure.close_code,
                stderr_tail=about.stderr_tail,
                partial=response,
            )
            error.session_usable = True
            return error
        case FailureKind.LOST:
            return lost_error(failure, response, about)


def _known_error(
    failure: Failure, response: ChatResponse | None, about: Circumstances
) -> AntigravityError | None:
    """Return the error that a failure stands for, with what the turn had produced."""
    known = about.find_error(failure.message)
    if isinstance(known, TurnError) and known.partial is None:
        known.partial = response
    return known if isinstance(known, AntigravityError) else None


def _mcp_error(failure: Failure, about: Circumstances) -> McpServerError | None:
    """Return the error of a turn that could not begin because an MCP server failed."""
    found = load_failure(failure.message)
    if found is None:
        return None
    server, why = found
    said = " ".join(why.split())[:_MAX_DETAIL] or "no reason given"
    error = McpServerError(
        f"MCP server {server!r} could not be used: {said}; see that it runs, or raise its timeout, "
        "and ask again",
        server=server,
        stderr_tail=about.stderr_tail,
    )
    error.session_usable = True
    return error


def _turn_error(failure: Failure, response: ChatResponse | None) -> TurnError:
    code, text = failure.http_code, failure.message
    quoted = _QUOTED.search(text)
    said = quoted["message"] if quoted else text.partition("\n")[0]
    plain = None if code else _PLAIN.search(text)
    if plain:
        code, said = int(plain["code"]), " ".join(plain["body"].split())
    said = said[:_MAX_DETAIL].strip() or "no reason given"
    status = f" {quoted['status']}" if quoted and quoted["status"] else ""
    if code is not None and code >= 100:
        return _http_error(code, f"HTTP {code}{status}: {said}", text, response)
    if code is None and not _OUTPUT.search(text):
        return TurnError(f"the turn failed: {said}; see the harness's log", partial=response)
    retryable = bool(_TRANSIENT.search(text))
    advice = "try again" if retryable else "change the prompt or the model's settings"
    return ModelError(
        f"the model gave no usable answer: {said}; {advice}", retryable=retryable, partial=response
    )


def _http_error(code: int, said: str, text: str, response: ChatResponse | None) -> ModelError:
    if code in (401, 403) or _BAD_KEY.search(text):
        return AuthenticationError(
            f"the model refused the key ({said}); check api_key or GEMINI_API_KEY",
            http_code=code,
            partial=response,
        )
    if code == 429:
        return RateLimitError(
            f"the model's quota or rate limit is used up ({said}); wait and try again",
            http_code=code,
            retryable=True,
            partial=response,
        )
    if code in (503, 529):
        return OverloadedError(
            f"the model service is overloaded ({said}); wait and try again",
            http_code=code,
            retryable=True,
            partial=response,
        )
    if code >= 500 or code == 408:
        return ModelError(
            f"the model service failed ({said}); try again later",
            http_code=code,
            retryable=True,
            partial=response,
        )
    return InvalidRequestError(
        f"the model refused the request ({said}); check the model name and the prompt",
        http_code=code,
        partial=response,
    )


def _timeout_error(
    failure: Failure, response: ChatResponse | None, about: Circumstances
) -> TurnTimeoutError:
    budget = "its timeout" if about.timeout is None else f"{about.timeout:g} s"
    open_work = f"; still open: {', '.join(failure.waiting_for)}" if failure.waiting_for else ""
    if not open_work and response is not None and not response.steps and not response.text:
        open_work = "; the harness has said nothing since the prompt: it is stopped, or very slow"
    unknown = ""
    if failure.unknown_states:
        unknown = (
            f"; the harness ({about.harness_version or 'unknown version'}) sent what this "
            f"SDK does not know: {', '.join(failure.unknown_states)}"
            f" (it is made for {SUPPORTED_HARNESS_VERSION})"
        )
    return TurnTimeoutError(
        f"the turn did not end within {budget}{open_work}{unknown}; "
        "raise timeout= or turn_timeout, or look at error.partial",
        timeout=about.timeout,
        waiting_for=failure.waiting_for,
        unknown_states=failure.unknown_states,
        harness_version=about.harness_version,
        partial=response,
    )


def unsent_error(timeout: float | None, version: str) -> TurnTimeoutError:
    """Return the error of a turn whose prompt did not go out."""
    return TurnTimeoutError(
        "the prompt could not be sent in time; a hook or the harness blocks: see the log",
        timeout=timeout,
        harness_version=version,
    )


def lost_error(
    failure: Failure, response: ChatResponse | None, about: Circumstances
) -> AntigravityError:
    """Return a fresh exception for a session that is over for good."""
    if failure.message.startswith("internal error"):
        return InternalError(f"{failure.message}; please report this with the log")
    if failure.message.startswith("hook timeout"):
        name = failure.message.partition(": ")[2]
        return HookTimeoutError(
            f"{name} held the agent longer than hook_timeout, so the session was torn down; make "
            "it faster, raise hook_timeout, or ask people in on_questions or a confirm handler",
            stderr_tail=about.stderr_tail,
            partial=response,
        )
    if failure.message == "backlog":
        return BacklogOverflowError(
            "more unread output piled up than the session may hold; iterate the turn as it runs",
            stderr_tail=about.stderr_tail,
            partial=response,
        )
    how = "ended" if failure.exit_code is None else f"exited with code {failure.exit_code}"
    tail = about.stderr_tail.splitlines()
    last = f" (its last words: {tail[-1][:_MAX_DETAIL]})" if tail else ""
    return SessionLostError(
        f"the harness process {how}{last}; close() the agent and start() it again",
        exit_code=failure.exit_code,
        close_code=failure.close_code,
        stderr_tail=about.stderr_tail,
        partial=response,
    )
