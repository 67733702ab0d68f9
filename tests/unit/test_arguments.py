"""One spelling for the arguments of a call, and the way back."""

from __future__ import annotations

import pytest

from antigravity_sync._arguments import (
    as_in_step,
    doubled,
    from_step,
    normalised,
    respelled,
    snake_case,
)
from antigravity_sync._paths import PATH_TOOLS

#: A call as some harness version has it, and its arguments in the one spelling.
SPELLINGS: list[tuple[str, object, dict[str, object]]] = [
    # as the model wrote them: 0.1.7 and newer
    ("view_file", {"AbsolutePath": "/a", "StartLine": 1}, {"absolute_path": "/a", "start_line": 1}),
    ("list_directory", {"DirectoryPath": "/a"}, {"directory_path": "/a"}),
    ("search_directory", {"SearchPath": "/a", "Query": "q"}, {"search_path": "/a", "query": "q"}),
    ("find_file", {"SearchDirectory": "/a"}, {"search_directory": "/a"}),
    ("create_file", {"TargetFile": "/a"}, {"target_file": "/a"}),
    (
        "run_command",
        {"CommandLine": "ls", "Cwd": "/a", "WaitMsBeforeAsync": 5},
        {"command_line": "ls", "cwd": "/a", "wait_ms_before_async": 5},
    ),
    (
        "run_command",
        {"CommandLine": "ls", "RequestedTerminalID": "t"},
        {"command_line": "ls", "requested_terminal_id": "t"},
    ),
    ("invoke_subagent", {"Subagents": []}, {"subagents": []}),
    ("ask_question", {"questions": []}, {"questions": []}),
    # as the step has them: 0.1.5 and 0.1.6
    ("view_file", {"file_path": "file:///a%20b"}, {"absolute_path": "/a b"}),
    ("search_directory", {"directory_path": "/a", "query": ""}, {"search_path": "/a", "query": ""}),
    (
        "find_file",
        {"directory_path": "/a", "query": "*"},
        {"search_directory": "/a", "pattern": "*"},
    ),
    ("create_file", {"file_path": "/a", "contents": ""}, {"target_file": "/a", "code_content": ""}),
    ("edit_file", {"file_path": "/a"}, {"target_file": "/a"}),
    ("run_command", {"command_line": "ls", "working_dir": ""}, {"command_line": "ls", "cwd": ""}),
    # as the harness reads them, too
    ("run_command", {"commandline": "ls", "CWD": "/a"}, {"command_line": "ls", "cwd": "/a"}),
    ("view_file", {"AbſolutePath": "/a"}, {"absolute_path": "/a"}),
    # of several the one that the harness takes
    (
        "run_command",
        {"CommandLine": "echo", "commandline": "rm"},
        {"command_line": "rm", "command_line_": "echo"},
    ),
    (
        "view_file",
        {"AbsolutePath": "/a", "absolute_path": "/b"},
        {"absolute_path": "/a", "absolute_path_": "/b"},
    ),
    (
        "view_file",
        {"ABSOLUTEPATH": "/a", "AbsolutePath": "/b", "absolutepath": "/c", "file_path": "/d"},
        {
            "absolute_path": "/c",
            "absolute_path_": "/b",
            "absolute_path__": "/a",
            "absolute_path___": "/d",
        },
    ),
    # URIs are local paths where a path belongs, and text where text belongs
    ("view_file", {"AbsolutePath": "file:///a/%7e"}, {"absolute_path": "/a/~"}),
    ("view_file", {"AbsolutePath": "file://host/a"}, {"absolute_path": "file://host/a"}),
    ("create_file", {"CodeContent": "file:///a%20b"}, {"code_content": "file:///a%20b"}),
    ("generate_image", {"ImagePaths": ["file:///a", 5]}, {"image_paths": ["/a", 5]}),
    ("read_url_content", {"Url": "file:///a"}, {"url": "file:///a"}),
    # what nobody knows is kept
    ("view_file", {"SomethingNew": {"InnerName": 1}}, {"something_new": {"InnerName": 1}}),
    ("view_file", None, {}),
    ("view_file", [1], {"arguments": [1]}),
    ("view_file", "no json", {"arguments": "no json"}),
    ("view_file", {}, {}),
    # your own tools keep their names
    ("my_tool", {"userName": 1, "File": "file:///a"}, {"userName": 1, "File": "file:///a"}),
    ("my_tool", None, {}),
]


@pytest.mark.parametrize(("tool", "raw", "args"), SPELLINGS)
def test_normalised_when_spelled_in_any_way_then_one(
    tool: str, raw: object, args: dict[str, object]
) -> None:
    """Every spelling becomes the one that rules and hooks are written for."""
    assert normalised(tool, raw) == args


def test_normalised_when_an_mcp_call_then_what_its_tool_gets() -> None:
    """What stands around the arguments of an MCP tool is in `name` and `server_name` already."""
    envelope = {"ServerName": "git", "ToolName": "push", "Arguments": {"remoteName": "o"}}
    assert normalised("push", envelope, "git") == {"remoteName": "o"}
    assert normalised("push", {**envelope, "Arguments": None}, "git") == {}
    assert normalised("push", {**envelope, "Arguments": [1]}, "git") == {"arguments": [1]}
    assert normalised("push", {"ServerName": "git", "ToolName": "push"}, "git") == {}
    assert normalised("push", {"remoteName": "o"}, "git") == {"remoteName": "o"}
    assert normalised("view_file", {"AbsolutePath": "/a"}, "fs") == {"AbsolutePath": "/a"}


