"""The package's source as the contract tests read it: its modules and what each imports."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "antigravity_sync"
#: Written by the protobuf compiler; only who may import it is checked.
GENERATED: Final = f"{PACKAGE}._wire.wire_pb2"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.frozen(eq=False)
class Module:
    """One module of the package, parsed.

    Attributes:
        name: Dotted name; a package goes by its own name.
        text: Its source.
        is_package: Whether it is the `__init__` of a package.
        tree: Its syntax.
    """

    name: str
    text: str = attrs.field(repr=False)
    is_package: bool = False
    tree: ast.Module = attrs.field(repr=False, init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield each import with its line, also those in functions and for types only."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node.module, node.level)
                yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)

    def own_imports(self) -> Iterator[tuple[str, int]]:
        """Yield the imports of the package's modules, by the name of the module."""
        for name, line in self.imports():
            if name.partition(".")[0] == PACKAGE:
                yield (name if name in module_names() else name.rpartition(".")[0]), line

    def functions(self) -> Iterator[Function]:
        """Yield every function and method."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def _absolute(self, module: str | None, level: int) -> str:
        if level == 0:
            return module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - level + self.is_package]
        return ".".join([*kept, *([module] if module else [])])


@functools.cache
def module_names() -> dict[str, Path]:
    """Return every module of the package by its dotted name, and its file."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def parse_modules() -> list[Module]:
    """Return every module of the package; not kept here, because syntax trees are large."""
    return [
        Module(name, path.read_text("utf-8"), path.name == "__init__.py")
        for name, path in module_names().items()
    ]


def short(name: str) -> str:
    """Return a module's name without the package's."""
    return name.removeprefix(f"{PACKAGE}.")
