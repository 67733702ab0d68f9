"""Which calls the fence lets through, on a real file system."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from antigravity_sync import ToolInvocation
from antigravity_sync.containment import Containment

READERS = {
    "view_file": "absolute_path",
    "list_directory": "directory_path",
    "search_directory": "search_path",
    "find_file": "search_directory",
    "generate_image": "image_paths",
    "run_workflow": "script_path",
}
WRITERS = {"create_file": "target_file", "edit_file": "target_file", "run_command": "cwd"}
TOOLS = READERS | WRITERS
REQUIRED = sorted(set(TOOLS) - {"generate_image", "run_workflow"})


@attrs.frozen
class Place:
    """Directories of an agent, and its fence."""

    ws: Path
    skills: Path
    save: Path
    app_data: Path
    out: Path
    fence: Containment

    def call(self, tool: str, path: object, **more: object) -> str | None:
        return self.fence.check(ToolInvocation(tool, {TOOLS[tool]: path, **more}))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    names = ("ws", "skills", "save", "save/app_data", "out")
    ws, skills, save, app_data, out = (tmp_path / name for name in names)
    for directory in (ws, skills, save, app_data, out):
        directory.mkdir()
    fence = Containment(writable=(ws, app_data), readable=(skills,), forbidden=(save,))
    return Place(ws, skills, save, app_data, out, fence)


@pytest.mark.parametrize("tool", TOOLS)
def test_check_when_inside_then_nothing_against_it(place: Place, tool: str) -> None:
    """Workspaces and the app-data directory are open to every tool, what is not there too."""
    for path in (place.ws, place.ws / "new" / "file", place.app_data, place.app_data / "brain"):
        assert place.call(tool, str(path)) is None
    assert place.call(tool, place.ws.as_uri() + "/a%20b") is None


@pytest.mark.parametrize("tool", TOOLS)
def test_check_when_outside_then_refused_with_what_to_do(place: Place, tool: str) -> None:
    """The model is told which path is meant and where it may go."""
    for path in (place.out, place.out / "new", place.ws / ".." / "out", "/", "/etc/passwd"):
        reason = place.call(tool, str(path))
        assert reason is not None
        assert reason.startswith(f"{tool}: {str(path)!r} is outside")
        assert str(place.ws) in reason


@pytest.mark.parametrize("tool", TOOLS)
def test_check_when_the_path_is_a_twin_or_a_link_out_then_refused(place: Place, tool: str) -> None:
    """Neither a similar name nor a link is a way out, whether its target exists or not."""
    twin = place.ws.with_name("ws2")
    twin.mkdir()
    (place.ws / "link").symlink_to(place.out)
    (place.ws / "dangling").symlink_to(place.out / "new")
    (place.ws / "circle").symlink_to("circle")
    for path in (twin, place.ws / "link" / "new", place.ws / "dangling", place.ws / "circle"):
        assert place.call(tool, str(path)) is not None


@pytest.mark.parametrize("tool", TOOLS)
def test_check_when_in_a_readable_directory_then_read_only(place: Place, tool: str) -> None:
    """What is only readable may be read, and nothing may be changed or run there."""
    reason = place.call(tool, str(place.skills / "one" / "SKILL.md"))
    if tool in READERS:
        assert reason is None
    else:
        assert reason is not None
        assert "may be read but not changed" in reason


@pytest.mark.parametrize("tool", TOOLS)
def test_check_when_in_the_save_directory_then_refused(place: Place, tool: str) -> None:
    """No tool touches saved conversations, though the app-data directory in there is open."""
    for path in (place.save, place.save / "c0ffee.db", place.app_data / ".." / "c0ffee.db"):
        reason = place.call(tool, str(path))
        assert reason is not None
        assert "conversations are saved" in reason


def test_check_when_directories_are_nested_then_the_inner_one_decides(tmp_path: Path) -> None:
    """A save directory in a workspace is closed, and a workspace in a save directory is open."""
    save, inner = tmp_path / "save", tmp_path / "save" / "ws"
    inner.mkdir(parents=True)

    def problem(fence: Containment, path: Path) -> str | None:
        return fence.check(ToolInvocation("view_file", {"absolute_path": str(path)}))

    outer = Containment(writable=(tmp_path,), forbidden=(save,))
    assert problem(outer, tmp_path / "a") is None
    assert problem(outer, save / "a") is not None
    assert problem(outer, inner / "a") is not None
    both = Containment(writable=(tmp_path, inner), forbidden=(save,))
    assert problem(both, save / "a") is not None
    assert problem(both, inner / "a") is None
    same = Containment(writable=(save,), forbidden=(save,))
    assert problem(same, save / "a") is not None


def test_check_when_a_readable_directory_is_in_a_workspace_then_writable(place: Place) -> None:
    """To be readable adds to what is allowed and takes nothing away."""
    fence = attrs.evolve(place.fence, readable=(place.ws / "skills",))
    call = ToolInvocation("create_file", {"target_file": str(place.ws / "skills" / "new")})
    assert fence.check(call) is None


@pytest.mark.parametrize("tool", REQUIRED)
@pytest.mark.parametrize("args", [{}, {"path": "/ws"}, {"Description": "d"}])
def test_check_when_a_tool_gets_no_path_then_refused(
    place: Place, tool: str, args: dict[str, object]
) -> None:
    """A call that names no path is not waved through; the model is told the argument's name."""
    reason = place.fence.check(ToolInvocation(tool, args))
    assert reason == f"{tool} must be given an absolute path as {TOOLS[tool]}"


