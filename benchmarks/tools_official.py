"""Child of `tools.py`, run in the official SDK's venv: the same turns through its `Agent`.

It has a hook that lets each call run, so that the harness asks it what it asks the other clients.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from typing import Any

from google.antigravity import Agent, CapabilitiesConfig, LocalAgentConfig, hooks
from google.antigravity.hooks import policy
from google.antigravity.models import GeminiAPIEndpoint, ModelTarget
from google.antigravity.types import BuiltinTools, HookResult

made = {"asked": 0, "called": 0}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    made["called"] += 1
    return a + b


@hooks.pre_tool_call_decide
async def let_run(data: Any) -> HookResult:
    made["asked"] += 1
    return HookResult(allow=True)


async def turn(config: LocalAgentConfig, calls: int) -> float:
    """Make a turn in a conversation of its own; return milliseconds per call."""
    made.update(asked=0, called=0)
    async with Agent(config) as agent:
        began = time.perf_counter()
        text = await (await agent.chat("go")).text()
        took = (time.perf_counter() - began) * 1e3
    assert text == "ok", text
    assert made == {"asked": calls, "called": calls}, made
    return took / calls


async def main(job: dict[str, Any]) -> None:
    given = job["model"]
    endpoint = GeminiAPIEndpoint(api_key=given["api_key"], base_url=given["base_url"])
    took = []
    for number in range(job["times"] + 1):
        with tempfile.TemporaryDirectory() as saved:
            config = LocalAgentConfig(
                models=[ModelTarget(name=given["model"], endpoint=endpoint)],
                api_key=given["api_key"],  # it wants one for its default image model too
                capabilities=CapabilitiesConfig(enabled_tools=BuiltinTools.read_only()),
                workspaces=[os.getcwd()],
                save_dir=saved,
                tools=[add],
                hooks=[let_run],
                policies=[policy.allow_all()],
            )
            milliseconds = await turn(config, job["calls"])
        if number:  # the first one loads what is loaded lazily
            took.append(milliseconds)
    print(json.dumps({"official": took}))


asyncio.run(main(json.loads(sys.argv[1])))
