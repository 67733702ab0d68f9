# ruff: noqa: UP045 - the older spelling is tested, too
"""Declaring tools, calling them with what a model sent, and putting results into JSON."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import math
import random
import sys
import threading
import time
import typing
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Optional

import attrs
import pytest

from antigravity_sync import BuiltinTool
from antigravity_sync._clock import ManualClock
from antigravity_sync._messages import MediaPart
from antigravity_sync.errors import AntigravityError, ConfigError
from antigravity_sync.tools import (
    ArgumentError,
    EncodedResult,
    ResultError,
    Tool,
    ToolContext,
    as_tool,
    check_tools,
    encode_result,
    error_text,
    invoke,
    tool,
)
from tests.leaks import Belongings, assert_nothing_added

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
NO_PARAMETERS = {"type": "object", "properties": {}}


@pytest.fixture(autouse=True, scope="module")
def _leaves_nothing() -> Iterator[None]:
    """Look for leaks once: these are hundreds of calls of pure functions."""
    before = Belongings.now()
    yield
    assert_nothing_added(before)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Odd(enum.Enum):
    PAIR = (1, 2)


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@attrs.frozen
class Person:
    name: str
    _age: int = 0
    home: Point | None = None


class Pair(typing.NamedTuple):
    left: int
    right: str


@attrs.frozen
class Image:
    data: bytes
    mime_type: str = "image/png"
    description: str | None = None


def add(x: int, y: int = 1) -> int:
    """Add two numbers.

    Nobody needs to know more.
    """
    return x + y


class Service:
    """Things that belong together."""

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def plain(self, x: int) -> int:
        """Multiply."""
        return self.factor * x

    @tool(name="times", description="Multiply it.", timeout=5)
    def marked(self, x: int) -> int:
        return self.factor * x

    @tool
    @classmethod
    def of_class(cls, x: int) -> str:
        return f"{cls.__name__} {x}"

    @tool(name="static")
    @staticmethod
    def of_none(x: int) -> int:
        return x

    def __call__(self, x: int) -> int:
        """Call it."""
        return self.factor * x


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


def call(value: object, arguments: object, **context: Any) -> object:
    return invoke(as_tool(value), arguments, ToolContext(**context))


# ── declaring ───────────────────────────────────────────────────────────────────────────────────


def test_tool_when_used_without_parentheses_then_the_function_itself_comes_back():
    """The decorator changes nothing about the function."""

    def plain(x: int) -> int:
        return x + 1

    assert tool(plain) is plain
    assert plain(1) == 2
    assert as_tool(plain).name == "plain"


def test_tool_when_options_are_given_then_they_are_in_the_declaration():
    """Each option of the decorator is found in the tool."""

    @tool(name="other", description="Do it.", timeout=2.5, worker=True, exclusive=True)
    def function(x: int) -> int:
        """Ignore this."""
        return x

    assert function(3) == 3
    assert as_tool(function) == Tool(
        "other", "Do it.", SCHEMA, function, timeout=2.5, worker=True, exclusive=True
    )


def test_as_tool_when_nothing_is_said_then_name_and_first_paragraph_of_the_function():
    """A plain callable is a tool by its own name and docstring."""
    made = as_tool(add)
    assert (made.name, made.description) == ("add", "Add two numbers.")
    assert made.function is add
    assert (made.timeout, made.worker, made.exclusive) == (None, False, False)
    assert as_tool(made) is made


class Inherited(Service):
    pass


#: What can be a tool, its name, its description, and what `x=3` gives.
CALLABLES: list[tuple[object, str, str, object]] = [
    (add, "add", "Add two numbers.", 4),
    (Service(2).plain, "plain", "Multiply.", 6),
    (Inherited(2).plain, "plain", "Multiply.", 6),
    (Service(2).marked, "times", "Multiply it.", 6),
    (Inherited(2).marked, "times", "Multiply it.", 6),
    (Service.of_class, "of_class", "", "Service 3"),
    (Inherited().of_class, "of_class", "", "Inherited 3"),
    (Service.of_none, "static", "", 3),
    (Service(2), "Service", "Call it.", 6),
    (functools.partial(add, y=5), "add", "Add two numbers.", 8),
    (functools.partial(functools.partial(add, y=5)), "add", "Add two numbers.", 8),
    (functools.partial(Service(2).marked), "times", "Multiply it.", 6),
    (functools.partial(Service(2)), "Service", "Call it.", 6),
    (logged(add), "add", "Add two numbers.", 4),
    (logged(Service(2).marked), "times", "Multiply it.", 6),
    (functools.lru_cache(add), "add", "Add two numbers.", 4),
    (tool(name="thrice")(lambda x: 3 * x), "thrice", "", 9),
    (tool(name="mine")(Service(2).plain), "mine", "Multiply.", 6),
    (tool(name="copy")(functools.partial(add, y=5)), "copy", "Add two numbers.", 8),
]


@pytest.mark.parametrize(("value", "name", "description", "result"), CALLABLES)
def test_as_tool_when_it_can_be_called_then_a_tool(value, name, description, result):
    """Whatever can be called by name is a tool, with what was declared about it inside."""
    made = as_tool(value)
    assert (made.name, made.description) == (name, description)
    assert next(iter(made.parameters["properties"])) == "x"
    assert invoke(made, {"x": 3}, ToolContext()) == result


def test_as_tool_when_arguments_are_bound_then_they_vanish():
    """The model neither sees nor sets what a partial has bound."""

    def three(x: int, y: int, z: int = 3) -> tuple[int, int, int]:
        return x, y, z

    by_name = as_tool(functools.partial(three, y=2))
    assert list(by_name.parameters["properties"]) == ["x", "z"]
    assert invoke(by_name, {"x": "1"}, ToolContext()) == (1, 2, 3)
    with pytest.raises(ArgumentError, match='"y" is not known'):
        invoke(by_name, {"x": 1, "y": 9}, ToolContext())
    by_place = as_tool(functools.partial(three, 1, z=9))
    assert by_place.parameters["required"] == ["y"]
    assert invoke(by_place, {"y": 2}, ToolContext()) == (1, 2, 9)


def test_as_tool_when_wrapped_then_the_wrapper_is_called_and_the_inside_is_described():
    """`functools.wraps` shows the signature of the function inside, and keeps its declaration."""
    wrapper = logged(tool(name="sum", timeout=1)(logged(add)))
    made = as_tool(wrapper)
    assert (made.name, made.timeout) == ("sum", 1)
    assert made.parameters["properties"]["y"] == {"type": "integer", "default": 1}
    assert invoke(made, {"x": "1"}, ToolContext()) == 2
    assert wrapper.calls == 1


def test_as_tool_when_the_default_is_missing_then_python_takes_its_own():
    """A default that JSON cannot carry is still what the function gets."""
    marker = object()

    def function(x=marker, y: Path = Path("/a")) -> bool:
        return x is marker and y == Path("/a")

    assert call(function, None) is True


# ── what is no tool ─────────────────────────────────────────────────────────────────────────────


async def coroutine_function(x: int) -> int:
    return x


async def async_generator(x: int):
    yield x


def generator(x: int):
    yield x


class AsyncCall:
    async def __call__(self, x: int) -> int:
        return x


def takes_args(*values: int): ...


def takes_kwargs(**options: int): ...


def positional(x: int, /): ...


def takes_bytes(x: int, raw: bytes): ...


def takes_summary(toolSummary: str): ...  # noqa: N803 - the harness's own


def takes_contexts(contexts: list[ToolContext]): ...


def takes_unknown(x: Missing): ...  # noqa: F821 - which is what is tested


@dataclasses.dataclass
class HasBytes:
    raw: dict[str, bytes]


def takes_nested_bytes(x: Optional[HasBytes]): ...


def hidden_signature(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


NO_TOOLS: list[tuple[object, str]] = [
    (3, "a tool is a function or a Tool, not 3"),
    ("add", "a tool is a function or a Tool, not 'add'"),
    (None, "a tool is a function or a Tool, not None"),
    (Service, "tool Service: Service is a class; give a function or an instance"),
    (functools.partial(Service), "tool Service: Service is a class"),
    (lambda x: x, "a lambda has no name"),
    (coroutine_function, "tool coroutine_function is a coroutine function; make it a plain `def`"),
    (functools.partial(coroutine_function), "tool coroutine_function is a coroutine function"),
    (tool(coroutine_function), "tool coroutine_function is a coroutine function"),
    (AsyncCall(), "tool AsyncCall is a coroutine function"),
    (async_generator, "tool async_generator is a coroutine function"),
    (generator, "tool generator is a generator function; return a list"),
    (takes_args, r"tool takes_args, parameter \*values: a model cannot fill it"),
    (takes_kwargs, r"tool takes_kwargs, parameter \*\*options: a model cannot fill it"),
    (hidden_signature(add), r"tool wrapper, parameter \*args: .* functools.wraps"),
    (positional, "tool positional, parameter x is positional-only"),
    (len, "tool len, parameter obj is positional-only"),
    (takes_bytes, "tool takes_bytes, parameter raw: bytes cannot .* base64"),
    (takes_nested_bytes, r"tool takes_nested_bytes, parameter x.raw\[\]: bytes cannot .* base64"),
    (takes_summary, "tool takes_summary, parameter toolSummary: the harness has"),
    (takes_contexts, r"tool takes_contexts, parameter contexts\[\]: a tool's context can only be"),
    (takes_unknown, "tool takes_unknown, parameter x: the annotation 'Missing' cannot be resolved"),
    (Service.plain, r"tool plain, parameter self: .* such as Service\(…\).plain"),
    (Service.marked, r"tool times, parameter self: .* such as Service\(…\).marked"),
]


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize(("value", "message"), NO_TOOLS)
def test_as_tool_when_a_model_cannot_call_it_then_config_error_names_it(value, message):
    """What cannot be a tool is refused with tool, parameter, and what to do instead."""
    with pytest.raises(ConfigError, match=message):
        as_tool(value)


def test_as_tool_when_positional_only_has_a_default_then_it_keeps_it():
    """A parameter that has no name for the model is left alone where that works."""

    def function(hidden: int = 7, /, x: int = 1) -> tuple[int, int]:
        return hidden, x

    assert list(as_tool(function).parameters["properties"]) == ["x"]
    assert call(function, {"x": 2}) == (7, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": 3}, "name must be str"),
        ({"name": "\ud800"}, "name holds a lone surrogate"),
        ({"description": b""}, "description must be str"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": "5"}, "timeout must be a number of seconds above 0"),
        ({"worker": 1}, "worker must be bool"),
        ({"exclusive": "yes"}, "exclusive must be bool"),
    ],
)
def test_tool_when_an_option_is_wrong_then_config_error(options, message):
    """Options are checked where they are written."""
    with pytest.raises(ConfigError, match=message):
        tool(**options)


@pytest.mark.parametrize("value", ["add", 3, Service])
def test_tool_when_it_decorates_no_function_then_config_error(value):
    """`@tool("name")` is a mistake, and said to be one."""
    with pytest.raises(ConfigError, match=r"@tool is for functions, .* @tool\(name=…\)"):
        tool(value)


# ── a tool with a schema of its own ─────────────────────────────────────────────────────────────


def test_tool_class_when_the_schema_is_given_then_arguments_pass_as_they_are():
    """With a schema of one's own, arguments are neither converted nor compared with it."""
    made = Tool("any", "Take it.", SCHEMA, lambda **given: given)
    assert made.parameters == SCHEMA
    assert invoke(made, {"x": "3", "other": [1]}, ToolContext()) == {"x": "3", "other": [1]}
    assert invoke(made, None, ToolContext()) == {}


