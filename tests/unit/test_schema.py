# ruff: noqa: UP006, UP007, UP035, UP045 - the older spellings are tested, too
"""The JSON schemas of tools, from their signatures."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import json
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Dict, Generic, List, Literal, NewType, Optional, Tuple, Union

import attrs
import pytest

from antigravity_sync._schema import schema_of
from antigravity_sync.errors import ConfigError
from antigravity_sync.tools import ToolContext, as_tool
from tests.leaks import Belongings, assert_nothing_added

T = typing.TypeVar("T")
Bounded = typing.TypeVar("Bounded", bound=int)
Either = typing.TypeVar("Either", int, str)

UserId = NewType("UserId", int)
Names = List[str]
Scores = Dict[str, "Score"]
Score = float
Loop = Union[int, List["Loop"]]
Positive = Annotated[int, "from 1 up"]


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
    HIGH = 2


class Odd(enum.Enum):
    PAIR = (1, 2)
    NOTHING = None


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


@dataclasses.dataclass
class Order:
    """What somebody wants.

    Attributes:
        item: What it is.
    """

    item: str
    color: Color = Color.RED
    where: Point | None = None
    tags: list[str] = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0)
    kind: typing.ClassVar[str] = "order"


@attrs.frozen
class Person:
    name: str
    _age: Annotated[int, "in years"] = 0
    friends: list[str] = attrs.Factory(list)
    secret: str = attrs.field(init=False, default="")


@attrs.define(auto_attribs=False)
class Untyped:
    first = attrs.field()
    second = attrs.field(type=int, default=1)


class Movie(typing.TypedDict):
    title: str
    year: int


class Options(typing.TypedDict, total=False):
    depth: int
    follow: bool


class Pair(typing.NamedTuple):
    left: int
    right: str = "r"


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


@attrs.frozen
class Husband:
    wife: Wife | None = None


@attrs.frozen
class Wife:
    husband: Husband | None = None


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


@dataclasses.dataclass
class TextBox(Box[str]):
    lid: bool = True


POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
    "required": ["x"],
}
NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value"],
}
INT, STR, NULL = {"type": "integer"}, {"type": "string"}, {"type": "null"}

CASES: list[Any] = []


def case(required: str = "", defs: dict[str, Any] | None = None, **properties: Any) -> Any:
    """Say what schema the decorated function has: names that are required, and properties."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    if defs:
        schema["$defs"] = defs

    def add(function: Callable[..., object]) -> Callable[..., object]:
        CASES.append(pytest.param(function, schema, id=function.__name__))
        return function

    return add


# ── scalars ─────────────────────────────────────────────────────────────────────────────────────


@case()
def nothing(): ...


@case("x", x=STR)
def text(x: str): ...


@case("x", x=INT)
def whole(x: int): ...


@case("x", x={"type": "number"})
def real(x: float): ...


@case("x", x={"type": "boolean"})
def truth(x: bool): ...


@case("x", x=NULL)
def none(x: None): ...


@case("x", x={"description": "Any JSON value."})
def anything(x: Any): ...


@case("x", x={"description": "Any JSON value."})
def any_object(x: object): ...


@case("x", x={"description": "Any JSON value."})
def no_annotation(x): ...


@case("x y", x=STR, y=INT, z={"type": "boolean", "default": True})
def several(x: str, y: int, z: bool = True): ...


@case("y", x={"type": "integer", "default": 1}, y=STR)
def keyword_only(x: int = 1, *, y: str): ...


# ── text with a meaning ─────────────────────────────────────────────────────────────────────────


@case("x", x=STR)
def path(x: Path): ...


@case("x", x={"type": "string", "format": "date-time"})
def moment(x: datetime.datetime): ...


@case("x", x={"type": "string", "format": "date"})
def date(x: datetime.date): ...


@case("x", x={"type": "string", "format": "time"})
def time(x: datetime.time): ...


@case("x", x={"type": "string", "format": "uuid"})
def unique(x: uuid.UUID): ...


