"""MCP servers that fail: which one it was is said in time, and the agent can be used again.

0.1.5 says nothing of a server that does not load: the turn goes on without its tools.
"""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import threading

import pytest

from antigravity_sync import McpServer, policy
from antigravity_sync.errors import ConfigError, McpServerError, TurnTimeoutError
from antigravity_sync.testing import ScriptedModel
from tests.kinds import seen
from tests.leaks import children
from tests.mcp import PlainServer, mcp_call
from tests.versions import VERSIONS

pytestmark = pytest.mark.real

ALLOWED = {"policies": [policy.allow_all()]}
#: Runs a test where a server that does not load is told of.
LOUD = pytest.mark.parametrize("version", [v for v in VERSIONS if v != "0.1.5"], indirect=True)


@pytest.fixture
def plain(tmp_path) -> PlainServer:
    return PlainServer(tmp_path)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        pytest.param("exit", "zqx-out-of-order", id="exits"),
        pytest.param("banner", "invalid character 'W'", id="prints a banner"),
        pytest.param("hang", "deadline exceeded", id="hangs"),
    ],
)
def test_turn_when_a_server_does_not_load_then_its_name_and_the_agent_heals(
    make_agent, plain, tmp_path, version, mode, words
):
    """The model is not called; when the server has been mended the same agent works."""
    (tmp_path / "other").mkdir()
    servers = [
        PlainServer(tmp_path / "other").option("fine"),
        plain.option("broken", mode, timeout=1),
    ]
    with (
        ScriptedModel("first", mcp_call("echo", "broken", text="hello"), "second") as model,
        make_agent(model, mcp_servers=servers, **ALLOWED) as agent,
    ):
        if version == "0.1.5":
            assert agent.chat("go").text == "first"
            assert "call_mcp_tool" in model.requests[0].tools
            return
        for _ in range(1 if mode == "hang" else 2):
            with pytest.raises(McpServerError, match=words) as caught:
                agent.chat("go")
            assert caught.value.server == "broken"
            assert caught.value.session_usable
            assert "'broken'" in str(caught.value)
        assert model.requests == []
        plain.behave("")
        assert agent.chat("again").text == "first"
        agent.chat("call")
        assert "hello" in seen(model, 2)
        assert agent.close().clean


@LOUD
def test_turn_when_nobody_listens_at_an_address_then_its_name(make_agent):
    """An HTTP server that is down is told of like any other."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    server = McpServer.http(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp", name="web")
    with (
        taken,
        ScriptedModel() as model,
        make_agent(model, mcp_servers=[server], **ALLOWED) as agent,
        pytest.raises(McpServerError, match="connection refused") as caught,
    ):
        agent.chat("go")
    assert caught.value.server == "web"


class Refusal(http.server.BaseHTTPRequestHandler):
    """Answers whatever is asked with a status."""

    status = 500

    def do_POST(self) -> None:
        self.send_response(self.status)
        if self.status in (302, 307):
            self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_DELETE = do_POST  # noqa: N815 - as http.server wants it

    def log_message(self, *_: object) -> None:
        pass


@LOUD
@pytest.mark.parametrize("status", [401, 405, 307])
def test_turn_when_an_address_answers_with_a_refusal_then_its_name(make_agent, status):
    """Whoever answers there and is no MCP server, or wants other credentials."""
    handler = type("Handler", (Refusal,), {"status": status})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever, daemon=True)
        thread.start()
        server = McpServer.http(f"http://127.0.0.1:{web.server_port}/mcp", name="web", timeout=5)
        with (
            ScriptedModel("well") as model,
            make_agent(model, mcp_servers=[server], **ALLOWED) as agent,
            pytest.raises(McpServerError) as caught,
        ):
            agent.chat("go")
        web.shutdown()
        thread.join()
    assert caught.value.server == "web"


@pytest.mark.parametrize("mode", ["noise", "many"])
def test_call_when_a_server_is_noisy_or_has_many_tools_then_it_works(make_agent, plain, mode):
    """A megabyte on stderr fills no pipe, and two hundred tools are no trouble."""
    name = "tool_199" if mode == "many" else "echo"
    script = [mcp_call(name, text="zqx-hello"), "done"]
    with (
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=[plain.option(mode=mode)], **ALLOWED) as agent,
    ):
        assert agent.chat("go", timeout=15).text == "done"
        assert f"{name} {{" in seen(model)
        assert "zqx-hello" in seen(model)


@LOUD
def test_turn_when_a_program_is_gone_by_then_then_the_servers_name(make_agent, tmp_path):
    """Servers are started at the first turn, not with the agent."""
    program = tmp_path / "server"
    shutil.copy("/bin/true", program)
    server = McpServer.stdio(program, name="lost")
    with ScriptedModel() as model, make_agent(model, mcp_servers=[server], **ALLOWED) as agent:
        program.unlink()
        with pytest.raises(McpServerError, match="no such file") as caught:
            agent.chat("go")
    assert caught.value.server == "lost"


def test_start_when_there_is_no_such_program_then_nothing_was_started(make_agent, version):
    """The agent's own `PATH` counts, which its `env` may change."""
    server = McpServer.stdio("python3", name="python")
    before = set(children())
    with ScriptedModel() as model:
        agent = make_agent(model, mcp_servers=[server], env={"PATH": os.devnull}, **ALLOWED)
        with pytest.raises(ConfigError, match="'python3' of MCP server 'python' is not on"):
            agent.start()
        assert set(children()) == before


def test_call_when_the_server_dies_of_it_then_the_model_is_told_and_the_turn_goes_on(
    make_agent, plain
):
    """So is it of every later call; the agent itself is none the worse."""
    script = [mcp_call("die"), mcp_call("echo", text="hello"), "first", "second"]
    with (
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=[plain.option()], **ALLOWED) as agent,
    ):
        response = agent.chat("go")
        assert response.text == "first"
        assert agent.chat("more").text == "second"
        assert agent.close().clean
    names = [one.name for one in response.tool_calls]
    # A call that finds no server at all may fail before it is shown as one (seen on 0.1.10).
    assert names[0] == "mcp_plain_die"
    assert set(names[1:]) <= {"mcp_plain_echo"}
    assert all("error" in (one.result or {}) for one in response.tool_calls)
    assert "EOF" in seen(model, 1)
    assert "hello" not in seen(model, 2)


def test_call_when_the_server_does_not_answer_then_the_timeout_ends_it(make_agent, plain, version):
    """The model hears of it; on 0.1.5 nothing but the turn's own deadline ends it."""
    server = plain.option(timeout=1)
    with (
        ScriptedModel(mcp_call("stall"), "went on") as model,
        make_agent(model, mcp_servers=[server], **ALLOWED) as agent,
    ):
        if version == "0.1.5":
            with pytest.raises(TurnTimeoutError, match="mcpTool"):
                agent.chat("go", timeout=1.5)
        else:
            assert agent.chat("go").text == "went on"
            assert "timed out after 1s" in seen(model, 1)
