"""Show the model a picture, and let a tool of yours show it another one.

python examples/images.py [PICTURE]
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from antigravity_sync import Agent, Image, tool
from antigravity_sync.testing import ScriptedModel, call

COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200)}


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("paint", colour="green"),
        "The first square was red, the second one is green.",
    ) as model:
        yield model.agent_options()
        for request in model.requests:
            pictures = request.raw_body.count(b'"image/png"')
            print(f"Request {request.number} to the model held {pictures} picture(s).")


def square(red: int, green: int, blue: int, size: int = 32) -> bytes:
    """Return a square of one colour as a PNG file."""
    rows = (b"\0" + bytes((red, green, blue)) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@tool
def paint(colour: Literal["red", "green", "blue"]) -> Image:
    """Paint a square."""
    return Image.from_bytes(square(*COLOURS[colour]))


def main() -> None:
    if len(sys.argv) > 1:
        picture = Image.from_path(sys.argv[1])
    else:
        picture = Image.from_bytes(square(*COLOURS["red"]))
    with model_options() as options, Agent(tools=[paint], **options) as agent:
        response = agent.chat(["What colour is this? Then paint a green one.", picture])
        print(response.text)
        for used in response.tool_calls:
            print(f"{used.name}({used.args}) -> {used.result or used.error}")


if __name__ == "__main__":
    main()
