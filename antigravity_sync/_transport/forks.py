"""What a forked child must let go of.

A fork copies every descriptor. The copy of a harness's stdin keeps that pipe open, so the harness
would not see its end when the parent lets go, and would outlive it as long as the child lives. So
the holders of such descriptors enrol here, and the child closes its copies before anything else
runs in it.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol


class Shared(Protocol):
    """A holder of descriptors that are of no use to a forked child."""

    def give_up(self) -> None:
        """In a forked child: close our copies, quietly, and touch nothing of the parent's."""


_shared: Final[weakref.WeakSet[Shared]] = weakref.WeakSet()


def enrol(holder: Shared) -> None:
    """Have `holder` give up its descriptors in every child that is forked while it lives."""
    _shared.add(holder)


def _give_up_all() -> None:
    for holder in list(_shared):
        holder.give_up()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up_all)
