"""Which model answers, and how failures of its calls are retried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from attrs.validators import optional

from ._checks import (
    check_count,
    check_headers,
    check_number,
    check_text,
    check_type,
    check_url,
    own_dict,
    stripped,
)
from .errors import ConfigError

#: The text model an agent talks to unless told otherwise.
DEFAULT_MODEL: Final = "gemini-3.6-flash"


def _headers(value: Mapping[str, str]) -> Mapping[str, str]:
    headers: Mapping[str, str] = own_dict(value)
    return headers


@attrs.frozen(kw_only=True)
class Gemini:
    """The Gemini API.

    Attributes:
        api_key: Its key; `None` uses the agent's, then `GEMINI_API_KEY`.
        base_url: Another address that speaks the same protocol.
        headers: Extra HTTP headers.
        thinking_level: How much the model thinks, such as `"low"`; `None` leaves it to the model.
        service_tier: Such as `"flex"`; `None` is the service's own choice. Needs harness 0.1.10.
    """

    api_key: str | None = attrs.field(
        default=None, repr=False, converter=stripped, validator=optional(check_text)
    )
    base_url: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_url)
    )
    headers: Mapping[str, str] = attrs.field(
        factory=dict, repr=False, converter=_headers, validator=check_headers
    )
    thinking_level: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_text)
    )
    service_tier: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_text)
    )


@attrs.frozen
class Model:
    """A model by name, and where it is reached."""

    name: str = attrs.field(default=DEFAULT_MODEL, validator=check_text)
    endpoint: Gemini = attrs.field(factory=Gemini, validator=check_type(Gemini))

    def __attrs_post_init__(self) -> None:
        if not self.name.strip():
            raise ConfigError("a model needs a name")


@attrs.frozen(kw_only=True)
class Retry:
    """How the harness retries model calls that fail (0.1.8 and newer; older ones try three times).

    Attributes:
        max_retries: Further tries after a call that failed.
        first_delay: Seconds before the first of them.
        multiplier: Factor from one delay to the next.
        max_output_retries: Further tries after an answer that cannot be used.
    """

    max_retries: int = attrs.field(default=3, validator=check_count)
    first_delay: float = attrs.field(default=1.0, validator=check_number)
    multiplier: float = attrs.field(default=2.0, validator=check_number)
    max_output_retries: int = attrs.field(default=2, validator=check_count)