@pytest.mark.parametrize(
    ("tool", "raw", "server", "name"),
    [
        ("run_command", {"CommandLine": "a", "commandline": "b"}, "", "command_line"),
        ("run_command", {"CommandLine": "a", "command_line": "b"}, "", "command_line"),
        ("run_command", {"cwd": "a", "working_dir": "b"}, "", "cwd"),
        ("view_file", {"AbsolutePath": "a", "AbſolutePath": "a"}, "", "absolute_path"),
        ("invoke_subagent", {"Subagents": [], "subagents": []}, "", "subagents"),
        ("push", {"ServerName": "a", "ToolName": "b", "Arguments": {}, "arguments": {}}, "a",
         "Arguments"),
        # plain ones
        ("run_command", {"CommandLine": "a", "Cwd": "b"}, "", None),
        ("run_command", {}, "", None),
        ("run_command", None, "", None),
        ("run_command", ["a", "a"], "", None),
        ("run_command", {"New": 1, "new": 2}, "", None),
        ("my_tool", {"id": 1, "ID": 2}, "", None),
        ("push", {"ServerName": "a", "ToolName": "b", "Arguments": {"id": 1, "ID": 2}}, "a", None),
    ],
)  # fmt: skip
def test_doubled_when_an_argument_is_named_twice_then_its_name(
    tool: str, raw: object, server: str, name: str | None
) -> None:
    """The harness would take the last of them, and a rule might look at another."""
    assert doubled(tool, raw, server) == name


@pytest.mark.parametrize(
    ("tool", "raw"),
    [(tool, raw) for tool, raw, _ in SPELLINGS if isinstance(raw, dict) and not doubled(tool, raw)],
)
def test_respelled_when_nothing_changed_then_the_same_names(
    tool: str, raw: dict[str, object]
) -> None:
    """Arguments go back under the names they came with."""
    back = respelled(tool, raw, normalised(tool, raw))
    assert set(back) == set(raw)
    assert normalised(tool, back) == normalised(tool, raw)


def test_respelled_when_a_hook_added_arguments_then_the_harness_knows_them() -> None:
    """New arguments of a built-in tool get the harness's names, those of other tools stay."""
    raw = {"commandline": "ls", "Cwd": "/a"}
    args = {"command_line": "pwd", "cwd": "/b", "wait_ms_before_async": 5, "other": 1}
    assert respelled("run_command", raw, args) == {
        "commandline": "pwd",
        "Cwd": "/b",
        "WaitMsBeforeAsync": 5,
        "other": 1,
    }
    assert respelled("view_file", {}, {"absolute_path": "/a"}) == {"AbsolutePath": "/a"}
    assert respelled("view_file", None, {"AbsolutePath": "/a"}) == {"AbsolutePath": "/a"}
    assert respelled("my_tool", {"userName": 1}, {"userName": 2, "x": 3}) == {"userName": 2, "x": 3}


def test_respelled_when_an_mcp_call_then_its_envelope_is_back() -> None:
    """New arguments of an MCP tool go where the old ones were."""
    raw = {"ServerName": "git", "ToolName": "push", "Arguments": {"a": 1}}
    assert respelled("push", raw, {"a": 2}, "git") == {**raw, "Arguments": {"a": 2}}
    lower = {"ServerName": "git", "ToolName": "push", "arguments": {"a": 1}}
    assert respelled("push", lower, {"a": 2}, "git") == {**raw, "Arguments": {"a": 2}}
    assert respelled("push", {"a": 1}, {"a": 2}, "git") == {"a": 2}


def test_snake_case_when_given_wire_names_then_words_apart() -> None:
    """Humps become underscores."""
    names = {"CommandLine": "command_line", "filePath": "file_path", "TaskId": "task_id", "x": "x"}
    assert {name: snake_case(name) for name in names} == names


def test_tables_when_compared_then_every_path_has_its_spelling() -> None:
    """The first name of each path is its one spelling, and all others become it."""
    for tool, use in PATH_TOOLS.items():
        for name in use.names:
            assert normalised(tool, {name: "/a"}) == {use.names[0]: "/a"}


@pytest.mark.parametrize(
    ("tool", "shown", "spelled"),
    [
        (
            "view_file",
            {"file_path": "/a", "start_line": 1},
            {"absolute_path": "/a", "start_line": 1},
        ),
        (
            "find_file",
            {"directory_path": "/a", "query": "*"},
            {"search_directory": "/a", "pattern": "*"},
        ),
        ("search_directory", {"directory_path": "/a"}, {"search_path": "/a"}),
        ("list_directory", {"directory_path": "/a"}, {"directory_path": "/a"}),
        (
            "run_command",
            {"working_dir": "/a", "command_line": "ls"},
            {"cwd": "/a", "command_line": "ls"},
        ),
        ("mine", {"file_path": "/a"}, {"file_path": "/a"}),
    ],
)
def test_from_step_when_a_step_shows_arguments_then_in_the_one_spelling(tool, shown, spelled):
    """As `normalised` has it, and back again."""
    assert from_step(tool, shown) == spelled
    assert as_in_step(tool, spelled) == shown
