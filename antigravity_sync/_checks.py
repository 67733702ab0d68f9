"""Checks that several kinds of options share; what fails is a `ConfigError` that names the option.

Each check is an attrs validator, or a converter where it says so.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import attrs

from .errors import ConfigError

_Field: TypeAlias = "attrs.Attribute[Any]"
_Check: TypeAlias = "Callable[[Any, _Field, Any], None]"

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def check_type(*types: type) -> _Check:
    """Return a check that a value is one of `types`."""

    def check(_owner: Any, field: _Field, value: Any) -> None:
        if not isinstance(value, types):
            names = " or ".join(kind.__name__ for kind in types if kind is not type(None))
            raise ConfigError(f"{field.name} must be {names}, not {type(value).__name__}")

    return check


def check_text(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a string that can be sent: one with a lone surrogate cannot be written as UTF-8."""
    if not isinstance(value, str):
        raise ConfigError(f"{field.name} must be str, not {type(value).__name__}")
    if _SURROGATE.search(value):
        raise ConfigError(
            f"{field.name} holds a lone surrogate, which is no text; decode its source as UTF-8"
        )


def check_words(owner: Any, field: _Field, value: Any) -> None:
    """Check for text that says something."""
    check_text(owner, field, value)
    if not value:
        raise ConfigError(f"{field.name} must not be empty; leave it out instead")


def check_choice(*choices: str) -> _Check:
    """Return a check that a value is one of `choices`."""

    def check(_owner: Any, field: _Field, value: Any) -> None:
        if value not in choices:
            names = ", ".join(map(repr, choices))
            raise ConfigError(f"{field.name} must be one of {names}, not {value!r}")

    return check


def check_url(owner: Any, field: _Field, value: Any) -> None:
    """Check for an http or https address."""
    check_text(owner, field, value)
    try:
        parts = urlsplit(value)
        is_fit = parts.scheme in ("http", "https") and bool(parts.netloc)
    except ValueError:  # brackets that hold no IPv6 address
        is_fit = False
    if not is_fit:
        raise ConfigError(f"{field.name} must be an http or https URL, not {value!r}")


def check_count(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a whole number from 0 up."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{field.name} must be a whole number from 0 up, not {value!r}")


def check_amount(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a whole number from 1 up that the harness can be told."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
        raise ConfigError(
            f"{field.name} must be a whole number from 1 to 2147483647, not {value!r}"
        )


def check_number(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a finite number from 0 up."""
    if not _is_number(value) or not math.isfinite(value) or value < 0:
        raise ConfigError(f"{field.name} must be a number from 0 up, not {value!r}")


def check_seconds(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a number of seconds above 0."""
    if not _is_number(value) or not math.isfinite(value) or value <= 0:
        raise ConfigError(f"{field.name} must be a number of seconds above 0, not {value!r}")


def check_patience(_owner: Any, field: _Field, value: Any) -> None:
    """Check for a number of seconds above 0, or `None` for ever."""
    if value is not None and (not _is_number(value) or not value > 0):
        raise ConfigError(
            f"{field.name} must be a number of seconds above 0, or None for ever, not {value!r}"
        )


def check_headers(owner: Any, field: _Field, value: Any) -> None:
    """Check for a mapping of HTTP header names to their texts."""
    if not isinstance(value, dict):
        raise ConfigError(f"{field.name} must be a mapping, not {type(value).__name__}")
    for name, text in value.items():
        if not isinstance(name, str) or not name or not isinstance(text, str):
            raise ConfigError(f"{field.name} must map names to strings, which {name!r} does not")
        check_text(owner, field, name + text)


def check_function(_owner: Any, field: _Field, value: Any) -> None:
    """Check for something that can be called and has run when the call returns."""
    if not callable(value):
        raise ConfigError(f"{field.name} must be a function, not {value!r}")
    if any(
        inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one)
        for one in (value, type(value).__call__)
    ):
        raise ConfigError(
            f"{field.name} must be a plain function, not a coroutine function such as {value!r}"
        )


def stripped(value: str | None) -> str | None:
    """Convert text to itself without blanks around it, `None` if nothing is left."""
    return value.strip() or None if isinstance(value, str) else value


def own_dict(value: Any) -> Any:
    """Convert a mapping to a dict that nobody else holds."""
    return dict(value) if isinstance(value, Mapping) else value


def plain_json(option: str, value: Any) -> Any:
    """Return a copy of what can be sent as JSON.

    Args:
        option: Which option it is for.
        value: What the user gave.

    Raises:
        ConfigError: It cannot be sent.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")  # a lone surrogate is no text, and this is what finds it
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{option} must be plain JSON: {error}") from error
    return json.loads(text)


def local_path(option: str, value: Any) -> str:
    """Return a path as an absolute one, with `~` expanded.

    Args:
        option: Which option it is for.
        value: What the user gave.

    Raises:
        ConfigError: It is no path, or one that the harness cannot be told.
    """
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(path, str) or not path:
        raise ConfigError(f"{option} takes a path, not {value!r}")
    if "\0" in path or _SURROGATE.search(path):
        raise ConfigError(f"{option} {path!r} cannot be used: its name is not text")
    try:
        return os.path.abspath(Path(path).expanduser())
    except (RuntimeError, OSError) as error:  # no such user; the current directory is gone
        raise ConfigError(
            f"{option} {path!r} leads nowhere ({error}); give an absolute path"
        ) from error


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
