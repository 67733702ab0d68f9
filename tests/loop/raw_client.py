"""A harness driven by hand: subprocess, struct and websocket-client, nothing of the SDK."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess

import websocket

CEILING = 20.0
STORAGE = "/the/save/dir"
CONVERSATION = "c0ffee00c0ffee00c0ffee00c0ffee00"


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def text_field(number, text):
    return varint(number << 3 | 2) + varint(len(text.encode())) + text.encode()


def message_field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


class RawHarness:
    """One process, from spawn to wait; leaves nothing running when the block ends."""

    def __init__(self, path, *, env=None):
        self.process = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ) if env is None else env,
        )
        self.port = 0
        self.key = ""
        self.sockets = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(CEILING)
        for client in self.sockets:
            client.shutdown()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def send_config(self, body=None, *, storage=STORAGE):
        body = text_field(1, storage) if body is None else body
        self.process.stdin.write(struct.pack("<I", len(body)) + body)
        self.process.stdin.flush()
        return self

    def read_handshake(self):
        (size,) = struct.unpack("<I", self.process.stdout.read(4))
        body = self.process.stdout.read(size)
        assert body[0] == 0x08
        at, self.port, shift = 1, 0, 0
        while True:
            self.port |= (body[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if body[at - 1] < 0x80:
                break
        assert body[at : at + 2] == b"\x12\x20"
        self.key = body[at + 2 :].decode()
        return self

    def ready(self, **options):
        return self.send_config(**options).read_handshake()

    def connect(self, *, key=None, timeout=CEILING):
        tcp = socket.create_connection(("127.0.0.1", self.port), timeout)
        try:
            client = websocket.create_connection(
                f"ws://127.0.0.1:{self.port}/",
                socket=tcp,
                header={"x-goog-api-key": self.key if key is None else key},
                timeout=timeout,
                # Its check is pure Python, and slow where much is received.
                skip_utf8_validation=True,
            )
        except BaseException:
            tcp.close()
            raise
        self.sockets.append(client)
        return client

    def open(self, **config):
        """Return a WebSocket after init, and what answered it."""
        client = self.connect()
        send(client, config=config)
        return client, receive(client)

    def stderr(self):
        """Return all of stderr; blocks until nobody holds it any more."""
        return self.process.stderr.read().decode()

    def end(self):
        """Close stdin and return the exit code."""
        self.process.stdin.close()
        return self.process.wait(CEILING)


def send(client, **message):
    client.send(json.dumps(message))


def receive(client):
    return json.loads(client.recv())


def close_code(client):
    """Read to the end; return the close code, None when there was no close frame."""
    while True:
        try:
            opcode, data = client.recv_data()
        except (websocket.WebSocketConnectionClosedException, ConnectionError):
            return None
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return int.from_bytes(data[:2], "big")


def is_end(frame):
    update = frame.get("trajectoryStateUpdate", {})
    return update.get("state") in ("STATE_FULLY_IDLE", "STATE_IDLE")


def turn(client, prompt="hi"):
    """Send a prompt; return the frames up to the idle one."""
    send(client, userInput=prompt)
    return until_idle(client)


def until_idle(client):
    frames = [receive(client)]
    while not is_end(frames[-1]):
        frames.append(receive(client))
    return frames


def step_of(frame):
    return frame["stepUpdate"]


def answer_of(frames):
    """Return the text of the last step of a turn."""
    return [frame["stepUpdate"]["text"] for frame in frames if "stepUpdate" in frame][-1]


def is_running(pid):
    """Say whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return not found.stdout.strip().startswith("Z") and bool(found.stdout.strip())
