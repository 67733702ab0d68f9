"""One step of a trajectory as it grows: deltas in, events and a final form out."""

from __future__ import annotations

from typing import Final

import attrs

from .._messages import DONE, ERROR, MODEL, SYSTEM, TO_USER, StepFrame
from ..events import Compacted, ErrorRaised, Event, Severity, TextDelta, ThinkingDelta, ToolAction
from ..responses import Action, Step
from .toolsteps import read_action

#: What the harness writes when it will try the model again by itself (LIVE 15).
_RETRY_MARKS: Final = ("Encountered retryable error", "The model produced an invalid tool call")
#: Two tools that have one kind of step.
_EDITS: Final = {"create_file", "edit_file"}


@attrs.define
class _Growth:
    """A text that arrives as deltas, checked against the whole text in each frame."""

    pieces: list[str] = attrs.field(factory=list)
    length: int = 0

    def take(self, delta: str, whole: str) -> str:
        """Return what is new, and remember it.

        Each frame carries the delta and the whole text. Their lengths agree except when a frame was
        delivered twice or a last frame brings text that no delta announced; then the whole decides.
        """
        if len(whole) != self.length + len(delta) and whole:
            so_far = "".join(self.pieces)
            delta = whole[len(so_far) :] if whole.startswith(so_far) else ""
        if delta:
            self.pieces.append(delta)
            self.length += len(delta)
        return delta

    def joined(self) -> str:
        return "".join(self.pieces)


@attrs.define
class StepRecord:
    """What is known of one step.

    Attributes:
        is_text: Whether it is, and always was, text of the model for the user. A step that ever
            carried an action, an environment target or an error is none, whatever it says later.
        is_settled: Whether its last frame has come.
        is_refused: Whether we refused what it does, which has been shown already.
    """

    is_main: bool
    frame: StepFrame
    is_text: bool = True
    is_settled: bool = False
    is_refused: bool = False
    action_frame: StepFrame | None = None
    _text: _Growth = attrs.field(factory=_Growth)
    _thinking: _Growth = attrs.field(factory=_Growth)

    def take(self, frame: StepFrame) -> list[Event]:
        """Take in a frame of this step; return what a caller should see of it."""
        self.frame = frame
        if frame.action:
            self.action_frame = frame
        if self.is_text and not is_text_frame(frame):
            self.is_text = False
        settles = frame.state in (DONE, ERROR) and not self.is_settled
        self.is_settled = self.is_settled or settles
        events: list[Event] = []
        if frame.source == MODEL:
            self._take_deltas(frame, events)
        if settles:
            self._settle(frame, events)
        return events

    def _take_deltas(self, frame: StepFrame, events: list[Event]) -> None:
        where = frame.trajectory_id
        if frame.thinking_delta or frame.thinking:
            new = self._thinking.take(frame.thinking_delta, frame.thinking)
            if new:
                events.append(ThinkingDelta(new, trajectory_id=where, is_main=self.is_main))
        if self.is_text and (frame.text_delta or frame.state == DONE):
            new = self._text.take(frame.text_delta, frame.text)
            if new:
                events.append(TextDelta(new, trajectory_id=where, is_main=self.is_main))

    def _settle(self, frame: StepFrame, events: list[Event]) -> None:
        where = frame.trajectory_id
        if frame.action == "compaction":
            events.append(Compacted(frame.text, trajectory_id=where, is_main=self.is_main))
            return
        action = self.action()
        if action is not None:
            if not self.is_refused:
                events.append(ToolAction(action, trajectory_id=where, is_main=self.is_main))
        elif frame.state == ERROR and frame.source == SYSTEM:
            message = error_text(frame)
            events.append(
                ErrorRaised(
                    message,
                    Severity.TRANSIENT if message.startswith(_RETRY_MARKS) else Severity.SEVERE,
                    frame.http_code or None,
                    trajectory_id=where,
                    is_main=self.is_main,
                )
            )

    @property
    def is_done(self) -> bool:
        """Whether it has ended well."""
        return self.is_settled and self.frame.state == DONE

    @property
    def text(self) -> str:
        """The text shown to the caller so far; `""` for a step that is none."""
        return self._text.joined()

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return self._thinking.joined()

    def action(self) -> Action | None:
        """Return what the step does; a failure without a result of its own tells the error."""
        if self.action_frame is None:
            return None
        action = read_action(self.action_frame)
        if action is not None and action.result is None and self.frame.state == ERROR:
            return attrs.evolve(action, result={"error": error_text(self.frame)})
        return action

    def shows(self, call: Action) -> bool:
        """Return whether this may be the step of a call, of which it may show less.

        It says `edit_file` of a call of `create_file` too.
        """
        action = self.action()
        return (
            action is not None
            and (action.name == call.name or {action.name, call.name} == _EDITS)
            and all(call.args.get(name) == value for name, value in action.args.items())
        )

    def step(self) -> Step:
        """Return the step in its public form."""
        frame = self.frame
        return Step(
            index=frame.index,
            trajectory_id=frame.trajectory_id,
            is_main=self.is_main,
            source=frame.source.removeprefix("SOURCE_"),
            target=frame.target.removeprefix("TARGET_"),
            state=frame.state.removeprefix("STATE_"),
            text=frame.text,
            thinking=frame.thinking,
            action=self.action(),
            error=error_text(frame) if frame.state == ERROR else "",
            http_code=frame.http_code or None,
            extra=frame.extra,
        )


def is_text_frame(frame: StepFrame) -> bool:
    """Return whether a frame is text of the model for the user and nothing else."""
    return (
        frame.source == MODEL
        and frame.target == TO_USER
        and not frame.action
        and frame.state != ERROR
        and not frame.error
        and not frame.request_text
    )


def error_text(frame: StepFrame) -> str:
    """Return the fullest error text of a frame."""
    if frame.source == SYSTEM and frame.text:
        return frame.text
    return frame.error or frame.text
