"""Let the agent look around but not into `.env`, and see what it was refused.

python examples/policies.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from antigravity_sync import Agent, ToolInvocation, policy
from antigravity_sync.events import Denied, TextDelta, ToolAction
from antigravity_sync.testing import ScriptedModel, call

RULES = [
    policy.deny_all("only looking is allowed"),
    policy.deny("view_file", "secrets stay secret", when=lambda call: ".env" in str(call.args)),
    policy.allow("view_file"),
    policy.allow("list_directory"),
]


@contextmanager
def model_options(directory: str) -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("list_dir", DirectoryPath=directory),
        call("view_file", AbsolutePath=os.path.join(directory, ".env")),
        "I may not read that file.",
    ) as model:
        yield model.agent_options()


def main() -> None:
    # Rules are plain values: they can be asked without an agent.
    print(policy.explain(RULES, ToolInvocation("run_command", {"command_line": "ls"})))
    with (
        TemporaryDirectory() as directory,
        model_options(directory) as options,
        Agent(workspaces=[directory], policies=RULES, **options) as agent,
    ):
        Path(directory, ".env").write_text("TOKEN=1234", "utf-8")
        for event in agent.stream("What is in .env?"):
            match event:
                case ToolAction(action=action, decision=Denied(reason=reason)):
                    print(f"[{action.name} was refused: {reason}]")
                case ToolAction(action=action):
                    print(f"[{action.name} ran]")
                case TextDelta(text=text):
                    print(text, end="", flush=True)
                case _:
                    pass
    print()


if __name__ == "__main__":
    main()
