"""Models and endpoints: what is refused before anything is started, and exactly what is sent."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, Final

import pytest

from antigravity_sync import (
    DEFAULT_MODEL,
    Agent,
    AgentConfig,
    Capabilities,
    Gemini,
    Model,
    OpenAICompatible,
    Subagent,
    Vertex,
    policy,
)
from antigravity_sync._runtime.plan import Plan
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.models import check_models, model_caveats, render_models
from antigravity_sync.config import resolve_key
from antigravity_sync.errors import ConfigError
from antigravity_sync.models import DEFAULT_IMAGE_MODEL

URL: Final = "http://127.0.0.1:1"
DRAWING: Final[dict[str, Any]] = {
    "capabilities": Capabilities.none().enable("generate_image"),
    "policies": [policy.allow_all()],
}
VERTEX_ENVIRON: Final = {
    "GOOGLE_CLOUD_PROJECT": " env-project ",
    "GOOGLE_CLOUD_LOCATION": "env-location",
}


def sent(config: AgentConfig, version: str = "0.1.22", **environ: str) -> list[dict[str, Any]]:
    """Return the models as they are sent, with what a plan does to the configuration first."""
    settled = config.settled(environ)
    key = resolve_key(settled.text_model(), environ)
    return render_models(settled, key, Dialect(version))


def of(endpoint: Any, **options: Any) -> AgentConfig:
    return AgentConfig(model=Model("m", endpoint), **options)


# ── which model does what ───────────────────────────────────────────────────────────────────────


def test_models_when_none_is_named_then_the_default_alone() -> None:
    """An agent that cannot draw has no model for it."""
    assert sent(AgentConfig(api_key="k")) == [
        {
            "name": DEFAULT_MODEL,
            "types": ["MODEL_TYPE_TEXT"],
            "geminiApiEndpoint": {"apiKey": "k"},
        }
    ]


def test_models_when_the_text_model_is_among_them_then_used() -> None:
    """`models` alone may say everything; a name is a text model."""
    config = AgentConfig(models=[Model("painter", types=["image"]), "writer"], api_key="k")
    assert config.text_model() == Model("writer", Gemini(api_key="k"))
    assert [model["name"] for model in sent(config)] == ["writer", "painter"]
    assert AgentConfig(models="writer").text_model().name == "writer"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": "a", "models": ["b"]}, "model and models both name a model for text, 'a' and"),
        ({"model": "a", "models": ["a"]}, "both name a model for text"),
        ({"models": ["a", "b"]}, "two models for text, 'a' and 'b'"),
        (
            {"models": [Model("a", types="image"), Model("b", types="image")]},
            "two models for image",
        ),
        (
            {
                "model": Model("a", types=("text", "image")),
                "models": [Model("b", types="image")],
            },
            "both name a model for image",
        ),
        ({"model": Model("a", types="image")}, "'a' only draws"),
        ({"models": [5]}, "not 5"),
        ({"models": 5}, "not 5"),
    ],
)
def test_models_when_they_contradict_each_other_then_refused(
    options: dict[str, Any], problem: str
) -> None:
    """Which of two is meant is not guessed."""
    with pytest.raises(ConfigError, match=problem):
        AgentConfig(**options)


@pytest.mark.parametrize("types", [(), "video", ["text", "text"], [5]])
def test_types_when_there_are_no_such_then_refused(types: Any) -> None:
    """A model writes, draws, or both."""
    with pytest.raises(ConfigError, match="types of a model"):
        Model("m", types=types)


# ── the model that draws ────────────────────────────────────────────────────────────────────────


def test_image_model_when_the_agent_may_draw_then_the_default_at_the_same_place() -> None:
    """It has the text model's key, address and headers, and not its way of thinking."""
    text = Gemini(base_url=URL, headers={"X-Team": "a"}, thinking_level="low", service_tier="flex")
    text_model, image_model = sent(of(text, api_key="k", **DRAWING))
    place = {"apiKey": "k", "baseUrl": URL, "httpHeaders": {"X-Team": "a"}}
    options = {"thinkingLevel": "low", "serviceTier": "flex"}
    assert text_model["geminiApiEndpoint"] == {**place, "options": options}
    assert image_model == {
        "name": DEFAULT_IMAGE_MODEL,
        "types": ["MODEL_TYPE_IMAGE"],
        "geminiApiEndpoint": place,
    }


