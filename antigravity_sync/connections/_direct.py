"""A connection that an engine carries, whatever the engine's harness is."""

from __future__ import annotations

import abc
import warnings
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from .._clock import Deadline, MonotonicClock
from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..content import Prompt, prompt_parts
from ..errors import ConfigError, StartTimeoutError
from ..hooks import Hooks
from ..questions import Answer, Question
from ..responses import CloseReport, Step, Usage
from ..triggers import check_message
from ._base import Connection, ConnectionStrategy
from ._requests import RequestStep, as_request

if TYPE_CHECKING:
    from .._runtime.direct import Direct
    from .._runtime.engine import Engine

_Kind = TypeVar("_Kind", bound="DirectConnection")
#: Hook → the harness's name of it, for those that a connection passes on.
_HOOKS: Final = {
    "on_pre_tool": "LIFECYCLE_HOOK_PRE_TOOL",
    "on_post_tool": "LIFECYCLE_HOOK_POST_TOOL",
    "on_tool_error": "LIFECYCLE_HOOK_ON_TOOL_ERROR",
    "on_compaction": "LIFECYCLE_HOOK_ON_COMPACTION",
    "on_stop": "LIFECYCLE_HOOK_STOP",
}
#: Options that only an agent can honour.
OF_AN_AGENT: Final = ("hooks", "triggers", "response_schema", "tool_workers")


class DirectConnection(Connection):
    """A conversation that is read and answered by whoever holds this.

    What the configuration says of workspaces and policies holds here too, and what they refuse is
    not asked about. Everything else that wants an answer is yielded as a `RequestStep`.
    """

    def __init__(self, direct: Direct, config: AgentConfig) -> None:
        self._direct = direct
        self._config = config
        self._report: CloseReport | None = None
        self._finalizer = weakref.finalize(self, _dropped, direct.engine, type(self).__name__)
        self._finalizer.atexit = False

    @property
    def conversation_id(self) -> str:
        return self._direct.engine.board.snapshot.conversation_id

    @property
    def is_idle(self) -> bool:
        return self._direct.is_idle

    @property
    def usage(self) -> Usage:
        return self._direct.engine.board.snapshot.usage

    @property
    def stop_reason(self) -> str | None:
        return self._direct.stop_reason

    @property
    def asked_hooks(self) -> frozenset[str]:
        return self._direct.asked_hooks

    @property
    def config(self) -> AgentConfig:
        """The options that it was made with."""
        return self._config

    def receive_steps(self) -> Iterator[Step]:
        turn = self._direct.turn
        while turn is not None and (update := self._direct.next(turn)) is not None:
            if update.ask is None:
                yield update.step
                continue
            step = {field.name: getattr(update.step, field.name) for field in attrs.fields(Step)}
            request = as_request(update.ask, update.step.trajectory_id)
            yield RequestStep(**step, request=request)

    def send(self, content: Prompt) -> None:
        self._direct.begin(prompt_parts(content), "", self._config.turn_timeout)

    def send_trigger_notification(self, text: str) -> None:
        self._direct.begin((), check_message(text), self._config.turn_timeout)

    def send_halt_request(self) -> None:
        engine = self._direct.engine
        if engine.is_ours:
            engine.cancel()

    def send_tool_confirmation(self, trajectory_id: str, step_index: int, accepted: bool) -> None:
        self._direct.confirm(trajectory_id, step_index, accepted)

    def send_tool_response(self, call_id: str, result: object) -> None:
        self._direct.answer_tool(call_id, result)

    def send_question_response(self, trajectory_id: str, step_index: int, answers: object) -> None:
        self._direct.answer_questions(trajectory_id, step_index, answers)

    def send_hook_response(self, request_id: str, result: object) -> None:
        self._direct.answer_hook(request_id, result)

    def disconnect(self) -> None:
        """End the connection; any thread, as often as you like. Never raises."""
        engine = self._direct.engine
        if engine.is_ours:
            self._report = engine.close(self._config.close_timeout)
            self._finalizer.detach()

    @property
    def close_report(self) -> CloseReport | None:
        """How `disconnect()` went, `None` before it."""
        return self._report


class DirectStrategy(ConnectionStrategy):
    """A way to a harness that an engine drives.

    Args:
        config: The options.
        hooks: Names of those members of `Hooks` that the harness shall ask the caller about.

    Raises:
        ConfigError: There is no such hook, or an option is set that only an agent can honour.
    """

    def __init__(self, config: AgentConfig, hooks: Iterable[str]) -> None:
        if not isinstance(config, AgentConfig):
            raise ConfigError(f"config must be an AgentConfig, not {type(config).__name__}")
        for name in OF_AN_AGENT:
            if getattr(config, name):
                raise ConfigError(
                    f"a connection runs no code of yours, so {name} would be ignored; leave it "
                    "out, or use an Agent"
                )
        names = frozenset((hooks,) if isinstance(hooks, str) else hooks)
        for name in names:
            if name not in _HOOKS:
                raise ConfigError(
                    f"there is no hook {name!r} to ask about; use {', '.join(_HOOKS)}"
                )
        self._config = config
        self._asked = frozenset(_HOOKS[name] for name in names)
        # The harness asks about what there is a function for, which here is never called.
        asks_questions = BuiltinTool.ASK_QUESTION in config.capabilities.tools
        self._rendered = config.evolve(
            hooks=[
                Hooks(
                    on_questions=_unanswered if asks_questions else None,
                    on_pre_tool=_unheard if "on_pre_tool" in names else None,
                    on_post_tool=_unheard if "on_post_tool" in names else None,
                    on_tool_error=_unheard if "on_tool_error" in names else None,
                    on_compaction=_unheard if "on_compaction" in names else None,
                    on_stop=_unheard if "on_stop" in names else None,
                )
            ]
        )

    @property
    def config(self) -> AgentConfig:
        """The options."""
        return self._config

    @abc.abstractmethod
    def _open(self, deadline: Deadline) -> Engine:
        """Return an engine with the conversation open.

        Blocks until that is done or the deadline passes.
        """

    def _connect(self, kind: type[_Kind]) -> _Kind:
        """Return a connection of this kind; blocks at most `start_timeout` seconds."""
        from .._runtime.direct import Direct  # only now, as `Agent.start` does

        seconds = self._config.start_timeout
        engine: Engine | None = None
        try:
            engine = self._open(Deadline.after(MonotonicClock(), seconds))
            return kind(Direct(engine, self._asked), self._config)
        except StartTimeoutError as error:
            error.timeout = seconds
            raise
        except BaseException:  # unwinding: whoever is interrupted here has nothing to disconnect
            if engine is not None:
                engine.close(self._config.close_timeout)
            raise

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _unheard(_: object) -> None:
    """Stand for a hook that is passed on."""


def _unanswered(_: tuple[Question, ...]) -> list[Answer]:
    """Stand for a question handler: the caller is asked."""
    return []


def _dropped(engine: Engine, kind: str) -> None:
    """Close an engine whose connection is gone; may run on any thread, so it only posts."""
    was_open = engine.is_ours and not engine.board.is_over
    engine.begin_close()
    if was_open:
        warnings.warn(f"a {kind} was dropped without disconnect()", ResourceWarning, stacklevel=2)
