"""`trace FILE`: a recording as a timeline, in the terminal or as a page."""

from __future__ import annotations

import argparse
import enum
import os
import shutil

import attrs

from ..errors import ConfigError
from .exits import Exit
from .outcome import to_line
from .say import harmless, say, write


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "trace",
        help="show a recording as a timeline",
        description="Show a recording (of `run --record`, or of JsonlRecorder) as a timeline: "
        "turns, waits for the model, tools, hooks, decisions, usage, errors.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--html", metavar="OUT", help="write one self-contained page instead of text"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    # Imported here, with the codec behind it.
    from .._report.page import page_of
    from .._report.reader import read_timelines
    from .._report.text import text_of

    lines = read_timelines(arguments.file)
    if arguments.html is not None:
        title = f"Trace of {os.path.basename(arguments.file)}"
        _store(arguments.html, page_of(lines, title))
        say(f"written to {arguments.html}")
    if arguments.json:
        sessions = [attrs.asdict(line, value_serializer=_plain) for line in lines]
        write(to_line({"sessions": sessions}) + "\n")
    elif arguments.html is None:
        width = shutil.get_terminal_size((120, 24)).columns
        write("".join(f"{harmless(line)}\n" for line in text_of(lines, width=width)))
    return Exit.OK


def _store(path: str, page: str) -> None:
    # Readable by this user alone, as the recording is: there are prompts in it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise ConfigError(
            f"the page {path!r} cannot be written ({error.strerror}); name another file"
        ) from error


def _plain(_owner: type, _field: attrs.Attribute[object] | None, value: object) -> object:
    return value.value if isinstance(value, enum.Enum) else value
