"""Calls of the harness's own tools that the model gets wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from antigravity_sync import Capabilities, Retry
from antigravity_sync.testing import ScriptedModel, call
from tests.kinds import seen

pytestmark = pytest.mark.real

BAD: dict[str, Any] = {
    "wrong type": call("view_file", AbsolutePath=["a", 3]),
    "missing": call("list_dir"),
    "misspelt": call("view_file", AbsolutPath="/etc/hostname"),
    "nowhere": call("grep_search", SearchPath="/zqx/nowhere", Query="x", MatchPerLine=True),
    "no such tool": call("view_flie", AbsolutePath="/etc/hostname"),
    "not enabled": call("run_command", CommandLine="true", Cwd="/", WaitMsBeforeAsync=1000),
}


def test_call_when_the_model_gets_it_wrong_then_it_is_told_and_the_turn_goes_on(make_agent):
    """It is never an empty success, and the next turn is none the worse."""
    asked: Counter[str] = Counter()

    def reply(request):
        name = request.prompt
        asked[name] += 1
        if name in BAD and asked[name] == 1:
            return BAD[name]
        return f"about {name}"

    with (
        ScriptedModel(reply, loop=True) as model,
        make_agent(
            model,
            capabilities=Capabilities.read_only(),
            retry=Retry(max_retries=1, first_delay=0.01),
        ) as agent,
    ):
        for name in BAD:
            assert agent.chat(name).text == f"about {name}"
            assert asked[name] == 2
            told = seen(model).lower()
            assert "error" in told or "invalid" in told
            assert agent.chat("healthy").text == "about healthy"
