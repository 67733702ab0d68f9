"""What a person sees of a turn: as plain text, or with `rich` where that is installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Final

from ..events import (
    Compacted,
    Denied,
    ErrorRaised,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolAction,
    ToolCallDispatched,
    ToolCallFinished,
    UsageUpdated,
)
from ..responses import ChatResponse
from .outcome import to_line
from .say import harmless, write

_MAX_ARGS: Final = 200


class Display:
    """Plain text on standard output; subclasses make it nicer.

    Attributes:
        tokens: Of the conversation so far, as far as they were told.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self._began = time.monotonic()
        self._is_mid_line = False

    # ── a turn ──────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Take in that a turn begins."""
        self._began = time.monotonic()
        self.wait()

    def event(self, event: Event) -> None:
        """Show what has come; what is a subagent's is shown indented, its text is not."""
        match event:
            case TextDelta(text=text) if event.is_main:
                self.text(text)
            case ThinkingDelta(text=text) if event.is_main:
                self.thought(text)
            case ToolAction(action=action, decision=decision):
                reason = decision.reason if isinstance(decision, Denied) else None
                self.tool(call_of(action.name, action.args), reason, is_main=event.is_main)
            case ToolCallDispatched(name=name, args=args):
                self.tool(call_of(name, args), None, is_main=event.is_main)
            case ToolCallFinished(name=name, error=error) if error:
                self.error(f"{name}: {error}")
            case UsageUpdated(usage=usage):
                self.tokens = usage.total_tokens or self.tokens
            case Compacted():
                self.note("the history was shortened")
            case ErrorRaised(message=message):
                self.error(message)
            case _:
                pass

    def end(self, response: ChatResponse) -> None:
        """Take in that a turn has ended."""
        self.note(f"{self.progress()} · {len(response.tool_calls)} tool calls")

    def progress(self) -> str:
        """Return how long the turn has taken, and the tokens."""
        return f"{time.monotonic() - self._began:.1f} s · {self.tokens:,} tokens"

    # ── parts; `wait` and `tick` show nothing here ──────────────────────────────────────────────

    def wait(self) -> None:
        """Show that something is waited for."""

    def tick(self) -> None:
        """Take in that time has passed."""

    def text(self, text: str) -> None:
        """Show a piece of an answer."""
        self._put(text)

    def thought(self, text: str) -> None:
        """Show a piece of thinking; plain text cannot tell it from the answer, so it has none."""

    def tool(self, call: str, denied: str | None, *, is_main: bool) -> None:
        """Show a tool call and whether it was let run: `denied` is why not."""
        indent = "" if is_main else "    "
        verdict = "allowed" if denied is None else f"denied: {denied}"
        self.note(f"{indent}{call} — {verdict}")

    def note(self, line: str) -> None:
        """Show a line about the turn."""
        self.fresh_line()
        self._put(f"[{line}]\n")

    def error(self, line: str) -> None:
        """Show that something failed."""
        self.fresh_line()
        self._put(f"error: {line}\n")

    def fresh_line(self) -> None:
        """End the line that is begun, if one is."""
        if self._is_mid_line:
            self._put("\n")

    def ask(self, words: str) -> str:
        """Return a line that the person types.

        Raises:
            EOFError: There is no more input.
            KeyboardInterrupt: Ctrl-C.
        """
        self.fresh_line()
        sys.stdout.flush()
        return input(words)

    def close(self) -> None:
        """Leave the terminal as it was."""

    def _put(self, text: str) -> None:
        if text:
            write(harmless(text))
            self._is_mid_line = not text.endswith("\n")


def call_of(name: str, args: Mapping[str, object]) -> str:
    """Return a tool call as one short line."""
    shown = to_line(dict(args))
    return f"{name} {shown if len(shown) <= _MAX_ARGS else shown[:_MAX_ARGS] + '…'}"
