"""Stream one turn into the terminal: thoughts, tool calls and text as they come.

With GEMINI_API_KEY set, the real model answers. Without it, the scripted model of the test kit
does, so that you can watch a whole agent run without a key; the harness is the real one either way.

    python examples/quickstart.py "Which files are here?"
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent
from antigravity_sync.errors import AntigravityError
from antigravity_sync.events import Denied, Finished, TextDelta, ThinkingDelta, ToolAction
from antigravity_sync.testing import ScriptedModel, call, chunks, thought

PROMPT = "Which files are here?"


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    answer = ["Those are the ", "files I was ", "allowed to see. ", "Set GEMINI_API_KEY ", "and I "]
    with ScriptedModel(
        [thought("I should look before I answer."), call("list_dir", DirectoryPath=os.getcwd())],
        chunks(*answer, "will think for myself.", delay=0.15),
    ) as model:
        yield model.agent_options()


def show_turn(agent: Agent, prompt: str) -> None:
    print(f"> {prompt}\n")
    for event in agent.stream(prompt):
        match event:
            case ThinkingDelta(text=text):
                print(f"({text})")
            case ToolAction(action=action, decision=Denied(reason=reason)):
                print(f"[{action.name} was refused: {reason}]")
            case ToolAction(action=action):
                print(f"[{action.name} {' '.join(str(value) for value in action.args.values())}]")
            case TextDelta(text=text):
                print(text, end="", flush=True)
            case Finished(response=response):
                tokens = response.usage.total_tokens
                counted = "" if tokens is None else f", {tokens} tokens"
                print(f"\n\n{response.duration:.1f} s{counted}")


def main() -> int:
    prompt = " ".join(sys.argv[1:]) or PROMPT
    try:
        with model_options() as options, Agent(**options) as agent:
            print(f"Harness {agent.harness_version}, process {agent.pid}")
            show_turn(agent, prompt)
    except AntigravityError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
