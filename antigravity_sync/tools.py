"""Tools of your own: functions of this program that the model may call.

::

    @tool
    def get_weather(city: str, days: Annotated[int, "how many days ahead"] = 1) -> str:
        "Tell the weather."
        ...

    with Agent(tools=[get_weather]) as agent: ...

The schema comes from the signature: parameter names, annotations, defaults (which the model gets to
see), and texts from `Annotated[T, "text"]` or the docstring. Arguments are converted and checked
before the call, so a function gets what its annotations say; a mismatch is told to the model.

Everything here is a declaration or a pure function. Nothing here starts, waits or sends.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar, cast, overload

import attrs
from attrs.validators import optional

from ._checks import check_seconds, check_text, check_type
from ._clock import Clock, Deadline, MonotonicClock
from ._convert import ArgumentError, fit_members, shown
from ._results import EncodedResult, Media, ResultError, encode_result
from ._schema import JsonSchema, parameters_schema
from ._signatures import (
    RESERVED,
    Function,
    Signature,
    check_callable,
    docs_of,
    name_of,
    read_injected,
    read_signature,
    subject_of,
)
from .capabilities import BuiltinTool
from .errors import ConfigError

__all__ = [
    "ArgumentError",
    "EncodedResult",
    "Media",
    "ResultError",
    "Tool",
    "ToolContext",
    "as_tool",
    "check_tools",
    "encode_result",
    "error_text",
    "invoke",
    "tool",
]

_F = TypeVar("_F", bound=Callable[..., object])

_DECLARATION: Final = "__antigravity_sync_tool__"
#: What the harness accepts.
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:/-]{0,127}")
#: The names that policies use, and those that the model sees: a tool of such a name would silently
#: take the place of the harness's own (LIVE 23).
_TAKEN: Final = frozenset(builtin.value for builtin in BuiltinTool) | {
    "list_dir",
    "grep_search",
    "find_by_name",
    "write_to_file",
    "replace_file_content",
    "multi_replace_file_content",
    "invoke_subagent",
    "define_subagent",
    "manage_subagents",
    "send_message",
    "call_mcp_tool",
    "list_resources",
    "read_resource",
    "retriever:expand_tools",
}
#: How tools of MCP servers are called in policies and hooks.
_MCP_PREFIX: Final = "mcp_"
_LONGEST_ERROR: Final = 2_000


@attrs.define(eq=False)
class ToolContext:
    """What a tool may know about its call; a parameter of this type gets it.

    The model neither sees nor sets that parameter.

    Attributes:
        cancelled: Set when nobody waits for the result any more: cancelled, timed out, closed. A
            tool that takes long looks at it, or waits on it instead of sleeping.
        deadline: When its time is up, in seconds of `time.monotonic()`; `None` is never.
        state: A dict that the tools of one agent share for as long as the agent lives.
        conversation_id: The conversation.
        call_id: The harness's id of the call.
    """

    cancelled: threading.Event = attrs.field(factory=threading.Event)
    deadline: float | None = None
    state: dict[str, object] = attrs.field(factory=dict, repr=False)
    conversation_id: str = ""
    call_id: str = ""
    _clock: Clock = attrs.field(factory=MonotonicClock, repr=False, kw_only=True)

    def remaining(self) -> float | None:
        """Return the seconds left, at least 0.0; `None` for ever."""
        return None if self.deadline is None else Deadline(self._clock, self.deadline).remaining()


@attrs.frozen(kw_only=True)
class _Declaration:
    """What the decorator says; `None` where the function itself says it."""

    name: str | None = attrs.field(default=None, validator=optional(check_text))
    description: str | None = attrs.field(default=None, validator=optional(check_text))
    timeout: float | None = attrs.field(default=None, validator=optional(check_seconds))
    worker: bool = attrs.field(default=False, validator=check_type(bool))
    exclusive: bool = attrs.field(default=False, validator=check_type(bool))


@overload
def tool(function: _F, /) -> _F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    worker: bool = False,
    exclusive: bool = False,
) -> Callable[[_F], _F]: ...
def tool(
    function: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    worker: bool = False,
    exclusive: bool = False,
) -> object:
    """Declare a function, or a method, as a tool; it stays what it was and is called as before.

    Its signature is looked at when an agent is given it, so annotations may name what is defined
    later.

    Args:
        function: The function, when used without parentheses.
        name: What the model calls it; `None` takes the function's name.
        description: What the model is told; `None` takes the first paragraph of the docstring.
        timeout: Seconds it may take; such a tool runs on a worker thread.
        worker: Run it on a worker thread, not on the thread that waits for the turn.
        exclusive: Run it while no other tool of the agent runs.

    Raises:
        ConfigError: An option is wrong.
    """
    declaration = _Declaration(
        name=name, description=description, timeout=timeout, worker=worker, exclusive=exclusive
    )

    def declare(target: _F) -> _F:
        inner = getattr(target, "__func__", target)
        if isinstance(target, type) or not callable(inner):
            raise ConfigError(f"@tool is for functions, not {target!r}; write @tool(name=…)")
        try:
            setattr(inner if isinstance(target, classmethod | staticmethod) else target, *pair)
        except AttributeError:  # a bound method has no attributes of its own
            marked = functools.partial(target)
            setattr(marked, *pair)
            return cast("_F", marked)
        return target

    pair = (_DECLARATION, declaration)
    return declare if function is None else declare(function)  # type: ignore[type-var]


def _parameters(value: Mapping[str, object]) -> JsonSchema:
    """Return an own copy of a schema, of which an object is the root."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"parameters must be a JSON schema, not {type(value).__name__}")
    schema: dict[str, object] = {"type": "object", "properties": {}} | dict(value)
    try:
        text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"parameters must be plain JSON: {error}") from error
    if schema["type"] != "object" or not isinstance(schema["properties"], Mapping):
        raise ConfigError('parameters must be a JSON schema of type "object" with properties')
    copy: JsonSchema = json.loads(text)
    return copy


