"""Blocking, threaded Python SDK for the `localharness` agent runtime.

::

    from antigravity_sync import Agent

    with Agent() as agent:
        print(agent.chat("Summarize the layout of this directory.").text)
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import policy
from ._version import SUPPORTED_HARNESS_VERSION, VERIFIED_HARNESS_VERSIONS, __version__
from .agent import Agent, CancelHandle, run
from .capabilities import BuiltinTool, Capabilities
from .config import DEFAULT_TURN_TIMEOUT, AgentConfig
from .hooks import Decision, Hooks, StopDecision, StopInfo, ToolInvocation, ToolOutcome
from .models import DEFAULT_MODEL, Gemini, Model, Retry
from .questions import Answer, CancelQuestions, Question
from .responses import Action, ChatResponse, CloseReport, Step, ToolCall, Usage
from .tools import Tool, ToolContext, tool

if _TYPE_CHECKING:
    from ._transport.install import install_harness
    from .turn import Turn
else:
    # Later than the rest: they bring protobuf, sockets and archives along, most of what importing
    # this package would cost, and a program needs none of it before it starts an agent.
    _LATER = {"install_harness": "._transport.install", "Turn": ".turn"}

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(_LATER[name], __name__), name)


__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_TURN_TIMEOUT",
    "SUPPORTED_HARNESS_VERSION",
    "VERIFIED_HARNESS_VERSIONS",
    "Action",
    "Agent",
    "AgentConfig",
    "Answer",
    "BuiltinTool",
    "CancelHandle",
    "CancelQuestions",
    "Capabilities",
    "ChatResponse",
    "CloseReport",
    "Decision",
    "Gemini",
    "Hooks",
    "Model",
    "Question",
    "Retry",
    "Step",
    "StopDecision",
    "StopInfo",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolInvocation",
    "ToolOutcome",
    "Turn",
    "Usage",
    "__version__",
    "install_harness",
    "policy",
    "run",
    "tool",
]
