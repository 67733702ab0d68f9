"""Random walks through the session: whatever happens in whatever order, its invariants hold.

A walk is a list of plain moves, so that it can be played again and shrunk. What the session asked
(`Decide`) is answered or not by later moves; at its end every walk is shut down.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import Budget
from antigravity_sync import _messages as m
from antigravity_sync._core.actions import Action, Decide, EndTurn, Lose, Note, Send
from antigravity_sync._core.asks import Ask, AskKey
from antigravity_sync._core.inputs import (
    Attached,
    CancelTurn,
    Decided,
    Detach,
    HaltReason,
    HarnessExited,
    Input,
    InputDropped,
    LinkClosed,
    Shutdown,
    StartTurn,
    Tick,
)
from antigravity_sync._core.phases import CONNECTED_PHASES, TRANSITIONS, Phase, Signal
from antigravity_sync._core.session import Session
from antigravity_sync._core.state import State
from antigravity_sync.responses import Allowed, Denied, Usage
from tests.stage import MAIN, SUB, rules_of

WALKS: Final = 2000
MOVES: Final = 60
_VERSIONS: Final = ("0.1.5", "0.1.7", "0.1.8", "0.1.9", "0.1.10", "0.1.22")

#: A move: what it is called, and what it is about.
Move = tuple[str, Any]


# -- making walks ------------------------------------------------------------------------------

_STATES: Final = (
    *("RUNNING", "RUNNING", "FULLY_IDLE", "FULLY_IDLE", "IDLE", "CANCELLED"),
    *("WAITING_FOR_TASKS", "WAITING_FOR_SUBAGENTS", "FOO", "UNSPECIFIED"),
)
_SOURCES: Final = (m.MODEL, m.MODEL, m.MODEL, m.USER, m.SYSTEM, "SOURCE_FOO")
_TARGETS: Final = (m.TO_USER, m.TO_USER, m.TO_MODEL, m.TO_ENVIRONMENT, "TARGET_FOO")
_STEP_STATES: Final = ("ACTIVE", "ACTIVE", "DONE", "DONE", "ERROR", "WAITING_FOR_USER", "FOO")
_ACTIONS: Final = ("", "", "", "runCommand", "runCommand", "editFile", "finish", "compaction", "x")
_HOOKS: Final = (
    *("PRE_TOOL", "PRE_TOOL", "POST_TOOL", "PRE_TURN", "POST_TURN", "STOP"),
    *("ON_SESSION_START", "FOO"),
)
_WHO: Final = (MAIN, MAIN, MAIN, SUB, "sub-2", "")


def make_walk(seed: int) -> tuple[str, list[Move]]:
    """Return the version and the moves of a walk."""
    dice = random.Random(seed)
    moves: list[Move] = [("attach", False)] if dice.random() < 0.97 else []
    turn_id = 0
    while len(moves) < MOVES:
        kind = dice.choices(tuple(_MAKERS), tuple(weight for weight, _ in _MAKERS.values()))[0]
        if kind == "start":
            turn_id += 1
            moves.append(("start", (turn_id, dice.choice((0.0, 1.0, 30.0, math.inf)))))
            if dice.random() < 0.7:  # mostly the harness takes it up
                moves += [("state", (MAIN, "RUNNING", "")), ("echo", dice.randrange(8))]
            if dice.random() < 0.3:  # and sometimes it is done before its last word is out
                moves += [("text", dice.randrange(8)), ("state", (MAIN, "FULLY_IDLE", ""))]
        elif kind == "cancel":
            moves.append(("cancel", (dice.choice((None, turn_id, turn_id - 1)), dice.randrange(3))))
        else:
            moves.append((kind, _MAKERS[kind][1](dice)))
    return dice.choice(_VERSIONS), moves


def _make_step(dice: random.Random) -> dict[str, Any]:
    text = dice.choice(("", "a", "ab", "abc"))
    return {
        "trajectory_id": dice.choice(_WHO),
        "index": dice.randrange(8),
        "state": f"STATE_{dice.choice(_STEP_STATES)}",
        "source": dice.choice(_SOURCES),
        "target": dice.choice(_TARGETS),
        "text": text,
        "text_delta": dice.choice((text, text[-1:], "", "z")),
        "thinking": dice.choice(("", "", "hm")),
        "action": dice.choice(_ACTIONS),
        "error": dice.choice(("", "", "boom")),
        "http_code": dice.choice((None, 0, 400)),
        "wants_confirmation": dice.random() < 0.3,
        "questions": dice.choice((None, None, (), ({},))),
    }


def _make_ask(dice: random.Random) -> tuple[str, str, str]:
    return dice.choice(("hook", "tool", "policy", "unknown")), str(dice.randrange(6)), "view_file"


def _make_state(dice: random.Random) -> tuple[str, str, str]:
    return dice.choice(_WHO), dice.choice(_STATES), dice.choice(("", "", "", "boom"))


_MAKERS: Final[dict[str, tuple[float, Any]]] = {
    "step": (24, _make_step),
    "state": (16, _make_state),
    "echo": (3, lambda dice: dice.randrange(8)),
    "text": (3, lambda dice: dice.randrange(8)),
    "ask": (10, lambda dice: (*_make_ask(dice), dice.choice(_HOOKS))),
    "usage": (2, lambda dice: (dice.randrange(9), dice.random() < 0.5)),
    "other": (1, lambda dice: dice.randrange(2)),
    "start": (8, None),
    "cancel": (5, None),
    "decide": (8, lambda dice: (dice.randrange(3), dice.random() < 0.5)),
    "decide unknown": (1, lambda dice: ("tool", str(dice.randrange(9)))),
    "time": (14, lambda dice: dice.choice((0.0, 0.1, 0.26, 0.5, 1.0, 2.5, 70.0))),
    "attach": (7, lambda dice: dice.random() < 0.2),
    "detach": (0.5, lambda _: ()),
    "dropped": (1, lambda _: ()),
    "link": (2, lambda dice: dice.choice((None, 1000, 1006))),
    "exit": (0.6, lambda dice: dice.choice((None, 0, -9))),
    "shut": (0.1, lambda _: ()),
}


# -- playing them ------------------------------------------------------------------------------


@attrs.define
class WatchedState(State):
    """A session's state that keeps account of the transitions it makes."""

    used: set[tuple[Phase, Signal]] = attrs.field(factory=set)

    def move(self, signal: Signal) -> None:
        before = self.phase
        super().move(signal)
        self.used.add((before, signal))


