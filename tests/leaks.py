"""What a test may not leave behind: threads, descriptors, child processes, zombies."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from pathlib import Path

import attrs

from tests.gates import wait_until


@attrs.frozen
class Belongings:
    """Everything of this process that a leak would add to."""

    threads: frozenset[threading.Thread]
    descriptors: frozenset[tuple[int, str]]
    children: frozenset[int]

    @classmethod
    def now(cls) -> Belongings:
        return cls(
            frozenset(threading.enumerate()), frozenset(descriptors()), frozenset(children())
        )

    def added_since(self, before: Belongings) -> list[str]:
        old = {fd for fd, _ in before.descriptors}
        return [
            *(f"thread {t.name}" for t in self.threads - before.threads if t.is_alive()),
            *(f"descriptor {fd} → {target}" for fd, target in self.descriptors if fd not in old),
            *(f"child process {pid}: {state(pid)}" for pid in self.children - before.children),
        ]


def descriptors() -> list[tuple[int, str]]:
    found = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append((int(entry), os.readlink(f"/proc/self/fd/{entry}")))
    return found


def children() -> list[int]:
    """Return direct children of this process, zombies included."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def state(pid: int) -> str:
    """Return name and state of a process, `gone` if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"
    return text[text.index("(") : text.index(")") + 3]


def assert_nothing_added(before: Belongings) -> None:
    """Fail if anything is left; what is on its way out gets a moment."""

    def settled() -> bool:
        gc.collect()
        return not Belongings.now().added_since(before)

    try:
        wait_until(settled, "a clean end")
    except AssertionError:
        left = Belongings.now().added_since(before)
        raise AssertionError(f"the test left behind: {left}") from None
