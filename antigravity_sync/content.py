"""What a prompt may be, and how it is made fit for the wire."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .errors import ConfigError

if TYPE_CHECKING:
    from ._messages import PromptPart

#: Control characters the harness would turn into spaces anyway; tab and line ends stay (LIVE 21).
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def prompt_parts(prompt: str) -> tuple[PromptPart, ...]:
    """Return a prompt as wire parts.

    Raises:
        ConfigError: It is empty, no string, or holds a lone surrogate, which the harness would drop
            without a word.
    """
    from ._messages import TextPart  # only by now are the wire's values needed: see `Agent.start`

    if not isinstance(prompt, str):
        raise ConfigError(f"a prompt is a string, not {type(prompt).__name__}")
    if not prompt.strip():
        raise ConfigError("the prompt is empty; say something")
    if _SURROGATE.search(prompt):
        raise ConfigError(
            "the prompt holds a lone surrogate, which is no text; decode its source as UTF-8"
        )
    return (TextPart(_CONTROLS.sub(" ", prompt)),)
