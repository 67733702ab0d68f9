"""How a turn went, for machines and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from ..errors import AntigravityError, LaunchError, SessionLostError
from ..events import Finished
from ..responses import ChatResponse, Denied, ToolCall
from .exits import Exit


@attrs.frozen
class Outcome:
    """How a turn went.

    Attributes:
        code: The exit code.
        response: What it left, the partial one of a turn that failed; `None` if nothing.
        error: Why it failed, `None` if it did not.
        message: The same as a line for people, `""` if all is well.
        conversation_id: The conversation, `""` if none was opened.
    """

    code: Exit
    response: ChatResponse | None = None
    error: AntigravityError | None = None
    message: str = ""
    conversation_id: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return it as plain JSON."""
        found: dict[str, object] = {
            "ok": self.code is Exit.OK,
            "exit_code": int(self.code),
            "conversation_id": self.conversation_id,
            "error": _error(self),
        }
        response = self.response or ChatResponse()
        plain = Finished(response).to_dict()["response"]
        return {**plain, **found, "tool_calls": [_call(call) for call in response.tool_calls]}


def to_line(value: Mapping[str, object]) -> str:
    """Return plain JSON as one line of ASCII."""
    return json.dumps(value, default=str)


def denied_calls(response: ChatResponse) -> list[str]:
    """Return a line for each tool call that was denied."""
    return [
        f"{call.name} was denied: {call.decision.reason or 'no reason given'}"
        for call in response.tool_calls
        if isinstance(call.decision, Denied)
    ]


def complaint(response: ChatResponse) -> str:
    """Return what keeps a turn that returned from being a whole one, `""` if nothing does."""
    if response.cancelled:
        return "the turn was halted"
    if response.stop_reason:
        return f"the turn was stopped: {response.stop_reason}; what there is may be half an answer"
    if response.incomplete:
        return "the end of the answer never came; ask again"
    if response.pending_tasks:
        names = ", ".join(
            str(task.args.get("command_line", task.name)) for task in response.pending_tasks
        )
        return f"commands still ran in the background and were ended: {names}"
    return "; ".join(denied_calls(response))


def _error(outcome: Outcome) -> dict[str, object] | None:
    error = outcome.error
    if error is None:
        return {"type": outcome.code.name, "message": outcome.message} if outcome.message else None
    facts: dict[str, object] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, LaunchError | SessionLostError) and error.stderr_tail:
        facts["stderr_tail"] = error.stderr_tail
    return facts


def _call(call: ToolCall) -> dict[str, object]:
    plain: dict[str, object] = attrs.asdict(call)
    is_denied = isinstance(call.decision, Denied)
    reason = call.decision.reason if isinstance(call.decision, Denied) else ""
    return {**plain, "decision": {"allowed": not is_denied, "reason": reason}}