@case("x", x={"type": "string", "format": "decimal"})
def money(x: decimal.Decimal): ...


# ── constants ───────────────────────────────────────────────────────────────────────────────────


@case("x", x={"type": "string", "enum": ["a", "b"]})
def words(x: Literal["a", "b"]): ...


@case("x", x={"type": "integer", "enum": [1, 2]})
def numbers(x: Literal[1, 2]): ...


@case(
    "x",
    x={
        "anyOf": [
            {"type": "string", "enum": ["a"]},
            {"type": "integer", "enum": [1]},
            {"type": "boolean", "enum": [True]},
            NULL,
        ]
    },
)
def mixed_constants(x: Literal["a", 1, True, None]): ...


@case("x", x={"type": "string", "enum": ["red", "blue"]})
def member_constants(x: Literal[Color.RED, Color.BLUE]): ...


@case("x", x={"type": "string", "enum": ["red", "blue"]})
def text_enum(x: Color): ...


@case("x", x={"type": "integer", "enum": [1, 2]})
def number_enum(x: Level): ...


@case("x", x={"type": "string", "enum": ["PAIR", "NOTHING"]})
def other_enum(x: Odd): ...


# ── collections ─────────────────────────────────────────────────────────────────────────────────


@case("x", x={"type": "array", "items": {}})
def bare_list(x: list): ...


@case("x", x={"type": "array", "items": STR})
def list_of_text(x: list[str]): ...


@case("x", x={"type": "array", "items": STR})
def old_list(x: List[str]): ...


@case("x", x={"type": "array", "items": {"type": "array", "items": INT}})
def list_of_lists(x: list[list[int]]): ...


@case("x", x={"type": "array", "items": {"anyOf": [INT, NULL]}})
def list_of_optionals(x: list[int | None]): ...


@case("x", x={"type": "array", "items": INT})
def set_of_numbers(x: set[int]): ...


@case("x", x={"type": "array", "items": {}})
def bare_frozenset(x: frozenset): ...


@case("x", x={"type": "array", "items": INT})
def sequence(x: collections.abc.Sequence[int]): ...


@case("x", x={"type": "array", "items": INT})
def iterable(x: typing.Iterable[int]): ...


@case("x", x={"type": "array", "items": {}})
def bare_tuple(x: tuple): ...


@case("x", x={"type": "array", "items": {}})
def bare_old_tuple(x: Tuple): ...


@case("x", x={"type": "array", "items": STR})
def open_tuple(x: tuple[str, ...]): ...


@case("x", x={"type": "array", "items": INT, "minItems": 2, "maxItems": 2})
def pair_of_numbers(x: tuple[int, int]): ...


@case(
    "x",
    x={
        "type": "array",
        "items": {"anyOf": [STR, INT]},
        "description": "In this order: string, integer.",
        "minItems": 2,
        "maxItems": 2,
    },
)
def mixed_pair(x: tuple[str, int]): ...


@case("x", x={"type": "array", "items": {}, "minItems": 0, "maxItems": 0})
def empty_tuple(x: tuple[()]): ...


@case("x", x={"type": "object"})
def bare_dict(x: dict): ...


@case("x", x={"type": "object"})
def dict_of_anything(x: dict[str, Any]): ...


@case("x", x={"type": "object", "additionalProperties": INT})
def dict_of_numbers(x: dict[str, int]): ...


@case("x", x={"type": "object", "additionalProperties": STR})
def dict_by_number(x: Dict[int, str]): ...


@case("x", x={"type": "object", "additionalProperties": {"type": "array", "items": POINT}})
def mapping_by_enum(x: collections.abc.Mapping[Color, list[Point]]): ...


# ── unions ──────────────────────────────────────────────────────────────────────────────────────


@case("x", x={"anyOf": [INT, NULL]})
def optional(x: Optional[int]): ...


@case("x", x={"anyOf": [INT, NULL]})
def or_none(x: int | None): ...


@case(x={"anyOf": [STR, NULL], "default": None})
def optional_with_default(x: str | None = None): ...


