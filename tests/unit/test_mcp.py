"""MCP servers as options, in the first message, and in what a harness says of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antigravity_sync import (
    AgentConfig,
    Capabilities,
    Hooks,
    McpServer,
    SystemInstructions,
    policy,
)
from antigravity_sync._core.actions import Failure, FailureKind
from antigravity_sync._core.answers import asked_action, step_ask
from antigravity_sync._runtime import mcp
from antigravity_sync._runtime.failures import Circumstances, make_error
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.mcp import render_servers
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.errors import ConfigError, McpServerError
from antigravity_sync.hooks import ToolInvocation
from tests.stage import step

GIT = McpServer.stdio("git-mcp", ["--repo", "."], name="git")
WEB = McpServer.http("https://host/mcp", name="web")
GOVERNED: dict[str, Any] = {"policies": [policy.allow_all()]}


def stdio(**changes: Any) -> McpServer:
    return McpServer.stdio(**{"command": "git-mcp", "name": "git", **changes})


def http(**changes: Any) -> McpServer:
    return McpServer.http(**{"url": "https://host/mcp", "name": "web", **changes})


# ── the option ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *(
            (lambda name=name: stdio(name=name), "letters, digits, '_' and '-'")
            for name in ("", "a b", "ü", "a.b", "a/b", "../x", "a\n", "x" * 65, 5, None)
        ),
        (lambda: stdio(command=""), "must name a program"),
        (lambda: stdio(command="a\0"), "must name a program"),
        (lambda: stdio(command=5), "command takes a path, not 5"),
        (lambda: stdio(args="server.py"), "args takes a list"),
        (lambda: stdio(args=[1]), "args takes strings, not int"),
        (lambda: stdio(args=["\0"]), "NUL"),
        (lambda: stdio(args=["\ud800"]), "surrogate"),
        (lambda: stdio(env=["A=1"]), "env must be a mapping"),
        (lambda: stdio(env={"A=": "1"}), "impossible variable name"),
        (lambda: stdio(env={"A": None}), "agent's own env"),
        (lambda: stdio(env={"A": 1}), "must be a string"),
        (lambda: stdio(timeout=0), "seconds above 0"),
        (lambda: stdio(timeout="1"), "seconds above 0"),
        (lambda: stdio(enabled_tools="push"), "enabled_tools takes a list"),
        (lambda: stdio(enabled_tools=[]), "enabled_tools is empty"),
        (lambda: stdio(disabled_tools=[""]), "empty name"),
        (lambda: stdio(enabled_tools=["a"], disabled_tools=["b"]), "not both"),
        (lambda: http(url="host/mcp"), "http or https URL"),
        (lambda: http(url="ftp://host"), "http or https URL"),
        (lambda: http(headers=["A: 1"]), "headers must be a mapping"),
        (lambda: http(headers={"A": 1}), "must map names to strings"),
        (lambda: http(headers={"A": "zqx\r\nB: 2"}), "line break"),
        (lambda: McpServer(name="x"), "McpServer.stdio"),
        (lambda: McpServer(name="x", command="a", url="http://b"), "McpServer.stdio"),
    ],
)
def test_server_when_something_is_wrong_then_says_what(
    make: Callable[[], McpServer], words: str
) -> None:
    """Before anything is started, and without the values of secrets."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert words in str(caught.value)
    assert "zqx" not in str(caught.value)


def test_server_when_shown_then_keeps_its_secrets() -> None:
    """Arguments, environment, headers and the query of an address may hold keys."""
    shown = repr(
        [
            stdio(args=["--key=zqx"], env={"KEY": "zqx"}),
            http(url="https://zqx:zqx@host:8000/mcp?key=zqx", headers={"Authorization": "zqx"}),
        ]
    )
    assert "zqx" not in shown
    assert "'https://host:8000/mcp'" in shown
    assert "'git-mcp'" in shown


def test_server_when_its_program_is_a_path_then_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A path means what it meant where the server was written down; a bare name is looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    here = str(tmp_path / "server")
    assert [stdio(command=one).command for one in ("./server", "~/server", Path("server"))] == [
        here,
        here,
        here,
    ]
    assert stdio(command="server").command == "server"
    assert stdio(args=[tmp_path, "-v"]).args == (str(tmp_path), "-v")


