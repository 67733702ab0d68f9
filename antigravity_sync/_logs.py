"""Which conversation a log record is about.

Our threads carry the label of their engine in their name, so a record finds its conversation by the
thread that logs it: `record.conversation_id`, `""` where that is not known.
"""

from __future__ import annotations

import logging
from typing import Final

#: Conversations by the label of their engine.
_conversations: Final[dict[str, str]] = {}

#: Every logger of the package; filters of a parent do not see what a child logs.
LOGGERS: Final = (
    logging.getLogger("antigravity_sync"),
    logging.getLogger("antigravity_sync.agent"),
    logging.getLogger("antigravity_sync.harness"),
    logging.getLogger("antigravity_sync.runtime"),
    logging.getLogger("antigravity_sync.testing"),
    logging.getLogger("antigravity_sync.tools"),
    logging.getLogger("antigravity_sync.wire"),
)


def set_conversation(label: str, conversation_id: str) -> None:
    """Say which conversation the threads of engine `label` work for from now on."""
    _conversations[label] = conversation_id


def forget_conversation(label: str) -> None:
    """Forget an engine that has closed."""
    _conversations.pop(label, None)


def _tell_conversation(record: logging.LogRecord) -> bool:
    """Fill in `conversation_id` unless whoever logs has given it."""
    if not hasattr(record, "conversation_id"):
        label = (record.threadName or "").rpartition("-")[0]
        record.conversation_id = _conversations.get(label, "")
    return True


LOGGERS[0].addHandler(logging.NullHandler())
for _logger in LOGGERS:
    _logger.addFilter(_tell_conversation)
