"""Conversations without an `Agent`: one's own loop over the harness's steps, or one's own harness.

Most programs need none of this. A `Connection` is one conversation as messages; `Conversation`
makes turns of it.
"""

from __future__ import annotations

from antigravity_sync.connections._base import Connection, ConnectionStrategy
from antigravity_sync.connections._conversation import Conversation, StreamChunk, Text, Thought
from antigravity_sync.connections._local import LocalConnection, LocalConnectionStrategy
from antigravity_sync.connections._mock import MockConnection
from antigravity_sync.connections._remote import RemoteConnection, RemoteConnectionStrategy
from antigravity_sync.connections._requests import (
    ConfirmationRequest,
    HookRequest,
    QuestionsRequest,
    Request,
    RequestStep,
    ToolRequest,
)
from antigravity_sync.responses import ToolCall

__all__ = [
    "ConfirmationRequest",
    "Connection",
    "ConnectionStrategy",
    "Conversation",
    "HookRequest",
    "LocalConnection",
    "LocalConnectionStrategy",
    "MockConnection",
    "QuestionsRequest",
    "RemoteConnection",
    "RemoteConnectionStrategy",
    "Request",
    "RequestStep",
    "StreamChunk",
    "Text",
    "Thought",
    "ToolCall",
    "ToolRequest",
]
