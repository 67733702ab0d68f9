"""`doctor`: look whether agents can run here, and say what to do where not."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..config import AgentConfig
from .exits import Exit
from .options import add_harness_option, add_save_option, save_dir_of
from .outcome import to_line
from .say import harmless, write

if TYPE_CHECKING:
    from ..doctor import Finding

#: What a failed check says about who must act.
_CODES: Final = {
    "credentials": Exit.CREDENTIALS,
    "home": Exit.CONFIGURATION,
    "clock": Exit.CONFIGURATION,
    "save_dir": Exit.CONFIGURATION,
    "proxy": Exit.CONFIGURATION,
}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="look whether agents can run here",
        description="Look at everything that an agent needs, start a harness and have a turn with "
        "a scripted model. The model's key is looked at and never sent. Ends with 0 if "
        "nothing failed; warnings are no failures.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_harness_option(parser)
    add_save_option(parser)
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    # Imported here: the parts of an agent come along.
    from ..doctor._examine import findings_of

    config = AgentConfig(
        harness_path=arguments.harness, save_dir=save_dir_of(arguments, os.environ)
    )
    found = []
    for finding in findings_of(config):
        found.append(finding)
        if not arguments.json:
            write(_line(finding))
    code = _code(found)
    if arguments.json:
        facts = [finding.to_dict() for finding in found]
        write(to_line({"ok": code is Exit.OK, "exit_code": int(code), "findings": facts}) + "\n")
    return code


def _line(finding: Finding) -> str:
    line = f"{finding.level.value:8} {finding.check:12} {harmless(finding.message)}\n"
    if finding.advice:
        line += f"{'':21} → {harmless(finding.advice)}\n"
    return line


def _code(found: Sequence[Finding]) -> Exit:
    from ..doctor import Level

    for finding in found:
        if finding.level is Level.FAILURE:
            return _CODES.get(finding.check, Exit.UNAVAILABLE)
    return Exit.OK
