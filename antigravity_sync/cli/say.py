"""What the command prints: results on standard output, words for people on standard error."""

from __future__ import annotations

import io
import sys
from typing import Final

PROGRAM: Final = "antigravity-sync"


def say(line: str) -> None:
    """Print a line for people."""
    print(f"{PROGRAM}: {line}", file=sys.stderr, flush=True)


def write(text: str) -> None:
    """Print a part of the result."""
    sys.stdout.write(text)
    sys.stdout.flush()


def be_lenient() -> None:
    """Have both outputs replace what their encoding lacks: a cron job's may have little."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def harmless(text: str) -> str:
    """Return `text` without what would steer a terminal; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
