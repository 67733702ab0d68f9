"""Files as one release of the harness takes them."""

from __future__ import annotations

import attrs

from .._media_types import MEDIA_TYPES
from .._messages import MediaPart, PromptPart
from ..content import MAX_MEDIA_BYTES
from ..errors import ConfigError
from .dialect import Dialect


def fit(part: MediaPart, dialect: Dialect) -> MediaPart:
    """Return a file under a type that this harness passes on to the model.

    Raises:
        ConfigError: There is none.
    """
    if dialect.takes_media(part.mime_type):
        return part
    known = MEDIA_TYPES.get(part.mime_type)
    if known is not None and dialect.takes_media(known.instead):
        return attrs.evolve(part, mime_type=known.instead)
    newer = "no harness does" if known is None else f"{known.since} and newer do"
    raise ConfigError(
        f"harness {dialect.version} does not take files of type {part.mime_type} ({newer}); "
        "convert the file to another type"
    )


def fit_prompt(parts: tuple[PromptPart, ...], dialect: Dialect) -> tuple[PromptPart, ...]:
    """Return a prompt whose every file this harness takes.

    Raises:
        ConfigError: It takes one of them under no type.
    """
    return tuple(fit(part, dialect) if isinstance(part, MediaPart) else part for part in parts)


def fit_result(files: tuple[MediaPart, ...], dialect: Dialect) -> tuple[MediaPart, ...]:
    """Return the files of a tool's result as this harness takes them.

    Raises:
        ConfigError: It takes one of them under no type, or they are too many bytes: more than a
            prompt may hold end the turn here too, or are lost.
    """
    size = sum(len(part.data) for part in files)
    if size > MAX_MEDIA_BYTES:
        raise ConfigError(
            f"the files of the result are {size:,} bytes, more than the {MAX_MEDIA_BYTES:,} that "
            "reach the model; return less"
        )
    return tuple(fit(part, dialect) for part in files)
