"""Mistakes that a type checker must find, each with the code that it must give.

Where there are two, older versions of mypy give the second.
"""

from __future__ import annotations

from antigravity_sync import (
    Agent,
    AgentConfig,
    Capabilities,
    Gemini,
    Image,
    Model,
    Retry,
    SystemInstructions,
    policy,
)
from antigravity_sync.events import TextDelta
from antigravity_sync.policy import Polcy  # expect: attr-defined
from antigravity_sync.responses import ChatResponse, Usage


async def in_time(call: object) -> bool:
    return True


def mistakes(agent: Agent, config: AgentConfig, response: ChatResponse) -> None:
    str(Polcy)
    Agent("gemini-3.6-flash")  # expect: arg-type
    AgentConfig("/opt/localharness")  # expect: call-arg, misc
    AgentConfig(modle="x")  # expect: call-arg
    AgentConfig(model=5)  # expect: arg-type
    AgentConfig(resume="always")  # expect: arg-type
    AgentConfig(close_timeout=None)  # expect: arg-type
    AgentConfig(turn_timeout="5")  # expect: arg-type
    AgentConfig(policies=["deny_all"])  # expect: list-item
    AgentConfig(env={"A": 5})  # expect: dict-item
    AgentConfig(retry=3)  # expect: arg-type
    AgentConfig(response_schema="object")  # expect: arg-type
    Model("m", "http://127.0.0.1")  # expect: arg-type
    Gemini("key")  # expect: call-arg, misc
    Retry(tries=3)  # expect: call-arg
    Capabilities.read_only().enable(5)  # expect: arg-type
    policy.allow("x", when="yes")  # expect: arg-type
    policy.allow("x", when=in_time)  # expect: arg-type
    policy.deny("x", lambda call: True)  # expect: arg-type
    agent.chat(b"Hello")  # expect: arg-type
    agent.chat([5])  # expect: list-item
    Image.from_path(5)  # expect: arg-type
    SystemInstructions.append(5)  # expect: arg-type
    agent.chat("Hello", 5.0)  # expect: call-arg, misc
    agent.chat("Hello", timeout="5")  # expect: arg-type
    agent.chat_async("Hello")  # expect: attr-defined
    agent.pid = 5  # expect: misc
    config.model = "x"  # expect: misc
    response.text = "x"  # expect: misc
    str(response.txt)  # expect: attr-defined
    response.usage.total_tokens + 1  # expect: operator
    response.usage + 1  # expect: operator
    Usage(5, tokens=5)  # expect: call-arg
    TextDelta("x", "trajectory")  # expect: call-arg, misc
    TextDelta("x").text = "y"  # expect: misc
    for event in agent.stream("Hello"):
        str(event.text)  # expect: union-attr
