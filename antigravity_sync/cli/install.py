"""`install-harness`: fetch the binary into this user's cache."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable

from .._version import SUPPORTED_HARNESS_VERSION
from .exits import Exit
from .say import say


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "install-harness",
        help="download the harness into this user's cache",
        description="Download the harness binary of one release into this user's cache, where "
        "agents find it, and print its path. What is there already is not downloaded again.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "version",
        nargs="?",
        default=SUPPORTED_HARNESS_VERSION,
        metavar="VERSION",
        help="release to install (default: %(default)s)",
    )
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    # Imported here, so that `--help` and `--version` answer at once.
    from .._transport.install import install_harness

    with _shown() as progress:
        path = install_harness(arguments.version, progress=progress)
    print(path)
    return Exit.OK


def _shown() -> contextlib.AbstractContextManager[Callable[[str], None]]:
    """Return what shows progress: a bar at a terminal, if there is `rich`, else lines."""
    if sys.stderr.isatty():
        try:
            from .pretty import stages
        except ImportError:
            return contextlib.nullcontext(say)
        return stages()
    return contextlib.nullcontext(say)
