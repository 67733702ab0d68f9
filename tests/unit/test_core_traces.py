"""Codec and session on everything that was ever recorded, against an independent reading of it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import Action, Decide, Emit, EndTurn, FailureKind, Send
from antigravity_sync._core.asks import AskKey
from antigravity_sync._core.inputs import (
    Attached,
    CancelTurn,
    Decided,
    HarnessExited,
    Input,
    InputDropped,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.session import Session
from antigravity_sync._wire import codec
from antigravity_sync._wire.drift import clear_drift_report, drift_report
from antigravity_sync.events import TextDelta
from antigravity_sync.responses import Allowed, Decision, Denied, Usage
from tests.oracle import Ask, ExpectedTurn, read_turns
from tests.recordings import Record, Recording, connections, load
from tests.stage import rules_of

_INPUT_KEYS: Final = ("userInput", "user_input", "complexUserInput")
_ANSWER_ARMS: Final = (
    ("callHookResponse", "hook", ("requestId",)),
    ("toolResponse", "tool", ("id",)),
    ("policyDecisionResponse", "policy", ("requestId",)),
    ("questionResponse", "questions", ("trajectoryId", "stepIndex")),
    ("toolConfirmation", "confirmation", ("trajectoryId", "stepIndex")),
)
_OUTCOMES: Final = {
    FailureKind.MODEL: "failed",
    FailureKind.TURN: "failed",
    FailureKind.DENIED: "failed",
    FailureKind.CANCELLED_BY_HARNESS: "failed",
    FailureKind.DETACHED: "lost",
    FailureKind.LOST: "lost",
    FailureKind.CLOSED: "open",  # nothing had ended it when the recording ended
}
_COUNTERS: Final = {
    "promptTokenCount": "prompt_tokens",
    "cachedContentTokenCount": "cached_tokens",
    "candidatesTokenCount": "candidates_tokens",
    "thoughtsTokenCount": "thoughts_tokens",
    "totalTokenCount": "total_tokens",
}
#: These the harness awaits even after a halt; all others it forgets.
_OUTLIVES_HALT: Final = ("STOP", "POST_TURN", "SESSION_START", "SESSION_END", "COMPACTION")


# -- the replay --------------------------------------------------------------------------------


@attrs.define
class Played:
    """Hold what the session made of one input."""

    first: int
    ends: list[EndTurn] = attrs.Factory(list)
    shown: list[str] = attrs.Factory(list)

    @property
    def end(self) -> EndTurn:
        return self.ends[0]

    @property
    def outcome(self) -> str:
        failure = self.end.failure
        if failure is not None:
            return _OUTCOMES.get(failure.kind, failure.kind.value)
        return "cancelled" if self.end.response.cancelled else "completed"


@attrs.define
class Replay:
    """Play one connection through a fresh session, as the pump would have seen it."""

    session: Session
    offset: int
    turns: list[Played] = attrs.Factory(list)
    answers: Counter[AskKey] = attrs.Factory(Counter)
    decides: Counter[AskKey] = attrs.Factory(Counter)
    #: Record index at which each ask was answered by the recorded client.
    answered_at: dict[AskKey, int] = attrs.Factory(dict)

    def play(self, recording: Recording) -> None:
        now = 0.0
        for index, record in enumerate(recording.records, self.offset):
            now = record.t
            self._tick(now)
            for happened in self._inputs(index, record):
                self._feed(happened, now)
        self._tick(math.inf)
        self._feed(Shutdown(), now + 3600)

    def _tick(self, until: float) -> None:
        for _ in range(1000):
            due = self.session.next_timer()
            if due is None or due > until:
                return
            self._feed(Tick(), due)
        raise AssertionError("the session never stops asking to be woken")

    def _inputs(self, index: int, record: Record) -> Iterator[Input]:
        if record.dir == "send" and record.msg is not None:
            yield from self._sent(index, record.msg, record.t)
        elif record.dir == "recv" and record.msg is not None:
            for frame in codec.decode(json.dumps(record.msg)):
                yield Attached(frame) if isinstance(frame, m.InitFrame) else frame
        elif record.dir == "stderr" and "Failed to send InputEvent" in record.line:
            yield InputDropped(record.line)
        elif record.dir == "note":
            yield from _noted(record.note or {})

    def _sent(self, index: int, event: dict[str, Any], now: float) -> Iterator[Input]:
        if any(key in event for key in _INPUT_KEYS):
            self.turns.append(Played(index))
            yield StartTurn(len(self.turns) - 1, (m.TextPart("go"),), now, math.inf)
        elif event.get("haltRequest"):
            yield CancelTurn(None)
        for key, decision in _decisions(event):
            self.answered_at.setdefault(key, index)
            yield Decided(key, decision)

    def _feed(self, happened: Input, now: float) -> None:
        was_shut = self.session.phase in (Phase.CLOSED, Phase.LOST, Phase.DETACHED)
        for action in self.session.handle(happened, now):
            self._take(action)
            assert not (was_shut and isinstance(action, Send)), f"sent after the end: {action}"

    def _take(self, action: Action) -> None:
        match action:
            case EndTurn(turn_id=turn_id):
                self.turns[turn_id].ends.append(action)
            case Emit(turn_id=turn_id, event=TextDelta(text=text, is_main=True)):
                self.turns[turn_id].shown.append(text)
            case Send(ask=key) if key is not None:
                self.answers[key] += 1
            case Decide(ask=ask):
                self.decides[ask.key] += 1


def _noted(note: dict[str, Any]) -> Iterator[Input]:
    if "ws_close_frame" in note:
        yield LinkClosed(note["ws_close_frame"]["code"])
    elif "ws_closed" in note:
        yield LinkClosed(None)
    elif "signal" in note:
        yield LinkClosed(None)
        yield HarnessExited(note["rc"])
    elif note.get("closed", "normal") != "normal":
        yield HarnessExited(note["rc"])
    elif "closed" in note or "ws_only_close" in note:
        yield Shutdown()


def _decisions(event: dict[str, Any]) -> Iterator[tuple[AskKey, Decision]]:
    for arm, kind, fields in _ANSWER_ARMS:
        if arm in event:
            said = json.dumps(event[arm])
            denied = '"DENY"' in said or "OUTCOME_DENY" in said or '"accepted": false' in said
            key = (kind, *(str(event[arm].get(field, "")) for field in fields))
            yield key, Denied("no") if denied else Allowed()


# -- the comparison ----------------------------------------------------------------------------


def replay(recording: Recording) -> list[str]:
    """Play a recording; return every point in which the session is wrong, in words."""
    expected = read_turns(recording)
    played: list[Played] = []
    wrong: list[str] = []
    offset = 0
    for connection in connections(recording):
        replay = Replay(Session(rules_of(recording.version)), offset)
        replay.play(connection)
        offset += len(connection.records)
        first = len(played)
        played += replay.turns
        wrong += [f"answered {n} times: {key}" for key, n in replay.answers.items() if n > 1]
        wrong += [f"asked {n} times for {key}" for key, n in replay.decides.items() if n > 1]
        for number, turn in enumerate(expected[first : len(played)], first):
            told = () if turn.irregular else _answer_differences(turn, replay, recording)
            wrong += [f"turn {number}: {line}" for line in told]
    assert len(played) == len(expected)
    for number, (turn, seen) in enumerate(zip(expected, played, strict=True)):
        wrong += [f"turn {number}: {line}" for line in _differences(turn, seen)]
    name = f"{recording.version} {recording.scenario}"
    return [f"{name}: {line}" for line in wrong]


def _differences(turn: ExpectedTurn, seen: Played) -> Iterator[str]:
    if len(seen.ends) != 1:
        yield f"ended {len(seen.ends)} times"
        return
    response, failure = seen.end.response, seen.end.failure
    pairs: list[tuple[str, object, object]] = [
        ("joined deltas", "".join(response.messages), "".join(seen.shown))
    ]
    if turn.irregular is None and turn.follows_failure:
        # The session has given the connection up and sends nothing on it.
        pairs.append(("outcome after a failure", "lost", seen.outcome))
    elif turn.irregular is None:
        said = failure.message if failure is not None and seen.outcome == "failed" else ""
        reason = (turn.stop_reason or "").removeprefix("STOP_REASON_") or None
        pairs += [
            ("outcome", turn.outcome, seen.outcome),
            ("messages", turn.messages, response.messages),
            ("text", turn.text, response.text),
            ("thoughts", turn.thoughts, response.thoughts),
            ("main steps", turn.steps, sum(step.is_main for step in response.steps)),
            ("error", turn.error, said),
            ("denied", turn.kind == "denied", failure is not None and _is_denial(failure.kind)),
            ("stop reason", reason, response.stop_reason),
            ("usage", _used(turn), _counted(response.usage)),
        ]
        if turn.outcome == "completed":
            pairs.append(("incomplete", False, response.incomplete))
    for what, want, got in pairs:
        if want != got:
            yield f"{what}\n      expected {want!r}\n      got      {got!r}"


def _is_denial(kind: FailureKind) -> bool:
    return kind in (FailureKind.DENIED, FailureKind.CANCELLED_BY_HARNESS)


def _used(turn: ExpectedTurn) -> dict[str, int]:
    before = turn.usage_before or {}
    after = turn.usage_total or {}
    used = {_COUNTERS[name]: n - before.get(name, 0) for name, n in after.items()}
    return {name: n for name, n in used.items() if n}


def _counted(usage: Usage) -> dict[str, int]:
    return {name: n for name in _COUNTERS.values() if (n := getattr(usage, name))}


def _answer_differences(turn: ExpectedTurn, replay: Replay, recording: Recording) -> Iterator[str]:
    arrived, halted = _moments(turn, recording)
    for ask in turn.asks:
        key = _key(ask)
        if key in replay.decides:  # the session had to be told, as the recorded client was asked
            answered_at = replay.answered_at.get(key, math.inf)
            must = answered_at < halted
        else:
            must = arrived[key] < halted or str(ask[-1]).endswith(_OUTLIVES_HALT)
        if replay.answers[key] != must:
            yield f"{key} has {replay.answers[key]} answers and must have {int(must)}"


def _moments(turn: ExpectedTurn, recording: Recording) -> tuple[dict[AskKey, int], float]:
    """Return when each ask of a turn came, and when the turn was halted, as record indices."""
    arrived: dict[AskKey, int] = {}
    halted = math.inf
    for index in range(turn.first, turn.last + 1):
        record = recording.records[index]
        if record.dir == "send" and record.msg is not None and record.msg.get("haltRequest"):
            halted = min(halted, index)
        elif record.dir == "recv" and record.msg is not None:
            for key in _asked(record.msg):
                arrived.setdefault(key, index)
    return arrived, halted


def _asked(event: dict[str, Any]) -> Iterator[AskKey]:
    yield "hook", event.get("callHookRequest", {}).get("requestId", "")
    yield "tool", event.get("toolCall", {}).get("id", "")
    yield "policy", event.get("policyDecisionRequest", {}).get("requestId", "")
    step = event.get("stepUpdate", {})
    where = (step.get("trajectoryId", ""), str(step.get("stepIndex", "")))
    if "questionsRequest" in step:
        yield ("questions", *where)
    if "toolConfirmationRequest" in step:
        yield ("confirmation", *where)


def _key(ask: Ask) -> AskKey:
    """Return the session's key of an ask as the oracle lists it."""
    if ask[0] == "hook":
        return "hook", str(ask[1])
    kind = "questions" if ask[0] == "question" else str(ask[0])
    return kind, *(str(part) for part in ask[1:])


