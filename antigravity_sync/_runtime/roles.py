"""Whose callback is running: so that an agent which is called from its own hook says so.

The pump waits for the hook it calls, so a hook that waits for its own agent would wait for ever.
The role travels with `contextvars` and with the turn: when a hook of agent A runs a turn of agent
B, B's pump runs B's hooks in A's role too, and a call back into A is caught as well.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from ..errors import ReentrantCallError

#: Labels of the engines whose callbacks are on this thread's stack, or led to it.
_roles: Final[ContextVar[frozenset[str]]] = ContextVar("agsync_roles", default=frozenset())


def current() -> frozenset[str]:
    """Return the labels of the engines whose callbacks led here."""
    return _roles.get()


class playing:  # noqa: N801 - read as `with playing(roles):`
    """Run user code in these roles, on top of those the thread has."""

    def __init__(self, roles: frozenset[str]) -> None:
        self._mine = roles

    def __enter__(self) -> None:
        self._token = _roles.set(_roles.get() | self._mine)

    def __exit__(self, *_: object) -> None:
        _roles.reset(self._token)


def refuse_inside(label: str, what: str) -> None:
    """Refuse a blocking call from inside a callback of the same engine.

    Raises:
        ReentrantCallError: It would wait for itself.
    """
    if label in _roles.get():
        raise ReentrantCallError(
            f"{what} was called from inside a hook, policy or tool of the same agent, which would "
            "wait for itself; use another agent, or do it after the turn"
        )
