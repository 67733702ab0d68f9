"""What is asked of a model beside its prompt, as the model receives it."""

from __future__ import annotations

import re

import pytest

from antigravity_sync import Agent, Gemini, Model
from antigravity_sync.errors import ConfigError
from antigravity_sync.testing import ScriptedModel
from tests.versions import harness_path, release

pytestmark = pytest.mark.real


def test_thinking_level_when_given_then_the_model_is_asked_for_it(version):
    """The level is in the body of the request, on every release."""
    with ScriptedModel("ok") as model:
        options = model.agent_options()
        options["model"] = Model(model.name, Gemini(thinking_level="low"))
        with Agent(harness_path=harness_path(version), **options) as agent:
            assert agent.chat("hi").text == "ok"
        sent = re.sub(rb"\s", b"", model.requests[-1].raw_body)
        assert b'"thinkinglevel":"low"' in sent.lower()


def test_service_tier_when_the_harness_knows_it_then_the_model_is_asked_for_it(version):
    """Harnesses before 0.1.10 have no such option: the agent refuses it."""
    with ScriptedModel("ok") as model:
        options = model.agent_options()
        options["model"] = Model(model.name, Gemini(service_tier="flex"))
        agent = Agent(harness_path=harness_path(version), **options)
        if release(version) < (0, 1, 10):
            with pytest.raises(ConfigError, match=r"0\.1\.10"):
                agent.start()
            assert agent.pid is None
            return
        with agent:
            assert agent.chat("hi").text == "ok"
        assert b"flex" in model.requests[-1].raw_body
