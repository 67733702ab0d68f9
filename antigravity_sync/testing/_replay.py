"""Turns of a recording, gone through once more without a harness."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from typing import Any

import attrs

from .._core.actions import Action, Decide, Emit, EndTurn
from .._core.asks import Ask, AskKind
from .._core.inputs import Attached, CancelTurn, Decided, Dispatched, Input, StartTurn, Tick
from .._core.replies import Heard, QuestionsReply, Reply, ToolReply
from .._core.rules import SessionRules
from .._core.session import Session
from .._messages import PromptPart, TextPart
from .._wire import codec
from .._wire.dialect import NEWEST, Dialect
from .._wire.recorder import read_recording
from ..errors import ConfigError
from ..events import Event
from ..responses import Allowed, ChatResponse, Denied


@attrs.frozen
class ReplayedTurn:
    """A turn of a recording.

    Attributes:
        prompt: The text of its prompt.
        events: What its caller saw, without the `Finished` at the end.
        response: What it left; `None` if the recording ends before the turn does.
        failure: Why it did not end well, `""` if it did.
    """

    prompt: str
    events: tuple[Event, ...] = ()
    response: ChatResponse | None = None
    failure: str = ""


def replay(path: str | os.PathLike[str]) -> tuple[ReplayedTurn, ...]:
    """Return the turns of a recording, from the frames in it and nothing else.

    No harness, no model and no code of yours is run: tools, hooks and people are taken to have
    answered as they did. So a turn that went wrong on some machine can be looked at in a unit test.
    Structured answers stay text. Turns that were not begun by a prompt are left out.

    Args:
        path: A file that a `JsonlRecorder` wrote, of one or more sessions.

    Raises:
        ConfigError: There is no session in it.
        OSError: It cannot be read.
    """
    players: dict[str, _Player] = {}
    for record in read_recording(path):
        session = str(record.get("correlation_id"))
        players.setdefault(session, _Player()).take(record)
    turns = tuple(turn for player in players.values() for turn in player.turns.values())
    if not any(player.is_attached for player in players.values()):
        raise ConfigError(
            f"there is no session in {os.fspath(path)!r}; record one with JsonlRecorder"
        )
    return turns


@attrs.define
class _Player:
    """One session."""

    turns: dict[int, ReplayedTurn] = attrs.field(factory=dict)
    is_attached: bool = False
    _session: Session = attrs.field(factory=lambda: Session(_rules("")))
    _asks: list[Ask] = attrs.field(factory=list)

    def take(self, record: dict[str, Any]) -> None:
        now = float(record.get("time") or 0.0)
        payload = record.get("payload")
        match record.get("kind"):
            case "HarnessSpawn":
                self._session = Session(_rules(str(record.get("version") or "")))
            case "WsReceive":
                self._receive(json.dumps(payload), now)
            case "WsSend" if isinstance(payload, dict):
                self._send(payload, now)
            case _:
                pass

    def _receive(self, data: str, now: float) -> None:
        init = codec.decode_init(data)
        if init is not None:
            # The second time it may be another conversation; it does no harm if it is not.
            self._feed(Attached(init, is_new=self.is_attached), now)
            self.is_attached = True
            return
        for frame in codec.decode(data):
            self._feed(frame, now)

    def _send(self, payload: dict[str, Any], now: float) -> None:
        prompt = _prompt(payload)
        if prompt is not None:
            number = len(self.turns) + 1
            self.turns[number] = ReplayedTurn(prompt)
            parts: tuple[PromptPart, ...] = (TextPart(prompt),)
            self._feed(StartTurn(number, parts, now, math.inf), now)
        elif payload.get("haltRequest"):
            self._feed(CancelTurn(None), now)
        else:
            for ask in list(self._asks):
                reply = _reply(ask, payload)
                if reply is not None:
                    self._asks.remove(ask)
                    self._feed(Decided(ask.key, reply), now)
                    return

    def _feed(self, happened: Input, now: float) -> None:
        while (due := self._session.next_timer()) is not None and due < now:
            self._perform(self._session.handle(Tick(), due), due)
        self._perform(self._session.handle(happened, now), now)

    def _perform(self, actions: list[Action], now: float) -> None:
        for action in actions:
            match action:
                case Emit(turn_id=number, event=event) if number in self.turns:
                    turn = self.turns[number]
                    self.turns[number] = attrs.evolve(turn, events=(*turn.events, event))
                case EndTurn(turn_id=number, response=response, failure=failure):
                    said = "" if failure is None else failure.message or failure.kind.value
                    turn = self.turns[number]
                    self.turns[number] = attrs.evolve(turn, response=response, failure=said)
                case Decide(ask=ask):
                    self._asks.append(ask)
                    if ask.kind is AskKind.TOOL:
                        self._feed(Dispatched(ask.key, ask.args), now)
                case _:
                    pass


def _rules(version: str) -> SessionRules:
    dialect = Dialect.of(version) if version else NEWEST
    return SessionRules(
        harness_version=dialect.version,
        coordinates_subagents=dialect.waits_for_subagents,
        idles_while_tasks_run=dialect.idles_while_tasks_run,
        announces_tasks=dialect.announces_tasks,
    )


def _prompt(payload: dict[str, Any]) -> str | None:
    """Return the text of a prompt, `None` if the message is none."""
    for member in ("userInput", "complexUserInput"):
        said = payload.get(member)
        if isinstance(said, str):
            return said
        if isinstance(said, dict):
            return "\n".join(_texts(said))
    return None


def _texts(said: dict[str, Any]) -> Iterator[str]:
    for part in said.get("parts") or ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _reply(ask: Ask, payload: dict[str, Any]) -> Reply | None:
    """Return the reply to `ask` that a message of ours holds, `None` if it answers another."""
    for member, said in payload.items():
        if not isinstance(said, dict):
            continue
        match member, ask.kind:
            case "toolResponse", AskKind.TOOL if str(said.get("id")) == ask.call_id:
                return _tool_reply(said)
            case "callHookResponse", AskKind.HOOK if said.get("requestId") == ask.key[-1]:
                return _hook_reply(said)
            case "policyDecisionResponse", AskKind.POLICY if said.get("requestId") == ask.key[-1]:
                is_allowed = str(said.get("outcome")).endswith("_ALLOW")
                return Allowed() if is_allowed else Denied(str(said.get("denyReason", "")))
            case "toolConfirmation", AskKind.CONFIRMATION if said.get("stepIndex") == ask.index:
                return Allowed() if said.get("accepted") else Denied("")
            case "questionResponse", AskKind.QUESTIONS if said.get("stepIndex") == ask.index:
                return QuestionsReply(None if said.get("cancelled") else ())
            case _:
                pass
    return None


def _tool_reply(said: dict[str, Any]) -> ToolReply:
    text = str(said.get("responseJson", "{}"))
    result: Any = text
    with contextlib.suppress(ValueError):
        result = json.loads(text)
    if isinstance(result, dict) and len(result) == 1:
        result = result.get("result", result)
    return ToolReply(text, result=result, error=str(said.get("errorMessage", "")))


def _hook_reply(said: dict[str, Any]) -> Reply:
    for member in ("preToolResult", "preTurnResult"):
        decided = said.get(member)
        if isinstance(decided, dict):
            is_denied = decided.get("decision") == "DENY"
            return Denied(str(decided.get("reason", ""))) if is_denied else Allowed()
    return Heard()
