"""An agent on connections to real harnesses: on a strategy, on a connection, and far away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from antigravity_sync import (
    Agent,
    AgentConfig,
    Answer,
    Capabilities,
    Harness,
    Hooks,
    policy,
    tool,
)
from antigravity_sync.connections import (
    Connection,
    LocalConnectionStrategy,
    RemoteConnectionStrategy,
)
from antigravity_sync.errors import (
    ConfigError,
)
from antigravity_sync.events import TextDelta
from antigravity_sync.testing import ModelGate, ScriptedModel, always, call, chunks
from tests.versions import harness_path

pytestmark = pytest.mark.real


@tool
def price(item: str) -> float:
    """Tell what an item costs."""
    return {"tea": 2.5}[item]


@pytest.fixture(params=["local", "instance", "remote"])
def join(request, version, tmp_path, _leaves_nothing) -> Iterator[Callable[..., Agent]]:
    """Make agents on a connection to a harness of `version`: on its strategy, or on itself."""
    (tmp_path / "workspace").mkdir()
    made: list[Agent | Harness | Connection] = []
    where = {"harness_path": harness_path(version), "env": {"HOME": str(tmp_path)}}

    def make(model: ScriptedModel, options: dict[str, object], /, **of_agent: object) -> Agent:
        shared = {"workspaces": [tmp_path / "workspace"], **model.agent_options(), **options}
        if request.param == "remote":
            harness = Harness(**where).start()
            made.append(harness)
            server = harness.serve()
            config = AgentConfig(contain_workspaces=False, **shared)
            place = {"host": server.host, "port": server.port, "key": server.token}
            made.append(Agent(connection=RemoteConnectionStrategy(config, **place), **of_agent))
        else:
            hooks = [] if version == "0.1.5" else ["on_pre_tool", "on_post_tool"]
            strategy = LocalConnectionStrategy(AgentConfig(**where, **shared), hooks=hooks)
            if request.param == "local":
                made.append(Agent(connection=strategy, **of_agent))
            else:
                connection = strategy.connect()
                made.append(connection)
                own = {name: options[name] for name in ("tools", "policies") if name in options}
                made.append(Agent(connection=connection, **own, **of_agent))
        return made[-1].start()

    yield make
    for one in reversed(made):
        one.disconnect() if isinstance(one, Connection) else one.close()


def test_agent_when_on_a_connection_to_a_harness_then_it_is_as_any(join, version, tmp_path):
    """Streamed text, tools, rules with their effect on disk, cancel, and what the model is told."""
    gate = ModelGate()
    target = tmp_path / "workspace" / "made.txt"
    model = ScriptedModel(
        chunks("hel", "lo"),
        call("price", item="tea"),
        "it costs 2.5",
        call("write_to_file", TargetFile=str(target), CodeContent="x", Overwrite=True),
        "it was refused",
        chunks("half", gate, "whole"),
        always("after"),
    )
    options = {
        "tools": [price],
        "capabilities": Capabilities.read_only().enable("create_file"),
        "policies": [policy.deny("create_file", "not here"), policy.allow_all()],
    }
    with model:
        agent = join(model, options)
        pieces = [each.text for each in agent.stream("hi") if isinstance(each, TextDelta)]
        assert "".join(pieces) == "hello"
        response = agent.chat("what is tea?")
        assert response.text == "it costs 2.5"
        assert [(each.name, each.result) for each in response.tool_calls] == [("price", 2.5)]
        response = agent.chat("write")
        assert response.text == "it was refused"
        assert not target.exists()
        told = "denied" if version == "0.1.5" else "not here"
        assert told in str(model.requests[-1].contents)
        turn = agent.stream("go")
        assert next(each for each in turn if isinstance(each, TextDelta)).text == "half"
        assert agent.cancel()
        assert turn.response().cancelled
        gate.release()
        assert agent.chat("go on").text == "after"
        assert agent.close().leftovers == ()


def test_questions_when_asked_over_a_connection_then_the_agents_handler_answers(join, version):
    """The model hears what the handler chose."""
    asked = {"question": "Which?", "options": ["red", "blue"], "is_multi_select": False}
    model = ScriptedModel(call("ask_question", questions=[asked]), always("thanks"))
    options = {
        "capabilities": Capabilities.none().enable("ask_question"),
        "policies": [policy.allow_all()],
    }
    with model:
        agent = join(
            model, options, hooks=[Hooks(on_questions=lambda questions: [Answer.choices(1)])]
        )
        assert agent.chat("ask me").text == "thanks"
        assert "blue" in str(model.requests[-1].contents[-1])


def test_configuration_when_agent_and_strategy_contradict_each_other_then_refused(tmp_path):
    """Not so what only an agent honours."""
    config = AgentConfig(api_key="none-such-key")
    strategy = LocalConnectionStrategy(config)
    assert Agent(connection=strategy).config is config
    assert Agent(config, connection=strategy, turn_timeout=1.0).config.turn_timeout == 1.0
    with pytest.raises(ConfigError, match="model is one thing"):
        Agent(AgentConfig(api_key="none-such-key", model="other"), connection=strategy)
