"""Agents on a `FakeHarness`, and interrupts that hit the main thread where it waits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

from antigravity_sync import Agent
from antigravity_sync.testing.fake_harness import FakeHarness

#: What `FakeHarness` claims to be where a test is not about finding that out.
VERSION = "0.1.10"


def fake_agent(fake: FakeHarness, **options: object) -> Agent:
    return Agent(**{"harness_path": fake.path, "api_key": "fake-key", **options})


@contextlib.contextmanager
def interrupted_when(wait: Callable[[], object]) -> Iterator[None]:
    """Send Ctrl-C to the main thread, wherever it is by then, as soon as `wait` returns."""

    def interrupt() -> None:
        wait()
        # To this thread itself, so that it interrupts what the thread is blocked in.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt, name="test-interrupt", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
