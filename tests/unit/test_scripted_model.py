"""The scripted model, spoken to by a plain HTTP client."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import logging
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import zlib

import pytest

import antigravity_sync
from antigravity_sync.errors import ConfigError, UsageError
from antigravity_sync.testing import (
    TINY_PNG,
    ModelGate,
    ScriptedModel,
    always,
    blocked,
    call,
    chunks,
    dropped,
    empty,
    finish,
    finished,
    hang,
    http_error,
    image,
    pause,
    raw,
    refuse,
    thought,
    truncated,
    usage,
)
from antigravity_sync.testing._http_server import LoopbackServer

CEILING = 20.0
STREAM = "/v1beta/models/gemini-3.6-flash:streamGenerateContent?alt=sse"
WHOLE = "/v1beta/models/gemini-3.6-flash:generateContent"


def wrapped(text):
    """Return the user's words as the harness sends them."""
    metadata = "<ADDITIONAL_METADATA>\nThe current local time is: now.\n</ADDITIONAL_METADATA>"
    return {
        "role": "user",
        "parts": [{"text": f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n{metadata}"}],
    }


def answered(name, response):
    """Return a tool's answer as the harness sends it, in the role of the model."""
    return {
        "role": "model",
        "parts": [{"functionResponse": {"name": name, "response": response}}],
    }


class Client:
    """A keep-alive connection to one model."""

    def __init__(self, model):
        host, _, port = model.base_url.removeprefix("http://").partition(":")
        self.connection = http.client.HTTPConnection(host, int(port), timeout=CEILING)

    def send(self, *contents, path=STREAM, headers=(), **fields):
        body = json.dumps({"contents": list(contents) or [wrapped("hi")], **fields})
        self.connection.request("POST", path, body, {"x-goog-api-key": "secret", **dict(headers)})

    def post(self, *contents, **options):
        """Return status, headers and body of one request."""
        self.send(*contents, **options)
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()

    def ask(self, *contents, **options):
        """Return the events of one streamed answer."""
        status, headers, body = self.post(*contents, **options)
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        return [json.loads(event.removeprefix(b"data: ")) for event in body.split(b"\r\n\r\n")[:-1]]

    def leave(self):
        self.connection.close()


@contextlib.contextmanager
def serving(*replies, **options):
    """Start a model that is not checked at the end, and a client of it."""
    model = ScriptedModel(*replies, **options).start()
    client = Client(model)
    try:
        yield model, client
    finally:
        client.leave()
        model.close()


def parts_of(event):
    return event["candidates"][0]["content"]["parts"]


def text_of(events):
    return "".join(
        part["text"]
        for event in events
        if "content" in event["candidates"][0]
        for part in parts_of(event)
    )


def next_event(response):
    line = response.readline()
    response.readline()
    return json.loads(line.removeprefix(b"data: "))


def in_thread(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def own_threads():
    return {thread for thread in threading.enumerate() if thread.name.startswith("agsync-")}


def wait_until_alone(before):
    """Wait for the server's threads that were not there before."""
    for thread in own_threads() - before:
        thread.join(CEILING)
        assert not thread.is_alive()


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


# ── the shape of an answer ──────────────────────────────────────────────────────────────────────


def test_text_when_asked_then_one_event_with_finish_reason_and_usage():
    """A text is one event that carries the end and round token counts."""
    with serving("Hello") as (_, client):
        assert client.ask() == [
            {
                "candidates": [
                    {
                        "content": {"parts": [{"text": "Hello"}], "role": "model"},
                        "index": 0,
                        "finishReason": "STOP",
                    }
                ],
                "modelVersion": "gemini-3.6-flash",
                "usageMetadata": {
                    "promptTokenCount": 10,
                    "candidatesTokenCount": 5,
                    "totalTokenCount": 15,
                },
            }
        ]


def test_chunks_when_asked_then_one_event_each_and_only_the_last_finishes():
    """Pieces are events of their own; reason and usage stand on the last one."""
    with serving(chunks("a", "b", "c")) as (_, client):
        events = client.ask()
    assert [parts_of(event) for event in events] == [
        [{"text": "a"}],
        [{"text": "b"}],
        [{"text": "c"}],
    ]
    assert ["finishReason" in event["candidates"][0] for event in events] == [False, False, True]
    assert ["usageMetadata" in event for event in events] == [False, False, True]


def test_list_when_it_mixes_pieces_then_they_keep_their_order():
    """A list is one reply; replies made of plain pieces may stand inside it."""
    reply = [
        thought("hm"),
        chunks("a", "b"),
        call("f", x=1),
        {"text": "raw", "thoughtSignature": "s"},
    ]
    with serving(reply) as (_, client):
        assert [part for event in client.ask() for part in parts_of(event)] == [
            {"text": "hm", "thought": True},
            {"text": "a"},
            {"text": "b"},
            {"functionCall": {"name": "f", "args": {"x": 1}}},
            {"text": "raw", "thoughtSignature": "s"},
        ]


def test_call_when_an_argument_is_called_name_then_it_is_an_argument():
    """The tool's name is positional, so `name=` is the tool's own argument."""
    with serving(call("f", name="x"), finish(answer=4)) as (_, client):
        assert parts_of(client.ask()[0]) == [{"functionCall": {"name": "f", "args": {"name": "x"}}}]
        assert parts_of(client.ask()[0]) == [
            {"functionCall": {"name": "finish", "args": {"answer": 4}}}
        ]


@pytest.mark.parametrize("key", ["parametersJsonSchema", "parameters"])
def test_call_when_the_tool_demands_summaries_then_they_are_filled_in(key):
    """Bookkeeping arguments that the declaration requires are added, scripted ones are kept."""
    declaration = {"name": "view_file", key: {"required": ["toolSummary", "toolAction", "Path"]}}
    tools = [{"functionDeclarations": [declaration]}]
    with serving(call("view_file", toolAction="mine")) as (_, client):
        assert parts_of(client.ask(tools=tools)[0])[0]["functionCall"]["args"] == {
            "toolAction": "mine",
            "toolSummary": "Calling view_file",
        }


def test_call_when_it_is_a_dict_or_filling_is_off_then_it_is_sent_as_it_is():
    """Two ways out of filling in: a literal part, and the option."""
    tools = [{"functionDeclarations": [{"name": "f", "parameters": {"required": ["toolSummary"]}}]}]
    literal = {"functionCall": {"name": "f", "args": {}}}
    with serving(literal) as (_, client):
        assert parts_of(client.ask(tools=tools)[0]) == [literal]
    with serving(call("f"), fill_summaries=False) as (_, client):
        assert parts_of(client.ask(tools=tools)[0]) == [literal]


def test_usage_when_given_then_only_those_counts_are_reported():
    """A count of `None` is not reported, the total defaults to the sum, nothing means no usage."""
    replies = (
        usage("a", prompt=1, candidates=2, thoughts=3, cached=4),
        usage(["b"], total=9),
        usage("c"),
        usage("d", prompt=0),
    )
    with serving(*replies) as (_, client):
        assert [client.ask()[-1].get("usageMetadata") for _ in replies] == [
            {
                "promptTokenCount": 1,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 3,
                "cachedContentTokenCount": 4,
                "totalTokenCount": 6,
            },
            {"totalTokenCount": 9},
            None,
            {"promptTokenCount": 0, "totalTokenCount": 0},
        ]


def test_finished_when_given_a_reason_then_the_stream_ends_with_it():
    """The reason replaces STOP, `None` sends none, and no text sends no part."""
    with serving(finished("lots"), finished("", "SAFETY"), finished("x", None)) as (_, client):
        assert client.ask()[0]["candidates"][0]["finishReason"] == "MAX_TOKENS"
        assert client.ask()[0]["candidates"] == [{"index": 0, "finishReason": "SAFETY"}]
        assert "finishReason" not in client.ask()[0]["candidates"][0]


def test_empty_and_blocked_when_asked_then_they_have_no_content():
    """An empty answer stops without parts; a blocked prompt has no candidate at all."""
    with serving(empty(), blocked("OTHER")) as (_, client):
        assert client.ask()[0]["candidates"] == [{"index": 0, "finishReason": "STOP"}]
        (event,) = client.ask()
        assert event["promptFeedback"] == {"blockReason": "OTHER"}
        assert "candidates" not in event


def test_http_error_when_asked_then_status_body_and_headers_are_those_of_the_api():
    """An error has the API's body, the status name of its code, its headers and its retry delay."""
    reply = http_error(429, "slow down", headers={"Retry-After": "2"}, retry_delay=1.5)
    with serving(reply, http_error(503), http_error(418, status="TEAPOT")) as (_, client):
        status, headers, body = client.post()
        assert (status, headers["Retry-After"]) == (429, "2")
        error = json.loads(body)["error"]
        assert error["code"] == 429
        assert error["message"] == "slow down"
        assert error["status"] == "RESOURCE_EXHAUSTED"
        assert error["details"][0]["retryDelay"] == "1.5s"
        assert json.loads(client.post()[2])["error"]["status"] == "UNAVAILABLE"
        assert json.loads(client.post()[2])["error"]["status"] == "TEAPOT"


def test_raw_when_asked_then_exactly_these_bytes_arrive():
    """Malformed answers go out as written, and the connection goes on."""
    replies = (raw("<html>", content_type="text/html", status=502), raw(b"data: {oops}\r\n\r\n"))
    with serving(*replies) as (_, client):
        status, headers, body = client.post()
        assert (status, headers["Content-Type"], body) == (502, "text/html", b"<html>")
        status, headers, body = client.post()
        assert (status, headers["Content-Type"]) == (200, "text/event-stream")
        assert body == b"data: {oops}\r\n\r\n"


def test_raw_when_the_status_is_unknown_then_it_is_sent_nevertheless():
    """A status without a name in the standard is legal."""
    with serving(raw("", status=299)) as (_, client):
        assert client.post()[0] == 299


def test_truncated_when_asked_then_the_stream_ends_inside_an_event():
    """The pieces arrive whole, then half an event, then the regular end of the body."""
    with serving(truncated("half"), "next") as (_, client):
        _, _, body = client.post()
        first, _, rest = body.partition(b"\r\n\r\n")
        assert parts_of(json.loads(first.removeprefix(b"data: "))) == [{"text": "half"}]
        assert b"finishReason" not in body
        assert rest.startswith(b"data: {")
        assert not rest.endswith(b"}")
        assert text_of(client.ask()) == "next"


def test_dropped_when_asked_then_the_connection_breaks_between_events():
    """The pieces arrive, the promised end does not."""
    with serving(dropped("half")) as (_, client):
        client.send()
        response = client.connection.getresponse()
        assert parts_of(next_event(response)) == [{"text": "half"}]
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def test_dropped_when_it_has_no_pieces_then_only_the_head_arrives():
    """The headers are all the client gets."""
    with serving(dropped([])) as (_, client):
        client.send()
        response = client.connection.getresponse()
        assert response.status == 200
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def test_refuse_when_asked_then_the_connection_closes_without_an_answer():
    """Nothing arrives, and the next connection is served."""
    with serving(refuse(), "back") as (model, client):
        with pytest.raises(http.client.RemoteDisconnected):
            client.post()
        other = Client(model)
        assert text_of(other.ask()) == "back"
        other.leave()


# ── one JSON object instead of a stream ─────────────────────────────────────────────────────────


def test_whole_answer_when_asked_then_all_pieces_are_in_one_object():
    """`generateContent` gets the pieces of a reply in a single candidate, images included."""
    with serving(["a", pause(0.0), image()], blocked(), http_error(500)) as (_, client):
        status, headers, body = client.post(path=WHOLE)
        assert (status, headers["Content-Type"]) == (200, "application/json; charset=UTF-8")
        answer = json.loads(body)
        assert parts_of(answer)[0] == {"text": "a"}
        inline = parts_of(answer)[1]["inlineData"]
        assert inline["mimeType"] == "image/png"
        assert base64.b64decode(inline["data"]) == TINY_PNG
        assert answer["usageMetadata"]["totalTokenCount"] == 15
        assert "candidates" not in json.loads(client.post(path=WHOLE)[2])
        assert client.post(path=WHOLE)[0] == 500


def test_whole_answer_when_truncated_then_it_is_not_json():
    """A cut object arrives as half of one."""
    with serving(truncated("abc"), "next") as (_, client):
        with pytest.raises(json.JSONDecodeError):
            json.loads(client.post(path=WHOLE)[2])
        assert client.post(path=WHOLE)[0] == 200


def test_whole_answer_when_dropped_then_the_body_is_shorter_than_promised():
    """A broken connection leaves the client waiting for the rest."""
    with serving(dropped("abc")) as (_, client), pytest.raises(http.client.IncompleteRead):
        client.post(path=WHOLE)


def test_tiny_png_when_decoded_then_its_checksums_hold():
    """The built-in picture is a valid PNG: signature, header of one pixel, right checksums."""
    assert TINY_PNG.startswith(b"\x89PNG\r\n\x1a\n")
    rest, kinds = TINY_PNG[8:], []
    while rest:
        (size,) = struct.unpack(">I", rest[:4])
        kind_and_content, checksum = rest[4 : 8 + size], rest[8 + size : 12 + size]
        assert struct.pack(">I", zlib.crc32(kind_and_content)) == checksum
        kinds.append(kind_and_content[:4])
        if kinds[-1] == b"IHDR":
            assert struct.unpack(">II", kind_and_content[4:12]) == (1, 1)
        if kinds[-1] == b"IDAT":
            assert len(zlib.decompress(kind_and_content[4:])) == 5
        rest = rest[12 + size :]
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_count_tokens_when_asked_then_a_number_comes_and_no_reply_is_used():
    """Counting is answered beside the script and not recorded as a request."""
    with serving("only") as (model, client):
        status, _, body = client.post(path="/v1beta/models/m:countTokens")
        assert status == 200
        assert json.loads(body)["totalTokens"] > 0
        assert model.requests == []
        assert text_of(client.ask()) == "only"


def test_unknown_path_when_asked_then_404_names_it():
    """What the model does not serve is refused with a message and uses no reply."""
    with serving("only") as (model, client):
        status, _, body = client.post(path="/v1beta/models/m:embedContent")
        assert status == 404
        assert "embedContent" in json.loads(body)["error"]["message"]
        client.connection.request("GET", STREAM)
        response = client.connection.getresponse()
        assert (response.status, bool(response.read())) == (404, True)
        assert model.requests == []


# ── pacing ──────────────────────────────────────────────────────────────────────────────────────


def test_gate_when_released_once_then_exactly_one_more_piece_arrives():
    """`gate=` stands before every piece, and each release lets one out at once."""
    gate = ModelGate()
    with serving(chunks("a", "b", "c", gate=gate)) as (_, client):
        client.send()
        assert gate.waiting.wait(CEILING)
        gate.release()
        response = client.connection.getresponse()
        assert parts_of(next_event(response)) == [{"text": "a"}]
        assert gate.waiting.wait(CEILING)
        gate.release()
        assert parts_of(next_event(response)) == [{"text": "b"}]
        assert gate.waiting.wait(CEILING)
        assert repr(gate) == "<ModelGate permits=0 waiting=1>"
        gate.release_all()
        assert parts_of(next_event(response)) == [{"text": "c"}]
        assert response.read() == b""
        assert not gate.waiting.is_set()


def test_gate_when_released_beforehand_then_nothing_waits():
    """Permits are kept for arrivals to come, and an open gate stays open."""
    ahead, opened = ModelGate(), ModelGate()
    ahead.release(2)
    opened.release_all()
    assert repr(opened) == "<ModelGate open waiting=0>"
    with serving(["a", ahead, "b", ahead, opened, opened, "c"]) as (_, client):
        assert text_of(client.ask()) == "abc"
    assert repr(ahead) == "<ModelGate permits=0 waiting=0>"


def test_gate_when_it_is_the_last_piece_then_the_end_waits_behind_it():
    """The final event comes after the gate, without a part."""
    gate = ModelGate()
    with serving(["a", gate]) as (_, client):
        client.send()
        response = client.connection.getresponse()
        assert "finishReason" not in next_event(response)["candidates"][0]
        assert gate.waiting.wait(CEILING)
        gate.release()
        last = next_event(response)
        assert last["candidates"] == [{"index": 0, "finishReason": "STOP"}]
        assert last["usageMetadata"]["totalTokenCount"] == 15
        response.read()


def test_gate_when_two_streams_stand_at_it_then_they_pass_in_order_of_arrival():
    """`waiting` stays set until the last of them was let go."""
    gate, woken = ModelGate(), []
    for name in ("first", "second"):
        gate.enter(lambda name=name: woken.append(name))
    gate.release()
    assert (woken, gate.waiting.is_set()) == (["first"], True)
    gate.release()
    assert (woken, gate.waiting.is_set()) == (["first", "second"], False)


def test_gate_when_the_client_leaves_then_its_place_goes_to_nobody():
    """A stream that is gone frees its thread, and the next arrival gets the next permit."""
    before, gate = own_threads(), ModelGate()
    with serving(["a", gate, "b"], ["c", gate, "d"]) as (model, client):
        listening = own_threads()
        client.send()
        response = client.connection.getresponse()
        next_event(response)
        assert gate.waiting.wait(CEILING)
        response.close()
        client.leave()
        wait_until_alone(listening)
        assert not gate.waiting.is_set()
        other = Client(model)
        gate.release()
        assert text_of(other.ask()) == "cd"
        other.leave()
    wait_until_alone(before)


def test_gate_when_a_place_is_given_up_after_its_permit_then_the_permit_is_not_lost():
    """A permit granted to a stream that left goes to whoever waits, or is kept."""
    gate, woken = ModelGate(), []
    gone = gate.enter(lambda: woken.append("gone"))
    heir = gate.enter(lambda: woken.append("heir"))
    gate.release()
    gate.leave(gone, has_passed=False)
    assert (gone.is_granted, heir.is_granted, woken) == (True, True, ["gone", "heir"])
    gate.leave(heir, has_passed=False)
    assert repr(gate) == "<ModelGate permits=1 waiting=0>"
    gate.leave(gate.enter(lambda: woken.append("late")), has_passed=True)
    assert repr(gate) == "<ModelGate permits=0 waiting=0>"
    assert woken == ["gone", "heir"]


def test_gate_when_released_by_less_than_one_then_it_is_an_error():
    """A release that lets nothing through is a mistake."""
    with pytest.raises(ConfigError, match="1 or more"):
        ModelGate().release(0)


def test_delay_when_given_then_pauses_stand_between_pieces_only():
    """The pieces of a delayed reply arrive whole and in order."""
    assert [type(piece).__name__ for piece in chunks("a", "b", "c", delay=0.25).pieces] == [
        "Part",
        "Pause",
        "Part",
        "Pause",
        "Part",
    ]
    with serving(chunks("a", "b", delay=0.001)) as (_, client):
        assert text_of(client.ask()) == "ab"


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_pause_when_it_is_no_time_then_it_is_an_error(seconds):
    """Negative and endless pauses are refused when the script is written."""
    with pytest.raises(ConfigError, match="seconds"):
        pause(seconds)


# ── silence, and leaving ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [hang(), [pause(3600.0), "late"], [ModelGate(), "late"]])
def test_waiting_answer_when_the_client_leaves_then_its_thread_ends(reply):
    """A request that is held back ends with its client, whatever holds it."""
    before = own_threads()
    with serving(reply, "next") as (model, client):
        listening = own_threads()
        client.send()
        model.wait_for_request(1)
        client.connection.sock.shutdown(socket.SHUT_RDWR)
        client.leave()
        wait_until_alone(listening)
        assert text_of(client.ask()) == "next"
    wait_until_alone(before)


@pytest.mark.parametrize("reply", [hang(), [pause(3600.0), "late"], [ModelGate(), "late"]])
def test_waiting_answer_when_the_model_closes_then_thread_and_connection_end(reply):
    """`close()` cuts a held request off and leaves no thread behind."""
    before = own_threads()
    model = ScriptedModel(reply).start()
    client = Client(model)
    client.send()
    model.wait_for_request(1)
    model.close()
    assert own_threads() == before
    with pytest.raises(ConnectionError):
        client.connection.getresponse()
    client.leave()


def test_waiting_answer_when_the_client_resets_the_connection_then_its_thread_ends():
    """A reset is a way to leave like any other."""
    before = own_threads()
    with serving(hang()) as (model, client):
        listening = own_threads()
        client.send()
        model.wait_for_request(1)
        client.connection.sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        client.leave()
        wait_until_alone(listening)
    wait_until_alone(before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="limits descriptors")
def test_client_when_no_descriptor_is_free_then_it_is_served_once_there_is():
    """Running out of descriptors delays a client and does not end the server."""
    import resource

    warned = threading.Event()
    watch = logging.Handler()
    watch.emit = lambda record: warned.set()
    log = logging.getLogger("antigravity_sync.testing")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving("late") as (_, client), contextlib.ExitStack() as undo:
        log.addHandler(watch)
        undo.callback(log.removeHandler, watch)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(descriptors()) + 40, limits[1]))
        undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        fillers = []
        undo.callback(lambda: [os.close(filler) for filler in fillers])
        with contextlib.suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        os.close(fillers.pop())
        client.send()
        assert warned.wait(CEILING)
        while fillers:
            os.close(fillers.pop())
        assert client.connection.getresponse().read().endswith(b"}\r\n\r\n")


def test_long_stream_when_the_client_stops_reading_then_close_ends_it():
    """A sender that the client's full buffers hold up is freed by `close()`."""
    before = own_threads()
    model = ScriptedModel(chunks(*["x" * 100_000] * 400)).start()
    client = Client(model)
    client.send()
    next_event(client.connection.getresponse())
    model.close()
    assert own_threads() == before
    client.leave()


def test_long_stream_when_the_client_leaves_then_its_thread_ends():
    """A sender whose client is gone gives up without a traceback."""
    before = own_threads()
    with serving(chunks(*["x" * 100_000] * 400)) as (_, client):
        listening = own_threads()
        client.send()
        response = client.connection.getresponse()
        next_event(response)
        response.close()
        client.leave()
        wait_until_alone(listening)
    wait_until_alone(before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are listed in /proc")
def test_close_when_requests_hang_and_connections_idle_then_no_descriptor_is_left():
    """All descriptors of the server are gone after `close()`, in every state of a connection."""
    before = descriptors()
    gate = ModelGate()
    model = ScriptedModel("idle", hang(), ["a", gate]).start()
    clients = [Client(model) for _ in range(4)]
    clients[0].ask()
    clients[1].send()
    model.wait_for_request(2)
    clients[2].send()
    assert gate.waiting.wait(CEILING)
    clients[3].connection.connect()
    clients[3].connection.sock.sendall(b"POST /half HTTP/1.1\r\n")
    model.close()
    for client in clients:
        client.leave()
    assert descriptors() == before


def test_close_when_called_twice_or_before_start_then_it_does_nothing():
    """Closing is idempotent, and a closed model does not start."""
    never = ScriptedModel()
    never.close()
    with pytest.raises(UsageError, match="new one"):
        never.start()
    model = ScriptedModel().start()
    with pytest.raises(UsageError, match="new one"):
        model.start()
    address = model.base_url
    model.close()
    model.close()
    assert model.base_url == address


def test_close_when_a_reply_function_calls_it_then_it_returns_and_the_client_is_cut_off():
    """A function of the script may close its own model without waiting for itself."""
    before = own_threads()
    model = ScriptedModel(lambda request: model.close() or "unseen").start()
    client = Client(model)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        client.post()
    client.leave()
    wait_until_alone(before)


def test_close_when_a_reply_function_does_not_return_then_it_gives_up_on_it():
    """A stuck function costs its grace, not for ever, and its client is cut off."""
    stuck, entered = threading.Event(), threading.Event()

    def answer(_request, exchange):
        entered.set()
        stuck.wait(CEILING)
        exchange.pause(None)

    before = own_threads()
    server = LoopbackServer(answer)
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=CEILING) as client:
        client.sendall(b"POST / HTTP/1.1\r\n\r\n")
        assert entered.wait(CEILING)
        server.close(grace=0.0)
        assert client.recv(1) == b""
    stuck.set()
    wait_until_alone(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_close_when_called_in_a_forked_child_then_the_parent_goes_on_serving():
    """A child that leaves the parent's `with` block does not take the server down."""
    with serving("still here") as (model, client):
        child = os.fork()
        if child == 0:
            model.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert text_of(client.ask()) == "still here"


# ── the script ──────────────────────────────────────────────────────────────────────────────────


def test_replies_when_several_requests_come_then_they_are_used_in_order():
    """One reply per request, over one connection."""
    with ScriptedModel("one", "two") as model:
        client = Client(model)
        assert [text_of(client.ask()), text_of(client.ask())] == ["one", "two"]
        model.assert_done()
        client.leave()


def test_loop_when_the_script_is_used_up_then_it_starts_again():
    """`loop` repeats the whole script and is never unscripted."""
    with ScriptedModel("a", "b", loop=True) as model:
        client = Client(model)
        assert "".join(text_of(client.ask()) for _ in range(5)) == "ababa"
        client.leave()


def test_always_when_the_script_is_used_up_then_its_reply_repeats():
    """`always` follows the script and never runs out."""
    with ScriptedModel("a", always("b")) as model:
        client = Client(model)
        assert "".join(text_of(client.ask()) for _ in range(4)) == "abbb"
        model.assert_done()
        client.leave()


def test_function_when_it_repeats_then_it_answers_by_what_is_asked():
    """A function of the request can tell agents apart, and may return any reply."""

    def reply(request):
        if request.function_responses:
            return chunks("tool said ", request.function_responses[-1][1]["output"])
        return "echo " + request.prompt

    with ScriptedModel(always(reply)) as model:
        client = Client(model)
        assert text_of(client.ask(wrapped("hello"))) == "echo hello"
        assert text_of(client.ask(wrapped("x"), answered("f", {"output": "4"}))) == "tool said 4"
        client.leave()


def test_function_when_it_fails_then_the_turn_ends_and_the_block_raises():
    """An exception in a reply function is answered with 400 and chained at the end."""

    def reply(request):
        raise LookupError("no idea")

    failing = pytest.raises(AssertionError, match=r"request 1 failed.*'hi'")
    with failing as raised, ScriptedModel(reply) as model:
        client = Client(model)
        status, _, body = client.post()
        client.leave()
    assert isinstance(raised.value.__cause__, LookupError)
    assert status == 400
    assert "no idea" in json.loads(body)["error"]["message"]


def test_function_when_it_returns_nothing_then_the_block_says_so():
    """A function that forgot its return is a failure with a remedy."""
    failing = pytest.raises(AssertionError, match="None is not a reply")
    with failing, ScriptedModel(lambda request: None) as model:
        client = Client(model)
        assert client.post()[0] == 400
        client.leave()


def test_unscripted_call_when_the_block_ends_then_it_says_what_was_asked():
    """A call too many is answered with 400, recorded, and fails the block with its details."""
    with pytest.raises(AssertionError) as raised, ScriptedModel("only") as model:
        client = Client(model)
        client.ask()
        status, _, body = client.post(wrapped("more"), answered("get_weather", {"t": 21}))
        client.leave()
    message = json.loads(body)["error"]["message"]
    assert status == 400
    assert "no reply for request 2" in message
    for fact in ("request 2", "'more'", "'get_weather'", "21", "(1)"):
        assert fact in str(raised.value)
    assert [request.number for request in model.unscripted] == [2]


def test_unscripted_call_when_the_body_raised_then_its_exception_is_kept():
    """The body's own exception is not masked."""
    with pytest.raises(ZeroDivisionError), ScriptedModel() as model:
        client = Client(model)
        client.post()
        client.leave()
        raise ZeroDivisionError


def test_assert_done_when_a_reply_is_left_then_it_names_the_first():
    """Unused replies are a failure only when asked for."""
    with ScriptedModel("used", call("get_weather", city="Paris")) as model:
        client = Client(model)
        client.ask()
        client.leave()
        with pytest.raises(AssertionError, match=r"used 1 of 2.*get_weather"):
            model.assert_done()


@pytest.mark.parametrize(
    "script",
    [
        (None,),
        (3,),
        (pause(1.0),),
        (ModelGate(),),
        ([["nested"]],),
        ([http_error(500)],),
        ([finished("a")],),
        ([always("a")],),
        (always("a"), "b"),
        ({"text": object()},),
        ({"text": float("nan")},),
    ],
)
def test_script_when_an_element_cannot_be_sent_then_it_is_an_error_at_once(script):
    """Mistakes show where the script is written, before anything is started."""
    with pytest.raises(ConfigError):
        ScriptedModel(*script)


@pytest.mark.parametrize(
    "make",
    [
        lambda: call("f", x=object()),
        lambda: usage(http_error(500)),
        lambda: truncated(hang()),
        lambda: chunks(3),
        lambda: always(3),
        lambda: http_error(200),
        lambda: http_error(500, headers={"X": "a\r\nb"}),
        lambda: http_error(500, headers={"X:Y": "a"}),
        lambda: http_error(500, headers={"X": "é"}),
        lambda: raw("", status=100),
        lambda: raw("", content_type="a\nb"),
    ],
)
def test_reply_function_when_its_arguments_are_wrong_then_it_is_an_error(make):
    """What cannot be sent is refused by the function that would make it."""
    with pytest.raises(ConfigError):
        make()


def test_repr_when_shown_then_it_is_short_and_tells_the_state():
    """Models, replies and requests can be looked at in a failing test."""
    assert repr(ScriptedModel("a")) == "<ScriptedModel not started, 0 requests, 1 replies>"
    assert len(repr(chunks(*["long"] * 10_000))) < 300
    assert repr(blocked()) == "<reply SAFETY>"
    with serving("a") as (model, client):
        client.ask()
        assert repr(model) == f"<ScriptedModel {model.base_url}, 1 requests, 1 replies>"
        assert repr(model.requests[0]) == "<ModelRequest 1 streamGenerateContent prompt 'hi'>"


# ── what was asked ──────────────────────────────────────────────────────────────────────────────


def test_request_when_recorded_then_its_parts_can_be_looked_up():
    """A request tells its contents, tools, instruction and function responses."""
    declaration = {"name": "f", "parametersJsonSchema": {"type": "object"}}
    contents = [wrapped("go"), answered("f", {"output": "x"}), answered("g", {"n": 1})]
    with serving("a") as (model, client):
        client.ask(
            *contents,
            tools=[{"functionDeclarations": [declaration]}, {"googleSearch": {}}],
            systemInstruction={"parts": [{"text": "be "}, {"text": "kind"}]},
        )
        (request,) = model.requests
    assert (request.number, request.method) == (1, "streamGenerateContent")
    assert (request.model, request.path) == ("gemini-3.6-flash", STREAM)
    assert request.contents == contents
    assert request.body["contents"] == contents
    assert json.loads(request.raw_body) == request.body
    assert request.tools == ("f",)
    assert request.declarations == {"f": declaration}
    assert request.system_instruction == "be kind"
    assert request.function_responses == [("f", {"output": "x"}), ("g", {"n": 1})]
    assert request.prompt == "go"
    assert request.last_text.startswith("<USER_REQUEST>")


def test_prompt_when_the_harness_speaks_as_the_user_then_it_is_still_the_users():
    """`prompt` is what the user last said, `last_text` what came last in that role."""
    complaint = {"role": "user", "parts": [{"text": "Error: try again"}]}
    with serving("a", "b", "c", "d") as (model, client):
        client.ask(wrapped("first"), wrapped("a </USER_REQUEST> inside"), complaint)
        client.ask({"role": "user", "parts": [{"text": "draw "}, {"text": "a cat"}]})
        client.ask({"role": "model", "parts": [{"text": "nothing of the user"}]})
        client.ask({"parts": [{"text": "no role"}]})
        one, two, three, four = model.requests
    assert (one.prompt, one.last_text) == ("a </USER_REQUEST> inside", "Error: try again")
    assert one.describe() == "prompt 'a </USER_REQUEST> inside', then 'Error: try again'"
    assert (two.prompt, two.last_text) == ("draw a cat", "draw a cat")
    assert (three.prompt, three.last_text) == ("", "")
    assert four.prompt == "no role"


def test_request_when_it_carries_credentials_then_only_api_key_has_them():
    """Keys in headers and address are hidden everywhere but in the field for them."""
    headers = {"Authorization": "Bearer tok", "Cookie": "c"}
    with serving(always("a")) as (model, client):
        client.ask(headers=headers)
        client.ask(path=STREAM + "&key=inurl", headers={"x-goog-api-key": ""})
        client.ask(headers={"x-goog-api-key": "", **headers})
        with_header, with_query, with_bearer = model.requests
    assert with_header.api_key == "secret"
    assert with_header.headers["x-goog-api-key"] == "***"
    assert with_header.headers["authorization"] == "***"
    assert with_header.headers["cookie"] == "***"
    assert with_header.headers["content-length"].isdigit()
    assert (with_query.api_key, with_query.path) == ("inurl", STREAM + "&key=***")
    assert with_bearer.api_key == "tok"
    for request in model.requests:
        for secret in ("secret", "inurl", "tok"):
            assert secret not in repr(request)


def test_request_when_its_body_is_not_an_object_then_it_reads_as_empty():
    """Looking into a broken request does not raise; its bytes are kept."""
    with serving("a", "b") as (model, client):
        for body in (b"{oops", b"[1]"):
            client.connection.request("POST", STREAM, body)
            client.connection.getresponse().read()
        broken, other = model.requests
    assert (broken.body, broken.raw_body, broken.tools) == ({}, b"{oops", ())
    assert (other.body, other.contents, other.prompt) == ({}, [], "")


@pytest.mark.parametrize(
    ("path", "model_name"),
    [
        ("/v1/models/gemini-x:generateContent", "gemini-x"),
        (
            "/v1beta1/projects/p/locations/l/publishers/google/models/g%20x:generateContent",
            "g x",
        ),
        ("/any/prefix/v1beta/models/tuned/one:generateContent", "tuned/one"),
    ],
)
def test_path_when_it_has_another_prefix_then_the_model_is_found(path, model_name):
    """Every address that ends in models/NAME:METHOD is served."""
    with serving("a") as (model, client):
        assert json.loads(client.post(path=path)[2])["modelVersion"] == model_name
        assert model.requests[0].model == model_name


def test_wait_for_request_when_it_arrives_later_then_it_is_returned():
    """The wait ends with the arrival, not with the answer."""
    with serving(hang(), hang()) as (model, client):
        thread = in_thread(client.send)
        request = model.wait_for_request(1, timeout=None)
        thread.join(CEILING)
        assert (request.number, request.prompt) == (1, "hi")
        assert model.wait_for_request(1) is model.requests[0]


def test_wait_for_request_when_it_does_not_come_then_it_fails():
    """The wait ends with its timeout, and with `close()` at once."""
    with serving() as (model, _):
        with pytest.raises(AssertionError, match=r"Request 1 .*waited 0.0 s.*0 arrived"):
            model.wait_for_request(1, timeout=0.0)
        closing = in_thread(model.close)
        with pytest.raises(AssertionError, match="closed"):
            model.wait_for_request(1, timeout=None)
        closing.join(CEILING)


def test_max_requests_when_exceeded_then_only_the_newest_are_kept():
    """A long run keeps a bounded record, with the numbers going on."""
    with serving(always("a"), max_requests=2) as (model, client):
        for _ in range(5):
            client.ask()
        assert [request.number for request in model.requests] == [4, 5]
        assert model.wait_for_request(5).number == 5
        with pytest.raises(AssertionError, match="5 arrived"):
            model.wait_for_request(1)


def test_agent_options_when_started_then_they_point_to_the_model():
    """The options carry name, a key that is no secret, and the address."""
    model = ScriptedModel(name="gemini-x")
    with pytest.raises(UsageError, match="start"):
        model.agent_options()
    with model:
        assert model.agent_options() == {
            "model": "gemini-x",
            "api_key": "scripted-key",
            "base_url": model.base_url,
        }
        assert model.base_url.startswith("http://127.0.0.1:")


def test_many_agents_when_they_ask_at_once_then_each_gets_its_own_answer():
    """Requests are served side by side: eight functions meet at one barrier."""
    meeting = threading.Barrier(8, timeout=CEILING)

    def reply(request):
        meeting.wait()
        return "echo " + request.prompt

    with ScriptedModel(reply, loop=True) as model:
        answers = {}

        def ask(number):
            client = Client(model)
            answers[number] = text_of(client.ask(wrapped(f"agent {number}")))
            client.leave()

        threads = [in_thread(lambda number=number: ask(number)) for number in range(8)]
        for thread in threads:
            thread.join(CEILING)
        assert answers == {number: f"echo agent {number}" for number in range(8)}
        assert sorted(request.number for request in model.requests) == list(range(1, 9))


# ── HTTP ────────────────────────────────────────────────────────────────────────────────────────


def exchange(model, sent):
    """Send bytes and return everything that comes back until the server closes."""
    port = int(model.base_url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=CEILING) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
    return received


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"POST / HTTP/2\r\n\r\n",
        b"POST / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"X" * 70_000,
    ],
)
def test_bytes_when_they_are_not_http_then_400_and_the_end(sent):
    """Garbage is answered and costs only its own connection."""
    with serving("fine") as (model, client):
        # The rest of oversized garbage may reset the connection before the answer is read.
        with contextlib.suppress(ConnectionResetError):
            assert exchange(model, sent).startswith(b"HTTP/1.1 400 ")
        assert text_of(client.ask()) == "fine"


