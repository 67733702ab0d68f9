"""Read the command line, run what it asks for, turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from .._version import SUPPORTED_HARNESS_VERSION, __version__
from ..errors import AntigravityError
from .exits import Exit, exit_for

_PROGRAM: Final = "antigravity-sync"
_EXITS: Final = """\
exit codes:
  0 done   2 wrong command line   69 no usable harness   78 wrong configuration   130 Ctrl-C
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Results go to standard output, everything for people to standard error. Runs on the calling
    thread, and blocks as long as the command takes; Ctrl-C ends it.

    Args:
        argv: What follows the program's name; `None` takes it from `sys.argv`.
    """
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what is wrong, or printed what was asked for
        return Exit.OK if stop.code in (None, 0) else Exit.USAGE
    try:
        return _install_harness(arguments.version)
    except AntigravityError as error:
        _say(f"error: {error}")
        return exit_for(error)
    except KeyboardInterrupt:
        _say("interrupted")
        return Exit.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Tools around the localharness agent runtime.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    install = commands.add_parser(
        "install-harness",
        help="download the harness into this user's cache",
        description="Download the harness binary of one release into this user's cache, where "
        "agents find it, and print its path. What is there already is not downloaded again.",
        allow_abbrev=False,
    )
    install.add_argument(
        "version",
        nargs="?",
        default=SUPPORTED_HARNESS_VERSION,
        metavar="VERSION",
        help="release to install (default: %(default)s)",
    )
    return parser


def _install_harness(version: str) -> int:
    # Imported here, so that `--help` and `--version` answer at once.
    from .._transport.install import install_harness

    print(install_harness(version, progress=_say))
    return Exit.OK


def _say(line: str) -> None:
    print(f"{_PROGRAM}: {line}", file=sys.stderr, flush=True)
