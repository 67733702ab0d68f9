"""From a raw frame to values, tolerantly.

The harness writes protobuf's JSON: camelCase keys, 64-bit integers as decimal strings, enum values
by name, zero and empty values present, envelope keys in any order (WIRE section 1). A reader that
insists on its own schema dies with the next release, so nothing here raises: an unknown member is
kept under `extra`, an unknown name is kept verbatim, both are counted by `drift`, and a frame that
cannot be read at all becomes an `UnknownFrame`. A `null` is the same as an absent member.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .. import _messages as m
from ..responses import Usage
from . import drift, schema

_ENVELOPE: Final = frozenset({"seqNum", "timestampMicros", "usageMetadata"})
#: What a frame of a step carries; a richer one takes the longer way.
_STEP_EVENT: Final = frozenset({"seqNum", "timestampMicros", "stepUpdate"})
_STEP_CORE: Final = schema.STEP_FIELDS - schema.STEP_ACTIONS
_UNDERSCORE: Final = re.compile(r"_([a-z0-9])")
_READABLE: Final = 200
#: By which a connection that is no harness tells what a step does.
_TOLD_ACTION: Final = "toldAction"
_scan: Final[Callable[[str, int], tuple[Any, int]]] = vars(json.JSONDecoder())["scan_once"]

#: Our name of each token count, and the wire's.
COUNTERS: Final = (
    ("prompt_tokens", "promptTokenCount"),
    ("cached_tokens", "cachedContentTokenCount"),
    ("candidates_tokens", "candidatesTokenCount"),
    ("thoughts_tokens", "thoughtsTokenCount"),
    ("total_tokens", "totalTokenCount"),
)


def decode(data: bytes | str) -> list[m.PeerFrame]:
    """Return what a frame says: usually one value, or usage and the step it rides on (≤ 0.1.9).

    Args:
        data: The payload of one text or binary WebSocket message.
    """
    try:
        event = _parse(data if isinstance(data, str) else data.decode("utf-8", "surrogatepass"))
        if type(event) is dict:
            return _event(event)
    except (ValueError, RecursionError):  # no JSON, or nested beyond what this interpreter walks
        pass
    return [_unreadable(data)]


def _parse(text: str) -> Any:
    """Return what `json.loads` returns; twice as fast for what a harness writes.

    Raises:
        RecursionError: It is nested beyond what this interpreter walks.
        ValueError: It is no JSON.
    """
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return json.loads(text)
    return value if end == len(text) else json.loads(text)  # spaces around it, or no JSON


def _event(event: dict[str, Any]) -> list[m.PeerFrame]:
    step = event.get("stepUpdate")
    if type(step) is dict and event.keys() <= _STEP_EVENT:
        return [_step(step)]
    if "_" in "".join(event):
        event = _camel_event(event)
    frames: list[m.PeerFrame] = []
    for key, value in event.items():
        if key in _ENVELOPE or value is None:
            continue
        reader = _READERS.get(key)
        if reader is None or (type(value) is not dict and key != "sessionEndResponse"):
            drift.note("OutputEvent", key)
            frames.append(m.UnknownFrame(key, _object(value), _request_id(value)))
        else:
            frames.append(reader(value))
    if event.get("usageMetadata") is not None:
        where = next((f.trajectory_id for f in frames if isinstance(f, m.StepFrame)), "")
        # First, because the step may be the last thing its turn waits for.
        frames.insert(0, _call_usage(event["usageMetadata"], where))
    return frames


def decode_init(data: bytes | str) -> m.InitFrame | None:
    """Return the answer to the first message, `None` if the frame is something else."""
    for frame in decode(data):
        if isinstance(frame, m.InitFrame):
            return frame
    return None


# ── steps ───────────────────────────────────────────────────────────────────────────────────────


def _step(step: dict[str, Any]) -> m.StepFrame:
    frame = m.StepFrame(
        _str(step.get("trajectoryId")) or _str(step.get("cascadeId")),
        _int(step.get("stepIndex")) or 0,
        _name(step.get("state"), schema.STEP_STATES, "StepState"),
        _name(step.get("source"), schema.SOURCES, "StepSource"),
        _name(step.get("target"), schema.TARGETS, "StepTarget"),
        _str(step.get("text")),
        _str(step.get("textDelta")),
        _str(step.get("thinking")),
        _str(step.get("thinkingDelta")),
    )
    if not step.keys() <= _PLAIN_STEP:
        _step_rest(frame, step)
    return frame


#: What a frame of plain text carries; only richer ones take the longer way.
_PLAIN_STEP: Final = frozenset(
    {
        "cascadeId",
        "trajectoryId",
        "parentTrajectoryId",
        "stepIndex",
        "state",
        "source",
        "target",
        "text",
        "textDelta",
        "thinking",
        "thinkingDelta",
    }
)


def _step_rest(frame: m.StepFrame, step: dict[str, Any]) -> None:
    frame.error = _str(step.get("errorMessage"))
    frame.request_text = _str(step.get("requestText"))
    error = step.get("error")
    if type(error) is dict:
        frame.http_code = _http_code(error.get("httpCode"))
        frame.error = frame.error or _str(error.get("errorMessage"))
    frame.wants_confirmation = step.get("toolConfirmationRequest") is not None
    questions = step.get("questionsRequest")
    if type(questions) is dict:
        found = questions.get("questions")
        frame.questions = tuple(found) if type(found) is list else ()
    extra = {}
    for key, value in step.items():
        if key in schema.STEP_ACTIONS:
            if key != "error" and not frame.action and value is not None:
                frame.action, frame.payload = key, _object(value)
        elif key == _TOLD_ACTION:
            frame.action, frame.payload = key, _object(value)
        elif key not in _STEP_CORE:
            drift.note("StepUpdate.member", key)
            extra[key] = value
    if extra and frame.target == m.TO_ENVIRONMENT and not frame.action:
        # A tool this SDK does not know: its member is the only name it has (R77).
        for key, value in extra.items():
            if type(value) is dict:
                frame.action, frame.payload = key, _object(value)
                break
    frame.extra = extra


def _http_code(value: Any) -> int | None:
    """Return an HTTP status; 0 and 2 are the harness's own "none" and "no answer" (LIVE 15)."""
    code = _int(value)
    return code if code is None or code >= 100 else 0


