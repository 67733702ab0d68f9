"""A harness that runs elsewhere: what holds over the network, what drops, and what comes back."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from antigravity_sync import (
    Agent,
    AgentConfig,
    Capabilities,
    Decision,
    Harness,
    Hooks,
    policy,
    tool,
)
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync.connections import (
    Conversation,
    HookRequest,
    RemoteConnectionStrategy,
    RequestStep,
    Text,
    ToolRequest,
)
from antigravity_sync.errors import (
    ConfigError,
    HandshakeError,
    SessionLostError,
)
from antigravity_sync.events import TextDelta
from antigravity_sync.serving import HarnessServer
from antigravity_sync.testing import ModelGate, ScriptedModel, always, call, chunks
from antigravity_sync.wire import WireEvent
from tests.gates import CEILING, wait_until
from tests.versions import harness_path, release

pytestmark = pytest.mark.real

TOKEN = "the-token-of-this-server"


@tool
def price(item: str) -> float:
    """Tell what an item costs."""
    return {"tea": 2.5}[item]


@pytest.fixture
def server(version, tmp_path, _leaves_nothing) -> Iterator[HarnessServer]:
    temporary = tmp_path / "temporary"  # where 0.1.18 and newer let tools read and write too
    temporary.mkdir()
    env = {"HOME": str(tmp_path), "TMPDIR": str(temporary)}
    harness = Harness(harness_path=harness_path(version), env=env)
    with harness.serve(token=TOKEN) as one:
        yield one
    harness.close()


def strategy(server: HarnessServer, model: ScriptedModel, **options: object):
    """Return a way to a server; options of a strategy are told from those of a configuration."""
    names = ("hooks", "conversation_id", "resume", "key")
    own = {name: options.pop(name) for name in names if name in options}
    config = AgentConfig(**{"contain_workspaces": False, **model.agent_options(), **options})
    where = {"host": server.host, "port": server.port, "key": server.token}
    return RemoteConnectionStrategy(config, **{**where, **own})


def said(conversation: Conversation, prompt: str) -> str:
    return "".join(each.text for each in conversation.chat(prompt) if isinstance(each, Text))


def test_connection_when_remote_then_its_requests_are_answered_by_hand(server, version):
    """A tool call, and the hook before it, reach this side and their answers the other."""
    model = ScriptedModel(call("price", item="tea"), "it costs 9")
    hooks = [] if version == "0.1.5" else ["on_pre_tool"]
    asked = []
    with model, strategy(server, model, tools=[price], hooks=hooks).connect() as connection:
        connection.send("what is tea?")
        for step in connection.receive_steps():
            if isinstance(step, RequestStep):
                asked.append(type(step.request))
                match step.request:
                    case ToolRequest(call_id=call_id):
                        connection.send_tool_response(call_id, 9)
                    case HookRequest(request_id=request_id):
                        connection.send_hook_response(request_id, Decision.allow())
        assert '"result": 9' in str(model.requests[-1].contents[-1])
    # 0.1.5 asks for confirmations of its own tools alone.
    assert set(asked) == ({ToolRequest} if version == "0.1.5" else {ToolRequest, HookRequest})


def test_agent_when_remote_then_rules_tools_hooks_and_reset_are_as_ever(server, version, tmp_path):
    """A denied call has no effect on the other disk, an allowed one has."""
    made = tmp_path / "workspace"
    made.mkdir()
    files = [
        call("write_to_file", TargetFile=str(made / name), CodeContent="x", Overwrite=True)
        for name in ("no.txt", "yes.txt")
    ]
    seen = []
    model = ScriptedModel(
        *(files[0], "refused", files[1], "written", call("price", item="tea"), "2.5"),
        always("fresh"),
    )
    options = {
        "tools": [price],
        "capabilities": Capabilities.read_only().enable("create_file"),
        "policies": [
            policy.deny("create_file", when=lambda invocation: "no.txt" in str(invocation.args)),
            policy.allow_all(),
        ],
    }
    hooks = [Hooks(on_post_tool=lambda outcome: seen.append(outcome.name))]
    with model, Agent(connection=strategy(server, model, **options), hooks=hooks) as agent:
        assert agent.chat("write no").text == "refused"
        assert agent.chat("write yes").text == "written"
        assert agent.chat("what is tea?").text == "2.5"
        assert sorted(os.listdir(made)) == ["yes.txt"]
        assert "price" in seen
        before = agent.conversation_id
        agent.reset()
        assert agent.chat("who am I?").text == "fresh"
        assert agent.conversation_id != before
        assert "tea" not in str(model.requests[-1].contents)
        assert (agent.pid, agent.harness_version) == (None, version)


def test_connection_when_it_drops_in_a_turn_then_the_next_prompt_goes_on(server):
    """The turn fails, and says that the agent is usable; the conversation is not lost."""
    gate = ModelGate()
    model = ScriptedModel("I will", chunks("half", gate, "whole"), always("the plum"))
    with model, Agent(connection=strategy(server, model)) as agent:
        assert agent.chat("remember the plum").text == "I will"
        turn = agent.stream("go")
        assert next(each for each in turn if isinstance(each, TextDelta)).text == "half"
        for passage in tuple(server._relay._passages):
            passage.abort()
        with pytest.raises(SessionLostError) as caught:
            turn.response()
        assert caught.value.session_usable
        gate.release()
        assert agent.chat("which fruit?").text == "the plum"
        assert "remember the plum" in str(model.requests[-1].contents)


def test_conversation_when_another_process_resumes_it_then_it_has_its_history(server, tmp_path):
    """Host, port, token and both keys from the environment, as a cron job would have them."""
    model = ScriptedModel("I will", always("the plum"))
    with model:
        with strategy(server, model).connect() as connection:
            assert said(Conversation(connection), "remember the plum") == "I will"
            name = connection.conversation_id
        script = (
            "import sys\n"
            "from antigravity_sync import Agent, AgentConfig, RemoteConnectionStrategy\n"
            "config = AgentConfig(base_url=sys.argv[1], contain_workspaces=False)\n"
            "there = RemoteConnectionStrategy(config, conversation_id=sys.argv[2], resume='must')\n"
            "with Agent(connection=there) as agent:\n"
            "    print(len(agent.initial_history) > 0, agent.chat('which fruit?').text)\n"
        )
        environ = {
            **{key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ},
            "HOME": str(tmp_path),
            "ANTIGRAVITY_HARNESS_HOST": server.host,
            "ANTIGRAVITY_HARNESS_PORT": str(server.port),
            "ANTIGRAVITY_HARNESS_TOKEN": server.token,
            "ANTIGRAVITY_API_KEY": "the-key-that-comes-first",
            "GEMINI_API_KEY": "the-key-that-comes-second",
        }
        done = subprocess.run(
            [sys.executable, "-c", script, model.base_url, name],
            env=environ,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=CEILING,
            check=False,
        )
        assert done.stdout == "True the plum\n", done.stderr
        assert model.requests[-1].api_key == "the-key-that-comes-first"


def test_harness_when_killed_in_a_turn_then_the_turn_fails_and_a_start_goes_on(server):
    """Without waiting for a deadline; on the harness that the server starts next."""
    gate = ModelGate()
    model = ScriptedModel(chunks("half", gate, "whole"), always("again"))
    with model, Agent(connection=strategy(server, model)) as agent:
        turn = agent.stream("go")
        assert next(each for each in turn if isinstance(each, TextDelta)).text == "half"
        os.kill(server._process.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError):
            turn.response()
        gate.release()
    with model_again() as other, Agent(connection=strategy(server, other)) as agent:
        assert agent.chat("hello").text == "again"


def model_again() -> ScriptedModel:
    return ScriptedModel(always("again"))


def test_bare_harness_when_joined_by_its_own_key_then_its_version_is_found(version, tmp_path):
    """It tells no version: spellings are tried until it takes one."""
    with (
        ScriptedModel(always("yes")) as model,
        Harness(harness_path=harness_path(version), env={"HOME": str(tmp_path)}) as harness,
    ):
        endpoint = harness._running(Deadline.after(MonotonicClock(), CEILING)).host.endpoint
        config = AgentConfig(contain_workspaces=False, **model.agent_options())
        joining = RemoteConnectionStrategy(config, port=endpoint.port, key=endpoint.key)
        with Agent(connection=joining) as agent:
            assert agent.chat("hello").text == "yes"
            assert agent.chat("and more").text == "yes"


def test_remote_when_nobody_listens_then_five_tries_and_where(tmp_path):
    """With what to check; nothing is left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    joining = RemoteConnectionStrategy(AgentConfig(api_key="none-such-key"), port=port, key=TOKEN)
    with pytest.raises(HandshakeError, match=f"127.0.0.1:{port}.*check host and port") as caught:
        joining.connect()
    assert (caught.value.attempts, caught.value.port) == (5, port)


