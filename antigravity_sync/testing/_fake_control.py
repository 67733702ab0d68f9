"""The test's end of the control lines: who lives, what is new, which gates are open."""

from __future__ import annotations

import json
import selectors
import socket
import threading
from collections.abc import Callable

import attrs

_READ_SIZE = 65536


@attrs.define(eq=False)
class Line:
    """The control line of one process; it closes when the process dies, however it dies."""

    tcp: socket.socket
    unread: bytes = b""
    pid: int = 0
    role: str = ""


class Control:
    """Accept the control lines of all stand-in processes, on one thread.

    Args:
        token: What a process must know to be one of ours.
        on_gone: Called with the pid and role of one that died, with `changed` held.

    Attributes:
        changed: Notified after each record, each process that comes and each that goes.
        port: Where the processes connect to, on 127.0.0.1.

    Thread: any may call the methods; the thread it starts is daemon and ends in `close`.
    """

    def __init__(self, token: str, on_gone: Callable[[int, str], None]) -> None:
        self.changed = threading.Condition()
        self._token = token
        self._on_gone = on_gone
        self._lines: dict[socket.socket, Line] = {}
        self._gates: list[str] = []
        self._is_closing = False
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._waker, self._wake = socket.socketpair()
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="fake-harness", daemon=True)
        self._thread.start()

    def alive(self, role: str) -> list[int]:
        """Return the pids of those `"process"` or `"child"` whose line is open."""
        with self.changed:
            return [line.pid for line in self._lines.values() if line.role == role]

    def open_gate(self, name: str) -> None:
        """Open a gate for good, in the processes there are and those to come."""
        with self.changed:
            self._gates.append(name)
            self._tell_all(f"gate {name}\n")

    def kill_all(self) -> None:
        """Tell all processes to end at once, and end what their children wait for."""
        with self.changed:
            self._is_closing = True
            self._tell_all("die\n")
            for line in self._lines.values():
                if line.role == "child":
                    line.tcp.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the thread and close every descriptor. Blocks: until the thread is gone."""
        self._waker.close()
        self._thread.join()
        with self.changed:
            self._lines.clear()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()

    def _tell_all(self, text: str) -> None:
        for line in self._lines.values():
            if line.role == "process":
                self._tell(line, text)

    def _tell(self, line: Line, text: str) -> None:
        try:
            line.tcp.sendall(text.encode())
        except OSError:
            pass  # it has died, and `_run` is about to see that

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._wake:
                    return
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._read(key.data)

    def _accept(self) -> None:
        try:
            tcp, _ = self._listener.accept()
        except OSError:
            return  # it was gone before its turn came
        tcp.setblocking(True)
        self._selector.register(tcp, selectors.EVENT_READ, Line(tcp))

    def _read(self, line: Line) -> None:
        try:
            data = line.tcp.recv(_READ_SIZE)
        except OSError:
            data = b""
        with self.changed:
            if not data or not self._is_known(line, data):
                self._selector.unregister(line.tcp)
                line.tcp.close()
                if self._lines.pop(line.tcp, None) is not None:
                    self._on_gone(line.pid, line.role)
            self.changed.notify_all()

    def _is_known(self, line: Line, data: bytes) -> bool:
        """Return whether the line is, or now became, that of one of our processes."""
        if line.role:
            return True  # what comes after the greeting only says that there is news
        line.unread += data
        greeting, is_whole, _ = line.unread.partition(b"\n")
        if not is_whole:
            return True
        try:
            hello = json.loads(greeting)
        except ValueError:
            return False
        if hello.get("token") != self._token:
            return False
        line.pid, line.role = hello["pid"], hello["role"]
        self._lines[line.tcp] = line
        for name in self._gates:
            self._tell(line, f"gate {name}\n")
        if self._is_closing:
            self._tell(line, "die\n")
        return True
