"""A new conversation on the same process."""

from __future__ import annotations

import pytest

from antigravity_sync import Retry
from antigravity_sync.errors import InvalidRequestError
from antigravity_sync.testing import ScriptedModel, http_error

pytestmark = pytest.mark.real


def test_reset_forgets_the_conversation_and_keeps_the_process(make_agent):
    """The model no longer sees what went before; history and usage begin anew."""
    with ScriptedModel("first", "second", "third") as model, make_agent(model) as agent:
        agent.chat("my name is ZQX")
        pid, conversation = agent.pid, agent.conversation_id
        agent.reset()
        assert agent.pid == pid
        assert agent.conversation_id not in ("", conversation)
        assert agent.history == ()
        assert agent.usage.total_tokens is None
        assert agent.chat("who am I?").text == "second"
        assert agent.chat("and now?").text == "third"
    assert "ZQX" not in str(model.requests[1].contents)
    assert "who am I?" in str(model.requests[2].contents)


def test_reset_leaves_a_poisoned_prompt_behind(make_agent):
    """A prompt the model refuses for good stays in the history; a new one has none."""

    def reply(request):
        poisoned = "poison" in str(request.contents)
        return http_error(400, "no") if poisoned else "clean"

    once = Retry(max_retries=0, first_delay=0.01)
    with ScriptedModel(reply, loop=True) as model, make_agent(model, retry=once) as agent:
        for prompt in ("poison", "hello?"):
            with pytest.raises(InvalidRequestError):
                agent.chat(prompt)
        agent.reset()
        assert agent.chat("hello?").text == "clean"
