"""One turn: which frames are its own, what its caller sees, and the response it leaves."""

from __future__ import annotations

import math
from typing import Final

import attrs

from .._messages import ERROR, IDLE_STATES, MODEL, SYSTEM, USER, StateFrame, StepFrame
from ..errors import ModelError, TurnError
from ..events import ErrorRaised, Event, Severity
from ..responses import Action, ChatResponse, ToolCall, Usage
from .actions import Failure
from .inputs import HaltReason
from .metering import Meter
from .steps import StepRecord
from .toolsteps import FINISH, RUN_COMMAND

StepKey = tuple[str, int]

#: How the harness marks the step that shows an automated trigger to the model.
_TRIGGER: Final = "sender=automated_trigger"
#: What 0.1.7 to 0.1.13 say in the model's name of a call that a halt cut, in a step without end.
_CUT_CALL: Final = frozenset({"context canceled", "failed to execute tool call: context canceled"})
#: What a state frame says when it has no reason to give.
_NO_REASON: Final = frozenset({"", "STOP_REASON_UNSPECIFIED"})


@attrs.define
class Turn:
    """The bookkeeping of the turn that runs.

    A main step belongs to the turn when it comes after the step that echoes the turn's own prompt:
    the harness may still be finishing a run of somebody else (a trigger, a background command), and
    late frames of an earlier turn carry lower indices.

    Attributes:
        turn_id: Its number.
        main_id: The main trajectory.
        first_index: The lowest main step index that can belong to it.
        started_at: When its caller came.
        deadline_at: When it must be over.
        usage_before: Totals of the session before it.
        last_index: The highest main step index that can belong to it.
        is_trigger: Whether an automated trigger began it, not a prompt.
        trigger: What that trigger said.
        meter: What it has used of its budget.
        echo_index: Index of the step that echoes its prompt, once seen.
        is_main_over: Whether the main trajectory's last reported state is idle.
        is_cut: Whether we have stopped waiting for the last frame of an open text.
        halt: Why it is being stopped, if it is.
        overdue: What it hung on when it was halted.
        halts: How many halts were sent.
        unknown: Names of states and events that nobody knows, each once.
        last_state: The main trajectory's last reported state.
        stop_reason: Why it stopped early: the harness's word, or the limit that we stopped it for.
        http_code: Status behind the main trajectory's last error, if no output came after it.
        tool_calls: Calls seen so far.
        errors: Errors that did not end it.
    """

    turn_id: int
    main_id: str
    first_index: int
    started_at: float
    deadline_at: float = math.inf
    usage_before: Usage = attrs.field(factory=Usage)
    last_index: float = math.inf
    is_trigger: bool = False
    trigger: str = ""
    meter: Meter = attrs.field(factory=Meter)
    echo_index: int | None = None
    is_main_over: bool = False
    is_cut: bool = False
    halt: HaltReason | None = None
    overdue: Failure | None = None
    halts: int = 0
    unknown: dict[str, None] = attrs.field(factory=dict)
    last_state: str = ""
    stop_reason: str = ""
    http_code: int | None = None
    tool_calls: list[ToolCall] = attrs.field(factory=list)
    errors: list[Exception] = attrs.field(factory=list)
    _records: dict[StepKey, StepRecord] = attrs.field(factory=dict)
    _held_errors: list[ErrorRaised] = attrs.field(factory=list)
    _held_index: int = -1
    _unsure: list[Exception] = attrs.field(factory=list)
    _unshown: list[Event] = attrs.field(factory=list)
    _refusals: list[tuple[Action, str, str]] = attrs.field(factory=list)

    def take_step(self, frame: StepFrame) -> list[Event]:
        """Take in a step frame; return what the caller sees of it."""
        is_main = frame.trajectory_id == self.main_id
        if is_main and not self._is_ours(frame):
            return []
        key = (frame.trajectory_id, frame.index)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = StepRecord(is_main, frame)
        events: list[Event] = []
        if is_main:
            self._go_on(frame, events)
        if frame.state == ERROR and self._refusals and not record.is_settled:
            self._settle_refusal(record, frame)
        for event in record.take(frame):
            if type(event) is ErrorRaised:
                self._take_error(event, frame, events)
            else:
                events.append(event)
        if self.echo_index is None:
            # Nobody knows yet whose output this is: keep it until the echo or the end tells.
            self._unshown.extend(events)
            return []
        return events

    def may_own(self, frame: StepFrame) -> bool:
        """Return whether a main step is one of its own, as far as is known before it is taken."""
        is_cut = self.halt is not None and frame.text in _CUT_CALL
        first = max(self.first_index, self.echo_index or 0)
        return not is_cut and first <= frame.index <= self.last_index

    def _is_ours(self, frame: StepFrame) -> bool:
        if not self.first_index <= frame.index <= self.last_index:
            return False
        if self.halt is not None and frame.text in _CUT_CALL:
            return False
        if self._is_echo(frame):
            if self.echo_index is None:
                self.echo_index = frame.index
                self._drop_before(frame.index)
            return True
        return self.echo_index is None or frame.index > self.echo_index

    def _is_echo(self, frame: StepFrame) -> bool:
        if not self.is_trigger:
            return frame.source == USER
        return frame.source == SYSTEM and _TRIGGER in frame.text.partition(" content=")[0]

    def _drop_before(self, index: int) -> None:
        """Forget what came before the echo: it was the end of another run.

        Not what callbacks raised: they answer asks, and the echo may trail those.
        """
        self._unshown.clear()
        self.errors = [
            error for error in self.errors if not any(error is each for each in self._unsure)
        ]
        self._unsure.clear()
        self._held_errors.clear()
        self.http_code = None
        for key in [k for k in self._records if k[0] != self.main_id or k[1] < index]:
            del self._records[key]

    def _go_on(self, frame: StepFrame, events: list[Event]) -> None:
        """Take note that the main trajectory says something, perhaps after an error."""
        if frame.index <= self._held_index:
            return
        self._release_held(events)
        if frame.source == MODEL:
            self.http_code = None

    def _take_error(self, event: ErrorRaised, frame: StepFrame, events: list[Event]) -> None:
        if event.is_main:
            self.http_code = event.http_code
            self._held_index = frame.index
        if event.severity is Severity.TRANSIENT:
            self._show_error(event, events)
        else:
            # A fatal error shows the same step first; only what the main trajectory does next tells
            # (LIVE 15).
            self._held_errors.append(event)

    def _release_held(self, events: list[Event]) -> None:
        for event in self._held_errors:
            self._show_error(event, events)
        self._held_errors.clear()

    def _show_error(self, event: ErrorRaised, events: list[Event]) -> None:
        events.append(event)
        transient = event.severity is Severity.TRANSIENT
        error = (
            ModelError(event.message, http_code=event.http_code, retryable=True)
            if transient
            else TurnError(event.message)
        )
        self.errors.append(error)
        if self.echo_index is None:
            self._unsure.append(error)

    def take_state(self, frame: StateFrame) -> None:
        """Take in a state of the main trajectory."""
        self.last_state = frame.state
        self.is_main_over = frame.state in IDLE_STATES
        if frame.stop_reason not in _NO_REASON:
            self.stop_reason = frame.stop_reason.removeprefix("STOP_REASON_")

    def refuse_step(self, trajectory_id: str, index: int) -> None:
        """Take note that what a waiting step does was refused, and shown so."""
        record = self._records.get((trajectory_id, index))
        if record is not None:
            record.is_refused = True

    def refuse(self, action: Action, trajectory_id: str, reason: str) -> None:
        """Take note that a call was refused and shown so, should its step still fail for it.

        Up to 0.1.6 that step tells the action and our reason; later ones do not tell the action.
        """
        self._refusals.append((action, trajectory_id, reason))

    def _settle_refusal(self, record: StepRecord, frame: StepFrame) -> None:
        """See whether a step has failed because we refused its call; each refusal fits one."""
        for refusal in self._refusals:
            action, trajectory_id, reason = refusal
            if (frame.trajectory_id, frame.error) == (trajectory_id, reason) and record.shows(
                action
            ):
                record.is_refused = True
                self._refusals.remove(refusal)
                return

    def claim_rest(self, *, is_fatal: bool) -> list[Event]:
        """Take as ours, at the end, what was held back; return it for the caller.

        Args:
            is_fatal: Whether an error that was held back is what ended the turn.
        """
        unshown, self._unshown = self._unshown, []
        if not is_fatal:
            self._release_held(unshown)
        return unshown

    def has_open_text(self) -> bool:
        """Return whether a main text step still waits for its last frame."""
        return not self.is_cut and any(
            r.is_main and r.is_text and not r.is_settled for r in self._records.values()
        )

    def has_open_call(self) -> bool:
        """Return whether a call that was let through has not ended; one in the background may."""
        return any(
            r.is_main and not r.is_settled and r.frame.action not in ("", RUN_COMMAND)
            for r in self._records.values()
        )

    @property
    def awaits_report(self) -> bool:
        """Whether the tokens of a model call are to come that was halted while it was read."""
        is_early = self.halt is HaltReason.BUDGET and self.meter.fresh_calls > 0
        return is_early and not self.meter.rules.reports_before_calls

    def has_answer(self) -> bool:
        """Return whether the last thing the turn brought on the main trajectory is a whole text."""
        if self.echo_index is None:
            return False
        last = None
        for record in self._records.values():
            if record.is_main and record.frame.source != SYSTEM:
                last = record
        return last is not None and last.is_text and last.is_settled

    def answer(self) -> str | None:
        """Return the structured answer as the model gave it, `None` if it gave none."""
        main = sorted((r for r in self._records.values() if r.is_main), key=_by_index)
        given = [r.frame.payload for r in main if r.frame.action == FINISH and r.is_done]
        return str(given[-1].get("outputString", "")) if given else None

    def open_steps(self) -> tuple[str, ...]:
        """Return a word on each step that has not ended, for the error of a turn that hangs."""
        return tuple(
            f"step {r.frame.index} {r.frame.action or r.frame.text[:40]}".rstrip()
            for r in self._records.values()
            if not r.is_settled
        )

    def halt_failure(self) -> Failure | None:
        """Return why a turn that we halted failed, `None` for one that was cancelled."""
        return self.overdue if self.halt is HaltReason.DEADLINE else None

    def respond(
        self,
        *,
        now: float,
        usage: Usage | None,
        pending: tuple[Action, ...] = (),
        conversation_id: str = "",
    ) -> ChatResponse:
        """Build the response from what has come so far.

        Args:
            now: The clock's time, for the duration.
            usage: Totals of the session, `None` if nothing was reported since the turn began.
            pending: Commands that still run.
            conversation_id: The conversation, by the user's id.
        """
        main = sorted((r for r in self._records.values() if r.is_main), key=_by_index)
        messages = tuple(r.text for r in main if r.text)
        return ChatResponse(
            text=messages[-1] if messages else "",
            messages=messages,
            thoughts="".join(r.thinking for r in main),
            usage=Usage() if usage is None else usage - self.usage_before,
            tool_calls=tuple(self.tool_calls),
            steps=tuple(r.step() for r in self._records.values()),
            errors=tuple(self.errors),
            cancelled=self.halt in (HaltReason.CANCELLED, HaltReason.ABANDONED),
            incomplete=self.is_cut or self.has_open_text(),
            stop_reason=self.stop_reason or None,
            pending_tasks=pending,
            conversation_id=conversation_id or self.main_id,
            duration=max(0.0, now - self.started_at),
        )


def _by_index(record: StepRecord) -> int:
    return record.frame.index
