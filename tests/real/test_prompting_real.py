"""What the model is told before the prompt, on every version."""

from __future__ import annotations

from pathlib import Path

import pytest

from antigravity_sync import Capabilities, Hooks, SystemInstructions, policy
from antigravity_sync.testing import ScriptedModel, call
from tests.kinds import told

pytestmark = pytest.mark.real

ADDED = SystemInstructions.append("Be brief.", ("House style", "No jokes."))


def instructions_of(make_agent, **options: object) -> str:
    """Return the system instruction that the model receives."""
    with ScriptedModel("hi") as model, make_agent(model, **options) as agent:
        agent.chat("go")
        assert len(model.requests) == 1
        agent.close()
        return model.requests[0].system_instruction


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    place = tmp_path / "skills" / "greet"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(
        "---\nname: greet\ndescription: Greet in Zorkish.\n---\nzork-42\n"
    )
    (place / "words.txt").write_text("zork-77\n")
    return place.parent


def test_instructions_when_they_replace_then_the_model_gets_them_and_the_note(make_agent, tmp_path):
    """Nothing of the harness's own is left, so the note names the workspaces, unless it is off."""
    more = tmp_path / "more"
    more.mkdir()
    roots = [tmp_path / "workspace", more]
    text = instructions_of(make_agent, system_instructions="Only this.", workspaces=roots)
    assert text.replace("<System>\n", "").replace("</System>", "").split() == [
        *("Only", "this.", "<workspaces>"),
        *("You", "work", "in", "these", "directories.", "Use", "absolute", "paths."),
        *("-", str(roots[0]), "-", str(roots[1]), "</workspaces>"),
    ]
    options = {"system_instructions": "Only this.", "announce_workspaces": False}
    text = instructions_of(make_agent, **options)
    assert text.replace("<System>\n", "").replace("\n</System>", "") == "Only this."


def test_instructions_when_not_replaced_then_the_harness_names_the_workspaces(make_agent, tmp_path):
    """Its own text has the path, with ours appended or without, and needs no note from us."""
    own = instructions_of(make_agent)
    added = instructions_of(make_agent, system_instructions=ADDED)
    for text in (own, added):
        assert str(tmp_path / "workspace") in text
        assert "<workspaces>" not in text
    assert "<House style>\nNo jokes.\n</House style>" in added
    assert "Be brief." in added
    assert "No jokes." not in own
    assert added.index("Be brief.") < added.index("No jokes.")
    assert len(added) > len(own) > 2_000


def test_raw_config_when_it_says_otherwise_then_it_has_the_last_word(make_agent):
    """It is merged into what is sent, after the note."""
    raw = {"systemInstructions": {"custom": {"part": [{"text": "Raw."}]}}}
    text = instructions_of(make_agent, system_instructions="Only this.", raw_config=raw)
    assert "Raw." in text
    assert "Only this." not in text


@pytest.mark.parametrize("given", [None, "Only this.", ADDED], ids=["own", "replaced", "appended"])
def test_skills_when_given_then_the_model_reads_and_cannot_change_them(
    make_agent, tmp_path, skills, given
):
    """The model is told of them whatever the instructions; tools read there and do not write."""
    file = skills / "greet" / "SKILL.md"
    with (
        ScriptedModel(
            call("view_file", AbsolutePath=str(file), toolSummary="Read"),
            call("view_file", AbsolutePath=str(file.parent / "words.txt"), toolSummary="Read"),
            call(
                "write_to_file",
                TargetFile=str(file.parent / "new"),
                CodeContent="x",
                Overwrite=True,
                Description="Spoil",
                toolSummary="Write",
            ),
            "done",
        ) as model,
        make_agent(
            model,
            skills_paths=[skills],
            system_instructions=given,
            capabilities=Capabilities.read_only().enable("create_file"),
            policies=[policy.allow_all()],
        ) as agent,
    ):
        response = agent.chat("go")
        assert response.text == "done"
        text = model.requests[0].system_instruction
        assert text.count(f"{file}") == 1
        assert text.count("Greet in Zorkish.") == 1
        assert "zork-42" in told(model, 1)
        assert "zork-77" in told(model, 2)
        assert "denied" in told(model)
        assert not (file.parent / "new").exists()


def test_skills_when_not_given_then_out_of_reach(make_agent, skills):
    """The test above could fail: without the option the same file is outside."""
    file = skills / "greet" / "SKILL.md"
    with (
        ScriptedModel(call("view_file", AbsolutePath=str(file), toolSummary="Read"), "no") as model,
        make_agent(model, hooks=[Hooks()]) as agent,
    ):
        agent.chat("go")
        assert "zork-42" not in told(model)
        assert "Zorkish" not in model.requests[0].system_instruction
