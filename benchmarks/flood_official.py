"""Child of `streaming.py`, run in the official SDK's venv: the same turn through its `Agent`."""

from __future__ import annotations

import asyncio
import os

from google.antigravity import Agent, LocalAgentConfig
from google.antigravity.hooks import policy
from meter import Meter


async def main() -> None:
    config = LocalAgentConfig(
        api_key="none",
        workspaces=[os.getcwd()],
        save_dir=os.getcwd(),
        policies=[policy.allow_all()],
    )
    async with Agent(config) as agent:
        await (await agent.chat("warm up")).text()
        events = length = 0
        with Meter() as meter:
            async for text in await agent.chat("flood"):
                events += 1
                length += len(text)
        meter.report(events=events, length=length)


asyncio.run(main())
