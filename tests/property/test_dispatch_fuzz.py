"""Any arguments at all into tools and rules: nothing raises, and each call is answered once.

The frames are those of a harness, with arguments that no model should write; the codec, the
session, the gate, the tool room and the encoder are the real ones, on one thread instead of the
pump's and the caller's. All of it is seeded.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import ToolContext, policy, tool
from antigravity_sync._clock import Deadline, ManualClock
from antigravity_sync._core.actions import CloseLink, Decide, EndTurn, Lose, Send, Withdraw
from antigravity_sync._core.inputs import Attached, Decided, Input, StartTurn
from antigravity_sync._core.session import Session
from antigravity_sync._messages import InitFrame, TextPart
from antigravity_sync._runtime.board import Board
from antigravity_sync._runtime.gate import AskPerson, Gate
from antigravity_sync._runtime.live_turn import LiveTurn
from antigravity_sync._runtime.mailbox import Mailbox
from antigravity_sync._runtime.respond import Responder
from antigravity_sync._runtime.tasks import ToolTask
from antigravity_sync._runtime.toolroom import Callbacks
from antigravity_sync._runtime.watch import Watch
from antigravity_sync._wire import codec
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.drift import clear_drift_report
from antigravity_sync._wire.encode import encode
from antigravity_sync.containment import Containment
from antigravity_sync.hooks import Run, ToolInvocation
from antigravity_sync.tools import Tool, check_tools
from tests.stage import rules_of

CASES: Final = 10_000
_BLOCK: Final = 2_500
_PER_SESSION: Final = 50
#: Without a hook before the call, with one that has no call id everywhere, and today's.
_VERSIONS: Final = ("0.1.5", "0.1.10", "0.1.22")


# ── the tools ───────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class Seat:
    """A place on a train."""

    row: int
    letter: str = "A"


@tool
def book(seats: list[Seat], price: float = 0.0, note: str | None = None) -> dict[str, object]:
    """Book."""
    assert all(type(seat) is Seat and type(seat.row) is int for seat in seats)
    assert type(price) is float
    return {"seats": seats, "price": price, "note": note}


@tool
def count(number: int, ctx: ToolContext) -> object:
    """Count."""
    assert type(number) is int
    assert ctx.call_id
    return number


@tool
def echo(value: Any = None) -> object:
    """Return what was given."""
    return value


@tool
def fail(text: str = "") -> str:
    """Fail with the text given."""
    raise ValueError(text)


def anything(**arguments: object) -> object:
    """Return all that was given."""
    return arguments


_TOOLS: Final[tuple[Tool, ...]] = check_tools(
    [
        *(book, count, echo, fail),
        Tool("anything", "Take anything.", {"type": "object"}, anything),
    ]
)
_NAMES: Final = (*(each.name for each in _TOOLS), "no_such_tool", "", "run_command", "\ud800")
_RULED: Final = (
    *("run_command", "view_file", "create_file", "edit_file", "find_file", "start_subagent"),
    *("invoke_subagent", "finish", "ask_question", *_NAMES),
)


# ── the arguments ───────────────────────────────────────────────────────────────────────────────

_JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 7, 1.5, 10**30, -(2**64), 10**4_000, math.nan, math.inf, -math.inf),
    *("", "5", "x" * 3_000, "\ud800", "a\x00b", "9" * 5_000, "{", "null", "é", "\u2028"),
    *("file:///a/b", "file://[", "/etc/passwd", "../..", "~", "//host/share"),
    *([], [None], [[]], {}, {"": None}, {"row": 1}, [{"row": "2", "letter": "B"}], [{"row": []}]),
)
_MEMBERS: Final = (
    *("seats", "price", "note", "number", "value", "text", "ctx", "self", "tool", "arguments"),
    *("row", "letter", "toolAction", "toolSummary", "", "\ud800", "a\x00b", "class"),
    *("CommandLine", "commandLine", "command_line", "Cwd", "AbsolutePath", "absolute_path"),
    *("TargetFile", "file_path", "SearchDirectory", "Arguments", "ServerName", "ToolName"),
)
#: Texts that are no JSON, or hardly.
_TEXTS: Final = (
    *("", " ", "null", "[]", "{}", "5", "true", '"x"', "NaN", "-Infinity", "{", "}", "{]", '{"a"'),
    *("{'number': 1}", '{"number": 1}{}', '{"number": 1, "number": 2}', '{"number": 1,}', "\x00"),
    *('{"number": 1e999}', '{"number": ' + "9" * 5_000 + "}", '{"text": "\\ud800"}', "\ufeff{}"),
    *("[" * 5_000, '{"value":' * 900 + "1" + "}" * 900, '{"value":' + "[" * 400 + "]" * 400 + "}"),
)


def value_of(dice: random.Random, depth: int = 3) -> Any:
    """Return some JSON value, now and then nested."""
    pick = dice.random()
    if depth == 0 or pick < 0.7:
        return dice.choice(_JUNK)
    if pick < 0.8:
        return [value_of(dice, depth - 1) for _ in range(dice.randrange(4))]
    return members_of(dice, depth - 1)


def members_of(dice: random.Random, depth: int = 3) -> dict[str, Any]:
    """Return an object whose members are extra, missing or of the wrong type."""
    names = dice.choices(_MEMBERS, k=dice.randrange(5))
    return {name: value_of(dice, depth) for name in names}


def fitting(dice: random.Random) -> dict[str, Any]:
    """Return arguments that one of the tools can take, or nearly."""
    return dice.choice(
        (
            {"seats": [{"row": dice.randrange(9)}], "price": dice.choice((1, 2.5, "3", math.nan))},
            {"number": dice.choice((1, "1", 1.0, 1.5, True))},
            {"value": value_of(dice)},
            {"text": dice.choice(("", "\ud800", "a\x00b", "x" * 5_000))},
        )
    )


def arguments_json(dice: random.Random) -> object:
    """Return what a `toolCall` may carry as `argumentsJson`; text as a rule."""
    pick = dice.random()
    if pick < 0.15:
        return dice.choice(_TEXTS)
    if pick < 0.2:
        return dice.choice(_JUNK)
    value = fitting(dice) if pick < 0.5 else members_of(dice) if pick < 0.85 else value_of(dice)
    text = json.dumps(value, ensure_ascii=dice.random() < 0.5)
    if pick > 0.95:
        at = dice.randrange(len(text) + 1)
        text = text[:at] + dice.choice(("", "\x00", '"', "}", "{", ",")) + text[at + 1 :]
    return text


# ── the rules ───────────────────────────────────────────────────────────────────────────────────


def _is_odd(call: ToolInvocation) -> bool:
    return len(str(call.args["number"])) % 2 == 1  # raises where there is none


def _says_something_else(call: ToolInvocation) -> Any:
    return call.args.get("value")


def rules(dice: random.Random) -> policy.PolicySet:
    """Return some rules of every kind."""
    made = (
        policy.allow_all(),
        policy.deny_all("no"),
        policy.workspace_only("/w"),
        policy.confirm("book"),
        policy.deny("count", when=_is_odd),
        policy.allow("echo", when=_says_something_else),
        policy.deny("*", when=_says_something_else),
        policy.allow("run_command", when=lambda call: call.args["command_line"].startswith("ls")),
        policy.deny("view_file", when=lambda call: "x" in call.args["absolute_path"]),
        policy.allow("start_subagent"),
    )
    return policy.PolicySet(dice.sample(made, k=dice.randrange(len(made))))


# ── the stage ───────────────────────────────────────────────────────────────────────────────────


class Desk:
    """The user's side of one session, played on one thread; counts what the harness is sent."""

    def __init__(self, version: str, policies: policy.PolicySet) -> None:
        self.answers: Counter[tuple[str, str]] = Counter()
        self._dialect = Dialect.of(version)
        self._clock = ManualClock()
        self._session = Session(rules_of(version))
        self._mailbox = Mailbox()
        self._board = Board()

        def make_gate(ask_person: AskPerson, run: Run) -> Gate:
            fence = Containment(writable=("/w",), base="/w", command_directory="/w")
            can_rewrite = self._dialect.can_rewrite
            return Gate(policies, (), fence, ask_person, run, can_rewrite=can_rewrite)

        callbacks = Callbacks({each.name: each for each in _TOOLS})
        self._responder = Responder(
            callbacks,
            self._mailbox,
            self._board,
            Watch(self._clock, None),
            self._clock,
            "desk",
            make_gate,
        )
        self._responder.bind(self._take_reply)
        self._feed(Attached(InitFrame("main")))
        self._live = LiveTurn(1, self._ever(), None)
        assert self._board.claim(self._live, self._ever()) is None
        self._feed(StartTurn(1, (TextPart("go"),), 0.0, math.inf))

    def _ever(self) -> Deadline:
        return Deadline.after(self._clock, None)

    def take(self, event: dict[str, Any], *, is_raw: bool) -> None:
        """Take in a frame and do all that follows from it."""
        text = json.dumps(event, ensure_ascii=not is_raw)
        for frame in codec.decode(text):
            self._feed(frame)
        while self._live._events:
            item = self._live.take(self._ever())
            if isinstance(item, ToolTask):
                item.run_here()
                decided = self._mailbox.take(0.0)
                assert isinstance(decided, Decided)
                self._take_reply(decided)
        assert self._mailbox.take(0.0) is None

    def close(self) -> None:
        assert self._responder.close(self._ever()) == ()

    def _take_reply(self, happened: Input) -> None:
        if isinstance(happened, Decided):
            happened = self._responder.finished(happened)
        self._feed(happened)

    def _feed(self, happened: Input) -> None:
        for action in self._session.handle(happened, self._clock.now()):
            match action:
                case Decide(ask=ask):
                    self._responder.respond(ask)
                case Send(message=message):
                    self._note(json.loads(encode(message, self._dialect).encode()))
                case EndTurn() | Lose() | CloseLink() | Withdraw():
                    raise AssertionError(f"the session gave up: {action}")

    def _note(self, sent: dict[str, Any]) -> None:
        if "toolResponse" in sent:
            answer = sent["toolResponse"]
            check_tool_answer(answer, self._dialect)
            self.answers["toolCall", answer.get("id", "")] += 1
        elif "callHookResponse" in sent:
            self.answers["callHookRequest", sent["callHookResponse"]["requestId"]] += 1
        elif "policyDecisionResponse" in sent:
            self.answers["policyDecisionRequest", sent["policyDecisionResponse"]["requestId"]] += 1