@attrs.frozen
class Tool:
    """A tool as the model is offered it.

    `as_tool` makes one from a function. Made directly, the schema is yours: arguments are passed on
    as keywords, and all that is checked is that they are an object that the function can take.

    Attributes:
        name: What the model calls it.
        description: What the model is told it does.
        parameters: The JSON schema of its arguments; copied.
        function: What is called.
        timeout: Seconds it may take, `None` for no limit of its own.
        worker: Whether it runs on a worker thread.
        exclusive: Whether it runs while no other tool of the agent runs.
    """

    name: str = attrs.field(validator=check_text)
    description: str = attrs.field(validator=check_text)
    parameters: Mapping[str, object] = attrs.field(converter=_parameters, repr=False, hash=False)
    function: Function
    timeout: float | None = attrs.field(default=None, validator=optional(check_seconds))
    worker: bool = attrs.field(default=False, validator=check_type(bool))
    exclusive: bool = attrs.field(default=False, validator=check_type(bool))
    #: What the schema was made from; `None` for a schema that was given.
    _signature: Signature | None = attrs.field(
        default=None, kw_only=True, repr=False, eq=False, alias="_signature"
    )
    _injected: tuple[str, ...] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        where = f"tool {self.name}"
        check_callable(self.function, where)
        signature = self._signature
        if signature is None or self.parameters != parameters_schema(signature.parameters):
            signature = None  # an `attrs.evolve` with another schema
            object.__setattr__(self, "_signature", None)
        if signature is not None:
            injected = signature.injected
        else:
            injected = read_injected(self.function, where, ToolContext)
        properties = self.parameters["properties"]
        assert isinstance(properties, dict)
        for name in properties:
            if name in RESERVED or name in injected:
                reason = "is a ToolContext" if name in injected else "belongs to the harness"
                raise ConfigError(f"{where}, parameter {name}: it {reason}; leave it out")
        object.__setattr__(self, "_injected", injected)


