"""MCP servers in the first message, and how their tools and results reach the model.

A harness lists a server's tools in its own system prompt, puts their schemas into files that the
model has to read, and big results likewise. Where the model cannot read them, because it may not
view files or because other instructions replace that prompt, 0.1.22 can declare the tools to it
and pass results whole; older harnesses cannot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..mcp import McpServer
from .dialect import Dialect
from .limits import output_bytes

#: The harness counts seconds in 32 bits.
_MAX_SECONDS: Final = 2**31 - 1
#: How many bytes of a result go to a model that cannot look into files; otherwise it is told of a
#: file when they are more than 4096. Like every tool's, they are cut to what the harness allows.
_LONG_RESULT: Final = 256 * 1024


def render_servers(config: AgentConfig, dialect: Dialect) -> dict[str, Any]:
    """Return what the first message says about MCP servers; nothing if there are none."""
    servers = tuple(config.mcp_servers)
    if not servers:
        return {}
    is_declared = can_declare_tools(dialect) and not learns_from_files(config)
    rendered: dict[str, Any] = {"mcpServers": [_server(one, is_declared) for one in servers]}
    if can_declare_tools(dialect):
        longest = output_bytes(config) or (None if _may_view(config) else _LONG_RESULT)
        if longest is not None:
            rendered["mcpMaxOutputBytes"] = longest
    return rendered


def can_declare_tools(dialect: Dialect) -> bool:
    """Return whether the tools of MCP servers can be declared to the model like any others."""
    return dialect.knows("McpServerConfig", "forceAllToolsEager")


def learns_from_files(config: AgentConfig) -> bool:
    """Return whether the model is told of its MCP tools and may read the files about them."""
    told = config.system_instructions
    is_replaced = isinstance(told, str) or (told is not None and told.text is not None)
    return not is_replaced and _may_view(config)


def _may_view(config: AgentConfig) -> bool:
    return BuiltinTool.VIEW_FILE in config.capabilities.tools


def _server(server: McpServer, is_declared: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"name": server.name, **_transport(server)}
    if server.timeout is not None and math.isfinite(server.timeout):
        rendered["timeoutSeconds"] = min(math.ceil(server.timeout), _MAX_SECONDS)
    if server.enabled_tools:
        rendered["enabledTools"] = list(server.enabled_tools)
    if server.disabled_tools:
        rendered["disabledTools"] = list(server.disabled_tools)
    if is_declared:
        rendered["forceAllToolsEager"] = True
    return rendered


def _transport(server: McpServer) -> Mapping[str, Any]:
    if server.url is not None:
        return {"http": {"url": server.url, "headers": dict(server.headers)}}
    stdio = {"command": server.command, "args": list(server.args), "env": dict(server.env)}
    return {"stdio": stdio}
