"""Everything an agent can be told, checked whole before anything is spawned."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from attrs.validators import optional

from ._checks import (
    check_count,
    check_function,
    check_patience,
    check_seconds,
    check_text,
    check_type,
    check_url,
    local_path,
    own_dict,
    stripped,
)
from .capabilities import Capabilities
from .errors import ConfigError
from .hooks import Hooks, wanted
from .models import DEFAULT_MODEL, Gemini, Model, Retry
from .policy import Policy
from .tools import Tool, check_tools

DEFAULT_TURN_TIMEOUT: Final = 300.0

#: Variables that hold model keys: sent over the wire, never left in the child's environment, from
#: where the agent's shell would inherit them.
KEY_VARIABLES: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY")

StrPath = str | os.PathLike[str]


def _tuple(value: Any) -> tuple[Any, ...]:
    is_one = isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable)
    return (value,) if is_one else tuple(value)


def _workspaces(value: StrPath | Iterable[StrPath]) -> tuple[str, ...]:
    found = []
    for entry in _tuple(value):
        path = os.path.realpath(local_path("workspaces", entry))
        if not os.path.isdir(path):
            problem = "is not a directory" if os.path.exists(path) else "does not exist"
            raise ConfigError(f"workspaces: {os.fspath(entry)!r} {problem}; create it or drop it")
        found.append(path)
    return tuple(found)


def _save_dir(value: StrPath | None) -> str | None:
    return None if value is None else local_path("save_dir", value)


def _app_data_dir(value: StrPath | None) -> str | None:
    return None if value is None else local_path("app_data_dir", value)


def _check_policies(_config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    for entry in value:
        if not isinstance(entry, Policy):
            raise ConfigError(f"{field.name} takes rules such as policy.deny_all(), not {entry!r}")


def _model(value: str | Model) -> Model:
    return Model(value) if isinstance(value, str) else value


def _policies(value: Policy | Iterable[Policy]) -> tuple[Policy, ...]:
    return _tuple(value)


def _tools(value: object) -> tuple[Tool, ...]:
    return check_tools(value)  # type: ignore[arg-type]


def _hooks(value: Hooks | Iterable[Hooks]) -> tuple[Hooks, ...]:
    return _tuple(value)


def _check_hooks(_config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    for entry in value:
        if not isinstance(entry, Hooks):
            raise ConfigError(f"{field.name} takes Hooks(...), not {entry!r}")


def _env(value: Mapping[str, str | None]) -> Mapping[str, str | None]:
    changes: Mapping[str, str | None] = own_dict(value)
    return changes


def _raw_config(value: Mapping[str, Any]) -> Mapping[str, Any]:
    plain: Any = own_dict(value)
    if not isinstance(plain, dict):
        return value  # which the check refuses
    try:
        text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")  # a lone surrogate is no text, and this is what finds it
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"raw_config must be plain JSON: {error}") from error
    copy: dict[str, Any] = json.loads(text)
    return copy


def _check_env(_config: Any, _field: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, dict):
        raise ConfigError(f"env must be a mapping, not {type(value).__name__}")
    for name, content in value.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise ConfigError(f"env has an impossible variable name {name!r}; correct it")
        if content is not None and (not isinstance(content, str) or "\0" in content):
            raise ConfigError(f"env[{name!r}] must be a string, or None to remove it")
        try:
            os.fsencode(name + (content or ""))
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"env[{name!r}] holds a lone surrogate, which no process can be given; "
                "decode its source as UTF-8"
            ) from error


@attrs.frozen(kw_only=True)
class AgentConfig:
    """The options of an agent; see the README for what each is good for.

    Attributes:
        harness_path: The harness binary; `None` looks for it.
        env: Changes to the child's environment: a string sets, `None` removes.
        save_dir: Where conversations are kept; `None` keeps this one in a private directory that is
            removed at close.
        app_data_dir: Where the harness keeps its own files; `None` is inside `save_dir`.
        model: Name of the text model, or a `Model`.
        api_key: Model key; `None` takes `GEMINI_API_KEY`.
        base_url: Another address of the model's service.
        system_instructions: Text that replaces the harness's own instructions.
        workspaces: Directories the agent works in; made absolute and real at construction.
        capabilities: Which built-in tools the model is offered.
        policies: Rules on tool calls.
        hooks: Functions of yours that are called at certain moments.
        hook_timeout: Seconds a hook may hold the agent before the session is torn down; `None` is
            for ever.
        contain_workspaces: Whether path-taking tools are kept inside the workspaces and the
            app-data directory. What a shell command does once it runs cannot be contained.
        tools: Functions the model may call.
        tool_workers: How many of them may run at once on threads of their own; 0 runs them on the
            thread that waits for the turn.
        callback_wrapper: Called with each hook, handler and worker call, which it must make.
        turn_timeout: Seconds a turn may take, busy-waiting and healing included.
        start_timeout: Seconds a start may take, from spawn to the open conversation.
        close_timeout: Seconds a close may take.
        task_wait: Seconds a finished answer waits for commands left in the background.
        retry: How failed model calls are retried.
        max_history: Steps that `agent.history` keeps.
        raw_config: JSON that is merged last into the first message; its names are not checked.
    """

    harness_path: StrPath | None = attrs.field(
        default=None, validator=check_type(str, os.PathLike, type(None))
    )
    env: Mapping[str, str | None] = attrs.field(
        factory=dict, converter=_env, validator=_check_env, repr=False
    )
    save_dir: StrPath | None = attrs.field(default=None, converter=_save_dir)
    app_data_dir: StrPath | None = attrs.field(default=None, converter=_app_data_dir)
    model: str | Model = attrs.field(
        default=DEFAULT_MODEL, converter=_model, validator=check_type(Model)
    )
    api_key: str | None = attrs.field(
        default=None, repr=False, converter=stripped, validator=optional(check_text)
    )
    base_url: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_url)
    )
    system_instructions: str | None = attrs.field(default=None, validator=optional(check_text))
    workspaces: Iterable[StrPath] = attrs.field(default=(os.curdir,), converter=_workspaces)
    capabilities: Capabilities = attrs.field(
        factory=Capabilities.read_only, validator=check_type(Capabilities)
    )
    policies: Iterable[Policy] = attrs.field(
        default=(), converter=_policies, validator=_check_policies
    )
    hooks: Sequence[Hooks] = attrs.field(default=(), converter=_hooks, validator=_check_hooks)
    hook_timeout: float | None = attrs.field(default=None, validator=check_patience)
    contain_workspaces: bool = attrs.field(default=True, validator=check_type(bool))
    tools: Iterable[object] = attrs.field(default=(), converter=_tools)
    tool_workers: int = attrs.field(default=0, validator=check_count)
    callback_wrapper: Callable[[Callable[[], object]], object] | None = attrs.field(
        default=None, validator=optional(check_function)
    )
    turn_timeout: float | None = attrs.field(default=DEFAULT_TURN_TIMEOUT, validator=check_patience)
    start_timeout: float | None = attrs.field(default=30.0, validator=check_patience)
    close_timeout: float = attrs.field(default=10.0, validator=check_seconds)
    task_wait: float | None = attrs.field(default=60.0, validator=check_patience)
    retry: Retry = attrs.field(factory=Retry, validator=check_type(Retry))
    max_history: int = attrs.field(default=10_000, validator=check_count)
    raw_config: Mapping[str, Any] = attrs.field(
        factory=dict, converter=_raw_config, validator=check_type(Mapping), repr=False
    )

    def __new__(cls, *_: Any, **options: Any) -> AgentConfig:
        """Refuse unknown options with a hint, before Python refuses them without one."""
        check_options(options)
        return object.__new__(cls)

    def __attrs_post_init__(self) -> None:
        risky = self.capabilities.write_capable()
        if risky and not self.policies and "on_pre_tool" not in wanted(self.hooks):
            names = ", ".join(tool.value for tool in risky)
            raise ConfigError(
                f"these tools change things and nothing governs them: {names}; add policies, for "
                "example policies=[policy.allow_all()], or an on_pre_tool hook"
            )

    def evolve(self, **changes: Any) -> AgentConfig:
        """Return a copy with `changes`.

        Raises:
            ConfigError: An option does not exist or has a bad value.
        """
        check_options(changes)
        return attrs.evolve(self, **changes)

    def text_model(self) -> Model:
        """Return the text model with the agent's own key and address filled in."""
        model = self.model if isinstance(self.model, Model) else Model(self.model)
        endpoint = model.endpoint
        return Model(
            model.name,
            Gemini(
                api_key=endpoint.api_key or self.api_key,
                base_url=endpoint.base_url or self.base_url,
                headers=endpoint.headers,
            ),
        )


def check_options(options: Iterable[str]) -> None:
    """Refuse names that are no option.

    Raises:
        ConfigError: With the nearest option's name.
    """
    known = [field.name for field in attrs.fields(AgentConfig)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"options are: {', '.join(known)}"
            raise ConfigError(f"there is no option {name!r}; {hint}")


def resolve_key(model: Model, environ: Mapping[str, str]) -> str:
    """Return the model's key: its endpoint's or the agent's, then `GEMINI_API_KEY`.

    Raises:
        ConfigError: There is none.
    """
    key = model.endpoint.api_key or environ.get("GEMINI_API_KEY", "").strip()
    if not key:
        raise ConfigError(
            "no model key: looked at the model's endpoint, api_key and GEMINI_API_KEY; "
            "set one of them"
        )
    return key


def merged_environment(config: AgentConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` with the changes of `config.env`."""
    merged = dict(environ)
    for name, content in config.env.items():
        if content is None:
            merged.pop(name, None)
        else:
            merged[name] = content
    return merged


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` without model keys, fit for a process that runs a shell for a model."""
    return {name: content for name, content in environ.items() if name not in KEY_VARIABLES}
