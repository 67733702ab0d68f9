"""Agents that the agent may hand a task to, each with a conversation of its own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import attrs
from attrs.validators import optional

from ._checks import check_text, check_type
from .capabilities import BuiltinTool, Capabilities
from .errors import ConfigError
from .models import Model
from .tools import Tool

#: The harness's own name for a copy of the calling agent; it wins over one that is declared.
_TAKEN = "self"


def _check_name(_owner: object, _field: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str) or value.strip() != value or not value.isprintable() or not value:
        raise ConfigError(
            f"a subagent cannot be named {value!r}: give it one line of text that the model can "
            "call it by"
        )
    if value == _TAKEN:
        raise ConfigError(
            f"a subagent cannot be named {_TAKEN!r}: so the harness calls a copy of the agent "
            "itself; choose another name"
        )


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    names: tuple[object, ...]
    try:
        names = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        names = (value,)
    found = tuple(name for name in names if isinstance(name, str))
    if len(found) < len(names):
        odd = next(name for name in names if not isinstance(name, str))
        raise ConfigError(f"a subagent's tools are given by name, not as {odd!r}")
    return found


def _model(value: str | Model | None) -> Model | None:
    model = Model(value) if isinstance(value, str) else value
    if isinstance(model, Model) and model != Model(model.name):
        raise ConfigError(
            f"the model {model.name!r} of a subagent is reached as the agent's own is; give its "
            "name alone"
        )
    return model


def _check_instructions(owner: object, field: attrs.Attribute[str], value: object) -> None:
    check_text(owner, field, value)
    if isinstance(value, str) and not value.strip():
        raise ConfigError("system_instructions of a subagent are empty; leave them out instead")


@attrs.frozen
class Subagent:
    """An agent of its own that the main one may start with `start_subagent`, as often as it likes.

    It starts from the task it is given and knows nothing else of the conversation. The agent's
    policies, hooks and containment bind it too, and its custom tools run where the agent's do.
    Needs harness 0.1.10 or newer: older ones run a copy of the agent instead, or lack tools.

    Attributes:
        name: What the model calls it by; one line, unique in its agent, not `self`.
        description: What it is good for; the model chooses by this.
        system_instructions: Appended to what the harness tells every subagent; `None` for nothing.
        capabilities: Which built-in tools it is offered; `start_subagent` is always off in it.
            Since harness 0.1.18 nobody is asked before it uses one: what a policy, an
            `on_pre_tool` hook or the containment might refuse is left out there, with a warning.
        tools: Names of the agent's custom tools that it may call, too. Up to harness 0.1.20 it is
            offered all of them.
        model: Name of the model it runs on, reached as the agent's own is; `None` is the agent's
            model. Needs harness 0.1.18 or newer.
    """

    name: str = attrs.field(validator=_check_name)
    description: str = attrs.field(default="", kw_only=True, validator=check_text)
    system_instructions: str | None = attrs.field(
        default=None, kw_only=True, validator=optional(_check_instructions)
    )
    capabilities: Capabilities = attrs.field(
        factory=Capabilities.read_only, kw_only=True, validator=check_type(Capabilities)
    )
    tools: Iterable[str] = attrs.field(default=(), kw_only=True, converter=_names)
    model: str | Model | None = attrs.field(
        default=None, kw_only=True, converter=_model, validator=optional(check_type(Model))
    )


def as_subagents(value: Subagent | Iterable[Subagent]) -> tuple[Subagent, ...]:
    """Return subagents that can stand side by side.

    Args:
        value: Several, or one.

    Raises:
        ConfigError: One is something else, or a name is used twice.
    """
    entries = tuple(value) if isinstance(value, Iterable) else (value,)
    names: set[str] = set()
    for entry in entries:
        if not isinstance(entry, Subagent):
            raise ConfigError(f"subagents takes Subagent(...), not {entry!r}")
        if entry.name in names:
            raise ConfigError(f"two subagents are named {entry.name!r}; rename one")
        names.add(entry.name)
    return entries


def check_delegation(
    subagents: Iterable[Subagent], tools: Iterable[Tool], capabilities: Capabilities
) -> None:
    """Check that an agent can use its subagents, and they the tools they name.

    Raises:
        ConfigError: The agent cannot start them, or one names a tool that the agent does not have.
    """
    known = [tool.name for tool in tools]
    for subagent in subagents:
        if BuiltinTool.START_SUBAGENT not in capabilities.tools:
            raise ConfigError(
                f"subagent {subagent.name!r} could never be started: add "
                'capabilities=Capabilities.read_only().enable("start_subagent") and a policy or '
                "hook that governs it"
            )
        for name in subagent.tools:
            if name not in known:
                raise ConfigError(
                    f"subagent {subagent.name!r} names the tool {name!r}, which the agent does not "
                    f"have; {_hint(name, known)}"
                )


def offered_tools(
    capabilities: Capabilities, subagents: Iterable[Subagent]
) -> frozenset[BuiltinTool]:
    """Return the built-in tools that the agent or one of its subagents is offered."""
    return capabilities.tools.union(*(subagent.capabilities.tools for subagent in subagents))


def _hint(name: str, known: list[str]) -> str:
    if name in {tool.value for tool in BuiltinTool}:
        return f'it is built in: add it by capabilities=Capabilities.read_only().enable("{name}")'
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "add it to the tools of the agent"
