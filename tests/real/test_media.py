"""Files in prompts and in tools' results, and pictures that the model draws."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import (
    Capabilities,
    Decision,
    Document,
    Hooks,
    Image,
    Model,
    SlashCommand,
    policy,
    tool,
)
from antigravity_sync._media_types import MEDIA_TYPES
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync.content import MAX_MEDIA_BYTES, MAX_TEXT_BYTES
from antigravity_sync.errors import AntigravityError, ConfigError, PromptDeniedError
from antigravity_sync.events import ToolAction
from antigravity_sync.testing import ScriptedModel, call, image
from tests.kinds import told
from tests.samples import PNG, SAMPLES, content_of, part_of
from tests.versions import release

pytestmark = pytest.mark.real

PICTURE: Final = Image.from_bytes(PNG)


def files_in(content: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Return the type and the content of each file that is in something the model was sent."""
    parts = list(content["parts"])
    for part in content["parts"]:
        parts += part.get("functionResponse", {}).get("parts", ())
    sent = [part["inlineData"] for part in parts if "inlineData" in part]
    return [(each["mimeType"], base64.b64decode(each["data"])) for each in sent]


def test_file_when_of_any_known_type_then_the_model_gets_it(make_agent, version):
    """Every type of the table reaches the model: under its name, or on older releases another's."""
    dialect = Dialect.of(version)
    sent, expected = [], []
    for name, known in MEDIA_TYPES.items():
        taken = name if dialect.takes_media(name) else known.instead
        if taken and dialect.takes_media(taken):
            sent.append(part_of(known))
            expected.append((taken, content_of(known)))
    assert {part.mime_type.partition("/")[0] for part in sent} >= {"image", "video", "application"}
    with ScriptedModel("seen") as model, make_agent(model) as agent:
        assert agent.chat(["What are these?", *sent]).text == "seen"
        assert files_in(model.requests[-1].contents[-1]) == expected
        assert model.requests[-1].prompt == "What are these?"


def test_type_when_the_release_lacks_it_then_it_would_refuse_it(make_agent, version):
    """We refuse what this release does not take before it is sent, and the release is of one mind.

    To ask it, the check is told of another release; one type stands for each kind and age.
    """
    dialect = Dialect.of(version)
    lacking = {
        (known.kind, known.since): known
        for name, known in MEDIA_TYPES.items()
        if not dialect.takes_media(name) and not known.instead
    }
    with ScriptedModel("fine") as model, make_agent(model) as agent:
        for known in lacking.values():
            with pytest.raises(ConfigError, match=f"does not take files of type {known.name} "):
                agent.chat(["look", part_of(known)])
        assert model.requests == []
        for known in lacking.values():
            engine = agent._engine
            engine.turns = attrs.evolve(engine.turns, dialect=Dialect("0.1.22"))
            with pytest.raises(AntigravityError, match="unsupported MIME type"):
                agent.chat(["look", part_of(known)])
            engine.turns = attrs.evolve(engine.turns, dialect=dialect)
            agent.reset()
        assert agent.chat("go").text == "fine"
        assert len(model.requests) == 1


def test_prompt_when_of_parts_then_the_model_reads_them_in_order(make_agent, tmp_path):
    """Texts come first and apart, then the files; a prompt may be a file alone."""
    asked = []
    (tmp_path / "notes.md").write_text("# Zug\n")
    (tmp_path / "PHOTO.PNG").write_bytes(PNG)
    parts = [
        "before",
        Image.from_path(tmp_path / "PHOTO.PNG"),
        "after",
        Document.from_path(str(tmp_path / "notes.md")),
    ]
    with (
        ScriptedModel("one", "two", "three") as model,
        make_agent(model, hooks=[Hooks(on_pre_turn=asked.append)]) as agent,
    ):
        assert agent.chat(parts).text == "one"
        assert model.requests[-1].prompt == "before\nafter"
        names = ["image/png", "text/markdown"]
        if not Dialect.of(agent.harness_version).takes_media("text/markdown"):
            names[1] = "text/plain"
        assert files_in(model.requests[-1].contents[-1]) == [
            (names[0], PNG),
            (names[1], b"# Zug\n"),
        ]
        assert agent.stream(PICTURE).response().text == "two"
        assert model.requests[-1].prompt == ""
        assert files_in(model.requests[-1].contents[-1]) == [("image/png", PNG)]
        assert agent.chat([SlashCommand("nope"), "now"]).text == "three"
        assert model.requests[-1].prompt == "/nope now"
        assert asked == ["before\nafter", "", "/nope now"]


def test_prompt_when_a_hook_denies_then_no_file_is_sent(make_agent):
    """`on_pre_turn` is asked about a prompt of parts as about any other."""

    def no_pictures(prompt: str) -> Decision:
        return Decision.deny("no pictures")

    with (
        ScriptedModel() as model,
        make_agent(model, hooks=[Hooks(on_pre_turn=no_pictures)]) as agent,
    ):
        with pytest.raises(PromptDeniedError, match="no pictures"):
            agent.chat(["look", PICTURE])
        assert model.requests == []