def test_tool_class_when_the_function_cannot_take_them_then_argument_error():
    """Missing and unknown arguments are the model's mistake, and nothing was run."""
    made = Tool("add", "", SCHEMA, add)
    assert invoke(made, {"x": 1}, ToolContext()) == 2
    for arguments, message in [
        ({}, "nothing was run: missing a required argument: 'x'"),
        ({"x": 1, "z": 2}, "nothing was run: got an unexpected keyword argument 'z'"),
        ([1], "arguments must be a JSON object, got an array of 1"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            invoke(made, arguments, ToolContext())


def test_tool_class_when_it_takes_a_context_then_it_gets_it_and_the_model_cannot():
    """Injection does not depend on where the schema comes from."""

    def function(x: int, ctx: ToolContext, other: Unresolved = None) -> str:  # noqa: F821
        return ctx.call_id

    made = Tool("f", "", SCHEMA, function)
    assert invoke(made, {"x": 1}, ToolContext(call_id="c7")) == "c7"
    with pytest.raises(ArgumentError, match="there is no argument 'ctx'"):
        invoke(made, {"x": 1, "ctx": {}}, ToolContext())


def test_tool_class_when_the_function_does_not_tell_what_it_takes_then_it_is_called():
    """A builtin without a signature will do, because the schema says what it takes."""
    made = Tool("now", "", {}, time.time)
    assert isinstance(invoke(made, {}, ToolContext()), float)


def test_tool_class_when_made_then_the_schema_is_its_own_copy():
    """Who changes the schema later does not change the tool."""
    schema: dict[str, Any] = {"properties": {"x": {"type": "integer"}}}
    made = Tool("f", "", schema, lambda x: x)
    schema["properties"]["y"] = {}
    assert made.parameters == {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert Tool("f", "", MappingProxyType({}), add).parameters == NO_PARAMETERS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": 3}, "name must be str"),
        ({"description": None}, "description must be str"),
        ({"description": "\ud800"}, "description holds a lone surrogate"),
        ({"parameters": []}, "parameters must be a JSON schema, not list"),
        ({"parameters": {"type": "string"}}, 'of type "object"'),
        ({"parameters": {"properties": []}}, "with properties"),
        ({"parameters": {"x": {1}}}, "parameters must be plain JSON"),
        ({"parameters": {"x": math.nan}}, "parameters must be plain JSON"),
        ({"parameters": {"x": "\ud800"}}, "parameters must be plain JSON"),
        ({"parameters": {"properties": {"toolAction": {}}}}, "tool f, parameter toolAction: it be"),
        ({"parameters": {"properties": {"ctx": {}}}}, "tool f, parameter ctx: it is a ToolContext"),
        ({"function": 3}, "tool f: 3 cannot be called"),
        ({"function": coroutine_function}, "tool f is a coroutine function"),
        ({"function": positional}, "tool f, parameter x is positional-only"),
        ({"timeout": -1}, "timeout must be"),
        ({"worker": None}, "worker must be bool"),
    ],
)
def test_tool_class_when_a_part_is_wrong_then_config_error(changes, message):
    """A tool is checked whole when it is made."""

    def function(x: int, ctx: ToolContext): ...

    parts = {"name": "f", "description": "", "parameters": SCHEMA, "function": function}
    with pytest.raises(ConfigError, match=message):
        Tool(**{**parts, **changes})


def test_tool_class_when_evolved_then_the_conversion_stays_unless_the_schema_changes():
    """A copy with another name still converts; one with another schema does as that says."""
    made = as_tool(add)
    renamed = attrs.evolve(made, name="sum", timeout=3.0)
    assert (renamed.name, renamed.timeout) == ("sum", 3.0)
    assert invoke(renamed, {"x": "1"}, ToolContext()) == 2
    own = attrs.evolve(made, parameters=SCHEMA)
    with pytest.raises(TypeError):
        invoke(own, {"x": "1"}, ToolContext())


def test_tool_class_when_hashed_then_it_can_be_in_a_set():
    """Tools compare by value and can be members of sets."""
    assert as_tool(add) == as_tool(add)
    assert len({as_tool(add), as_tool(add), as_tool(Service().plain)}) == 2


# ── several tools ───────────────────────────────────────────────────────────────────────────────


def test_check_tools_when_all_is_well_then_tools_in_order():
    """Whatever can be a tool becomes one, and the order stays."""
    made = check_tools([add, Service().marked, Tool("third", "", {}, add)])
    assert [one.name for one in made] == ["add", "times", "third"]
    assert check_tools(()) == ()


def test_check_tools_when_one_stands_alone_then_that_one():
    """A single tool needs no list around it."""
    assert check_tools(add) == check_tools([add]) == check_tools(iter([as_tool(add)]))
    assert check_tools(as_tool(add)) == check_tools([add])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("add", "tools are a list of functions, not str"),
        ({"add": add}, "tools are a list of functions, not dict"),
        (3, "tools are a list of functions, not int"),
        (None, "tools are a list of functions, not NoneType"),
        ([add, 3], "a tool is a function or a Tool, not 3"),
        ([add, tool(name="add")(logged(add))], "two tools are named add; rename one"),
    ],
)
def test_check_tools_when_they_are_none_then_config_error(value, message):
    """What is no collection of different tools is refused."""
    with pytest.raises(ConfigError, match=message):
        check_tools(value)


