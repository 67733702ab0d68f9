"""Anything at all into the codec, and what comes out of it into the session: nothing raises.

Recorded frames are bent out of shape, members dropped, renamed, retyped and added, and their bytes
torn; what the session wants sent in return must still be fit to send. All of it is seeded.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, get_args

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import CloseLink, Decide, Send
from antigravity_sync._core.answers import asked_action
from antigravity_sync._core.inputs import (
    Attached,
    Decided,
    Input,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.session import Session
from antigravity_sync._wire import codec
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.drift import clear_drift_report
from antigravity_sync._wire.encode import encode
from antigravity_sync._wire.frames import MAX_BYTES, FrameDecoder
from antigravity_sync.errors import HandshakeError
from antigravity_sync.responses import Allowed, Denied, Usage
from tests.recordings import Recording, load
from tests.stage import rules_of

CASES: Final = 20_000
_BLOCK: Final = 2_500
_PER_SESSION: Final = 50
_FRAME_TYPES: Final = get_args(m.PeerFrame)


# -- bending -----------------------------------------------------------------------------------


def _nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a_b": [value]}
    return value


_JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 10**30, 2**64, math.nan, math.inf, -math.inf),
    *("", "5", "-7", "1e5", "９", "x" * 300, "\ud800", "\x00", "STATE_FOO", "file://[", "{", "[1"),
    *([], [None], [[]], {}, {"requestId": "r"}, {"value": None}, {"httpCode": "x"}, _nested(3)),
)
_NAMES: Final = (
    *(
        "newThing",
        "new_thing",
        "",
        "error",
        "usageMetadata",
        "stepUpdate",
        "toolCall",
        "runCommand",
    ),
    *("trajectoryStateUpdate", "questionsRequest", "toolConfirmationRequest", "callHookRequest"),
    *("policyDecisionRequest", "usageUpdate", "sessionEndResponse", "argumentsJson", "total"),
    "initializeConversationResponse",
)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from _objects(member)
    elif isinstance(value, list):
        for member in value:
            yield from _objects(member)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def _all_snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake(key): _all_snake(member) for key, member in value.items()}
    return [_all_snake(member) for member in value] if isinstance(value, list) else value


def bend(event: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Return a copy of a frame with a few things about it changed."""
    event = copy.deepcopy(event)
    for _ in range(dice.randrange(1, 4)):
        inside = dice.choice(list(_objects(event)))
        name = dice.choice(list(inside)) if inside else "newThing"
        match dice.randrange(7):
            case 0:
                inside.pop(name, None)
            case 1:
                inside[_snake(name)] = inside.pop(name, None)
            case 2 | 3:
                inside[name] = copy.deepcopy(dice.choice(_JUNK))
            case 4:
                inside[dice.choice(_NAMES)] = copy.deepcopy(dice.choice(_JUNK))
            case 5:  # int64: text becomes a number and the other way round
                value = inside.get(name)
                inside[name] = int(value) if _is_count(value) else str(value)
            case 6:
                event = _all_snake(event)
    return event


def _is_count(value: Any) -> bool:
    return isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 20


