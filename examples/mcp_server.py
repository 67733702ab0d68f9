"""Give the model the tools of an MCP server, one of which it may not call.

The server is this very file, started by the harness, and needs a package: pip install mcp

python examples/mcp_server.py
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent, McpServer, policy
from antigravity_sync.testing import ScriptedModel, call


def serve() -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    def stock(item: str) -> str:
        """Tell how many pieces of an item there are."""
        return f"7 of {item}"

    @server.tool()
    def sell_out() -> str:
        """Sell everything."""
        return "sold"

    server.run()


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("call_mcp_tool", ServerName="shop", ToolName="stock", Arguments={"item": "nails"}),
        call("call_mcp_tool", ServerName="shop", ToolName="sell_out", Arguments={}),
        "There are 7, and I may not sell them.",
    ) as model:
        yield model.agent_options()


def main() -> None:
    if importlib.util.find_spec("mcp") is None:
        sys.exit("This example's server needs a package: pip install mcp")
    shop = McpServer.stdio(sys.executable, [__file__, "serve"], name="shop")
    rules = [policy.deny_all("only looking is allowed"), policy.allow("mcp_shop_stock")]
    with model_options() as options, Agent(mcp_servers=[shop], policies=rules, **options) as agent:
        response = agent.chat("Are there nails? Sell them all.")
    for used in response.tool_calls:
        print(f"{used.name} {used.args}: {used.decision}")
    print(response.text)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
