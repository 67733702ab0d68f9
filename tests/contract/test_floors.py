"""The shape of the package: who may import whom, how long things may be, what may not appear."""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.contract.source import (
    GENERATED,
    PACKAGE,
    ROOT,
    Module,
    module_names,
    parse_modules,
    short,
)

#: The floors, from the ground up. A module imports from lower floors, and on its own floor from
#: those that stand before it. What is inside a package of a floor is ordered by having no circles.
FLOORS: Final = (
    (
        "errors",
        "_clock",
        "_logs",
        "_version",
        "_checks",
        "_timeouts",
        "_shapes",
        "_docstrings",
        "_paths",
        "_media_types",
    ),
    ("responses", "events", "_messages", "content"),
    # What a function's signature says, as a schema and as a check.
    ("_written", "_scopes", "_records", "_annotations", "_convert", "_results", "_schema"),
    ("_signatures", "_arguments", "_json_schema", "_schema_check", "_structured"),
    (
        "capabilities",
        "instructions",
        "limits",
        "questions",
        "hooks",
        "containment",
        "policy",
        "models",
        "_endpoints",
        "mcp",
        "tools",
        "subagents",
        "triggers",
    ),
    ("config",),
    ("_wire", "_core"),
    ("_transport",),
    ("_runtime",),
    (
        "connections",
        "turn",
        "agent",
        "serving",
        "harness",
        "_leases",
        "session_lock",
        "pool",
        "wire",
        "testing",
        "doctor",
        "_report",
        "cli",
    ),
    (PACKAGE,),
)
#: Both on one floor, and strangers to each other: what joins them is the pump.
STRANGERS: Final = {"_wire": "_core", "_core": "_wire"}

#: What is imported beside the standard library, and where; "" is anywhere.
THIRD_PARTIES: Final = {
    "attrs": "",
    "google.protobuf": "_wire",
    "websocket": "_transport.link",
    "pytest": "testing.plugin",
    "rich": "cli.pretty",
    "watchfiles": "_runtime.triggers",
    "typing_extensions": "",
}

#: Where `Any` may be written, and why. Elsewhere it would hide a mistake from the type checker.
ANY: Final = {
    "_wire": "JSON and protobuf, before they become values",
    "testing": "JSON as a model or a harness would send it, and arguments that are passed on",
    "_checks": "whatever a user gave, before it is known to be right",
    "config": "the same, and the one option that is plain JSON",
    "mcp": "validators of attrs take whatever a user gave",
    "policy": "validators and converters of attrs take anything",
    "events": "`to_dict` makes plain JSON",
    "errors": "errors stand below the values that they carry",
    "agent": "`**options`, which AgentConfig checks",
    "connections._place": "the same",
    "connections._translate": "JSON, before and after it is steps and verbs",
    "harness": "the same",
    "pool": "the same",
    "doctor._examine": "the same",
    "_core.session": "tables from a class of input to the function that takes that class",
}

MODULE_LINES, FUNCTION_LINES, PARAMETERS = 450, 60, 7
#: Functions that take more, and why.
MANY_PARAMETERS: Final = {("pool", "__init__"): "bounds of a pool, each by its name"}

Check = Callable[[Module], Iterator[str]]


@pytest.fixture(scope="module")
def package() -> list[Module]:
    return parse_modules()


def problems(check: Check, package: list[Module]) -> list[str]:
    return [
        f"{short(module.name)}: {problem}"
        for module in package
        if module.name != GENERATED
        for problem in check(module)
    ]


def unit(name: str) -> str:
    """Return the part of a module's name that has a place in `FLOORS`."""
    return short(name).partition(".")[0]


def place(name: str) -> tuple[int, int]:
    for number, floor in enumerate(FLOORS):
        if unit(name) in floor:
            return number, floor.index(unit(name))
    raise AssertionError(f"{name} has no floor; give it one in FLOORS")


def is_inside(module: Module, area: str) -> bool:
    return not area or f"{short(module.name)}.".startswith(f"{area}.")


def calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


# ── who imports whom ────────────────────────────────────────────────────────────────────────────


def upward_imports(module: Module) -> Iterator[str]:
    for target, line in module.own_imports():
        if unit(target) == unit(module.name):
            continue
        if place(target) >= place(module.name):
            yield f"line {line} imports {target}, which is above"
        if STRANGERS.get(unit(module.name)) == unit(target):
            yield f"line {line} imports {target}, which it must not know"


def test_import_when_made_then_downwards(package: list[Module]) -> None:
    """No module imports from a higher floor, not even for types or inside a function."""
    assert problems(upward_imports, package) == []