@case(x={"anyOf": [INT, NULL], "default": None})
def none_as_default(x: int = None): ...  # noqa: RUF013 - what people write


@case("x", x={"anyOf": [INT, STR]})
def union(x: Union[int, str]): ...


@case("x", x={"anyOf": [INT, STR, NULL]})
def nested_union(x: Optional[Union[int, str]]): ...


@case("x", x={"anyOf": [{"type": "string", "enum": ["auto"]}, INT]})
def constant_or_number(x: Literal["auto"] | int): ...


# ── names for types ─────────────────────────────────────────────────────────────────────────────


@case("x", x=INT)
def new_type(x: UserId): ...


@case("x", x={"type": "array", "items": STR})
def alias(x: Names): ...


@case("x", x={"type": "object", "additionalProperties": {"type": "number"}})
def alias_with_text_inside(x: Scores): ...


@case("x", x=INT)
def bounded_variable(x: Bounded): ...


@case("x", x={"anyOf": [INT, STR]})
def constrained_variable(x: Either): ...


@case("x", x={"description": "Any JSON value."})
def free_variable(x: T): ...


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


@case("x", x=POINT)
def dataclass(x: Point): ...


@case("x", x={"anyOf": [POINT, NULL]})
def optional_dataclass(x: Point | None): ...


@case(x=POINT | {"default": {"x": 1.0, "y": 2.0}})
def dataclass_as_default(x: Point = Point(1.0, 2.0)): ...  # noqa: B008


@case(
    "x",
    x={
        "type": "object",
        "properties": {
            "item": {"type": "string", "description": "What it is."},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "where": {"anyOf": [POINT, NULL], "default": None},
            "tags": {"type": "array", "items": STR},
        },
        "required": ["item"],
        "description": "What somebody wants.",
    },
)
def nested_dataclass(x: Order): ...


@case(
    "x",
    x={
        "type": "object",
        "properties": {
            "name": STR,
            "age": {"type": "integer", "description": "in years", "default": 0},
            "friends": {"type": "array", "items": STR},
        },
        "required": ["name"],
    },
)
def attrs_class(x: Person): ...


@case(
    "x",
    x={
        "type": "object",
        "properties": {"first": {}, "second": {"type": "integer", "default": 1}},
        "required": ["first"],
    },
)
def attrs_class_without_annotations(x: Untyped): ...


@case(
    "x",
    x={"type": "object", "properties": {"title": STR, "year": INT}, "required": ["title", "year"]},
)
def typed_dict(x: Movie): ...


@case("x", x={"type": "object", "properties": {"depth": INT, "follow": {"type": "boolean"}}})
def typed_dict_not_total(x: Options): ...


@case(
    "x",
    x={
        "type": "object",
        "properties": {"left": INT, "right": {"type": "string", "default": "r"}},
        "required": ["left"],
    },
)
def named_tuple(x: Pair): ...


@case("x", x={"type": "object", "properties": {"content": INT}, "required": ["content"]})
def generic_dataclass(x: Box[int]): ...


@case(
    "x",
    x={
        "type": "object",
        "properties": {"content": STR, "lid": {"type": "boolean", "default": True}},
        "required": ["content"],
    },
)
def filled_generic(x: TextBox): ...


@case("x", defs={"Node": NODE}, x={"$ref": "#/$defs/Node"})
def class_with_itself(x: Node): ...


@case(
    defs={"Node": NODE},
    x={
        "anyOf": [{"$ref": "#/$defs/Node"}],
        "description": "The root.",
        "default": {"value": 1, "children": []},
    },
    y={"anyOf": [{"$ref": "#/$defs/Node"}, NULL], "default": None},
)
def class_with_itself_twice(x: Annotated[Node, "The root."] = Node(1), y: Node | None = None): ...  # noqa: B008


