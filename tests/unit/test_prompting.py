"""System instructions, and the notes that follow those of the user."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import attrs
import pytest

from antigravity_sync import AgentConfig, SystemInstructions
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.prompting import skills_note, workspace_note
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.errors import ConfigError


def sent(config: AgentConfig, version: str = "0.1.22") -> dict[str, Any]:
    """Return the configuration in the first message."""
    rendered = render_init(
        config,
        conversation=Conversation(),
        api_key="k",
        app_data_dir="/data",
        dialect=Dialect(version),
    )
    message: dict[str, Any] = json.loads(rendered.text)["config"]
    assert "skillsPaths" not in rendered.dropped
    return message


def told(config: AgentConfig) -> list[str]:
    """Return the texts that replace the harness's instructions."""
    return [part["text"] for part in sent(config)["systemInstructions"]["custom"]["part"]]


def make_skill(place: Path, head: str) -> Path:
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {place.name}\n{head}---\nDo it.\n")
    return place


# ── what the user says ──────────────────────────────────────────────────────────────────────────


def test_instructions_when_none_then_not_sent() -> None:
    """The harness keeps its own."""
    assert "systemInstructions" not in sent(AgentConfig())


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_instructions_when_appended_then_sections_and_no_note(version: str) -> None:
    """The harness's own text stays, and names the workspaces itself."""
    added = SystemInstructions.append("Be brief.", ("House style", "No jokes."))
    assert sent(AgentConfig(system_instructions=added), version)["systemInstructions"] == {
        "appended": {
            "appendedSections": [
                {"content": "Be brief."},
                {"title": "House style", "content": "No jokes."},
            ]
        }
    }


def test_instructions_when_a_string_or_replacing_then_the_same(tmp_path: Path) -> None:
    """A string is short for `replace`; an empty one leaves nothing of the harness's text either."""
    for text in ("Be brief.", ""):
        plain = AgentConfig(system_instructions=text, workspaces=[tmp_path])
        made = plain.evolve(system_instructions=SystemInstructions.replace(text))
        assert told(plain) == told(made) == [text, workspace_note(plain)]


@pytest.mark.parametrize("given", [5, b"x", ["a"], ("Title", "text")])
def test_instructions_when_of_another_type_then_refused(given: Any) -> None:
    """The option is named."""
    with pytest.raises(ConfigError, match="system_instructions"):
        AgentConfig(system_instructions=given)


@pytest.mark.parametrize("make", [SystemInstructions.replace, SystemInstructions.append])
def test_instructions_when_no_text_then_refused(make: Any) -> None:
    """Half a surrogate would lose the first message, or make it mean something else."""
    with pytest.raises(ConfigError, match="surrogate"):
        make("\ud800")
    with pytest.raises(ConfigError):
        make(5)


@pytest.mark.parametrize(
    "section",
    ["", " ", ("Title", ""), ("a", "b", "c"), ("a",), (1, "b"), None]
    + [(title, "text") for title in ("<b>", "a/b", "two\nlines", " ", "a\0")],
)
def test_section_when_it_cannot_be_one_then_refused(section: Any) -> None:
    """A title becomes a tag around its text, so it must be able to be one."""
    with pytest.raises(ConfigError, match="section"):
        SystemInstructions.append("fine", section)


def test_instructions_when_they_say_nothing_then_refused() -> None:
    """Either way of making them needs something to say, and only one of the two."""
    for make in (
        SystemInstructions,
        SystemInstructions.append,
        lambda: SystemInstructions("a", ("b",)),
    ):
        with pytest.raises(ConfigError, match="replace or append"):
            make()


def test_instructions_when_copied_then_equal() -> None:
    """They are values."""
    added = SystemInstructions.append("a", ("b", "c"))
    assert pickle.loads(pickle.dumps(added)) == attrs.evolve(added) == added
    assert added.sections == (("", "a"), ("b", "c"))
    assert hash(added) == hash(SystemInstructions.append("a", ("b", "c")))


# ── workspaces ──────────────────────────────────────────────────────────────────────────────────


