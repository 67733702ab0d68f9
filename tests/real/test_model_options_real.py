"""Models and endpoints on the real harness: what the model, and nobody else, receives."""

from __future__ import annotations

import itertools
import json
import logging
import pickle
import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from antigravity_sync import (
    Agent,
    Capabilities,
    Gemini,
    Model,
    OpenAICompatible,
    Retry,
    Subagent,
    Vertex,
    policy,
    tool,
)
from antigravity_sync.errors import (
    AuthenticationError,
    ConfigError,
    ModelError,
    RateLimitError,
    TurnError,
)
from antigravity_sync.models import DEFAULT_IMAGE_MODEL
from antigravity_sync.testing import ModelRequest, ScriptedModel, call, http_error, image
from antigravity_sync.wire import JsonlRecorder
from tests.openai_server import OpenAIServer, calling
from tests.trap import TOKEN, Trap
from tests.versions import VERSIONS, release

pytestmark = pytest.mark.real

DRAW: Final = call("generate_image", Prompt="a red fox", ImageName="fox")
DRAWING: Final[dict[str, Any]] = {
    "capabilities": Capabilities.none().enable("generate_image"),
    "policies": [policy.allow_all()],
}
#: Neither of the shape of a known key nor in a place where one is expected.
KEY: Final = "plain-words-of-a-key"
HEADER: Final = "plain-words-of-a-header"
ONCE: Final = Retry(max_retries=0)


