"""Let the model query a database through this thread's own connection.

sqlite3 refuses a connection on any thread but the one that made it; tools run on that one.

    python examples/sqlite_tools.py
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent, tool
from antigravity_sync.testing import ScriptedModel, call


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(call("in_stock", item="nails"), "There are seven nails.") as model:
        yield model.agent_options()


def main() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table stock (item text, amount int)")
    connection.executemany("insert into stock values (?, ?)", [("nails", 7), ("hammers", 2)])

    @tool
    def in_stock(item: str) -> int:
        """Tell how many pieces of an item are in stock."""
        query = "select coalesce(sum(amount), 0) from stock where item = ?"
        found: int = connection.execute(query, (item,)).fetchone()[0]
        return found

    with model_options() as options, Agent(tools=[in_stock], **options) as agent:
        response = agent.chat("How many nails are there?")
    connection.close()
    print(*(f"{used.name}: {used.result}" for used in response.tool_calls))
    print(response.text)


if __name__ == "__main__":
    main()
