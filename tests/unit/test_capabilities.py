"""Which built-in tools a set offers, and how sets are made from one another."""

from __future__ import annotations

import pickle

import pytest

from antigravity_sync import BuiltinTool, Capabilities
from antigravity_sync.capabilities import READ_ONLY_TOOLS
from antigravity_sync.errors import ConfigError


def test_builtin_tool_when_used_as_text_then_its_name() -> None:
    """A member is the name that policies use, so either spelling works."""
    assert BuiltinTool.RUN_COMMAND == "run_command"
    assert BuiltinTool("view_file") is BuiltinTool.VIEW_FILE


def test_read_only_when_asked_then_the_five() -> None:
    """The default looks, and can finish a structured answer."""
    assert {tool.value for tool in Capabilities.read_only().tools} == {
        "list_directory",
        "search_directory",
        "find_file",
        "view_file",
        "finish",
    }
    assert Capabilities() == Capabilities.read_only()


def test_all_when_asked_then_every_tool() -> None:
    """`all` leaves nothing out."""
    assert Capabilities.all().tools == frozenset(BuiltinTool)


def test_none_when_asked_then_only_finish() -> None:
    """`none` keeps `finish`, which is offered by the response schema and not by a flag."""
    assert Capabilities.none().tools == {BuiltinTool.FINISH}


def test_enable_when_names_or_members_then_added_to_a_copy() -> None:
    """Both spellings add a tool, and the original stays as it was."""
    base = Capabilities.read_only()
    more = base.enable("run_command", BuiltinTool.EDIT_FILE)
    assert more.tools - base.tools == {BuiltinTool.RUN_COMMAND, BuiltinTool.EDIT_FILE}
    assert base.tools == READ_ONLY_TOOLS


def test_disable_when_named_then_gone() -> None:
    """A disabled tool is not offered; one that was not offered is no error."""
    assert BuiltinTool.VIEW_FILE not in Capabilities.all().disable("view_file").tools
    assert Capabilities.none().disable("run_command") == Capabilities.none()


def test_disable_when_finish_then_refused() -> None:
    """Structured answers need `finish`."""
    with pytest.raises(ConfigError, match="response_schema"):
        Capabilities.all().disable(BuiltinTool.FINISH)


@pytest.mark.parametrize("method", ["enable", "disable"])
@pytest.mark.parametrize("name", ["run_comand", "RUN_COMMAND", "", 5, None])
def test_change_when_no_such_tool_then_all_are_listed(method: str, name: object) -> None:
    """An unknown name brings the list of names."""
    with pytest.raises(ConfigError, match=r"list_directory.*run_command.*finish"):
        getattr(Capabilities.read_only(), method)(name)


@pytest.mark.parametrize("tools", ["view_file", 5, None])
def test_set_when_made_from_no_collection_then_refused(tools: object) -> None:
    """One string is no collection of tools, though Python would iterate over it."""
    with pytest.raises(ConfigError, match="collection"):
        Capabilities(tools)  # type: ignore[arg-type]


def test_set_when_made_from_names_then_holds_members() -> None:
    """A set made by hand from names works like one made by the presets."""
    made = Capabilities(["view_file", "run_command"])  # type: ignore[arg-type]
    assert made.tools == {BuiltinTool.VIEW_FILE, BuiltinTool.RUN_COMMAND}
    assert made.write_capable() == (BuiltinTool.RUN_COMMAND,)


def test_write_capable_when_all_then_everything_but_the_five_sorted() -> None:
    """What needs a rule is everything outside the read-only set, in a fixed order."""
    risky = Capabilities.all().write_capable()
    assert set(risky) == set(BuiltinTool) - READ_ONLY_TOOLS
    assert list(risky) == sorted(risky, key=lambda tool: tool.value)
    assert Capabilities.read_only().write_capable() == ()


def test_capabilities_when_pickled_then_equal_and_hashable() -> None:
    """A set is a value."""
    made = Capabilities.all().disable("schedule")
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(Capabilities.all().disable("schedule"))
