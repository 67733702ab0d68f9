"""The options that `run` and `chat` share, and the agent that they describe."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from typing import Final

from ..capabilities import READ_ONLY_TOOLS, BuiltinTool, Capabilities
from ..config import AgentConfig, merged_environment, resolve_key
from ..errors import ConfigError
from ..limits import Budget
from ..models import DEFAULT_MODEL, Retry
from ..policy import ConfirmHandler, Policy, allow, allow_all, confirm, deny
from .exits import CommandError, Exit
from .places import sessions_dir

_ALL: Final = "all"
#: What `chat` offers beside tools that only read; a person is asked about each call.
_ASKED: Final = (BuiltinTool.CREATE_FILE, BuiltinTool.EDIT_FILE, BuiltinTool.RUN_COMMAND)


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe an agent."""
    group = parser.add_argument_group("agent")
    group.add_argument(
        "--model", default=DEFAULT_MODEL, metavar="NAME", help="default: %(default)s"
    )
    group.add_argument("--base-url", metavar="URL", help="another address of the model's service")
    add_harness_option(group)
    group.add_argument(
        "--workspace",
        action="append",
        metavar="DIR",
        help="directory to work in, may be repeated (default: the current one)",
    )
    group.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="TOOL",
        help="let this built-in tool run, such as run_command, or 'all'; may be repeated",
    )
    group.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="TOOL",
        help="refuse calls of this tool; may be repeated",
    )
    group.add_argument(
        "--retries",
        type=int,
        default=Retry().max_retries,
        metavar="N",
        help="further tries of a model call that failed (default: %(default)s)",
    )
    for what in ("model", "tool"):
        group.add_argument(
            f"--max-{what}-calls",
            type=int,
            metavar="N",
            help=f"end a turn that would make more {what} calls",
        )
    group.add_argument("--record", metavar="FILE", help="record the session, for `trace`")
    add_conversation_options(parser)


def add_harness_option(group: argparse._ActionsContainer) -> None:
    """Add the option that names the binary."""
    group.add_argument("--harness", metavar="PATH", help="the harness (default: search for it)")


def add_conversation_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which conversation, and where it is kept."""
    group = parser.add_argument_group("conversation")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--conversation", metavar="ID", help="go on with this one, or begin it")
    which.add_argument("--resume", metavar="ID", help="go on with this one; it must be there")
    where = group.add_mutually_exclusive_group()
    add_save_option(where)
    where.add_argument("--no-save", action="store_true", help="keep nothing of the conversation")


def add_save_option(group: argparse._ActionsContainer) -> None:
    """Add the option that says where conversations are kept."""
    group.add_argument(
        "--save-dir", metavar="DIR", help="where conversations are kept (default: a place of ours)"
    )


def seconds(text: str) -> float:
    """Return a timeout that was given on the command line.

    Raises:
        ArgumentTypeError: It is none.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return found


def save_dir_of(arguments: argparse.Namespace, environ: Mapping[str, str]) -> str:
    """Return where conversations are kept.

    Raises:
        ConfigError: There is no place for them.
    """
    given: str | None = arguments.save_dir
    return os.fspath(sessions_dir(environ)) if given is None else given


def config_of(
    arguments: argparse.Namespace,
    environ: Mapping[str, str],
    *,
    ask: ConfirmHandler | None = None,
) -> AgentConfig:
    """Return the agent that the command line describes.

    Args:
        arguments: The parsed command line.
        environ: The environment to read.
        ask: Asks a person about a call; `None` if there is nobody to ask.

    Raises:
        ConfigError: An option has a bad value.
    """
    conversation = arguments.resume or arguments.conversation
    if conversation and arguments.no_save:
        raise ConfigError("--no-save keeps no conversation to go on with; drop one of the two")
    recorder = []
    if arguments.record is not None:
        from .._wire.recorder import JsonlRecorder

        recorder.append(JsonlRecorder(arguments.record))
    return AgentConfig(
        model=arguments.model,
        base_url=arguments.base_url,
        harness_path=arguments.harness,
        workspaces=arguments.workspace or [os.curdir],
        save_dir=None if arguments.no_save else save_dir_of(arguments, environ),
        conversation_id=conversation,
        resume="must" if arguments.resume else "auto",
        capabilities=_capabilities(arguments.allow, arguments.deny, is_attended=ask is not None),
        policies=_policies(arguments.allow, arguments.deny, ask),
        budget=_budget(arguments.max_model_calls, arguments.max_tool_calls),
        retry=Retry(max_retries=arguments.retries),
        wire_inspectors=recorder,
    )


def check_key(config: AgentConfig, environ: Mapping[str, str]) -> None:
    """Refuse to begin without a model key.

    Raises:
        CommandError: There is none.
    """
    try:
        merged = merged_environment(config, environ)
        resolve_key(config.settled(merged).text_model(), merged)
    except ConfigError as error:
        raise CommandError(Exit.CREDENTIALS, str(error)) from error


def _budget(model_calls: int | None, tool_calls: int | None) -> Budget | None:
    if model_calls is None and tool_calls is None:
        return None
    return Budget(model_calls=model_calls, tool_calls=tool_calls)


def _capabilities(
    allowed: Sequence[str], denied: Sequence[str], *, is_attended: bool
) -> Capabilities:
    if _ALL in allowed:
        return Capabilities.all()
    offered = Capabilities.read_only().enable(*allowed)
    Capabilities().enable(*denied)  # refuses what is no tool
    return offered.enable(*_ASKED, BuiltinTool.ASK_QUESTION) if is_attended else offered


def _policies(
    allowed: Sequence[str], denied: Sequence[str], ask: ConfirmHandler | None
) -> list[Policy]:
    rules = [deny(name, "denied on the command line") for name in denied]
    rules += [allow(name) for name in allowed if name != _ALL]
    if _ALL in allowed:
        return [*rules, allow_all()]
    if ask is None:
        return rules
    reading = [allow(tool) for tool in sorted(READ_ONLY_TOOLS, key=str)]
    return [*rules, *reading, confirm("*", ask)]