def test_request_body_when_it_comes_in_chunks_then_it_is_put_together():
    """Chunked request bodies with extensions and trailers are read whole."""
    head = f"POST {WHOLE} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    body = b'6;ext=1\r\n{"a":1\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n'
    with serving("a") as (model, _):
        received = exchange(model, head.encode() + body)
        assert b"\r\nConnection: close\r\n" in received
        assert model.requests[0].body == {"a": 1}


def test_http_1_0_client_when_it_asks_then_the_stream_ends_with_the_connection():
    """Without chunked encoding the pieces are sent bare, and closing is the end."""
    with serving(chunks("a", "b")) as (model, _):
        received = exchange(model, f"POST {STREAM} HTTP/1.0\r\n\r\n".encode())
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body.count(b"data: ") == 2
    assert body.endswith(b"}\r\n\r\n")


def test_client_when_it_expects_100_continue_then_it_gets_it():
    """The interim answer comes before the real one."""
    head = f"POST {WHOLE} HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n"
    with serving("a") as (model, _):
        received = exchange(model, f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_requests_when_pipelined_behind_a_held_one_then_both_are_answered():
    """Bytes that arrive while an answer is held back belong to the next request."""
    gate = ModelGate()
    request = f"POST {WHOLE} HTTP/1.1\r\nContent-Length: 2\r\n".encode()
    with serving([gate, "one"], "two") as (model, _):
        port = int(model.base_url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=CEILING) as connection:
            connection.sendall(request + b"\r\n{}")
            assert gate.waiting.wait(CEILING)
            connection.sendall(request + b"Connection: close\r\n\r\n{}")
            gate.release()
            received = b""
            while piece := connection.recv(65_536):
                received += piece
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.index(b'"one"') < received.index(b'"two"')


def test_flood_when_it_comes_behind_a_held_request_then_the_connection_is_given_up():
    """A client that keeps sending instead of waiting cannot grow the server without a limit."""
    before = own_threads()
    with serving(hang()) as (model, _):
        listening = own_threads()
        port = int(model.base_url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=CEILING) as connection:
            connection.sendall(f"POST {WHOLE} HTTP/1.1\r\n\r\n".encode())
            model.wait_for_request(1)
            with pytest.raises(ConnectionError):
                while True:
                    connection.sendall(b"x" * 65_536)
        wait_until_alone(listening)
    wait_until_alone(before)


def test_large_body_when_sent_then_it_arrives_whole():
    """Bodies have no limit: eight megabytes are read and recorded."""
    with serving("a") as (model, client):
        client.ask(wrapped("x" * 8_000_000))
        assert len(model.requests[0].prompt) == 8_000_000


# ── packaging ───────────────────────────────────────────────────────────────────────────────────

ROOT = pathlib.Path(antigravity_sync.__path__[0]).parent


def test_import_when_pytest_is_missing_then_the_kit_works():
    """Only the plugin needs pytest."""
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "import antigravity_sync.testing as kit\n"
        "assert all(hasattr(kit, name) for name in kit.__all__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_fixture_when_a_test_ends_then_its_models_are_closed_and_checked(tmp_path):
    """The fixture starts models, closes them, and turns a call without a reply into an error."""
    tests = tmp_path / "test_user.py"
    tests.write_text(
        "import threading, urllib.error, urllib.request, pytest\n"
        "models = []\n"
        "def ask(model):\n"
        "    url = model.base_url + '/v1beta/models/m:generateContent'\n"
        "    return urllib.request.urlopen(url, b'{}', timeout=20).read()\n"
        "def test_fine(scripted_model):\n"
        "    models.append(scripted_model('a', name='m'))\n"
        "    assert b'\"a\"' in ask(models[0])\n"
        "def test_closed():\n"
        "    with pytest.raises(urllib.error.URLError):\n"
        "        ask(models[0])\n"
        "def test_unscripted(scripted_model):\n"
        "    scripted_model('unused')\n"
        "    with pytest.raises(urllib.error.HTTPError) as raised:\n"
        "        ask(scripted_model())\n"
        "    raised.value.close()\n"
        "def test_nothing_left():\n"
        "    assert [t for t in threading.enumerate() if t.name.startswith('agsync')] == []\n"
    )
    options = ["-p", "antigravity_sync.testing.plugin", "-p", "no:cacheprovider", "-q", "-rA"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tests)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )
    assert "4 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "The model was called 1 times more than its script has replies (0)" in done.stdout
