"""Token counts of a conversation, whichever way the version reports them."""

from __future__ import annotations

import attrs

from .._messages import UsageFrame
from ..responses import Usage


@attrs.define
class UsageBook:
    """Totals so far.

    Attributes:
        total: Of the conversation, `None` until something was reported.
        by_trajectory: The same per trajectory.
        is_fresh: Whether something was reported since `begin_turn`.
    """

    total: Usage | None = None
    by_trajectory: dict[str, Usage] = attrs.field(factory=dict)
    is_fresh: bool = False

    def begin_turn(self) -> Usage:
        """Start counting a turn; return the totals before it."""
        self.is_fresh = False
        return self.total or Usage()

    def take(self, frame: UsageFrame) -> None:
        """Take in a report: totals so far, or up to 0.1.9 the counts of one more call."""
        self.is_fresh = True
        if frame.is_cumulative:
            if frame.total != Usage():
                self.total = frame.total
            self.by_trajectory.update(frame.by_trajectory)
            return
        self.total = (self.total or Usage()) + frame.total
        for trajectory, usage in frame.by_trajectory.items():
            self.by_trajectory[trajectory] = self.by_trajectory.get(trajectory, Usage()) + usage