OWN_NAMES = [
    *(one.value for one in BuiltinTool),
    *("list_dir", "view_file", "grep_search", "find_by_name", "write_to_file"),
    *("replace_file_content", "multi_replace_file_content", "run_command", "ask_question"),
    *("invoke_subagent", "define_subagent", "manage_subagents", "send_message", "manage_task"),
    *("schedule", "generate_image", "search_web", "read_url_content", "run_workflow", "finish"),
    *("call_mcp_tool", "list_resources", "read_resource", "retriever:expand_tools"),
    *("mcp_", "mcp_server_tool"),
]


@pytest.mark.parametrize("name", OWN_NAMES)
def test_check_tools_when_the_name_is_taken_then_config_error(name):
    """No tool silently takes the place of the harness's own, by either of its names."""
    with pytest.raises(ConfigError, match=f"a tool cannot be named {name}: that name belongs to"):
        check_tools([Tool(name, "", {}, add)])


@pytest.mark.parametrize(
    "name", ["", "1st", "a b", "naïve", "a\n", "-a", ".a", "a" * 129, "a{}", "a,b", "a\0"]
)
def test_check_tools_when_the_harness_does_not_take_the_name_then_config_error(name):
    """A name that would fail the start is refused before there is one."""
    with pytest.raises(ConfigError, match=r"a tool cannot be named '.*': the harness takes"):
        check_tools([Tool(name, "", {}, add)])


