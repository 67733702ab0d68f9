"""A connection to a harness on this machine, started for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._clock import Deadline
from ..config import AgentConfig
from ._direct import DirectConnection, DirectStrategy

if TYPE_CHECKING:
    from .._runtime.engine import Engine


class LocalConnection(DirectConnection):
    """A conversation with a harness of its own; `LocalConnectionStrategy` makes it.

    What the configuration says of workspaces and policies holds here too, and what they refuse is
    not asked about. Everything else that wants an answer is yielded as a `RequestStep`.
    """

    @property
    def pid(self) -> int:
        """The harness's process id."""
        pid = self._direct.engine.pid
        assert pid is not None
        return pid

    def disconnect(self) -> None:
        """End the conversation and the process; any thread, as often as you like. Never raises."""
        super().disconnect()


class LocalConnectionStrategy(DirectStrategy):
    """Starts a harness on this machine for each connection.

    Args:
        config: The options. Workspaces, capabilities and policies hold as they do for an agent;
            `tools` are declared to the model, and the caller answers their calls.
        hooks: Names of those members of `Hooks` that the harness shall ask the caller about, as
            `HookRequest`: `on_pre_tool`, `on_post_tool`, `on_tool_error`, `on_compaction` and
            `on_stop`. Harness 0.1.5 has none, and asks `ConfirmationRequest`s instead.

    Raises:
        ConfigError: There is no such hook, or an option is set that only an agent can honour:
            `hooks`, `triggers`, `response_schema` and `tool_workers`.
    """

    def __init__(self, config: AgentConfig, *, hooks: Iterable[str] = ()) -> None:
        super().__init__(config, hooks)

    def connect(self) -> LocalConnection:
        """Start a harness and open the conversation.

        Blocks until that is done, at most `start_timeout` seconds.

        Raises:
            ConfigError: There is no model key, or a directory cannot be written.
            LaunchError: Any of its kinds; no process, thread or descriptor is left.
        """
        return self._connect(LocalConnection)

    def _open(self, deadline: Deadline) -> Engine:
        from .._runtime.engine import Engine  # only now, as `Agent.start` does
        from .._runtime.plan import Plan

        return Engine.open(Plan.make(self._rendered), deadline, deadline.clock)