def tear(text: str, dice: random.Random) -> bytes:
    """Return the bytes of a frame with some of them cut, changed or added."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(4):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + dice.randrange(1, 9)]
            case 2:
                data[at:at] = dice.randbytes(dice.randrange(1, 5))
            case 3:
                data[at : at + 1] = dice.choice((b"\xff", b"\x00", b'"', b"}", b"{", b"\xed\xa0"))
    return bytes(data)


def make_case(event: dict[str, Any], dice: random.Random) -> bytes | str:
    """Return something that a peer might send."""
    text = json.dumps(bend(event, dice) if dice.random() < 0.9 else event, ensure_ascii=False)
    if dice.random() < 0.25:
        return tear(text, dice)
    return text if dice.random() < 0.5 else text.encode("utf-8", "surrogatepass")


# -- what must hold ----------------------------------------------------------------------------


def check_frame(frame: m.PeerFrame) -> None:
    """Fail unless a frame is what its type says, so that nobody behind the codec has to look."""
    assert type(frame) in _FRAME_TYPES
    texts = {
        name: getattr(frame, name)
        for name in (
            *("trajectory_id", "state", "source", "target", "text", "text_delta", "thinking"),
            *("thinking_delta", "action", "error", "request_text", "stop_reason", "call_id"),
            *("name", "arguments_json", "request_id", "type", "rule_id", "cascade_id", "kind"),
        )
        if hasattr(frame, name)
    }
    assert all(type(text) is str for text in texts.values()), texts
    for name in ("payload", "extra", "args", "raw"):
        assert isinstance(getattr(frame, name, {}), dict), name
    if isinstance(frame, m.StepFrame):
        assert type(frame.index) is int
        assert frame.http_code is None or type(frame.http_code) is int
        assert frame.questions is None or type(frame.questions) is tuple
    if isinstance(frame, m.UsageFrame):
        for usage in (frame.total, *frame.by_trajectory.values()):
            _check_usage(usage)
    if isinstance(frame, m.InitFrame):
        for step in frame.history:
            check_frame(step)


def _check_usage(usage: Usage) -> None:
    counts = (usage.prompt_tokens, usage.cached_tokens, usage.candidates_tokens)
    for count in (*counts, usage.thoughts_tokens, usage.total_tokens):
        assert count is None or type(count) is int


class Peer:
    """A session that is fed what the codec makes of anything, and what that leads to."""

    def __init__(self, recording: Recording, dice: random.Random) -> None:
        self._dialect = Dialect.of(recording.version)
        self._session = Session(rules_of(recording.version))
        self._dice = dice
        self._now = 0.0
        self._turn_id = 0
        main = next(_mains(recording), "main")
        self._feed(Attached(m.InitFrame(main)))

    def take(self, data: bytes | str) -> None:
        for frame in codec.decode(data):
            check_frame(frame)
            self._feed(frame)
        self._now += self._dice.choice((0.0, 0.0, 0.01, 0.3))
        due = self._session.next_timer()
        if due is not None and due <= self._now:
            self._feed(Tick())
        if self._session.phase in (Phase.IDLE, Phase.BACKGROUND):
            self._turn_id += 1
            self._feed(StartTurn(self._turn_id, (m.TextPart("go"),), self._now, math.inf))
        elif self._session.phase is Phase.DETACHED:
            self._feed(Attached(m.InitFrame("main")))

    def close(self) -> None:
        self._feed(Shutdown())

    def _feed(self, happened: Input) -> None:
        for action in self._session.handle(happened, self._now):
            if isinstance(action, Send):
                encode(action.message, self._dialect).encode()
            elif isinstance(action, Decide):
                asked_action(action.ask)
                decision = self._dice.choice((Allowed(), Denied("no \ud800")))
                self._feed(Decided(action.ask.key, decision))
            elif isinstance(action, CloseLink):
                self._feed(LinkClosed(1000))


def _mains(recording: Recording) -> Iterator[str]:
    for event in _received(recording):
        if "initializeConversationResponse" in event:
            yield event["initializeConversationResponse"]["cascadeId"]


def _received(recording: Recording) -> list[dict[str, Any]]:
    return [r.msg for r in recording.records if r.dir == "recv" and r.msg is not None]


# -- the tests ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recordings() -> Iterator[list[Recording]]:
    """Return all recordings in which the harness says more than a few words."""
    yield [each for each in load().values() if len(_received(each)) > 3]
    clear_drift_report()


@pytest.mark.parametrize("first", range(0, CASES, _BLOCK))
def test_codec_and_session_when_frames_are_bent_then_nothing_raises(
    first: int, recordings: list[Recording], caplog: pytest.LogCaptureFixture
) -> None:
    """20,000 bent and torn frames give well-typed values, and the session takes all of them."""
    caplog.set_level("ERROR")  # each new name is warned about once, and here most are new
    for seed in range(first, first + _BLOCK, _PER_SESSION):
        dice = random.Random(seed)
        recording = dice.choice(recordings)
        peer = Peer(recording, dice)
        for event in dice.choices(_received(recording), k=_PER_SESSION):
            case = make_case(event, dice)
            try:
                peer.take(case)
            except Exception as error:
                where = f"seed {seed}, {recording.version} {recording.scenario}"
                raise AssertionError(f"{where}: {error!r} on {case!r}") from error
        peer.close()


def _deep(opening: str, closing: str) -> Callable[[int], str]:
    return lambda depth: opening * depth + closing * depth


@pytest.mark.parametrize("depth", [10, 400, 900, 3_000, 200_000])
@pytest.mark.parametrize(
    "frame",
    [
        _deep("[", "]"),
        _deep('{"a":', "1" + "}"),
        lambda depth: '{"step_update":' + '{"a_b":[' * depth + "]}" * depth + "}",
        lambda depth: '{"stepUpdate":{"text":' + "[" * depth + "]" * depth + "}}",
        lambda depth: '{"toolCall":{"argumentsJson":"' + "[" * depth + "]" * depth + '"}}',
        lambda depth: '{"newThing":' + '{"b":' * depth + "1" + "}" * depth + "}",
    ],
)
def test_decode_when_a_frame_is_nested_deeply_then_it_is_read_or_unreadable(
    frame: Callable[[int], str], depth: int
) -> None:
    """Neither the parser's nor our own recursion limit gets out."""
    for found in codec.decode(frame(depth)):
        check_frame(found)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b" ", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf{}", b"null", b"5", b'"x"', b"[]", b"NaN"),
        *(b"{", b"{}}", b'{"a":1}{"b":2}', b"\x80abc", '{"a":1}'.encode("utf-16"), "", "é"),
        b'{"stepUpdate":{"stepIndex":' + b"9" * 5000 + b"}}",
        b'{"usageUpdate":{"total":{"totalTokenCount":"' + b"9" * 5000 + b'"}}}',
    ],
)
def test_decode_when_a_frame_is_no_event_then_it_gives_frames_all_the_same(
    data: bytes | str,
) -> None:
    """Whatever arrives is a list of frames; what cannot be read at all says so."""
    frames = codec.decode(data)
    for frame in frames:
        check_frame(frame)
    try:
        is_event = isinstance(json.loads(data), dict)
    except ValueError:
        is_event = False
    kinds = [frame.kind for frame in frames if isinstance(frame, m.UnknownFrame)]
    assert is_event or kinds == ["unreadable"]