def test_prompt_when_strange_or_big_then_the_turn_goes_on(make_agent):
    """NUL and its like become spaces; 2 MB come through, shortened for the model by the harness."""
    with ScriptedModel("a", "b") as model, make_agent(model) as agent:
        assert agent.chat("x\0y\x1b[0m\tz\u202e").text == "a"
        assert model.requests[-1].prompt.startswith("x y [0m\tz")
        for bad in ("", "\ud800", [], ["a", "\udfff"]):
            with pytest.raises(ValueError, match=r"empty|surrogate"):
                agent.chat(bad)
        assert len(model.requests) == 1
        agent.reset()
        assert agent.chat("y" * 2_000_000).text == "b"
        assert 40_000 < model.requests[-1].last_text.count("y") < 2_000_000
        assert "truncated" in model.requests[-1].last_text


def test_prompt_when_as_big_as_allowed_then_the_turn_goes_on(make_agent):
    """At the limits the harness still takes the prompt; a little beyond, it would lose it."""
    big = Image.from_bytes(PNG + bytes(MAX_MEDIA_BYTES - len(PNG)))
    with ScriptedModel("a", "b") as model, make_agent(model) as agent:
        assert agent.chat([big, "<" * 2_000_000]).text == "a"
        assert files_in(model.requests[-1].contents[-1]) == [("image/png", big.data)]
        agent.reset()
        assert agent.chat("<" * MAX_TEXT_BYTES).text == "b"


# ── tools ───────────────────────────────────────────────────────────────────────────────────────


@tool
def take_photo() -> dict[str, object]:
    """Take a photo."""
    return {
        "place": "Zug",
        "photo": PICTURE,
        "notes": Document.from_bytes(b"# Hi", "text/markdown"),
    }


@tool
def play_film() -> Image:
    """Play a film."""
    return Image.from_bytes(SAMPLES["gif"])


def test_tool_when_it_returns_files_then_the_model_sees_them(make_agent):
    """The result names the files, which come beside it."""
    with (
        ScriptedModel(call("take_photo"), "a photo of Zug") as model,
        make_agent(model, tools=[take_photo]) as agent,
    ):
        assert agent.chat("go").text == "a photo of Zug"
        assert "attachment 1 (image/png)" in told(model)
        assert "Zug" in told(model)
        files = files_in(model.requests[-1].contents[-1])
        takes_markdown = Dialect.of(agent.harness_version).takes_media("text/markdown")
        kind = "text/markdown" if takes_markdown else "text/plain"
        assert files == [("image/png", PNG), (kind, b"# Hi")]


def test_tool_when_the_release_would_drop_its_file_then_an_error(make_agent, version):
    """What the harness would leave out without a word is a failure of the tool."""
    with (
        ScriptedModel(call("play_film"), "seen") as model,
        make_agent(model, tools=[play_film]) as agent,
    ):
        response = agent.chat("go")
        assert response.text == "seen"
        files = files_in(model.requests[-1].contents[-1])
        if Dialect.of(version).takes_media("image/gif"):
            assert files == [("image/gif", SAMPLES["gif"])]
        else:
            assert files == []
            assert f"harness {version} does not take files of type image/gif" in told(model)
            assert [error.name for error in response.errors] == ["play_film"]


# ── pictures that the model draws ───────────────────────────────────────────────────────────────

DRAW: Final = call("generate_image", Prompt="a red fox", ImageName="fox", toolSummary="Draw")


DRAWING: Final[dict[str, Any]] = {
    "capabilities": Capabilities.none().enable("generate_image"),
    "policies": [policy.allow_all()],
}


def test_generate_image_when_there_is_an_image_model_then_a_file(make_agent, version, tmp_path):
    """The image model draws, and the file can be read; newer releases say where it is."""
    with (
        ScriptedModel(DRAW, image(PNG), "drawn") as model,
        make_agent(
            model,
            model="the-text-model",
            models=[Model("the-image-model", types="image")],
            app_data_dir=tmp_path / "data",
            **DRAWING,
        ) as agent,
    ):
        turn = agent.stream("Draw a fox.")
        (action,) = [event.action for event in turn if isinstance(event, ToolAction)]
        assert turn.response().text == "drawn"
        asked = [(request.method, request.model) for request in model.requests]
        assert asked == [
            ("streamGenerateContent", "the-text-model"),
            ("generateContent", "the-image-model"),
            ("streamGenerateContent", "the-text-model"),
        ]
        assert model.requests[1].prompt == "a red fox"
        assert files_in(model.requests[-1].contents[-1]) == [("image/png", PNG)]
        (drawn,) = (tmp_path / "data" / "brain" / agent.conversation_id).glob("fox_*.png")
        assert drawn.read_bytes() == PNG
        assert action.name == "generate_image"
        if release(version) >= release("0.1.11"):
            assert isinstance(action.result, dict)
            assert Path(action.result["output_path"]) == drawn
        else:
            assert action.result is None


def test_generate_image_when_there_is_no_image_model_then_the_tool_fails(make_agent):
    """The model is told, the event says so, and the turn goes on."""
    with ScriptedModel(DRAW, "cannot draw") as model:
        endpoint = {"apiKey": "any", "baseUrl": model.base_url}
        text = {"name": "m", "types": ["MODEL_TYPE_TEXT"], "geminiApiEndpoint": endpoint}
        with make_agent(model, raw_config={"models": [text]}, **DRAWING) as agent:
            response = agent.chat("Draw a fox.")
        assert response.text == "cannot draw"
        assert response.tool_calls[0].result == {"error": "Image failed to generate."}
        assert len(model.requests) == 2
