"""A connection to a harness that somebody else runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import attrs

from .._clock import Deadline
from ..config import AgentConfig
from ._address import endpoint_of, refuse_options, wanted_conversation
from ._direct import DirectConnection, DirectStrategy

if TYPE_CHECKING:
    from .._runtime.engine import Engine
    from .._runtime.plan import Plan, Wanted
    from .._runtime.remote import RemoteHost


class RemoteConnection(DirectConnection):
    """A conversation with a harness that runs elsewhere; `RemoteConnectionStrategy` makes it.

    It is used as a local one is, and `disconnect()` leaves the harness running. Of the machine over
    there nothing else is seen or touched: there is no process id and no stderr to quote in errors,
    and a command that the agent has left running is ended by its harness or not at all.
    """


class RemoteConnectionStrategy(DirectStrategy):
    """Joins a harness that somebody else runs, such as one that `Harness.serve` offers.

    A conversation is kept by the server, for as long as it keeps anything. A connection that drops
    is made again with the next prompt, which goes on with the conversation; a later connection does
    with `conversation_id`. Up to harness 0.1.6 that must be the id which the conversation was
    given, because those choose it themselves; and one that is joined by its own key, without a
    server before it, tells neither its version nor why it refuses something: of those no
    conversation can be gone on with.

    Paths are the server's. A `PurePosixPath` or `PureWindowsPath` in `workspaces` and
    `skills_paths` is sent as it stands; a string or a `Path` is looked for on this machine as ever,
    and so is the default workspace, the current directory: right only for a harness beside us.
    Tools are kept inside the workspaces by the harness itself, which from 0.1.18 on lets them into
    the temporary directory too. One older than 0.1.10 cannot do that: it is refused unless
    `contain_workspaces=False`. Predicates of rules and hooks are given paths as this machine
    understands them.

    What is sent is not encrypted, the token and the model's key included: cross a network that
    others use by an SSH tunnel or the like. No proxy is used.

    Args:
        config: The options, as for `LocalConnectionStrategy`. The model's key is that of the
            configuration, else `ANTIGRAVITY_API_KEY`, else `GEMINI_API_KEY`.
        host: Name or address of the machine; `None` takes `ANTIGRAVITY_HARNESS_HOST`, else
            127.0.0.1.
        port: `None` takes `ANTIGRAVITY_HARNESS_PORT`, else 8000.
        key: The server's token; `None` takes `ANTIGRAVITY_HARNESS_TOKEN`. The model's key is
            another thing, and never used for it.
        conversation_id: Which conversation to go on with or to begin, any string; `None` is a new
            one.
        resume: As in `AgentConfig`: `"auto"`, `"must"` or `"never"`.
        hooks: As for `LocalConnectionStrategy`.

    Raises:
        ConfigError: There is no such hook, address or token; or an option is set that only an
            agent can honour, or only the server: `save_dir`, `env` and `harness_path`.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        host: str | None = None,
        port: int | None = None,
        key: str | None = None,
        conversation_id: str | None = None,
        resume: Literal["auto", "must", "never"] = "auto",
        hooks: Iterable[str] = (),
    ) -> None:
        super().__init__(config, hooks)
        refuse_options(config)
        self._endpoint = endpoint_of(host, port, key, os.environ)
        self._wanted = wanted_conversation(conversation_id, resume)

    def connect(self) -> RemoteConnection:
        """Connect and open the conversation.

        Blocks until that is done, at most `start_timeout` seconds.

        Raises:
            ConfigError: There is no model key, or the harness cannot do what is asked of it.
            ConversationBusyError: The conversation is open elsewhere.
            ConversationExistsError: It exists, and `resume` is `"never"`.
            ConversationNotFoundError: It does not exist, and `resume` is `"must"`.
            HandshakeError: Nothing can be reached at the address, or the token is refused.
            LaunchError: Any other of its kinds; no thread or descriptor is left.
        """
        return self._connect(RemoteConnection)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._endpoint.address}>"

    # ── for the agents on it ────────────────────────────────────────────────────────────────────

    def _open(self, deadline: Deadline) -> Engine:
        from .._runtime.engine import Engine  # only now, as `Agent.start` does

        plan = self._plan(self._rendered)
        return Engine.open(plan, deadline, deadline.clock, self._join(deadline).host)

    def _plan(self, config: AgentConfig, earlier: Wanted | None = None) -> Plan:
        """Return the plan for an agent with these options, in place of `Plan.make`.

        Raises:
            ConfigError: There is no model key, or an option is not for a connection.
        """
        from .._runtime.plan import Wanted
        from .._runtime.remote import plan_remote

        refuse_options(config)
        return plan_remote(config, earlier or Wanted(*self._wanted))

    def _join(self, _deadline: Deadline) -> _Joined:
        """Return a host at the address; it is reached when an engine connects to it."""
        from .._runtime.remote import RemoteHost

        return _Joined(RemoteHost(self._endpoint))


@attrs.frozen
class _Joined:
    """What stands in place of a process that several agents share.

    Attributes:
        host: What an engine is opened on.
    """

    host: RemoteHost

    def part(self, _deadline: Deadline) -> None:
        """Nothing: the harness is not ours."""
