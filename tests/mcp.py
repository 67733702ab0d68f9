"""MCP servers for tests: real ones, and a plain one that starts at once and misbehaves if told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import attrs

from antigravity_sync import McpServer
from antigravity_sync.testing import call
from tests.leaks import state

SERVERS: Final = Path(__file__).parent / "mcp_servers"


def mcp_call(tool: str, server: str = "plain", **arguments: Any) -> Any:
    """Return the model's call of a tool, by the tool that all harness versions have for it."""
    return call("call_mcp_tool", ServerName=server, ToolName=tool, Arguments=arguments)


@attrs.frozen
class PlainServer:
    """The plain server; how it behaves when it is next started can be changed at any time.

    Attributes:
        place: A directory for its files.
    """

    place: Path

    def behave(self, mode: str) -> None:
        (self.place / "server.mode").write_text(mode)

    def option(self, name: str = "plain", mode: str = "", **options: Any) -> McpServer:
        """Return what an agent is given."""
        self.behave(mode)
        script = [SERVERS / "plain.py", self.place / "server.mode"]
        return McpServer.stdio(sys.executable, script, name=name, **options)

    @property
    def pid(self) -> int:
        """The number of the process that was started last."""
        return int((self.place / "server.pid").read_text())

    @property
    def is_gone(self) -> bool:
        """Whether it has ended; one that nobody has reaped yet counts."""
        return state(self.pid) == "gone" or state(self.pid).endswith("Z")
