"""The harness process: spawned into a group of its own, drained, and ended step by step.

stdin is its lifeline: end of file there is the only graceful exit (LIVE 17), and because the kernel
closes it when this process dies, the harness never outlives us.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final

from .._clock import Clock, Deadline
from .._wire.frames import Endpoint, FrameDecoder, input_config, read_endpoint
from ..errors import (
    HandshakeError,
    HarnessExitedError,
    HarnessNotFoundError,
    LaunchError,
    StartTimeoutError,
)
from . import forks
from .commands import Command, find_commands
from .drain import Drain, Tail

_FORCE_GRACE: Final = 1.0
#: How long a harness may take to end before what it may wait for is ended: up to 0.1.6 that is a
#: command in the foreground, if it had no time to take in a halt.
_UNBLOCK_GRACE: Final = 2.0
#: What a start that is undone waits for its process to be reaped.
_UNDO_GRACE: Final = 2.0
#: What a thread that runs no user code gets to end in, however little is left of the budget.
_JOIN_GRACE: Final = 0.25
#: How long the rest of stderr is waited for after an exit; a grandchild may hold it open for ever.
_LAST_WORDS: Final = 0.1
#: Errors of a system that has nothing left to give, as opposed to a bad binary.
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def _unblock_nothing() -> None:
    """Do nothing: it waits for nothing that we know of."""


class HarnessProcess:
    """One harness, not running before `spawn`.

    Threads: `spawn` and `end` are called by whoever opens or closes the engine; the two drains run
    on their own threads and touch only their pipe and their `Tail`.

    Attributes:
        label: Prefix of its threads' names.
        stderr: The tail of its stderr.
        on_words: Called with each line of stderr from the first on, on a drain's thread; set it
            before `spawn`.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.stderr = Tail()
        self._popen: subprocess.Popen[bytes] | None = None
        self._stdout = Tail()
        self._decoder: FrameDecoder | None = FrameDecoder()
        self._handshake: queue.SimpleQueue[bytes | HandshakeError | None] = queue.SimpleQueue()
        self._on_line: Callable[[str], None] = _ignore_line
        self.on_words: Callable[[str], None] = _ignore_line
        self._on_exit: Callable[[int | None], None] = _ignore_exit
        self._exit_lock = threading.Lock()
        self._exit_told = False
        self._ending = False
        self._stdout_over = threading.Event()
        self._wake: tuple[socket.socket, socket.socket] | None = None
        self._drains: tuple[Drain, ...] = ()

    def spawn(self, path: str, environ: Mapping[str, str]) -> None:
        """Start the binary at `path`. If that fails or is interrupted, `put_down` cleans up.

        Args:
            path: The binary.
            environ: Its whole environment.

        Raises:
            HarnessNotFoundError: The system refuses to run it.
            LaunchError: The system has no process, descriptor or thread to spare.
        """
        forks.enrol(self)
        try:
            self._wake = socket.socketpair() if os.name == "posix" else None
            self._popen = subprocess.Popen(
                [path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                bufsize=0,
                # Ctrl-C goes to the whole foreground group and would kill the harness before our
                # own handler runs (STYLE F9), so it gets a session of its own.
                start_new_session=os.name == "posix",
                creationflags=_windows_flags(),
            )
            self._start_drains(self._popen)
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno in _EXHAUSTED:
                raise LaunchError(
                    f"the system cannot start another harness: {reason}; "
                    "close agents that are not needed, or raise the limit"
                ) from error
            raise HarnessNotFoundError(
                f"cannot run the harness at {path}: {reason}; "
                "check that it is a build for this machine, or pass another harness_path",
                searched=(path,),
            ) from error

    def _start_drains(self, popen: subprocess.Popen[bytes]) -> None:
        assert popen.stdout is not None
        assert popen.stderr is not None
        wake = None if self._wake is None else self._wake[0]
        self._drains = (
            Drain(
                popen.stdout,
                wake,
                f"{self.label}-stdout",
                self._take_stdout,
                self._stdout_ended,
            ),
            Drain(
                popen.stderr,
                wake,
                f"{self.label}-stderr",
                self._take_stderr,
                self._stderr_ended,
            ),
        )
        for thread in self.threads:
            start_thread(thread)

    @property
    def popen(self) -> subprocess.Popen[bytes]:
        """The process; only after `spawn`."""
        assert self._popen is not None
        return self._popen

    @property
    def pid(self) -> int:
        """Its process id; only after `spawn`."""
        return self.popen.pid

    @property
    def threads(self) -> tuple[threading.Thread, ...]:
        """The two drains."""
        return tuple(drain.thread for drain in self._drains)

    # ── handshake ───────────────────────────────────────────────────────────────────────────────

    def shake_hands(self, storage_directory: str, deadline: Deadline) -> Endpoint:
        """Tell the harness where it may store and learn where it listens.

        Blocks until the harness answers, exits, or the deadline passes.

        Raises:
            HarnessExitedError: It exited instead.
            HandshakeError: It answered something else.
            StartTimeoutError: The deadline passed.
        """
        stdin = self.popen.stdin
        assert stdin is not None
        try:
            stdin.write(input_config(storage_directory))
        except OSError:
            # It is gone, or has closed its stdin; the answer below says which.
            pass
        try:
            answer = self._handshake.get(timeout=deadline.remaining())
        except queue.Empty:
            decoder = self._decoder
            begun = b"" if decoder is None else decoder.begun()
            came = f" whole, only {begun!r}," if begun else ""
            raise StartTimeoutError(
                f"the harness did not answer its handshake{came} in time; raise start_timeout or "
                f"check the binary{self.diagnosis()}",
                stage="handshake",
                timeout=None,
                stderr_tail=self.stderr.text(),
            ) from None
        if isinstance(answer, HandshakeError):
            raise HandshakeError(str(answer), stderr_tail=self.stderr.text())
        if answer is None:
            raise self.exited_error("during its handshake", deadline)
        try:
            return read_endpoint(answer)
        except HandshakeError as error:
            raise HandshakeError(str(error), stderr_tail=self.stderr.text()) from error

    def exited_error(self, when: str, deadline: Deadline) -> HarnessExitedError:
        """Return the error for a harness that ended while it was being started."""
        code = self.wait(deadline.sooner(_FORCE_GRACE))
        if code is not None:
            self.stderr.wait_over(_LAST_WORDS)
        how = "closed its output" if code is None else f"exited with code {code}"
        return HarnessExitedError(
            f"the harness {how} {when}; run it by hand to see why{self.diagnosis()}",
            exit_code=code,
            stderr_tail=self.stderr.text(),
        )

    def diagnosis(self) -> str:
        """Return the last words on stderr as the end of a sentence, `""` if there are none."""
        return self.stderr.last_words()

    def watch(self, on_line: Callable[[str], None], on_exit: Callable[[int | None], None]) -> None:
        """Tell of each stderr line, and once of the exit; both are called on a drain's thread."""
        self._on_line = on_line
        with self._exit_lock:
            self._on_exit = on_exit
            if not self._exit_told:
                return
        on_exit(self.popen.poll())

    # ── drains ──────────────────────────────────────────────────────────────────────────────────

    def _take_stdout(self, data: bytes) -> None:
        if self._decoder is None:
            self._stdout.feed(data)
            return
        try:
            message = self._decoder.feed(data)
        except HandshakeError as error:
            self._decoder = None
            self._handshake.put(error)
            return
        if message is not None:
            self._decoder = None
            self._handshake.put(message)

    def _stdout_ended(self) -> None:
        self._stdout_over.set()
        self._handshake.put(None)
        self._tell_exit()

    def _take_stderr(self, data: bytes) -> None:
        for line in self.stderr.feed(data):
            self.on_words(line)
            self._on_line(line)

    def _stderr_ended(self) -> None:
        for line in self.stderr.end():
            self.on_words(line)
            self._on_line(line)

    def _tell_exit(self) -> None:
        """Learn the exit code; the end of stdout is the first sign of an exit."""
        code: int | None = None
        if not self._ending:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self.popen.wait(_FORCE_GRACE)
                self.stderr.wait_over(_LAST_WORDS)
        with self._exit_lock:
            self._exit_told = True
            tell = self._on_exit
        tell(code)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def poll(self) -> int | None:
        """Return the exit code, `None` while it runs."""
        return self.popen.poll()

    def find_commands(self, conversation_id: str, *, is_alone: bool = True) -> set[Command]:
        """Return what the agent has running.

        Args:
            conversation_id: Marks what got away from the process.
            is_alone: Whether all that descends from the process is this agent's.
        """
        # Once it has been reaped, its number may be that of any other process.
        harness = self.pid if is_alone and self.poll() is None else None
        return set(find_commands(harness, conversation_id))

    def wait(self, deadline: Deadline) -> int | None:
        """Wait for the exit until the deadline; return the code, `None` if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.popen.wait(deadline.remaining())
        return None

    def is_ending(self, deadline: Deadline) -> bool:
        """Return whether it has exited or is about to; waits for that until the deadline."""
        return self._stdout_over.wait(deadline.remaining()) or self.poll() is not None

    def end(
        self, deadline: Deadline, unblock: Callable[[], object] = _unblock_nothing
    ) -> tuple[int | None, tuple[str, ...]]:
        """End the process: end of file, then terminate, then kill; reap it.

        Args:
            deadline: For all of it.
            unblock: Called if it has not ended soon, to end what it may wait for itself.

        Blocks at most until the deadline plus a second for the kill to take effect.

        Returns:
            The exit code and what had to be forced, in order.
        """
        self._ending = True
        self.close_stdin()
        forced: list[str] = []
        remaining = deadline.remaining()
        patience = remaining if remaining is None else max(0.1, remaining - _FORCE_GRACE)
        polite = Deadline.after(deadline.clock, patience)
        code = self.wait(polite.sooner(_UNBLOCK_GRACE))
        if code is None:
            unblock()
            code = self.wait(polite)
        for name, force in (("terminate", self.popen.terminate), ("kill", self.popen.kill)):
            if code is not None:
                break
            forced.append(name)
            with contextlib.suppress(OSError):
                force()
            grace = _FORCE_GRACE if name == "kill" else _FORCE_GRACE / 2
            code = self.wait(Deadline.after(deadline.clock, grace))
        return code, tuple(forced)

    def put_down(self, deadline: Deadline) -> int | None:
        """Kill and reap the process and release all there is of it, however far `spawn` got.

        Blocks until that is done or the deadline has passed; any number of times.

        Returns:
            The exit code, `None` if there is none.
        """
        self._ending = True
        code = None
        if self._popen is not None:
            with contextlib.suppress(OSError):
                self._popen.kill()
            self.close_stdin()
            code = self.wait(deadline)
        self.release(deadline)
        return code

    def undo_start(self, clock: Clock) -> None:
        """Put down a process that nobody has talked to, so that there is nothing to save."""
        self.put_down(Deadline.after(clock, _UNDO_GRACE))

    def close_stdin(self) -> None:
        """Send end of file, the harness's signal to save and exit."""
        stdin = self.popen.stdin
        if stdin is not None:
            with contextlib.suppress(OSError):
                stdin.close()

    def release(self, deadline: Deadline) -> tuple[str, ...]:
        """Stop the drains and close what is left; return names of threads that would not end."""
        if self._wake is not None:
            self._wake[1].close()
        leftovers = []
        for drain in self._drains:
            if drain.thread.is_alive() and drain.thread is not threading.current_thread():
                remaining = deadline.remaining()
                drain.thread.join(None if remaining is None else max(remaining, _JOIN_GRACE))
            if drain.thread.is_alive():
                leftovers.append(drain.thread.name)
            else:
                drain.close()
        if not self._drains and self._popen is not None:
            for pipe in (self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    pipe.close()
        if self._wake is not None and not leftovers:
            self._wake[0].close()
        return tuple(leftovers)

    def give_up(self) -> None:
        """In a forked child: close our copies of its pipes, and forget that it is ours to reap."""
        if self._popen is not None:
            self._popen.returncode = 0
            for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    pipe.close()
        for end in self._wake or ():
            end.close()


def start_thread(thread: threading.Thread) -> None:
    """Start a thread.

    Raises:
        LaunchError: The system has none to spare, or the interpreter is about to end.
    """
    try:
        thread.start()
    except RuntimeError as error:
        raise LaunchError(
            f"no thread could be started ({error}); close agents that are not needed, and start "
            "none when the interpreter ends"
        ) from error


def _windows_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return 0


def _ignore_line(_line: str) -> None:
    """Nobody listens yet; the tail keeps it."""


def _ignore_exit(_code: int | None) -> None:
    """Nobody listens yet; `watch` tells of it later."""
