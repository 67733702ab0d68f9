"""A harness that somebody else runs, over the network."""

from __future__ import annotations

import os
import urllib.parse

from .._clock import Deadline
from .._paths import PATH_TOOLS
from .._transport.channel import Channel
from .._transport.link import Link
from .._transport.reach import APP_DATA_HEADER, VERSION_HEADER
from .._wire.dialect import Dialect
from .._wire.frames import Endpoint
from .._wire.redact import Redactor
from ..config import AgentConfig, resolve_key
from ..errors import ConfigError, HandshakeError
from ..subagents import offered_tools
from .hosting import ForeignHost
from .plan import Plan, Wanted


class RemoteHost(ForeignHost):
    """A harness at an address.

    Args:
        endpoint: Where it is, and the token that opens it.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(Redactor((endpoint.key,)))
        self._endpoint = endpoint
        self._version: str | None = None
        self._app_data = ""

    def connect(self, deadline: Deadline) -> Channel:
        link = Link.connect(self._endpoint, deadline)
        try:
            self._take_version(link.headers.get(VERSION_HEADER, ""))
        except BaseException:
            link.abort()
            link.release()
            raise
        self._app_data = urllib.parse.unquote(link.headers.get(APP_DATA_HEADER, ""))
        return link

    def _take_version(self, said: str) -> None:
        """Take in what version it says it is.

        Raises:
            HandshakeError: That is none, or one that speaks otherwise than the one before.
        """
        if not said:
            return
        try:
            dialect = Dialect.of(said)
        except ConfigError as error:
            raise HandshakeError(
                f"the server at {self._endpoint.address} names no version of a harness but "
                f"{said[:60]!r}; check what listens there"
            ) from error
        if self.dialect not in (None, dialect):
            raise HandshakeError(
                f"the harness at {self._endpoint.address} is {said} now and was "
                f"{self._version or 'another'} before; close() and start() to go on with it"
            )
        self.dialect, self._version = dialect, said

    @property
    def version(self) -> str | None:
        return self._version

    @property
    def app_data_dir(self) -> str:
        return self._app_data

    def check_options(self, config: AgentConfig, dialect: Dialect) -> None:
        super().check_options(config, dialect)
        offered = offered_tools(config.capabilities, config.subagents)
        is_fenced = config.contain_workspaces and any(tool.value in PATH_TOOLS for tool in offered)
        if is_fenced and not dialect.has_policy_config:
            raise ConfigError(
                f"harness {dialect.version} cannot keep tools inside the workspaces itself, and "
                "over a connection nobody else can; set contain_workspaces=False if that is all "
                "right, or serve harness 0.1.10 or newer"
            )
        if is_fenced and not tuple(config.workspaces):
            raise ConfigError(
                "a harness keeps tools inside workspaces only where there are some; name those of "
                "its machine in workspaces, or set contain_workspaces=False if all of it may be "
                "read"
            )


def plan_remote(config: AgentConfig, wanted: Wanted) -> Plan:
    """Return the plan for a conversation on a harness that somebody else runs.

    Raises:
        ConfigError: The model cannot be reached for want of a key or another option.
    """
    environ = dict(os.environ)
    key = environ.get("ANTIGRAVITY_API_KEY", "").strip()
    if key:
        environ["GEMINI_API_KEY"] = key
    config = config.settled(environ)
    return Plan.elsewhere(config, resolve_key(config.text_model(), environ), wanted)
