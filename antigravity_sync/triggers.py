"""What wakes the agent without a prompt: an interval, a change of a file, code of your own."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable

import attrs
from attrs.validators import optional

from ._checks import check_function, check_seconds, check_words, local_path
from .errors import ConfigError
from .responses import ChatResponse


@attrs.frozen
class Trigger:
    """A message that the agent is sent by itself, whenever its moment comes.

    The first comes after the first interval. A moment at which the agent is busy is put off until
    it is idle; several that pass meanwhile are one. The model's answer goes to `on_response`.

    Thread: each trigger of a started agent has a thread of its own, on which `on_response` runs.

    Args:
        message: What the model is told.
        every: Seconds between two messages.
        on_response: Called with the answer; an exception of it ends this trigger. A turn that was
            halted, as `chat()` does with `on_trigger_busy="halt"`, is `cancelled`; one that failed
            is logged, and the next moment comes all the same.
        path: Instead of `every`, what to watch; see `on_file_change`.

    Raises:
        ConfigError: A value is bad.
    """

    message: str = attrs.field(validator=check_words)
    every: float | None = attrs.field(default=None, kw_only=True, validator=optional(check_seconds))
    on_response: Callable[[ChatResponse], object] | None = attrs.field(
        default=None, kw_only=True, validator=optional(check_function)
    )
    path: str | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if (self.every is None) == (self.path is None):
            raise ConfigError(
                "a Trigger needs every=, a number of seconds; for files use Trigger.on_file_change"
            )

    @classmethod
    def on_file_change(
        cls,
        path: str | os.PathLike[str],
        message: str,
        on_response: Callable[[ChatResponse], object] | None = None,
    ) -> Trigger:
        """Return a trigger for changes of a file, or of anything below a directory.

        Changes that come while the agent is busy are one, those that its own turn makes included:
        have it write elsewhere. Below a directory, what editors and version control keep there for
        themselves does not count.

        Args:
            path: What to watch; it must exist, but a file may be replaced later.
            message: What the model is told.
            on_response: Called with the answer.

        Raises:
            ConfigError: The path does not exist, or `watchfiles` is not installed.
        """
        if importlib.util.find_spec("watchfiles") is None:
            raise ConfigError(
                "Trigger.on_file_change needs watchfiles; pip install 'antigravity-sync[files]'"
            )
        watched = local_path("path", path)
        if not os.path.exists(watched):
            raise ConfigError(f"path {os.fspath(path)!r} does not exist; create it first")
        return cls(message, path=watched, on_response=on_response)


@attrs.frozen
class TriggerContext:
    """What a trigger that is a function is called with, once, on a thread of its own.

    Attributes:
        conversation_id: The conversation at the start of the agent.
        stopped: Set when the agent closes; return then.
    """

    conversation_id: str
    stopped: threading.Event
    _deliver: Callable[[str], ChatResponse | None] = attrs.field(repr=False)

    def notify(self, text: str) -> ChatResponse | None:
        """Tell the model something, as soon as the agent is idle.

        Returns:
            Its answer, `None` if the agent was closed.

        Blocks until the turn has ended.

        Raises:
            ConfigError: The text is empty or none.
            SessionLostError: The harness or the connection is gone.
            TurnError: The turn failed.
        """
        return self._deliver(check_message(text))


def check_message(text: str) -> str:
    """Return a trigger's text.

    Raises:
        ConfigError: It is empty or no text.
    """
    return Trigger(text, every=1).message


def check_trigger(trigger: object) -> None:
    """Check for something that `AgentConfig.triggers` takes.

    Raises:
        ConfigError: It is neither a `Trigger` nor a function.
    """
    if isinstance(trigger, Trigger):
        return
    if not callable(trigger) or isinstance(trigger, type):
        raise ConfigError(
            f"triggers takes Trigger(…)s and functions of a TriggerContext, not {trigger!r}"
        )
    check_function(None, attrs.fields(Trigger).on_response, trigger)