@case(
    "x",
    defs={
        "Husband": {
            "type": "object",
            "properties": {
                "wife": {"anyOf": [{"$ref": "#/$defs/Wife"}, NULL], "default": None},
            },
        },
        "Wife": {
            "type": "object",
            "properties": {
                "husband": {"anyOf": [{"$ref": "#/$defs/Husband"}, NULL], "default": None},
            },
        },
    },
    x={"$ref": "#/$defs/Husband"},
)
def classes_with_each_other(x: Husband): ...


# ── texts ───────────────────────────────────────────────────────────────────────────────────────


@case("x", x={"type": "integer", "description": "how many"})
def annotated(x: Annotated[int, "how many"]): ...


@case("x", x={"type": "integer", "description": "from 1 up"})
def annotated_alias(x: Positive): ...


@case("x", x={"type": "integer", "description": "two"})
def annotated_with_other_notes(x: Annotated[int, [], 1, "two", "three"]): ...


@case(x={"anyOf": [INT, NULL], "description": "how many", "default": None})
def annotated_with_none(x: Annotated[int, "how many"] = None): ...  # noqa: RUF013


@case("x", x={"anyOf": [INT, NULL], "description": "how many"})
def annotated_or_none(x: Annotated[int, "how many"] | None): ...


@case("x", x={"anyOf": [{"type": "integer", "description": "a"}, STR, NULL]})
def annotated_among_others(x: Annotated[int, "a"] | str | None): ...


@case(
    "a b c",
    a={"type": "string", "description": "The first, on two lines."},
    b={"type": "integer", "description": "Nearer than the docstring."},
    c={"description": "Something."},
    d={"type": "integer", "default": 1},
)
def google_docstring(a: str, b: Annotated[int, "Nearer than the docstring."], c, d: int = 1):  # noqa: D417
    """Do it.

    Args:
        a: The first,
            on two lines.
        b (int): Ignored.
        c: Something.
        e: Not there.

    Returns:
        d: No parameter.
    """


@case(
    "a b",
    a={"type": "string", "description": "The first, on two lines."},
    b={"type": "array", "items": INT, "description": "More."},
)
def rest_docstring(a: str, b: list[int]):
    """Do it.

    :param a: The first,
        on two lines.
    :param list b: More.
    :returns: a: nothing
    """


@case(
    "x",
    x={
        "type": "array",
        "items": {"anyOf": [STR, INT]},
        "description": "Who and how old. In this order: string, integer.",
        "minItems": 2,
        "maxItems": 2,
    },
)
def text_of_mixed_pair(x: Annotated[tuple[str, int], "Who and how old."]): ...


# ── defaults ────────────────────────────────────────────────────────────────────────────────────


@case(
    a={"type": "string", "enum": ["red", "blue"], "default": "blue"},
    b={"type": "string", "default": "/tmp/x"},
    c={"type": "string", "format": "date", "default": "2026-01-31"},
    d={"type": "array", "items": STR, "default": ["a", "b"]},
    e={"type": "array", "items": INT, "default": [1, 2]},
    f={"type": "string", "enum": ["PAIR", "NOTHING"], "default": "PAIR"},
)
def defaults_with_a_json_form(
    a: Color = Color.BLUE,
    b: Path = Path("/tmp/x"),
    c: datetime.date = datetime.date(2026, 1, 31),
    d: frozenset[str] = frozenset("ab"),
    e: tuple[int, ...] = (1, 2),
    f: Odd = Odd.PAIR,
): ...


@case(
    x={"description": "Any JSON value."},
    y={"type": "number"},
    z={"description": "Any JSON value."},
)
def defaults_without_a_json_form(x=b"raw", y: float = float("inf"), z=print): ...


@case("x", x=STR)
def context_is_hidden(x: str, ctx: ToolContext, other: Optional[ToolContext] = None): ...


@case("self fn tool_name", self=STR, fn=STR, tool_name=STR, cls={"type": "integer", "default": 1})
def names_of_this_package(self: str, fn: str, tool_name: str, cls: int = 1): ...