@pytest.mark.parametrize(
    "name", ["a", "_", "A1", "a" * 128, "ns.tool:v1/x-y", "mcp", "Finish", "view_files"]
)
def test_check_tools_when_the_harness_takes_the_name_then_so_do_we(name):
    """The rule is the harness's, and no stricter."""
    assert check_tools([Tool(name, "", {}, add)])[0].name == name


# ── calling ─────────────────────────────────────────────────────────────────────────────────────


def report(
    city: str,
    days: int = 1,
    unit: Literal["C", "F"] = "C",
    places: list[Point] | None = None,
) -> tuple[object, ...]:
    return city, days, unit, places


def test_invoke_when_arguments_fit_then_the_function_gets_what_it_says():
    """Arguments are converted, and those that are missing have their defaults."""
    assert call(report, {"city": "Paris"}) == ("Paris", 1, "C", None)
    arguments = {"city": "Paris", "days": "2", "unit": "F", "places": [{"x": 1.0}]}
    assert call(report, arguments) == ("Paris", 2, "F", [Point(1)])
    # The harness takes these two away again; if it should not, they are still not ours.
    assert call(report, arguments | {"toolAction": "Look", "toolSummary": "Weather"}) == (
        "Paris",
        2,
        "F",
        [Point(1)],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (None, 'invalid arguments, nothing was run: "city" is missing: a string'),
        ({}, 'invalid arguments, nothing was run: "city" is missing: a string'),
        ([], "arguments must be a JSON object, got an array of 0; nothing was run"),
        ("x", 'arguments must be a JSON object, got the string "x"; nothing was run'),
        (7, "arguments must be a JSON object, got the number 7; nothing was run"),
        (
            {"city": None},
            "invalid arguments, nothing was run: city: expected a string, got null",
        ),
        (
            {"city": "Paris", "citty": "x"},
            'invalid arguments, nothing was run: "citty" is not known (did you mean "city"?)',
        ),
        (
            {"city": "Paris", 1: 2},
            'invalid arguments, nothing was run: "1" is not known '
            "(known are: city, days, unit, places)",
        ),
        (
            {"day": 1, "unit": "K", "places": [{"x": 1}, {"y": 1}]},
            'invalid arguments, nothing was run: "day" is not known (did you mean "days"?); '
            '"city" is missing: a string; unit: expected one of "C", "F", got the string "K"; '
            "places[1].x is missing: a whole number",
        ),
    ],
)
def test_invoke_when_arguments_do_not_fit_then_all_that_is_wrong_is_told(arguments, message):
    """One answer tells the model everything that it has to correct."""
    called = []

    @functools.wraps(report)
    def watched(**given: object) -> object:
        return called.append(given)

    with pytest.raises(ArgumentError) as caught:
        call(watched, arguments)
    assert str(caught.value) == message
    assert not called


