"""An executable stand-in for the harness on the real wire, scripted, with failure knobs.

    >>> from antigravity_sync.testing.fake_harness import FakeHarness, answer
    >>> fake = FakeHarness("Hello!", answer("in ", "pieces"))

Inside `with fake:` the file `fake.path` can be given to anything that starts a harness: it is a
real process with a real stdio handshake and a real WebSocket. It never calls a model. Use it for
what the real harness cannot be made to do: die between two frames, refuse to exit, send half a one.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing._fake_binary import binary_path, write_binary, write_metadata
from antigravity_sync.testing._fake_control import Control
from antigravity_sync.testing._fake_journal import Journal, Record
from antigravity_sync.testing._fake_knobs import Knobs, check, render
from antigravity_sync.testing._fake_script import (
    Item,
    Turn,
    answer,
    binary,
    close,
    custom_tool,
    delta,
    done,
    drop,
    exit,
    failure,
    flood,
    frame,
    half_frame,
    hook,
    idle,
    kill,
    mark,
    ping,
    question,
    raw_frame,
    running,
    spawn_child,
    state,
    stderr,
    step,
    stop_reading,
    text_frame,
    thinking,
    tool_call,
    trigger_echo,
    usage,
    user_echo,
    wait_for,
    wait_for_signal,
)
from antigravity_sync.testing._fake_wire import Message

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

__all__ = [
    "FakeHarness",
    "Item",
    "Knobs",
    "Record",
    "Turn",
    "answer",
    "binary",
    "close",
    "custom_tool",
    "delta",
    "done",
    "drop",
    "exit",
    "failure",
    "flood",
    "frame",
    "half_frame",
    "hook",
    "idle",
    "kill",
    "mark",
    "ping",
    "question",
    "raw_frame",
    "running",
    "spawn_child",
    "state",
    "stderr",
    "step",
    "stop_reading",
    "text_frame",
    "thinking",
    "tool_call",
    "trigger_echo",
    "usage",
    "user_echo",
    "wait_for",
    "wait_for_signal",
]

#: How long processes get to end by themselves before they are killed, in seconds.
_DYING_SECONDS = 5.0


class FakeHarness:
    """Own a stand-in binary, its script, and what its processes report.

    Turns are played in the order in which inputs arrive, over all processes and sockets; when they
    are used up, `default_turn` is played ("ok", unless given). Any number of processes may be
    started from `path`, one after the other or at the same time.

    Args:
        *turns: One script per input: a str is answered as an ordinary turn, a dict is one frame,
            a sequence is items in order, an empty one answers nothing until it is halted.
        **knobs: What goes wrong; see `Knobs`.

    Raises:
        ConfigError: A turn or knob is not possible, or the platform is not POSIX.

    Thread: any thread may call the methods. In the test's process it runs one daemon thread, which
    ends in `close`; each living stand-in costs one descriptor there.

    Example:
        >>> from antigravity_sync.testing.fake_harness import delta, kill, running, user_echo
        >>> fake = FakeHarness([running(), user_echo(), delta("The answer is"), kill()], "Again.")
    """

    def __init__(self, *turns: Turn, **knobs: Unpack[Knobs]) -> None:
        if os.name != "posix":
            raise ConfigError(
                "FakeHarness needs a POSIX system: run these tests on Linux or macOS."
            )
        check(knobs)
        self._turns = list(turns)
        self._knobs: Message = dict(knobs)
        render(self._turns, self._knobs)  # so that mistakes show where they were made
        self._token = secrets.token_hex(16)
        self._home: Path | None = None
        self._control: Control | None = None
        self._journal: Journal | None = None

    # ── life ────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> Self:
        """Write the binary and listen to its processes; `with` does the same.

        Raises:
            ConfigError: It was started before, or this interpreter does not know its own path.
        """
        if self._journal is not None:
            raise ConfigError("A FakeHarness can be started once: make a new one.")
        home = Path(tempfile.mkdtemp(prefix="fake-harness-")).resolve()
        self._home = home
        for name in ("claims", "conversations"):
            (home / name).mkdir()
        self._journal = Journal(home / "journal.jsonl")
        self._control = Control(self._token, self._note_end)
        try:
            self._write_spec()
            write_binary(self.root, home)
            if self._knobs.get("version") is not None:
                write_metadata(self.root, self._knobs["version"])
        except BaseException:  # unwinding: nothing is left behind, whatever went wrong
            self.close()
            raise
        return self

    def close(self) -> None:
        """End every process that is left, and remove everything; idempotent.

        What was recorded stays readable.

        Blocks: until the processes are dead (they are told at once, and killed after 5 s) and the
        thread has ended.
        """
        control, self._control = self._control, None
        if control is None or self._journal is None or self._home is None:
            return
        deadline = time.monotonic() + _DYING_SECONDS
        control.kill_all()
        with control.changed:
            while control.alive("process") or control.alive("child"):
                if not control.changed.wait(deadline - time.monotonic()):
                    break
        # An open line proves that the pid still is that of the same process.
        for pid in control.alive("process") + control.alive("child"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it died just now
        control.close()
        self._journal.seal()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _note_end(self, pid: int, role: str) -> None:
        if self._journal is not None:
            self._journal.append("gone" if role == "process" else "child-gone", pid)

    # ── the file ────────────────────────────────────────────────────────────────────────────────

    @property
    def root(self) -> Path:
        """The directory that looks like the `site-packages` the binary was installed in."""
        if self._home is None:
            raise ConfigError("This FakeHarness is not started: use it in a `with` block.")
        return self._home / "site"

    @property
    def path(self) -> str:
        """The path of the executable."""
        return str(binary_path(self.root))

    # ── the script ──────────────────────────────────────────────────────────────────────────────

    def add_turns(self, *turns: Turn) -> None:
        """Add turns behind those there are; processes that run see them before their next turn."""
        self._turns += turns
        self._write_spec()

    def configure(self, **knobs: Unpack[Knobs]) -> None:
        """Change knobs for the processes that start from now on.

        Raises:
            ConfigError: A knob is not possible, or `version`, which is in the files already.
        """
        check(knobs)
        if "version" in knobs:
            raise ConfigError("version cannot be changed: give it to FakeHarness(...).")
        self._knobs.update(knobs)
        self._write_spec()

    def signal(self, name: str) -> None:
        """Open the gate that `wait_for_signal(name)` waits at, for good and in every process."""
        self._open_control().open_gate(name)

    def _write_spec(self) -> None:
        spec = render(self._turns, self._knobs)
        spec.update(control_port=self._open_control().port, token=self._token)
        home = self.root.parent
        draft = home / "spec.json.new"
        draft.write_text(json.dumps(spec), encoding="utf-8")
        # A process reads the old file or the new one, whole.
        draft.replace(home / "spec.json")

    def _open_control(self) -> Control:
        if self._control is None:
            raise ConfigError("This FakeHarness is not started: use it in a `with` block.")
        return self._control

    # ── what happened ───────────────────────────────────────────────────────────────────────────

    @property
    def records(self) -> list[Record]:
        """All that happened so far, in order, with times, processes and sockets."""
        if self._journal is None:
            raise ConfigError("This FakeHarness was never started: use it in a `with` block.")
        if self._control is None:
            return self._journal.records()
        with self._control.changed:
            return self._journal.records()

    @property
    def events(self) -> list[str]:
        """The names of all that happened so far, in order.

        Of a process: `spawned`, `config`, `handshake`, `stdout-written`, `eof`, `sigterm`,
        `sigint`, `child`, `listening`, `exit:CODE` (by itself), `gone` (however); `child-gone`. Of
        a connection: `accepted`, `upgrade`, `rejected:401`, `connected`, `init`, `message:KEY`,
        `unparseable`, `pong`, `close:CODE` (from the client), `lost` (no close frame), `dropped`,
        `sent-close:CODE`, `deaf`. Of a script: `turn:N`, `wait:KEY`, `gate:NAME`, `mark:NAME`,
        `turn-end:N`, where N is `1`, ... or `default`, `trigger`, `init`, `session-end`.
        """
        return [record.event for record in self.records]

    @property
    def received(self) -> list[Message]:
        """Every message that came over a WebSocket, init messages included, in order."""
        return [record.message for record in self.records if record.message is not None]

    @property
    def input_configs(self) -> list[Message]:
        """The stdin handshake of each process, decoded; `client_info` and `env` always there."""
        return self._facts("config", "config")

    @property
    def input_config(self) -> Message:
        """The last of `input_configs`, `{}` if there is none."""
        return (self.input_configs or [{}])[-1]

    @property
    def headers(self) -> list[dict[str, str]]:
        """The headers of each WebSocket upgrade, names in lower case."""
        return self._facts("upgrade", "headers")

    @property
    def environ(self) -> dict[str, str]:
        """The environment of the process that was started last, `{}` if there is none."""
        environs: list[dict[str, str]] = self._facts("spawned", "environ")
        return (environs or [{}])[-1]

    @property
    def pids(self) -> list[int]:
        """The pid of each process that was started, in order."""
        return [record.pid for record in self.records if record.event == "spawned"]

    @property
    def pid(self) -> int | None:
        """The pid of the process that was started last."""
        pids = self.pids
        return pids[-1] if pids else None

    @property
    def grandchildren(self) -> list[int]:
        """The pid of each child that the processes started."""
        return self._facts("child", "child")

    @property
    def alive(self) -> list[int]:
        """The pids of the processes and of their children that have not died."""
        return self._alive("spawned", "gone") + self._alive("child", "child-gone")

    def _alive(self, came: str, went: str) -> list[int]:
        # From the journal, not from the open lines: a process is in the journal before it does
        # anything that a test can see, and may be seen doing it before its line is.
        records = self.records
        pids = [r.facts.get("child", r.pid) for r in records if r.event == came]
        gone = [r.pid for r in records if r.event == went]
        return list((Counter(pids) - Counter(gone)).elements())

    def _facts(self, event: str, name: str) -> list[Any]:
        return [record.facts[name] for record in self.records if record.event == event]

    # ── waiting ─────────────────────────────────────────────────────────────────────────────────

    def wait_for(
        self, what: str | Callable[[Message], bool], *, nth: int = 1, timeout: float = 20.0
    ) -> Message:
        """Return a message of the client, as soon as it is received.

        Args:
            what: A top-level key, or a predicate. Messages received before the call count too.
            nth: Which of those that match, from 1.
            timeout: A ceiling in seconds.

        Raises:
            AssertionError: It did not come; says what did.

        Blocks: until it is there.
        """

        def matches(record: Record) -> bool:
            if record.message is None:
                return False
            return what in record.message if isinstance(what, str) else what(record.message)

        return self._wait_for_record(matches, nth, timeout, repr(what)).message or {}

    def wait_for_event(self, event: str, *, nth: int = 1, timeout: float = 20.0) -> Record:
        """Return the `nth` record of an event (see `events`), as soon as it is there.

        Raises:
            AssertionError: It did not happen within `timeout` seconds; says what did.

        Blocks: until then.
        """
        return self._wait_for_record(lambda record: record.event == event, nth, timeout, event)

    def wait_for_exit(self, *, timeout: float = 20.0) -> None:
        """Wait until every process that has started is dead; children may live on.

        Raises:
            AssertionError: One lives after `timeout` seconds.

        Blocks: until then.
        """
        control = self._open_control()
        deadline = time.monotonic() + timeout
        with control.changed:
            while alive := self._alive("spawned", "gone"):
                if not control.changed.wait(deadline - time.monotonic()):
                    raise AssertionError(
                        f"Processes {alive} still live after {timeout} s; events: {self.events}"
                    )

    def _wait_for_record(
        self, matches: Callable[[Record], bool], nth: int, timeout: float, name: str
    ) -> Record:
        control = self._open_control()
        deadline = time.monotonic() + timeout
        with control.changed:
            while True:
                found = [record for record in self.records if matches(record)]
                if len(found) >= nth:
                    return found[nth - 1]
                if not control.changed.wait(deadline - time.monotonic()):
                    raise AssertionError(
                        f"{name} did not come {nth} time(s) within {timeout} s; "
                        f"events: {self.events}"
                    )
