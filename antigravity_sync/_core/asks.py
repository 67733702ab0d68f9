"""The table of open asks: everything the harness waits for an answer to.

Each ask is answered once or withdrawn once (invariant I1). An answer nobody waits for is not a
small matter: a stale tool, hook or question answer ends the session (LIVE A3), so the key of an ask
stays known after it is closed and a re-delivered ask is dropped.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

from ..responses import JsonObject

#: How many closed asks are remembered; re-delivery comes within a handful of frames.
_REMEMBERED: Final = 4096

AskKey = tuple[str, ...]


class AskKind(enum.Enum):
    """What the harness waits for."""

    TOOL = "tool call"
    HOOK = "hook"
    POLICY = "policy decision"
    CONFIRMATION = "confirmation"
    QUESTIONS = "questions"


@attrs.frozen
class Ask:
    """One thing the harness waits for.

    Attributes:
        key: Identity; the same ask delivered twice has the same key.
        kind: What kind of answer it wants.
        name: Tool or hook concerned, as the wire names it.
        hook_type: For hooks, the wire name of the hook.
        args: Arguments of a call, snake_case; for other hooks what the frame carried.
        raw_args: Arguments of a call as they came.
        server_name: The MCP server, for a call of its tool.
        call_id: Id of the call, where the version has one.
        trajectory_id: Who asked, `""` where the version does not say.
        is_main: Whether that is the main trajectory.
        is_unknown: Whether it is about an action that this SDK does not know.
        index: Step index, for confirmations and questions.
        questions: The questions, as they came.
    """

    key: AskKey
    kind: AskKind
    name: str = ""
    hook_type: str = ""
    args: JsonObject = attrs.field(factory=dict)
    raw_args: object = None
    server_name: str = ""
    call_id: str = ""
    trajectory_id: str = ""
    is_main: bool = True
    is_unknown: bool = False
    index: int = 0
    questions: tuple[JsonObject, ...] = ()


def hook_name(wire_name: str) -> str:
    """Return the name of a hook as `Hooks` has it."""
    name = wire_name.removeprefix("LIFECYCLE_HOOK_").lower()
    return name if name.startswith("on_") else f"on_{name}"


@attrs.define
class AskTable:
    """Open asks by key, and the keys of those that were closed."""

    _open: dict[AskKey, Ask] = attrs.field(factory=dict)
    _closed: OrderedDict[AskKey, None] = attrs.field(factory=OrderedDict)

    def open(self, ask: Ask) -> bool:
        """Take in an ask; return `False` for one that was seen before."""
        if self.knows(ask.key):
            return False
        self._open[ask.key] = ask
        return True

    def close(self, key: AskKey) -> Ask | None:
        """Take an ask out because it is answered; `None` if it is not open any more."""
        ask = self._open.pop(key, None)
        if ask is not None:
            self._remember(key)
        return ask

    def knows(self, key: AskKey) -> bool:
        """Return whether an ask was seen before."""
        return key in self._open or key in self._closed

    def holds(self, is_such: Callable[[Ask], bool]) -> bool:
        """Return whether an open ask is such."""
        return any(is_such(ask) for ask in self._open.values())

    def withdraw(self, is_void: Callable[[Ask], bool]) -> tuple[AskKey, ...]:
        """Forget the open asks the harness has dropped; return their keys."""
        void = tuple(key for key, ask in self._open.items() if is_void(ask))
        for key in void:
            self.close(key)
        return void

    def forget(self) -> None:
        """Forget everything: a new connection starts new series of ids."""
        self._open.clear()
        self._closed.clear()

    def get(self, key: AskKey) -> Ask | None:
        """Return an open ask; `None` if it is not open."""
        return self._open.get(key)

    def describe(self) -> tuple[str, ...]:
        """Return a word on each open ask, for the error of a turn that hangs on it."""
        return tuple(f"{ask.kind.value} {ask.name}".rstrip() for ask in self._open.values())

    def __len__(self) -> int:
        return len(self._open)

    def _remember(self, key: AskKey) -> None:
        self._closed[key] = None
        if len(self._closed) > _REMEMBERED:
            self._closed.popitem(last=False)
