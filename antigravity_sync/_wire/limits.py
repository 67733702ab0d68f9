"""When a history is compacted and how much of a tool's output reaches the model."""

from __future__ import annotations

from typing import Any, Final

from ..config import AgentConfig
from ..errors import ConfigError
from .dialect import Dialect

#: Tokens that have to fit below the threshold where a message that does not fit fails the turn: the
#: instructions and built-in tools of a harness (18,000) and the longest result of one of your tools
#: (16,000), as it estimates them itself.
SMALLEST_COMPACTION: Final = 40_000

#: How many characters a harness takes for a token when it cuts.
_TOKEN_SIZE: Final = 4
_MAX_BYTES: Final = 2**31 - 1


def check_limits(config: AgentConfig, dialect: Dialect) -> None:
    """Refuse what this release cannot do.

    Raises:
        ConfigError: A limit asks for it.
    """
    can_cut = dialect.knows("HarnessConfig", "toolOutputTruncation")
    if config.tool_output_limit is not None and not can_cut:
        raise ConfigError(
            f"harness {dialect.version} does not cut the output of tools; use 0.1.6 or newer, or "
            "leave tool_output_limit out"
        )
    threshold = config.compaction
    if threshold is None or not dialect.needs_room_to_compact:
        return
    if threshold < SMALLEST_COMPACTION:
        raise ConfigError(
            f"compaction={threshold} is too low: harness {dialect.version} fails a turn whose "
            f"instructions, tools and longest message do not fit; give {SMALLEST_COMPACTION} or "
            "more, or leave it out"
        )


def render_limits(config: AgentConfig) -> dict[str, Any]:
    """Return what the first message says about compaction and the output of tools."""
    rendered: dict[str, Any] = {}
    if config.compaction is not None:
        rendered["compactionThreshold"] = config.compaction
        rendered["compactionConfig"] = {"tokenThreshold": config.compaction}
    if config.tool_output_limit is not None:
        rendered["toolOutputTruncation"] = {"truncate": {"maxTokens": config.tool_output_limit}}
    return rendered


def output_bytes(config: AgentConfig) -> int | None:
    """Return how long a tool's output may be, in bytes; `None` if the user has not said."""
    if config.tool_output_limit is None:
        return None
    return min(config.tool_output_limit * _TOKEN_SIZE, _MAX_BYTES)