def test_servers_when_given_to_an_agent_then_told_apart() -> None:
    """Names are unique, and only servers will do."""
    assert AgentConfig(mcp_servers=GIT, **GOVERNED).mcp_servers == (GIT,)
    assert AgentConfig(mcp_servers=iter([GIT, WEB]), **GOVERNED).mcp_servers == (GIT, WEB)
    with pytest.raises(ConfigError, match="mcp_servers has two named 'git'"):
        AgentConfig(mcp_servers=[GIT, http(name="git")], **GOVERNED)
    with pytest.raises(ConfigError, match=r"takes McpServer\.stdio\(…\) and \.http\(…\), not dict"):
        AgentConfig(mcp_servers=[{"name": "git"}], **GOVERNED)


def test_servers_when_nothing_governs_them_then_refused() -> None:
    """A rule or a pre-tool hook is needed, whatever built-in tools there are."""
    for ungoverned in (
        {},
        {"capabilities": Capabilities.none()},
        {"hooks": Hooks(on_post_tool=print)},
    ):
        with pytest.raises(ConfigError, match="nothing governs them"):
            AgentConfig(mcp_servers=[WEB], **ungoverned)
    for governed in ({"policies": [policy.deny("x")]}, {"hooks": Hooks(on_pre_tool=print)}):
        assert AgentConfig(mcp_servers=[WEB], **governed)


# ── the first message ───────────────────────────────────────────────────────────────────────────


def sent(version: str, *servers: McpServer, **options: Any) -> dict[str, Any]:
    config = AgentConfig(mcp_servers=servers, **{**GOVERNED, **options})
    rendered = render_init(
        config,
        conversation=Conversation(),
        api_key="key",
        app_data_dir="/data",
        dialect=Dialect(version),
    )
    assert not any("mcp" in path for path in rendered.dropped)
    return dict(json.loads(rendered.text)["config"])


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_servers_when_rendered_then_as_the_release_knows_them(version: str) -> None:
    """Each release has servers; what it does not know is left out on purpose, not dropped."""
    full = stdio(args=["-v"], env={"A": "b"}, timeout=1.5, enabled_tools=["push"])
    other = http(headers={"X-A": "b"}, timeout=None, disabled_tools=["pull"])
    assert sent(version, full, other)["mcpServers"] == [
        {
            "name": "git",
            "stdio": {"command": "git-mcp", "args": ["-v"], "env": {"A": "b"}},
            "timeoutSeconds": 2,
            "enabledTools": ["push"],
        },
        {
            "name": "web",
            "http": {"url": "https://host/mcp", "headers": {"X-A": "b"}},
            "disabledTools": ["pull"],
        },
    ]


def test_timeout_when_there_is_none_or_too_much_then_still_a_number_that_fits() -> None:
    """The default is sent, because a harness without one waits for ever."""
    seconds = [
        sent("0.1.10", stdio(**given))["mcpServers"][0].get("timeoutSeconds")
        for given in ({}, {"timeout": 1e12}, {"timeout": float("inf")}, {"timeout": 0.1})
    ]
    assert seconds == [60, 2**31 - 1, None, 1]


@pytest.mark.parametrize(
    ("options", "is_declared", "is_long"),
    [
        pytest.param({}, False, False, id="default"),
        pytest.param(
            {"system_instructions": SystemInstructions.append("x")}, False, False, id="more words"
        ),
        pytest.param({"system_instructions": "x"}, True, False, id="other words"),
        pytest.param(
            {"system_instructions": SystemInstructions.replace("x")},
            True,
            False,
            id="other words 2",
        ),
        pytest.param({"capabilities": Capabilities.none()}, True, True, id="no files"),
    ],
)
def test_tools_when_the_model_cannot_look_them_up_then_declared(
    options: dict[str, Any], is_declared: bool, is_long: bool
) -> None:
    """On 0.1.22; an older harness has no way, and the log says so."""
    config = AgentConfig(mcp_servers=[GIT, WEB], **GOVERNED, **options)
    rendered = render_servers(config, Dialect("0.1.22"))
    assert ["forceAllToolsEager" in one for one in rendered["mcpServers"]] == [is_declared] * 2
    assert ("mcpMaxOutputBytes" in rendered) is is_long
    assert list(mcp.caveats(config, Dialect("0.1.22"))) == []
    older = Dialect("0.1.21")
    assert set(render_servers(config, older)) == {"mcpServers"}
    assert [("must be told" in said) for said in mcp.caveats(config, older)] == [True] * is_declared


