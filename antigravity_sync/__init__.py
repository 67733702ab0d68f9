"""Blocking, threaded Python SDK for the `localharness` agent runtime.

::

    from antigravity_sync import Agent

    with Agent() as agent:
        print(agent.chat("Summarize the layout of this directory.").text)
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._version import SUPPORTED_HARNESS_VERSION, VERIFIED_HARNESS_VERSIONS, __version__

if _TYPE_CHECKING:
    from . import policy
    from ._transport.install import install_harness
    from .agent import Agent, CancelHandle, run
    from .capabilities import BuiltinTool, Capabilities
    from .config import DEFAULT_TURN_TIMEOUT, AgentConfig
    from .connections import (
        Connection,
        ConnectionStrategy,
        Conversation,
        LocalConnectionStrategy,
        RemoteConnectionStrategy,
    )
    from .content import Audio, Document, Image, SlashCommand, Text, Video
    from .harness import Harness
    from .hooks import Decision, Hooks, StopDecision, StopInfo, ToolInvocation, ToolOutcome
    from .instructions import SystemInstructions
    from .limits import Budget
    from .mcp import McpServer
    from .models import DEFAULT_MODEL, Gemini, Model, OpenAICompatible, Retry, Vertex
    from .pool import AgentPool, PoolStats
    from .questions import Answer, CancelQuestions, Question
    from .responses import Action, ChatResponse, CloseReport, Step, ToolCall, Usage
    from .serving import HarnessServer
    from .session_lock import FileSessionLock, SessionLock
    from .subagents import Subagent
    from .tools import Tool, ToolContext, tool
    from .triggers import Trigger, TriggerContext
    from .turn import Turn
else:
    #: Where a name is defined. A name is fetched when it is asked for: a web worker or a cron job
    #: that imports this package and uses half of it pays for half of it. A test compares this with
    #: the imports above.
    _HOMES = {
        "_transport.install": ("install_harness",),
        "agent": ("Agent", "CancelHandle", "run"),
        "capabilities": ("BuiltinTool", "Capabilities"),
        "config": ("DEFAULT_TURN_TIMEOUT", "AgentConfig"),
        "connections": (
            "Connection",
            "ConnectionStrategy",
            "Conversation",
            "LocalConnectionStrategy",
            "RemoteConnectionStrategy",
        ),
        "content": ("Audio", "Document", "Image", "SlashCommand", "Text", "Video"),
        "harness": ("Harness",),
        "hooks": (
            "Decision",
            "Hooks",
            "StopDecision",
            "StopInfo",
            "ToolInvocation",
            "ToolOutcome",
        ),
        "instructions": ("SystemInstructions",),
        "limits": ("Budget",),
        "mcp": ("McpServer",),
        "models": ("DEFAULT_MODEL", "Gemini", "Model", "OpenAICompatible", "Retry", "Vertex"),
        "pool": ("AgentPool", "PoolStats"),
        "questions": ("Answer", "CancelQuestions", "Question"),
        "responses": ("Action", "ChatResponse", "CloseReport", "Step", "ToolCall", "Usage"),
        "serving": ("HarnessServer",),
        "session_lock": ("FileSessionLock", "SessionLock"),
        "subagents": ("Subagent",),
        "tools": ("Tool", "ToolContext", "tool"),
        "triggers": ("Trigger", "TriggerContext"),
        "turn": ("Turn",),
    }
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
    _SUBMODULES = frozenset(
        {"connections", "doctor", "errors", "events", "policy", "testing", "wire"}
    )

    def __getattr__(name: str) -> object:
        import importlib

        if name in _SUBMODULES:
            return importlib.import_module(f".{name}", __name__)
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f".{home}", __name__), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_SUBMODULES})


__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_TURN_TIMEOUT",
    "SUPPORTED_HARNESS_VERSION",
    "VERIFIED_HARNESS_VERSIONS",
    "Action",
    "Agent",
    "AgentConfig",
    "AgentPool",
    "Answer",
    "Audio",
    "Budget",
    "BuiltinTool",
    "CancelHandle",
    "CancelQuestions",
    "Capabilities",
    "ChatResponse",
    "CloseReport",
    "Connection",
    "ConnectionStrategy",
    "Conversation",
    "Decision",
    "Document",
    "FileSessionLock",
    "Gemini",
    "Harness",
    "HarnessServer",
    "Hooks",
    "Image",
    "LocalConnectionStrategy",
    "McpServer",
    "Model",
    "OpenAICompatible",
    "PoolStats",
    "Question",
    "RemoteConnectionStrategy",
    "Retry",
    "SessionLock",
    "SlashCommand",
    "Step",
    "StopDecision",
    "StopInfo",
    "Subagent",
    "SystemInstructions",
    "Text",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolInvocation",
    "ToolOutcome",
    "Trigger",
    "TriggerContext",
    "Turn",
    "Usage",
    "Vertex",
    "Video",
    "__version__",
    "install_harness",
    "policy",
    "run",
    "tool",
]
