"""What a check has found."""

from __future__ import annotations

import enum

import attrs


class Level(enum.Enum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Agents run, and something will surprise somebody."""
    FAILURE = "failure"
    """Agents do not run, or cannot do their work."""


@attrs.frozen
class Finding:
    """What one check has found.

    Attributes:
        check: What was looked at: `packages`, `home`, `clock`, `save_dir`, `proxy`, `credentials`,
            `harness`, `runs`, `start`, `tools`, `turn` or `close`.
        level: How bad it is.
        message: What was found, without a credential.
        advice: What to do about it, `""` if nothing.
    """

    check: str
    level: Level
    message: str
    advice: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as plain JSON."""
        return {
            "check": self.check,
            "level": self.level.value,
            "message": self.message,
            "advice": self.advice,
        }


def ok(check: str, message: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, advice: str) -> Finding:
    """Return something that will surprise somebody."""
    return Finding(check, Level.WARNING, message, advice)


def failure(check: str, message: str, advice: str) -> Finding:
    """Return something without which agents do not run."""
    return Finding(check, Level.FAILURE, message, advice)


def failed(check: str, error: Exception) -> Finding:
    """Return the failure that an error tells of; its sentence ends in what to do."""
    said, _, advice = str(error).partition("; ")
    return Finding(check, Level.FAILURE, said, advice)