def test_rules_when_rendered_then_servers_and_tools_apart() -> None:
    """The harness's own rules know both names."""
    rules = sent("0.1.10", GIT, policies=[policy.deny_all(), policy.allow("mcp_git_push")])
    assert {"tool": "push", "serverName": "git", "decision": "POLICY_DECISION_ALLOW"} in rules[
        "policyConfig"
    ]["rules"]


# ── before and after ────────────────────────────────────────────────────────────────────────────


def test_command_when_it_cannot_be_run_then_refused_before_a_start(tmp_path: Path) -> None:
    """It is looked for on the `PATH` that the harness will have."""
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    environ = {"PATH": str(tmp_path)}
    for command, words in (
        ("server", "is not on the agent's PATH"),
        (str(program), "is not an executable file"),
        (str(tmp_path / "gone"), "does not exist"),
        ("python server.py", "arguments belong into args"),
    ):
        with pytest.raises(ConfigError, match=words):
            mcp.check_commands([stdio(command=command)], environ)
    program.chmod(0o700)
    fine = [stdio(command=one) for one in ("server", program, sys.executable)]
    mcp.check_commands([*fine, WEB], environ)
    with pytest.raises(ConfigError, match="is not on the agent's PATH"):
        mcp.check_commands(fine, {})


def test_caveats_when_names_run_together_then_told() -> None:
    """`mcp_a_b_c` may be a tool of either of two servers."""
    servers = [stdio(name=name) for name in ("a", "a_b", "ab")]
    (said,) = mcp.caveats(AgentConfig(mcp_servers=servers, **GOVERNED), Dialect("0.1.10"))
    assert "'a' and 'a_b'" in said


def test_caveats_when_a_harness_is_silent_then_told() -> None:
    """0.1.5 says nothing of servers that fail; without servers there is nothing to say."""
    (said,) = mcp.caveats(AgentConfig(mcp_servers=[GIT], **GOVERNED), Dialect("0.1.5"))
    assert "does not say when an MCP server fails" in said
    assert list(mcp.caveats(AgentConfig(), Dialect("0.1.5"))) == []


def test_names_when_servers_are_configured_then_what_is_known_of_them() -> None:
    """A server that says which of its tools are there makes a rule about others a mistake."""
    config = AgentConfig(mcp_servers=[stdio(enabled_tools=["push"]), WEB], **GOVERNED)
    assert mcp.tool_names(config) == ("list_resources", "read_resource", "mcp_git_push")
    assert mcp.unlisted(config) == ("web",)
    assert mcp.tool_names(AgentConfig()) == ()


def test_failure_when_a_server_did_not_load_then_its_name() -> None:
    """The error says which server it was, and the agent can be used again."""
    message = 'MCP load failed for git: no\n: connection closed: calling "initialize": EOF'
    error = make_error(
        Failure(FailureKind.TURN, message), None, Circumstances(stderr_tail="the tail")
    )
    assert isinstance(error, McpServerError)
    assert (error.server, error.session_usable, error.stderr_tail) == ("git", True, "the tail")
    assert "no : connection closed" in str(error)
    assert "\n" not in str(error)


def test_confirmation_when_it_is_about_an_mcp_call_then_server_and_tool_are_known() -> None:
    """What 0.1.5 asks by a waiting step is what a hook is told on newer ones."""
    payload = {"serverName": "git", "toolName": "edit_file", "argumentsJson": '{"n": 1}'}
    frame = step(1, "", "WAITING_FOR_USER", action="mcpTool", payload=payload)
    ask = step_ask(frame)
    assert (ask.name, ask.server_name, ask.args, ask.raw_args) == (
        "edit_file",
        "git",
        {"n": 1},
        payload,
    )
    action = asked_action(ask)
    assert action.name == "mcp_git_edit_file"
    assert policy.evaluate([policy.deny("edit_file")], ToolInvocation(action.name)).effect is None
    nameless = step(1, "", "WAITING_FOR_USER", action="mcpTool", payload={"toolName": "edit_file"})
    assert asked_action(step_ask(nameless)).name == "mcp__edit_file"