def test_invoke_when_parameters_have_names_of_ours_then_they_work():
    """A parameter may be called whatever we call ours."""

    def function(self: int, tool: int, fn: int, tool_name: int, arguments: int, context: int):
        return [self, tool, fn, tool_name, arguments, context]

    names = ["self", "tool", "fn", "tool_name", "arguments", "context"]
    assert call(function, {name: str(place) for place, name in enumerate(names)}) == [*range(6)]


def test_invoke_when_the_tool_raises_then_its_exception_comes_out():
    """What a tool raises is not ours to change, whatever it is."""
    for problem in (ValueError(), TypeError("x"), KeyboardInterrupt(), ArgumentError("mine")):

        def function(raised: object = problem) -> None:
            raise raised

        with pytest.raises(type(problem)) as caught:
            call(function, {})
        assert caught.value is problem


# ── the context ─────────────────────────────────────────────────────────────────────────────────


def test_context_when_asked_for_then_injected_and_hidden():
    """Every spelling of the annotation is understood, and the schema shows none of it."""

    def function(
        first: ToolContext,
        x: int,
        second: Optional[ToolContext],
        third: ToolContext | None = None,
        *,
        fourth: Annotated[ToolContext, "text"],
        fifth: Annotated[Optional[ToolContext], 1] = None,
    ) -> list[object]:
        return [first, second, third, fourth, fifth]

    context = ToolContext(call_id="c1")
    made = as_tool(function)
    assert made.parameters == SCHEMA
    assert invoke(made, {"x": 1}, context) == [context] * 5
    function.__annotations__ = typing.get_type_hints(function, include_extras=True)
    assert as_tool(function).parameters == SCHEMA


def test_context_when_the_model_sends_one_then_argument_error():
    """The model cannot take the place of the context."""

    def function(x: int, ctx: ToolContext) -> None:
        raise AssertionError("called")

    for sent in (None, {}, "x", {"cancelled": True}):
        with pytest.raises(ArgumentError, match='"ctx" is not known'):
            call(function, {"x": 1, "ctx": sent})


def test_context_when_made_then_it_has_what_is_promised():
    """The attributes and their defaults are there."""
    context = ToolContext()
    assert isinstance(context.cancelled, threading.Event)
    assert not context.cancelled.is_set()
    assert (context.deadline, context.state) == (None, {})
    assert (context.conversation_id, context.call_id) == ("", "")
    assert context.remaining() is None
    shared: dict[str, object] = {}
    ToolContext(state=shared).state["x"] = 1
    assert shared == {"x": 1}


