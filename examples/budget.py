"""Keep a model that goes round in circles from going on for ever.

python examples/budget.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent, Budget, tool
from antigravity_sync.testing import ScriptedModel, call

BUDGET = Budget(model_calls=10, tool_calls=3, total_tokens=50_000)


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(["Still waiting. ", call("is_ready")], loop=True) as model:
        yield model.agent_options()
        print(f"The model was called {len(model.requests)} times.")


@tool
def is_ready() -> bool:
    """Say whether the shop is open."""
    return False


def main() -> None:
    with model_options() as options, Agent(tools=[is_ready], budget=BUDGET, **options) as agent:
        response = agent.chat("Tell me as soon as the shop is open; keep asking.")
        print(response.text)
        if response.stop_reason is not None:
            print(f"Stopped: {response.stop_reason} after {len(response.tool_calls)} tool calls.")
        print(f"It took {response.usage.total_tokens} tokens.")


if __name__ == "__main__":
    main()