def test_imports_when_followed_then_no_circle(package: list[Module]) -> None:
    """The modules can be put in an order in which each comes after all that it imports."""
    graph = {module.name: {target for target, _ in module.own_imports()} for module in package}
    assert set(graphlib.TopologicalSorter(graph).static_order()) == set(module_names())


def test_floors_when_listed_then_every_place_is_taken() -> None:
    """The table of floors names every part of the package, and nothing else."""
    assert {name for floor in FLOORS for name in floor} == {unit(name) for name in module_names()}


def stray_packages(module: Module) -> Iterator[str]:
    for target, line in module.imports():
        top = target.partition(".")[0]
        if top == PACKAGE or top in sys.stdlib_module_names:
            continue
        areas = [
            area for name, area in THIRD_PARTIES.items() if f"{target}.".startswith(f"{name}.")
        ]
        if not areas:
            yield f"line {line} imports {target}"
        elif not is_inside(module, areas[0]):
            yield f"line {line} imports {target} outside {areas[0]}"


def test_third_party_when_imported_then_where_it_belongs(package: list[Module]) -> None:
    """Beside the standard library there are three packages, each with its place."""
    assert problems(stray_packages, package) == []


def running_typing_extensions(module: Module) -> Iterator[str]:
    guarded = {
        node.lineno
        for block in ast.walk(module.tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for statement in block.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for target, line in module.imports():
        if target.startswith("typing_extensions") and line not in guarded:
            yield f"line {line}"


def test_typing_extensions_when_imported_then_for_types_only(package: list[Module]) -> None:
    """It is no dependency, so nothing may need it when the program runs."""
    assert problems(running_typing_extensions, package) == []


def asynchronous(module: Module) -> Iterator[str]:
    for target, line in module.imports():
        if target.partition(".")[0] == "asyncio":
            yield f"line {line} imports {target}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield f"line {node.lineno}"


def test_asyncio_when_looked_for_then_nowhere(package: list[Module]) -> None:
    """The package is synchronous: no asyncio, no coroutine."""
    assert problems(asynchronous, package) == []


def generated_classes(module: Module) -> Iterator[str]:
    for target, line in module.own_imports():
        if target == GENERATED and not is_inside(module, "_wire"):
            yield f"line {line}"


def test_pb2_when_imported_then_by_the_wire_alone(package: list[Module]) -> None:
    """Generated classes do not leave `_wire`."""
    assert problems(generated_classes, package) == []


# ── how big ─────────────────────────────────────────────────────────────────────────────────────


def oversize(module: Module) -> Iterator[str]:
    if (lines := module.text.count("\n")) > MODULE_LINES:
        yield f"{lines} lines"
    for function in module.functions():
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{function.name} has {lines} lines"
        given = function.args
        names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        is_known = (short(module.name), function.name) in MANY_PARAMETERS
        if len(names - {"self", "cls"}) > PARAMETERS and not is_known:
            yield f"{function.name} takes {len(names)} parameters"


def test_size_when_measured_then_within_budget(package: list[Module]) -> None:
    """At most 450 lines in a module, 60 in a function, and 7 parameters beside self."""
    assert problems(oversize, package) == []


# ── what may not appear ─────────────────────────────────────────────────────────────────────────


def written_any(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and node.id == "Any":
            yield f"line {node.lineno}"


def stray_any(module: Module) -> Iterator[str]:
    if not any(is_inside(module, area) for area in ANY):
        yield from written_any(module)


def test_any_when_written_then_at_a_named_boundary(package: list[Module]) -> None:
    """`Any` stands only where untyped things come in, and no module is excused for nothing."""
    assert problems(stray_any, package) == []
    users = [module for module in package if any(written_any(module))]
    assert {area for area in ANY if any(is_inside(user, area) for user in users)} == set(ANY)


def unexplained_excepts(module: Module) -> Iterator[str]:
    lines = module.text.splitlines()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = {"BaseException"} if node.type is None else set(ast.unparse(node.type).split(", "))
        if not {name.strip("()") for name in caught} & {"Exception", "BaseException"}:
            continue
        last = node.body[-1]
        near = "\n".join(lines[max(0, node.lineno - 4) : node.lineno]).lower()
        if not (isinstance(last, ast.Raise) and last.exc is None) and "boundary" not in near:
            yield f"line {node.lineno} catches everything and does not say at which boundary"


def test_broad_except_when_written_then_unwinding_or_a_boundary(package: list[Module]) -> None:
    """Catching everything is for cleaning up and raising on, or says which boundary it is."""
    assert problems(unexplained_excepts, package) == []


def broad_suppressions(module: Module) -> Iterator[str]:
    for call, name in calls(module):
        what = {ast.unparse(argument) for argument in call.args}
        if name.endswith("suppress") and what & {"Exception", "BaseException"}:
            yield f"line {call.lineno}"


def test_suppress_when_used_then_of_something_narrow(package: list[Module]) -> None:
    """`contextlib.suppress` is an except, too."""
    assert problems(broad_suppressions, package) == []


def careless_logging(module: Module) -> Iterator[str]:
    for call, name in calls(module):
        if name == "logging.getLogger":
            logger = call.args[0] if call.args else None
            is_ours = isinstance(logger, ast.Constant) and str(logger.value).startswith(PACKAGE)
            if not is_ours:
                yield f"line {call.lineno} takes another logger"
        elif ast.unparse(call).endswith(
            ("logging.NullHandler()", ".addHandler(logging.NullHandler())")
        ):
            pass  # what keeps Python from printing records of a program that has set up nothing
        elif name.startswith("logging.") or name.endswith((".addHandler", ".setLevel")):
            yield f"line {call.lineno} calls {name}"


def test_logging_when_done_then_by_a_logger_of_ours_without_handlers(
    package: list[Module],
) -> None:
    """The root logger, handlers and levels are the program's own."""
    assert problems(careless_logging, package) == []


def prints(module: Module) -> Iterator[str]:
    for call, name in calls(module):
        if name == "print" and not is_inside(module, "cli"):
            yield f"line {call.lineno}"


def test_print_when_looked_for_then_only_in_the_command(package: list[Module]) -> None:
    """A library does not write to somebody else's terminal."""
    assert problems(prints, package) == []


# ── the checks themselves ───────────────────────────────────────────────────────────────────────


#: A check, a module, and a text for it that the check must not let pass.
BROKEN: Final[list[tuple[Check, str, str]]] = [
    (upward_imports, "errors", "from .config import AgentConfig"),
    (upward_imports, "errors", "def f():\n    import antigravity_sync"),
    (upward_imports, "_core.x", "from .._wire import codec"),
    (upward_imports, "_wire.x", "from .._core.steps import a"),
    (upward_imports, "_wire.x", "if TYPE_CHECKING:\n    from ..agent import Agent"),
    (upward_imports, "responses", "from antigravity_sync.events import Event"),
    (upward_imports, "responses", "from . import events"),
    (stray_packages, "agent", "import websocket"),
    (stray_packages, "_wire.x", "import requests"),
    (stray_packages, "_core.x", "from google.protobuf import json_format"),
    (stray_packages, "_wire.x", "from google.antigravity import agent"),
    (running_typing_extensions, "agent", "from typing_extensions import Self"),
    (asynchronous, "agent", "import asyncio.events"),
    (asynchronous, "agent", "async def f(): pass"),
    (generated_classes, "agent", "from ._wire import wire_pb2"),
    (generated_classes, "_transport.x", "from .._wire.wire_pb2 import InputConfig"),
    (oversize, "agent", "\n" * 451),
    (oversize, "agent", "def f():\n" + "    pass\n" * 60),
    (oversize, "agent", "def f(self, a, b, c, d, /, e, *, f, g, h): pass"),
    (stray_any, "_core.x", "x: dict[str, Any]"),
    (unexplained_excepts, "agent", "try: pass\nexcept (OSError, Exception): pass"),
    (unexplained_excepts, "agent", "try: pass\nexcept BaseException as e: pass"),
    (unexplained_excepts, "agent", "try: pass\nexcept: raise ValueError"),
    (broad_suppressions, "agent", "contextlib.suppress(OSError, Exception)"),
    (careless_logging, "agent", "logging.warning('x')"),
    (careless_logging, "agent", "logging.getLogger()"),
    (careless_logging, "agent", "logging.getLogger('google')"),
    (careless_logging, "agent", "_log.addHandler(x)"),
    (prints, "agent", "print(1)"),
]


def test_checks_when_something_is_broken_then_they_find_it() -> None:
    """Each check above can fail."""
    missed = [
        f"{check.__name__}: {text}"
        for check, name, text in BROKEN
        if not list(check(Module(f"{PACKAGE}.{name}", text)))
    ]
    assert missed == []


def test_circle_when_there_is_one_then_found() -> None:
    """The search for circles fails on one."""
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())


def test_package_when_read_then_all_of_it(package: list[Module]) -> None:
    """The checks see the package's files, and resolve its relative imports."""
    assert len(package) > 50
    targets = {target for module in package for target, _ in module.own_imports()}
    assert targets <= set(module_names())
    assert module_names()[f"{PACKAGE}.errors"] == (ROOT / PACKAGE / "errors.py")