def test_context_when_time_passes_then_less_remains_and_never_less_than_nothing():
    """What remains is measured against the clock that set the deadline."""
    clock = ManualClock()
    context = ToolContext(deadline=5.0, clock=clock)
    assert context.remaining() == 5.0
    clock.advance(2)
    assert context.remaining() == 3.0
    clock.advance(9)
    assert context.remaining() == 0.0


# ── results ─────────────────────────────────────────────────────────────────────────────────────


class Text(str):
    __slots__ = ()


class Box(collections.UserDict):
    pass


RESULTS: list[tuple[object, object]] = [
    # not an object: wrapped
    (None, {"result": None}),
    ("x", {"result": "x"}),
    ("", {"result": ""}),
    (5, {"result": 5}),
    (2.5, {"result": 2.5}),
    (True, {"result": True}),
    (10**30, {"result": 10**30}),
    ([1, "a", None], {"result": [1, "a", None]}),
    ([], {"result": []}),
    ((1, 2), {"result": [1, 2]}),
    ({3, 1, 2}, {"result": [1, 2, 3]}),
    (frozenset({"b", "a"}), {"result": ["a", "b"]}),
    (range(3), {"result": [0, 1, 2]}),
    (collections.deque([1]), {"result": [1]}),
    ({"a": 1}.keys(), {"result": ["a"]}),
    ({"a": 1}.values(), {"result": [1]}),
    # objects: as they are
    ({}, {}),
    ({"a": 1}, {"a": 1}),
    ({"result": 1}, {"result": 1}),
    ({"a": {"b": [{"c": None}]}}, {"a": {"b": [{"c": None}]}}),
    (MappingProxyType({"a": 1}), {"a": 1}),
    (Box(a=1), {"a": 1}),
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Point(1, 2), {"x": 1, "y": 2}),
    (Person("A", 3, Point(1)), {"name": "A", "age": 3, "home": {"x": 1, "y": 0}}),
    (Pair(1, "b"), {"left": 1, "right": "b"}),
    ([Point(1)], {"result": [{"x": 1, "y": 0}]}),
    # what the harness would take for a failure: wrapped
    ({"error": None, "a": 1}, {"result": {"error": None, "a": 1}}),
    ({"error": "boom"}, {"result": {"error": "boom"}}),
    ({"Error": "boom"}, {"Error": "boom"}),
    # values with a JSON form
    (Color.RED, {"result": "red"}),
    (Level.LOW, {"result": 1}),
    (Odd.PAIR, {"result": "PAIR"}),
    (Text("x"), {"result": "x"}),
    (Path("/a/b"), {"result": "/a/b"}),
    (datetime.datetime(2026, 1, 31, 14, 30), {"result": "2026-01-31T14:30:00"}),
    (datetime.date(2026, 1, 31), {"result": "2026-01-31"}),
    (datetime.time(14, 30), {"result": "14:30:00"}),
    (datetime.timedelta(minutes=1), {"result": 60.0}),
    (uuid.UUID(int=1), {"result": "00000000-0000-0000-0000-000000000001"}),
    (decimal.Decimal("1.50"), {"result": "1.50"}),
    # numbers that JSON does not have
    (math.nan, {"result": "NaN"}),
    ([1.0, math.inf, -math.inf], {"result": [1.0, "Infinity", "-Infinity"]}),
    # names that are no text
    ({1: "a", 2.5: "b"}, {"1": "a", "2.5": "b"}),
    ({None: 1, False: 2}, {"null": 1, "false": 2}),
    ({Color.RED: 1, Level.LOW: 2, Odd.PAIR: 3}, {"red": 1, "1": 2, "PAIR": 3}),
    ({Path("/a"): 1, uuid.UUID(int=1): 2}, {"/a": 1, "00000000-0000-0000-0000-000000000001": 2}),
    # the same thing twice is no circle
    ([[1]] * 2, {"result": [[1], [1]]}),
    # any text
    ({"grüße": "\u2028\0"}, {"grüße": "\u2028\0"}),
    ("\ud800 x", {"result": "\ud800 x"}),
    ({"\udfff": "é"}, {"\udfff": "é"}),
]


@pytest.mark.parametrize(("value", "wanted"), RESULTS)
def test_encode_result_when_it_has_a_json_form_then_an_object(value, wanted):
    """A result is always one JSON object, in text that can be written as UTF-8."""
    encoded = encode_result("f", value)
    assert encoded.media == ()
    assert encoded.json.encode("utf-8")
    assert json.loads(encoded.json, parse_constant=pytest.fail) == wanted


def circle() -> list[object]:
    found: list[object] = []
    found.append({"inner": (found,)})
    return found


def deep(levels: int) -> list[object]:
    found: list[object] = []
    for _ in range(levels):
        found = [found]
    return found


class Liar(collections.abc.Mapping):
    def __iter__(self):
        raise OSError("disk on fire")

    def __len__(self):
        return 1

    def __getitem__(self, key):
        return key


