"""Let an agent watch something: it is told at an interval, and by code of yours, without a prompt.

python examples/triggers.py
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent, ChatResponse, Trigger, TriggerContext, tool
from antigravity_sync.testing import ModelRequest, ScriptedModel, call

READINGS = iter([21.0, 21.5, 34.0])
#: What this program waits for: that the agent has found something.
found = threading.Event()
door_opened = threading.Event()


@tool
def read_thermometer() -> float:
    """Read the thermometer of the server room, in degrees Celsius."""
    return next(READINGS, 22.0)


def take(response: ChatResponse) -> None:
    """Take what the agent says to a reading; on the trigger's own thread."""
    if response.cancelled:
        return  # a chat() had to go first
    print(f"Agent: {response.text}")
    if "TOO HOT" in response.text:
        found.set()


def watch_the_door(context: TriggerContext) -> None:
    """Tell the agent of the door, as long as there is an agent."""
    while not context.stopped.is_set():
        if door_opened.wait(timeout=0.5):
            door_opened.clear()
            answer = context.notify("The door of the server room was opened.")
            if answer is not None:
                print(f"Agent: {answer.text}")


def scripted_reply(request: ModelRequest) -> object:
    """Answer by what was said last, as a model would."""
    said = str(request.contents[-1])
    if "functionResponse" in said:
        return "TOO HOT: 34 degrees!" if "34" in said else "All is well."
    if "door" in said:
        return "Noted: the door."
    if "Read the thermometer" in said:
        return call("read_thermometer")
    return "I will watch the server room."


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(scripted_reply, loop=True) as model:
        yield model.agent_options()


def main() -> None:
    reading = Trigger(
        "Read the thermometer. Say TOO HOT above 30 degrees, else that all is well.",
        every=0.3,
        on_response=take,
    )
    with (
        model_options() as options,
        Agent(tools=[read_thermometer], triggers=[reading, watch_the_door], **options) as agent,
    ):
        print(agent.chat("You watch a server room.").text)
        door_opened.set()
        if not found.wait(timeout=120):
            print("Nothing was found.")


if __name__ == "__main__":
    main()