def test_secrets_when_remote_then_in_no_log_error_or_wire_event(server, caplog):
    """Neither the server's token nor the model's key."""
    events: list[WireEvent] = []
    model = ScriptedModel(always("yes"))
    options = {"wire_inspectors": [events.append], "api_key": "a-model-key-to-be-hidden"}
    with (
        model,
        caplog.at_level(logging.DEBUG),
        Agent(connection=strategy(server, model, **options)) as agent,
    ):
        agent.chat("hello")
        shown = f"{agent!r} {agent._place!r}"
    told = shown + caplog.text + "".join(map(repr, events))
    assert len(events) > 3
    assert TOKEN not in told
    assert "a-model-key-to-be-hidden" not in told


def test_containment_when_remote_then_the_harness_keeps_it_or_the_start_is_refused(
    server, version, tmp_path
):
    """Inside a directory of its machine, named by a path that is sent as it stands."""
    inside, outside = tmp_path / "there" / "in.txt", tmp_path / "out.txt"
    inside.parent.mkdir()
    inside.write_text("zqx-inside")
    outside.write_text("zqx-outside")
    reads = [call("view_file", AbsolutePath=str(path)) for path in (outside, inside)]
    place = {"workspaces": [PurePosixPath(inside.parent)], "contain_workspaces": True}
    with ScriptedModel(*reads, always("done")) as model:
        nowhere = strategy(server, model, **{**place, "workspaces": []})
        if release(version) < (0, 1, 10):
            with pytest.raises(ConfigError, match="contain_workspaces=False"):
                strategy(server, model, **place).connect()
            with pytest.raises(ConfigError, match="contain_workspaces=False"):
                nowhere.connect()
        else:
            with pytest.raises(ConfigError, match="only where there are some"):
                nowhere.connect()
            with strategy(server, model, **place).connect() as connection:
                assert said(Conversation(connection), "read both") == "done"
            read = str(model.requests[-1].contents)
            assert "zqx-inside" in read
            assert "zqx-outside" not in read
        wait_until(lambda: server.connections == 0, "the end of the connection")


def test_path_when_it_is_one_of_another_machine_then_only_a_remote_takes_it(version):
    """Nobody looks for it here, where the same name may mean another directory."""
    there = PurePosixPath("/no/such/place/here")
    assert AgentConfig(workspaces=there).workspaces == (there,)
    with pytest.raises(ConfigError, match="must be absolute"):
        AgentConfig(skills_paths=[PurePosixPath("skills")])
    for option in ("workspaces", "skills_paths"):
        options = {option: [there], "harness_path": harness_path(version), "api_key": "none-such"}
        with pytest.raises(ConfigError, match="a path of another machine"):
            Agent(**options).start()