@attrs.define
class Walk:
    """Play moves and hold the session to its invariants."""

    version: str
    now: float = 100.0
    open_asks: list[Ask] = attrs.field(factory=list)
    started: list[int] = attrs.field(factory=list)
    ended: Counter[int] = attrs.field(factory=Counter)
    answers: Counter[AskKey] = attrs.field(factory=Counter)
    decides: Counter[AskKey] = attrs.field(factory=Counter)
    budget: Budget | None = None
    #: Highest step index of the main trajectory, now and when the turn that runs was begun.
    highest: int = -1
    highest_before: int = -1
    #: Whether the harness has shown the prompt of the turn that runs.
    is_echoed: bool = False
    is_link_up: bool = False
    is_over: bool = False
    log: list[tuple[Input, list[Action]]] = attrs.field(factory=list)
    session: Session = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.session = Session(rules_of(self.version, budget=self.budget))
        self.session.state = WatchedState(self.session.rules)

    @property
    def used(self) -> set[tuple[Phase, Signal]]:
        state = self.session.state
        assert isinstance(state, WatchedState)
        return state.used

    def play(self, moves: list[Move]) -> None:
        for name, about in moves:
            if name == "time":
                self._pass_time(about)
            else:
                happened = self._input(name, about)
                if happened is not None:
                    self._feed(happened)
        self._feed(Shutdown())
        assert len(self.session.state.asks) == 0, "an ask was neither answered nor withdrawn"
        assert self.session.next_timer() is None, "a closed session wants to be woken"
        for turn_id in self.started:
            assert self.ended[turn_id] == 1, f"turn {turn_id} ended {self.ended[turn_id]} times"

    def _pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(100):
            due = self.session.next_timer()
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self._feed(Tick())
        else:
            raise AssertionError("the session never stops asking to be woken")
        self.now = end

    def _input(self, name: str, about: Any) -> Input | None:
        match name:
            case "attach":  # the one input whose order is up to our own side
                is_due = self.session.phase in (Phase.FRESH, Phase.DETACHED)
                return Attached(m.InitFrame(MAIN), is_new=about) if is_due else None
            case "start":
                turn_id, timeout = about
                return StartTurn(turn_id, (m.TextPart("go"),), self.now, self.now + timeout)
            case "cancel":
                return CancelTurn(about[0], list(HaltReason)[about[1]])
            case "decide":
                return self._decision(*about)
            case "decide unknown":
                return Decided(about, Allowed())
            case "detach":
                return Detach()
            case "dropped":
                return InputDropped("dropped")
            case "link":
                return LinkClosed(about)
            case "exit":
                return HarnessExited(about)
            case "shut":
                return Shutdown()
            case _:
                return _frame(name, about)

    def _decision(self, which: int, is_allowed: bool) -> Input | None:
        if which >= len(self.open_asks):
            return None
        ask = self.open_asks.pop(which)
        return Decided(ask.key, Allowed() if is_allowed else Denied("no"))

    # -- the invariants ------------------------------------------------------------------------

    def _feed(self, happened: Input) -> None:
        before = self.session.phase
        turn, asks = self.session.state.turn, len(self.session.state.asks)
        actions = self.session.handle(happened, self.now)
        self.log.append((happened, actions))
        if isinstance(happened, Attached) and before is not self.session.phase:
            self.answers.clear()  # a new connection starts new series of ids
            self.decides.clear()
            self.open_asks.clear()
            self.is_link_up = True
            self.highest = -1 if happened.is_new else self.highest
        for action in actions:
            self._check(action, happened, before)
        if isinstance(happened, LinkClosed | HarnessExited | Shutdown):
            self.is_link_up = False
        if self.session.phase not in CONNECTED_PHASES:
            self.is_link_up = False
        if isinstance(happened, Decided):
            sent = sum(isinstance(action, Send) for action in actions)
            assert sent == asks - len(self.session.state.asks), "an open ask was not answered"
        self._look_for_echo(happened, before)
        self._check_idle(happened, before, turn is not None and self.session.state.turn is None)
        self.is_over = self.is_over or isinstance(happened, Shutdown)

    def _check(self, action: Action, happened: Input, before: Phase) -> None:
        may = (EndTurn, Note)  # a turn that comes too late is refused
        assert not self.is_over or isinstance(action, may), f"acted after the end: {action}"
        match action:
            case Send(message=message, ask=key):
                assert self.is_link_up, f"sent without a connection: {message}"
                assert before is not Phase.BREAKING, f"sent on a broken connection: {message}"
                if key is not None:
                    self.answers[key] += 1
                    assert self.answers[key] == 1, f"answered twice: {key}"
                if isinstance(message, m.UserInput):
                    assert isinstance(happened, StartTurn)
                    self.is_echoed = False
                    self.highest_before = self.highest
            case Decide(ask=ask):
                self.decides[ask.key] += 1
                assert self.decides[ask.key] == 1, f"asked twice: {ask.key}"
                assert ask.key not in self.answers, f"asked after the answer: {ask.key}"
                self.open_asks.append(ask)
            case EndTurn(turn_id=turn_id):
                self.ended[turn_id] += 1
                assert self.ended[turn_id] == 1, f"turn {turn_id} ended twice"
                assert turn_id in self.started or isinstance(happened, StartTurn)
            case Lose():
                assert isinstance(happened, HarnessExited)
            case _:
                pass
        if isinstance(happened, StartTurn) and happened.turn_id not in self.started:
            self.started.append(happened.turn_id)

    def _check_idle(self, happened: Input, before: Phase, has_ended: bool) -> None:
        """Check I4: an idle of somebody else's run ends nothing at once."""
        if not isinstance(happened, m.StateFrame) or happened.state not in m.IDLE_STATES:
            return
        if happened.trajectory_id == MAIN and not happened.error and not self.is_echoed:
            assert not has_ended, "an idle before the echo ended the turn"
        waits_for_all = self.session.rules.coordinates_subagents
        if happened.trajectory_id != MAIN and (waits_for_all or before is Phase.RUNNING):
            assert not has_ended, "the idle of a subagent ended the turn"

    def _look_for_echo(self, happened: Input, before: Phase) -> None:
        if not isinstance(happened, m.StepFrame) or happened.trajectory_id != MAIN:
            return
        if not self.is_link_up or before not in CONNECTED_PHASES:
            return
        self.highest = max(self.highest, happened.index)
        if happened.source == m.USER and happened.index > self.highest_before:
            self.is_echoed = True


