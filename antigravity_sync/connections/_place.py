"""Where an agent's conversation takes place, when the agent was given a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from .._clock import Deadline
from ..config import AgentConfig, config_of
from ..errors import ConfigError
from ._base import Connection, ConnectionStrategy
from ._direct import OF_AN_AGENT, DirectStrategy
from ._local import LocalConnectionStrategy
from ._remote import RemoteConnectionStrategy

if TYPE_CHECKING:
    from .._runtime.hosting import BaseHost
    from .._runtime.plan import Plan, Wanted

#: Options by which an agent's configuration may differ from that of its strategy: no strategy
#: honours them, or each has its own.
_OF_EITHER: Final = frozenset(
    {
        *OF_AN_AGENT,
        *("hook_timeout", "callback_wrapper", "on_trigger_busy", "budget", "max_history"),
        *("turn_timeout", "start_timeout", "close_timeout", "task_wait", "wire_inspectors"),
    }
)


class Joined(Protocol):
    """What carries a conversation, with a seat for an engine that is about to be opened."""

    @property
    def host(self) -> BaseHost:
        """What an engine is opened on."""

    def part(self, deadline: Deadline) -> None:
        """Give the seat back: the engine has come, or will not."""


class Place(Protocol):
    """Where an agent's conversation takes place, if not on a process of its own."""

    def _plan(self, config: AgentConfig, earlier: Wanted | None = None) -> Plan:
        """Return the plan for an agent with these options."""

    def _join(self, deadline: Deadline) -> Joined:
        """Return what carries it, started if need be."""


def placed(
    connection: object, config: AgentConfig | None, options: Mapping[str, Any]
) -> tuple[AgentConfig, Place | None]:
    """Return an agent's configuration and where its conversation takes place.

    Args:
        connection: What the agent was given.
        config: The agent's own configuration, if it has one.
        options: Single fields that override it.

    Raises:
        ConfigError: `connection` is none, or does not go together with the options.
    """
    match connection:
        case LocalConnectionStrategy():
            return _merged(connection, config, options), None
        case RemoteConnectionStrategy():
            return _merged(connection, config, options), connection
        case Connection() | ConnectionStrategy():
            from ._bridge import Bridge  # only now: most agents have none

            own = config_of(config, options)
            return own, Bridge(connection, own)
        case _:
            raise ConfigError(
                "connection must be a Connection or a ConnectionStrategy, not "
                f"{type(connection).__name__}"
            )


def _merged(
    strategy: DirectStrategy, config: AgentConfig | None, options: Mapping[str, Any]
) -> AgentConfig:
    """Return an agent's configuration, of which the strategy has a part or the whole.

    Raises:
        ConfigError: The two contradict each other.
    """
    theirs = strategy.config
    mine = config_of(theirs if config is None else config, options)
    if config is not None:
        for field in attrs.fields(AgentConfig):
            name = field.name
            if name not in _OF_EITHER and getattr(mine, name) != getattr(theirs, name):
                raise ConfigError(
                    f"{name} is one thing in the agent's configuration and another in that of its "
                    "connection; make one configuration, and give it to the strategy alone"
                )
    return mine