def check_tool_answer(answer: dict[str, Any], dialect: Dialect) -> None:
    """Fail unless an answer has words on what went wrong, or a JSON object, and not both."""
    assert ("errorMessage" in answer) != ("responseJson" in answer), answer
    if "errorMessage" in answer:
        assert dialect.has_error_message
        assert answer["errorMessage"].strip()
        return
    found = json.loads(answer["responseJson"], parse_constant=_refuse)
    assert type(found) is dict
    answer["responseJson"].encode()


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def frame_of(
    dice: random.Random, number: int, dialect: Dialect
) -> tuple[tuple[str, str], dict[str, Any]]:
    """Return a call or a question about one, and what its answer is known by."""
    if dice.random() < 0.6 or not dialect.has_pre_tool_hook:
        call: dict[str, Any] = {"id": f"call-{number}", "name": dice.choice(_NAMES)}
        return ("toolCall", call["id"]), {
            "toolCall": {**call, "trajectoryId": "main", "argumentsJson": arguments_json(dice)}
        }
    about = {
        "toolName": dice.choice(_RULED),
        "argumentsJson": arguments_json(dice),
        "serverName": dice.choice(("", "", "", "srv")),
        "trajectoryId": "main",
    }
    key = f"hook_request_{number}"
    hook = {"requestId": key, "type": "LIFECYCLE_HOOK_PRE_TOOL", "preToolArgs": about}
    return ("callHookRequest", key), {"callHookRequest": hook}