NO_RESULTS: list[tuple[object, str]] = [
    (b"raw", "tool 'f' returned bytes at result; return text (base64, for example), or an Image"),
    ({"a": [bytearray()]}, "tool 'f' returned bytes at result.a[0]; return text"),
    (circle(), "tool 'f' returned an object that holds itself at result[0].inner[0]; leave that"),
    (deep(201), "tool 'f' returned something nested more than 200 levels deep; flatten it"),
    (deep(100_000), "tool 'f' returned something nested more than 200 levels deep; flatten it"),
    (
        object(),
        "tool 'f' returned a value of type object, which has no JSON form; return a dict",
    ),
    (
        {"x": [Service()]},
        "tool 'f' returned a value of type Service, which has no JSON form; return a dict",
    ),
    ({"x": [Service()]}, "(at result.x[0])"),
    (Point, "tool 'f' returned the class Point, which has no JSON form"),
    (
        iter([1]),
        "tool 'f' returned a value of type list_iterator, which can be read only once",
    ),
    (
        generator(1),
        "tool 'f' returned a value of type generator, which can be read only once; return a list",
    ),
    (ValueError("x"), "tool 'f' returned a value of type ValueError, which has no JSON form"),
    (add, "tool 'f' returned a value of type function, which has no JSON form"),
    (1j, "tool 'f' returned a value of type complex, which has no JSON form"),
    ({(1, 2): 3}, "tool 'f' returned a member whose name is of type tuple at result; use str"),
    (
        {"a": {b"x": 3}},
        "tool 'f' returned a member whose name is of type bytes at result.a; use str",
    ),
    ({1: "a", "1": "b"}, "tool 'f' returned two members that JSON both calls '1' at result"),
    (Liar(), "tool 'f' returned what cannot be read: disk on fire"),
    (Image(b"", "png"), "tool 'f' returned media of type 'png' at result; give one such as"),
]


@pytest.mark.parametrize(("value", "message"), NO_RESULTS)
def test_encode_result_when_it_has_none_then_error_names_tool_and_place(value, message):
    """What JSON cannot carry is an error that says which tool, where, and what instead."""
    with pytest.raises(ResultError) as caught:
        encode_result("f", value)
    assert message in str(caught.value)
    assert isinstance(caught.value, ArgumentError)


def test_encode_result_when_a_coroutine_then_told_and_closed():
    """A coroutine is refused, and Python does not complain that nobody awaited it."""
    with pytest.raises(ResultError, match="which nobody awaits; make the tool a plain function"):
        encode_result("f", [coroutine_function(1)])


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="no limit here")
def test_encode_result_when_a_number_has_too_many_digits_then_error():
    """Python's own limit is no crash."""
    with pytest.raises(ResultError, match="tool 'f' returned what cannot be written"):
        encode_result("f", 10**5000)


def test_encode_result_when_large_then_whole():
    """Five megabytes come out as they went in, text and tables alike."""
    text = "grüße " * 900_000
    assert json.loads(encode_result("f", text).json) == {"result": text}
    table = [{"name": str(row), "points": [row, row / 3], "ok": True} for row in range(60_000)]
    encoded = encode_result("f", {"rows": table}).json
    assert len(encoded) > 3_000_000
    assert json.loads(encoded) == {"rows": table}


def test_encode_result_when_it_is_encoded_then_the_value_is_untouched():
    """Encoding makes no change to what the tool keeps."""
    value = {"a": [Point(1), {2, 1}], 3: (Color.RED,)}
    before = repr(value)
    encode_result("f", value)
    assert repr(value) == before


def test_encode_result_when_there_is_media_then_beside_the_json():
    """Media leave a number in their place, wherever they are."""
    one, two = Image(b"1"), Image(b"2", "application/pdf", "the paper")
    part = MediaPart("image/png", b"3", "a cat")
    assert encode_result("f", one) == EncodedResult(
        '{"result": "attachment 1 (image/png)"}', (MediaPart("image/png", b"1"),)
    )
    encoded = encode_result("f", {"text": "x", "files": (two, [one, part])})
    assert json.loads(encoded.json) == {
        "text": "x",
        "files": [
            "attachment 1 (application/pdf)",
            ["attachment 2 (image/png)", "attachment 3 (image/png)"],
        ],
    }
    assert encoded.media == (
        MediaPart("application/pdf", b"2", "the paper"),
        MediaPart("image/png", b"1"),
        part,
    )


def test_encode_result_when_random_then_an_object_or_a_result_error():
    """No value of plain Python escapes the rule."""
    rng = random.Random(7)
    for _ in range(2_000):
        value = anything(rng, 4, strange=True)
        try:
            encoded = encode_result("f", value)
        except ResultError:
            continue
        else:
            assert type(json.loads(encoded.json, parse_constant=pytest.fail)) is dict
            assert encoded.json.encode("utf-8")


