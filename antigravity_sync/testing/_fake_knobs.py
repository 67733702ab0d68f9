"""What can be made to go wrong in the stand-in process, one knob per way."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing._fake_script import (
    Turn,
    compile_turn,
    delta,
    done,
    idle,
    running,
    trigger_echo,
    user_echo,
)
from antigravity_sync.testing._fake_wire import Message


class Knobs(TypedDict, total=False):
    """Options of `FakeHarness`; what is left out behaves as the real harness."""

    # ── before and at the handshake
    #: These bytes, or so many bytes of log lines, on stderr before anything else happens.
    stderr_before_handshake: bytes | int
    #: Bytes on stdout in front of the handshake.
    stdout_noise: bytes
    #: The InputConfig is read, nothing is answered.
    no_handshake: bool
    #: Two bytes of the length, or the length and half of the body; then silence.
    partial_handshake: Literal["length", "body"]
    #: The length that is announced, whatever is sent.
    handshake_length: int
    #: stdout is closed instead of answering; the process stays.
    close_stdout_early: bool
    #: These bytes, or so many, on stdout after the handshake; event `stdout-written` when all are.
    stdout_after_handshake: bytes | int
    #: A child holds stderr open after the process is gone; see `FakeHarness.grandchildren`.
    grandchild_holds_stderr: bool

    # ── dying
    #: Exit when spawned, config read, handshake written, first WebSocket open, or init received.
    exit_at: Literal["spawn", "config", "handshake", "connect", "init"] | None
    #: With this code (1); negative is death by that signal.
    exit_code: int
    #: After this line on stderr.
    exit_stderr: str
    #: The exit code at the end of stdin (0).
    exit_code_at_eof: int
    ignore_eof: bool
    ignore_sigterm: bool

    # ── connecting
    #: The port refuses connections, or does until `signal(name)`; then event `listening`.
    refuse_connections: bool | str
    #: The first n TCP connections of each process are reset before the upgrade.
    drop_connects: int
    #: The upgrade is never answered.
    no_upgrade: bool
    #: The upgrade is always answered with 401.
    reject_key: bool

    # ── the WebSocket
    #: The init message is never answered.
    no_init_response: bool
    #: The frame that answers it; `"$C"` is the conversation's id.
    init_reply: Mapping[str, Any]
    #: This line on stderr and the connection dropped. A sequence is used up, one entry per init of
    #: any process, `None` for an init that is accepted; afterwards all are.
    drop_on_init: str | Sequence[str | None]
    #: The id of conversations that ask for none, for one WebSocket at a time; fresh unless given.
    cascade_id: str
    #: Steps (wire fields) that every conversation with an id of its own starts with.
    history: Sequence[Mapping[str, Any]]
    #: No answer to a close frame.
    ignore_close: bool
    #: Nothing is read after the init message, into a small receive buffer.
    never_read: bool
    #: A halt changes nothing.
    ignore_halt: bool
    #: What `idle()` and a halt send: `STATE_FULLY_IDLE`.
    idle_state: str

    # ── scripts beside the turns
    #: Played once per WebSocket, right after the init response.
    after_init: Turn
    #: Played when the scripted turns are used up.
    default_turn: Turn
    #: Played for an automated trigger.
    trigger_turn: Turn
    #: Played for a sessionEndRequest when no turn plays; without it the answer comes at once.
    on_session_end: Turn

    # ── the file
    #: The version that the wheel's metadata beside the binary claims; no metadata unless given.
    version: str | None


_SCRIPTS = ("after_init", "default_turn", "trigger_turn", "on_session_end")
_CHOICES = {
    "exit_at": (None, "spawn", "config", "handshake", "connect", "init"),
    "partial_handshake": ("length", "body"),
}


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse unknown names and values.

    Raises:
        ConfigError: With the nearest name, or the values there are.
    """
    for name, value in knobs.items():
        if name not in Knobs.__annotations__:
            near = difflib.get_close_matches(name, Knobs.__annotations__, 1)
            hint = f"did you mean {near[0]}?" if near else "see Knobs for those there are."
            raise ConfigError(f"FakeHarness has no knob {name!r}; {hint}")
        if name in _CHOICES and value not in _CHOICES[name]:
            allowed = ", ".join(map(repr, _CHOICES[name]))
            raise ConfigError(f"{name}={value!r} is not possible: use one of {allowed}.")


def render(turns: Sequence[Turn], knobs: Mapping[str, Any]) -> Message:
    """Return turns and knobs as JSON values for the stand-in process."""
    scripts: dict[str, Turn] = {
        "default_turn": [running(), user_echo(), delta("ok"), done(), idle()],
        "trigger_turn": [running(), trigger_echo(), delta("ok"), done(), idle()],
    }
    scripts.update({name: knobs[name] for name in _SCRIPTS if name in knobs})
    return {
        "turns": [compile_turn(turn) for turn in turns],
        **{name: compile_turn(turn) for name, turn in scripts.items()},
        "knobs": {
            n: _plain(value) for n, value in knobs.items() if n not in (*_SCRIPTS, "version")
        },
    }


def _plain(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value
