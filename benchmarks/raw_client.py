"""A harness driven by hand, in one thread: what any client must at least do.

Nothing of this package and nothing of the official SDK: `subprocess`, `struct`, `json` and the
WebSocket library, with its slow UTF-8 check off.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
from typing import Any

import websocket

ENDS = ("STATE_FULLY_IDLE", "STATE_IDLE")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


class RawClient:
    """One connection, on a process of its own or on another's.

    Args:
        path: The harness.
        storage: Its storage directory.
        init: The text of the first message.
        environ: Its environment.
    """

    @classmethod
    def beside(cls, other: RawClient, init: str) -> RawClient:
        """Return a further conversation on the process of another client, which it ends."""
        made = cls.__new__(cls)
        made.process, made.address = other.process, other.address
        made._open(init)
        return made

    def __init__(self, path: str, storage: str, init: str, environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # one thread cannot drain it
            env=environ,
            bufsize=0,
            start_new_session=os.name == "posix",
        )
        self.address = self._shake_hands(storage.encode())
        self._open(init)

    def _open(self, init: str) -> None:
        port, key = self.address
        tcp = socket.create_connection(("127.0.0.1", port))
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ws = websocket.create_connection(
            f"ws://127.0.0.1:{port}/",
            socket=tcp,
            header={"x-goog-api-key": key},
            suppress_origin=True,
            skip_utf8_validation=True,
            enable_multithread=False,
        )
        self.ws.send(init)
        answer = json.loads(self.ws.recv())
        self.main_id = answer["initializeConversationResponse"]["cascadeId"]

    def _shake_hands(self, storage: bytes) -> tuple[int, str]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        body = b"\x0a" + varint(len(storage)) + storage
        stdin.write(struct.pack("<I", len(body)) + body)
        answer = read_exactly(stdout, struct.unpack("<I", read_exactly(stdout, 4))[0])
        port, at = read_varint(answer, 1)
        length, at = read_varint(answer, at + 1)
        return port, answer[at : at + length].decode()

    def turn(self, prompt: str) -> list[str]:
        """Send a prompt; return the deltas of the answer once the main trajectory is idle."""
        self.ws.send(json.dumps({"userInput": prompt}))
        deltas = []
        recv = self.ws.recv
        while True:
            frame = json.loads(recv())
            step = frame.get("stepUpdate")
            if step is not None:
                if step.get("source") == "SOURCE_MODEL" and step.get("textDelta"):
                    deltas.append(step["textDelta"])
                continue
            update = frame.get("trajectoryStateUpdate")
            if update is not None and self._is_end(update):
                return deltas

    def _is_end(self, update: dict[str, Any]) -> bool:
        return update["trajectoryId"] == self.main_id and update["state"] in ENDS

    def close(self) -> None:
        """End the process by the end of its stdin."""
        self.ws.shutdown()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(20.0)
        self.process.stdout.close()


def read_exactly(stream: Any, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = stream.read(size - len(data))
        if not piece:
            raise EOFError("the harness went away")
        data += piece
    return data
