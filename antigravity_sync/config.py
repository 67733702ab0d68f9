"""Everything an agent can be told, checked whole before anything is spawned."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final, Literal

import attrs
from attrs.validators import optional

from ._checks import (
    check_amount,
    check_choice,
    check_count,
    check_function,
    check_patience,
    check_seconds,
    check_text,
    check_type,
    check_url,
    check_words,
    local_path,
    own_dict,
    plain_json,
    stripped,
)
from ._endpoints import ModelChoice, as_model, as_models
from ._structured import AnswerForm
from .capabilities import BuiltinTool, Capabilities
from .errors import ConfigError
from .hooks import Hooks, wanted
from .instructions import SystemInstructions
from .limits import Budget
from .mcp import McpServer, check_servers
from .models import Model, OpenAICompatible, Retry, Vertex
from .policy import Policy
from .subagents import Subagent, as_subagents, check_delegation, offered_tools
from .tools import Tool, check_tools
from .triggers import Trigger, TriggerContext, check_trigger

DEFAULT_TURN_TIMEOUT: Final = 300.0

#: Variables that hold model keys: sent over the wire, never left in the child's environment, from
#: where the agent's shell would inherit them.
KEY_VARIABLES: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY")

StrPath = str | os.PathLike[str]


def _tuple(value: Any) -> tuple[Any, ...]:
    is_one = isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable)
    return (value,) if is_one else tuple(value)


def _workspaces(value: StrPath | Iterable[StrPath]) -> tuple[StrPath, ...]:
    return tuple(_directory("workspaces", entry) for entry in _tuple(value))


def _skills_paths(value: StrPath | Iterable[StrPath]) -> tuple[StrPath, ...]:
    return tuple(_directory("skills_paths", entry) for entry in _tuple(value))


def is_elsewhere(path: object) -> bool:
    """Return whether a path is one of another machine: a pure one, which is taken as it stands."""
    return isinstance(path, PurePath) and not isinstance(path, Path)


def _directory(option: str, entry: Any) -> StrPath:
    if is_elsewhere(entry):
        if not entry.is_absolute():
            raise ConfigError(
                f"{option}: {str(entry)!r} is a path of another machine, and must be absolute"
            )
        pure: PurePath = entry
        return pure
    path = os.path.realpath(local_path(option, entry))
    if not os.path.isdir(path):
        problem = "is not a directory" if os.path.exists(path) else "does not exist"
        raise ConfigError(f"{option}: {os.fspath(entry)!r} {problem}; create it or drop it")
    return path


def _save_dir(value: StrPath | None) -> str | None:
    return None if value is None else local_path("save_dir", value)


def _app_data_dir(value: StrPath | None) -> str | None:
    return None if value is None else local_path("app_data_dir", value)


def _check_policies(_config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    for entry in value:
        if not isinstance(entry, Policy):
            raise ConfigError(f"{field.name} takes rules such as policy.deny_all(), not {entry!r}")


def _check_instructions(config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, SystemInstructions):
        check_text(config, field, value)


def _policies(value: Policy | Iterable[Policy]) -> tuple[Policy, ...]:
    return _tuple(value)


def _tools(value: object) -> tuple[Tool, ...]:
    return check_tools(value)  # type: ignore[arg-type]


def _mcp_servers(value: McpServer | Iterable[McpServer]) -> tuple[McpServer, ...]:
    return check_servers(_tuple(value))


def _hooks(value: Hooks | Iterable[Hooks]) -> tuple[Hooks, ...]:
    return _tuple(value)


def _check_hooks(_config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    for entry in value:
        if not isinstance(entry, Hooks):
            raise ConfigError(f"{field.name} takes Hooks(...), not {entry!r}")


def _inspectors(
    value: Callable[[Any], object] | Iterable[Callable[[Any], object]],
) -> tuple[Callable[[Any], object], ...]:
    return _tuple(value)


def _check_inspectors(config: Any, field: attrs.Attribute[Any], value: Any) -> None:
    for entry in value:
        check_function(config, field, entry)


def _env(value: Mapping[str, str | None]) -> Mapping[str, str | None]:
    changes: Mapping[str, str | None] = own_dict(value)
    return changes


def _raw_config(value: Mapping[str, Any]) -> Mapping[str, Any]:
    plain: Any = own_dict(value)
    if not isinstance(plain, dict):
        return value  # which the check refuses
    copy: dict[str, Any] = plain_json("raw_config", plain)
    return copy


def _response_schema(value: Mapping[str, Any] | type | None) -> Mapping[str, Any] | type | None:
    is_mapping = isinstance(value, Mapping)
    plain: dict[str, Any] = plain_json("response_schema", own_dict(value)) if is_mapping else {}
    return plain if is_mapping else value


def _check_response_schema(_config: Any, _field: attrs.Attribute[Any], value: Any) -> None:
    AnswerForm.of(value)


def _triggers(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Trigger) or not isinstance(value, Iterable):
        raise ConfigError(f"triggers must be a list of triggers, not {value!r}")
    triggers = tuple(value)
    for trigger in triggers:
        check_trigger(trigger)
    return triggers


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
        conversation_id: Which conversation in `save_dir`, any string; `None` is a new one.
        resume: `"auto"` goes on with it or begins it, `"must"` refuses to begin it, `"never"` to go
            on with it.
        model: Name of the text model, or a `Model`; `None` is the one in `models`, else
            `DEFAULT_MODEL`.
        models: Further models: one that draws, `Model("…", types="image")`; without one,
            `DEFAULT_IMAGE_MODEL` draws for agents that are offered `generate_image`.
        api_key: Model key; `None` takes `GEMINI_API_KEY`.
        base_url: Another address of the models' service; nothing else is called.
        system_instructions: Text that replaces the harness's own instructions, or
            `SystemInstructions.append(…)` to add to them.
        workspaces: Directories the agent works in; made absolute and real at construction. A
            `PurePosixPath` or `PureWindowsPath` is one of the machine that a remote harness is on,
            and sent as it stands; so it is in `skills_paths`.
        announce_workspaces: Whether the model is told of them where the instructions replace the
            harness's own, which name them.
        skills_paths: Directories of skills, each a folder with a `SKILL.md`: tools may read them
            and not change them.
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
        callback_wrapper: Called with each hook, handler, trigger and worker call, which it must
            make.
        mcp_servers: MCP servers whose tools the model may call.
        subagents: Agents that this one may hand tasks to.
        triggers: What wakes the agent without a prompt: a `Trigger`, or a function that is called
            with a `TriggerContext` on a thread of its own.
        on_trigger_busy: What a call does while a trigger's turn runs: `"halt"` it or `"wait"`.
        response_schema: What `response.structured_output` must look like: a JSON Schema of an
            object, or a dataclass, attrs class or TypedDict, of which it is then an instance.
        turn_timeout: Seconds a turn may take, busy-waiting and healing included.
        start_timeout: Seconds a start may take, from spawn to the open conversation.
        close_timeout: Seconds a close may take.
        task_wait: Seconds a finished answer waits for commands left in the background.
        retry: How failed model calls are retried.
        budget: What each turn may use, `None` for as much as it likes within its time.
        compaction: From how many tokens on the harness shortens the history of a conversation to a
            summary, by its own estimate; `None` leaves it to the harness. Since harness 0.1.11
            whatever is longer fails the turn, so that less than 40,000 is refused there.
        tool_output_limit: How many tokens of a result reach the model, at four characters each, of
            your tools and since harness 0.1.14 of commands; longer ones of MCP servers go into a
            file (0.1.22). `None` leaves it to the harness. Needs harness 0.1.6.
        max_history: Steps that `agent.history` keeps.
        wire_inspectors: Functions that are called with a `WireEvent` for each thing that goes
            between this process and the harness, on the thread that also calls hooks.
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
    conversation_id: str | None = attrs.field(default=None, validator=optional(check_words))
    resume: Literal["auto", "must", "never"] = attrs.field(
        default="auto", validator=check_choice("auto", "must", "never")
    )
    model: str | Model | None = attrs.field(
        default=None, converter=as_model, validator=check_type(Model, type(None))
    )
    models: Iterable[str | Model] = attrs.field(default=(), converter=as_models)
    api_key: str | None = attrs.field(
        default=None, repr=False, converter=stripped, validator=optional(check_text)
    )
    base_url: str | None = attrs.field(
        default=None, converter=stripped, validator=optional(check_url)
    )
    system_instructions: str | SystemInstructions | None = attrs.field(
        default=None, validator=optional(_check_instructions)
    )
    workspaces: Iterable[StrPath] = attrs.field(default=(os.curdir,), converter=_workspaces)
    announce_workspaces: bool = attrs.field(default=True, validator=check_type(bool))
    skills_paths: Iterable[StrPath] = attrs.field(default=(), converter=_skills_paths)
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
    mcp_servers: Iterable[McpServer] = attrs.field(default=(), converter=_mcp_servers)
    subagents: Iterable[Subagent] = attrs.field(default=(), converter=as_subagents)
    triggers: Iterable[Trigger | Callable[[TriggerContext], object]] = attrs.field(
        default=(), converter=_triggers
    )
    on_trigger_busy: Literal["halt", "wait"] = attrs.field(
        default="halt", validator=check_choice("halt", "wait")
    )
    response_schema: Mapping[str, Any] | type | None = attrs.field(
        default=None, converter=_response_schema, validator=optional(_check_response_schema)
    )
    turn_timeout: float | None = attrs.field(default=DEFAULT_TURN_TIMEOUT, validator=check_patience)
    start_timeout: float | None = attrs.field(default=30.0, validator=check_patience)
    close_timeout: float = attrs.field(default=10.0, validator=check_seconds)
    task_wait: float | None = attrs.field(default=60.0, validator=check_patience)
    retry: Retry = attrs.field(factory=Retry, validator=check_type(Retry))
    budget: Budget | None = attrs.field(default=None, validator=check_type(Budget, type(None)))
    compaction: int | None = attrs.field(default=None, validator=optional(check_amount))
    tool_output_limit: int | None = attrs.field(default=None, validator=optional(check_amount))
    max_history: int = attrs.field(default=10_000, validator=check_count)
    wire_inspectors: Iterable[Callable[[Any], object]] = attrs.field(
        default=(), converter=_inspectors, validator=_check_inspectors
    )
    raw_config: Mapping[str, Any] = attrs.field(
        factory=dict, converter=_raw_config, validator=check_type(Mapping), repr=False
    )

    def __new__(cls, *_: Any, **options: Any) -> AgentConfig:
        """Refuse unknown options with a hint, before Python refuses them without one."""
        check_options(options)
        return object.__new__(cls)

    def __attrs_post_init__(self) -> None:
        _check_resume(self)
        self._choose({}).check()
        own_tools = [tool for tool in self.tools if isinstance(tool, Tool)]
        check_delegation(self.subagents, own_tools, self.capabilities)
        risky = self.capabilities.write_capable()
        if risky and not self.policies and "on_pre_tool" not in wanted(self.hooks):
            names = ", ".join(tool.value for tool in risky)
            raise ConfigError(
                f"these tools change things and nothing governs them: {names}; add policies, for "
                "example policies=[policy.allow_all()], or an on_pre_tool hook"
            )
        if self.mcp_servers and not self.policies and "on_pre_tool" not in wanted(self.hooks):
            raise ConfigError(
                "the tools of mcp_servers may change things and nothing governs them; add "
                "policies, for example policies=[policy.allow_all()], or an on_pre_tool hook"
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
        return self._choose({}).text()

    def image_model(self) -> Model | None:
        """Return the model that draws; `None` if there is none, or if the text model does."""
        return self._choose({}).image()

    def settled(self, environ: Mapping[str, str]) -> AgentConfig:
        """Return a copy in which `environ` has filled in where the models are reached.

        Raises:
            ConfigError: Something is missing still, or was said twice.
        """
        model, models = self._choose(environ).settle()
        return attrs.evolve(self, model=model, models=models)

    def _choose(self, environ: Mapping[str, str]) -> ModelChoice:
        offered = offered_tools(self.capabilities, self.subagents)
        may_draw = BuiltinTool.GENERATE_IMAGE in offered
        return ModelChoice(self.model, self.models, self.api_key, self.base_url, may_draw, environ)


def _check_resume(config: AgentConfig) -> None:
    if config.resume == "must" and config.conversation_id is None:
        raise ConfigError('resume="must" needs the conversation_id of the one to resume')
    if config.conversation_id is not None and config.save_dir is None:
        raise ConfigError(
            "conversation_id needs a save_dir: without one the conversation is gone at close"
        )


def config_of(config: AgentConfig | None, options: Mapping[str, Any]) -> AgentConfig:
    """Return a configuration with `options` in place of some of its fields.

    Raises:
        ConfigError: An option does not exist or has a bad value.
    """
    check_options(options)
    if config is not None and not isinstance(config, AgentConfig):
        raise ConfigError(f"config must be an AgentConfig, not {type(config).__name__}")
    if config is None:
        return AgentConfig(**options)
    return config.evolve(**options) if options else config


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
    """Return the key of a text model: its endpoint's, which may be the agent's, or a variable's.

    Of Vertex AI it is the key of Express mode, `""` if a project is used; an `OpenAICompatible`
    server has none.

    Raises:
        ConfigError: The Gemini API is to be used without a key.
    """
    endpoint = model.endpoint
    if isinstance(endpoint, OpenAICompatible):
        return ""
    key = "" if endpoint is None else endpoint.api_key or ""
    if isinstance(endpoint, Vertex):
        return key
    key = key or environ.get("GEMINI_API_KEY", "").strip()
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
