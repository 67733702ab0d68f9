"""A session on a stage: short words for frames, a hand-moved clock, and what came of it."""

from __future__ import annotations

import math
from typing import Any, Final, TypeVar

import attrs

from antigravity_sync import _messages as m
from antigravity_sync._core.actions import Action, Decide, Emit, EndTurn, Failure, Send
from antigravity_sync._core.asks import AskKey
from antigravity_sync._core.inputs import Attached, CancelTurn, HaltReason, Input, StartTurn, Tick
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.rules import SessionRules
from antigravity_sync._core.session import Session
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync.events import Event, TextDelta
from antigravity_sync.responses import ChatResponse

#: The main trajectory and a subagent's.
MAIN: Final = "main"
SUB: Final = "sub"

Wanted = TypeVar("Wanted")


def rules_of(version: str, **changes: Any) -> SessionRules:
    """Return what the engine tells the session about a harness version."""
    dialect = Dialect.of(version)
    rules = SessionRules(
        harness_version=dialect.version,
        coordinates_subagents=dialect.waits_for_subagents,
        idles_while_tasks_run=dialect.idles_while_tasks_run,
        announces_tasks=dialect.announces_tasks,
    )
    return attrs.evolve(rules, **changes)


def step(
    index: int, text: str = "", state: str = "DONE", delta: str | None = None, **more: Any
) -> m.StepFrame:
    """Return a frame of model text for the user; `delta` is all of it unless given."""
    fields = {
        "trajectory_id": MAIN,
        "source": m.MODEL,
        "target": m.TO_USER,
        "text": text,
        "text_delta": text if delta is None else delta,
    }
    return m.StepFrame(index=index, state=f"STATE_{state}", **{**fields, **more})


def echo(index: int = 0, **more: Any) -> m.StepFrame:
    """Return the frame that shows the prompt as the harness has taken it in."""
    return step(index, "go", **{"source": m.USER, "target": m.TO_MODEL, **more})


def note(index: int, text: str) -> m.StepFrame:
    """Return a message of the system to the model."""
    return step(index, text, source=m.SYSTEM, target=m.TO_MODEL)


def tool(index: int, state: str = "ACTIVE", command: str = "make", **more: Any) -> m.StepFrame:
    """Return a frame of a `run_command` step."""
    fields = {
        "action": "runCommand",
        "payload": {"commandLine": command},
        "target": m.TO_ENVIRONMENT,
        **more,
    }
    return step(index, "", state, **fields)


def failure_step(index: int, message: str, code: int | None = None, **more: Any) -> m.StepFrame:
    """Return the step by which the harness shows an error of the model's service."""
    fields = {"source": m.SYSTEM, "error": message, "http_code": code, **more}
    return step(index, "", "ERROR", **fields)


def state(name: str, trajectory: str = MAIN, **more: Any) -> m.StateFrame:
    """Return a frame with the state of a whole trajectory."""
    return m.StateFrame(trajectory, f"STATE_{name}", **more)


RUNNING: Final = state("RUNNING")
IDLE: Final = state("FULLY_IDLE")
WAITING: Final = state("WAITING_FOR_TASKS")


@attrs.define
class Stage:
    """One session, its clock, and everything it wanted done so far."""

    rules: SessionRules = attrs.field(factory=lambda: rules_of("0.1.22"))
    now: float = 100.0
    done: list[Action] = attrs.field(factory=list)
    session: Session = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.session = Session(self.rules)

    @classmethod
    def of(cls, version: str, **changes: Any) -> Stage:
        """Return an attached session for a harness version."""
        stage = cls(rules_of(version, **changes))
        stage.attach()
        return stage

    def attach(self, *history: m.StepFrame) -> None:
        self.feed(Attached(m.InitFrame(MAIN, history)))

    def feed(self, *inputs: Input) -> list[Action]:
        """Let things happen now, one after the other; return what is to be done about them."""
        fresh = [action for one in inputs for action in self.session.handle(one, self.now)]
        self.done += fresh
        return fresh

    def start(self, turn_id: int = 1, timeout: float = math.inf) -> list[Action]:
        prompt = (m.TextPart("go"),)
        return self.feed(StartTurn(turn_id, prompt, self.now, self.now + timeout))

    def cancel(self, turn_id: int | None = None) -> list[Action]:
        return self.feed(CancelTurn(turn_id, HaltReason.CANCELLED))

    def begin(self, turn_id: int = 1, index: int = 0, timeout: float = math.inf) -> None:
        """Start a turn and let the harness take it up."""
        self.start(turn_id, timeout)
        self.feed(RUNNING, echo(index))

    def pass_time(self, seconds: float) -> list[Action]:
        """Move the clock, ticking whenever a timer is due, as the pump does."""
        before, end = len(self.done), self.now + seconds
        while (due := self.session.next_timer()) is not None and due <= end:
            self.now = max(self.now, due)
            self.feed(Tick())
        self.now = end
        return self.done[before:]

    # ── what came of it ─────────────────────────────────────────────────────────────────────────

    @property
    def phase(self) -> Phase:
        return self.session.phase

    def all(self, kind: type[Wanted]) -> list[Wanted]:
        return [action for action in self.done if isinstance(action, kind)]

    def ends(self, turn_id: int = 1) -> list[EndTurn]:
        return [end for end in self.all(EndTurn) if end.turn_id == turn_id]

    def is_over(self, turn_id: int = 1) -> bool:
        return bool(self.ends(turn_id))

    def response(self, turn_id: int = 1) -> ChatResponse:
        (end,) = self.ends(turn_id)
        return end.response

    def failure(self, turn_id: int = 1) -> Failure:
        (end,) = self.ends(turn_id)
        assert end.failure is not None, f"turn {turn_id} did not fail: {end.response}"
        return end.failure

    def completed(self, turn_id: int = 1) -> ChatResponse:
        (end,) = self.ends(turn_id)
        assert end.failure is None, f"turn {turn_id} failed: {end.failure}"
        return end.response

    def events(self, turn_id: int = 1) -> list[Event]:
        return [emit.event for emit in self.all(Emit) if emit.turn_id == turn_id]

    def shown(self, turn_id: int = 1) -> str:
        """Return the main text the caller of a turn was shown."""
        deltas = [e for e in self.events(turn_id) if isinstance(e, TextDelta) and e.is_main]
        return "".join(delta.text for delta in deltas)

    @property
    def sent(self) -> list[m.ClientMessage]:
        return [send.message for send in self.all(Send)]

    @property
    def halts(self) -> int:
        return sum(isinstance(message, m.Halt) for message in self.sent)

    @property
    def to_decide(self) -> list[AskKey]:
        return [decide.ask.key for decide in self.all(Decide)]
