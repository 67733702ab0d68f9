"""An agent's conversation on a connection that is no harness's."""

from __future__ import annotations

from typing import Final

import attrs

from .._clock import Deadline
from .._runtime.plan import Plan, Wanted
from ..config import AgentConfig
from ..errors import AntigravityError, ConfigError, LaunchError, UsageError
from ._base import Connection, ConnectionStrategy
from ._memory import BridgedHost
from ._rules import check_rules, rules_for

#: Options that an agent honours itself. All others are for whoever makes the connection.
_HONOURED: Final = frozenset(
    {
        *("tools", "tool_workers", "callback_wrapper", "hooks", "hook_timeout", "policies"),
        *("triggers", "on_trigger_busy", "budget", "max_history", "task_wait"),
        *("turn_timeout", "start_timeout", "close_timeout", "wire_inspectors"),
    }
)


class Bridge:
    """Where an agent's conversation takes place: a connection, or what makes one for each start.

    Args:
        source: The connection, or its strategy.
        config: The agent's options.

    Raises:
        ConfigError: An option would be ignored.
    """

    def __init__(self, source: Connection | ConnectionStrategy, config: AgentConfig) -> None:
        defaults = AgentConfig()
        for name in (each.name for each in attrs.fields(AgentConfig)):
            if name not in _HONOURED and getattr(config, name) != getattr(defaults, name):
                raise ConfigError(
                    f"{name} would be ignored on a connection, which is made elsewhere; leave it "
                    "out, or give it to whoever makes the connection"
                )
        check_rules(config)
        self._source = source
        self._config = config
        self._is_used = False

    def _plan(self, config: AgentConfig, _earlier: Wanted | None = None) -> Plan:
        """Return the plan for an agent with these options."""
        # The paths are the connection's, and so is what fences them.
        rules = rules_for(config, self._source)
        here = config.evolve(contain_workspaces=False, policies=rules)
        return Plan.elsewhere(here, "", Wanted())

    def _join(self, _deadline: Deadline) -> Bridged:
        """Return what carries the conversation.

        Raises:
            AntigravityError: There is no connection to be had, or it does not ask for the hooks
                that the agent's rules need.
        """
        if isinstance(self._source, Connection):
            if self._is_used:
                raise UsageError(
                    "a connection serves for one start; give the agent a ConnectionStrategy to "
                    "start it again"
                )
            connection = self._source
        else:
            connection = self._connect(self._source)
            if not isinstance(connection, Connection):
                raise ConfigError(
                    f"{type(self._source).__name__}.connect() returned no Connection but "
                    f"{type(connection).__name__}"
                )
        try:
            _check_hooks(self._config, connection)
            bridged = Bridged(BridgedHost(connection))
        except BaseException:  # unwinding: nobody else knows of a connection that was just made
            if connection is not self._source:
                connection.disconnect()
            raise
        self._is_used = True
        return bridged

    @staticmethod
    def _connect(strategy: ConnectionStrategy) -> Connection:
        try:
            return strategy.connect()
        except AntigravityError:
            raise
        # Boundary: a strategy of a user's.
        except Exception as error:
            raise LaunchError(
                f"{type(strategy).__name__}.connect() failed with {error!r:.500}; see its cause"
            ) from error


def _check_hooks(config: AgentConfig, connection: Connection) -> None:
    """Refuse rules and hooks that would be without effect.

    Raises:
        ConfigError: The connection does not ask for a hook that they need.
    """
    asked = connection.asked_hooks
    needed = {name for name in _HOOKS if any(getattr(each, name) for each in config.hooks)}
    what = "these hooks"
    if config.policies:
        needed.add("on_pre_tool")
        what = "policies and hooks"
    missing = sorted(needed - asked)
    if missing:
        raise ConfigError(
            f"{what} would be without effect: the {type(connection).__name__} does not ask for "
            f"{', '.join(missing)}; have it do so (hooks=… of its strategy, asked_hooks), or leave "
            "them out"
        )


#: Hooks of the harness's; the others are called by the agent.
_HOOKS: Final = ("on_pre_tool", "on_post_tool", "on_tool_error", "on_compaction", "on_stop")


class Bridged:
    """A connection in use, for one engine.

    Attributes:
        host: What an engine is opened on.
    """

    def __init__(self, host: BridgedHost) -> None:
        self.host = host

    def part(self, deadline: Deadline) -> None:
        """End it, unless an engine has come and will."""
        if not self.host.guests:
            self.host.end_connection(deadline)
