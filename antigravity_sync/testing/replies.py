"""The functions that make the replies of a scripted model."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing._gates import ModelGate
from antigravity_sync.testing._replies import (
    Always,
    CallPart,
    Ending,
    Hang,
    HttpError,
    Part,
    Pause,
    Piece,
    Raw,
    Refuse,
    Reply,
    Stream,
    as_answer,
    as_part,
    as_pieces,
    render,
    render_call,
)
from antigravity_sync.testing._requests import JsonObject

#: A valid image of one transparent pixel.
TINY_PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

_STATUS_NAMES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


# ── pieces ──────────────────────────────────────────────────────────────────────────────────────


def call(name: str, /, **args: Any) -> Part:
    """Make the model call a tool.

    Args:
        name: The tool as it is declared to the model: a custom tool's own name, or a model-facing
            built-in name such as `view_file` or `run_command`.
        args: Its arguments, in the spelling of the declaration; any JSON value.

    Put several calls, or text and calls, in one list to make them one reply.

    Raises:
        ConfigError: An argument is not a JSON value.

    Example:
        >>> from antigravity_sync.testing import call
        >>> call("get_weather", city="Paris").json
        '{"functionCall":{"name":"get_weather","args":{"city":"Paris"}}}'
    """
    return CallPart(render_call(name, args), name, json.loads(render(args, "The arguments")))


def finish(**args: Any) -> Part:
    """Make the model give its structured answer: a call of the tool `finish`."""
    return call("finish", **args)


def thought(text: str) -> Part:
    """Return a piece of the model's thinking."""
    return as_part({"text": text, "thought": True})


def image(content: bytes = TINY_PNG, *, mime_type: str = "image/png") -> Part:
    """Return a picture, one pixel by default: the answer to the harness's image generation."""
    inline = {"mimeType": mime_type, "data": base64.b64encode(content).decode("ascii")}
    return as_part({"inlineData": inline})


def pause(seconds: float) -> Pause:
    """Return a piece that sends nothing for `seconds`; for demos. Tests use a `ModelGate`.

    Raises:
        ConfigError: `seconds` is negative or not finite.
    """
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ConfigError(f"pause({seconds!r}) is not a time: pass seconds, 0 or more.")
    return Pause(seconds)


def chunks(*pieces: Piece, gate: ModelGate | None = None, delay: float = 0.0) -> Stream:
    """Return a reply that is streamed in pieces, each sent at once.

    Args:
        pieces: Text, parts, `pause()` and `ModelGate` in the order they are to happen.
        gate: Stand at this gate before every part.
        delay: Seconds to pause between two parts; for demos.

    Raises:
        ConfigError: A piece cannot be sent.

    Example:
        >>> from antigravity_sync.testing import ModelGate, chunks
        >>> gate = ModelGate()
        >>> chunks("Hel", "lo", gate=gate)
        <reply {"text":"Hel"},{"text":"lo"}>
    """
    paced: list[Part | Pause | ModelGate] = []
    between = pause(delay)
    for piece in as_pieces(pieces):
        if isinstance(piece, Part):
            if between.seconds and any(isinstance(earlier, Part) for earlier in paced[-3:]):
                paced.append(between)
            if gate is not None:
                paced.append(gate)
        paced.append(piece)
    return Stream(tuple(paced))


# ── answers that end differently ────────────────────────────────────────────────────────────────


def _as_stream(reply: Reply, what: str) -> Stream:
    answer = as_answer(reply)
    if not isinstance(answer, Stream):
        raise ConfigError(f"{what} takes text or a list of pieces, not {answer!r}.")
    return answer


def finished(reply: Reply = (), reason: str | None = "MAX_TOKENS") -> Stream:
    """Return a reply that ends with a `finishReason` of its own.

    Args:
        reply: Text or pieces; `""` or nothing sends no part at all.
        reason: For example `"MAX_TOKENS"`, `"SAFETY"`, `"RECITATION"`, `"MALFORMED_FUNCTION_CALL"`;
            `None` ends the stream without any.

    Raises:
        ConfigError: `reply` is not text or pieces.
    """
    stream = _as_stream(() if reply == "" else reply, "finished()")
    return attrs.evolve(stream, finish_reason=reason)


def empty() -> Stream:
    """Return a reply that stops without a word. The harness asks again, without a limit."""
    return Stream(())