@pytest.mark.parametrize(("function", "schema"), CASES)
def test_schema_when_annotations_are_text_then_exact(function, schema):
    """A signature of a module with postponed annotations has exactly this schema."""
    parameters = as_tool(function).parameters
    assert parameters == schema
    assert json.loads(json.dumps(parameters)) == parameters


@pytest.mark.parametrize(("function", "schema"), CASES)
def test_schema_when_annotations_are_types_then_the_same(function, schema, monkeypatch):
    """Annotations that Python has evaluated give the same schema as their text."""
    # Not of the function itself: Python 3.10 would add what a default of `None` implies.
    annotated = types.SimpleNamespace(__annotations__=function.__annotations__)
    hints = typing.get_type_hints(annotated, globals(), include_extras=True)
    monkeypatch.setattr(function, "__annotations__", hints)
    assert as_tool(function).parameters == schema


def test_table_when_counted_then_sixty_at_least():
    """The table is as large as promised, and no name hides another."""
    names = [parameter.id for parameter in CASES]
    assert len(names) == len(set(names)) >= 60


# ── one annotation ──────────────────────────────────────────────────────────────────────────────


def test_schema_of_class_when_it_contains_itself_then_the_root_is_an_object():
    """A root is written out, so that it can stand where an object is asked for."""
    assert schema_of(Node, "x") == NODE | {"$defs": {"Node": NODE}}


def test_schema_of_two_classes_of_one_name_then_two_definitions():
    """Classes with circles are told apart, whatever they are called."""
    first, second = make_node("int"), make_node("str")
    schema = schema_of(tuple[first, second], "x")
    assert schema["items"] == {"anyOf": [{"$ref": "#/$defs/Local"}, {"$ref": "#/$defs/Local_"}]}
    assert [one["properties"]["value"] for one in schema["$defs"].values()] == [INT, STR]


def make_node(kind: str) -> type:
    return dataclasses.make_dataclass(
        "Local",
        [("value", kind), ("next", "Local | None", None)],
        namespace={"__module__": __name__},
    )


@dataclasses.dataclass
class Wide:
    here: int
    there: dataclasses.InitVar[str]


def test_schema_when_init_takes_more_than_fields_then_that_is_there_too():
    """An `InitVar` is a parameter of the constructor."""
    assert schema_of(Wide, "x")["properties"] == {"here": INT, "there": STR}


class Base(typing.TypedDict):
    a: int


if sys.version_info >= (3, 11):

    class Partly(Base, total=False):
        b: typing.Required[int]
        c: int

    class Mostly(Base):
        b: typing.NotRequired[Annotated[int, "text"]]
        c: Annotated[str, "text"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="NotRequired is new in 3.11")
def test_typed_dict_when_members_say_so_then_required_or_not():
    """`Required` and `NotRequired` count, in text, too, and so does what a base says."""
    assert schema_of(Partly, "x")["required"] == ["a", "b"]
    assert schema_of(Mostly, "x")["required"] == ["a", "c"]
    assert schema_of(Mostly, "x")["properties"]["b"] == {"type": "integer", "description": "text"}


