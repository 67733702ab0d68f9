"""The values of a timeline: what happened from when to when, in which trajectory."""

from __future__ import annotations

import enum

import attrs


class Lane(enum.Enum):
    """What kind of thing a span is; in the order in which lanes are shown."""

    SESSION = "session"
    TURN = "turn"
    WAIT = "wait"
    """The model has been asked and has said nothing yet."""
    MODEL = "model"
    TOOL = "tool"
    HOOK = "hook"
    DECISION = "decision"
    USAGE = "usage"
    ERROR = "error"
    STDERR = "stderr"
    OTHER = "other"


class Mark(enum.Enum):
    """What is remarkable about a span."""

    PLAIN = ""
    DENIED = "denied"
    ERROR = "error"
    UNFINISHED = "unfinished"
    """The recording ends before it does."""


@attrs.define
class Span:
    """Something that took time, or happened at a moment.

    Attributes:
        lane: What kind of thing.
        name: In a few words.
        start: Seconds since the session began.
        end: The same; equal to `start` for what took no time.
        trajectory: Whose, `""` for the session's.
        detail: The payload.
        mark: What is remarkable about it.
        tokens: For usage, how many more than before.
    """

    lane: Lane
    name: str
    start: float
    end: float
    trajectory: str = ""
    detail: str = ""
    mark: Mark = Mark.PLAIN
    tokens: int = 0


@attrs.define
class SessionLine:
    """One session of a recording.

    Attributes:
        correlation_id: Its id in the recording.
        began: Seconds since 1970.
        version: Of the harness, `""` if it is not told.
        pid: Of the harness.
        conversation_id: The conversation, `""` if none was opened.
        trajectories: Names by id, the main one first.
        spans: What happened, by when it began.
        events: How many lines of the recording it has.
        length: Seconds from its first to its last line.
    """

    correlation_id: str
    began: float
    version: str = ""
    pid: int = 0
    conversation_id: str = ""
    trajectories: dict[str, str] = attrs.field(factory=dict)
    spans: list[Span] = attrs.field(factory=list)
    events: int = 0
    length: float = 0.0

    def errors(self) -> list[Span]:
        """Return what went wrong."""
        return [span for span in self.spans if span.mark is Mark.ERROR]