def _frame(name: str, about: Any) -> m.PeerFrame:
    match name:
        case "step":
            return m.StepFrame(**about)
        case "state":
            who, what, error = about
            return m.StateFrame(who, f"STATE_{what}", error)
        case "echo":
            return m.StepFrame(MAIN, about, m.DONE, m.USER, m.TO_MODEL, "go", "go")
        case "text":
            return m.StepFrame(MAIN, about, m.ACTIVE, m.MODEL, m.TO_USER, "a", "a")
        case "usage":
            usage = Usage(total_tokens=about[0])
            return m.UsageFrame(usage, {MAIN: usage}, is_cumulative=about[1])
        case "other":
            return m.SessionEndFrame() if about else m.InitFrame(MAIN)
    kind, request_id, tool, hook = about
    match kind:
        case "tool":
            return m.ToolCallFrame(request_id, tool, "{}", {})
        case "policy":
            return m.PolicyFrame(request_id, "R", {"toolName": tool})
        case "hook":
            return m.HookFrame(request_id, f"LIFECYCLE_HOOK_{hook}", {"toolName": tool})
        case _:
            return m.UnknownFrame("newThing", {}, request_id)


# -- finding and shrinking ---------------------------------------------------------------------


def failure_of(version: str, moves: list[Move]) -> str | None:
    """Return what goes wrong on a walk, `None` if nothing does."""
    try:
        Walk(version).play(moves)
    except Exception as error:  # noqa: BLE001 - boundary: whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return None


