"""A connection's steps as frames of the wire, and messages of the wire as a connection's verbs.

So an `Agent` is the same whatever it talks to: only what it reads and writes is translated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from .._core.toolsteps import TOLD_ACTION
from .._wire.codec import COUNTERS
from ..content import Audio, Document, Image, Prompt, SlashCommand, Video
from ..errors import ToolDispatchError
from ..hooks import Decision, StopDecision
from ..questions import Answer, CancelQuestions, Question
from ..responses import Action, JsonObject, Step, Usage
from ._base import Connection
from ._requests import (
    ConfirmationRequest,
    HookRequest,
    RequestStep,
    ToolRequest,
)

_HOOK: Final = "LIFECYCLE_HOOK_"
_PRE_TOOL: Final = "on_pre_tool"
#: Hook, as a request names it → the wire's name of it.
_HOOK_TYPES: Final = {
    _PRE_TOOL: f"{_HOOK}PRE_TOOL",
    "policy": f"{_HOOK}PRE_TOOL",
    "on_post_tool": f"{_HOOK}POST_TOOL",
    "on_tool_error": f"{_HOOK}ON_TOOL_ERROR",
    "on_compaction": f"{_HOOK}ON_COMPACTION",
    "on_stop": f"{_HOOK}STOP",
}
#: How a harness marks the step that shows the model a program's message.
_TRIGGER: Final = "sender=automated_trigger"

_StepKey = tuple[str, int]


def frame(**event: Any) -> bytes:
    """Return an event of the wire; what has no JSON form shows its repr."""
    return json.dumps(event, ensure_ascii=False, default=repr).encode("utf-8", "replace")


@attrs.define
class Frames:
    """Makes the frames of one conversation.

    A connection may count its steps as it likes, and begin anew with each turn, so each step gets
    an index of ours.

    Attributes:
        main_id: The main trajectory.
    """

    main_id: str
    _indices: dict[_StepKey, int] = attrs.field(factory=dict)
    _texts: dict[_StepKey, tuple[str, str]] = attrs.field(factory=dict)
    _where: dict[_StepKey, _StepKey] = attrs.field(factory=dict)
    _tools: dict[str, str] = attrs.field(factory=dict)
    _count: int = 0
    _awaits_echo: bool = False
    _usage: Usage = attrs.field(factory=Usage)

    def begin(self, text: str, *, is_trigger: bool) -> list[bytes]:
        """Return the frames that begin a turn with what was said."""
        self._indices.clear()
        self._texts.clear()
        self._where.clear()
        self._tools.clear()
        self._awaits_echo = True
        shown = f"[Message] {_TRIGGER} content={text}" if is_trigger else text
        source = "SOURCE_SYSTEM" if is_trigger else "SOURCE_USER"
        echo = {
            "trajectoryId": self.main_id,
            "stepIndex": self._next_index(),
            "state": "STATE_DONE",
            "source": source,
            "target": "TARGET_MODEL",
            "text": shown,
        }
        return [self._state("STATE_RUNNING"), frame(stepUpdate=echo)]

    def end(self, usage: Usage, error: str = "", stop_reason: str | None = None) -> list[bytes]:
        """Return the frames that end a turn."""
        frames = []
        if usage not in (self._usage, Usage()):
            self._usage = usage
            counts = {theirs: getattr(usage, ours) for ours, theirs in COUNTERS}
            total = {name: count for name, count in counts.items() if count is not None}
            frames.append(frame(usageUpdate={"total": total}))
        frames.append(self._state("STATE_FULLY_IDLE", error, stop_reason or ""))
        return frames

    def step(self, step: Step) -> list[bytes]:
        """Return the frames that show a step, and ask what it asks."""
        if self._awaits_echo and step.is_main and _is_echo(step):
            self._awaits_echo = False
            return []
        if not isinstance(step, RequestStep):
            return [frame(stepUpdate=self._update(step))]
        request = step.request
        if isinstance(request, ToolRequest):
            self._tools[request.call_id] = request.name
            return [frame(toolCall=_tool_call(request, self._trajectory(step)))]
        if isinstance(request, HookRequest):
            return [frame(callHookRequest=self._hook(request, step))]
        update = self._update(step)
        if isinstance(request, ConfirmationRequest):
            update["toolConfirmationRequest"] = {}
            update.setdefault(TOLD_ACTION, {"name": request.name, "args": request.args})
        else:
            asked = [_raw_question(question) for question in request.questions]
            update["questionsRequest"] = {"questions": asked}
        update["state"] = "STATE_WAITING_FOR_USER"
        here = (update["trajectoryId"], update["stepIndex"])
        self._where[here] = (request.trajectory_id, request.step_index)
        return [frame(stepUpdate=update)]

    def origin(self, trajectory_id: str, index: int) -> _StepKey:
        """Return where a step that waits stands for the connection."""
        return self._where.get((trajectory_id, index), (trajectory_id, index))

    def tool_of(self, call_id: str) -> str:
        """Return the name of the tool that a call is of, `""` if that is not known."""
        return self._tools.get(call_id, "")

    def _state(self, state: str, error: str = "", stop_reason: str = "") -> bytes:
        update = {"trajectoryId": self.main_id, "state": state}
        if error:
            update["error"] = error
        if stop_reason:
            update["stopReason"] = f"STOP_REASON_{stop_reason}"
        return frame(trajectoryStateUpdate=update)

    def _next_index(self) -> int:
        self._count += 1
        return self._count - 1

    def _trajectory(self, step: Step) -> str:
        if step.is_main:
            return self.main_id
        other = step.trajectory_id
        return f"{other} of {self.main_id}" if other in ("", self.main_id) else other

    def _update(self, step: Step) -> dict[str, Any]:
        where = self._trajectory(step)
        key = (where, step.index)
        if step.index < 0 or key not in self._indices:
            self._indices[key] = self._next_index()
        text, thinking = self._texts.get(key, ("", ""))
        self._texts[key] = (step.text, step.thinking)
        update: dict[str, Any] = {
            "trajectoryId": where,
            "stepIndex": self._indices[key],
            "state": _prefixed("STATE_", step.state),
            "source": _prefixed("SOURCE_", step.source),
            "target": _prefixed("TARGET_", step.target),
            "text": step.text,
            "textDelta": _new(text, step.text),
            "thinking": step.thinking,
            "thinkingDelta": _new(thinking, step.thinking),
        }
        if step.error:
            update["errorMessage"] = step.error
        if step.http_code is not None:
            update["error"] = {"httpCode": step.http_code, "errorMessage": step.error}
        if step.action is not None:
            update[TOLD_ACTION] = _told(step.action)
        return {**step.extra, **update}

    def _hook(self, request: HookRequest, step: Step) -> dict[str, Any]:
        hook = _HOOK_TYPES.get(request.hook, f"{_HOOK}{request.hook.upper()}")
        args: dict[str, Any] = dict(request.args)
        if hook == _HOOK_TYPES[_PRE_TOOL]:
            args = {"argumentsJson": json.dumps(request.args, default=repr)}
        args |= {
            "toolName": request.name,
            "serverName": request.server_name,
            "callId": request.call_id,
            "trajectoryId": self._trajectory(step),
        }
        return {"requestId": request.request_id, "type": hook, "hookArgs": args}


def _is_echo(step: Step) -> bool:
    return step.source == "USER" or (step.source == "SYSTEM" and _TRIGGER in step.text)


def _prefixed(prefix: str, name: str) -> str:
    return f"{prefix}{name}" if name else ""


def _new(before: str, whole: str) -> str:
    return whole[len(before) :] if whole.startswith(before) else ""


def _told(action: Action) -> dict[str, Any]:
    told = attrs.asdict(action, recurse=False)
    return {name: value for name, value in told.items() if value not in (None, {})}


def _tool_call(request: ToolRequest, trajectory_id: str) -> dict[str, Any]:
    arguments = json.dumps(request.args, ensure_ascii=False, default=repr)
    return {
        "id": request.call_id,
        "name": request.name,
        "argumentsJson": arguments,
        "trajectoryId": trajectory_id,
    }


def _raw_question(question: Question) -> dict[str, Any]:
    if question.is_unknown_type:
        return dict(question.extra)
    asked = {
        "question": question.text,
        "choices": list(question.choices),
        "isMultiSelect": question.multi_select,
    }
    return {"multipleChoice": asked}


# ── from the agent to the connection ────────────────────────────────────────────────────────────


def answer(connection: Connection, event: JsonObject, frames: Frames) -> bool:
    """Pass an answer on to a connection; return `False` for an event that is none.

    Raises:
        Exception: Whatever the connection raises.
    """
    for name, passing in _ANSWERS.items():
        members = event.get(name)
        if isinstance(members, Mapping):
            passing(connection, dict(members), frames)
            return True
    return False


def _pass_tool_response(connection: Connection, said: JsonObject, frames: Frames) -> None:
    call_id, error = str(said.get("id", "")), said.get("errorMessage")
    if isinstance(error, str):
        failure = ToolDispatchError(error, name=frames.tool_of(call_id))
        connection.send_tool_response(call_id, failure)
        return
    result: object = json.loads(str(said.get("responseJson") or "{}"))
    if isinstance(result, dict) and result.keys() == {"result"}:
        result = result["result"]
    media = said.get("supplementalMedia")
    files = [_file(each) for each in media] if isinstance(media, list) else []
    if files:
        result = [result, *files]
    connection.send_tool_response(call_id, result)


def _pass_hook_response(connection: Connection, said: JsonObject, _frames: Frames) -> None:
    request_id = str(said.get("requestId", ""))
    result: object = None
    pre_tool, stop = said.get("preToolResult"), said.get("stopResult")
    on_error = said.get("onToolErrorResult")
    if isinstance(pre_tool, Mapping):
        reason = str(pre_tool.get("reason") or "")
        result = Decision(pre_tool.get("decision") == "ALLOW", None, reason)
        if any(name.startswith("modified") for name in pre_tool):
            result = Decision.deny("its arguments cannot be changed on this connection")
    elif isinstance(stop, Mapping):
        result = StopDecision.go_on(str(stop.get("reason") or ""))
    elif isinstance(on_error, Mapping):
        result = str(on_error.get("customErrorMessage") or "")
    connection.send_hook_response(request_id, result)


def _pass_confirmation(connection: Connection, said: JsonObject, frames: Frames) -> None:
    where, index = _origin(said, frames)
    connection.send_tool_confirmation(where, index, said.get("accepted") is True)


def _pass_answers(connection: Connection, said: JsonObject, frames: Frames) -> None:
    where, index = _origin(said, frames)
    response = said.get("response")
    answers: object = CancelQuestions()
    if isinstance(response, Mapping):
        answers = [_answer(each) for each in response.get("answers") or ()]
    connection.send_question_response(where, index, answers)


def _origin(said: JsonObject, frames: Frames) -> _StepKey:
    index = said.get("stepIndex")
    return frames.origin(str(said.get("trajectoryId", "")), index if isinstance(index, int) else 0)


def _answer(said: Mapping[str, Any]) -> Answer:
    picked = said.get("multipleChoiceAnswer")
    if not isinstance(picked, Mapping):
        return Answer()
    return Answer(picked.get("selectedChoiceIndices") or (), picked.get("freeformResponse"))


_ANSWERS: Final[dict[str, Callable[[Connection, JsonObject, Frames], None]]] = {
    "toolResponse": _pass_tool_response,
    "callHookResponse": _pass_hook_response,
    "toolConfirmation": _pass_confirmation,
    "questionResponse": _pass_answers,
}


def prompt_of(said: object) -> tuple[Prompt, str]:
    """Return a prompt of the wire as a connection takes it, and its words."""
    parts: list[Any] = []
    words: list[str] = []
    members = said.get("parts") if isinstance(said, Mapping) else None
    for part in members if isinstance(members, list) else ():
        if "text" in part:
            parts.append(part["text"])
            words.append(str(part["text"]))
        elif "slashCommand" in part:
            parts.append(SlashCommand(part["slashCommand"]["name"]))
            words.append(f"/{part['slashCommand']['name']}")
        else:
            parts.append(_file(part["media"]))
    return (parts[0] if len(parts) == 1 else parts), " ".join(words)


def _file(media: Mapping[str, Any]) -> Audio | Document | Image | Video:
    mime_type = str(media.get("mimeType", ""))
    data = base64.b64decode(str(media.get("data", "")))
    match mime_type.partition("/")[0]:
        case "audio":
            return Audio.from_bytes(data, mime_type)
        case "image":
            return Image.from_bytes(data, mime_type)
        case "video":
            return Video.from_bytes(data, mime_type)
        case _:
            return Document.from_bytes(data, mime_type)
