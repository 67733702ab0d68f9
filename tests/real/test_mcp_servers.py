"""MCP servers on the real harness: what reaches the model, what rules and hooks see of it."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from antigravity_sync import Capabilities, Decision, Hooks, McpServer, policy
from antigravity_sync.events import Denied, ToolAction
from antigravity_sync.testing import ModelRequest, ScriptedModel, call
from tests.gates import wait_until
from tests.kinds import seen, told
from tests.leaks import children
from tests.mcp import SERVERS, PlainServer, mcp_call
from tests.versions import release

pytestmark = pytest.mark.real

ALLOWED = {"policies": [policy.allow_all()]}


@pytest.fixture
def plain(tmp_path) -> PlainServer:
    return PlainServer(tmp_path)


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    """Give the address of a real server on the loopback interface."""
    command = [sys.executable, str(SERVERS / "real.py"), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        port = process.stdout.readline().strip()
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def test_call_when_the_servers_are_real_then_results_reach_the_model(
    make_agent, version, http_server, monkeypatch
):
    """Over stdio and HTTP, with arguments, environment and headers; the harness does it all.

    On 0.1.5 the step of a call does not tell the result, so neither can a hook.
    """
    monkeypatch.setenv("ZQX_INHERITED", "inherited")
    monkeypatch.setenv("GOOGLE_API_KEY", "zqx-key")
    done, failed = [], []
    servers = [
        McpServer.stdio(sys.executable, [SERVERS / "real.py"], name="in-pipe", env={"ZQX": "own"}),
        McpServer.http(http_server, name="on_web", headers={"X-Zqx": "zqx-token"}),
    ]
    names = ["ZQX", "ZQX_INHERITED", "GOOGLE_API_KEY"]
    script = [
        mcp_call("echo", "in-pipe", text="hello"),
        mcp_call("header", "on_web", name="x-zqx"),
        mcp_call("variables", "in-pipe", names=names),
        mcp_call("pair", "on_web"),
        mcp_call("fail", "in-pipe"),
        "done",
    ]
    hooks = Hooks(
        on_post_tool=lambda one: done.append((one.name, one.server_name, one.args, one.result)),
        on_tool_error=lambda one: failed.append((one.name, one.server_name, one.result)),
    )
    before = set(children())
    with (
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=servers, hooks=[hooks], **ALLOWED) as agent,
    ):
        response = agent.chat("go")
        assert set(children()) - before == {agent.pid}
    assert "echo of hello" in told(model, 1)
    assert "zqx-token" in told(model, 2)
    assert all(text in told(model, 3) for text in ("own", "inherited", "not set"))
    assert "zqx-key" not in told(model, 3)
    assert "two" in told(model, 4)
    assert "fail" in told(model, 5)
    calls = [(one.name, one.args) for one in response.tool_calls]
    assert calls == [
        ("mcp_in-pipe_echo", {"text": "hello"}),
        ("mcp_on_web_header", {"name": "x-zqx"}),
        ("mcp_in-pipe_variables", {"names": names}),
        ("mcp_on_web_pair", {}),
        ("mcp_in-pipe_fail", {}),
    ]
    assert "Error" in str(response.tool_calls[-1].result)
    results = [None] * 4 if version == "0.1.5" else ["echo of hello", "zqx-token"]
    assert [one[3] for one in done][: len(results)] == results
    # 0.1.6–0.1.9 give a call no id, by which to know its arguments or, if it fails, its name again.
    has_ids = not (0, 1, 6) <= release(version) < (0, 1, 10)
    assert [one[:3] for one in done] == [
        (name, name.split("_", 1)[1].rpartition("_")[0], args if has_ids else {})
        for name, args in calls[:4]
    ]
    expected = ("mcp_in-pipe_fail", "in-pipe", None) if has_ids else ("call_mcp_tool", "", None)
    assert failed == [expected]


@pytest.mark.parametrize("mode", ["", "stay"])
def test_server_when_the_agent_is_closed_then_gone(make_agent, plain, mode):
    """Also one that does not mind the end of its input; no command of the agent's is reported."""
    with (
        ScriptedModel("hello") as model,
        make_agent(model, mcp_servers=[plain.option(mode=mode)], **ALLOWED) as agent,
    ):
        agent.chat("go")
        assert not plain.is_gone
        report = agent.close()
    wait_until(lambda: plain.is_gone, "the end of the server")
    assert report.clean
    assert report.ended_commands == ()