def blocked(reason: str = "SAFETY") -> Stream:
    """Return the answer to a prompt that the model's safety filter refuses."""
    return Stream((), block_reason=reason)


def truncated(reply: Reply) -> Stream:
    """Return a reply whose stream is cut in the middle of the event that follows its pieces."""
    return attrs.evolve(_as_stream(reply, "truncated()"), ending=Ending.CUT_IN_EVENT)


def dropped(reply: Reply) -> Stream:
    """Return a reply whose connection breaks after its pieces, between two events.

    The harness takes it for a network error; a stream that merely ends without a reason is
    `finished(text, None)`.
    """
    return attrs.evolve(_as_stream(reply, "dropped()"), ending=Ending.DROPPED)


def usage(
    reply: Reply,
    *,
    prompt: int | None = None,
    candidates: int | None = None,
    thoughts: int | None = None,
    cached: int | None = None,
    total: int | None = None,
) -> Stream:
    """Return a reply that reports these token counts instead of 10, 5 and 15.

    Args:
        reply: Text or pieces.
        prompt: Tokens of the request, cached ones included.
        candidates: Tokens of the answer.
        thoughts: Tokens of the thinking.
        cached: Tokens of the request that came from a cache.
        total: Defaults to `prompt`, `candidates` and `thoughts` together.

    A count that is `None` is not reported; with none given the reply reports no usage at all.

    Raises:
        ConfigError: `reply` is not text or pieces.
    """
    stream = _as_stream(reply, "usage()")
    counts = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": candidates,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": total,
    }
    given = {name: count for name, count in counts.items() if count is not None}
    if given and total is None:
        given["totalTokenCount"] = sum(count or 0 for count in (prompt, candidates, thoughts))
    return attrs.evolve(stream, usage=given or None)


# ── answers that are none ───────────────────────────────────────────────────────────────────────


def http_error(
    code: int,
    message: str = "",
    *,
    status: str | None = None,
    headers: Mapping[str, str] | None = None,
    retry_delay: float | None = None,
) -> HttpError:
    """Return an error as the Gemini API writes it.

    Args:
        code: HTTP status, 400 to 599.
        message: Its text, made up from the code when left out.
        status: The API's name of the error, by default the one that belongs to `code`.
        headers: Further response headers.
        retry_delay: Seconds of the `RetryInfo` detail that asks the client to wait; `None` for
            none.

    Raises:
        ConfigError: `code` is not an error status, or a header cannot be sent.
    """
    if not 400 <= code <= 599:
        raise ConfigError(f"http_error({code!r}) is not an error status: pass 400 to 599.")
    name = status or _STATUS_NAMES.get(code, "UNKNOWN")
    error: JsonObject = {"code": code, "message": message or f"scripted {name}", "status": name}
    if retry_delay is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": f"{pause(retry_delay).seconds:g}s"}]
    for header in (headers or {}).items():
        _check_header(*header)
    return HttpError(code, render({"error": error}, "The error").encode(), dict(headers or {}))


def hang() -> Hang:
    """Return silence: the request stays open until its client leaves or the model closes."""
    return Hang()


def refuse() -> Refuse:
    """Return a slammed door: the connection is closed without an answer."""
    return Refuse()


def raw(body: bytes | str, *, content_type: str = "text/event-stream", status: int = 200) -> Raw:
    """Return an answer of exactly these bytes, for bodies that are not what the API promises.

    Raises:
        ConfigError: `status` is not a final HTTP status, or `content_type` cannot be a header.
    """
    if not 200 <= status <= 599:
        raise ConfigError(f"raw(status={status!r}) is not a final HTTP status: pass 200 to 599.")
    _check_header("Content-Type", content_type)
    return Raw(body.encode() if isinstance(body, str) else bytes(body), content_type, status)


def always(reply: Reply) -> Always:
    """Repeat a reply for ever; only as the last element of a script.

    Raises:
        ConfigError: `reply` is nothing that can be sent.
    """
    return Always(reply if callable(reply) else as_answer(reply))


def _check_header(name: str, value: str) -> None:
    line = f"{name}: {value}"
    if ":" in name or not line.isascii() or not line.isprintable():
        raise ConfigError(
            f"The header {name!r} cannot be sent: use printable ASCII, no line breaks."
        )
