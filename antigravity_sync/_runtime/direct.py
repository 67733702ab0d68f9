"""An engine in the hands of one who reads its steps and answers what the harness asks himself."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Final

import attrs

from .. import _messages as m
from .._clock import Deadline
from .._core import answers
from .._core.actions import Failure, FailureKind
from .._core.asks import Ask, AskKey, AskKind, hook_name
from .._core.inputs import Decided
from .._core.replies import Reply, Unheard
from .._core.state import State
from .._core.steps import StepRecord
from ..errors import (
    AgentBusyError,
    AgentClosedError,
    ConcurrentIterationError,
    ConfigError,
    UsageError,
)
from ..events import Event
from ..responses import ChatResponse, Denied, Step
from . import direct_answers
from .engine import Engine
from .failures import make_error
from .live_turn import MAX_UNREAD, LiveTurn, TurnEnd
from .turns import DRAIN_GRACE

#: How many asks are remembered, so that a late answer is told from one to nothing.
_REMEMBERED: Final = 4096
_CLOSED: Final = "the connection was closed; connect() anew"


@attrs.frozen
class Update:
    """A step as it stands now; `ask` is what it waits for, if anybody is to answer that."""

    step: Step
    ask: Ask | None = None

    def replaces(self, earlier: Update) -> bool:
        """Return whether `earlier` need not be read any more."""
        mine, theirs = self.step, earlier.step
        return (
            self.ask is None
            and earlier.ask is None
            and (mine.trajectory_id, mine.index) == (theirs.trajectory_id, theirs.index)
        )


@attrs.define(eq=False)
class DirectTurn(LiveTurn):
    """A turn of which its reader sees the steps in place of events."""

    _updates: deque[Update] = attrs.field(factory=deque)
    _records: dict[tuple[str, int], StepRecord] = attrs.field(factory=dict)
    _size: int = 0

    # ── the pump's side ─────────────────────────────────────────────────────────────────────────

    def put(self, event: Event) -> bool:
        """Drop an event: the steps tell it all."""
        return True

    def take_frame(self, frame: m.StepFrame, *, is_main: bool) -> bool:
        """Show a step; return `False` once too much is unread."""
        key = (frame.trajectory_id, frame.index)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = StepRecord(is_main, frame)
        record.take(frame)
        step = record.step()
        if not step.text and record.text:
            step = attrs.evolve(step, text=record.text)
        if not step.thinking and record.thinking:
            step = attrs.evolve(step, thinking=record.thinking)
        return self.show(Update(step))

    def step_at(self, trajectory_id: str, index: int) -> Step | None:
        """Return a step that was shown."""
        record = self._records.get((trajectory_id, index))
        return None if record is None else record.step()

    def show(self, update: Update) -> bool:
        """Have an update read, in place of the last one if it replaces that."""
        with self._changed:
            if self._updates and update.replaces(self._updates[-1]):
                self._size -= _size(self._updates.pop())
            self._updates.append(update)
            self._size += _size(update)
            self._changed.notify_all()
            return self._size <= MAX_UNREAD

    # ── the reader's side ───────────────────────────────────────────────────────────────────────

    def next_update(self, deadline: Deadline) -> Update | TurnEnd | None:
        """Return the next update, the end once all are read, `None` at the deadline.

        Blocks until one of the three; a signal's exception goes up.
        """
        with self._changed:
            self._wait(deadline, lambda: bool(self._updates) or self.end is not None)
            if not self._updates:
                return self.end
            update = self._updates.popleft()
            self._size -= _size(update)
            return update


def _size(update: Update) -> int:
    return len(update.step.text) + len(update.step.thinking)


class Direct:
    """The use of an engine without an agent.

    Thread: any; one reads, others may send, halt and answer meanwhile.

    Args:
        engine: What is used; its pump has had no turn yet.
        hooks: Wire names of the hooks that are passed on.
    """

    def __init__(self, engine: Engine, hooks: frozenset[str]) -> None:
        self.engine = engine
        self._hooks = hooks
        self._turn: DirectTurn | None = None
        #: Why the turn that ended last was stopped early, `None` if it was not.
        self.stop_reason: str | None = None
        self._sending = threading.Lock()
        self._reading = threading.Lock()
        self._asked: OrderedDict[AskKey, Ask] = OrderedDict()
        self._lock = threading.Lock()
        engine.listen(self._take_frame, self)

    @property
    def asked_hooks(self) -> frozenset[str]:
        """Names of the hooks that the reader is asked for.

        A harness without hooks asks for confirmations instead, which are as good as one.
        """
        names = {hook_name(hook) for hook in self._hooks}
        if not self.engine.turns.dialect.has_pre_tool_hook:
            names.add("on_pre_tool")
        return frozenset(names)

    # ── the pump's side ─────────────────────────────────────────────────────────────────────────

    def _take_frame(self, frame: m.PeerFrame, state: State) -> bool:
        live = self.engine.board.live
        turn = state.turn
        if not isinstance(frame, m.StepFrame) or turn is None or not isinstance(live, DirectTurn):
            return True
        is_main = frame.trajectory_id == state.main_id
        if is_main and not turn.may_own(frame):
            return True  # of an earlier run, or not what the model said
        return live.take_frame(frame, is_main=is_main)

    def wants(self, ask: Ask) -> bool:
        """Return whether the reader is to answer this, once the rules let it pass."""
        match ask.kind:
            case AskKind.HOOK:
                return ask.hook_type in self._hooks
            case AskKind.CONFIRMATION:
                return ask.name != ""  # without one it only announces a call
            case AskKind.TOOL | AskKind.POLICY | AskKind.QUESTIONS:
                return True

    def take(self, ask: Ask) -> None:
        """Have the reader answer; refuse if there is none."""
        live = self.engine.board.live
        if not isinstance(live, DirectTurn):
            reply: Reply = Denied("nobody is there to answer this now")
            if not answers.is_about_a_call(ask):
                reply = Unheard()
            self.engine.answer(Decided(ask.key, reply))
            return
        with self._lock:
            self._asked[ask.key] = ask
            if len(self._asked) > _REMEMBERED:
                self._asked.popitem(last=False)
        live.show(Update(self._waiting_step(live, ask), ask))

    def _waiting_step(self, live: DirectTurn, ask: Ask) -> Step:
        main = self.engine.board.snapshot.main_id
        where = ask.trajectory_id or main
        if ask.kind in (AskKind.CONFIRMATION, AskKind.QUESTIONS):
            known = live.step_at(where, ask.index)
            if known is not None:
                return known
        is_call = answers.is_about_a_call(ask)
        return Step(
            index=-1,
            trajectory_id=where,
            is_main=where == main,
            source="MODEL" if is_call else "SYSTEM",
            target="ENVIRONMENT",
            state="WAITING_FOR_USER",
            action=answers.asked_action(ask) if is_call else None,
        )

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def begin(self, parts: tuple[m.PromptPart, ...], trigger: str, timeout: float | None) -> None:
        """Send a prompt, or what a trigger says.

        Blocks until it has gone out.

        Raises:
            AgentBusyError: A turn runs.
            AgentClosedError: The connection was closed.
            ConfigError: This harness takes no trigger before the first prompt, or no such file.
            SessionLostError: The session is over.
        """
        engine = self.engine
        engine.check_fork()
        clock = engine.turns.clock
        if not self._sending.acquire(blocking=False):
            raise AgentBusyError("another thread sends on this connection; send when it has")
        try:
            if engine.board.is_closed:
                raise AgentClosedError(_CLOSED)
            engine.turns.check_open()
            live = engine.board.live
            if live is not None and not (
                live.is_cancelled and live.wait_over(Deadline.after(clock, DRAIN_GRACE + 1.0))
            ):
                raise AgentBusyError(
                    "a turn runs on this connection; read its steps to the end, or send a halt "
                    "request first"
                )
            turns = engine.turns
            if trigger and not (turns.dialect.first_trigger_ok or engine.board.snapshot.has_steps):
                raise ConfigError(
                    f"harness {turns.version} takes no trigger as the first message of a "
                    "conversation; send a prompt first"
                )
            deadline = Deadline.after(clock, timeout)
            turn = DirectTurn(turns.new_id(), deadline, timeout)
            self.stop_reason = None
            self._turn = turns.run(turn, parts, trigger)
        finally:
            self._sending.release()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of the conversation runs."""
        board = self.engine.board
        return board.live is None and (board.is_over or board.snapshot.is_idle)

    @property
    def turn(self) -> DirectTurn | None:
        """The turn begun last, `None` once it is over and read."""
        return self._turn

    def next(self, turn: DirectTurn) -> Update | None:
        """Return the next update of a turn, `None` when it is over and read.

        Blocks until there is one, until the turn has ended, or until its deadline.

        Raises:
            AntigravityError: The turn failed.
            ConcurrentIterationError: Another thread waits for the next update.
        """
        turns = self.engine.turns
        self.engine.check_fork()
        if not self._reading.acquire(blocking=False):
            raise ConcurrentIterationError(
                "another thread reads this connection; let one thread read and others send"
            )
        try:
            got = turn.next_update(turns.last_moment(turn))
        finally:
            self._reading.release()
        if isinstance(got, Update):
            return got
        if got is None:  # user code or a stuck write holds the pump up
            turns.give_up(turn)
            got = TurnEnd(ChatResponse(), Failure(FailureKind.TIMEOUT))
        if self._turn is turn:
            self._turn = None
            self.stop_reason = got.response.stop_reason
        if got.failure is None:
            return None
        if got.failure.kind is FailureKind.CLOSED:
            raise AgentClosedError(_CLOSED)
        raise make_error(got.failure, got.response, self.engine.circumstances(turn.timeout))

    # ── answers ─────────────────────────────────────────────────────────────────────────────────

    def answer_tool(self, call_id: str, result: object) -> None:
        """Answer a tool call; see `tool_reply`."""
        ask = self._find(("tool", call_id))
        dialect = self.engine.turns.dialect
        self.engine.answer(Decided(ask.key, direct_answers.tool_reply(ask, result, dialect)))

    def confirm(self, trajectory_id: str, index: int, accepted: bool) -> None:
        """Answer a step that waits for a confirmation."""
        ask = self._find(("confirmation", trajectory_id, str(index)))
        self.engine.answer(Decided(ask.key, direct_answers.confirmation_reply(ask, accepted)))

    def answer_questions(self, trajectory_id: str, index: int, said: object) -> None:
        """Answer the questions of a step; see `questions_reply`."""
        ask = self._find(("questions", trajectory_id, str(index)))
        self.engine.answer(Decided(ask.key, direct_answers.questions_reply(ask, said)))

    def answer_hook(self, request_id: str, result: object) -> None:
        """Answer a hook; see `hook_reply`."""
        ask = self._find(("hook", request_id), ("policy", request_id))
        self.engine.answer(Decided(ask.key, direct_answers.hook_reply(ask, result)))

    def _find(self, *keys: AskKey) -> Ask:
        """Return what was asked; a second answer to it, or one too late, goes nowhere.

        Raises:
            UsageError: None of the keys was ever asked.
        """
        self.engine.check_fork()
        with self._lock:
            ask = next((self._asked[key] for key in keys if key in self._asked), None)
        if ask is None:
            raise UsageError(
                f"nothing asked for {' '.join(keys[0][1:])!r}; answer with the ids of a request "
                "that receive_steps() yielded"
            )
        return ask
