"""The items that `FakeHarness` scripts are made of.

A turn is a list of items, played one after the other when an input arrives. An item is a plain dict
(sent as a frame; every value `"$C"` becomes the conversation's id, `seqNum` and `timestampMicros`
are added unless given) or what one of these functions returns. Most of them know which step of the
conversation is the current one, so a script needs no numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing._fake_wire import Message


@attrs.frozen
class Item:
    """One thing the stand-in does; made by the functions of this module.

    Attributes:
        op: What it does.
        args: With what, JSON values only.
    """

    op: str
    args: Mapping[str, Any] = attrs.Factory(dict)


#: A text is answered as an ordinary turn; sequences may be nested.
Turn: TypeAlias = "str | Item | Mapping[str, Any] | Iterable[Turn]"


def compile_turn(turn: Turn) -> list[tuple[str, Message]]:
    """Return the items of a turn as the stand-in process reads them.

    Raises:
        ConfigError: Something in it is not an item.
    """
    if isinstance(turn, str):
        return compile_turn(answer(turn))
    if isinstance(turn, Item):
        return [(turn.op, dict(turn.args))]
    if isinstance(turn, Mapping):
        return [("frame", {"body": dict(turn)})]
    if not isinstance(turn, Iterable):
        raise ConfigError(
            f"{turn!r} cannot be played: use a str, a dict frame, or what the functions beside "
            "FakeHarness return."
        )
    items = []
    for part in turn:
        if isinstance(part, str):
            raise ConfigError(
                f"The text {part!r} inside a turn is ambiguous: use delta(...) for a piece of an "
                "answer or answer(...) for a whole one."
            )
        items += compile_turn(part)
    return items


# ── whole turns ─────────────────────────────────────────────────────────────────────────────────


def answer(*chunks: str) -> list[Item]:
    """Return an ordinary turn: running, the prompt's echo, `chunks` streamed as one step, idle."""
    return [running(), user_echo(), *(delta(chunk) for chunk in chunks), done(), idle()]


def failure(error: str, http_code: int = 0) -> list[Item]:
    """Return a turn that ends as fatal ones do: ERROR step, idle with `error`, WebSocket closed."""
    about = {"errorMessage": error, "httpCode": http_code}
    text = "Agent execution terminated due to error."
    return [
        running(),
        user_echo(),
        step(
            state="STATE_ERROR", source="SOURCE_SYSTEM", text=text, errorMessage=text, error=about
        ),
        idle(error=error),
        close(1000),
    ]


# ── states and steps ────────────────────────────────────────────────────────────────────────────


def running() -> Item:
    """Say that the main trajectory runs."""
    return state("STATE_RUNNING")


def idle(error: str | None = None) -> Item:
    """End the turn: FULLY_IDLE of the main trajectory (or the knob `idle_state`), with `error`."""
    return state(None, error=error)


def state(name: str | None, *, trajectory: str | None = None, error: str | None = None) -> Item:
    """Send a trajectoryStateUpdate.

    Args:
        name: The state's wire name.
        trajectory: Whose; the main one unless given.
        error: The error field, if any.
    """
    optional = {"trajectoryId": trajectory, "error": error}
    given = {name: value for name, value in optional.items() if value is not None}
    return Item("state", {"state": name, **given})


def user_echo() -> Item:
    """Show the prompt that started the turn as the next step."""
    return Item("echo", {"source": "SOURCE_USER", "template": "$PROMPT"})


def trigger_echo() -> Item:
    """Show the automated trigger that started the turn as the next step."""
    text = "[Message] sender=automated_trigger priority=MESSAGE_PRIORITY_HIGH content=$PROMPT"
    return Item("echo", {"source": "SOURCE_SYSTEM", "template": text})


def delta(text: str) -> Item:
    """Stream `text`: an ACTIVE frame of the current step, which is opened if there is none."""
    return Item("grow", {"text": text})


def thinking(text: str) -> Item:
    """Stream a thought into the current step."""
    return Item("grow", {"thinking": text})


def done() -> Item:
    """Close the current step with its DONE frame."""
    return Item("finish")


def step(**fields: Any) -> Item:
    """Send a stepUpdate of the current step (or the next one) with these wire fields set.

    Without `stepIndex` and `trajectoryId` the step stays current until a `state` of STATE_DONE or
    STATE_ERROR; with one of them the frame stands alone. Defaults: ACTIVE, MODEL to USER, no text.
    """
    return Item("step", fields)


def usage(prompt: int = 10, candidates: int = 5, *, cached: int = 0, thoughts: int = 0) -> Item:
    """Send a usageUpdate that adds one model reply of so many tokens to the session's totals."""
    return Item(
        "usage",
        {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": candidates,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + candidates + thoughts,
        },
    )


def flood(count: int, size: int) -> Item:
    """Stream `count` deltas of `size` characters into the current step as fast as possible.

    As from the real harness each frame also carries the whole text so far. Frames are rendered
    before the first is sent, unless they are more than 64 MiB in all.
    """
    return Item("flood", {"count": count, "size": size})


# ── requests ────────────────────────────────────────────────────────────────────────────────────


def tool_call(name: str, args: Mapping[str, Any] | None = None, *, call_id: str = "call-1") -> Item:
    """Send the bare toolCall frame of a custom tool."""
    return frame({"toolCall": {"id": call_id, **_call_fields(name, args)}})


