"""`serve`: offer a harness to other processes and machines."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import threading
from typing import TYPE_CHECKING, Final, NoReturn

from ..config import AgentConfig
from .exits import CommandError, Exit
from .options import add_harness_option, add_save_option, save_dir_of
from .outcome import to_line
from .say import say, write
from .signals import TerminatedError, sigterm_raises

if TYPE_CHECKING:
    from ..serving import HarnessServer

#: What a `RemoteConnectionStrategy` takes unless it is told otherwise.
_PORT: Final = 8000
_VARIABLE: Final = "ANTIGRAVITY_HARNESS_TOKEN"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "serve",
        help="offer a harness to other processes and machines",
        description="Start a harness and pass clients with the right token on to it, until SIGTERM "
        "or Ctrl-C. Nothing that is sent is encrypted. The token is that of "
        f"{_VARIABLE}, or a new one, which is printed or written to a file.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="name or address to listen at (default: %(default)s)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=_PORT,
        metavar="PORT",
        help="0 is any that is free (default: %(default)s)",
    )
    parser.add_argument(
        "--expose", action="store_true", help="allow a HOST that other machines can reach"
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="write the token there, for this user alone, and do not print it",
    )
    parser.add_argument(
        "--max-connections",
        type=int,
        default=64,
        metavar="N",
        help="clients that may be connected at once (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_harness_option(parser)
    add_save_option(parser)
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from ..harness import Harness  # imported here: the parts of an agent come along

    config = AgentConfig(
        harness_path=arguments.harness, save_dir=save_dir_of(arguments, os.environ)
    )
    try:
        with sigterm_raises(), Harness(config) as harness:
            server = harness.serve(
                arguments.host,
                arguments.port,
                token=os.environ.get(_VARIABLE) or None,
                expose=arguments.expose,
                max_connections=arguments.max_connections,
            )
            _tell(server, arguments.token_file, as_json=arguments.json)
            _wait()
    except TerminatedError:
        return Exit.TERMINATED


def _tell(server: HarnessServer, token_file: str | None, *, as_json: bool) -> None:
    """Print where the server is and how to get in."""
    facts: dict[str, object] = {"host": server.host, "port": server.port}
    if token_file is None:
        facts["token"] = server.token
    else:
        write_token(server.token, token_file)
        facts["token_file"] = os.path.abspath(token_file)
    if as_json:
        write(to_line(facts) + "\n")
        return
    write("".join(f"{name}: {value}\n" for name, value in facts.items()))
    say("serving; Ctrl-C ends it")


def write_token(token: str, path: str) -> None:
    """Write a token into a file that nobody else may read at any moment; replaces what was there.

    Raises:
        CommandError: It cannot be written.
    """
    draft = f"{path}.{secrets.token_hex(4)}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(f"{token}\n")
            os.replace(draft, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise CommandError(
            Exit.CONFIGURATION,
            f"the token cannot be written to {path!r} ({error.strerror}); choose a file in a "
            "directory that exists and that you may write to",
        ) from error


def _wait() -> NoReturn:
    """Wait for a signal, which raises here."""
    while True:  # a wait without end would not notice one that comes just before it
        threading.Event().wait(0.5)
