"""The terminal with `rich`: colours, a spinner, a progress bar. Imported at a terminal alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.status import Status

from .display import Display
from .say import harmless


class PrettyDisplay(Display):
    """Text as it comes, thoughts dimmed, a spinner with time and tokens while nothing comes."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._status: Status | None = None
        self._is_thinking = False

    def wait(self) -> None:
        """Start the spinner, unless a line is begun: it would stand in its middle."""
        if self._status is None and not self._is_mid_line:
            self._status = self._console.status(self.progress(), spinner="dots")
            self._status.start()

    def tick(self) -> None:
        """Let the spinner tell the time."""
        self.wait()
        if self._status is not None:
            self._status.update(self.progress())

    def text(self, text: str) -> None:
        """Show a piece of an answer."""
        if self._is_thinking:
            self.fresh_line()
        self._is_thinking = False
        self._put(text)

    def thought(self, text: str) -> None:
        """Show a piece of thinking, dimmed."""
        if not self._is_thinking:
            self.fresh_line()
        self._is_thinking = True
        self._put(text, "dim")

    def tool(self, call: str, denied: str | None, *, is_main: bool) -> None:
        """Show a tool call and whether it was let run."""
        self.fresh_line()
        self._put("● " if is_main else "    ● ", "green" if denied is None else "red")
        self._put(call, "cyan")
        self._put(" — allowed\n" if denied is None else f" — denied: {denied}\n", "dim")
        self.wait()

    def note(self, line: str) -> None:
        """Show a line about the turn, dimmed."""
        self.fresh_line()
        self._put(f"{line}\n", "dim")

    def error(self, line: str) -> None:
        """Show that something failed, in red."""
        self.fresh_line()
        self._put(f"{line}\n", "bold red")

    def ask(self, words: str) -> str:
        """Return a line that the person types; the spinner is gone meanwhile."""
        self.close()
        return super().ask(words)

    def close(self) -> None:
        """Stop the spinner."""
        status, self._status = self._status, None
        if status is not None:
            status.stop()

    def _put(self, text: str, style: str | None = None) -> None:
        if text:
            self.close()
            self._console.out(harmless(text), style=style, highlight=False, end="")
            self._is_mid_line = not text.endswith("\n")


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show a bar that moves, with the stage it is at, on standard error; call it for the next.

    How much there is to do nobody tells, so the bar does not fill before the end.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("looking", total=None)
        yield lambda line: progress.update(task, description=line)