# -- the tests ---------------------------------------------------------------------------------


def _family(scenario: str) -> str:
    return re.match(r"[A-Z]|\d+", scenario)[0]


_GROUPS: Final = sorted({(version, _family(scenario)) for version, scenario in load()})


@pytest.mark.parametrize(("version", "family"), _GROUPS, ids=lambda each: each)
def test_session_when_a_recording_is_replayed_then_every_turn_is_what_it_was(
    version: str, family: str
) -> None:
    """Outcome, texts, thinking, usage, answers and one end: as the oracle reads the recording."""
    chosen = [one for key, one in load(version).items() if _family(key[1]) == family]
    wrong = [line for recording in chosen for line in replay(recording)]
    assert not wrong, "\n  ".join(["", *wrong])


def test_codec_when_all_recordings_are_read_then_nothing_in_them_is_drift() -> None:
    """No release up to the newest known says anything that this SDK does not model."""
    clear_drift_report()
    frames = 0
    for recording in load().values():
        for record in recording.records:
            if record.dir == "recv" and record.msg is not None:
                decoded = codec.decode(json.dumps(record.msg))
                assert decoded, record.msg
                assert not any(isinstance(frame, m.UnknownFrame) for frame in decoded), record.msg
                frames += 1
    assert frames > 15_000
    assert drift_report() == {}


def test_replay_when_the_session_is_wrong_then_the_difference_is_named() -> None:
    """The comparison itself can fail: a recording with its last words cut off is not as read."""
    whole = load("0.1.10")["0.1.10", "01_text"]
    (turn,) = read_turns(whole)
    played = Replay(Session(rules_of("0.1.10")), 0)
    played.play(attrs.evolve(whole, records=whole.records[: turn.last]))

    told = "\n".join(_differences(turn, played.turns[0]))

    assert "outcome\n      expected 'completed'\n      got      'open'" in told