@pytest.fixture(autouse=True)
def _no_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the machine is set up for."""
    names = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
    for name in (*names, "GOOGLE_APPLICATION_CREDENTIALS", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


# ── Gemini ──────────────────────────────────────────────────────────────────────────────────────


def thinking(request: ModelRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.body["generationConfig"].get("thinkingConfig", {})
    return found


def test_request_when_options_are_given_then_each_is_at_its_place(make_agent, version):
    """Level, tier, headers and the trimmed key; the image model gets what is not about thinking."""
    tier = "flex" if release(version) >= (0, 1, 10) else None
    endpoint = Gemini(
        api_key=f"  {KEY}\n", headers={"X-Team": "docs"}, thinking_level="low", service_tier=tier
    )
    with (
        ScriptedModel(DRAW, image(), "drawn", "plain") as model,
        make_agent(model, model=Model("the-text-model", endpoint), **DRAWING) as agent,
    ):
        assert agent.chat("Draw a fox.").text == "drawn"
        plain = make_agent(model)
        assert plain.start().chat("hi").text == "plain"
    asked, drawn, told, without = model.requests
    assert [request.model for request in (asked, drawn, told)] == [
        "the-text-model",
        DEFAULT_IMAGE_MODEL,
        "the-text-model",
    ]
    for request in (asked, drawn, told):
        assert request.api_key == KEY
        assert request.headers["x-team"] == "docs"
    for request in (asked, told):
        assert thinking(request)["thinkingLevel"] == "low"
        assert request.body.get("serviceTier") == tier
    assert "serviceTier" not in drawn.body
    assert "thinkingLevel" not in json.dumps(drawn.body)
    assert "thinkingLevel" not in thinking(without)
    assert "serviceTier" not in without.body
    assert "x-team" not in without.headers


@pytest.mark.parametrize("version", [one for one in VERSIONS if release(one) < (0, 1, 10)])
def test_service_tier_when_the_harness_lacks_it_then_nothing_is_started(make_agent):
    """It would end the session at the first message."""
    with ScriptedModel() as model:
        agent = make_agent(model, model=Model("m", Gemini(service_tier="flex")))
        with pytest.raises(ConfigError, match=r"use 0\.1\.10 or newer"):
            agent.start()
        assert agent.pid is None


def test_key_when_it_comes_from_a_variable_then_trimmed(make_agent):
    """A key that was read from a file ends in a line break."""
    with ScriptedModel("ok") as model:
        options = {"api_key": None, "env": {"GEMINI_API_KEY": f" {KEY}\r\n"}}
        with make_agent(model, **options) as agent:
            assert agent.chat("hi").text == "ok"
    assert model.requests[0].api_key == KEY


# ── one address for everything ──────────────────────────────────────────────────────────────────


class Everything:
    """A model that has every other model asked: to search, to draw, and as a subagent."""

    def __init__(self, kind: str) -> None:
        self.kinds: list[str] = []
        start = {"TypeName": kind, "Role": "helper", "Prompt": "task of the helper"}
        calls = [call("search_web", query="who"), DRAW, call("invoke_subagent", Subagents=[start])]
        self._script = itertools.chain(calls, itertools.repeat("done"))

    def __call__(self, request: ModelRequest) -> Any:
        if request.model == DEFAULT_IMAGE_MODEL:
            kind, answer = "draws", image()
        elif request.body.get("tools") == [{"googleSearch": {}}]:
            kind, answer = "searches", "found"
        elif "task of the helper" in json.dumps(request.contents[0]):
            kind, answer = "helps", "helped"
        elif "http://example.invalid/" in request.prompt:
            is_read = "functionResponse" in json.dumps(request.contents[-1])
            read = call("read_url_content", Url="http://example.invalid/")
            kind, answer = "reads", "read" if is_read else read
        else:
            kind, answer = "answers", next(self._script)
        self.kinds.append(kind)
        return answer


def test_base_url_when_set_then_nothing_else_is_called(make_agent, tmp_path, version):
    """Searches, pictures and subagents all go there, and what else is called meets the trap.

    Only a tool of the agent that fetches a page goes elsewhere, and shows that the trap works.
    """
    has_helper = release(version) >= (0, 1, 10)
    mind = Everything("helper" if has_helper else "self")
    options = {
        "capabilities": Capabilities.all(),
        "policies": [policy.allow_all()],
        "subagents": [Subagent("helper", description="helps")] if has_helper else [],
    }
    with Trap() as trap, ScriptedModel(mind, loop=True) as model:
        cloud = {"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p"}
        env = {"HOME": str(tmp_path), **trap.env, **cloud}
        with make_agent(model, env=env, **options) as agent:
            assert "done" in agent.chat("go").messages  # 0.1.6 adds the helper's words
            assert {request.api_key for request in model.requests} == {"scripted-key"}
            assert set(mind.kinds) == {"answers", "searches", "draws", "helps"}
            assert trap.seen == []
            if release(version) >= (0, 1, 6):
                assert agent.chat("http://example.invalid/").text == "read"
                assert {seen.partition(" ")[2] for seen in trap.seen} == {"http://example.invalid/"}


def test_base_url_when_the_history_is_shortened_then_asked_there(make_agent, tmp_path):
    """The summary is one more request to the same address, on 0.1.7 to 0.1.9 of a model there."""
    words = random.Random(1)  # a repeated word would be called looping
    long = [" ".join(f"{words.randrange(10**6):06}" for _ in range(2_500)) for _ in range(5)]
    with Trap() as trap, ScriptedModel(lambda asked: f"fine {asked.number}", loop=True) as model:
        options = {"capabilities": Capabilities.none(), "env": {"HOME": str(tmp_path), **trap.env}}
        with make_agent(model, raw_config={"compactionThreshold": 20_000}, **options) as agent:
            for prompt in long:
                assert agent.chat(prompt).text
        assert len(model.requests) > len(long)
        assert {request.api_key for request in model.requests} == {"scripted-key"}
        assert trap.seen == []


# ── Vertex ──────────────────────────────────────────────────────────────────────────────────────


def failure_of(agent: Agent) -> str:
    """Return why a turn fails that cannot reach its model."""
    with agent, pytest.raises(TurnError) as caught:
        agent.chat("hi")
    return str(caught.value)


def test_vertex_when_it_has_a_project_then_asked_there_with_the_machines_credentials(
    make_agent, tmp_path
):
    """A token is looked up, and the service of the location is called for the project."""
    with Trap() as trap, ScriptedModel() as model:
        agent = make_agent(
            model,
            model=Model("the-model", Vertex(project="the-project", location="europe-west4")),
            api_key=None,
            base_url=None,
            env={"HOME": str(tmp_path), **trap.env},
            retry=ONCE,
        )
        said = failure_of(agent)
        assert "projects/the-project/locations/europe-west4/" in said
        assert any("/token" in seen for seen in trap.seen)
        assert trap.seen[-1] == "CONNECT europe-west4-aiplatform.googleapis.com:443"


@pytest.mark.parametrize("version", [one for one in VERSIONS if release(one) >= (0, 1, 11)])
def test_vertex_when_it_has_a_key_then_asked_without_credentials(make_agent, tmp_path):
    """Express mode needs no token, so none is looked up."""
    with Trap() as trap, ScriptedModel() as model:
        agent = make_agent(
            model,
            model=Model("the-model", Vertex(api_key=KEY)),
            api_key=None,
            base_url=None,
            env={"HOME": str(tmp_path), **trap.env},
            retry=ONCE,
        )
        assert KEY not in failure_of(agent)
        assert set(trap.seen) == {"CONNECT aiplatform.googleapis.com:443"}


@pytest.mark.parametrize("version", [one for one in VERSIONS if release(one) >= (0, 1, 14)])
@pytest.mark.parametrize("where", ["nowhere", "a file", "the machine"])
def test_vertex_when_it_has_an_address_then_no_credentials_are_looked_up(
    make_agent, tmp_path, where
):
    """What a gateway is sent is what the configuration says, whatever the machine could give."""
    file = tmp_path / "credentials.json"
    secret = {"client_id": "c", "client_secret": "s", "refresh_token": TOKEN}
    file.write_text(json.dumps({"type": "authorized_user", **secret}))
    headers = {"X-Gateway": "mine"}
    bare = Vertex(project="p", location="l", headers=headers, thinking_level="low")
    keyed = Vertex(api_key=f" {KEY} ", service_tier="flex")
    with Trap() as trap, ScriptedModel("one", "two", DRAW, image(), "three") as model:
        env: dict[str, str | None] = {"HOME": str(tmp_path), **trap.env}
        if where == "a file":
            env["GOOGLE_APPLICATION_CREDENTIALS"] = str(file)
        if where == "nowhere":
            del env["GCE_METADATA_HOST"]
        options = {"api_key": None, "env": env}
        with make_agent(model, model=Model("m", bare), **options) as agent:
            assert agent.chat("hi").text == "one"
        with make_agent(model, model=Model("m", keyed), **options, **DRAWING) as agent:
            assert agent.chat("hi").text == "two"
            assert agent.chat("draw").text == "three"
        assert [seen for seen in trap.seen if "computeMetadata" not in seen] == []
        assert trap.seen == []
    first, second, *_, drawn, last = model.requests
    assert first.path.startswith("/v1beta1/projects/p/locations/l/publishers/google/models/m:")
    assert (first.api_key, first.headers["x-gateway"]) == ("", "mine")
    assert thinking(first)["thinkingLevel"] == "low"
    for request in (second, drawn, last):
        assert request.path.startswith("/v1beta1/publishers/google/models/")
        assert request.api_key == KEY
    assert (drawn.model, second.body["serviceTier"]) == (DEFAULT_IMAGE_MODEL, "flex")
    for request in model.requests:
        assert "authorization" not in request.headers


@pytest.mark.parametrize("version", [one for one in VERSIONS if release(one) < (0, 1, 14)])
def test_vertex_when_an_older_harness_would_send_its_token_then_refused(make_agent, tmp_path):
    """It does what we refuse, as it shows when it is told behind our back."""
    with Trap() as trap, ScriptedModel("sent") as model:
        env = {"HOME": str(tmp_path), **trap.env}
        agent = make_agent(model, model=Model("m", Vertex(project="p", location="l")), api_key=None)
        with pytest.raises(ConfigError, match="send their token to the base_url"):
            agent.start()
        assert agent.pid is None
        place = {"baseUrl": model.base_url, "project": "p", "location": "l"}
        told = {"name": "m", "types": ["MODEL_TYPE_TEXT"], "vertexEndpoint": place}
        with make_agent(model, raw_config={"models": [told]}, env=env) as behind:
            assert behind.chat("hi").text == "sent"
        assert model.requests[0].api_key == TOKEN
        assert len(trap.seen) == 1


# ── OpenAI-compatible servers ───────────────────────────────────────────────────────────────────


@tool
def measure(place: str) -> str:
    """Measure a place."""
    return f"zqx of {place}"


@pytest.fixture
def open_agent(make_agent: Callable[..., Agent]) -> Callable[..., Agent]:
    """Make agents that talk to a server of the other protocol."""

    def make(server: OpenAIServer, **options: object) -> Agent:
        with ScriptedModel() as model:
            endpoint = OpenAICompatible(f"{server.base_url}/v1/")
            settings = {"model": Model("local", endpoint), "api_key": None, "base_url": None}
            return make_agent(model, **settings, **options)

    return make


def test_openai_when_the_model_calls_a_tool_then_it_is_told_the_result(
    open_agent, version, tmp_path, caplog
):
    """A whole turn: instructions, tools, a call and its result, in the server's own protocol."""
    with Trap() as trap, OpenAIServer(calling("measure", place="Zug"), "measured") as server:
        env = {"HOME": str(tmp_path), "OPENAI_API_KEY": KEY, **trap.env}
        options = {"tools": [measure], "system_instructions": "Be brief, zqx.", "env": env}
        with open_agent(server, **options) as agent:
            response = agent.chat("Measure Zug.")
        assert trap.seen == []
        first, second = server.asked
    assert response.text == "measured"
    assert [call.result for call in response.tool_calls] == ["zqx of Zug"]
    assert {one.target for one in (first, second)} == {"/v1/chat/completions"}
    assert first.body["model"] == "local"
    assert "zqx" in first.body["messages"][0]["content"]
    assert "Measure Zug." in first.messages[-1]["content"]
    assert {"measure", "view_file"} <= set(first.tools)
    assert "authorization" not in first.headers
    assert "zqx of Zug" in second.messages[-1]["content"]
    if release(version) >= (0, 1, 10):
        made, result = second.messages[-2:]
        assert made["tool_calls"][0]["function"]["name"] == "measure"
        assert (result["role"], result["tool_call_id"]) == ("tool", "call_1")
    else:
        assert "tool_calls" not in json.dumps(second.messages)
        assert "does not show an OpenAICompatible model" in caplog.text
    counted = release(version) >= (0, 1, 22)
    assert response.usage.prompt_tokens == (60 if counted else None)