# ── errors ──────────────────────────────────────────────────────────────────────────────────────


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (ValueError("  \n "), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (KeyError(), "KeyError"),
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (SystemExit(), "SystemExit"),
        (AntigravityError("x"), "AntigravityError: x"),
        (ArgumentError("x: expected y"), "x: expected y"),
        (ArgumentError(""), "ArgumentError"),
        (ResultError("tool 'f' returned bytes"), "tool 'f' returned bytes"),
        (MuteError(), "MuteError"),
        (ValueError("\ud800"), "ValueError: ?"),
        (ValueError("x" * 5_000), f"ValueError: {'x' * 1_988}…"),
    ],
)
def test_error_text_when_something_was_raised_then_one_line_that_is_never_blank(error, text):
    """The model is always told something, in one line."""
    assert error_text(error) == text


# ── whatever a model may send ───────────────────────────────────────────────────────────────────

NAMES = ["x", "y", "city", "days", "name", "age", "home", "child", "items", "color", "ctx", "", "é"]
SCALARS = [
    *(None, True, False, 0, 1, -1, 3.0, 2.5, 1e300, 10**30, "", "3", "3.0", "true", "red", "RED"),
    *("C", "2026-01-31", "2026-01-31T14:30:00Z", "null", "x" * 200, "\ud800", "\0", "9" * 5000),
    *("00000000-0000-0000-0000-000000000001", "1e5", "[]", "{}", math.nan, math.inf),
    *({"name": "abc"}, {"name": "abc", "child": {"name": "x"}}, {"name": "abcd", "items": [1]}),
]


def anything(rng: random.Random, depth: int, *, strange: bool = False) -> object:
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        more = [b"x", Color.RED, Point(1), Path("a"), object(), Service, 1j] if strange else []
        return rng.choice(SCALARS + more)
    size = rng.randrange(4)
    if kind < 0.65:
        return [anything(rng, depth - 1, strange=strange) for _ in range(size)]
    names = [*NAMES, 1, None, (1,), Color.RED] if strange else NAMES
    return {rng.choice(names): anything(rng, depth - 1, strange=strange) for _ in range(size + 1)}


@dataclasses.dataclass
class Tree:
    name: str
    child: Tree | Leaf | None = None
    items: list[Tree | int] = dataclasses.field(default_factory=list)


@attrs.frozen
class Leaf:
    name: str = attrs.field(validator=attrs.validators.max_len(3))
    color: Color = Color.RED


class Home(typing.TypedDict, total=False):
    city: str
    days: datetime.date


def scalars(x: int = 0, y: float = 0, city: str = "", days: bool = False, ctx: ToolContext = None):
    assert type(x) is int
    assert type(y) is float or y == 0
    assert type(city) is str
    assert type(days) is bool
    assert isinstance(ctx, ToolContext)


def unions(x: int | str | None, y: list[int] | dict[str, float] = (), color: Color | bool = True):
    assert x is None or type(x) in (int, str)


def texts(
    x: datetime.datetime | None = None,
    y: uuid.UUID | decimal.Decimal = decimal.Decimal(0),
    name: Path = Path(),
    home: Home | None = None,
    days: Literal[1, "C", True, None] = None,
): ...


def trees(child: Tree | Leaf, items: tuple[Tree, int] | set[Any] = ()):
    assert isinstance(child, Tree | Leaf)


def containers(x: dict[Color, set[int]] = {}, y: tuple[int, ...] = (), items: list = ()): ...  # noqa: B006


def anyhow(x, y: Any = None, *, name: object = None): ...


own_schema = Tool("own", "", SCHEMA, lambda x, y=1, **rest: (x, y, rest))


def test_invoke_when_arguments_are_random_then_they_fit_or_the_model_is_told():
    """Ten thousand random payloads: the tool runs with values of its types, or ArgumentError."""
    rng = random.Random(11)
    tools = [*check_tools([scalars, unions, texts, trees, containers, anyhow]), own_schema]
    fitted = dict.fromkeys((made.name for made in tools), 0)
    complaints: list[str] = []
    for _ in range(10_000):
        made = rng.choice(tools)
        arguments = anything(rng, 3)
        if rng.random() < 0.8:  # mostly an object, and mostly of names that it has
            names = list(made.parameters["properties"])
            chosen = rng.sample(names, rng.randrange(len(names) + 1))
            arguments = {name: anything(rng, 4) for name in chosen}
        try:
            invoke(made, arguments, ToolContext())
            fitted[made.name] += 1
        except ArgumentError as error:
            complaints.append(str(error))
    assert all(complaint.encode("utf-8") for complaint in complaints)
    assert all(count > 10 for count in fitted.values()), fitted
