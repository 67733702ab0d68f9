"""A connection to nothing, for tests of code that uses one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from .._messages import prompt_text
from ..content import Prompt, prompt_parts
from ..errors import AgentClosedError
from ..responses import Step, Usage
from ..triggers import check_message
from ._base import Connection


class MockConnection(Connection):
    """A connection whose other end is a list of steps.

    Thread: any.

    Args:
        conversation_id: What `conversation_id` is.

    Attributes:
        steps_to_yield: What `receive_steps()` yields next; an exception among them is raised.
        sent_prompts: Text of each prompt that was sent, in order.
        sent_triggers: Text of each trigger notification.
        sent_answers: Each answer, as the name of its method and its arguments.
        asked_hooks: Names of the hooks that it says it asks for; none.
        halts: How many halts were requested.
        is_connected: Whether it was not disconnected yet.
    """

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._is_idle = True
        self._usage = Usage()
        self._asked_hooks: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self.steps_to_yield: list[Step | Exception] = []
        self.sent_prompts: list[str] = []
        self.sent_triggers: list[str] = []
        self.sent_answers: list[tuple[object, ...]] = []
        self.halts = 0
        self.is_connected = True

    @property
    def conversation_id(self) -> str:
        return self._conversation_id

    @property
    def is_idle(self) -> bool:
        """Whether no turn runs: what was set, a send or the end of the steps, whichever is last."""
        return self._is_idle

    @is_idle.setter
    def is_idle(self, value: bool) -> None:
        self._is_idle = value

    @property
    def usage(self) -> Usage:
        """Tokens of the conversation so far: what was set."""
        return self._usage

    @usage.setter
    def usage(self, value: Usage) -> None:
        self._usage = value

    @property
    def asked_hooks(self) -> frozenset[str]:
        """Names of the hooks that it says it asks for: what was set."""
        return self._asked_hooks

    @asked_hooks.setter
    def asked_hooks(self, value: Iterable[str]) -> None:
        self._asked_hooks = frozenset(value)

    def receive_steps(self) -> Iterator[Step]:
        while True:
            with self._lock:
                self._check_connected()
                if not self.steps_to_yield:
                    self._is_idle = True
                    return
                step = self.steps_to_yield.pop(0)
            if isinstance(step, Exception):
                raise step
            yield step

    def send(self, content: Prompt) -> None:
        parts = prompt_parts(content)
        with self._lock:
            self._check_connected()
            self.sent_prompts.append(prompt_text(parts))
            self._is_idle = False

    def send_trigger_notification(self, text: str) -> None:
        text = check_message(text)
        with self._lock:
            self._check_connected()
            self.sent_triggers.append(text)
            self._is_idle = False

    def send_halt_request(self) -> None:
        """Count it, and forget the steps that were not read yet."""
        with self._lock:
            self._check_connected()
            self.halts += 1
            self.steps_to_yield.clear()
            self._is_idle = True

    def send_tool_confirmation(self, trajectory_id: str, step_index: int, accepted: bool) -> None:
        self._record("send_tool_confirmation", trajectory_id, step_index, accepted)

    def send_tool_response(self, call_id: str, result: object) -> None:
        self._record("send_tool_response", call_id, result)

    def send_question_response(self, trajectory_id: str, step_index: int, answers: object) -> None:
        self._record("send_question_response", trajectory_id, step_index, answers)

    def send_hook_response(self, request_id: str, result: object) -> None:
        self._record("send_hook_response", request_id, result)

    def disconnect(self) -> None:
        self.is_connected = False
        self._is_idle = True

    def _record(self, *answer: object) -> None:
        with self._lock:
            self._check_connected()
            self.sent_answers.append(answer)

    def _check_connected(self) -> None:
        if not self.is_connected:
            raise AgentClosedError("the connection was closed; make another")