@pytest.mark.parametrize("tool", sorted(TOOLS))
@pytest.mark.parametrize(
    "path",
    [
        5,
        True,
        {"a": 1},
        "a.txt",
        "../ws/a",
        "/ws/\0",
        "\ud800",
        "file://host/ws/a",
        "~nobody-of-that-name/a",
        ["/ws", 5],
    ],
)
def test_check_when_the_path_cannot_be_understood_then_refused(
    place: Place, tool: str, path: object
) -> None:
    """What is no path, or no path for us, is refused."""
    assert place.call(tool, path) is not None


@pytest.mark.parametrize("tool", ["generate_image", "run_workflow"])
def test_check_when_a_path_is_optional_then_calls_without_it_pass(place: Place, tool: str) -> None:
    """Images can be made of words alone, and workflows be given inline."""
    assert place.fence.check(ToolInvocation(tool, {"prompt": "a cat", "script": "1"})) is None
    assert place.call(tool, []) is None
    assert place.call(tool, None) is None
    assert place.call(tool, "") is not None


def test_check_when_there_are_several_paths_then_each_counts(place: Place) -> None:
    """One path outside is enough, in a list or under a second spelling of the name."""
    inside, outside = str(place.ws / "a"), str(place.out / "b")
    assert place.call("generate_image", [inside, inside]) is None
    assert place.call("generate_image", [inside, outside]) is not None
    assert place.call("view_file", inside, absolutepath=outside) is not None
    assert place.call("view_file", inside, absolute_path_=outside) is not None
    assert place.call("view_file", inside, file_path=outside) is not None
    assert place.call("run_command", str(place.ws), CWD=str(place.out)) is not None


@pytest.mark.parametrize("args", [{}, {"cwd": None}, {"cwd": ""}, {"working_dir": ""}])
def test_check_when_a_command_names_no_directory_then_its_default_counts(
    place: Place, args: dict[str, object]
) -> None:
    """Where a command starts by default is looked at like any other directory."""
    call = ToolInvocation("run_command", {"command_line": "ls", **args})
    assert place.fence.check(call) is not None
    assert attrs.evolve(place.fence, command_directory=str(place.ws)).check(call) is None
    assert attrs.evolve(place.fence, command_directory=str(place.out)).check(call) is not None


def test_check_when_a_default_is_known_then_a_named_directory_counts_still(place: Place) -> None:
    """The default is for commands without a directory only."""
    fence = attrs.evolve(place.fence, command_directory=str(place.ws))
    for args in ({"cwd": str(place.out)}, {"cwd": "", "CWD": str(place.out)}, {"cwd": 5}):
        assert fence.check(ToolInvocation("run_command", args)) is not None


def test_check_when_a_base_is_known_then_relative_paths_are_below_it(place: Place) -> None:
    """A relative path is taken from where the harness runs."""
    fence = attrs.evolve(place.fence, base=str(place.ws))
    for path, is_fine in (("sub", True), (".", True), ("../out", False), ("sub/../..", False)):
        call = ToolInvocation("run_command", {"cwd": path})
        assert (fence.check(call) is None) is is_fine


def test_check_when_a_command_reaches_out_then_not_seen(place: Place) -> None:
    """What a command does is not judged, only where it starts."""
    assert place.call("run_command", str(place.ws), command_line="cat /etc/passwd") is None


@pytest.mark.parametrize("name", ["my_tool", "mcp_fs_view_file", "finish", "start_subagent"])
def test_check_when_another_tool_is_called_then_not_its_business(place: Place, name: str) -> None:
    """Your own tools, MCP tools and built-in ones without paths are not touched."""
    args = {"absolute_path": "/etc/passwd", "cwd": "/", "path": "/"}
    assert place.fence.check(ToolInvocation(name, args)) is None
    assert place.fence.check(ToolInvocation("view_file", args, server_name="fs")) is None


def test_check_when_there_are_no_directories_then_nothing_is_allowed(place: Place) -> None:
    """An empty fence encloses nothing."""
    reason = Containment().check(ToolInvocation("view_file", {"absolute_path": str(place.ws)}))
    assert reason is not None
    assert "nowhere at all" in reason


def test_check_when_the_path_is_long_then_the_reason_is_not(place: Place) -> None:
    """A model cannot blow up its own error message."""
    reason = place.call("view_file", "/x" * 100_000)
    assert reason is not None
    assert len(reason) < 1000


def test_containment_when_made_of_links_then_real_paths(tmp_path: Path) -> None:
    """Directories are made real once, when the fence is built."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Containment(writable=[tmp_path / "link"]).writable == (str(tmp_path / "real"),)


def test_canonical_path_when_asked_then_where_the_first_path_leads(tmp_path: Path) -> None:
    """`canonical_path` follows links, and is there for built-in tools with a path alone."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    def of(name: str, **args: object) -> str | None:
        return ToolInvocation(name, args).canonical_path

    new = str(tmp_path / "real" / "new")
    assert of("create_file", target_file=str(tmp_path / "link" / "new")) == new
    assert of("view_file", AbsolutePath=(tmp_path / "link" / "new").as_uri()) == new
    assert of("generate_image", image_paths=[new, "/b"]) == new
    assert of("edit_file", file_path=str(tmp_path / "real" / ".." / "real" / "new")) == new
    assert of("view_file", absolute_path="relative") is None
    assert of("view_file") is None
    assert of("my_tool", absolute_path=new) is None
    assert of("generate_image") is None