def custom_tool(
    name: str, args: Mapping[str, Any] | None = None, *, call_id: str = "call-1"
) -> list[Item]:
    """Return a whole custom call: step, toolCall, wait for the answer, DONE step."""
    fields = _call_fields(name, args)
    opening = step(
        target="TARGET_ENVIRONMENT",
        text=f'Calling custom tool "{name}"',
        customTool={"toolCall": fields},
    )
    return [
        opening,
        tool_call(name, args, call_id=call_id),
        wait_for("toolResponse"),
        Item("tool_result", {"toolCall": fields}),
    ]


def hook(kind: str, *, request_id: str = "hook_request_1", **args: Any) -> Item:
    """Send a callHookRequest.

    Args:
        kind: `"PRE_TOOL"`, `"POST_TURN"`, `"ON_SESSION_END"`, ...
        request_id: The id its answer must carry.
        args: The hook's own fields under their wire names.
    """
    words = kind.title().split("_")
    camel = "".join(words)
    request: Message = {"requestId": request_id, "name": camel, "type": f"LIFECYCLE_HOOK_{kind}"}
    if args:
        request[f"{camel[0].lower()}{camel[1:]}Args"] = args
    return frame({"callHookRequest": request})


def question(text: str, *choices: str, multi_select: bool = False) -> Item:
    """Send the step that waits for the user's answer to one multiple-choice question."""
    asked = {"question": text, "choices": list(choices), "isMultiSelect": multi_select}
    return step(
        state="STATE_WAITING_FOR_USER",
        target="TARGET_ENVIRONMENT",
        requestText="Prompted for questions",
        questionsRequest={"questions": [{"multipleChoice": asked}]},
    )


def _call_fields(name: str, args: Mapping[str, Any] | None) -> Message:
    values = dict(args or {})
    rendered = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    return {"name": name, "argumentsJson": rendered, "arguments": _struct(values)}


def _struct(values: Mapping[str, Any]) -> Message:
    return {"fields": [{"name": name, "value": _value(values[name])} for name in sorted(values)]}


def _value(value: Any) -> Message:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, (int, float)):
        return {"numberValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, Mapping):
        return {"structValue": _struct(value)}
    if isinstance(value, (list, tuple)):
        return {"listValue": {"values": [_value(item) for item in value]}}
    return {"nullValue": "NULL_VALUE"}


# ── order ───────────────────────────────────────────────────────────────────────────────────────


def wait_for(key: str) -> Item:
    """Wait until the client has sent, since this turn's input, a message with this top-level key.

    Each message ends one wait. A script that has a `wait_for("haltRequest")` ahead handles the halt
    itself; any other turn is ended by one. The wait is recorded as the event `wait:KEY`.
    """
    return Item("wait_for", {"key": key})


def wait_for_signal(name: str) -> Item:
    """Wait until the test calls `fake.signal(name)`; recorded as the event `gate:NAME`."""
    return Item("wait_for_signal", {"name": name})


def mark(name: str) -> Item:
    """Record the event `mark:NAME`: everything before it has been done."""
    return Item("mark", {"name": name})


# ── raw frames and trouble ──────────────────────────────────────────────────────────────────────


def frame(body: Mapping[str, Any]) -> Item:
    """Send a frame; the same as the dict itself."""
    return Item("frame", {"body": dict(body)})


def half_frame(body: Mapping[str, Any]) -> Item:
    """Send the first half of a frame's bytes and never the rest."""
    return Item("half_frame", {"body": dict(body)})


def binary(body: Mapping[str, Any]) -> Item:
    """Send a frame as a binary message."""
    return Item("binary", {"body": dict(body)})


def text_frame(text: str | bytes) -> Item:
    """Send a text message exactly as it is, JSON or not; bytes need not be UTF-8."""
    return Item("text", {"data": (text if isinstance(text, bytes) else text.encode()).hex()})


def raw_frame(data: bytes) -> Item:
    """Put bytes on the TCP connection as they are."""
    return Item("raw", {"data": data.hex()})


def ping(data: bytes = b"") -> Item:
    """Send a ping; the client's answer is recorded as the event `pong`."""
    return Item("ping", {"data": data.hex()})


def close(code: int = 1000, reason: str = "") -> Item:
    """Close the WebSocket with a close frame; recorded as `sent-close:CODE`."""
    return Item("leave", {"code": code, "reason": reason})


def drop(*, reset: bool = False) -> Item:
    """End the TCP connection without a close frame, with `reset` by an RST; event `dropped`."""
    return Item("leave", {"code": None, "is_reset": reset})


def stop_reading(until: str | None = None) -> Item:
    """Read nothing more from the socket, or nothing until the gate `until` opens; event `deaf`.

    Up to 1 MiB that arrives next is still taken from the socket, and handled when reading goes on.
    """
    return Item("stop_reading", {"until": until})


def stderr(line: str, *, times: int = 1) -> Item:
    """Write a line to the process's stderr, `times` times."""
    return Item("stderr", {"line": line, "times": times})


def spawn_child(*, holds_stderr: bool = False) -> Item:
    """Start a process as the agent's shell does.

    It has a process group of its own and the conversation's id in its environment, and lives until
    the `FakeHarness` is closed; its pid is in `fake.grandchildren`.
    """
    return Item("spawn_child", {"has_stderr": holds_stderr})


def exit(code: int = 0) -> Item:
    """End the process at once with this exit code; negative is death by that signal."""
    return Item("exit", {"code": code})


def kill() -> Item:
    """End the process by SIGKILL."""
    return Item("kill")
