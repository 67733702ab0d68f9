"""Test kit: run whole agents offline against answers known beforehand.

`ScriptedModel` stands in for the Gemini HTTP API; the harness that talks to it is the real one.
`FakeHarness` stands in for the harness, to show failures that the real one cannot be made to show;
the items of its scripts are in `antigravity_sync.testing.fake_harness`. The pytest fixtures
`scripted_model` and `fake_harness` close what they start by themselves.
"""

from __future__ import annotations

from antigravity_sync.connections import MockConnection
from antigravity_sync.testing._gates import ModelGate
from antigravity_sync.testing._replay import ReplayedTurn, replay
from antigravity_sync.testing._requests import ModelRequest
from antigravity_sync.testing.fake_harness import FakeHarness
from antigravity_sync.testing.replies import (
    TINY_PNG,
    always,
    blocked,
    call,
    chunks,
    dropped,
    empty,
    finish,
    finished,
    hang,
    http_error,
    image,
    pause,
    raw,
    refuse,
    thought,
    truncated,
    usage,
)
from antigravity_sync.testing.scripted_model import ScriptedModel

__all__ = [
    "TINY_PNG",
    "FakeHarness",
    "MockConnection",
    "ModelGate",
    "ModelRequest",
    "ReplayedTurn",
    "ScriptedModel",
    "always",
    "blocked",
    "call",
    "chunks",
    "dropped",
    "empty",
    "finish",
    "finished",
    "hang",
    "http_error",
    "image",
    "pause",
    "raw",
    "refuse",
    "replay",
    "thought",
    "truncated",
    "usage",
]
