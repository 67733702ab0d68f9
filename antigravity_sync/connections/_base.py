"""What every connection offers, whatever is at its other end."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from types import TracebackType
from typing import NoReturn, TypeVar

from ..content import Prompt
from ..errors import ConfigError, UsageError
from ..responses import Step, Usage

_Self = TypeVar("_Self", bound="Connection")


class Connection(abc.ABC):
    """One conversation, as the messages that make it up.

    Nothing is decided here: whoever holds it sends, reads, and answers what the harness asks.
    `Agent` is the comfortable way to have a conversation; derive from this class to have one
    with something else, or to stand in for it in a test.

    Thread: one reads, any other may send, halt and answer meanwhile.
    """

    @property
    @abc.abstractmethod
    def conversation_id(self) -> str:
        """Id of the conversation."""

    @property
    @abc.abstractmethod
    def is_idle(self) -> bool:
        """Whether no turn runs."""

    @abc.abstractmethod
    def receive_steps(self) -> Iterator[Step]:
        """Yield each update of each step of the turn that was begun last, until it is over.

        A step is yielded again each time it has grown; `text` and `thinking` are the whole so far.
        A `RequestStep` waits for an answer. Without a turn nothing is yielded. Who stops early may
        go on with another call.

        Blocks for the next update.

        Raises:
            AntigravityError: The turn failed, or the connection is lost.
        """

    @abc.abstractmethod
    def send(self, content: Prompt) -> None:
        """Send a prompt, which begins a turn.

        Args:
            content: Text, a part such as `Image.from_path(…)`, or a list of these.

        Blocks until it has gone out.

        Raises:
            AntigravityError: A turn runs already, the prompt is bad, or the connection is lost.
        """

    @abc.abstractmethod
    def send_trigger_notification(self, text: str) -> None:
        """Tell the model something in a program's name, which begins a turn; else as `send`."""

    @abc.abstractmethod
    def send_halt_request(self) -> None:
        """Halt the turn; its steps end early. Harmless when none runs. Never blocks for long."""

    @abc.abstractmethod
    def send_tool_confirmation(self, trajectory_id: str, step_index: int, accepted: bool) -> None:
        """Answer a `ConfirmationRequest`: the tool may run, or may not."""

    @abc.abstractmethod
    def send_tool_response(self, call_id: str, result: object) -> None:
        """Answer a `ToolRequest`.

        Args:
            call_id: That of the request.
            result: Any JSON value, dataclass, attrs instance or file that a tool may return. An
                exception is told to the model as the tool's failure.
        """

    @abc.abstractmethod
    def send_question_response(self, trajectory_id: str, step_index: int, answers: object) -> None:
        """Answer a `QuestionsRequest`.

        Args:
            trajectory_id: That of the request.
            step_index: That of the request.
            answers: A list of `Answer`, one for each question, or `CancelQuestions()`.
        """

    @abc.abstractmethod
    def disconnect(self) -> None:
        """End it and free what it holds; any thread, as often as you like."""

    # ── what not every connection can do ────────────────────────────────────────────────────────

    def send_hook_response(self, request_id: str, result: object) -> None:
        """Answer a `HookRequest`.

        Args:
            request_id: That of the request.
            result: What the hook of that name would return: `Decision`, `bool` or `None` before a
                tool runs, a text in place of a tool's error, a `StopDecision`.

        Raises:
            ConfigError: This connection has no hooks.
        """
        raise ConfigError(f"{type(self).__name__} has no hooks; use another connection for them")

    @property
    def asked_hooks(self) -> frozenset[str]:
        """Names of the hooks that it asks for, as `Hooks` has them; none unless it says so.

        An `Agent` with policies needs `"on_pre_tool"`, without which it could enforce none of them.
        """
        return frozenset()

    @property
    def stop_reason(self) -> str | None:
        """Why the last turn whose steps were read to the end was stopped early, if it was.

        Such as `MAX_TOOL_CALLS_EXCEEDED` for a `Budget`.
        """
        return None

    @property
    def usage(self) -> Usage:
        """Tokens of the conversation so far; nothing where that is not known."""
        return Usage()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.conversation_id}>"

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            f"a {type(self).__name__} cannot be pickled: make one in the process that uses it"
        )


class ConnectionStrategy(abc.ABC):
    """A way to get a connection."""

    @abc.abstractmethod
    def connect(self) -> Connection:
        """Return a new connection.

        Raises:
            AntigravityError: There is none to be had.
        """
