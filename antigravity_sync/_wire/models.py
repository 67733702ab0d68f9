"""The models an agent uses, in the first message."""

from __future__ import annotations

from typing import Any

from ..config import AgentConfig
from ..errors import ConfigError
from .dialect import Dialect


def check_models(config: AgentConfig, dialect: Dialect) -> None:
    """Refuse what this release cannot do.

    Raises:
        ConfigError: The text model asks for it.
    """
    tier = config.text_model().endpoint.service_tier
    known, _ = dialect.filter("GeminiModelOptions", {"serviceTier": tier})
    if tier is not None and not known:
        raise ConfigError(
            f"harness {dialect.version} does not know a service_tier; use 0.1.10 or newer, or "
            "leave it out"
        )


def render_models(config: AgentConfig, api_key: str, dialect: Dialect) -> list[dict[str, Any]]:
    """Return `models`.

    Raises:
        ConfigError: This release cannot do what one of them asks for.
    """
    check_models(config, dialect)
    model = config.text_model()
    wanted = model.endpoint
    endpoint: dict[str, Any] = {"apiKey": api_key}
    if wanted.base_url:
        endpoint["baseUrl"] = wanted.base_url
    if wanted.headers:
        endpoint["httpHeaders"] = dict(wanted.headers)
    options = {"thinkingLevel": wanted.thinking_level, "serviceTier": wanted.service_tier}
    given = {name: value for name, value in options.items() if value is not None}
    if given:
        endpoint["options"] = given
    return [{"name": model.name, "types": ["MODEL_TYPE_TEXT"], "geminiApiEndpoint": endpoint}]
