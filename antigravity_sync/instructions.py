"""What an agent is told before any prompt."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import attrs

from ._checks import check_text
from .errors import ConfigError

#: A section as the user gives it: its text, or its title and its text.
Section: TypeAlias = "str | tuple[str, str]"
_Pairs: TypeAlias = "tuple[tuple[str, str], ...]"

#: The harness writes titles as tags around the text.
_TITLE: Final = re.compile(r"[^<>/\x00-\x1f\x7f-\x9f]+")


def _sections(given: tuple[Section, ...]) -> tuple[tuple[str, str], ...]:
    return tuple(_section(each) for each in given)


def _section(given: object) -> tuple[str, str]:
    title, text = ("", given) if isinstance(given, str) else _pair(given)
    if not text.strip():
        raise ConfigError("a section of the system instructions is empty; leave it out")
    if title and (not title.strip() or not _TITLE.fullmatch(title)):
        raise ConfigError(f"a section's title is one line without < > /, not {title!r}; change it")
    return title, text


def _pair(given: object) -> tuple[str, str]:
    if isinstance(given, (tuple, list)) and len(given) == 2:
        title, text = given
        if isinstance(title, str) and isinstance(text, str):
            return title, text
    raise ConfigError(f"a section is a text, or a pair of title and text, not {given!r:.200}")


def _check_sections(owner: object, field: attrs.Attribute[_Pairs], value: _Pairs) -> None:
    for title, text in value:
        check_text(owner, field, title + text)


@attrs.frozen
class SystemInstructions:
    """The system instructions of an agent: instead of the harness's own, or in addition to them.

    Make it with `replace` or `append`.

    Attributes:
        text: What replaces the harness's instructions, `None` to keep them.
        sections: What is added to them, as pairs of title and text; a title may be `""`.
    """

    text: str | None = attrs.field(default=None, validator=attrs.validators.optional(check_text))
    sections: tuple[tuple[str, str], ...] = attrs.field(
        default=(), converter=_sections, validator=_check_sections
    )

    def __attrs_post_init__(self) -> None:
        if (self.text is None) == (not self.sections):
            raise ConfigError(
                "system instructions either replace or append; use "
                "SystemInstructions.replace(text) or SystemInstructions.append(*sections)"
            )

    @classmethod
    def replace(cls, text: str) -> SystemInstructions:
        """Return instructions that stand alone, as a plain string in the configuration does.

        The harness's own are gone then, with all that they say about tools and ways of working.

        Raises:
            ConfigError: It is no text.
        """
        return cls(text)

    @classmethod
    def append(cls, *sections: Section) -> SystemInstructions:
        """Return instructions that follow the harness's own.

        Args:
            sections: Texts, or pairs of title and text.

        Raises:
            ConfigError: There are none, one is empty, or a title cannot be one.
        """
        return cls(sections=sections)
