"""Ask the person at the terminal before each shell command; without a terminal, refuse it.

python examples/approve_commands.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent, Capabilities, ToolInvocation, policy
from antigravity_sync.testing import ScriptedModel, call


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("run_command", CommandLine="echo hello", Cwd=os.getcwd(), WaitMsBeforeAsync=10_000),
        "That is what came of the command.",
    ) as model:
        yield model.agent_options()


def approve(call: ToolInvocation) -> bool:
    """Ask; on a thread of its own, so a turn can be cancelled while nobody has answered yet."""
    command = call.args.get("command_line")
    if not sys.stdin.isatty():
        print(f"No terminal to ask at, so this is denied: {command}")
        return False
    return input(f"Run {command!r}? [y/N] ").strip().lower() == "y"


def main() -> None:
    with (
        model_options() as options,
        Agent(
            capabilities=Capabilities.read_only().enable("run_command"),
            policies=[policy.confirm("run_command", approve)],
            **options,
        ) as agent,
    ):
        print(agent.chat("Say hello with the shell.").text)


if __name__ == "__main__":
    main()
