"""A server made with the `mcp` package, over stdio, or over HTTP if it is told so.

Over HTTP it chooses a port and prints it.
"""

import os
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("real", log_level="ERROR")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return f"echo of {text}"


@server.tool()
def pair() -> dict[str, int]:
    """Return two numbers."""
    return {"one": 1, "two": 2}


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError


@server.tool()
def variables(names: list[str]) -> list[str]:
    """Tell environment variables."""
    return [os.environ.get(name, "not set") for name in names]


@server.tool()
def header(name: str, context: Context) -> str:
    """Tell a header of the request."""
    request = context.request_context.request
    return "no request" if request is None else str(request.headers.get(name))


def serve_http() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - the test reads it
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        serve_http()
    else:
        server.run()
