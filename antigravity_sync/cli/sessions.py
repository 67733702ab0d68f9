"""`sessions list|show|delete`: conversations that are kept."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from ..config import AgentConfig
from ..responses import Step
from . import saved
from .exits import Exit
from .options import add_harness_option, add_save_option, save_dir_of
from .outcome import to_line
from .say import harmless, say, write

_MAX_RESULT: Final = 500

Commands = argparse._SubParsersAction


def add_command(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "sessions",
        help="list, show or delete conversations that are kept",
        description="List, show or delete conversations that are kept.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = _action(actions, "list", "list them, the newest last")
    listing.set_defaults(action=_list)
    showing = _action(actions, "show", "print what was said; no model is asked")
    showing.add_argument("conversation", metavar="ID")
    add_harness_option(showing)
    showing.set_defaults(action=_show)
    deleting = _action(actions, "delete", "remove them with all that belongs to them")
    deleting.add_argument("conversation", metavar="ID", nargs="+")
    deleting.set_defaults(action=_delete)


def _action(
    actions: Commands[argparse.ArgumentParser], name: str, purpose: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=purpose, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_save_option(parser)
    return parser


def _list(arguments: argparse.Namespace) -> int:
    directory = save_dir_of(arguments, os.environ)
    found = saved.conversations(directory)
    if arguments.json:
        sessions = [attrs.asdict(one) for one in found]
        write(to_line({"save_dir": directory, "sessions": sessions}) + "\n")
        return Exit.OK
    for one in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.modified))
        mark = "open" if one.is_open else ""
        title = harmless(one.title)[:60]
        line = f"{when}  {one.size >> 10:7} KiB  {mark:4}  {one.conversation_id}  {title}"
        write(line.rstrip() + "\n")
    if not found:
        say(f"there are no conversations in {directory}")
    return Exit.OK


def _show(arguments: argparse.Namespace) -> int:
    from ..agent import Agent

    directory = save_dir_of(arguments, os.environ)
    one = saved.find(directory, arguments.conversation)
    # The model is never asked: no turn is begun.
    config = AgentConfig(
        harness_path=arguments.harness,
        save_dir=directory,
        conversation_id=one.conversation_id,
        resume="must",
        api_key="none",
    )
    with Agent(config) as agent:
        steps = agent.initial_history
    if arguments.json:
        facts = {**attrs.asdict(one), "steps": [attrs.asdict(step) for step in steps]}
        write(to_line(facts) + "\n")
    else:
        write("".join(f"{line}\n" for line in _lines(steps)))
    return Exit.OK


def _delete(arguments: argparse.Namespace) -> int:
    directory = save_dir_of(arguments, os.environ)
    found: Sequence[saved.Saved] = [saved.find(directory, one) for one in arguments.conversation]
    deleted = []
    for one in found:
        saved.delete(directory, one)
        deleted.append(one.conversation_id)
        if not arguments.json:
            write(f"deleted {one.conversation_id}\n")
    if arguments.json:
        write(to_line({"save_dir": directory, "deleted": deleted}) + "\n")
    return Exit.OK


def _lines(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        who = step.source.lower() if step.is_main else f"{step.source.lower()} (subagent)"
        if step.action is not None:
            args = to_line(dict(step.action.args))
            yield f"{who}: {step.action.name} {args[:_MAX_RESULT]}"
        if step.text:
            yield harmless(f"{who}: {step.text}")
        if step.error:
            yield harmless(f"{who}: error: {step.error}")
        if step.is_interrupted:
            yield f"{who}: (cut off)"
