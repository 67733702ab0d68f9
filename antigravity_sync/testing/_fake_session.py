"""One connection to the stand-in process: upgrade, init, then every message of the client."""

from __future__ import annotations

import json
import re
import threading
import uuid

from ._fake_conversation import Conversation
from ._fake_hub import Hub
from ._fake_player import Player
from ._fake_wire import CLOSE, PING, PONG, TEXT, Message, WebSocket

_KNOWN_KEYS = (
    "userInput",
    "complexUserInput",
    "automatedTrigger",
    "haltRequest",
    "toolConfirmation",
    "toolResponse",
    "questionResponse",
    "callHookResponse",
    "sessionEndRequest",
    "policyDecisionResponse",
)

#: How long a client that reconnects is given until its old connection is seen to be over.
_HANDOVER_SECONDS = 0.5


class Session:
    """Serve one TCP connection to its end.

    Thread: its own, which receives; what it plays runs on the player's.
    """

    def __init__(self, hub: Hub, websocket: WebSocket, number: int, api_key: str) -> None:
        self._hub = hub
        self._websocket = websocket
        self._number = number
        self._api_key = api_key
        self._conversation: Conversation | None = None
        self._player: Player | None = None

    def serve(self) -> None:
        """Serve until the client is gone or the script leaves it."""
        if self._is_upgraded() and self._is_initialised() and self._player is not None:
            threading.Thread(target=self._player.run, daemon=True).start()
            self._receive_all(self._player)
        self._release()
        self._websocket.end()

    def _report(self, event: str, **facts: object) -> None:
        self._hub.report(event, socket=self._number, **facts)

    def _release(self) -> None:
        """Give the conversation free and stop the player."""
        if self._conversation is not None and not (self._player and self._player.has_left):
            with self._hub.changed:
                self._hub.active.discard(self._conversation.id)
        if self._player is not None:
            self._player.end()

    # ── upgrade ─────────────────────────────────────────────────────────────────────────────────

    def _is_upgraded(self) -> bool:
        headers = self._websocket.read_request()
        if headers is None:
            self._report("lost")
            return False
        self._report("upgrade", headers=headers)
        try:
            if self._hub.knobs.get("no_upgrade"):
                self._websocket.receive()
                self._report("lost")
                return False
            is_refused = self._hub.knobs.get("reject_key", False)
            if is_refused or headers.get("x-goog-api-key") != self._api_key:
                self._report("rejected:401")
                self._websocket.refuse()
                return False
            self._websocket.accept(headers)
        except OSError:
            self._report("lost")
            return False
        self._report("connected")
        self._hub.exit_at("connect")
        return True

    # ── init ────────────────────────────────────────────────────────────────────────────────────

    def _is_initialised(self) -> bool:
        frame = self._websocket.receive()
        while frame is not None and frame[0] in (PING, PONG):
            frame = self._websocket.receive()
        if frame is None or frame[0] == CLOSE:
            self._report("lost" if frame is None else f"close:{_close_code(frame[1])}")
            self._hub.stderr("Failed to read initial message: websocket: close 1000 (normal)")
            return False
        try:
            message = json.loads(frame[1])
            config = dict(message["config"])
        except (ValueError, TypeError, KeyError, UnicodeDecodeError):
            self._report("unparseable", text=frame[1].decode("utf-8", "replace"))
            return self._refuse("Failed to parse initial message: proto: syntax error (line 1:2)")
        self._report("init", message=message)
        self._hub.exit_at("init")
        refusal = self._scripted_refusal() or self._refusal(config)
        if refusal is not None:
            return self._refuse(refusal)
        return self._answer_init()

    def _refuse(self, line: str) -> bool:
        """Do what the real harness does: a line on stderr, the TCP connection dropped, no frame."""
        self._hub.stderr(line)
        self._report("dropped")
        return False

    def _scripted_refusal(self) -> str | None:
        lines = self._hub.knobs.get("drop_on_init")
        if lines is None or isinstance(lines, str):
            return lines
        number = self._hub.claim("init", len(lines))
        line: str | None = None if number is None else lines[number]
        return line

    def _refusal(self, config: Message) -> str | None:
        """Open the conversation; return why not if the real harness would not."""
        wanted = config.get("cascadeId") or ""
        mode = str(config.get("sessionContinuationMode", ""))
        storage = self._hub.storage
        if not wanted:
            if mode in ("RESUME", "1"):
                return (
                    _FAILED
                    + "cascade_id must be specified when session_continuation_mode is RESUME"
                )
            self._open(self._hub.knobs.get("cascade_id") or uuid.uuid4().hex).create()
            return None
        creates = mode in ("CREATE_OR_RESUME", "2", "CREATE_ONLY", "3")
        if not creates and not storage:
            about = f'"{wanted}" in ephemeral mode without initial trajectory'
            return f"{_FAILED}cannot resume conversation {about}"
        if creates and not re.fullmatch("[a-zA-Z0-9-]*", wanted):
            return f'{_FAILED}cascade_id must match [a-zA-Z0-9-], got "{wanted}"'
        if creates and len(wanted) < 32:
            return f"{_FAILED}cascade_id must be at least 32 characters long, got {len(wanted)}"
        if not self._is_free(wanted):
            return f"Cascade ID {wanted} is already in use"
        conversation = self._open(wanted)
        exists = conversation.is_resumed or bool(conversation.history)
        if exists and mode in ("CREATE_ONLY", "3"):
            return f'{_FAILED}conversation "{wanted}" already exists in "{storage}"'
        if not exists and not creates:
            return f'{_FAILED}conversation "{wanted}" not found in "{storage}" (cannot resume)'
        conversation.create()
        return None

    def _is_free(self, conversation_id: str) -> bool:
        with self._hub.changed:
            return self._hub.changed.wait_for(
                lambda: conversation_id not in self._hub.active, _HANDOVER_SECONDS
            )

    def _open(self, conversation_id: str) -> Conversation:
        with self._hub.changed:
            self._hub.active.add(conversation_id)
        path = self._hub.conversation_path(conversation_id) if self._hub.storage else None
        self._conversation = Conversation(conversation_id, path)
        history = self._hub.knobs.get("history")
        if history and not self._conversation.history:
            self._conversation.history = [
                {name: conversation_id if value == "$C" else value for name, value in step.items()}
                for step in history
            ]
            self._conversation.advance(history[-1])
        return self._conversation

    def _answer_init(self) -> bool:
        if self._conversation is None:
            return False
        self._player = Player(self._hub, self._websocket, self._conversation)
        knobs = self._hub.knobs
        if not knobs.get("no_init_response"):
            self._player.send_or_leave(knobs.get("init_reply") or self._conversation.opening())
        self._player.is_deaf = bool(knobs.get("never_read"))
        return True

    # ── messages ────────────────────────────────────────────────────────────────────────────────

    def _receive_all(self, player: Player) -> None:
        while True:
            self._hub.wait(lambda: not player.is_deaf)
            frame = self._websocket.receive()
            self._hub.wait(lambda: not player.is_deaf)
            if frame is None:
                if not player.has_left:
                    self._report("lost")
                return
            opcode, payload = frame
            if opcode == CLOSE:
                self._report(f"close:{_close_code(payload)}")
                if not self._hub.knobs.get("ignore_close"):
                    self._release()
                    self._answer_control(CLOSE, payload, player)
                    return
            elif opcode == PING:
                self._answer_control(PONG, payload, player)
            elif opcode == PONG:
                self._report("pong", data=payload.hex())
            else:
                self._read_message(payload, player, is_text=opcode == TEXT)

    def _answer_control(self, opcode: int, payload: bytes, player: Player) -> None:
        if player.has_left:
            return
        try:
            self._websocket.send(opcode, payload)
        except OSError:
            return  # the next receive finds the end

    def _read_message(self, payload: bytes, player: Player, *, is_text: bool) -> None:
        try:
            message = json.loads(payload) if is_text else None
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._report("unparseable", text=payload.decode("utf-8", "replace"))
            self._hub.stderr(_DROPPED + "failed to unmarshal InputEvent: proto: syntax error")
            return
        key = next(iter(message), "")
        self._report(f"message:{key}", message=message)
        if key and key not in _KNOWN_KEYS:
            reason = f'proto: (line 1:2): unknown field "{key}"'
            self._hub.stderr(f"{_DROPPED}failed to unmarshal InputEvent: {reason}")
        elif not key or message in ({"haltRequest": False}, {"automatedTrigger": ""}):
            self._hub.stderr(_DROPPED + "failed to translate input: unknown input type")
            player.send_or_leave(
                {
                    "trajectoryStateUpdate": {
                        "trajectoryId": "$C",
                        "state": "STATE_FULLY_IDLE",
                        "error": "unknown input type",
                    }
                }
            )
        elif key == "sessionEndRequest" and self._hub.items("on_session_end") is None:
            player.send_or_leave({"sessionEndResponse": True})
        else:
            player.post(message)


_FAILED = "Failed to create agent: "
_DROPPED = "Failed to send InputEvent: "


def _close_code(payload: bytes) -> int:
    return int.from_bytes(payload[:2], "big") if len(payload) > 1 else 1005
