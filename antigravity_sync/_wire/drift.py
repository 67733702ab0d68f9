"""A count of everything the harness said that this SDK does not model.

Process-wide and cumulative, because drift is a fact about the installed harness, not about one
agent. An empty report is healthy.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Final

#: A name is short; what is longer is junk and need not be kept whole.
_MAX_NAME: Final = 200

_log: Final = logging.getLogger("antigravity_sync.wire")

_lock: Final = threading.Lock()
_counts: Final[Counter[str]] = Counter()
#: What the last summary told.
_summarized: Final[dict[str, int]] = {}


def note(kind: str, value: str) -> None:
    """Count one sighting of `value` where `kind` should be; the first one is logged.

    Args:
        kind: Enum name, such as `TrajectoryState`, or `Message.field` for an unknown member.
        value: The name as it came over the wire.
    """
    key = f"{kind}={value[:_MAX_NAME]}"
    with _lock:
        _counts[key] += 1
        is_new = _counts[key] == 1
    if is_new:
        _log.warning("the harness sent something this SDK does not know: %s", key)


def log_summary() -> None:
    """Log all sightings in one warning, if there are any that no earlier summary told."""
    with _lock:
        report = dict(_counts)
        is_news = report != _summarized
        _summarized.clear()
        _summarized.update(report)
    if report and is_news:
        listed = ", ".join(f"{key} ({count}×)" for key, count in sorted(report.items()))
        _log.warning("the harness and this SDK have drifted apart: %s", listed)


def drift_report() -> dict[str, int]:
    """Return `"EnumName=WIRE_VALUE"` → how often it was seen, in this process so far."""
    with _lock:
        return dict(_counts)


def clear_drift_report() -> None:
    """Forget all sightings."""
    with _lock:
        _counts.clear()
        _summarized.clear()
