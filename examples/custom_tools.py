"""Give the model two functions of this program; they run on the thread that calls `chat()`.

python examples/custom_tools.py
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from antigravity_sync import Agent, ToolContext, tool
from antigravity_sync.testing import ScriptedModel, call

PRICES = {"nails": 0.05, "hammer": 12.5}


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("price", item="hammer", amount=2),
        call("order", item="hammer"),
        "Ordered; 25.00 in all.",
    ) as model:
        yield model.agent_options()


@tool
def price(item: str, amount: Annotated[int, "how many pieces"] = 1) -> float:
    """Tell what some pieces of an item cost."""
    if item not in PRICES:
        raise LookupError(f"no {item}; there are {', '.join(PRICES)}")  # the model reads this
    return PRICES[item] * amount


@tool(exclusive=True)
def order(item: str, ctx: ToolContext) -> str:
    """Order one piece of an item."""
    ctx.state["orders"] = [*ctx.state.get("orders", []), item]  # type: ignore[misc]
    return f"ordered on thread {threading.current_thread().name}"


def main() -> None:
    with model_options() as options, Agent(tools=[price, order], **options) as agent:
        response = agent.chat("What do two hammers cost? Order one.")
    for used in response.tool_calls:
        print(f"{used.name}({used.args}) -> {used.result or used.error}")
    print(response.text)


if __name__ == "__main__":
    main()