def test_tools_when_filtered_then_the_others_cannot_be_called(make_agent, plain, tmp_path):
    """The harness does not even ask about a tool that is not enabled."""
    asked = []
    hooks = Hooks(on_pre_tool=lambda one: asked.append(one.name))
    servers = [
        plain.option("few", enabled_tools=["echo"]),
        plain.option("most", disabled_tools=["mark"]),
    ]
    place = str(tmp_path)
    script = [
        *(mcp_call("mark", name, place=place) for name in ("few", "most")),
        *(mcp_call("echo", name, text="hello") for name in ("few", "most")),
        "done",
    ]
    with (
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=servers, hooks=hooks) as agent,
    ):
        assert agent.chat("go").text == "done"
    assert asked == ["mcp_few_echo", "mcp_most_echo"]
    assert not (tmp_path / "mark").exists()
    assert ["not enabled" in seen(model, number) for number in (1, 2)] == [True, True]
    assert "hello" in told(model, 3)


def test_call_when_all_but_one_is_denied_then_that_one_runs(
    make_agent, plain, tmp_path, version, caplog
):
    """By server and tool together: a rule about the bare name is about another tool, or none."""
    rules = [
        policy.deny_all("zqx shut"),
        policy.allow("mcp_plain_mark"),
        policy.allow("echo"),
        policy.allow("view_file"),
    ]
    place = str(tmp_path)
    script = [mcp_call("echo"), mcp_call("view_file"), mcp_call("mark", place=place), "done"]
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=[plain.option()], policies=rules) as agent,
    ):
        turn = agent.stream("go")
        actions = [event for event in turn if isinstance(event, ToolAction)]
        response = turn.response()
    assert (tmp_path / "mark").exists()
    assert "echo {" not in seen(model, 1)
    assert "view_file {" not in seen(model, 2)
    shown = [(one.action.name, isinstance(one.decision, Denied)) for one in actions]
    assert shown == [
        ("mcp_plain_echo", True),
        ("mcp_plain_view_file", True),
        ("mcp_plain_mark", False),
    ]
    assert [one.action.extra.get("server_name") for one in actions] == ["plain"] * 3
    assert [(one.name, isinstance(one.decision, Denied)) for one in response.tool_calls] == shown
    if version != "0.1.5":
        assert "zqx shut" in told(model, 1)
    assert "a policy names 'echo', which is no tool of this agent" in caplog.text
    assert "mcp_plain_mark'" not in caplog.text


def test_call_when_an_exact_rule_denies_it_then_nothing_else_is_touched(
    make_agent, plain, tmp_path
):
    """A rule about the MCP tool leaves the built-in tool of its bare name alone."""
    (tmp_path / "workspace" / "text").write_text("zqx-inside")
    script = [
        mcp_call("view_file"),
        call("view_file", AbsolutePath=str(tmp_path / "workspace" / "text")),
        "done",
    ]
    rules = [policy.deny("mcp_plain_view_file"), policy.allow_all()]
    with (
        ScriptedModel(*script) as model,
        make_agent(model, mcp_servers=[plain.option()], policies=rules) as agent,
    ):
        agent.chat("go")
    assert "view_file {" not in seen(model, 1)
    assert "zqx-inside" in told(model, 2)