# ── the other events ────────────────────────────────────────────────────────────────────────────


def _state(value: dict[str, Any]) -> m.StateFrame:
    extra = {key: value[key] for key in value.keys() - schema.STATE_FIELDS}
    for key in extra:
        drift.note("TrajectoryStateUpdate.member", key)
    return m.StateFrame(
        _str(value.get("trajectoryId")),
        _name(value.get("state"), schema.TRAJECTORY_STATES, "TrajectoryState"),
        _str(value.get("error")),
        _name(value.get("stopReason"), schema.STOP_REASONS, "StopReason"),
        extra,
    )


def _usage_of(value: Any) -> Usage:
    if type(value) is not dict:
        return Usage()
    counts = {ours: _int(value[theirs]) for ours, theirs in COUNTERS if theirs in value}
    return Usage(**counts, service_tier=_str(value.get("serviceTier")) or None)


def _usage_update(value: dict[str, Any]) -> m.UsageFrame:
    return m.UsageFrame(_usage_of(value.get("total")), _by_trajectory(value.get("agents")))


def _by_trajectory(entries: Any) -> dict[str, Usage]:
    if type(entries) is not list:
        return {}
    return {
        _str(entry.get("trajectoryId")): _usage_of(entry.get("usage"))
        for entry in entries
        if type(entry) is dict
    }


def _call_usage(value: Any, trajectory_id: str) -> m.UsageFrame:
    usage = _usage_of(value)
    return m.UsageFrame(usage, {trajectory_id: usage}, is_cumulative=False)


