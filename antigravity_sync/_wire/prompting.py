"""What an agent is told before any prompt, and what of it the harness leaves to us.

The harness's own instructions name the workspaces and the skills, so text that is appended to them
needs neither. Where a text replaces them, the model would know of neither, and a note is added.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..config import AgentConfig, is_elsewhere
from ..instructions import SystemInstructions
from .dialect import Dialect

_SKILL_FILE: Final = "SKILL.md"
#: How much of such a file is looked through for what it says of itself.
_HEAD: Final = 4096
_DESCRIPTION: Final = re.compile(r"^description:[ \t]*(.*\S)[ \t]*$", re.MULTILINE)


def main_instructions(config: AgentConfig, dialect: Dialect) -> dict[str, Any] | None:
    """Return the agent's instructions as the harness takes them, `None` for its own alone.

    Blocks on the file system, if there are skills.
    """
    given = config.system_instructions
    skills = skills_note(config)
    if skills and not dialect.announces_skills:
        if given is None:
            given = SystemInstructions.append(skills)
        elif isinstance(given, SystemInstructions) and given.text is None:
            given = SystemInstructions.append(*given.sections, skills)
    return instructions(given, workspace_note(config), skills)


def instructions(given: str | SystemInstructions | None, *notes: str) -> dict[str, Any] | None:
    """Return instructions as the harness takes them.

    Args:
        given: The user's; they stay as they are.
        notes: What follows them where they replace the harness's own; `""` is none.
    """
    if given is None:
        return None
    wanted = SystemInstructions.replace(given) if isinstance(given, str) else given
    if wanted.text is not None:
        texts = [wanted.text, *(note for note in notes if note)]
        return {"custom": {"part": [{"text": text} for text in texts]}}
    sections = [
        {"title": title, "content": text} if title else {"content": text}
        for title, text in wanted.sections
    ]
    return {"appended": {"appendedSections": sections}}


def workspace_note(config: AgentConfig) -> str:
    """Return the note that names the workspaces, `""` if there is nothing to announce."""
    if not config.announce_workspaces:
        return ""
    return _note(
        "workspaces",
        "You work in these directories. Use absolute paths.",
        (str(path) for path in config.workspaces),
    )


def skills_note(config: AgentConfig) -> str:
    """Return the note that names the skills there are, `""` if there are none.

    Blocks on the file system.
    """
    return _note(
        "skills",
        "If a skill fits the task, read its file before you begin.",
        (
            line
            for path in config.skills_paths
            if not is_elsewhere(path)
            for line in _skills(str(path))
        ),
    )


def _note(tag: str, sentence: str, lines: Iterable[str]) -> str:
    listed = "\n".join(f"- {line}" for line in lines)
    return f"<{tag}>\n{sentence}\n{listed}\n</{tag}>" if listed else ""


def _skills(path: str) -> Iterator[str]:
    """Yield a line for each skill: the directory itself is one, or those in it are."""
    places = [path]
    if not os.path.isfile(os.path.join(path, _SKILL_FILE)):
        try:
            places = [os.path.join(path, name) for name in sorted(os.listdir(path))]
        except OSError:  # gone since it was checked
            return
    for place in places:
        file = os.path.join(place, _SKILL_FILE)
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                said = _DESCRIPTION.search(opened.read(_HEAD))
        except OSError:  # no skill
            continue
        yield f"{file}: {said[1]}" if said else file
