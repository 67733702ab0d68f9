"""MCP servers whose tools the model may call; the harness starts them and talks to them.

Rules and hooks know the tool of a server as `mcp_<server>_<tool>`, and by no other name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import attrs
from attrs.validators import optional

from ._checks import check_headers, check_patience, check_text, check_url, local_path, own_dict
from .errors import ConfigError

#: Seconds that a server gets unless told otherwise; without a limit a harness waits for ever.
DEFAULT_TIMEOUT: Final = 60.0

#: The harness takes any name, and makes a directory and the names of functions of it.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

StrPath = str | os.PathLike[str]
_Field: TypeAlias = "attrs.Attribute[Any]"


def _own(value: Mapping[str, str]) -> Mapping[str, str]:
    own: Mapping[str, str] = own_dict(value)
    return own


def _command(value: StrPath | None) -> str | None:
    """Convert a path to an absolute one; a bare name is looked for on `PATH` at the start."""
    if value is None or (isinstance(value, str) and not _is_path(value)):
        return value
    return local_path("command", value)


def _is_path(command: str) -> bool:
    return command.startswith("~") or any(one in command for one in (os.sep, os.altsep) if one)


def _texts(option: str, value: object) -> tuple[str, ...]:
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        raise ConfigError(f"{option} takes a list of strings, not {type(value).__name__}")
    found = []
    for one in value:
        text = os.fspath(one) if isinstance(one, os.PathLike) else one
        if not isinstance(text, str):
            raise ConfigError(f"{option} takes strings, not {type(one).__name__}; use str() on it")
        found.append(text)
    return tuple(found)


def _arguments(value: Iterable[StrPath]) -> tuple[str, ...]:
    return _texts("args", value)


def _enabled(value: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if value is None else _texts("enabled_tools", value)


def _disabled(value: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if value is None else _texts("disabled_tools", value)


def _without_secrets(url: str | None) -> str:
    """Return a URL for a `repr`: user, password and query may hold secrets."""
    if url is None:
        return "None"
    parts = urlsplit(url)
    return repr(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")


def _check_name(_server: Any, field: _Field, value: Any) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ConfigError(
            f"{field.name} of an MCP server is 1 to 64 letters, digits, '_' and '-', not {value!r}"
        )


def _check_command(server: Any, field: _Field, value: Any) -> None:
    check_text(server, field, value)
    if not value.strip() or "\0" in value:
        raise ConfigError(f"command must name a program, not {value!r}")


def _check_arguments(server: Any, field: _Field, value: tuple[str, ...]) -> None:
    for text in value:
        check_text(server, field, text)
        if "\0" in text:
            raise ConfigError(f"{field.name} holds a NUL character, which nothing can be given")


def _check_tools(server: Any, field: _Field, value: tuple[str, ...]) -> None:
    for name in value:
        check_text(server, field, name)
        if not name:
            raise ConfigError(f"{field.name} holds an empty name; give the names of tools")
    if not value and field.name == "enabled_tools":
        raise ConfigError("enabled_tools is empty: leave it out for all, or leave out the server")


def _check_environment(server: Any, field: _Field, value: Any) -> None:
    if not isinstance(value, dict):
        raise ConfigError(f"{field.name} must be a mapping, not {type(value).__name__}")
    for name, text in value.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ConfigError(f"{field.name} has an impossible variable name {name!r}; correct it")
        if not isinstance(text, str) or "\0" in text:
            raise ConfigError(
                f"env[{name!r}] of an MCP server must be a string; what it shall not inherit goes "
                "into the agent's own env, as None"
            )
        check_text(server, field, name + text)


def _check_headers(server: Any, field: _Field, value: Any) -> None:
    check_headers(server, field, value)
    for name, text in value.items():
        if _CONTROL.search(name) or _CONTROL.search(text):
            raise ConfigError(f"headers[{name!r}] holds a line break or the like; remove it")


@attrs.frozen(kw_only=True)
class McpServer:
    """An MCP server; made by `stdio` or `http`.

    Attributes:
        name: Its name in rules and hooks.
        command: The program of a stdio server.
        args: What it is given.
        env: Variables that are added to its environment.
        url: The address of an HTTP server.
        headers: Extra HTTP headers.
        timeout: Seconds for its start and for each of its calls.
        enabled_tools: Its only tools that may be called, `None` for all.
        disabled_tools: Its tools that may not.
    """

    name: str = attrs.field(validator=_check_name)
    command: str | None = attrs.field(
        default=None, converter=_command, validator=optional(_check_command)
    )
    args: tuple[str, ...] = attrs.field(
        default=(), converter=_arguments, validator=_check_arguments, repr=False
    )
    env: Mapping[str, str] = attrs.field(
        factory=dict, converter=_own, validator=_check_environment, repr=False
    )
    url: str | None = attrs.field(
        default=None, validator=optional(check_url), repr=_without_secrets
    )
    headers: Mapping[str, str] = attrs.field(
        factory=dict, converter=_own, validator=_check_headers, repr=False
    )
    timeout: float | None = attrs.field(default=DEFAULT_TIMEOUT, validator=check_patience)
    enabled_tools: tuple[str, ...] | None = attrs.field(
        default=None, converter=_enabled, validator=optional(_check_tools)
    )
    disabled_tools: tuple[str, ...] | None = attrs.field(
        default=None, converter=_disabled, validator=optional(_check_tools)
    )

    def __attrs_post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ConfigError("an MCP server is made by McpServer.stdio() or McpServer.http()")
        if self.enabled_tools and self.disabled_tools:
            raise ConfigError("give enabled_tools or disabled_tools, not both")

    @classmethod
    def stdio(
        cls,
        command: StrPath,
        args: Iterable[StrPath] = (),
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        enabled_tools: Iterable[str] | None = None,
        disabled_tools: Iterable[str] | None = None,
    ) -> McpServer:
        """Return a server that the harness starts, at the first turn, and ends with itself.

        Args:
            command: The program: a path, or a name that is looked for on the agent's `PATH`.
            args: What it is given.
            name: Its name in rules and hooks: letters, digits, `_` and `-`.
            env: Variables for it, beside the environment of the agent, which it inherits without
                the model keys.
            timeout: Seconds for its start, and for each call of a tool (not on 0.1.5); `None` is
                for ever.
            enabled_tools: Names of its only tools that may be called.
            disabled_tools: Names of tools that may not.

        Raises:
            ConfigError: Something of it is wrong.
        """
        return cls(
            name=name,
            command=command,
            args=args,
            env=env or {},
            timeout=timeout,
            enabled_tools=enabled_tools,
            disabled_tools=disabled_tools,
        )

    @classmethod
    def http(
        cls,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        enabled_tools: Iterable[str] | None = None,
        disabled_tools: Iterable[str] | None = None,
    ) -> McpServer:
        """Return a server that runs already and speaks MCP over streamable HTTP.

        Args:
            url: Its address, http or https.
            name: Its name in rules and hooks: letters, digits, `_` and `-`.
            headers: Extra HTTP headers, such as `Authorization`.
            timeout: Seconds to connect, and for each call of a tool (not on 0.1.5); `None` is for
                ever.
            enabled_tools: Names of its only tools that may be called.
            disabled_tools: Names of tools that may not.

        Raises:
            ConfigError: Something of it is wrong.
        """
        return cls(
            name=name,
            url=url,
            headers=headers or {},
            timeout=timeout,
            enabled_tools=enabled_tools,
            disabled_tools=disabled_tools,
        )

    def tool_name(self, tool: str) -> str:
        """Return what rules and hooks call a tool of this server."""
        return f"mcp_{self.name}_{tool}"


def check_servers(servers: Iterable[object]) -> tuple[McpServer, ...]:
    """Return the servers of an agent.

    Raises:
        ConfigError: One is none, or two have one name.
    """
    found: dict[str, McpServer] = {}
    for server in servers:
        if not isinstance(server, McpServer):
            raise ConfigError(
                f"mcp_servers takes McpServer.stdio(…) and .http(…), not {type(server).__name__}"
            )
        if server.name in found:
            raise ConfigError(
                f"mcp_servers has two named {server.name!r}, and the harness would drop one; "
                "rename it"
            )
        found[server.name] = server
    return tuple(found.values())
