"""Hand a task to a subagent with instructions and a tool of its own, and watch both at work.

python examples/subagents.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from antigravity_sync import Agent, Capabilities, Subagent, policy, tool
from antigravity_sync.events import TextDelta, ToolAction, ToolCallFinished
from antigravity_sync.testing import ScriptedModel, call


@tool
def stock(item: str) -> int:
    """Tell how many pieces of an item there are."""
    return {"nails": 700, "hammer": 3}.get(item, 0)


CLERK = Subagent(
    "clerk",
    description="Knows what is in stock.",
    system_instructions="Answer in one sentence, with numbers.",
    capabilities=Capabilities.none(),
    tools=["stock"],
)


def answer(request: Any) -> Any:
    """Play both agents: only the main one can start another."""
    is_main = "invoke_subagent" in request.tools
    if not request.function_responses:
        if not is_main:
            return call("stock", item="hammer")
        task = {"TypeName": "clerk", "Role": "clerk", "Prompt": "How many hammers are there?"}
        return call("invoke_subagent", Subagents=[task])
    if not is_main:
        return "There are 3 hammers."
    return "Three, says the clerk." if "3 hammers" in request.last_text else "I have it counted."


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(answer, loop=True) as model:
        yield model.agent_options()


def main() -> None:
    with (
        model_options() as options,
        Agent(
            subagents=[CLERK],
            tools=[stock],
            capabilities=Capabilities.none().enable("start_subagent"),
            policies=[policy.deny_all(), policy.allow("start_subagent"), policy.allow("stock")],
            **options,
        ) as agent,
    ):
        turn = agent.stream("Have the hammers counted.")
        for event in turn:
            match event:
                case ToolAction(action=action):
                    print(f"[{action.name}]")
                case ToolCallFinished(name=name, result=result):
                    print(f"[{name} -> {result}]")
                case TextDelta(text=text, is_main=is_main):
                    print(f"{'agent' if is_main else 'clerk'}: {text}")
                case _:
                    pass
        print("\nThe answer:", turn.response().text)
        for trajectory, usage in agent.trajectory_usage.items():
            who = "agent" if trajectory == agent.conversation_id else "clerk"
            print(f"{who}: {usage.total_tokens} tokens")


if __name__ == "__main__":
    main()
