"""An independent reading of a recorded session: what each turn in it must be.

Written from what is known about the wire, not from the client's code, so that the two can be
compared. The rules, with N the last number of the harness version:

- A turn begins at each input we sent. Runs the harness starts by itself or for an automated
  trigger are not turns; what they open shows up in ``late_asks`` of the turn before.
- The main trajectory is the ``cascadeId`` of the init answer, and only it ends a turn: with
  ``STATE_IDLE``/``STATE_FULLY_IDLE`` after this turn has shown some activity, with any idle that
  carries ``error``, or with ``STATE_CANCELLED``. All other states mean "not ended".
- N <= 7: an idle waits for the sub-trajectories seen running; an idle while a shell command is
  still active is no end, because the harness runs again when the command is done.
- N == 6 labels the steps of subagents with the main trajectory; they cannot be told apart.
- If a main text step is still open at the end, frames that finish it shortly afterwards belong to
  the turn, also when the next input went out in between.
- Peer gone or process dead before the end: ``lost``. We closed, or stopped recording: ``open``.

``irregular`` marks a turn that was touched by something no correct client does; everything on the
same socket after a breach is marked too, since the harness may be in any state by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import attrs

from tests.recordings import Record, Recording, connection_starts

Outcome = Literal["completed", "failed", "cancelled", "lost", "open"]
Ask = tuple[str | int, ...]

# How long after the end a step may still be finished, in seconds of the recording's clock.
LATE_STEP_GRACE = 0.5

_IDLE = frozenset({"STATE_IDLE", "STATE_FULLY_IDLE"})
_INPUT_KEYS = ("userInput", "user_input", "complexUserInput")
_PLAIN_STEP_KEYS = frozenset(
    {"cascadeId", "trajectoryId", "parentTrajectoryId", "stepIndex", "state", "source", "target"}
    | {"text", "textDelta", "thinking", "thinkingDelta", "requestText"}
)
_OTHER_EVENTS = frozenset(
    {"haltRequest", "automatedTrigger", "sessionEndRequest", "callHookResponse", "toolResponse"}
    | {"toolConfirmation", "questionResponse", "policyDecisionResponse"}
)


@attrs.frozen
class ExpectedTurn:
    """State what one turn of a recording is.

    ``asks`` are ``("hook", request_id, type)``, ``("tool", id)``, ``("policy", request_id)``,
    ``("question", trajectory, index)`` and ``("confirmation", trajectory, index)``, of all
    trajectories, in order. ``kind`` says of a failure whether the turn was denied.
    ``follows_failure``: the turn before failed with an error, after which the harness is about to
    close the socket and what becomes of the next input is a race. ``usage_before`` and
    ``usage_total``: what the session had used when the turn began and when it ended. ``first`` and
    ``last`` are the indices of the input's record and of the record that settled the turn.
    """

    prompt: str
    outcome: Outcome
    messages: tuple[str, ...]
    thoughts: str
    usage_before: dict[str, int] | None
    usage_total: dict[str, int] | None
    steps: int
    asks: tuple[Ask, ...]
    late_asks: tuple[Ask, ...]
    halted: bool
    error: str
    kind: Literal["denied", "error"] | None
    stop_reason: str | None
    irregular: str | None
    follows_failure: bool
    first: int
    last: int

    @property
    def text(self) -> str:
        """Return the last message, or nothing."""
        return self.messages[-1] if self.messages else ""


def read_turns(recording: Recording) -> list[ExpectedTurn]:
    """Return what every user turn of the recording must be, in the order the inputs were sent."""
    return [turn.expected() for reader in _readers(recording) for turn in reader.turns]


def irregularity(recording: Recording) -> str | None:
    """Return the first thing in the recording that no correct client does, or None."""
    return next((reader.breach for reader in _readers(recording) if reader.breach), None)


def _readers(recording: Recording) -> list[_Reader]:
    starts = connection_starts(recording)
    ends = (*starts[1:], len(recording.records))
    number = int(recording.version.rsplit(".", 1)[1])
    readers = []
    for start, end in zip(starts, ends, strict=True):
        reader = _Reader(number)
        for index in range(start, end):
            reader.read(index, recording.records[index])
        reader.finish(end - 1)
        readers.append(reader)
    return readers


@attrs.define
class _Step:
    """Fold the frames of one step index of the main trajectory."""

    source: str = ""
    state: str = ""
    text: str = ""
    thinking: str = ""
    barred: bool = False
    command: bool = False

    def fold(self, update: dict[str, Any]) -> None:
        self.source, self.state = update["source"], update["state"]
        self.text, self.thinking = update["text"], update["thinking"]
        self.command = self.command or "runCommand" in update
        self.barred = (
            self.barred
            or self.source != "SOURCE_MODEL"
            or update["target"] != "TARGET_USER"
            or self.state == "STATE_ERROR"
            or not update.keys() <= _PLAIN_STEP_KEYS
        )

    @property
    def is_open(self) -> bool:
        return self.state not in ("STATE_DONE", "STATE_ERROR")


@attrs.define
class _Turn:
    """Collect one turn while the recording is read."""

    prompt: str
    first: int
    last: int
    steps: dict[int, _Step] = attrs.Factory(dict)
    subs_running: set[str] = attrs.Factory(set)
    asks: list[Ask] = attrs.Factory(list)
    late_asks: list[Ask] = attrs.Factory(list)
    queued: list[_Turn] = attrs.Factory(list)
    outcome: Outcome | None = None
    usage_before: dict[str, int] | None = None
    usage: dict[str, int] | None = None
    heard: bool = False
    active: bool = False
    idle: dict[str, Any] | None = None
    halted: bool = False
    error: str = ""
    kind: Literal["denied", "error"] | None = None
    stop_reason: str | None = None
    irregular: str | None = None
    follows_failure: bool = False
    ended_at: float = 0.0

    def open_text_steps(self) -> set[int]:
        return {i for i, step in self.steps.items() if step.is_open and not step.barred}

    def runs_a_command(self) -> bool:
        return any(step.command and step.is_open for step in self.steps.values())

    def expected(self) -> ExpectedTurn:
        ordered = [self.steps[index] for index in sorted(self.steps)]
        return ExpectedTurn(
            prompt=self.prompt,
            outcome=self.outcome or "open",
            messages=tuple(s.text for s in ordered if s.text and not s.barred),
            thoughts="".join(s.thinking for s in ordered if s.source == "SOURCE_MODEL"),
            usage_before=self.usage_before,
            usage_total=self.usage,
            steps=len(self.steps),
            asks=tuple(self.asks),
            late_asks=tuple(self.late_asks),
            halted=self.halted,
            error=self.error,
            kind=self.kind,
            stop_reason=self.stop_reason,
            irregular=self.irregular,
            follows_failure=self.follows_failure,
            first=self.first,
            last=self.last,
        )


@attrs.define
class _Reader:
    """Read the records of one WebSocket."""

    number: int
    main: str | None = None
    turns: list[_Turn] = attrs.Factory(list)
    turn: _Turn | None = None  # the one that runs
    settling: _Turn | None = None  # ended, with a text step still open
    usage: dict[str, int] | None = None
    asked: dict[Ask, Literal["waiting", "answered", "halted"]] = attrs.Factory(dict)
    breach: str | None = None

    def read(self, index: int, record: Record) -> None:
        if self.settling and record.t > self.settling.ended_at + LATE_STEP_GRACE:
            self.settling = None
        if record.dir == "send":
            self._sent(index, record)
        elif record.dir == "recv" and record.msg is not None:
            self._received(index, record.msg, record.t)
        elif record.dir == "note" and record.note is not None:
            self._noted(index, record.note)

    def finish(self, index: int) -> None:
        """Settle what the recording leaves open."""
        turn = self.turn
        if turn is None:
            return
        if not turn.heard:
            self._blame("the harness dropped the input")
        else:
            waiting = [ask for ask in turn.asks if self.asked[_key(ask)] == "waiting"]
            if waiting:
                self._blame(f"left unanswered: {waiting[0][0]}")
        self._end(turn, "open", index)

    # -- what we sent --------------------------------------------------------------------------

    def _sent(self, index: int, record: Record) -> None:
        event = record.msg
        if event is None:
            self._blame("sent a frame that is no JSON object in a text frame")
            return
        if "config" in event:
            if self.main is not None:
                self._blame("sent a second config into a session")
            return
        given = next((key for key in _INPUT_KEYS if key in event), None)
        if given is not None:
            self._input(index, event[given])
        if len(event) != 1 or not (given or event.keys() <= _OTHER_EVENTS):
            self._blame("sent an event with no or an unknown field")
        elif _is_void(event):
            self._blame("sent an event without content")
        elif event.get("haltRequest") and self.turn is not None:
            self.turn.halted = True
            for ask, state in self.asked.items():
                self.asked[ask] = "halted" if state == "waiting" else state
        for ask, answer in _answers(event):
            self._answered(ask, answer)

    def _input(self, index: int, content: Any) -> None:
        turn = _Turn(_prompt(content), index, index)
        turn.usage_before = self.usage
        turn.irregular = self.breach and f"after a breach: {self.breach}"
        turn.follows_failure = bool(self.turns) and self.turns[-1].kind == "error"
        self.turns.append(turn)
        if self.main is None:
            self.turn = turn
            self._blame("sent an input before the session was initialised")
        elif self.turn is None:
            self.turn = turn
        elif not self.turn.heard:
            self._blame("the harness dropped the input")
            self._end(self.turn, "open", index - 1)
            turn.irregular = f"after a breach: {self.breach}"
            self.turn = turn
        else:
            self._blame("sent an input while a turn was running")
            turn.irregular = self.breach
            self.turn.queued.append(turn)

    def _answered(self, ask: Ask, answer: dict[str, Any]) -> None:
        state = self.asked.get(ask)
        if state is None:
            self._blame(f"answered a {ask[0]} that was never asked")
        elif state == "answered":
            self._blame(f"answered a {ask[0]} twice")
        elif state == "halted":
            self._blame(f"answered a {ask[0]} after the halt")
        self.asked[ask] = "answered"
        if not _is_known_form(answer, self.number):
            self._blame(f"answered a {ask[0]} with a field this version drops")

    def _blame(self, reason: str) -> None:
        self.breach = self.breach or reason
        if self.turn is not None:
            self.turn.irregular = self.turn.irregular or reason

    # -- what the harness sent -----------------------------------------------------------------

    def _received(self, index: int, event: dict[str, Any], now: float) -> None:
        if "initializeConversationResponse" in event:
            answer = event["initializeConversationResponse"]
            self.main = answer["cascadeId"]
            if "cumulativeUsage" in answer:
                self.usage = _counters(answer["cumulativeUsage"])
            return
        if self.turn is not None:
            self.turn.heard = True
        self._count(event)
        for ask in _asks(event):
            self._asked(ask)
        if "stepUpdate" in event:
            self._step(index, event["stepUpdate"])
        if "trajectoryStateUpdate" in event:
            self._state(index, event["trajectoryStateUpdate"], now)

    def _count(self, event: dict[str, Any]) -> None:
        if "usageUpdate" in event:
            self.usage = _counters(event["usageUpdate"]["total"])
        if "usageMetadata" in event:  # N <= 9: of one model call, not of the session
            sums = dict(self.usage or {})
            for name, count in _counters(event["usageMetadata"]).items():
                sums[name] = sums.get(name, 0) + count
            self.usage = sums

    def _asked(self, ask: Ask) -> None:
        if _key(ask) in self.asked:
            return  # delivered again
        self.asked[_key(ask)] = "waiting"
        if self.turn is not None:
            self.turn.asks.append(ask)
        elif self.turns:
            self.turns[-1].late_asks.append(ask)

    def _step(self, index: int, update: dict[str, Any]) -> None:
        if update["trajectoryId"] != self.main:
            return
        number, late = update["stepIndex"], self.settling
        if late is not None and number in late.open_text_steps():
            late.steps[number].fold(update)
            late.usage, late.last = self.usage, index
            if not late.open_text_steps():
                self.settling = None
        elif self.turn is not None:
            self.turn.active = True
            self.turn.steps.setdefault(number, _Step()).fold(update)

    def _state(self, index: int, update: dict[str, Any], now: float) -> None:
        turn, state = self.turn, update["state"]
        if turn is None:
            return
        if update["trajectoryId"] != self.main:
            if state == "STATE_RUNNING":
                turn.subs_running.add(update["trajectoryId"])
            elif state in _IDLE or state == "STATE_CANCELLED":
                turn.subs_running.discard(update["trajectoryId"])
        elif state == "STATE_CANCELLED":
            turn.error, turn.kind = update.get("error", ""), "denied"
            self._end(turn, "failed", index, now)
            return
        elif state not in _IDLE:
            turn.active, turn.idle = True, None
        elif update.get("error"):
            turn.error, turn.kind = update["error"], "error"
            self._end(turn, "failed", index, now)
            return
        elif turn.active and not self._goes_on(turn):
            turn.idle = update
        if turn.idle is not None and not (self.number <= 7 and turn.subs_running):
            turn.stop_reason = turn.idle.get("stopReason")
            self._end(turn, "cancelled" if turn.halted else "completed", index, now)

    def _goes_on(self, turn: _Turn) -> bool:
        """Say whether the harness will run again by itself after this idle."""
        return self.number <= 7 and turn.runs_a_command() and not turn.halted

    # -- how it ends ---------------------------------------------------------------------------

    def _noted(self, index: int, note: dict[str, Any]) -> None:
        gone = note.keys() & {"ws_close_frame", "ws_closed", "signal", "closed"}
        if gone and note.get("closed") != "normal" and self.turn is not None:
            self._end(self.turn, "lost", index)

    def _end(self, turn: _Turn, outcome: Outcome, index: int, now: float | None = None) -> None:
        turn.outcome, turn.last, turn.usage = outcome, index, self.usage
        for queued in turn.queued:
            queued.outcome, queued.last, queued.usage = outcome, index, self.usage
            queued.error, queued.kind = turn.error, turn.kind
        self.turn = None
        if now is not None and turn.open_text_steps():
            turn.ended_at, self.settling = now, turn


def _prompt(content: Any) -> str:
    """Return the text the harness shows for an input."""
    if isinstance(content, str):
        return content
    parts = content.get("parts", ())
    return "".join(
        f"/{part['slashCommand']['name']}" if "slashCommand" in part else part.get("text", "")
        for part in parts
    )


def _is_void(event: dict[str, Any]) -> bool:
    """Say whether the one arm of the event is set to nothing; an empty text is a prompt."""
    (value,) = event.values()
    return value is False or value == {"parts": []} or event.get("automatedTrigger") == ""


def _asks(event: dict[str, Any]) -> Iterable[Ask]:
    if "callHookRequest" in event:
        hook = event["callHookRequest"]
        yield "hook", hook["requestId"], hook["type"]
    if "toolCall" in event:
        yield "tool", event["toolCall"]["id"]
    if "policyDecisionRequest" in event:
        yield "policy", event["policyDecisionRequest"]["requestId"]
    step = event.get("stepUpdate", {})
    if step.get("state") == "STATE_WAITING_FOR_USER":
        if "questionsRequest" in step:
            yield "question", step["trajectoryId"], step["stepIndex"]
        if "toolConfirmationRequest" in step:
            yield "confirmation", step["trajectoryId"], step["stepIndex"]


def _key(ask: Ask) -> Ask:
    """Return what an answer names: a hook's type is not in it."""
    return ask[:2] if ask[0] == "hook" else ask


def _answers(event: dict[str, Any]) -> Iterable[tuple[Ask, dict[str, Any]]]:
    for arm, kind, id_fields in (
        ("callHookResponse", "hook", ("requestId",)),
        ("toolResponse", "tool", ("id",)),
        ("policyDecisionResponse", "policy", ("requestId",)),
        ("questionResponse", "question", ("trajectoryId", "stepIndex")),
        ("toolConfirmation", "confirmation", ("trajectoryId", "stepIndex")),
    ):
        if arm in event:
            answer = event[arm]
            yield (kind, *(answer[field] for field in id_fields)), answer


def _is_known_form(answer: dict[str, Any], number: int) -> bool:
    """Say whether this version parses the answer; one unknown field and it is dropped."""
    rewrite = answer.get("preToolResult", {})
    return not (
        ("id" in answer and "errorMessage" in answer and number < 6)
        or ("modifiedArgumentsJson" in rewrite and not 7 <= number <= 17)
        or ("modifiedArgs" in rewrite and number < 17)
    )


def _counters(usage: dict[str, Any]) -> dict[str, int]:
    return {name: int(value) for name, value in usage.items() if name.endswith("TokenCount")}
