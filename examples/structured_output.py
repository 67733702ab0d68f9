"""Have the model fill in a form: a dataclass of this program comes back, checked, not text.

python examples/structured_output.py
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from antigravity_sync import Agent
from antigravity_sync.errors import StructuredOutputError
from antigravity_sync.testing import ScriptedModel, finish

MAIL = "Hello, the blue kettle (two of them) came without lids. We need them on Monday! Ada"


@dataclasses.dataclass
class Item:
    """A thing that a customer writes about."""

    name: str
    amount: int = 1


@dataclasses.dataclass
class Ticket:
    """What a customer wants.

    Args:
        kind: What it is about.
        items: The things it is about.
        customer: Name of the customer, if there is one.
    """

    kind: Literal["complaint", "order", "question"]
    items: list[Item]
    customer: str | None = None


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    items = [{"name": "kettle", "amount": 2}]
    with ScriptedModel(
        finish(kind="grumble", items=items),  # which the harness has it put right
        finish(kind="complaint", items=items, customer="Ada", toolSummary="Fills in the form"),
    ) as model:
        yield model.agent_options()


def main() -> None:
    with model_options() as options, Agent(response_schema=Ticket, **options) as agent:
        try:
            response = agent.chat(f"File this mail:\n\n{MAIL}")
        except StructuredOutputError as error:
            print(f"{error}\nIt said: {error.raw}")
            return
    match response.structured_output:
        case Ticket(kind=kind, items=items, customer=customer):
            print(f"{kind} of {customer}: {', '.join(f'{it.amount} {it.name}' for it in items)}")
        case None:  # it answered in words
            print(response.text)


if __name__ == "__main__":
    main()