def test_image_model_when_only_a_subagent_may_draw_then_there_is_one() -> None:
    """A subagent draws with the agent's model."""
    capabilities = Capabilities.none().enable("start_subagent")
    painter = Subagent("p", capabilities=DRAWING["capabilities"])
    config = AgentConfig(
        capabilities=capabilities, subagents=[painter], policies=[policy.allow_all()]
    )
    image = config.image_model()
    assert image is not None
    assert image.name == DEFAULT_IMAGE_MODEL
    assert config.evolve(subagents=[]).image_model() is None


def test_image_model_when_the_text_model_draws_then_no_other() -> None:
    """A model may have both uses."""
    (model,) = sent(AgentConfig(model=Model("m", types=("text", "image")), api_key="k", **DRAWING))
    assert model["types"] == ["MODEL_TYPE_TEXT", "MODEL_TYPE_IMAGE"]


def test_image_model_when_its_endpoint_is_the_text_models_then_taken() -> None:
    """Saying the same again is no contradiction."""
    for endpoint in (Gemini(), Gemini(api_key="k", base_url=URL)):
        painter = Model("p", endpoint, types="image")
        config = of(Gemini(thinking_level="low"), models=[painter], api_key="k", base_url=URL)
        assert sent(config)[1]["geminiApiEndpoint"] == {"apiKey": "k", "baseUrl": URL}


@pytest.mark.parametrize(
    "endpoint",
    [
        Gemini(api_key="another"),
        Gemini(base_url="http://127.0.0.1:2"),
        Gemini(thinking_level="high"),
        Vertex(project="p", location="l"),
        OpenAICompatible(URL),
    ],
)
def test_image_model_when_it_is_elsewhere_then_refused(endpoint: Any) -> None:
    """The harness would ask for it where the text model is, with the text model's key."""
    with pytest.raises(ConfigError, match="'p' is reached as the text model is"):
        AgentConfig(api_key="k", models=[Model("p", endpoint, types="image")])


def test_subagent_when_its_model_has_an_endpoint_then_refused() -> None:
    """A harness that is told one ends at the first prompt."""
    for endpoint in (Gemini(), Vertex(), OpenAICompatible(URL)):
        with pytest.raises(ConfigError, match="give its name alone"):
            Subagent("a", model=Model("m", endpoint))


# ── Vertex ──────────────────────────────────────────────────────────────────────────────────────


def test_vertex_when_it_has_a_project_then_no_key_is_asked_for() -> None:
    """The credentials of the machine are used, and options go with it."""
    endpoint = Vertex(
        project=" p\n", location="l", headers={"X": "y"}, thinking_level="low", service_tier="flex"
    )
    assert sent(of(endpoint)) == [
        {
            "name": "m",
            "types": ["MODEL_TYPE_TEXT"],
            "vertexEndpoint": {
                "project": "p",
                "location": "l",
                "httpHeaders": {"X": "y"},
                "options": {"thinkingLevel": "low", "serviceTier": "flex"},
            },
        }
    ]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (of(Vertex(api_key=" k\n")), {"apiKey": "k"}),
        (of(Vertex(), api_key="k"), {"apiKey": "k"}),
        (of(Vertex()), {"project": "env-project", "location": "env-location"}),
        (of(Vertex(project="p")), {"project": "p", "location": "env-location"}),
        (of(Vertex(location="l")), {"project": "env-project", "location": "l"}),
        (of(Vertex(base_url=URL)), {"baseUrl": URL}),
        (of(Vertex(), base_url=URL), {"baseUrl": URL}),
        (
            of(Vertex(base_url=URL, project="p", location="l")),
            {"baseUrl": URL, "project": "p", "location": "l"},
        ),
        (
            of(Vertex(base_url=URL, project="p", location="l", api_key="k")),
            {"apiKey": "k", "baseUrl": URL, "project": "p", "location": "l"},
        ),
    ],
)
def test_vertex_when_something_is_left_open_then_the_environment_fills_it(
    config: AgentConfig, expected: dict[str, str]
) -> None:
    """A key or an address of its own leaves nothing open, and a Gemini key is none of Vertex."""
    (model,) = sent(config, GEMINI_API_KEY="of-gemini", **VERTEX_ENVIRON)
    assert model["vertexEndpoint"] == expected


