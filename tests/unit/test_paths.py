"""Where the paths of tool calls lead, on a real file system."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from antigravity_sync._paths import (
    PATH_TOOLS,
    destinations,
    distance,
    folded,
    is_inside,
    local_path,
    path_arguments,
    path_values,
    real,
    uri_path,
)
from antigravity_sync.capabilities import BuiltinTool


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """Return a workspace with a file, beside a directory that is none of it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("secret")
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    return root


# ── what an argument means ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///ws/a.txt", "/ws/a.txt"),
        ("file:/ws/a.txt", "/ws/a.txt"),
        ("file://localhost/ws/a", "/ws/a"),
        ("file://LOCALHOST/ws/a", "/ws/a"),
        ("FILE:///ws/a", "/ws/a"),
        ("file:///ws/a%20b", "/ws/a b"),
        ("file:///ws/%c3%a4", "/ws/ä"),
        ("file:///ws/ä", "/ws/ä"),
        ("file:///ws%2Fa%2e%2e", "/ws/a.."),
        ("file:///ws/a%25b", "/ws/a%b"),
        ("file:///ws/a+b", "/ws/a+b"),
        ("file:///", "/"),
        ("file:////ws/a", "//ws/a"),
        # another machine, no path, or not to be understood
        ("file://host/ws/a", None),
        ("file://~/a", None),
        ("file://ws", None),
        ("file:ws/a", None),
        ("file:", None),
        ("file://", None),
        ("file:///ws/a?b", None),
        ("file:///ws/a#b", None),
        ("file:///ws/%", None),
        ("file:///ws/%4", None),
        ("file:///ws/%zz", None),
        ("file:///ws/%ff", None),
        ("file:///ws/\ud800", None),
    ],
)
def test_uri_path_when_given_a_file_uri_then_its_path_or_none(uri: str, path: str | None) -> None:
    """A URI is decoded once, and one that is not plainly a local file has no path."""
    assert uri_path(uri) == path


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        5,
        True,
        [],
        ["/ws/a"],
        {"path": "/ws"},
        b"/ws",
        "/ws/\0a",
        "/ws/\ud800",
        "/ws/" + chr(0xDCFF),
        "file:///ws/%00",
        "file://host/ws",
        "a.txt",
        "./a.txt",
        "../a.txt",
        "~nobody-of-that-name/a",
        "vscode-file:///ws/a",
        " /ws/a",
        "$HOME/a",
    ],
)
def test_local_path_when_it_means_no_path_then_none(value: object) -> None:
    """What cannot be understood is no path, so that it can be refused."""
    assert local_path(value) is None


