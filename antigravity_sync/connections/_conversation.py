"""A conversation on any connection: what was said, in pieces and in all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from ..content import Prompt
from ..errors import ConfigError
from ..responses import Step, ToolCall, Usage
from ._base import Connection
from ._requests import (
    ConfirmationRequest,
    HookRequest,
    QuestionsRequest,
    RequestStep,
    ToolRequest,
)

_FINAL: Final = frozenset({"DONE", "ERROR"})
_Key = tuple[str, int]


@attrs.frozen
class Thought:
    """A piece of the model's thinking."""

    text: str


@attrs.frozen
class Text:
    """A piece of the model's answer."""

    text: str


StreamChunk = Thought | Text | ToolCall


class Conversation:
    """A view of the turns on a connection: pieces as they come, and what they add up to.

    Thread: one at a time; `connection` may be used by others meanwhile.

    Args:
        connection: Where it takes place; `disconnect()` ends it too.
        max_history: How many final steps are kept, the newest.
        on_request: Called with each `RequestStep`, on the thread that reads, and has to answer it
            through the connection. Without it tools are let run that no rule forbids, questions
            stay open, and the reader of the chunks answers the calls of tools.

    Raises:
        ConfigError: `connection` is none, or `max_history` is no number above 0.
    """

    def __init__(
        self,
        connection: Connection,
        max_history: int = 10_000,
        *,
        on_request: Callable[[RequestStep], object] | None = None,
    ) -> None:
        if not isinstance(connection, Connection):
            raise ConfigError(f"connection must be a Connection, not {type(connection).__name__}")
        if type(max_history) is not int or max_history < 1:
            raise ConfigError(f"max_history must be a number above 0, not {max_history!r}")
        self._connection = connection
        self._on_request = on_request
        self._history: deque[Step] = deque(maxlen=max_history)
        self._turn_count = 0
        self._last_response = ""

    @property
    def connection(self) -> Connection:
        """Where it takes place."""
        return self._connection

    @property
    def conversation_id(self) -> str:
        """Id of the conversation."""
        return self._connection.conversation_id

    @property
    def history(self) -> tuple[Step, ...]:
        """The steps of its turns in their last form, one for each, the newest `max_history`."""
        return tuple(self._history)

    @property
    def turn_count(self) -> int:
        """How many prompts were sent."""
        return self._turn_count

    @property
    def last_response(self) -> str:
        """The last text of the model in the last turn, as far as it has come; `""` before."""
        return self._last_response

    @property
    def total_usage(self) -> Usage:
        """Tokens of the conversation so far, as the connection counts them."""
        return self._connection.usage

    def chat(self, text: Prompt) -> Iterator[StreamChunk]:
        """Send a prompt and return the pieces of the answer, as they come.

        A `ToolCall` with a `call_id` waits for `connection.send_tool_response(call_id, …)`, unless
        `on_request` answers it.

        Blocks until the prompt has gone out; the iterator blocks for the next piece.

        Raises:
            AntigravityError: The prompt is bad, a turn runs already, the turn failed, or the
                connection is lost.
        """
        self._connection.send(text)
        self._turn_count += 1
        self._last_response = ""
        return self._chunks()

    def disconnect(self) -> None:
        """End the connection."""
        self._connection.disconnect()

    def __repr__(self) -> str:
        return f"<Conversation {self.conversation_id}: {self._turn_count} turns>"

    # ── one turn ────────────────────────────────────────────────────────────────────────────────

    def _chunks(self) -> Iterator[StreamChunk]:
        steps = _Steps()
        try:
            for step in self._connection.receive_steps():
                if isinstance(step, RequestStep):
                    yield from self._asked(step)
                    if step.index < 0:
                        continue
                for chunk in steps.take(step):
                    self._last_response = steps.text
                    yield chunk
                self._history.extend(steps.settled())
        finally:
            self._last_response = steps.text
            self._history.extend(steps.rest())

    def _asked(self, step: RequestStep) -> Iterator[StreamChunk]:
        request = step.request
        if isinstance(request, ToolRequest):
            yield ToolCall(
                request.name,
                request.args,
                call_id=request.call_id,
                trajectory_id=step.trajectory_id,
                is_main=step.is_main,
            )
        if self._on_request is not None:
            self._on_request(step)
            return
        match request:
            case ConfirmationRequest(trajectory_id=where, step_index=index):
                self._connection.send_tool_confirmation(where, index, True)
            case QuestionsRequest(trajectory_id=where, step_index=index):
                self._connection.send_question_response(where, index, [])
            case HookRequest(request_id=request_id):
                self._connection.send_hook_response(request_id, None)
            case ToolRequest():
                pass


@attrs.define
class _Steps:
    """The steps of a turn: what is new of each, and which have not ended.

    Attributes:
        text: The last text for the user.
    """

    text: str = ""
    _steps: dict[_Key, Step] = attrs.field(factory=dict)
    _taken: set[_Key] = attrs.field(factory=set)
    _said: dict[_Key, tuple[str, str]] = attrs.field(factory=dict)
    _called: set[_Key] = attrs.field(factory=set)

    def take(self, step: Step) -> Iterator[StreamChunk]:
        """Yield what is new of a step."""
        key = (step.trajectory_id, step.index)
        if key not in self._taken:
            self._steps[key] = step
        if step.is_main and step.source == "MODEL":
            yield from self._grow(key, step)
        if step.action is not None and step.state in _FINAL and key not in self._called:
            self._called.add(key)
            yield ToolCall(
                step.action.name,
                step.action.args,
                result=step.action.result,
                error=step.error,
                trajectory_id=step.trajectory_id,
                is_main=step.is_main,
            )

    def _grow(self, key: _Key, step: Step) -> Iterator[StreamChunk]:
        text, thinking = self._said.get(key, ("", ""))
        is_answer = step.target == "USER" and step.action is None and step.state != "ERROR"
        new_text = _new(text, step.text) if is_answer else ""
        new_thinking = _new(thinking, step.thinking)
        self._said[key] = (text + new_text, thinking + new_thinking)
        if new_thinking:
            yield Thought(new_thinking)
        if new_text:
            self.text = text + new_text
            yield Text(new_text)

    def settled(self) -> tuple[Step, ...]:
        """Return the steps that have ended, as far as all before them have; each once."""
        found = []
        for step in self._steps.values():
            if step.state not in _FINAL:
                break
            found.append(step)
        for step in found:
            key = (step.trajectory_id, step.index)
            self._taken.add(key)
            del self._steps[key]
        return tuple(found)

    def rest(self) -> tuple[Step, ...]:
        """Return the steps that are left when the turn is over, ended or not."""
        rest = tuple(self._steps.values())
        self._steps.clear()
        return rest


def _new(before: str, whole: str) -> str:
    return whole[len(before) :] if whole.startswith(before) else ""