def _tool_call(value: dict[str, Any]) -> m.ToolCallFrame:
    raw = _str(value.get("argumentsJson"))
    return m.ToolCallFrame(
        _str(value.get("id")),
        _str(value.get("name")),
        raw,
        _arguments(raw),
        _str(value.get("trajectoryId")),
    )


def _hook(value: dict[str, Any]) -> m.HookFrame:
    args: dict[str, Any] = {}
    for key, member in value.items():
        if key.endswith("Args") and type(member) is dict:
            args = member
    return m.HookFrame(
        _str(value.get("requestId")),
        _name(value.get("type"), schema.HOOKS, "LifecycleHook"),
        _with_arguments(args),
    )


def _policy(value: dict[str, Any]) -> m.PolicyFrame:
    return m.PolicyFrame(
        _str(value.get("requestId")),
        _str(value.get("ruleId")),
        _with_arguments(_object(value.get("toolArgs"))),
    )


def _with_arguments(args: Any) -> Any:
    if "argumentsJson" not in args:
        return args
    return {**args, "arguments": _arguments(_str(args["argumentsJson"]))}


def _arguments(raw: str) -> Any:
    """Return the call's arguments as they are meant, or the text when that is no JSON."""
    try:
        return _parse(raw) if raw else {}
    except (ValueError, RecursionError):
        return raw


def _init(value: dict[str, Any]) -> m.InitFrame:
    history = value.get("history")
    steps = tuple(_step(s) for s in history if type(s) is dict) if type(history) is list else ()
    usage = None
    if "cumulativeUsage" in value:
        usage = m.UsageFrame(
            _usage_of(value["cumulativeUsage"]), _by_trajectory(value.get("trajectoryUsage"))
        )
    sandbox = value.get("sandboxStatus")
    return m.InitFrame(
        _str(value.get("cascadeId")),
        steps,
        usage,
        bool(sandbox.get("available")) if type(sandbox) is dict else None,
    )


def _session_end(_value: Any) -> m.SessionEndFrame:
    return m.SessionEndFrame()


_READERS: Final[dict[str, Callable[[Any], m.PeerFrame]]] = {
    "stepUpdate": _step,
    "trajectoryStateUpdate": _state,
    "usageUpdate": _usage_update,
    "toolCall": _tool_call,
    "callHookRequest": _hook,
    "policyDecisionRequest": _policy,
    "initializeConversationResponse": _init,
    "sessionEndResponse": _session_end,
}


# ── values ──────────────────────────────────────────────────────────────────────────────────────


def _str(value: Any) -> str:
    if type(value) is str:
        return value
    return "" if value is None else str(value)


def _int(value: Any) -> int | None:
    """Return an integer that came as a number or, as 64-bit ones do, as a decimal string."""
    if type(value) is int:
        return value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _name(value: Any, known: Mapping[str | int, str], kind: str) -> str:
    """Return the name of an enum value that came as a name or as a number."""
    if type(value) is str or type(value) is int:
        name = known.get(value)
        if name is not None:
            return name
    unknown = _str(value)
    if unknown:
        drift.note(kind, unknown)
    return unknown


def _object(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {"value": value}


def _request_id(value: Any) -> str:
    if type(value) is not dict:
        return ""
    return _str(value.get("requestId"))


def _unreadable(data: bytes | str) -> m.UnknownFrame:
    start = data[:_READABLE]
    text = start.decode("utf-8", "replace") if isinstance(start, bytes) else start
    drift.note("Frame", "unreadable")
    return m.UnknownFrame("unreadable", {"start": text, "length": len(data)})


def _camel_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event in protobuf's other JSON spelling, snake_case, as camelCase."""
    spelled: dict[str, Any] = {}
    for key, value in event.items():
        name = _camel_name(key)
        if name in _READERS or name in _ENVELOPE:
            spelled[name] = _camel(value)
        else:
            spelled[key] = value
    return spelled


def _camel(value: Any) -> Any:
    if type(value) is dict:
        return {_camel_name(key): _camel(member) for key, member in value.items()}
    if type(value) is list:
        return [_camel(member) for member in value]
    return value


def _camel_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)