def test_note_when_there_are_workspaces_then_short_and_delimited(tmp_path: Path) -> None:
    """It lists every root between two tags."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    config = AgentConfig(workspaces=[tmp_path / "a", tmp_path / "b"])
    assert workspace_note(config) == (
        "<workspaces>\n"
        "You work in these directories. Use absolute paths.\n"
        f"- {tmp_path}/a\n"
        f"- {tmp_path}/b\n"
        "</workspaces>"
    )


def test_note_when_nothing_to_announce_then_none(tmp_path: Path) -> None:
    """No workspaces or no wish for it: the instructions go as they are."""
    silent = AgentConfig(workspaces=[tmp_path], announce_workspaces=False, system_instructions="x")
    without = AgentConfig(workspaces=[], system_instructions="x")
    assert workspace_note(silent) == workspace_note(without) == ""
    assert told(silent) == told(without) == ["x"]


def test_note_when_added_then_to_what_is_sent_alone(tmp_path: Path) -> None:
    """The caller's text stays as it is, and every first message has one note."""
    config = AgentConfig(workspaces=[tmp_path], system_instructions="x")
    assert told(config) == told(config) == ["x", workspace_note(config)]
    assert config.system_instructions == "x"
    # No field of the wire says it: it is text for the model.
    assert set(sent(config)) == set(sent(AgentConfig(workspaces=[tmp_path]))) | {
        "systemInstructions"
    }


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_announcing_when_no_bool_then_refused(value: Any) -> None:
    """The option is named."""
    with pytest.raises(ConfigError, match="announce_workspaces"):
        AgentConfig(announce_workspaces=value)


# ── skills ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_skills_when_given_then_every_release_is_told(version: str, tmp_path: Path) -> None:
    """Real, absolute paths, in order."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    config = AgentConfig(skills_paths=[tmp_path / "link"])
    assert sent(config, version)["skillsPaths"] == [str(tmp_path / "real")]
    assert "skillsPaths" not in sent(AgentConfig(), version)


def test_skills_when_no_directory_then_refused(tmp_path: Path) -> None:
    """Checked when the configuration is made, like workspaces."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"skills_paths: .*does not exist"):
        AgentConfig(skills_paths=tmp_path / "gone")
    with pytest.raises(ConfigError, match=r"skills_paths: .*is not a directory"):
        AgentConfig(skills_paths=[tmp_path / "file"])


def test_skills_note_when_instructions_replace_then_it_lists_them(tmp_path: Path) -> None:
    """The harness tells of skills in its own text alone, so a note does, with what they are for."""
    alone = make_skill(tmp_path / "alone", "description: Stand alone.  \n")
    make_skill(tmp_path / "all" / "b", "")
    make_skill(tmp_path / "all" / "a", "description:\tGreet.\n")
    (tmp_path / "all" / "file").touch()
    (tmp_path / "all" / "empty").mkdir()
    config = AgentConfig(
        system_instructions="x",
        skills_paths=[alone, tmp_path / "all"],
        announce_workspaces=False,
    )
    assert told(config) == [
        "x",
        "<skills>\n"
        "If a skill fits the task, read its file before you begin.\n"
        f"- {tmp_path}/alone/SKILL.md: Stand alone.\n"
        f"- {tmp_path}/all/a/SKILL.md: Greet.\n"
        f"- {tmp_path}/all/b/SKILL.md\n"
        "</skills>",
    ]


def test_skills_note_when_the_release_is_silent_then_a_section(tmp_path: Path) -> None:
    """0.1.19 alone tells of no skills, so a section does, after those of the user."""
    make_skill(tmp_path / "a", "")
    config = AgentConfig(skills_paths=[tmp_path])
    more = config.evolve(system_instructions=SystemInstructions.append("x"))
    note = {"content": skills_note(config)}
    for given, sections in ((config, [note]), (more, [{"content": "x"}, note])):
        told = sent(given, "0.1.19")["systemInstructions"]
        assert told == {"appended": {"appendedSections": sections}}
        assert sent(given, "0.1.20").get("systemInstructions") != told
    assert "systemInstructions" not in sent(AgentConfig(), "0.1.19")


def test_skills_note_when_there_are_none_then_none(tmp_path: Path) -> None:
    """An empty directory, or one that has gone since, is no reason for a note."""
    (tmp_path / "gone").mkdir()
    config = AgentConfig(system_instructions="x", skills_paths=[tmp_path, tmp_path / "gone"])
    (tmp_path / "gone").rmdir()
    assert skills_note(config) == ""
