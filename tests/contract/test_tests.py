"""The tests keep their own rules: every module has some, and none waits for time or patches us."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.contract.source import ROOT, module_names, short

TESTS: Final = ROOT / "tests"

#: Modules without a test module of their name: who tests them instead, and why.
ELSEWHERE: Final[dict[str, tuple[str, str]]] = {
    "_checks": ("unit/test_config.py", "a check is what an option does with a bad value"),
    "_logs": ("loop/test_wiretap.py", "what it adds to records shows when an agent runs"),
    "_media_types": ("unit/test_content.py", "a type is what becomes of a file of it"),
    "_messages": ("unit/test_codec.py", "values without behaviour; the codec makes them"),
    "_version": ("contract/test_packaging.py", "constants"),
    "_annotations": ("unit/test_schema.py", "annotations show in the schema made from them"),
    "_docstrings": ("unit/test_schema.py", "so do docstrings"),
    "_records": ("unit/test_schema.py", "so do classes with fields"),
    "_scopes": ("unit/test_schema.py", "so does where a name in an annotation is looked for"),
    "_signatures": ("unit/test_tools.py", "a signature is what a tool is made from"),
    "_json_schema": ("unit/test_structured.py", "judges structured answers and nothing else"),
    "_schema_check": ("unit/test_structured.py", "judges the schemas of such answers"),
    "_shapes": ("unit/test_convert.py", "values without behaviour; conversions follow them"),
    "_timeouts": ("real/test_cancel.py", "timeouts of calls"),
    "_written": ("unit/test_convert.py", "what a model wrote, on its way to what was meant"),
    "_results": ("unit/test_tools.py", "what a tool returns, on its way to the model"),
    "instructions": ("unit/test_prompting.py", "they show in what is sent"),
    "models": ("unit/test_config.py", "parts of the configuration"),
    "_endpoints": ("unit/test_model_options.py", "what becomes of the options for models"),
    "wire": ("contract/test_import.py", "names of `_wire`, in the public snapshot"),
    "agent": ("real/test_turns.py", "the whole of it, on the real harness"),
    "harness": ("real/test_shared_harness.py", "the whole of it, on the real harness"),
    "turn": ("real/test_cancel.py", "the same, left at every point"),
    "connections": ("loop/test_connections_contract.py", "one contract for all of them"),
    "cli": ("contract/test_cli.py", "the command as a user calls it"),
    "doctor": ("unit/test_doctor.py", "its checks; a start is tried in real/test_doctor_real.py"),
    "_report": ("unit/test_report.py", "one road from a recording to a page"),
    "_core": ("property/test_session_walks.py", "one machine, entered by one door"),
    "_wire": ("contract/test_proto.py", "the schema; the rest has test modules"),
    "_transport": ("loop/test_start_failures.py", "a process and a socket need another end"),
    "_runtime": ("threads/test_rules.py", "threads are tested where they meet"),
    "testing": ("loop/test_fake_harness.py", "the parts of two stand-ins, tested as wholes"),
}


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(TESTS.rglob("*.py"))}


def has_test_module(name: str) -> bool:
    """Return whether a test module is named for this one, or for one aspect of it."""
    leaf = name.rpartition(".")[2].lstrip("_")
    return any(
        path.stem == f"test_{leaf}" or path.stem.startswith(f"test_{leaf}_")
        for path in TESTS.rglob("test_*.py")
    )


def area(name: str) -> str:
    return short(name).partition(".")[0]


def test_module_when_it_is_in_the_package_then_it_has_tests() -> None:
    """Every module is tested by a module of its name, or the table says by which one."""
    untested = [
        name
        for name, path in module_names().items()
        if path.name != "__init__.py" and not has_test_module(name) and area(name) not in ELSEWHERE
    ]
    assert untested == []


def test_table_when_it_names_something_then_it_exists() -> None:
    """The table names parts of the package, and test modules that are there."""
    for name, (tests, why) in ELSEWHERE.items():
        assert name in {area(module) for module in module_names()}, name
        assert (TESTS / tests).exists(), tests
        assert why


def claims_in(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def unclaimed(tree: ast.Module) -> Iterator[str]:
    """Yield the tests that do not say what they claim."""
    for test in claims_in(tree):
        claim = ast.get_docstring(test)
        if not claim or not claim.partition("\n")[0].endswith((".", "!", "?")):
            yield f"line {test.lineno}: {test.name}"


def test_test_when_written_then_it_says_its_claim(trees: dict[Path, ast.Module]) -> None:
    """The docstring of a test is the sentence that it proves."""
    assert [f"{path.name} {p}" for path, tree in trees.items() for p in unclaimed(tree)] == []


def shortcuts(tree: ast.Module) -> Iterator[str]:
    """Yield sleeps, mocks, and tests that cannot fail; a condition may excuse a platform."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "sleep":
            yield f"line {node.lineno} sleeps"
        elif isinstance(node, ast.Attribute) and ast.unparse(node).endswith(("mark.skip", "xfail")):
            yield f"line {node.lineno} does not run a test, or does not care how it ends"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            if any(name.partition(".")[0] == "mock" or "unittest" in name for name in names):
                yield f"line {node.lineno} imports a mock"


def test_shortcut_when_looked_for_then_none(trees: dict[Path, ast.Module]) -> None:
    """Tests wait for events and never for time, fake at the edges, and all of them count."""
    assert [f"{path.name} {p}" for path, tree in trees.items() for p in shortcuts(tree)] == []


def test_checks_when_something_is_broken_then_they_find_it() -> None:
    """The checks above can fail."""
    assert list(unclaimed(ast.parse("def test_a(): pass")))
    assert list(unclaimed(ast.parse("def test_a():\n    '''no sentence'''")))
    for text in (
        "time.sleep(1)",
        "from unittest import mock",
        "import mock",
        "@pytest.mark.xfail\ndef test_a(): '''A.'''",
        "@pytest.mark.skip(reason='later')\ndef test_a(): '''A.'''",
    ):
        assert list(shortcuts(ast.parse(text))), text
    assert not has_test_module("antigravity_sync.no_such_module")


def test_names_when_collected_then_unique() -> None:
    """Test modules can be told apart by their names alone."""
    names = [path.stem for path in TESTS.rglob("test_*.py")]
    assert len(names) == len(set(names))
