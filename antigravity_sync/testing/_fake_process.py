"""The stand-in process itself: stdio handshake, listening, signals, the end of stdin.

`FakeHarness` writes a small launcher that calls `main`; nothing here is imported by the package.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import uuid

from ._fake_hub import Hub
from ._fake_session import Session
from ._fake_wire import (
    Message,
    WebSocket,
    decode_input_config,
    encode_output_config,
    read_exactly,
    write_all,
)

_NOISE_LINE = b"ERROR: logging before google.Init: I0101 00:00:00.000000 1 fake.go:1] noise\n"

#: Small enough that a client's sends block after what its own buffers take.
_DEAF_BUFFER_BYTES = 4096


def main(home: str) -> None:
    """Play the harness that the files in `home` describe; never returns.

    Blocks: on stdin, whose end is the order to exit.
    """
    hub = Hub(home)
    _install_signals(hub)
    hub.report("spawned", environ=_environ(), argv=sys.argv[1:], cwd=os.getcwd())
    if hub.knobs.get("grandchild_holds_stderr"):
        hub.spawn_child(dict(os.environ), has_stderr=True)
    _spew(2, hub.knobs.get("stderr_before_handshake"))
    hub.exit_at("spawn")
    config = _read_config(hub)
    hub.storage = config.get("storage_directory", "")
    hub.exit_at("config")
    api_key = uuid.uuid4().hex
    listener = _listen(hub, config)
    if _answer(hub, encode_output_config(listener.getsockname()[1], api_key)):
        hub.report("handshake")
        hub.exit_at("handshake")
        threading.Thread(target=_accept_all, args=(hub, listener, api_key), daemon=True).start()
        noise = hub.knobs.get("stdout_after_handshake")
        if noise is not None:
            threading.Thread(target=_spew_stdout, args=(hub, noise), daemon=True).start()
    while os.read(0, 65536):
        pass
    hub.report("eof")
    if not hub.knobs.get("ignore_eof"):
        hub.stderr("Stdin closed, cleaning up...")
        hub.die(hub.knobs.get("exit_code_at_eof", 0))
    while True:
        signal.pause()


def _environ() -> dict[str, str]:
    """Return the environment as it was given; the interpreter may have added to `os.environ`."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    except OSError:
        return dict(os.environ)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _install_signals(hub: Hub) -> None:
    def on_signal(number: int, _frame: object) -> None:
        hub.report(signal.Signals(number).name.lower())
        if number != signal.SIGTERM or not hub.knobs.get("ignore_sigterm"):
            hub.die(-number)

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)


def _spew(descriptor: int, noise: Message | int | None) -> None:
    """Write so many bytes of log lines, or these bytes, before going on."""
    if isinstance(noise, int):
        write_all(descriptor, (_NOISE_LINE * (noise // len(_NOISE_LINE) + 1))[:noise])
    elif noise is not None:
        write_all(descriptor, bytes.fromhex(noise["hex"]))


def _spew_stdout(hub: Hub, noise: Message | int) -> None:
    _spew(1, noise)
    hub.report("stdout-written")


def _read_config(hub: Hub) -> Message:
    try:
        size = read_exactly(0, 4)
        if len(size) < 4:
            raise ValueError("EOF" if not size else "unexpected EOF")
        body = read_exactly(0, int.from_bytes(size, "little"))
        if len(body) < int.from_bytes(size, "little"):
            raise ValueError("unexpected EOF")
        config = decode_input_config(body)
    except ValueError as reason:
        hub.stderr(f"Failed to read InputConfig: {reason}")
        hub.die(1)
    hub.report("config", config=config, data=body.hex())
    return config


def _listen(hub: Hub, config: Message) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hub.knobs.get("never_read"):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _DEAF_BUFFER_BYTES)
    port = config.get("port", 0)
    try:
        listener.bind(("127.0.0.1", port))
        if not hub.knobs.get("refuse_connections"):
            listener.listen(64)
    except OSError:
        hub.stderr(f"Failed to listen on any of [127.0.0.1:{port}]")
        hub.die(1)
    return listener


def _answer(hub: Hub, body: bytes) -> bool:
    """Write the handshake to stdout as the knobs want it; return whether it is complete."""
    knobs = hub.knobs
    if knobs.get("close_stdout_early"):
        # Not `close`: the next descriptor would get the number.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return False
    if knobs.get("no_handshake"):
        return False
    _spew(1, knobs.get("stdout_noise"))
    size = knobs.get("handshake_length", len(body)).to_bytes(4, "little")
    partial = knobs.get("partial_handshake")
    if partial == "length":
        write_all(1, size[:2])
    elif partial == "body":
        write_all(1, size + body[: len(body) // 2])
    else:
        write_all(1, size + body)
    return partial is None


def _accept_all(hub: Hub, listener: socket.socket, api_key: str) -> None:
    refused = hub.knobs.get("refuse_connections")
    if refused:
        # True is no gate's name, so this waits for ever; the port is bound and refuses meanwhile.
        hub.wait(lambda: refused in hub.gates)
        listener.listen(64)
        hub.report("listening")
    number = 0
    while True:
        tcp, _ = listener.accept()
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number += 1
        hub.report("accepted", socket=number)
        if number <= hub.knobs.get("drop_connects", 0):
            hub.report("dropped", socket=number)
            websocket = WebSocket(tcp)
            websocket.interrupt(is_reset=True)
            websocket.end()
            continue
        session = Session(hub, WebSocket(tcp), number, api_key)
        threading.Thread(target=session.serve, daemon=True).start()
