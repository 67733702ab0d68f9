"""The models an agent uses, in the first message, and which harnesses can do what they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..errors import ConfigError
from ..models import Endpoint, OpenAICompatible, Vertex
from ..subagents import offered_tools
from .dialect import Dialect


def check_models(config: AgentConfig, dialect: Dialect) -> None:
    """Refuse what this release cannot do.

    Raises:
        ConfigError: The text model asks for it.
    """
    endpoint = config.text_model().endpoint
    if endpoint is None or isinstance(endpoint, OpenAICompatible):
        return
    if endpoint.service_tier is not None and not dialect.knows("GeminiModelOptions", "serviceTier"):
        raise ConfigError(
            f"harness {dialect.version} does not know a service_tier; use 0.1.10 or newer, or "
            "leave it out"
        )
    if isinstance(endpoint, Vertex):
        _check_vertex(endpoint, dialect)


def _check_vertex(endpoint: Vertex, dialect: Dialect) -> None:
    if endpoint.api_key and not dialect.knows("VertexEndpoint", "apiKey"):
        raise ConfigError(
            f"harness {dialect.version} does not take an api_key for Vertex; use 0.1.11 or newer, "
            "or a project and a location with the credentials of its machine"
        )
    if not endpoint.base_url or dialect.spares_vertex_base_url:
        return
    if not endpoint.api_key:
        raise ConfigError(
            f"harness {dialect.version} would look up the Google credentials of its machine and "
            "send their token to the base_url of Vertex; use 0.1.14 or newer, or an api_key"
        )
    if endpoint.project:
        raise ConfigError(
            f"harness {dialect.version} takes an api_key for Vertex, or a project and a location; "
            "use 0.1.14 or newer, or leave one out"
        )


def model_caveats(config: AgentConfig, dialect: Dialect) -> Iterator[str]:
    """Yield what will not be as the user may think."""
    if not isinstance(config.text_model().endpoint, OpenAICompatible):
        return
    if not dialect.returns_openai_calls:
        yield (
            f"harness {dialect.version} does not show an OpenAICompatible model the tools it has "
            "called, only their results; use 0.1.10 or newer"
        )
    if BuiltinTool.GENERATE_IMAGE in offered_tools(config.capabilities, config.subagents):
        yield "an OpenAICompatible model cannot draw; every call of generate_image will fail"


def render_models(config: AgentConfig, api_key: str, dialect: Dialect) -> list[dict[str, Any]]:
    """Return `models`.

    Raises:
        ConfigError: This release cannot do what one of them asks for.
    """
    check_models(config, dialect)
    text = config.text_model()
    rendered = [_model(text.name, text.types, _endpoint(text.endpoint, api_key))]
    image = config.image_model()
    if image is not None:
        # A harness takes the text model's endpoint whatever is said here: say the same.
        endpoint = _endpoint(text.endpoint, api_key)
        for kind in endpoint.values():
            kind.pop("options", None)
        rendered.append(_model(image.name, image.types, endpoint))
    return rendered


def _model(name: str, types: Any, endpoint: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "types": [f"MODEL_TYPE_{one.upper()}" for one in types], **endpoint}


def _endpoint(wanted: Endpoint | None, api_key: str) -> dict[str, Any]:
    if isinstance(wanted, OpenAICompatible):
        return {"gemmaEndpoint": {"baseUrl": wanted.base_url}}
    if wanted is None:
        return {}
    fields: dict[str, Any] = {"apiKey": api_key, "baseUrl": wanted.base_url}
    if isinstance(wanted, Vertex):
        fields |= {"project": wanted.project, "location": wanted.location}
    fields["httpHeaders"] = dict(wanted.headers)
    options = {"thinkingLevel": wanted.thinking_level, "serviceTier": wanted.service_tier}
    fields["options"] = {name: value for name, value in options.items() if value is not None}
    given = {name: value for name, value in fields.items() if value}
    return {"vertexEndpoint" if isinstance(wanted, Vertex) else "geminiApiEndpoint": given}
