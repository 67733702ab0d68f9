"""One call of each kind of tool, and how to tell from outside whether it ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs

from antigravity_sync import Capabilities, tool
from antigravity_sync.testing import ScriptedModel, call
from tests.mcp import mcp_call

#: Only in files: a model that was told it has been shown them.
SECRET: Final = "zqx7412"

#: Everything that runs without a network.
CAPABILITIES: Final = Capabilities.read_only().enable("create_file", "edit_file", "run_command")
READING: Final = ("view_file", "list_directory", "search_directory", "find_file")
CHANGING: Final = ("create_file", "edit_file", "run_command")
BUILTIN: Final = (*READING, *CHANGING)
CUSTOM: Final = "leave_mark"
ALL: Final = (*BUILTIN, CUSTOM)
#: A tool of the plain MCP server, which leaves a mark like the custom one.
MCP: Final = "mcp_plain_mark"


@tool
def leave_mark(place: str) -> str:
    """Leave a mark in a directory."""
    (Path(place) / "mark").write_text("custom")
    return "marked"


@attrs.frozen
class Kind:
    """A call of one tool about one directory.

    Attributes:
        name: Canonical name of the tool.
        place: The directory; `prepare` fills it.
        spelling: The path as the model writes it, if that is not the plain one.
    """

    name: str
    place: Path
    spelling: Callable[[Path], str] = str

    def prepare(self) -> Kind:
        """Put into the directory what the tool needs."""
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / f"{SECRET}.txt").write_text(f"one\nneedle {SECRET}\nthree\n")
        (self.place / "text").write_text("old\n")
        (self.place / "read").write_text(SECRET)
        return self

    @property
    def target(self) -> Path:
        """The path that the call is about."""
        leaves = {"view_file": "read", "create_file": "made", "edit_file": "text"}
        leaf = leaves.get(self.name)
        return self.place if leaf is None else self.place / leaf

    def call(self) -> Any:
        """Return the model's call, by the names that the model knows."""
        path = self.spelling(self.target)
        match self.name:
            case "view_file":
                return call("view_file", AbsolutePath=path)
            case "list_directory":
                return call("list_dir", DirectoryPath=path)
            case "search_directory":
                return call("grep_search", SearchPath=path, Query="needle", MatchPerLine=True)
            case "find_file":
                return call("find_by_name", SearchDirectory=path, Pattern="zqx*")
            case "create_file":
                return call(
                    "write_to_file",
                    TargetFile=path,
                    CodeContent="new",
                    Overwrite=True,
                    Description="make",
                )
            case "edit_file":
                return call(
                    "replace_file_content",
                    TargetFile=path,
                    Instruction="change",
                    Description="change",
                    AllowMultiple=False,
                    TargetContent="old",
                    ReplacementContent="new",
                    StartLine=1,
                    EndLine=1,
                )
            case "run_command":
                return call(
                    "run_command",
                    CommandLine="echo > mark",
                    Cwd=path,
                    WaitMsBeforeAsync=20_000,
                )
            case "mcp_plain_mark":
                return mcp_call("mark", place=path)
        return call(CUSTOM, place=path)

    def rewritten_to(self, place: Path) -> dict[str, str]:
        """Return the arguments that send the call to another directory."""
        names = {
            "view_file": "absolute_path",
            "list_directory": "directory_path",
            "search_directory": "search_path",
            "find_file": "search_directory",
            "create_file": "target_file",
            "edit_file": "target_file",
            "run_command": "cwd",
            CUSTOM: "place",
            MCP: "place",
        }
        return {names[self.name]: str(attrs.evolve(self, place=place).target)}

    def has_run(self, told: str) -> bool:
        """Return whether the tool has done its work: on disk, or in what the model was told."""
        match self.name:
            case "create_file":
                return (self.place / "made").exists()
            case "edit_file":
                return (self.place / "text").read_text() != "old\n"
            case "run_command" | "leave_mark" | "mcp_plain_mark":
                return (self.place / "mark").exists()
        return SECRET in told


def told(model: ScriptedModel, number: int = -1) -> str:
    """Return what the model saw of the last call, in its request of this number, from 0."""
    responses = model.requests[number].function_responses
    if responses:
        return json.dumps(responses[-1][1], ensure_ascii=False)
    return ""


def seen(model: ScriptedModel, number: int = -1) -> str:
    """Return the last thing the model saw, whoever wrote it."""
    contents = model.requests[number].contents
    return json.dumps(contents[-1], ensure_ascii=False)