def _splits(data: bytes) -> Iterator[list[bytes]]:
    """Yield every way to cut `data` into pieces."""
    for cuts in range(2 ** (len(data) - 1)):
        pieces, start = [], 0
        for at in range(1, len(data)):
            if cuts >> (at - 1) & 1:
                pieces.append(data[start:at])
                start = at
        yield [*pieces, data[start:]]


def test_frame_decoder_when_fed_in_every_possible_split_then_the_message_comes_with_the_last() -> (
    None
):
    """No boundary a pipe may choose changes what is read or when."""
    message = b"ab\x00\xffcde"
    for pieces in _splits(len(message).to_bytes(4, "little") + message):
        decoder = FrameDecoder()
        *early, last = [decoder.feed(piece) for piece in pieces]
        assert last == message
        assert early == [None] * len(early)


def test_frame_decoder_when_fed_noise_then_it_waits_reads_or_refuses() -> None:
    """Bytes that are no handshake give nothing, a message, or the one error made for it."""
    dice = random.Random(5)
    for _ in range(2_000):
        decoder = FrameDecoder()
        data = dice.randbytes(4) if dice.random() < 0.5 else dice.randbytes(3) + b"\x00"
        try:
            found = decoder.feed(data + dice.randbytes(dice.randrange(40)))
        except HandshakeError:
            assert int.from_bytes(data, "little") > MAX_BYTES
        else:
            assert found is None or len(found) == int.from_bytes(data, "little")
