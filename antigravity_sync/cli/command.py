"""Read the command line, run what it asks for, turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from .._version import __version__
from ..errors import AntigravityError
from . import chat, doctor, install, run, serve, sessions, trace
from .exits import CommandError, Exit, exit_for
from .say import PROGRAM, be_lenient, say

_EXITS: Final = """\
exit codes:
  0 done
  1 the turn failed   2 wrong command line   3 a budget is used up   4 something was denied
  69 no usable harness   75 try later   77 no key, or a wrong one   78 wrong configuration
  124 the time is up   130 Ctrl-C   143 SIGTERM
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Results go to standard output, everything for people to standard error. Runs on the calling
    thread, and blocks as long as the command takes; Ctrl-C ends it.

    Args:
        argv: What follows the program's name; `None` takes it from `sys.argv`.
    """
    be_lenient()
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what is wrong, or printed what was asked for
        return Exit.OK if stop.code in (None, 0) else Exit.USAGE
    try:
        code: int = arguments.action(arguments)
    except CommandError as error:
        say(f"error: {error}")
        return error.code
    except AntigravityError as error:
        say(f"error: {error}")
        return exit_for(error)
    except OSError as error:
        return _output_failed(error)
    except KeyboardInterrupt:
        say("interrupted")
        return Exit.INTERRUPTED
    return code


def _output_failed(error: OSError) -> int:
    """Say why the result could not be written, unless whoever read it has simply gone."""
    if not isinstance(error, BrokenPipeError):
        say(f"error: the output cannot be written ({error.strerror or error}); see where it goes")
    # Python would complain again when it flushes at its end.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="The localharness agent runtime on the command line.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (run, chat, sessions, trace, doctor, serve, install):
        command.add_command(commands)
    return parser
