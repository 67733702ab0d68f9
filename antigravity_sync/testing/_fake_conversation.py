"""One conversation of the stand-in process: its steps, its usage, what a resume shows of them."""

from __future__ import annotations

import json
import os

from ._fake_wire import Message

_COUNTS = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


class Conversation:
    """Number the steps and build their frames as the real harness does.

    At most one step is open at a time: `thinking` and `delta` open it and let it grow, `step` sends
    it with other fields, `finish` closes it.

    Thread: the player of the WebSocket that opened it.
    """

    def __init__(self, conversation_id: str, path: str | None) -> None:
        self.id = conversation_id
        self.history: list[Message] = []
        self._path = path
        self._next_index = 0
        self._open: Message | None = None
        self._usage = dict.fromkeys(_COUNTS, 0)
        self._has_usage = False
        #: Whether it was there before, if only without steps.
        self.is_resumed = path is not None and os.path.exists(path)
        if path is not None and self.is_resumed:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    self._recall(json.loads(line))

    def create(self) -> None:
        """Make it exist for those who resume it later; an empty file would be a damaged one."""
        if not self.is_resumed:
            self._keep({"conversation": self.id})

    def _recall(self, entry: Message) -> None:
        if "usage" in entry:
            self._usage, self._has_usage = entry["usage"], True
        elif "step" in entry:
            self.history.append(entry["step"])
            self._next_index = entry["step"]["stepIndex"] + 1

    def _keep(self, entry: Message) -> None:
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    # ── steps ───────────────────────────────────────────────────────────────────────────────────

    def step(self, fields: Message) -> Message:
        """Return a stepUpdate with `fields`; unless they say otherwise it is the open step's.

        A terminal state closes the step; any other opens one if there is none. A `text` without
        `textDelta` gets the delta the real harness would send with it.
        """
        if "stepIndex" in fields or "trajectoryId" in fields:
            self.advance(fields)
            return {"stepUpdate": {**self._blank(self._next_index), **fields}}
        step = self._open if self._open is not None else self._blank(self._next_index)
        deltas = {name: _delta(step[name[:-5]], name, fields) for name in _DELTAS}
        step = {**step, **deltas, **fields}
        if self._open is None:
            self._next_index += 1
        self._open = step
        if step["state"] in ("STATE_DONE", "STATE_ERROR"):
            self._close()
        return {"stepUpdate": step}

    def grow(self, *, text: str = "", thinking: str = "") -> Message:
        """Return the ACTIVE frame that adds `text` and `thinking` to the open step."""
        step = self._open or self._blank(self._next_index)
        return self.step({"text": step["text"] + text, "thinking": step["thinking"] + thinking})

    def finish(self) -> Message:
        """Return the DONE frame of the open step, or of an empty one."""
        return self.step({"state": "STATE_DONE"})

    def halt(self) -> Message | None:
        """Return the DONE frame of an open text step; a call that is halted never ends."""
        if self._open is not None and self._open["target"] == "TARGET_USER":
            return self.finish()
        self._open = None
        return None

    def echo(self, prompt: str, source: str) -> Message:
        """Return the step that shows an input; a step left open before stays unfinished."""
        self._open = None
        return self.step(
            {"state": "STATE_DONE", "source": source, "target": "TARGET_MODEL", "text": prompt}
        )

    def advance(self, step: Message) -> None:
        """Count past a step that a script numbered itself."""
        index = step.get("stepIndex")
        if isinstance(index, int) and step.get("trajectoryId", self.id) in (self.id, "$C"):
            self._next_index = max(self._next_index, index + 1)

    def _close(self) -> None:
        if self._open is not None:
            kept = {**self._open, "textDelta": self._open["text"]}
            kept["thinkingDelta"] = kept["thinking"]
            self._open = None
            self.history.append(kept)
            self._keep({"step": kept})

    def _blank(self, index: int) -> Message:
        return {
            "cascadeId": self.id,
            "trajectoryId": self.id,
            "stepIndex": index,
            "state": "STATE_ACTIVE",
            "source": "SOURCE_MODEL",
            "target": "TARGET_USER",
            "thinking": "",
            "textDelta": "",
            "thinkingDelta": "",
            "text": "",
        }

    # ── usage and resume ────────────────────────────────────────────────────────────────────────

    def add_usage(self, counts: dict[str, int]) -> Message:
        """Return the usageUpdate after one more model reply; the totals run over the session."""
        for name, count in counts.items():
            self._usage[name] += count
        self._has_usage = True
        self._keep({"usage": self._usage})
        total = self._rendered_usage()
        agent = {"trajectoryId": self.id, "usage": total}
        return {"usageUpdate": {"agents": [agent], "total": total}}

    def _rendered_usage(self) -> Message:
        return {name: str(count) for name, count in self._usage.items()}

    def opening(self) -> Message:
        """Return the first frame of its WebSocket."""
        response: Message = {"cascadeId": self.id}
        if self.history:
            response["history"] = list(self.history)
        if self._has_usage:
            usage = self._rendered_usage()
            response["cumulativeUsage"] = usage
            response["trajectoryUsage"] = [{"trajectoryId": self.id, "usage": usage}]
        return {"initializeConversationResponse": response}


_DELTAS = ("textDelta", "thinkingDelta")


def _delta(before: str, name: str, fields: Message) -> str:
    after = fields.get(name[:-5], before)
    return str(after[len(before) :] if after.startswith(before) else after)
