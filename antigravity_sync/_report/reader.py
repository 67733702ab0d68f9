"""From the lines of a recording to timelines, one for each session in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from .. import _messages as m
from .._core.toolsteps import read_action
from .._wire import codec
from .._wire.recorder import read_recording
from ..errors import ConfigError
from .timeline import Lane, Mark, SessionLine, Span

_MAX_NAME: Final = 120
_HOOK: Final = "LIFECYCLE_HOOK_"
_SEVERE: Final = frozenset({"ERROR", "CRITICAL"})
_PROMPTS: Final = ("userInput", "complexUserInput")

Json = Mapping[str, object]


def read_timelines(path: str | os.PathLike[str]) -> list[SessionLine]:
    """Return the sessions of a recording, in the order in which they began.

    Args:
        path: A file that a `JsonlRecorder` wrote.

    Raises:
        ConfigError: It cannot be read, or there is no session in it.
    """
    readers: dict[str, _Reader] = {}
    try:
        for record in read_recording(path):
            if record.get("kind") in ("HarnessSpawn", "WsSend", "WsReceive", "HarnessStderr"):
                key = str(record.get("correlation_id"))
                if key not in readers:
                    readers[key] = _Reader(SessionLine(key, _number(record.get("time"))))
                readers[key].take(record)
    except OSError as error:
        raise ConfigError(
            f"the recording {os.fspath(path)!r} cannot be read ({error.strerror}); name a file "
            "that a JsonlRecorder wrote"
        ) from error
    if not readers:
        raise ConfigError(
            f"there is no session in {os.fspath(path)!r}; record one with `run --record FILE` or "
            "JsonlRecorder"
        )
    return [reader.finish() for reader in readers.values()]


@attrs.define
class _Reader:
    """One session, line after line."""

    line: SessionLine
    _now: float = 0.0
    _main: str = ""
    _start: Span | None = None
    _turn: Span | None = None
    #: Whose model has been asked.
    _waits: dict[str, Span] = attrs.field(factory=dict)
    #: Text and tools of steps, by trajectory and index.
    _steps: dict[tuple[str, int], Span] = attrs.field(factory=dict)
    #: Hooks, decisions and calls that wait for us, by what their answer names.
    _asks: dict[str, Span] = attrs.field(factory=dict)
    _tokens: int = 0

    def take(self, record: Json) -> None:
        self._now = max(self._now, _number(record.get("time")) - self.line.began)
        self.line.events += 1
        self.line.length = self._now
        self.line.pid = self.line.pid or int(_number(record.get("pid")))
        self.line.conversation_id = str(record.get("conversation_id") or "") or (
            self.line.conversation_id
        )
        payload = record.get("payload")
        match record.get("kind"):
            case "HarnessSpawn":
                self.line.version = str(record.get("version") or "")
                self._start = self._open(Lane.SESSION, "start", detail=str(record.get("path")))
            case "WsSend" if isinstance(payload, dict):
                self._sent(payload)
            case "WsReceive":
                for frame in codec.decode(json.dumps(payload)):
                    self._received(frame)
            case "HarnessStderr":
                self._stderr(str(record.get("line")), str(record.get("severity")))
            case _:
                pass

    def finish(self) -> SessionLine:
        """Return the session; what is open still has no end."""
        waiting = [*self._waits.values(), *self._steps.values(), *self._asks.values()]
        for span in (self._start, self._turn, *waiting):
            if span is not None:
                span.end = self._now
                if span.mark is Mark.PLAIN:
                    span.mark = Mark.UNFINISHED
        self.line.spans.sort(key=lambda span: (span.start, -span.end))
        return self.line

    # ── what we sent ────────────────────────────────────────────────────────────────────────────

    def _sent(self, payload: Json) -> None:
        for member, said in payload.items():
            if member in _PROMPTS or member == "automatedTrigger":
                self._begin_turn(said, is_trigger=member not in _PROMPTS)
            elif member == "haltRequest":
                self._moment(Lane.TURN, "halt", self._main, "")
            elif isinstance(said, dict):
                self._answered(member, said)

    def _begin_turn(self, said: object, *, is_trigger: bool) -> None:
        words = "\n".join(_texts(said)) or _shown(said)
        name = f"trigger: {words}" if is_trigger else words
        self._end_turn(Mark.PLAIN)
        self._turn = self._open(Lane.TURN, name, self._main, words)
        self._wait(self._main)

    def _answered(self, member: str, said: Json) -> None:
        match member:
            case "toolResponse":
                key = str(said.get("id"))
                error = str(said.get("errorMessage") or "")
                span = self._close(key, f"→ {error or said.get('responseJson', '')}")
                if span is not None:
                    if error:
                        _spoil(span, error)
                    self._wait(span.trajectory)
            case "callHookResponse":
                self._hook_answered(said)
            case "policyDecisionResponse":
                key = str(said.get("requestId"))
                is_allowed = str(said.get("outcome")).endswith("_ALLOW")
                self._decided(key, is_allowed=is_allowed, reason=str(said.get("denyReason") or ""))
            case "toolConfirmation":
                self._decided(_step_key(said), is_allowed=said.get("accepted") is True, reason="")
            case "questionResponse":
                self._close(_step_key(said), f"→ {_shown(said)}")
            case _:
                pass

    def _hook_answered(self, said: Json) -> None:
        key = str(said.get("requestId"))
        span = self._close(key, f"→ {_shown(said)}")
        for member in ("preToolResult", "preTurnResult"):
            decided = said.get(member)
            if span is not None and isinstance(decided, dict):
                about = span.name.removeprefix("PRE_TOOL ")
                reason = str(decided.get("reason") or "")
                self._decision(span, about, decided.get("decision") != "DENY", reason)

    def _decided(self, key: str, *, is_allowed: bool, reason: str) -> None:
        span = self._close(key, "")
        if span is not None:
            span.mark = Mark.PLAIN if is_allowed else Mark.DENIED
            span.name = f"{span.name}: {_verdict(is_allowed, reason)}"

    def _decision(self, hook: Span, about: str, is_allowed: bool, reason: str) -> None:
        name = f"{about}: {_verdict(is_allowed, reason)}"
        span = self._moment(Lane.DECISION, name, hook.trajectory, hook.detail)
        span.start = hook.start
        span.mark = Mark.PLAIN if is_allowed else Mark.DENIED

    # ── what came ───────────────────────────────────────────────────────────────────────────────

    def _received(self, frame: m.PeerFrame) -> None:
        match frame:
            case m.InitFrame():
                self._main = frame.cascade_id
                self._know(frame.cascade_id)
                if self._start is not None:
                    self._start.end, self._start = self._now, None
            case m.StepFrame():
                self._step(frame)
            case m.StateFrame():
                self._state(frame)
            case m.UsageFrame():
                self._usage(frame)
            case m.ToolCallFrame():
                span = self._ask(Lane.TOOL, frame.call_id, frame.name, frame.trajectory_id)
                span.detail = frame.arguments_json
                self._stop_waiting(span.trajectory)
            case m.HookFrame():
                self._hook(frame)
            case m.PolicyFrame():
                args = frame.args
                name = str(args.get("toolName") or "policy")
                self._ask(Lane.DECISION, frame.request_id, name, "", args)
            case m.UnknownFrame():
                self._moment(Lane.OTHER, frame.kind, "", _shown(frame.raw))
            case m.SessionEndFrame():
                self._moment(Lane.SESSION, "session end", "", "")

    def _step(self, frame: m.StepFrame) -> None:
        if frame.source == m.USER:
            return
        key = (frame.trajectory_id, frame.index)
        span = self._steps.get(key)
        is_over = frame.state in (m.DONE, m.ERROR)
        if span is None and self._is_shown(frame):
            self._stop_waiting(frame.trajectory_id)
            self._steps[key] = span = self._open_step(frame)
        if span is not None:
            _fill(span, frame)
            if is_over:
                span.end = self._now
                del self._steps[key]
                if span.lane is Lane.TOOL:
                    self._wait(frame.trajectory_id)
        if frame.error and span is None:
            self._failed(frame.error, frame.trajectory_id)
        if frame.wants_confirmation:
            key_text = f"{frame.trajectory_id} {frame.index}"
            about = span.name if span is not None else "confirmation"
            self._ask(Lane.DECISION, key_text, about, frame.trajectory_id)
        elif frame.questions is not None:
            key_text = f"{frame.trajectory_id} {frame.index}"
            self._ask(Lane.DECISION, key_text, "question", frame.trajectory_id, frame.questions)

    def _failed(self, message: str, trajectory: str) -> None:
        self._moment(Lane.ERROR, message, trajectory, message).mark = Mark.ERROR

    def _is_shown(self, frame: m.StepFrame) -> bool:
        if read_action(frame) is not None or frame.action in ("compaction", "finish"):
            return True
        is_text = frame.target == m.TO_USER and frame.source == m.MODEL
        return is_text and not frame.error and bool(frame.text or frame.thinking)

    def _open_step(self, frame: m.StepFrame) -> Span:
        action = read_action(frame)
        if action is not None:
            return self._open(Lane.TOOL, action.name, frame.trajectory_id)
        is_action = bool(frame.action)
        lane = Lane.TOOL if is_action else Lane.MODEL
        return self._open(lane, frame.action or "answer", frame.trajectory_id)

    def _state(self, frame: m.StateFrame) -> None:
        self._know(frame.trajectory_id)
        if frame.error:
            self._failed(frame.error, frame.trajectory_id)
        if frame.state == m.RUNNING and frame.trajectory_id != self._main:
            self._wait(frame.trajectory_id)
        is_over = frame.state in m.IDLE_STATES or frame.state == m.CANCELLED
        if is_over:
            self._stop_waiting(frame.trajectory_id, is_answered=False)
        if is_over and frame.trajectory_id == self._main:
            if self._turn is not None and frame.stop_reason:
                self._turn.detail += f"\n→ {frame.stop_reason}"
            self._end_turn(Mark.ERROR if frame.error else Mark.PLAIN)

    def _usage(self, frame: m.UsageFrame) -> None:
        total = frame.total.total_tokens or 0
        more = total - self._tokens if frame.is_cumulative else total
        self._tokens = total if frame.is_cumulative else self._tokens + total
        if more > 0:
            detail = _shown(attrs.asdict(frame.total))
            span = self._moment(Lane.USAGE, f"+{more} tokens", "", detail)
            span.tokens = more

    def _hook(self, frame: m.HookFrame) -> None:
        args = {name: value for name, value in frame.args.items() if name != "argumentsJson"}
        tool = str(args.get("toolName") or "")
        name = " ".join(filter(None, (frame.type.removeprefix(_HOOK), tool)))
        trajectory = str(args.get("trajectoryId") or "")
        span = self._ask(Lane.HOOK, frame.request_id, name, trajectory, args)
        if frame.type == f"{_HOOK}PRE_TOOL":  # so the model has answered
            self._stop_waiting(span.trajectory)

    def _stderr(self, text: str, severity: str) -> None:
        is_severe = severity in _SEVERE
        lane = Lane.ERROR if is_severe else Lane.STDERR
        span = self._moment(lane, text, "", text)
        span.mark = Mark.ERROR if is_severe else Mark.PLAIN

    # ── spans ───────────────────────────────────────────────────────────────────────────────────

    def _open(self, lane: Lane, name: str, trajectory: str = "", detail: str = "") -> Span:
        self._know(trajectory)
        span = Span(lane, _short(name) or lane.value, self._now, self._now, trajectory, detail)
        self.line.spans.append(span)
        return span

    _moment = _open

    def _ask(self, lane: Lane, key: str, name: str, trajectory: str, detail: object = None) -> Span:
        found = self._asks.get(key)
        if found is None:
            shown = "" if detail is None else _shown(detail)
            self._asks[key] = found = self._open(lane, name, trajectory or self._main, shown)
        return found

    def _close(self, key: str, more: str) -> Span | None:
        span = self._asks.pop(key, None)
        if span is not None:
            span.end = self._now
            span.detail = "\n".join(filter(None, (span.detail, more)))
        return span

    def _wait(self, trajectory: str) -> None:
        """Take in that a model is being asked, if nothing else of its trajectory is going on."""
        is_busy = any(key[0] == trajectory for key in self._steps)
        if trajectory not in self._waits and not is_busy:
            self._waits[trajectory] = self._open(Lane.WAIT, "waiting for the model", trajectory)

    def _stop_waiting(self, trajectory: str, *, is_answered: bool = True) -> None:
        span = self._waits.pop(trajectory, None)
        if span is None:
            return
        span.end = self._now
        if not is_answered:  # nothing was asked: the turn was over
            self.line.spans.remove(span)

    def _end_turn(self, mark: Mark) -> None:
        if self._turn is not None:
            self._turn.end = self._now
            self._turn.mark = mark
            self._turn = None

    def _know(self, trajectory: str) -> None:
        if trajectory and trajectory not in self.line.trajectories:
            number = len(self.line.trajectories)
            self.line.trajectories[trajectory] = f"subagent {number}" if number else "main"


def _fill(span: Span, frame: m.StepFrame) -> None:
    if span.lane is Lane.MODEL:
        span.detail = "\n\n".join(filter(None, (frame.thinking, frame.text)))
        span.name = "answer" if frame.text else "thinking"
    elif frame.payload:
        span.detail = _shown(frame.payload)
    if frame.error and span.mark is not Mark.ERROR:
        _spoil(span, frame.error)
        span.detail = "\n".join(filter(None, (span.detail, frame.error)))


def _spoil(span: Span, error: str) -> None:
    span.mark = Mark.ERROR
    span.name = _short(f"{span.name}: {error}")


def _short(text: str) -> str:
    return " ".join(text.split())[:_MAX_NAME]


def _verdict(is_allowed: bool, reason: str) -> str:
    if is_allowed:
        return "allowed"
    return f"denied, {reason}" if reason else "denied"


def _step_key(said: Json) -> str:
    return f"{said.get('trajectoryId')} {said.get('stepIndex') or 0}"


def _texts(said: object) -> Iterable[str]:
    if isinstance(said, str):
        yield said
    parts = said.get("parts") if isinstance(said, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
