"""What each model of an agent is for, and where it is reached, with everything left open filled in.

A harness has one endpoint, the text model's; of every other model it takes the name alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from .errors import ConfigError
from .models import DEFAULT_IMAGE_MODEL, Endpoint, Gemini, Model, OpenAICompatible, Vertex

_VERTEX_SWITCH: Final = "GOOGLE_GENAI_USE_VERTEXAI"
_PROJECT: Final = "GOOGLE_CLOUD_PROJECT"
_LOCATION: Final = "GOOGLE_CLOUD_LOCATION"


def as_model(value: str | Model | None) -> Model | None:
    """Return what is meant by a model or its name; what is neither is left to a check."""
    return Model(value) if isinstance(value, str) else value


def as_models(value: str | Model | Iterable[str | Model]) -> tuple[Model, ...]:
    """Return one or several models, given as such or by name.

    Raises:
        ConfigError: One is something else.
    """
    several = (value,) if isinstance(value, (str, Model)) else value
    if not isinstance(several, Iterable):
        raise ConfigError(f"models takes Model(...) or names, not {several!r}")
    made = []
    for one in several:
        model = as_model(one)
        if not isinstance(model, Model):
            raise ConfigError(f"models takes Model(...) or names, not {one!r}")
        made.append(model)
    return tuple(made)


@attrs.frozen
class ModelChoice:
    """An agent's models, and what it says about all of them.

    Attributes:
        model: The text model, unless it is in `models`.
        models: Others.
        api_key: Key for an endpoint without one.
        base_url: Address for an endpoint without one.
        may_draw: Whether somebody is offered the tool that draws.
        environ: Variables that fill in what is open still.
    """

    model: Model | None = attrs.field(converter=as_model)
    models: tuple[Model, ...] = attrs.field(converter=as_models)
    api_key: str | None = attrs.field(repr=False)
    base_url: str | None
    may_draw: bool
    environ: Mapping[str, str] = attrs.field(repr=False)

    def check(self) -> None:
        """Check what can be told without knowing the environment.

        Raises:
            ConfigError: Two models have one use, or one cannot be reached as it is meant to be.
        """
        _check_uses(self.model, self.models)
        if self.api_key and isinstance(self.text().endpoint, OpenAICompatible):
            raise ConfigError(
                "an OpenAICompatible server cannot be sent an api_key: the harness has no place "
                "for it; leave it out, or put a proxy before the server that adds it"
            )
        self.image()

    def text(self) -> Model:
        """Return the text model, and where it is reached as far as is known."""
        declared = self.model or next((one for one in self.models if "text" in one.types), Model())
        endpoint = declared.endpoint
        if endpoint is None:
            switch = self.environ.get(_VERTEX_SWITCH, "").strip().lower()
            is_vertex = switch in ("true", "1") and self.base_url is None
            endpoint = Vertex() if is_vertex else Gemini()
        return attrs.evolve(declared, endpoint=self._filled(endpoint))

    def image(self) -> Model | None:
        """Return the model that draws, if it is another one than the text model.

        Raises:
            ConfigError: It is to be reached elsewhere than the text model.
        """
        text = self.text()
        given = next((one for one in self.models if "image" in one.types), None)
        if "image" in text.types:
            return None
        if isinstance(text.endpoint, OpenAICompatible):
            if given is not None:
                raise ConfigError(
                    f"image model {given.name!r} cannot be used beside an OpenAICompatible text "
                    "model, whose endpoint it would share; leave it out"
                )
            return None
        if given is None:
            default = Model(DEFAULT_IMAGE_MODEL, text.endpoint, types="image")
            return default if self.may_draw else None
        if given.endpoint is not None:
            own = self._filled(given.endpoint)
            if own not in (text.endpoint, _without_options(text.endpoint)):
                raise ConfigError(
                    f"image model {given.name!r} is reached as the text model is, whatever its own "
                    "endpoint says; give its name alone"
                )
        return attrs.evolve(given, endpoint=text.endpoint)

    def settle(self) -> tuple[Model, tuple[Model, ...]]:
        """Return the text model with all that is known of its endpoint, and the others.

        Raises:
            ConfigError: Something is missing still, or was said twice.
        """
        text, image = self.text(), self.image()
        _check_complete(text)
        is_given = any("image" in one.types for one in self.models)
        return text, (image,) if image is not None and is_given else ()

    def _filled(self, endpoint: Endpoint) -> Endpoint:
        if isinstance(endpoint, OpenAICompatible):
            return endpoint
        found = attrs.evolve(
            endpoint,
            api_key=endpoint.api_key or self.api_key,
            base_url=endpoint.base_url or self.base_url,
        )
        if isinstance(found, Vertex) and not found.base_url and not found.api_key:
            return attrs.evolve(
                found,
                project=found.project or self.environ.get(_PROJECT),
                location=found.location or self.environ.get(_LOCATION),
            )
        return found


def _check_uses(model: Model | None, models: Iterable[Model]) -> None:
    if model is not None and "text" not in model.types:
        raise ConfigError(
            f"model {model.name!r} only draws; put it into models, beside the text model"
        )
    held = {} if model is None else dict.fromkeys(model.types, model)
    for one in models:
        for use in one.types:
            other = held.setdefault(use, one)
            if other is one:
                continue
            names = f"{other.name!r} and {one.name!r}"
            if other is model:
                raise ConfigError(f"model and models both name a model for {use}, {names}; say one")
            raise ConfigError(f"models names two models for {use}, {names}; an agent has one")


def _check_complete(model: Model) -> None:
    """Check that Vertex AI has a key, or a project and a location; its own address needs neither.

    Raises:
        ConfigError: It lacks something, or was given both.
    """
    endpoint = model.endpoint
    if not isinstance(endpoint, Vertex):
        return
    if bool(endpoint.project) != bool(endpoint.location):
        missing, variable = ("location", _LOCATION) if endpoint.project else ("project", _PROJECT)
        looked_at = "" if endpoint.base_url or endpoint.api_key else f" and {variable}"
        raise ConfigError(
            f"Vertex has no {missing}: looked at the endpoint{looked_at}; set it, or give an "
            "api_key alone"
        )
    if endpoint.base_url:
        return
    if not endpoint.api_key and not endpoint.project:
        raise ConfigError(
            "Vertex needs an api_key, or a project and a location: looked at the endpoint, "
            f"api_key, {_PROJECT} and {_LOCATION}; set the one or the others"
        )
    if endpoint.api_key and endpoint.project:
        raise ConfigError(
            "Vertex takes an api_key, or a project and a location, and has both; leave one out"
        )


def _without_options(endpoint: Endpoint | None) -> Endpoint | None:
    if endpoint is None or isinstance(endpoint, OpenAICompatible):
        return endpoint
    return attrs.evolve(endpoint, thinking_level=None, service_tier=None)