@pytest.mark.parametrize(
    ("config", "environ", "problem"),
    [
        (of(Vertex()), {}, "needs an api_key, or a project and a location.*GOOGLE_CLOUD_PROJECT"),
        (of(Vertex()), {"GEMINI_API_KEY": "k"}, "needs an api_key, or a project"),
        (of(Vertex(project="p")), {}, "no location.*GOOGLE_CLOUD_LOCATION"),
        (of(Vertex(location="l")), {}, "no project.*GOOGLE_CLOUD_PROJECT"),
        (of(Vertex(project=" ")), {"GOOGLE_CLOUD_PROJECT": ""}, "needs an api_key, or a project"),
        (of(Vertex(project="p", base_url=URL)), VERTEX_ENVIRON, "no location.*endpoint; "),
        (of(Vertex(project="p", location="l", api_key="k")), {}, "and has both"),
        (of(Vertex(project="p", location="l"), api_key="k"), {}, "and has both"),
        (of(Vertex(project="p", api_key="k")), VERTEX_ENVIRON, "no location"),
    ],
)
def test_vertex_when_it_is_incomplete_or_overdone_then_refused(
    config: AgentConfig, environ: dict[str, str], problem: str
) -> None:
    """The error names what is missing and where it was looked for."""
    with pytest.raises(ConfigError, match=problem):
        config.settled(environ)


@pytest.mark.parametrize(
    ("options", "switch", "kind"),
    [
        ({}, "true", Vertex),
        ({}, " TRUE ", Vertex),
        ({}, "1", Vertex),
        ({"model": "m"}, "1", Vertex),
        ({"api_key": "k"}, "1", Vertex),
        ({}, "0", Gemini),
        ({}, "", Gemini),
        ({"model": Model("m", Gemini())}, "1", Gemini),
        ({"base_url": URL}, "1", Gemini),
    ],
)
def test_vertex_when_the_environment_asks_for_it_then_used_where_nothing_else_is_said(
    options: dict[str, Any], switch: str, kind: type
) -> None:
    """`GOOGLE_GENAI_USE_VERTEXAI` chooses between Google's services; an address is of neither."""
    environ = {"GOOGLE_GENAI_USE_VERTEXAI": switch, **VERTEX_ENVIRON}
    endpoint = AgentConfig(**options).settled(environ).text_model().endpoint
    assert type(endpoint) is kind


ENDPOINTS_BY_VERSION: Final = [
    (Vertex(project="p", location="l"), "0.1.5", ""),
    (Vertex(api_key="k"), "0.1.11", "does not take an api_key for Vertex; use 0.1.11"),
    (Vertex(base_url=URL), "0.1.14", "send their token to the base_url"),
    (Vertex(base_url=URL, project="p", location="l"), "0.1.14", "send their token"),
    (Vertex(base_url=URL, api_key="k"), "0.1.11", "does not take an api_key"),
    (
        Vertex(base_url=URL, api_key="k", project="p", location="l"),
        "0.1.14",
        "does not take an api_key|or a project and a location; use 0.1.14",
    ),
    (Vertex(project="p", location="l", service_tier="flex"), "0.1.10", "a service_tier"),
    (OpenAICompatible(URL), "0.1.5", ""),
]


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize(("endpoint", "first", "problem"), ENDPOINTS_BY_VERSION)
def test_endpoint_when_the_release_cannot_do_it_then_refused(
    endpoint: Any, first: str, problem: str, version: str
) -> None:
    """What would be lost, or would send a token to strangers, is not sent at all."""
    config = of(endpoint)
    if ALL_VERSIONS.index(version) >= ALL_VERSIONS.index(first):
        check_models(config, Dialect(version))
    else:
        with pytest.raises(ConfigError, match=problem):
            check_models(config, Dialect(version))


# ── OpenAI-compatible servers ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        (" http://127.0.0.1:8080/v1/ ", "http://127.0.0.1:8080"),
        ("https://host/openai/v1", "https://host/openai"),
    ],
)
def test_openai_when_the_address_has_a_version_then_it_is_taken_off(
    given: str, address: str
) -> None:
    """The harness adds `/v1`, some releases even to an address that has it."""
    assert sent(of(OpenAICompatible(given))) == [
        {
            "name": "m",
            "types": ["MODEL_TYPE_TEXT"],
            "gemmaEndpoint": {"baseUrl": address},
        }
    ]


