"""What is known about MCP servers before a process exists, and what a harness says of them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from .._wire.dialect import Dialect
from .._wire.mcp import can_declare_tools, learns_from_files
from ..config import AgentConfig
from ..errors import ConfigError
from ..mcp import McpServer

#: Tools of the harness that read from MCP servers.
RESOURCE_TOOLS: Final = ("list_resources", "read_resource")

_LOAD_FAILED: Final = re.compile(r"MCP load failed for (?P<server>[^\s:]+): (?P<why>.*)", re.DOTALL)


def servers_of(config: AgentConfig) -> tuple[McpServer, ...]:
    """Return the MCP servers of an agent."""
    return tuple(config.mcp_servers)


def check_commands(servers: Iterable[McpServer], environ: Mapping[str, str]) -> None:
    """Look for the programs of stdio servers as the harness will.

    Args:
        servers: The servers.
        environ: The harness's environment.

    Raises:
        ConfigError: One cannot be run.
    """
    for server in servers:
        command = server.command
        if command is None or shutil.which(command, path=environ.get("PATH", "")):
            continue
        if os.path.isabs(command):
            problem = "is not an executable file" if os.path.exists(command) else "does not exist"
        else:
            problem = "is not on the agent's PATH"
        hint = "; arguments belong into args" if " " in command else ""
        raise ConfigError(
            f"the command {command!r} of MCP server {server.name!r} {problem}{hint}; "
            "install it or correct the path"
        )


def caveats(config: AgentConfig, dialect: Dialect) -> Iterator[str]:
    """Yield what will not be as the user may think."""
    servers = servers_of(config)
    if not servers:
        return
    if dialect.needs_confirmations:  # which is 0.1.5
        yield (
            f"harness {dialect.version} does not say when an MCP server fails, its tools are "
            "missing then; it asks nobody before a server's resources are read"
        )
    if not can_declare_tools(dialect) and not learns_from_files(config):
        yield (
            f"harness {dialect.version} tells the model of MCP tools in its own instructions and "
            "in files: without view_file, or with other system_instructions, the model must be "
            "told of them by you"
        )
    names = sorted(f"{server.name}_" for server in servers)
    for short in names:
        for long in names:
            if long != short and long.startswith(short):
                yield (
                    f"rules cannot tell apart all tools of the MCP servers {short[:-1]!r} and "
                    f"{long[:-1]!r}; rename one"
                )


def tool_names(config: AgentConfig) -> tuple[str, ...]:
    """Return the names of tools that are there because of MCP servers, as far as they are known."""
    servers = servers_of(config)
    listed = (server.tool_name(tool) for server in servers for tool in server.enabled_tools or ())
    return (*(RESOURCE_TOOLS if servers else ()), *listed)


def unlisted(config: AgentConfig) -> tuple[str, ...]:
    """Return the names of servers whose tools are not known beforehand."""
    return tuple(server.name for server in servers_of(config) if not server.enabled_tools)


def load_failure(message: str) -> tuple[str, str] | None:
    """Return the server that a failed turn is about, and what became of it; `None` if none is."""
    found = _LOAD_FAILED.search(message)
    return None if found is None else (found["server"], found["why"])
