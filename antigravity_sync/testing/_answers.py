"""Sends a scripted answer the way the Gemini API does: server-sent events, or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import attrs

from antigravity_sync.testing._gates import ModelGate
from antigravity_sync.testing._http_server import HttpExchange
from antigravity_sync.testing._replies import (
    Answer,
    CallPart,
    Ending,
    Hang,
    HttpError,
    Part,
    Pause,
    Raw,
    Refuse,
    Stream,
)
from antigravity_sync.testing._requests import JsonObject, ModelRequest

_EVENT_STREAM: Final = "text/event-stream"
_JSON: Final = "application/json; charset=UTF-8"
# What is left of an event when a stream breaks inside it.
_CUT_EVENT: Final = b'data: {"candidates":[{"content":{"parts":[{"te'
#: What the harness demands of every call to one of its own tools and a model always fills in.
_DEMANDED_ARGUMENTS: Final = ("toolAction", "toolSummary")


def send_answer(
    exchange: HttpExchange, request: ModelRequest, answer: Answer, *, fill_summaries: bool
) -> None:
    """Send `answer` to `request`, with what its tools demand if `fill_summaries`.

    Blocks: as long as the answer's pauses and gates, and on a client that does not read.

    Raises:
        PeerGoneError: The client left or the server closes.
    """
    if fill_summaries and isinstance(answer, Stream):
        answer = _with_demanded_arguments(request, answer)
    match answer:
        case Stream() if request.method == "streamGenerateContent":
            _send_events(exchange, request.model, answer)
        case Stream():
            _send_whole(exchange, request.model, answer)
        case HttpError():
            exchange.respond(answer.code, answer.body, _JSON, answer.headers)
        case Raw():
            exchange.respond(answer.status, answer.body, answer.content_type)
        case Hang():
            exchange.pause(None)
        case Refuse():
            exchange.drop()


def send_object(exchange: HttpExchange, status: int, value: object) -> None:
    """Send one JSON object as a whole answer."""
    exchange.respond(status, json.dumps(value).encode(), _JSON)


def _send_events(exchange: HttpExchange, model: str, answer: Stream) -> None:
    exchange.begin_stream(_EVENT_STREAM)
    closing = _closing_fields(answer)
    is_complete = answer.ending is Ending.COMPLETE
    last = len(answer.pieces) - 1 if is_complete and not answer.block_reason else -1
    for index, part in _paced_parts(exchange, answer):
        is_last = index == last
        event = _render_event(part, model, closing if is_last else ("", ""))
        exchange.send_chunk(b"data: %b\r\n\r\n" % event.encode(), last=is_last)
        if is_last:
            return
    if is_complete:
        event = _render_event("", model, closing)
        exchange.send_chunk(b"data: %b\r\n\r\n" % event.encode(), last=True)
    elif answer.ending is Ending.CUT_IN_EVENT:
        exchange.send_chunk(_CUT_EVENT, last=True)
    else:
        exchange.drop()


def _send_whole(exchange: HttpExchange, model: str, answer: Stream) -> None:
    parts = ",".join(part for _, part in _paced_parts(exchange, answer))
    whole = _render_event(parts, model, _closing_fields(answer)).encode()
    if answer.ending is Ending.COMPLETE:
        exchange.respond(200, whole, _JSON)
    elif answer.ending is Ending.CUT_IN_EVENT:
        exchange.respond(200, whole[: len(whole) // 2], _JSON)
    else:
        exchange.respond_short(whole[: len(whole) // 2], _JSON, missing=len(whole) // 2 + 1)


def _paced_parts(exchange: HttpExchange, answer: Stream) -> Iterator[tuple[int, str]]:
    for index, piece in enumerate(answer.pieces):
        match piece:
            case Pause(seconds=seconds):
                exchange.pause(seconds)
            case ModelGate():
                exchange.pass_gate(piece)
            case Part(json=rendered):
                yield index, rendered


def _with_demanded_arguments(request: ModelRequest, answer: Stream) -> Stream:
    if not any(isinstance(piece, CallPart) for piece in answer.pieces):
        # Looking at the declarations parses the whole request; text can do without.
        return answer
    pieces = [
        piece.filled(_demanded(request.declarations.get(piece.name, {}), piece))
        if isinstance(piece, CallPart)
        else piece
        for piece in answer.pieces
    ]
    return attrs.evolve(answer, pieces=tuple(pieces))


def _demanded(declaration: JsonObject, call: CallPart) -> dict[str, str]:
    """Return the bookkeeping arguments that the declaration requires and the script left out."""
    schema = declaration.get("parametersJsonSchema") or declaration.get("parameters") or {}
    return {
        name: f"Calling {call.name}"
        for name in _DEMANDED_ARGUMENTS
        if name in schema.get("required", ()) and name not in call.args
    }


def _closing_fields(answer: Stream) -> tuple[str, str]:
    """Return what the last event has besides its part: inside the candidate, and beside it."""
    in_candidate = beside = ""
    if answer.finish_reason is not None:
        in_candidate = f',"finishReason":{json.dumps(answer.finish_reason)}'
    if answer.usage is not None:
        beside = f',"usageMetadata":{json.dumps(dict(answer.usage))}'
    if answer.block_reason is not None:
        beside = f',"promptFeedback":{{"blockReason":{json.dumps(answer.block_reason)}}}' + beside
    return in_candidate, beside


def _render_event(parts: str, model: str, closing: tuple[str, str]) -> str:
    # Joined by hand: the parts are JSON already, and a stream may have ten thousand of them.
    in_candidate, beside = closing
    content = f'"content":{{"parts":[{parts}],"role":"model"}},' if parts else ""
    # A blocked prompt has no candidate at all.
    is_blocked = "promptFeedback" in beside and not parts
    candidates = "" if is_blocked else f'"candidates":[{{{content}"index":0{in_candidate}}}],'
    return f'{{{candidates}"modelVersion":{json.dumps(model)}{beside}}}'