NEW_SYNTAX = """
type Row = list[int]
type Matrix[V] = list[list[V]]
type Circle = list[Circle]

class Holder[V]:
    pass

import dataclasses

@dataclasses.dataclass
class Cell[V]:
    value: V

def row(x: Row): ...
def matrix(x: Matrix[str]): ...
def cell(x: Cell[int]): ...
def own[V: int](x: V): ...
def circle(x: Circle): ...
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in 3.12")
def test_schema_when_written_with_type_statements_then_exact():
    """Aliases, generic ones too, and type parameters stand for what they say."""
    module: dict[str, Any] = {"__name__": __name__}
    exec(NEW_SYNTAX, module)

    def found(name: str) -> object:
        return as_tool(module[name]).parameters["properties"]["x"]

    row = {"type": "array", "items": INT}
    assert found("row") == row
    assert found("matrix") == {"type": "array", "items": {"type": "array", "items": STR}}
    assert found("cell")["properties"] == {"value": INT}
    assert found("own") == INT
    with pytest.raises(ConfigError, match=r"tool circle, parameter x\[\]: the alias Circle refers"):
        found("circle")


# ── what has no schema ──────────────────────────────────────────────────────────────────────────


class Plain:
    pass


class Empty(enum.Enum):
    pass


class Rights(enum.Flag):
    READ = 1


@attrs.frozen
class Holder:
    inner: list[Plain]


REFUSED = [
    (bytes, "bytes cannot be expressed", "base64"),
    (complex, "complex cannot be expressed", "two floats"),
    (datetime.timedelta, "timedelta cannot be expressed", "seconds"),
    (Callable[[int], str], "Callable", "Literal"),
    (Plain, "Plain cannot be expressed", "dataclass"),
    (type[int], "type", "Tool(name, description, parameters, function)"),
    (typing.NoReturn, "NoReturn", "dataclass"),
    (list[bytes], "x[]: bytes", "base64"),
    (dict[str, bytes], "x[]: bytes", "base64"),
    (int | bytes, "x: bytes", "base64"),
    (Holder, "x.inner[]: Plain", "dataclass"),
    (dict[tuple[int, int], str], "members of a JSON object", "list of pairs"),
    (dict[float, str], "members of a JSON object", "list of pairs"),
    (Empty, "no members", "give it some"),
    (Rights, "flags", "a list of an Enum"),
    (Literal[b"x"], "Literal[b'x']", "strings or whole numbers"),
    ("Unknown", "'Unknown' cannot be resolved", "module level"),
    ("list[", "cannot be resolved", "module level"),
    (list[ToolContext], "Event", "dataclass"),
    (3, "3 cannot be expressed", "dataclass"),
]


@pytest.mark.parametrize(("annotation", "problem", "advice"), REFUSED)
def test_schema_when_it_cannot_be_then_error_says_where_and_what_instead(
    annotation, problem, advice
):
    """What has no schema is refused with its place and something to write instead."""
    with pytest.raises(ConfigError) as caught:
        schema_of(annotation, "tool f, parameter x")
    message = str(caught.value)
    assert message.startswith("tool f, parameter x")
    assert problem in message
    assert advice in message


def loop(x: Loop): ...


def test_schema_when_an_alias_contains_itself_then_error():
    """A union that goes round in a circle has no name to refer to."""
    with pytest.raises(
        ConfigError, match=r"tool loop, parameter x\[\]: the alias 'Loop' refers to"
    ):
        as_tool(loop)


def test_schema_when_local_names_are_only_in_annotations_then_found():
    """A class defined beside the tool is found, although the tool's code does not use it."""

    @dataclasses.dataclass
    class Local:
        me: Local | None = None

    def local(x: Local): ...

    reference = {"anyOf": [{"$ref": "#/$defs/Local"}, NULL], "default": None}
    assert as_tool(local).parameters == {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Local"}},
        "required": ["x"],
        "$defs": {"Local": {"type": "object", "properties": {"me": reference}}},
    }


def leave_a_tool_behind():
    class Gone(enum.Enum):
        A = 1

    def left(x: Gone): ...

    def left_with_a_use(x: Gone):
        return Gone(x)

    return left, left_with_a_use


def test_schema_when_the_local_class_is_gone_then_a_closure_helps_or_an_error():
    """What nobody can look up any more is refused; what the function uses is still there."""
    left, left_with_a_use = leave_a_tool_behind()
    assert as_tool(left_with_a_use).parameters["properties"]["x"]["enum"] == [1]
    with pytest.raises(ConfigError, match="tool left, parameter x: the annotation 'Gone'"):
        as_tool(left)


@attrs.frozen
class Clash:
    Color: Color = Color.RED
    path: Optional[Path] = None


def test_schema_when_a_field_has_the_name_of_its_type_then_the_type_is_meant():
    """A default does not hide the class of the same name."""
    assert schema_of(Clash, "x")["properties"] == {
        "Color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "path": {"anyOf": [STR, NULL], "default": None},
    }
