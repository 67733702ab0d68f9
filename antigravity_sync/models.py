"""Which models an agent uses and where they are reached, and how failures of calls are retried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

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
#: The model that draws, for an agent that may draw, unless told otherwise.
DEFAULT_IMAGE_MODEL: Final = "gemini-3.1-flash-lite-image"

#: What a model can be used for.
_TYPES: Final = ("text", "image")


def _headers(value: Mapping[str, str]) -> Mapping[str, str]:
    headers: Mapping[str, str] = own_dict(value)
    return headers


@attrs.frozen(kw_only=True)
class _GoogleEndpoint:
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


@attrs.frozen(kw_only=True)
class Gemini(_GoogleEndpoint):
    """The Gemini API.

    Attributes:
        api_key: Its key; `None` uses the agent's, then `GEMINI_API_KEY`.
        base_url: Another address that speaks the same protocol, without `/v1beta`.
        headers: Extra HTTP headers.
        thinking_level: How much the model thinks, such as `"low"`; `None` leaves it to the model.
        service_tier: Such as `"flex"`; `None` is the service's own choice. Needs harness 0.1.10.
    """


@attrs.frozen(kw_only=True)
class Vertex(_GoogleEndpoint):
    """Vertex AI: with a key (Express mode), or with a project, a location and credentials.

    Without a key the harness looks up the Application Default Credentials of its machine, as
    `gcloud auth application-default login` or `GOOGLE_APPLICATION_CREDENTIALS` give them. With a
    `base_url` it looks up nothing and sends no token: what that address wants goes into `headers`
    or `api_key`. Harnesses before 0.1.14 would send it the token, so there a `base_url` without a
    key is refused.

    Attributes:
        project: Google Cloud project; with neither key nor `base_url`, `None` uses
            `GOOGLE_CLOUD_PROJECT`.
        location: Such as `"global"` or `"us-central1"`; likewise `GOOGLE_CLOUD_LOCATION`.
        api_key: Key of Express mode, which needs neither of them; `None` uses the agent's. Needs
            harness 0.1.11.
        base_url: Another address that speaks the same protocol, without `/v1beta1`.
        headers: Extra HTTP headers.
        thinking_level: How much the model thinks, such as `"low"`; `None` leaves it to the model.
        service_tier: Such as `"flex"`; `None` is the service's own choice. Needs harness 0.1.10.
    """

    project: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_text)
    )
    location: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_text)
    )


def _root(value: str) -> str:
    """Convert the address of an API to that of its server: the harness itself adds `/v1`."""
    is_text = isinstance(value, str)
    return value.strip().rstrip("/").removesuffix("/v1").rstrip("/") if is_text else value


@attrs.frozen
class OpenAICompatible:
    """A server that speaks the chat completions protocol, such as one on this machine.

    It is sent no key and no header of yours, cannot draw, and its failures are not retried. Needs
    harness 0.1.10 to be useful with tools: before, the model does not see its own calls. Token
    counts come from 0.1.22 on.

    Attributes:
        base_url: Its address, such as `"http://127.0.0.1:8080"`, with or without `/v1`.
    """

    base_url: str = attrs.field(converter=_root, validator=check_url)


#: Where a model is reached.
Endpoint: TypeAlias = Gemini | Vertex | OpenAICompatible


def _types(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_types(_owner: object, _field: object, value: Iterable[str]) -> None:
    types = list(value)
    if not types or len(set(types)) < len(types) or not set(types) <= set(_TYPES):
        raise ConfigError(f'types of a model are "text", "image" or both, not {types!r}')


@attrs.frozen
class Model:
    """A model by name, and where it is reached.

    Attributes:
        name: As its service calls it.
        endpoint: Where it is reached; `None` is the Gemini API with the agent's `api_key` and
            `base_url`, or Vertex AI if `GOOGLE_GENAI_USE_VERTEXAI` is `true` or `1` and the agent
            has no `base_url`. An image model is always reached as the text model is: leave it out.
        types: `"text"` for the model that the agent talks to, `"image"` for the one that draws, or
            both.
    """

    name: str = attrs.field(default=DEFAULT_MODEL, validator=check_text)
    endpoint: Endpoint | None = attrs.field(
        default=None, validator=optional(check_type(Gemini, Vertex, OpenAICompatible))
    )
    types: Iterable[str] = attrs.field(
        default=("text",), kw_only=True, converter=_types, validator=_check_types
    )

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
