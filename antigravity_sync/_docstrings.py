"""What a docstring says about a function or class, and about each of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Final

import attrs

_SECTION: Final = re.compile(
    r"(args|arguments|parameters|params|attributes|keyword args|keyword arguments)\s*:\s*", re.I
)
#: `name: text`, `name (type): text`, `*names: text`.
_ENTRY: Final = re.compile(r"\*{0,2}`{0,2}(\w+)`{0,2}\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
#: `:param name: text`, `:param type name: text`, `:ivar name: text`.
_FIELD: Final = re.compile(r":(param|parameter|arg|argument|ivar)\s+(?:[^:]*\s)?\*{0,2}(\w+):(.*)$")


@attrs.frozen
class Docs:
    """What was found.

    Attributes:
        summary: The first paragraph, on one line.
        parameters: The text of each parameter, on one line.
    """

    summary: str = ""
    parameters: Mapping[str, str] = attrs.field(factory=dict)


def parse_docstring(docstring: str | None) -> Docs:
    """Return the parts of a docstring in Google's style or with `:param name:` fields."""
    if not docstring:
        return Docs()
    lines = inspect.cleandoc(docstring).splitlines()
    return Docs(_summary(lines), _entries(lines) | _fields(lines))


def _summary(lines: list[str]) -> str:
    found: list[str] = []
    for line in lines:
        if not line.strip() or _SECTION.fullmatch(line) or line.startswith(":"):
            break
        found.append(line)
    return " ".join(" ".join(found).split())


def _entries(lines: list[str]) -> dict[str, str]:
    """Return the parameters of an `Args:` section."""
    found: dict[str, str] = {}
    is_inside, indent, name = False, 0, ""
    for line in lines:
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            is_inside, indent, name = bool(_SECTION.fullmatch(line)), 0, ""
            continue
        if not is_inside:
            continue
        indent = indent or depth
        entry = _ENTRY.match(line.strip()) if depth <= indent else None
        if entry is not None:
            name = entry[1]
            found[name] = entry[2] or ""
        elif name and depth > indent:
            found[name] = f"{found[name]} {line.strip()}"
        else:
            name = ""
    return _tidy(found)


def _fields(lines: list[str]) -> dict[str, str]:
    """Return the parameters that have a `:param name:`."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        field = _FIELD.match(line.strip())
        if field is not None:
            name = field[2]
            found[name] = field[3]
        elif name and line.startswith((" ", "\t")):
            found[name] += f" {line}"
        else:
            name = ""
    return _tidy(found)


def _tidy(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in texts.items() if text.strip()}