@pytest.mark.parametrize("address", [None, "", "/v1", 5, "ftp://x"])
def test_openai_when_the_address_is_none_then_refused(address: Any) -> None:
    """There is no default server."""
    with pytest.raises(ConfigError, match="base_url must be"):
        OpenAICompatible(address)


def test_openai_when_given_what_it_cannot_use_then_refused() -> None:
    """A key has no way to the server, and an image model would be asked for at the same place."""
    with pytest.raises(ConfigError, match="cannot be sent an api_key"):
        of(OpenAICompatible(URL), api_key="k")
    for endpoint in (None, OpenAICompatible(URL), Gemini(api_key="k")):
        with pytest.raises(ConfigError, match="beside an OpenAICompatible text model"):
            of(OpenAICompatible(URL), models=[Model("p", endpoint, types="image")])


def test_openai_when_something_will_not_work_then_said() -> None:
    """The tool that draws is offered and fails; old releases lose the model's calls."""
    drawing = of(OpenAICompatible(URL), **DRAWING)
    assert [model["name"] for model in sent(drawing)] == ["m"]
    (cannot_draw,) = model_caveats(drawing, Dialect("0.1.10"))
    assert "cannot draw" in cannot_draw
    plain = of(OpenAICompatible(URL))
    (loses_calls,) = model_caveats(plain, Dialect("0.1.9"))
    assert "use 0.1.10 or newer" in loses_calls
    assert list(model_caveats(plain, Dialect("0.1.10"))) == []
    assert list(model_caveats(of(Gemini(), **DRAWING), Dialect("0.1.5"))) == []


# ── before a process exists ─────────────────────────────────────────────────────────────────────


def unstartable(path: Path) -> str:
    """Return a harness that leaves a mark if it is run."""
    program = path / "localharness"
    program.write_text(f"#!/bin/sh\ntouch {path / 'ran'}\n")
    os.chmod(program, 0o755)
    return str(program)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (AgentConfig(), "no model key"),
        (of(Vertex()), "needs an api_key, or a project"),
        (of(Vertex(project="p", location="l", api_key="k")), "and has both"),
    ],
)
def test_agent_when_its_model_cannot_be_reached_then_nothing_is_run(
    config: AgentConfig, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness is not even started."""
    for name in (*VERTEX_ENVIRON, "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    agent = Agent(config, harness_path=unstartable(tmp_path))
    with pytest.raises(ConfigError, match=problem):
        agent.start()
    assert not (tmp_path / "ran").exists()


def test_plan_when_the_environment_decides_then_env_counts_too(tmp_path: Path) -> None:
    """`env` of the configuration is looked at as the child's environment is."""
    env = {"GOOGLE_GENAI_USE_VERTEXAI": "1", **VERTEX_ENVIRON}
    plan = Plan.make(AgentConfig(harness_path=unstartable(tmp_path), env=env))
    assert plan.key == ""
    text = plan.config.text_model()
    assert text.endpoint == Vertex(project="env-project", location="env-location")


def test_settled_when_done_again_then_nothing_changes() -> None:
    """A start after a close finds the same models."""
    config = of(Vertex(), models=[Model("p", types="image")])
    once = config.settled(VERTEX_ENVIRON)
    assert once.settled({}) == once
    assert once.image_model() == config.settled(VERTEX_ENVIRON).image_model()
    assert AgentConfig(**DRAWING).settled({}).models == ()


def test_endpoint_when_pickled_or_printed_then_whole_and_without_secrets() -> None:
    """Endpoints compare by their values; keys and headers do not show."""
    secret = "not-to-be-shown"
    for endpoint in (
        Gemini(api_key=secret, headers={"X": secret}),
        Vertex(api_key=secret, headers={"X": secret}),
        OpenAICompatible(URL),
    ):
        config = of(endpoint, base_url=URL)
        assert pickle.loads(pickle.dumps(config)) == config
        shown = (config, config.text_model(), config.settled({}), endpoint, config._choose({}))
        assert not [one for one in shown if secret in repr(one)]
    assert Gemini() != Vertex()