def shrink(version: str, moves: list[Move]) -> list[Move]:
    """Return the walk without every move that the failure does not need."""
    size = len(moves) // 2
    while size:
        at = 0
        while at < len(moves):
            fewer = moves[:at] + moves[at + size :]
            if failure_of(version, fewer) is not None:
                moves = fewer
            else:
                at += size
        size //= 2
    return moves


def story_of(seed: int) -> str:
    """Return the shortest form of a failing walk, for the report."""
    version, moves = make_walk(seed)
    moves = shrink(version, moves)
    lines = [f"seed {seed}, harness {version}: {failure_of(version, moves)}"]
    return "\n  ".join([*lines, *(f"{name} {about!r}" for name, about in moves)])


# -- the tests ---------------------------------------------------------------------------------

_BLOCK: Final = 250


@pytest.mark.parametrize("first", range(0, WALKS, _BLOCK))
def test_session_when_it_walks_at_random_then_its_invariants_hold(first: int) -> None:
    """No order of inputs raises, ends a turn twice or never, or answers twice or into the void."""
    for seed in range(first, first + _BLOCK):
        if failure_of(*make_walk(seed)) is not None:
            pytest.fail(story_of(seed))


def test_session_when_a_walk_is_repeated_then_the_actions_are_the_same() -> None:
    """Same inputs, same actions: nothing in the session depends on anything else."""
    for seed in range(0, WALKS, 20):
        version, moves = make_walk(seed)
        first, second = Walk(version), Walk(version)
        first.play(moves)
        second.play(moves)
        assert repr(first.log) == repr(second.log)


def test_session_when_turns_have_a_budget_then_the_invariants_hold() -> None:
    """Being stopped in the middle of anything is one more thing that may happen."""
    stopped: set[str | None] = set()
    for seed in range(0, WALKS, 4):
        version, moves = make_walk(seed)
        walk = Walk(version, budget=Budget(model_calls=2, tool_calls=1))
        walk.play(moves)
        ends = (action for _, actions in walk.log for action in actions)
        stopped |= {end.response.stop_reason for end in ends if isinstance(end, EndTurn)}
    assert stopped >= {None, "MAX_MODEL_CALLS_EXCEEDED", "MAX_TOOL_CALLS_EXCEEDED"}


def test_walks_when_taken_together_then_they_use_every_transition() -> None:
    """The walks go everywhere the table leads, so the table has no entry that is only on paper."""
    used: set[tuple[Phase, Signal]] = set()
    for seed in range(WALKS):
        version, moves = make_walk(seed)
        walk = Walk(version)
        walk.play(moves)
        used |= walk.used
    assert used == {(phase, signal) for phase, row in TRANSITIONS.items() for signal in row}


def test_shrink_when_a_walk_fails_then_only_what_matters_is_left() -> None:
    """A failure is shown without the moves it does not need, and with its seed."""
    version, moves = make_walk(1)
    broken = [*moves[:30], ("step", {"no such field": 1}), *moves[30:]]
    assert failure_of(version, moves) is None
    assert shrink(version, broken) == [("step", {"no such field": 1})]
