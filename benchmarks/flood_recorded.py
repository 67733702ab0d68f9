"""Child of `wire.py`: one flooded turn through `Agent.stream`, with or without a recorder."""

from __future__ import annotations

import sys

import side_by_side  # noqa: F401 - puts the checkout on the path
from meter import Meter

from antigravity_sync import Agent
from antigravity_sync.events import TextDelta
from antigravity_sync.wire import JsonlRecorder


def main(path: str, recording: str = "") -> None:
    inspectors = [JsonlRecorder(recording)] if recording else []
    with Agent(harness_path=path, api_key="none-such-key", wire_inspectors=inspectors) as agent:
        agent.chat("warm up")
        events = length = 0
        with Meter() as meter:
            for event in agent.stream("flood"):
                if isinstance(event, TextDelta):
                    events += 1
                    length += len(event.text)
        meter.report(events=events, length=length)


main(*sys.argv[1:])
