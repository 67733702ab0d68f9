"""Hold a conversation below `Agent`: a connection, and one's own loop over what comes of it.

Nobody runs tools here but this program, in the middle of the loop.

    python examples/connection.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import AgentConfig, Conversation, LocalConnectionStrategy, tool
from antigravity_sync.connections import Text, Thought, ToolCall
from antigravity_sync.testing import ScriptedModel, call, chunks, thought


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        chunks(thought("I should look at the thermometer."), call("temperature", room="kitchen")),
        chunks("It is ", "34 degrees in the kitchen."),
    ) as model:
        yield model.agent_options()


@tool
def temperature(room: str) -> float:
    """Tell how warm a room is, in degrees."""
    return {"kitchen": 34.0}.get(room, 20.0)


def main() -> None:
    with model_options() as options:
        # 1. A strategy knows how to connect; this one starts a harness.
        strategy = LocalConnectionStrategy(AgentConfig(tools=[temperature], **options))
        # 2. Spawn, handshake, WebSocket, first message.
        connection = strategy.connect()
        # 3. A view that keeps what was said, the newest 5000 steps of it.
        conversation = Conversation(connection, 5000)
        try:
            # 4. The answer in pieces.
            for chunk in conversation.chat("How warm is it in the kitchen?"):
                match chunk:
                    case Thought(text=text):
                        print(f"({text})")
                    case ToolCall(name="temperature", args=args, call_id=str(call_id)):
                        print(f"[temperature {args}]")
                        connection.send_tool_response(call_id, temperature(str(args["room"])))
                    case ToolCall(name=name, args=args):
                        print(f"[{name} {args}]")
                    case Text(text=text):
                        print(text, end="", flush=True)
            # 5. What it took.
            usage = conversation.total_usage
            print(
                f"\n\n{usage.prompt_tokens} tokens in, {usage.candidates_tokens} out, "
                f"{usage.total_tokens} in all; {len(conversation.history)} steps"
            )
        finally:
            # 6. The end of the process.
            conversation.disconnect()


if __name__ == "__main__":
    main()