def test_local_path_when_it_has_a_tilde_then_the_home_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`~` and `~user` are expanded in plain paths, and in URIs they are names."""
    monkeypatch.setenv("HOME", "/home/me")
    user = pwd.getpwuid(os.getuid())
    assert local_path("~") == "/home/me"
    assert local_path("~/a b") == "/home/me/a b"
    assert local_path(f"~{user.pw_name}/a") == f"{user.pw_dir.rstrip('/')}/a"
    assert local_path("file:///~/a") == "/~/a"


def test_local_path_when_relative_then_below_its_base() -> None:
    """With a base a relative path is below it; an absolute one stays."""
    assert local_path("a/../b", "/ws") == "/ws/a/../b"
    assert local_path(".", "/ws") == "/ws/."
    assert local_path("/etc", "/ws") == "/etc"
    assert local_path("file:a", "/ws") is None
    assert local_path("~nobody-of-that-name", "/ws") is None


def test_local_path_when_it_has_odd_names_then_they_stay() -> None:
    """Escapes of a URI mean nothing in a plain path, nor do blanks and line ends at its end."""
    for path in ("/ws/a%2e%2e", "/ws/a ", "/ws/a\n", "/ws/..", "//ws/a", "/ws/a?b#c", "/ws/ä"):
        assert local_path(path) == path


# ── where a path leads ──────────────────────────────────────────────────────────────────────────


def test_real_when_links_are_on_the_way_then_followed(ws: Path) -> None:
    """Links are followed wherever they stand, also above what is not there yet."""
    out = ws.parent / "out"
    (ws / "link").symlink_to(out)
    (ws / "file").symlink_to(out / "secret")
    (ws / "dangling").symlink_to(out / "new")
    assert real(str(ws / "link")) == str(out)
    assert real(str(ws / "link" / "secret")) == str(out / "secret")
    assert real(str(ws / "file")) == str(out / "secret")
    assert real(str(ws / "link" / "new" / "deep")) == str(out / "new" / "deep")
    assert real(str(ws / "dangling")) == str(out / "new")
    assert real(str(ws / "dangling" / "deep")) == str(out / "new" / "deep")


def test_real_when_nothing_is_there_then_the_name(ws: Path) -> None:
    """What does not exist is below what exists of it."""
    assert real(str(ws / "no" / "such")) == str(ws / "no" / "such")
    assert real(str(ws / "a.txt" / "below")) == str(ws / "a.txt" / "below")
    assert real(f"/{ws}") == str(ws)


def test_real_when_links_go_in_a_circle_then_nowhere(ws: Path) -> None:
    """A circle of links has no end, and neither has a path through it."""
    (ws / "one").symlink_to(ws / "two")
    (ws / "two").symlink_to(ws / "one")
    (ws / "self").symlink_to("self")
    for name in ("one", "two", "self"):
        assert real(str(ws / name)) is None
        assert real(str(ws / name / "below")) is None
        assert not is_inside(str(ws / name), [str(ws)])
        assert not is_inside(str(ws / name / "below"), [str(ws)])


def test_real_when_the_system_cannot_say_then_nowhere(ws: Path) -> None:
    """A name too long, or with a NUL or half a surrogate pair, leads nowhere."""
    for name in ("x" * 5000, "a\0b", "\ud800"):
        assert real(str(ws / name)) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to this user")
def test_real_when_a_directory_is_closed_then_nowhere(ws: Path) -> None:
    """What may not be looked into may hold a link to anywhere."""
    (ws / "closed").mkdir(mode=0)
    try:
        assert real(str(ws / "closed" / "a")) is None
    finally:
        (ws / "closed").chmod(0o700)


def test_destinations_when_dots_follow_a_link_then_both_readings(ws: Path) -> None:
    """The system goes up from where a link leads, the harness strikes the link out."""
    out = ws.parent / "out"
    (out / "deep").mkdir()
    (ws / "link").symlink_to(out / "deep")
    path = str(ws / "link" / ".." / "secret")
    assert destinations(path) == (str(out / "secret"), str(ws / "secret"))
    assert destinations(str(ws / "a.txt")) == (str(ws / "a.txt"),)
    assert not is_inside(path, [str(ws)])
    # The other way round: the system stays inside, the harness's reading leaves.
    (out / "back").symlink_to(ws / "sub")
    sly = str(out / "back" / ".." / "a.txt")
    assert real(sly) == str(ws / "a.txt")
    assert not is_inside(sly, [str(ws)])


# ── inside ──────────────────────────────────────────────────────────────────────────────────────


def test_is_inside_when_below_a_root_then_yes(ws: Path) -> None:
    """A root is inside itself, and so is everything below, there or not."""
    roots = ["/no/such/root", str(ws)]
    for path in (ws, ws / "a.txt", ws / "sub", ws / "new" / "file", f"{ws}/", f"{ws}/sub/../a.txt"):
        assert is_inside(str(path), roots), path
    assert is_inside(f"/{ws}/a.txt", roots)
    assert is_inside(f"{ws}/new/../a.txt", roots)


def test_is_inside_when_elsewhere_then_no(ws: Path) -> None:
    """Twins of a name, parents, siblings and what `..` leads to are outside."""
    twin = ws.parent / "ws2"
    twin.mkdir()
    outside = (
        twin,
        twin / "a",
        ws.parent / "ws-old" / "a",
        ws.parent,
        ws.parent / "out" / "secret",
        f"{ws}/..",
        f"{ws}/../out/secret",
        f"{ws}/sub/../../out/secret",
        f"{ws}/no/such/../../../out/secret",
        f"{ws}/../ws2/a",
        "/",
        "/etc/passwd",
    )
    for path in outside:
        assert not is_inside(str(path), [str(ws)]), path


def test_is_inside_when_there_are_no_roots_then_no(ws: Path) -> None:
    """Nothing is inside nothing."""
    assert not is_inside(str(ws), [])


def test_is_inside_when_the_root_of_all_then_everything(ws: Path) -> None:
    """`/` as a root has no end."""
    assert is_inside(str(ws), ["/"])
    assert is_inside("/", ["/"])


def test_is_inside_when_links_lead_out_then_no(ws: Path) -> None:
    """A link inside that leads outside is outside, whether its target exists or not."""
    out = ws.parent / "out"
    (ws / "dir").symlink_to(out)
    (ws / "file").symlink_to(out / "secret")
    (ws / "dangling").symlink_to(out / "new")
    (ws / "twice").symlink_to("dir")
    for path in ("dir", "dir/secret", "dir/new", "file", "dangling", "twice/secret", "dir/x/y"):
        assert not is_inside(str(ws / path), [str(ws)]), path


def test_is_inside_when_links_lead_in_then_yes(ws: Path) -> None:
    """A link to the workspace is the workspace, for paths and for roots."""
    alias = ws.parent / "alias"
    alias.symlink_to(ws)
    (ws / "inner").symlink_to("sub")
    assert is_inside(str(alias / "a.txt"), [str(ws)])
    assert is_inside(str(ws / "a.txt"), [str(alias)])
    assert is_inside(str(ws / "inner" / "new"), [str(ws)])


def test_is_inside_when_the_file_system_knows_another_name_then_yes(ws: Path) -> None:
    """Where names differ, directories are told by what they are."""
    assert distance(f"/{ws}/sub", [str(ws)]) == 1  # `//ws` is another name, and the same place
    assert distance(f"/{ws.parent}/out", [str(ws)]) is None


@pytest.mark.skipif(not Path(__file__.upper()).exists(), reason="case counts here")
def test_is_inside_when_case_does_not_count_then_whatever_the_case(ws: Path) -> None:
    """`/WS` is `/ws` where the file system says so."""
    assert is_inside(str(ws.parent / "WS" / "NEW"), [str(ws)])
    assert is_inside(str(ws / "new"), [str(ws.parent / "WS")])


def test_distance_when_roots_are_nested_then_to_the_nearest(ws: Path) -> None:
    """The nearest root counts, and a root is at distance 0."""
    roots = [str(ws.parent), str(ws)]
    assert distance(str(ws), roots) == 0
    assert distance(str(ws / "sub" / "x"), roots) == 2
    assert distance(str(ws.parent / "out"), roots) == 1
    assert distance("/", roots) is None


# ── the paths of a call ─────────────────────────────────────────────────────────────────────────


CALLS: list[tuple[str, dict[str, object], tuple[str, ...]]] = [
    # as the model writes them, as they are here, as the step of 0.1.5 has them
    ("view_file", {"AbsolutePath": "/a", "StartLine": 1}, ("/a",)),
    ("view_file", {"absolute_path": "/a"}, ("/a",)),
    ("view_file", {"file_path": "/a", "start_line": 0}, ("/a",)),
    ("list_directory", {"DirectoryPath": "/a"}, ("/a",)),
    ("list_directory", {"directory_path": "/a"}, ("/a",)),
    ("search_directory", {"SearchPath": "/a", "Query": "/q", "Includes": ["/i"]}, ("/a",)),
    ("search_directory", {"search_path": "/a", "query": "/q"}, ("/a",)),
    ("search_directory", {"directory_path": "/a", "query": "/q"}, ("/a",)),
    ("find_file", {"SearchDirectory": "/a", "Pattern": "/p"}, ("/a",)),
    ("find_file", {"search_directory": "/a"}, ("/a",)),
    ("find_file", {"directory_path": "/a"}, ("/a",)),
    ("create_file", {"TargetFile": "/a", "CodeContent": "/c"}, ("/a",)),
    ("create_file", {"target_file": "/a"}, ("/a",)),
    ("create_file", {"file_path": "/a", "contents": "/c"}, ("/a",)),
    ("edit_file", {"TargetFile": "/a", "TargetContent": "/t"}, ("/a",)),
    ("edit_file", {"target_file": "/a", "replacement_chunks": [{"target_file": "/b"}]}, ("/a",)),
    ("edit_file", {"file_path": "/a"}, ("/a",)),
    ("run_command", {"CommandLine": "cat /b", "Cwd": "/a"}, ("/a",)),
    ("run_command", {"command_line": "cat /b", "cwd": "/a"}, ("/a",)),
    ("run_command", {"command_line": "cat /b", "working_dir": "/a"}, ("/a",)),
    ("generate_image", {"ImagePaths": ["/a", "/b"], "ImageName": "/n"}, ("/a", "/b")),
    ("generate_image", {"image_paths": ["/a"]}, ("/a",)),
    ("generate_image", {"image_paths": "/a"}, ("/a",)),
    ("generate_image", {"prompt": "/a"}, ()),
    ("run_workflow", {"ScriptPath": "/a", "Args": {"script_path": "/b"}}, ("/a",)),
    ("run_workflow", {"script_path": "/a"}, ("/a",)),
    ("run_workflow", {"script": "/a"}, ()),
    # a name that the harness takes for its own, and several at once: all count
    ("view_file", {"absolutepath": "/a"}, ("/a",)),
    ("view_file", {"AbſolutePath": "/a"}, ("/a",)),
    ("view_file", {"absolute_path": "/a", "absolutepath": "/b"}, ("/a", "/b")),
    ("view_file", {"absolute_path_": "/b", "absolute_path": "/a"}, ("/b", "/a")),
    ("view_file", {"file_path": "/b", "absolute_path": "/a"}, ("/a", "/b")),
    ("run_command", {"cwd": "/a", "CWD": "/b"}, ("/a", "/b")),
    # no path
    ("view_file", {}, ()),
    ("view_file", {"absolute_path": None}, ()),
    ("view_file", {"path": "/a"}, ()),
    ("view_file", {"absolute_path": 5}, ()),
    ("read_url_content", {"url": "file:///a"}, ()),
    ("start_subagent", {"Subagents": [{"Workspace": "/a"}]}, ()),
    ("mcp_fs_read", {"absolute_path": "/a"}, ()),
    ("my_tool", {"absolute_path": "/a"}, ()),
]


@pytest.mark.parametrize(("tool", "args", "paths"), CALLS)
def test_path_arguments_when_spelled_in_any_way_then_found(
    tool: str, args: dict[str, object], paths: tuple[str, ...]
) -> None:
    """The paths of every built-in tool are found in every spelling, and nothing else is."""
    assert path_arguments(tool, args) == paths


def test_path_values_when_a_path_is_no_string_then_kept() -> None:
    """What is no string is still seen, so that it can be refused."""
    assert path_values("view_file", {"absolute_path": 5}) == (5,)
    assert path_values("view_file", {"absolute_path": ["/a", {}]}) == ("/a", {})
    assert path_values("view_file", {"absolute_path": ""}) == ("",)


def test_path_tools_when_listed_then_built_in() -> None:
    """Each tool of the table exists, and every spelling in it has a test above."""
    assert set(PATH_TOOLS) <= {tool.value for tool in BuiltinTool}
    tested = {(tool, folded(name)) for tool, args, paths in CALLS if paths for name in args}
    for tool, use in PATH_TOOLS.items():
        for name in use.names:
            assert (tool, folded(name)) in tested