def test_openai_when_the_server_fails_then_the_error_says_how(open_agent):
    """Its status decides the error; nothing is tried twice, and the next call goes on."""
    with OpenAIServer(401, 429, 503, "fine") as server, open_agent(server) as agent:
        for kind, code, is_retryable in (
            (AuthenticationError, 401, False),
            (RateLimitError, 429, True),
            (ModelError, 503, True),
        ):
            with pytest.raises(kind) as caught:
                agent.chat("hi")
            error = caught.value
            assert (error.http_code, error.retryable) == (code, is_retryable)
            assert "scripted trouble" in str(error)
        assert agent.chat("again").text == "fine"
        assert len(server.asked) == 4


def test_openai_when_resumed_then_the_history_is_sent(open_agent, tmp_path):
    """Going on later is no matter of the endpoint."""
    options = {"save_dir": tmp_path / "saved", "conversation_id": "c"}
    with OpenAIServer("one", "two") as server:
        with open_agent(server, **options) as agent:
            agent.chat("remember zqx")
        with open_agent(server, **options, resume="must") as agent:
            assert agent.chat("again").text == "two"
        assert "remember zqx" in json.dumps(server.asked[1].messages)


# ── secrets ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "kind"),
    [(one, Gemini) for one in VERSIONS]
    + [(one, Vertex) for one in VERSIONS if release(one) >= (0, 1, 14)],
)
def test_secrets_when_everything_is_shown_then_they_are_not(
    make_agent, tmp_path, kind, monkeypatch, capfd, caplog
):
    """Not in logs, on stderr, in a recording, in events, in errors, nor in printed objects."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("LOUD_WIRE", "1")
    path = tmp_path / "wire.jsonl"
    events: list[object] = []
    endpoint = kind(api_key=f" {KEY}", headers={"X-Gateway-Word": HEADER})
    with (
        ScriptedModel(http_error(400, f"{KEY} and {HEADER} are bad"), f"ok {KEY}") as model,
        make_agent(
            model,
            model=Model("m", endpoint),
            api_key=None,
            wire_inspectors=[JsonlRecorder(path), events.append],
        ) as agent,
    ):
        with pytest.raises(ModelError) as caught:
            agent.chat("one")
        assert agent.chat("two").text == f"ok {KEY}"
        printed = (agent, agent.config, agent.config.text_model(), endpoint)
    assert model.requests[0].api_key == KEY
    assert model.requests[0].headers["x-gateway-word"] == HEADER
    error = caught.value
    assert "are bad" in str(error)
    shown = {
        "errors": f"{error!s} {error!r} {pickle.dumps(error)!r}",
        "log": caplog.text,
        "stderr and stdout": "".join(capfd.readouterr()),
        "recording": path.read_text(),
        "events": repr(events),
        "printed": repr(printed),
    }
    assert all(shown.values())
    for place, text in shown.items():
        assert KEY not in text, place
        assert HEADER not in text, place