def test_call_when_a_hook_looks_then_its_arguments_are_the_tools_own(make_agent, plain, version):
    """What stands around them is in `raw_args`; new ones reach the server (not on 0.1.5)."""
    looked = []

    def rewrite(one):
        looked.append((one.name, one.server_name, one.args))
        assert one.raw_args
        return Decision.allow({"text": "after"})

    with (
        ScriptedModel(mcp_call("echo", text="before", more=[1]), "done") as model,
        make_agent(model, mcp_servers=plain.option(), hooks=Hooks(on_pre_tool=rewrite)) as agent,
    ):
        response = agent.chat("go")
    assert looked == [("mcp_plain_echo", "plain", {"text": "before", "more": [1]})]
    if version == "0.1.5":
        assert isinstance(response.tool_calls[0].decision, Denied)
    else:
        assert response.tool_calls[0].args == {"text": "after", "more": [1]}
        assert "after" in told(model, 1)
    assert "before" not in seen(model, 1)


def test_error_when_a_hook_has_words_for_it_then_the_model_sees_those(make_agent, plain, version):
    """Since 0.1.6, where the harness asks for them."""
    hooks = Hooks(on_pre_tool=lambda _one: None, on_tool_error=lambda _outcome: "zqx-kindly")
    with (
        ScriptedModel(mcp_call("fail"), "done") as model,
        make_agent(model, mcp_servers=[plain.option()], hooks=hooks) as agent,
    ):
        agent.chat("go")
    assert ("zqx-kindly" in told(model, 1)) is (version != "0.1.5")


def test_resource_when_it_is_read_then_rules_know_the_tool_that_reads(
    make_agent, plain, version, caplog
):
    """The harness has two tools for resources, under names of their own; 0.1.5 asks nobody."""
    looked = []
    rules = [
        policy.deny("read_resource", "zqx shut", when=lambda one: looked.append(one.args) or True)
    ]
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(call("read_resource", ServerName="plain", Uri="mem://x"), "done") as model,
        make_agent(model, mcp_servers=[plain.option()], policies=rules) as agent,
    ):
        agent.chat("go")
    if version == "0.1.5":
        assert "zqx-resource" in told(model, 1)
        assert "asks nobody before a server's resources are read" in caplog.text
    else:
        assert looked == [{"server_name": "plain", "uri": "mem://x"}]
        assert "zqx shut" in told(model, 1)
        assert caplog.text == ""


def pointer_to_view(request: ModelRequest) -> object:
    """Do as a model is told that got a file instead of a long result."""
    path = re.search(r"file://(/[^\s'\"\\\\}]+)", str(request.function_responses[-1]))
    assert path, request.function_responses
    return call("view_file", AbsolutePath=path[1])


def test_result_when_it_is_long_then_the_model_finds_it_in_a_file(make_agent, plain):
    """The file is in the app-data directory, where containment lets the model look."""
    with (
        ScriptedModel(mcp_call("long"), pointer_to_view, "done") as model,
        make_agent(model, mcp_servers=[plain.option()], **ALLOWED) as agent,
    ):
        assert agent.chat("go").text == "done"
    assert "xxxx" not in told(model, 1)
    assert "xxxx" in told(model, 2)


def test_tools_when_the_model_cannot_look_into_files_then_declared_to_it(
    make_agent, plain, version, caplog
):
    """On 0.1.22, long results included; on older harnesses a warning says what is missing."""
    is_declared = release(version) >= (0, 1, 22)
    script = [call("mcp_plain_long") if is_declared else mcp_call("long"), "done"]
    options = {"capabilities": Capabilities.none(), "mcp_servers": [plain.option()], **ALLOWED}
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(*script) as model,
        make_agent(model, **options) as agent,
    ):
        response = agent.chat("go")
    assert response.tool_calls[0].name == "mcp_plain_long"
    assert ("mcp_plain_long" in model.requests[0].tools) is is_declared
    assert ("xxxx" in told(model, 1)) is is_declared
    assert ("the model must be told of them by you" in caplog.text) is not is_declared
