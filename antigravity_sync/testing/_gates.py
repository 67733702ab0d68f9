"""A gate that holds a scripted stream until a test lets it go on: order instead of sleeping."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs

from antigravity_sync.errors import ConfigError


@attrs.define(eq=False)
class GatePlace:
    """The place of one stream that stands at a gate."""

    wake: Callable[[], object]
    is_granted: bool = False


class ModelGate:
    """Hold scripted streams until they are released, one piece at a time or all at once.

    Put it between two pieces (`chunks("a", gate, "b")`), or give it to `chunks(..., gate=gate)`,
    which places it before every piece. Streams that share a gate pass it in the order they arrived.
    A stream whose client goes away, or whose model is closed, leaves the gate without using it up.

    Attributes:
        waiting: Set while at least one stream stands at the gate. When the last one is let go,
            `release()` has cleared it before it returns, so waiting again means the next arrival.

    Thread: any thread may call every method.

    Example:
        >>> from antigravity_sync.testing import ModelGate, chunks
        >>> gate = ModelGate()
        >>> reply = chunks("first", gate, "second")
        >>> gate.waiting.is_set()
        False
    """

    def __init__(self) -> None:
        self.waiting = threading.Event()
        self._lock = threading.Lock()
        self._places: list[GatePlace] = []
        self._permits = 0
        self._is_open = False

    def release(self, count: int = 1) -> None:
        """Let `count` arrivals through: those that stand there first, then the next ones.

        Raises:
            ConfigError: `count` is less than 1.
        """
        if count < 1:
            raise ConfigError(f"ModelGate.release({count!r}) lets nothing through: pass 1 or more.")
        with self._lock:
            standing = min(count, len(self._places))
            self._permits += count - standing
            self._grant(standing)

    def release_all(self) -> None:
        """Open the gate for good: everything passes, now and later."""
        with self._lock:
            self._is_open = True
            self._grant(len(self._places))

    def enter(self, wake: Callable[[], object]) -> GatePlace:
        """Take a place at the gate.

        Args:
            wake: Called once if the place is granted later on; it must not block.

        Thread: the one that serves the stream; `wake` runs on the releasing thread.
        """
        place = GatePlace(wake)
        with self._lock:
            if self._is_open or self._permits:
                self._permits -= 0 if self._is_open else 1
                place.is_granted = True
            else:
                self._places.append(place)
                self.waiting.set()
        return place

    def leave(self, place: GatePlace, *, has_passed: bool) -> None:
        """Give the place back; when this returns, its `wake` is not called any more.

        Args:
            place: What `enter` returned.
            has_passed: Whether the stream goes on behind the gate. If it does not, a permit it was
                granted meanwhile goes to the next arrival.
        """
        with self._lock:
            if place in self._places:
                self._places.remove(place)
                self._grant(0)
            elif not has_passed and place.is_granted and not self._is_open:
                if self._places:
                    self._grant(1)
                else:
                    self._permits += 1

    def _grant(self, count: int) -> None:
        # Called with the lock held. `waiting` must never disagree with the places, and a stream
        # that has left must not be woken: its socket may be somebody else's by then. Waking sends
        # one byte without blocking.
        granted = self._places[:count]
        del self._places[:count]
        if not self._places:
            self.waiting.clear()
        for place in granted:
            place.is_granted = True
            place.wake()

    def __repr__(self) -> str:
        with self._lock:
            state = "open" if self._is_open else f"permits={self._permits}"
            return f"<ModelGate {state} waiting={len(self._places)}>"
