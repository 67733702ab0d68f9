"""What the session must know about the harness's version, as plain facts."""

from __future__ import annotations

from typing import Final

import attrs

from ..limits import Budget

#: How long a finished turn waits for the last frame of a text that is still open (PITFALLS A1).
SETTLE_GRACE: Final = 2.0
#: The same after a halt, where the frame often never comes (LIVE 13).
SETTLE_GRACE_HALTED: Final = 0.25
#: How long a halt may stay unanswered before the connection is given up.
HALT_GRACE: Final = 2.0
#: How long a failed turn waits for the harness to close the connection, as it always does.
BREAK_GRACE: Final = 0.25
#: How long a dropped connection waits for news of the process before it is taken to be alive.
EXIT_GRACE: Final = 0.3
#: How long an idle that shows no sign of our prompt is held to be the end of somebody else's run.
STRAY_IDLE_GRACE: Final = 1.0
#: How long a trigger may stay unheard that is the first word on a connection made again, before it
#: is sent once more: 0.1.9 to 0.1.11 lose one now and then that comes so early.
UNHEARD_GRACE: Final = 2.0
#: How often a halt is repeated while output goes on; 0.1.10 ignores one sent with the prompt.
HALT_REPEATS: Final = 20


@attrs.frozen
class SessionRules:
    """Facts about the harness and the owner's wishes.

    Attributes:
        harness_version: For messages.
        coordinates_subagents: The main trajectory stays busy while subagents run (0.1.8 and newer).
        idles_while_tasks_run: It reports idle with commands in the background (up to 0.1.7).
        announces_tasks: It has a state for "only background commands are left".
        task_wait: Seconds a finished answer waits for background commands; `math.inf` for ever.
        max_history: How many steps are kept.
        budget: What each turn may use, `None` for as much as it likes.
        reports_before_calls: Tokens of a model call may be reported before the tool calls it makes
            are asked about (up to 0.1.6).
        asks_for_subagents: It asks about the tool calls of subagents (up to 0.1.17).
    """

    harness_version: str = ""
    coordinates_subagents: bool = True
    idles_while_tasks_run: bool = False
    announces_tasks: bool = True
    task_wait: float = 60.0
    max_history: int = 10_000
    budget: Budget | None = None
    reports_before_calls: bool = False
    asks_for_subagents: bool = True
