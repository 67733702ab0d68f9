"""What all threads of the stand-in process share: the journal, the control line, the gates.

Whatever happens is first written to the journal file and only then answered on the wire, so a test
that has seen the answer finds the record without waiting. The control line (a TCP connection to the
`FakeHarness`) carries a byte per record to wake waiting tests, the gates that tests open, and the
end of the process: it closes when the process dies, however it dies.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable

from ._fake_wire import Message, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: A compiled script: `[name of the item, its arguments]` each.
Items = list[tuple[str, Message]]

_JOURNAL = "journal.jsonl"
_SPEC = "spec.json"


class Hub:
    """Record events, wait for gates, hand out the script.

    Thread: any; `changed` guards `gates`, `active` and everything the players share.
    """

    def __init__(self, home: str) -> None:
        self.changed = threading.Condition()
        self.gates: set[str] = set()
        self.active: set[str] = set()
        self.storage = ""
        self._home = home
        self._claimed: dict[str, int] = {}
        self._spec_stamp = (0, 0)
        self._spec: Message = {}
        self._read_spec()
        #: Fixed for the life of the process; only the turns are read anew.
        self.knobs: Message = self._spec["knobs"]
        self._journal = os.open(os.path.join(home, _JOURNAL), os.O_WRONLY | os.O_APPEND)
        self._line = self._connect(os.getpid(), "process")
        threading.Thread(target=self._listen, daemon=True).start()

    def _read_spec(self) -> None:
        path = os.path.join(self._home, _SPEC)
        facts = os.stat(path)
        stamp = (facts.st_ino, facts.st_mtime_ns)
        if stamp != self._spec_stamp:
            with open(path, encoding="utf-8") as file:
                self._spec = json.load(file)
            self._spec_stamp = stamp

    def _connect(self, pid: int, role: str) -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self._spec["control_port"]))
        self._greet(line, pid, role)
        return line

    def _greet(self, line: socket.socket, pid: int, role: str) -> None:
        hello = {"token": self._spec["token"], "pid": pid, "role": role}
        line.sendall(json.dumps(hello).encode() + b"\n")

    def _listen(self) -> None:
        with self._line.makefile(encoding="utf-8") as lines:
            for line in lines:
                word, _, name = line.rstrip("\n").partition(" ")
                if word == "die":
                    break
                with self.changed:
                    self.gates.add(name)
                    self.changed.notify_all()
        # The test is over, or its process died: nothing may outlive it.
        os._exit(1)

    # ── records ─────────────────────────────────────────────────────────────────────────────────

    def report(self, event: str, **facts: object) -> None:
        """Write one record and wake the test.

        No lock: one `write` in append mode is one line, and the SIGTERM handler calls this too.
        """
        record = {"event": event, "pid": os.getpid(), "at": time.time(), **facts}
        write_all(self._journal, json.dumps(record).encode() + b"\n")
        try:
            self._line.send(b"\n")
        except OSError:
            pass  # `_listen` ends the process

    def stderr(self, text: str) -> None:
        """Write a line to stderr. Blocks: while the pipe is full."""
        write_all(2, text.encode("utf-8", "backslashreplace") + b"\n")

    # ── script ──────────────────────────────────────────────────────────────────────────────────

    def next_turn(self) -> tuple[str, Items]:
        """Return the next turn that no process or socket has taken, with its name.

        The order is that of arrival over all processes of one `FakeHarness`, so a script goes on
        where it was when a process died.
        """
        self._read_spec()
        turns: list[Items] = self._spec["turns"]
        number = self.claim("turn", len(turns))
        if number is None:
            return "default", self._spec["default_turn"]
        return str(number + 1), turns[number]

    def items(self, name: str) -> Items | None:
        """Return one of the scripts beside the turns, None if the test did not give it."""
        items: Items | None = self._spec.get(name)
        return items

    def claim(self, kind: str, limit: int) -> int | None:
        """Return the lowest number below `limit` that nobody claimed, None if there is none."""
        for number in range(self._claimed.get(kind, 0), limit):
            path = os.path.join(self._home, "claims", f"{kind}-{number}")
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                continue
            # Claims are never given back, so the next search starts behind this one.
            self._claimed[kind] = number + 1
            return number
        return None

    def conversation_path(self, conversation_id: str) -> str:
        """Return where the steps of a conversation are kept for a later process.

        In the storage directory, as the real harness does it; elsewhere if there is none, or if the
        id is none that the real one takes.
        """
        if os.path.isdir(self.storage) and re.fullmatch("[a-zA-Z0-9-]+", conversation_id):
            return os.path.join(self.storage, f"{conversation_id}.db")
        name = f"{self.storage}\0{conversation_id}".encode("utf-8", "surrogatepass")
        return os.path.join(self._home, "conversations", hashlib.sha256(name).hexdigest())

    # ── waiting and ending ──────────────────────────────────────────────────────────────────────

    def wait(self, is_ready: Callable[[], bool]) -> None:
        """Block until `is_ready`, which is called with `changed` held."""
        with self.changed:
            while not is_ready():
                self.changed.wait()

    def exit_at(self, stage: str) -> None:
        """End the process if the script says so for this stage."""
        if self.knobs.get("exit_at") == stage:
            if "exit_stderr" in self.knobs:
                self.stderr(self.knobs["exit_stderr"])
            self.die(self.knobs.get("exit_code", 1))

    def die(self, code: int) -> NoReturn:
        """End the process at once with `code`; negative is death by that signal."""
        self.report(f"exit:{code}")
        if code < 0:
            is_main = threading.current_thread() is threading.main_thread()
            if is_main and code != -signal.SIGKILL:
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
            threading.Event().wait()
        os._exit(code & 0xFF)

    def spawn_child(self, environ: dict[str, str], *, has_stderr: bool) -> None:
        """Start a process that does nothing, in a group of its own, until the test is over.

        Args:
            environ: Its environment.
            has_stderr: Whether it inherits this process's stderr, and so keeps the pipe open.
        """
        line = socket.create_connection(("127.0.0.1", self._spec["control_port"]))
        reader, writer = os.pipe()
        actions: list[tuple[int | str, ...]] = [
            # It reads a connection to the test: it ends when the test does, with no pid involved.
            (os.POSIX_SPAWN_DUP2, line.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
        ]
        if not has_stderr:
            actions.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
        command = ["sh", "-c", "echo; read line"]
        pid = os.posix_spawn("/bin/sh", command, environ, file_actions=actions, setpgroup=0)
        os.close(writer)
        # Until it says something it may not be seen to be that program with that environment.
        os.read(reader, 1)
        os.close(reader)
        self._greet(line, pid, "child")
        line.close()
        self.report("child", child=pid)
