"""Threads for user code that nobody waits for: a few for tools, one for what asks a person.

They are daemons and started when first needed. Not `concurrent.futures`: its threads are joined at
exit, where one stuck tool would hold the whole program (STYLE F13).
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

from .._clock import Deadline
from .._transport.process import start_thread

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: How many workers may be stuck in tools that do not end before no more are made.
_MOST_STUCK: Final = 8

_Job = tuple[Callable[[], None], contextvars.Context]


class Workers:
    """A small pool.

    Args:
        label: Prefix of the threads' names.
        size: How many may run at once, stuck ones not counted.

    Thread: `submit` is the pump's; the others anybody's.
    """

    def __init__(self, label: str, size: int) -> None:
        self._label = label
        self._size = size
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._started = 0
        #: Jobs that are queued or run.
        self._unfinished = 0
        self._stuck = 0
        self._is_closed = False

    def submit(self, job: Callable[[], None], context: contextvars.Context) -> None:
        """Run `job` on a worker, in a copy of the caller's context; nothing once it is closed."""
        with self._lock:
            if self._is_closed:
                return
            self._unfinished += 1
            self._jobs.put((job, context.copy()))
        self._start_one()

    def replace(self) -> None:
        """Allow one more worker, because one is stuck in a tool that ran out of time."""
        with self._lock:
            self._stuck += 1
            if self._stuck > _MOST_STUCK:
                _log.error("%d tools do not end; no more workers are made", self._stuck)
        self._start_one()  # for what has queued up behind the stuck one

    def release(self) -> None:
        """Take in that a stuck worker has come back; the one too many ends after its job."""
        with self._lock:
            self._stuck -= 1

    def close(self, deadline: Deadline) -> tuple[str, ...]:
        """End the workers; return the names of those that would not end in time.

        What no worker has begun is never begun.
        """
        with self._lock:
            self._is_closed = True
            with contextlib.suppress(queue.Empty):
                while True:
                    self._jobs.get_nowait()
            threads = list(self._threads)
            for _ in threads:
                self._jobs.put(None)
        others = [thread for thread in threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(deadline.remaining())
        return tuple(thread.name for thread in others if thread.is_alive())

    @property
    def _most(self) -> int:
        return self._size + min(self._stuck, _MOST_STUCK)

    def _start_one(self) -> None:
        """Start a worker if a job may have to wait for one."""
        with self._lock:
            if self._is_closed or len(self._threads) >= min(self._unfinished, self._most):
                return
            self._started += 1
            name = f"{self._label}-{self._started}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            start_thread(thread)
            self._threads.append(thread)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            call, context = job
            try:
                context.run(call)
            except BaseException:  # noqa: BLE001 - boundary: a defect in a job must not cost the pool its thread
                _log.exception("%s: a job failed", threading.current_thread().name)
            with self._lock:
                self._unfinished -= 1
                if len(self._threads) > self._most:
                    self._threads.remove(threading.current_thread())
                    return