# ── the tests ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Each tool that fails is warned about, and here most do."""
    caplog.set_level("CRITICAL", "antigravity_sync")
    yield
    clear_drift_report()


@pytest.mark.parametrize("first", range(0, CASES, _BLOCK))
def test_dispatch_when_arguments_are_anything_then_each_call_is_answered_once(first: int) -> None:
    """10,000 payloads: no exception gets out, and a result is a JSON object always."""
    for seed in range(first, first + _BLOCK, _PER_SESSION):
        dice = random.Random(seed)
        version = dice.choice(_VERSIONS)
        desk = Desk(version, rules(dice))
        asked = []
        for number in range(_PER_SESSION):
            key, frame = frame_of(dice, number, Dialect.of(version))
            asked.append(key)
            try:
                desk.take(frame, is_raw=dice.random() < 0.5)
                assert desk.answers[key] == 1
            except Exception as error:
                raise AssertionError(f"seed {seed}, {version}: {error!r} on {frame!r}") from error
        assert desk.answers == Counter(asked)
        desk.close()


@pytest.mark.parametrize("first", range(0, CASES, _BLOCK))
def test_evaluate_when_arguments_are_anything_then_rules_decide(first: int) -> None:
    """10,000 payloads: the sorted rules and the plain ones say the same, and nothing raises."""
    dice = random.Random(first)
    for number in range(_BLOCK):
        if number % _PER_SESSION == 0:
            ruled = rules(dice)
        raw = codec._arguments(codec._str(arguments_json(dice)))
        args = raw if isinstance(raw, dict) else {"arguments": raw}
        name = dice.choice(_RULED)
        call = ToolInvocation(name, args, raw, dice.choice(("", "", "srv")), "c", "main", True)
        found = ruled.evaluate(call)
        assert isinstance(found, policy.PolicyDecision)
        assert found == policy.evaluate(ruled.policies, call)
        assert found.effect is not policy.Effect.DENY or found.reason.strip()