def as_tool(value: object) -> Tool:
    """Return the tool that something is: a `Tool`, or a callable with what `@tool` said about it.

    Functions, bound methods, partials (without what they have bound) and objects with `__call__`
    will do.

    Raises:
        ConfigError: It is none, has no name, or takes what a model cannot give; names the
            parameter.
    """
    if isinstance(value, Tool):
        return value
    if not callable(value):
        raise ConfigError(f"a tool is a function or a Tool, not {value!r}")
    declaration = _declaration_of(value)
    name = declaration.name if declaration.name is not None else name_of(value)
    function = check_callable(value, f"tool {name}")
    if name == "<lambda>":
        raise ConfigError(
            "a lambda has no name for the model to call; make it a function, or use "
            "tool(name=…)(lambda …)"
        )
    signature = read_signature(function, f"tool {name}", ToolContext)
    description = declaration.description
    return Tool(
        name,
        docs_of(function).summary if description is None else description,
        parameters_schema(signature.parameters),
        function,
        declaration.timeout,
        declaration.worker,
        declaration.exclusive,
        _signature=signature,
    )


def check_tools(tools: Iterable[object]) -> tuple[Tool, ...]:
    """Return tools that an agent can have side by side.

    Args:
        tools: What `as_tool` takes; one that stands alone will do.

    Raises:
        ConfigError: A name is used twice, is the harness's own, or is none it accepts.
    """
    if isinstance(tools, Tool) or callable(tools):
        tools = (tools,)
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise ConfigError(f"tools are a list of functions, not {type(tools).__name__}")
    found: dict[str, Tool] = {}
    for one in map(as_tool, tools):
        _check_name(one.name)
        if one.name in found:
            raise ConfigError(f"two tools are named {one.name}; rename one with @tool(name=…)")
        found[one.name] = one
    return tuple(found.values())


def invoke(tool: Tool, arguments: object, context: ToolContext) -> object:
    """Convert the arguments, call the tool on this thread and return what it returns.

    Args:
        tool: The tool.
        arguments: What the model sent, as parsed; `None` is no arguments.
        context: What its `ToolContext` parameters get.

    Raises:
        ArgumentError: The arguments do not fit, and nothing was called; all that is wrong is in the
            text. Whatever else is raised comes from the tool.
    """
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping):
        raise ArgumentError(f"arguments must be a JSON object, got {shown(given)}; nothing was run")
    members = {name: value for name, value in given.items() if name not in RESERVED}
    if tool._signature is not None:
        found, problems = fit_members(members, tool._signature.parameters)
        if problems:
            listed = "; ".join(map(str, problems))
            raise ArgumentError(f"invalid arguments, nothing was run: {listed}", problems[0].path)
    else:
        found = _check_call(tool, members)
    return tool.function(**found, **dict.fromkeys(tool._injected, context))


def error_text(error: BaseException) -> str:
    """Return what the model is told of an exception: one line of its type and text, never blank."""
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    # Boundary: the exception is the tool's own, and so is what makes it a string.
    except Exception:  # noqa: BLE001
        text = ""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if text and not isinstance(error, ArgumentError):  # which is written for the model
        text = f"{name}: {text}"
    if len(text) > _LONGEST_ERROR:
        text = f"{text[:_LONGEST_ERROR]}…"
    return text or name


def _declaration_of(value: Function) -> _Declaration:
    subject = subject_of(value)
    for owner in (value, subject, type(subject).__call__):
        found = getattr(owner, _DECLARATION, None)
        if isinstance(found, _Declaration):
            return found
    return _Declaration()


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"a tool cannot be named {name!r}: the harness takes a letter or _, then up to 127 of "
            "letters, digits and _ . : / -; rename it with @tool(name=…)"
        )
    if name in _TAKEN or name.startswith(_MCP_PREFIX):
        owner = "tools of MCP servers" if name.startswith(_MCP_PREFIX) else "the harness"
        raise ConfigError(
            f"a tool cannot be named {name}: that name belongs to {owner}; rename it with "
            "@tool(name=…)"
        )


def _check_call(tool: Tool, members: Mapping[object, object]) -> dict[str, object]:
    """Return the arguments of a tool with a schema of its own, if its function can take them."""
    for name in members:
        if not isinstance(name, str) or name in tool._injected:
            raise ArgumentError(f"there is no argument {name!r}; leave it out, nothing was run")
    found = {str(name): value for name, value in members.items()}
    try:
        inspect.signature(tool.function).bind(**found, **dict.fromkeys(tool._injected))
    except ValueError:  # some builtins do not tell what they take
        return found
    except TypeError as error:
        raise ArgumentError(f"invalid arguments, nothing was run: {error}") from None
    return found
