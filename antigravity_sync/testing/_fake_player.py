"""Plays the scripted turns of one WebSocket of the stand-in process."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from ._fake_conversation import Conversation
from ._fake_hub import Hub, Items
from ._fake_wire import BINARY, PING, TEXT, Message, WebSocket, frame_head

#: What starts a turn when none is playing.
_INPUTS = ("userInput", "complexUserInput", "automatedTrigger")

#: States of the main trajectory that end a turn.
_ENDS = ("STATE_FULLY_IDLE", "STATE_IDLE", "STATE_CANCELLED")

#: Frames of a flood go out in writes of about this size, rendered in advance up to the second.
_BATCH_BYTES = 256 << 10
_RENDERED_BYTES = 64 << 20


class _HaltedError(Exception):
    """The client halted a turn whose script does not wait for that."""


class _GoneError(Exception):
    """The WebSocket is over."""


def _prompt_of(message: Message) -> str:
    """Return the text of an input in any of its wire forms."""
    for value in message.values():
        if isinstance(value, dict):
            parts = value.get("parts") or ()
            return "".join(part.get("text", "") for part in parts if isinstance(part, dict))
        return str(value)
    return ""


class Player:
    """Play one script item after the other; wait where the script says so.

    Thread: `run` has its own; the receiving thread calls `post`, `send`, `end`.
    """

    def __init__(self, hub: Hub, websocket: WebSocket, conversation: Conversation) -> None:
        self._hub = hub
        self._websocket = websocket
        self._conversation = conversation
        self._numbering = threading.Lock()
        self._frames_sent = 0
        # Guarded by `hub.changed`.
        self._inbox: list[Message] = []
        self._is_over = False
        self._is_playing = False
        self._is_idle = False
        self._halts_ahead = 0
        self.is_deaf = False
        #: Set when the script ended the connection, so that its end is no surprise.
        self.has_left = False
        # Only the player's thread.
        self._prompt = ""
        self._answer: Message = {}
        self._inputs: tuple[str, ...] = _INPUTS
        if hub.items("on_session_end") is not None:
            self._inputs = (*_INPUTS, "sessionEndRequest")

    # ── for the receiving thread ────────────────────────────────────────────────────────────────

    def post(self, message: Message) -> None:
        """Hand over a message of the client."""
        with self._hub.changed:
            self._inbox.append(message)
            self._hub.changed.notify_all()

    def end(self) -> None:
        """Tell the player that the connection is over."""
        with self._hub.changed:
            self._is_over = True
            self._hub.changed.notify_all()

    def send(self, body: Message, opcode: int = TEXT) -> None:
        """Send a frame with the envelope fields it lacks and `$C` filled in.

        Blocks: while the client does not read.
        """
        with self._numbering:
            self._send_bytes(opcode, self._render(body))

    def send_or_leave(self, body: Message) -> None:
        """Send a frame from the receiving thread, which finds the end of the connection itself."""
        try:
            self.send(body)
        except _GoneError:
            return

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        """Play what follows the init response, then a turn per input, until the socket is over."""
        try:
            opening = self._hub.items("after_init")
            if opening is not None:
                self._play("init", opening)
            while True:
                message = self._next_input()
                key = next(iter(message))
                self._prompt = _prompt_of(message)
                if key == "sessionEndRequest":
                    name, items = "session-end", self._hub.items("on_session_end")
                elif key == "automatedTrigger":
                    name, items = "trigger", self._hub.items("trigger_turn")
                else:
                    name, items = self._hub.next_turn()
                self._hub.report(f"turn:{name}")
                self._play(name, items or [])
        except _GoneError:
            return

    def _play(self, name: str, items: Items) -> None:
        waits = [at for at, (_, args) in enumerate(items) if args.get("key") == "haltRequest"]
        with self._hub.changed:
            self._is_playing, self._is_idle = True, name in ("init", "session-end")
        try:
            for at, (op, args) in enumerate(items):
                with self._hub.changed:
                    self._halts_ahead = sum(1 for wait in waits if wait >= at)
                self._check()
                _OPS[op](self, args)
            self._linger()
        except _HaltedError:
            with self._hub.changed:
                self._take("haltRequest")
            last = self._conversation.halt()
            if last is not None:
                self.send(last)
            self._set_state({"state": None})
        with self._hub.changed:
            self._is_playing = False
        self._hub.report(f"turn-end:{name}")

    def _linger(self) -> None:
        """Stay in a turn whose script is over but never went idle: a halt still ends it."""
        with self._hub.changed:
            self._halts_ahead = 0
        self._wait(lambda: self._is_idle or self._is_over or self._has_input())

    def _has_input(self) -> bool:
        return any(next(iter(message)) in self._inputs for message in self._inbox)

    def _next_input(self) -> Message:
        self._hub.wait(lambda: self._is_over or self._has_input())
        with self._hub.changed:
            if self._is_over:
                raise _GoneError
            while True:
                # What came before the input belongs to no turn: a late answer, a halt when idle.
                message = self._inbox.pop(0)
                if next(iter(message)) in self._inputs:
                    return message

    def _is_halted(self) -> bool:
        if self._is_idle or self._halts_ahead or self._hub.knobs.get("ignore_halt"):
            return False
        return self._is_playing and any("haltRequest" in message for message in self._inbox)

    def _check(self) -> None:
        with self._hub.changed:
            if self._is_halted():
                raise _HaltedError

    def _take(self, key: str) -> Message | None:
        for at, message in enumerate(self._inbox):
            if key in message:
                return self._inbox.pop(at)
        return None

    def _wait(self, is_ready: Callable[[], bool]) -> None:
        def is_done() -> bool:
            return is_ready() or self._is_halted() or (self._is_over and not self.has_left)

        self._hub.wait(is_done)
        with self._hub.changed:
            if self._is_halted():
                raise _HaltedError
            if not is_ready():
                raise _GoneError

    # ── sending ─────────────────────────────────────────────────────────────────────────────────

    def _render(self, body: Message) -> bytes:
        self._frames_sent += 1
        envelope = {
            "seqNum": str(self._frames_sent),
            "timestampMicros": str(time.time_ns() // 1000),
        }
        # The envelope comes last on the real wire, and a script may set its own.
        whole = {**body, **{name: envelope[name] for name in envelope if name not in body}}
        text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
        text = text.replace('"$C"', f'"{self._conversation.id}"')
        # A lone surrogate becomes its JSON escape: the frame stays valid UTF-8.
        return text.encode("utf-8", "backslashreplace")

    def _send_bytes(self, opcode: int | None, data: bytes) -> None:
        try:
            if opcode is None:
                self._websocket.send_bytes(data)
            else:
                self._websocket.send(opcode, data)
        except OSError:
            raise _GoneError from None

    # ── items ───────────────────────────────────────────────────────────────────────────────────

    def _frame(self, args: Message) -> None:
        body = args["body"]
        if isinstance(body.get("stepUpdate"), dict):
            self._conversation.advance(body["stepUpdate"])
        if isinstance(body.get("trajectoryStateUpdate"), dict):
            self._note_state(body["trajectoryStateUpdate"])
        self.send(body)

    def _set_state(self, args: Message) -> None:
        update = {"trajectoryId": self._conversation.id, **args}
        if update["state"] is None:
            update["state"] = self._hub.knobs.get("idle_state", "STATE_FULLY_IDLE")
        self._note_state(update)
        self.send({"trajectoryStateUpdate": update})

    def _note_state(self, update: Message) -> None:
        is_main = update.get("trajectoryId") in (self._conversation.id, "$C")
        if not is_main or update.get("state") not in ("STATE_RUNNING", *_ENDS):
            return
        with self._hub.changed:
            is_running = update["state"] == "STATE_RUNNING"
            if is_running and self._is_idle:
                self._take("haltRequest")  # it was for the run that is over
            self._is_idle = not is_running

    def _flood(self, args: Message) -> None:
        step = self._conversation.grow()["stepUpdate"]
        batches = self._flood_batches(step, args["count"], args["size"])
        if (args["count"] * args["size"] + len(step["text"])) * args[
            "count"
        ] // 2 < _RENDERED_BYTES:
            batches = iter(list(batches))
        for batch in batches:
            self._check()
            self._send_bytes(None, batch)
        self._conversation.grow(text=_filler(args["size"]) * args["count"])

    def _flood_batches(self, step: Message, count: int, size: int) -> Iterator[bytes]:
        before = json.dumps(step["text"])[1:-1].encode()
        chunk = _filler(size).encode()
        text = memoryview(before + chunk * count)
        # `text` comes last, so everything before its value is the same in every frame.
        fixed = {name: value for name, value in step.items() if name != "text"}
        fixed["textDelta"] = chunk.decode()
        lead = f'{{"stepUpdate":{json.dumps(fixed, separators=(",", ":"))[:-1]},"text":"'.encode()
        stamp = str(time.time_ns() // 1000)
        batch: list[bytes | memoryview] = []
        batch_size = 0
        for at in range(1, count + 1):
            with self._numbering:
                self._frames_sent += 1
                number = self._frames_sent
            tail = f'"}},"seqNum":"{number}","timestampMicros":"{stamp}"}}'.encode()
            end = len(before) + at * size
            total = len(lead) + end + len(tail)
            batch += (frame_head(TEXT, total), lead, text[:end], tail)
            batch_size += total
            if batch_size > _BATCH_BYTES or at == count:
                yield b"".join(batch)
                batch, batch_size = [], 0

    def _wait_for(self, args: Message) -> None:
        key = args["key"]
        self._hub.report(f"wait:{key}")
        self._wait(lambda: any(key in message for message in self._inbox))
        with self._hub.changed:
            self._answer = self._take(key) or {}

    def _wait_for_signal(self, args: Message) -> None:
        self._hub.report(f"gate:{args['name']}")
        self._wait(lambda: args["name"] in self._hub.gates)

    def _tool_result(self, args: Message) -> None:
        response = {**self._answer.get("toolResponse", {}), "id": args["toolCall"]["name"]}
        fields = {"toolCall": args["toolCall"], "toolResponse": response}
        self.send(self._conversation.step({"state": "STATE_DONE", "customTool": fields}))

    def _half_frame(self, args: Message) -> None:
        payload = self._render(args["body"])
        whole = frame_head(TEXT, len(payload)) + payload
        self._send_bytes(None, whole[: len(whole) // 2])

    def _leave(self, args: Message) -> None:
        with self._hub.changed:
            self.has_left = True
            # A client that reconnects at once must not find its conversation taken.
            self._hub.active.discard(self._conversation.id)
            self._hub.changed.notify_all()
        code = args.get("code")
        if code is None:
            self._hub.report("dropped")
            self._websocket.interrupt(is_reset=args["is_reset"])
            return
        self._hub.report(f"sent-close:{code}")
        try:
            self._websocket.send_close(code, args["reason"])
        except OSError:
            raise _GoneError from None

    def _stop_reading(self, args: Message) -> None:
        with self._hub.changed:
            self.is_deaf = True
        self._hub.report("deaf")
        if args["until"] is not None:
            threading.Thread(target=self._read_again, args=(args["until"],), daemon=True).start()

    def _read_again(self, gate: str) -> None:
        self._hub.wait(lambda: gate in self._hub.gates)
        with self._hub.changed:
            self.is_deaf = False
            self._hub.changed.notify_all()

    def _spawn_child(self, args: Message) -> None:
        environ = {
            **os.environ,
            "ANTIGRAVITY_AGENT": "1",
            "ANTIGRAVITY_CONVERSATION_ID": self._conversation.id,
            "ANTIGRAVITY_TRAJECTORY_ID": self._conversation.id,
        }
        self._hub.spawn_child(environ, has_stderr=args["has_stderr"])

    def _stderr(self, args: Message) -> None:
        for _ in range(args["times"]):
            self._hub.stderr(args["line"])

    def _echo(self, args: Message) -> None:
        text = args["template"].replace("$PROMPT", self._prompt)
        self.send(self._conversation.echo(text, args["source"]))


def _filler(size: int) -> str:
    return ("abcdefghijklmnopqrstuvwxyz" * (size // 26 + 1))[:size]


_OPS: dict[str, Callable[[Player, Message], None]] = {
    "frame": Player._frame,
    "state": Player._set_state,
    "echo": Player._echo,
    "step": lambda player, args: player.send(player._conversation.step(args)),
    "grow": lambda player, args: player.send(player._conversation.grow(**args)),
    "finish": lambda player, args: player.send(player._conversation.finish()),
    "usage": lambda player, args: player.send(player._conversation.add_usage(args)),
    "flood": Player._flood,
    "wait_for": Player._wait_for,
    "wait_for_signal": Player._wait_for_signal,
    "mark": lambda player, args: player._hub.report(f"mark:{args['name']}"),
    "tool_result": Player._tool_result,
    "binary": lambda player, args: player.send(args["body"], BINARY),
    "text": lambda player, args: player._send_bytes(TEXT, bytes.fromhex(args["data"])),
    "ping": lambda player, args: player._send_bytes(PING, bytes.fromhex(args["data"])),
    "raw": lambda player, args: player._send_bytes(None, bytes.fromhex(args["data"])),
    "half_frame": Player._half_frame,
    "leave": Player._leave,
    "stop_reading": Player._stop_reading,
    "spawn_child": Player._spawn_child,
    "stderr": Player._stderr,
    "exit": lambda player, args: player._hub.die(args["code"]),
    "kill": lambda player, args: player._hub.die(-signal.SIGKILL),
}
