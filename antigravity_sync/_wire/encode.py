"""From a value to the JSON of one message, in the spelling of the harness's version."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from .. import _messages as m
from .dialect import Dialect

#: Made once: `json.dumps` with options makes one for each message.
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_PRE_TOOL = "LIFECYCLE_HOOK_PRE_TOOL"
_PRE_TURN = "LIFECYCLE_HOOK_PRE_TURN"
_STOP = "LIFECYCLE_HOOK_STOP"
_RESULT_OF = {_PRE_TOOL: "preToolResult", _PRE_TURN: "preTurnResult"}


def encode(message: m.ClientMessage, dialect: Dialect) -> str:
    """Return the text frame for `message`.

    A harness drops what it does not understand without a word (LIVE A1, A2), so every message is
    spelled for its version. So it does with half a surrogate pair, which an id of its own or a
    reason of a policy may contain: it becomes a question mark.
    """
    text = _JSON.encode(_event(message, dialect))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _event(message: m.ClientMessage, dialect: Dialect) -> dict[str, Any]:
    match message:
        case m.UserInput(parts=parts):
            return _user_input(parts, dialect)
        case m.Halt():
            return {"haltRequest": True}
        case m.HookAnswer():
            return {"callHookResponse": _hook_answer(message, dialect)}
        case m.PolicyAnswer(request_id=request_id, allowed=allowed, reason=reason):
            outcome = "ALLOW" if allowed else "DENY"
            answer = {
                "requestId": request_id,
                "outcome": f"POLICY_EVALUATION_OUTCOME_{outcome}",
            }
            return {"policyDecisionResponse": answer | ({"denyReason": reason} if reason else {})}
        case m.Confirmation(trajectory_id=trajectory_id, index=index, accepted=accepted):
            return {
                "toolConfirmation": {
                    "trajectoryId": trajectory_id,
                    "stepIndex": index,
                    "accepted": accepted,
                }
            }
        case m.ToolAnswer():
            return {"toolResponse": _tool_answer(message, dialect)}
        case m.QuestionsAnswer(trajectory_id=trajectory_id, index=index, answers=answers):
            said: dict[str, Any] = {"cancelled": True}
            if answers is not None:
                said = {"response": {"answers": [_question_answer(each) for each in answers]}}
            return {"questionResponse": {"trajectoryId": trajectory_id, "stepIndex": index} | said}
        case m.AutomatedTrigger(text=text):
            return {"automatedTrigger": text}
        case m.EndSession():
            return {"sessionEndRequest": True}


def _user_input(parts: tuple[m.PromptPart, ...], dialect: Dialect) -> dict[str, Any]:
    if not dialect.user_input_is_text:
        return {"userInput": {"parts": [_part(part) for part in parts]}}
    if all(isinstance(part, m.TextPart) for part in parts):
        return {"userInput": "\n".join(p.text for p in parts if isinstance(p, m.TextPart))}
    return {"complexUserInput": {"parts": [_part(part) for part in parts]}}


def _part(part: m.PromptPart) -> dict[str, Any]:
    match part:
        case m.TextPart(text=text):
            return {"text": text}
        case m.MediaPart(mime_type=mime_type, data=data, description=description):
            media = {"mimeType": mime_type, "data": base64.b64encode(data).decode("ascii")}
            return {"media": media | ({"description": description} if description else {})}
        case m.SlashPart(name=name):
            return {"slashCommand": {"name": name}}


def _question_answer(answer: m.WireAnswer) -> dict[str, Any]:
    if not answer.choices and answer.freeform is None:
        return {"unanswered": True}
    picked: dict[str, Any] = {"selectedChoiceIndices": list(answer.choices)}
    if answer.freeform is not None:
        picked["freeformResponse"] = answer.freeform
    return {"multipleChoiceAnswer": picked}


def _hook_answer(message: m.HookAnswer, dialect: Dialect) -> dict[str, Any]:
    answer: dict[str, Any] = {"requestId": message.request_id}
    if message.error_text is not None:
        return answer | {"onToolErrorResult": {"customErrorMessage": message.error_text}}
    if message.type == _STOP and message.reason:
        return answer | {"stopResult": {"decision": "CONTINUE", "reason": message.reason}}
    result = _RESULT_OF.get(message.type)
    if result is None or message.allowed is None:
        return answer | {"emptyResult": {}}
    decision: dict[str, Any] = {"decision": "ALLOW" if message.allowed else "DENY"}
    if message.reason:
        decision["reason"] = message.reason
    if message.arguments is not None:
        if dialect.rewrites_with_struct:
            decision["modifiedArgs"] = _struct(message.arguments)
        else:
            decision["modifiedArgumentsJson"] = json.dumps(message.arguments)
    return answer | {result: decision}


def _struct(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as the harness's own `Struct`, which is not protobuf's well-known one."""
    return {"fields": [{"name": name, "value": _value(item)} for name, item in members.items()]}


def _value(item: Any) -> dict[str, Any]:
    if item is None:
        return {"nullValue": None}
    if isinstance(item, bool):
        return {"boolValue": item}
    if isinstance(item, (int, float)):
        return {"numberValue": item}
    if isinstance(item, str):
        return {"stringValue": item}
    if isinstance(item, Mapping):
        return {"structValue": _struct(item)}
    return {"listValue": {"values": [_value(each) for each in item]}}


def _tool_answer(message: m.ToolAnswer, dialect: Dialect) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": message.call_id}
    if message.error:
        if dialect.has_error_message:
            return answer | {"errorMessage": message.error}
        return answer | {"responseJson": json.dumps({"error": message.error})}
    answer["responseJson"] = message.result_json
    if message.media:
        answer["supplementalMedia"] = [_part(part)["media"] for part in message.media]
    return answer
