"""Write down what the package promises: every public module, name and signature, as text.

python -m tests.contract.public_api > tests/contract/api.txt
"""

from __future__ import annotations

import enum
import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Final

import attrs

from tests.contract.source import PACKAGE


class _Plain(str):
    """An annotation, shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


#: The modules that people import from; what stands elsewhere is promised only as far as it is here.
PUBLIC: Final = (
    PACKAGE,
    f"{PACKAGE}.connections",
    f"{PACKAGE}.doctor",
    f"{PACKAGE}.errors",
    f"{PACKAGE}.events",
    f"{PACKAGE}.policy",
    f"{PACKAGE}.testing",
    f"{PACKAGE}.testing.fake_harness",
    f"{PACKAGE}.wire",
    f"{PACKAGE}.cli",
)


def public_names(module: object) -> list[str]:
    """Return what a module offers: its `__all__`, or what it defines without an underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == getattr(module, "__name__", "")
    )


def describe() -> Iterator[str]:
    """Yield the lines of `api.txt`."""
    described: dict[int, str] = {}
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        yield f"# {module_name}"
        for name in public_names(module):
            value = getattr(module, name)
            if inspect.ismodule(value):
                yield f"{name}: module"
            elif not (inspect.isclass(value) or inspect.isfunction(value)):
                yield f"{name} = {_constant(value)}"
            elif id(value) in described:
                yield f"{name}: see {described[id(value)]}"
            else:
                described[id(value)] = module_name
                yield from _definition(name, value)
        yield ""


def _definition(name: str, value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"def {name}{_signature(value)}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(value, enum.Enum):
        yield from (f"    {member.name} = {member.value!r}" for member in value)
    elif not getattr(value, "_is_protocol", False):
        yield f"    __init__{_signature(value.__init__, without_self=True)}"
    if attrs.has(value):
        yield from (f"    {field.name}: {field.type}" for field in attrs.fields(value))
    for member_name, member in sorted(_members(value).items()):
        if isinstance(member, property):
            yield f"    {member_name}: property"
        else:
            is_bound = isinstance(member, classmethod)
            kind = "classmethod " if is_bound else ""
            function = getattr(value, member_name) if is_bound else member
            yield f"    {kind}{member_name}{_signature(function, without_self=not is_bound)}"


def _members(cls: type) -> dict[str, object]:
    """Return public methods and properties that come from the package, inherited ones included."""
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == PACKAGE:
            found |= {
                name: member
                for name, member in vars(base).items()
                if (not name.startswith("_") or name in ("__enter__", "__iter__", "__next__"))
                and isinstance(member, property | classmethod | type(_members))
            }
    return found


def _signature(function: object, *, without_self: bool = False) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    parameters = [
        parameter.replace(
            annotation=_plain(parameter.annotation), default=_stable(parameter.default)
        )
        for parameter in signature.parameters.values()
    ]
    return str(
        signature.replace(
            parameters=parameters[1:] if without_self else parameters,
            return_annotation=_plain(signature.return_annotation),
        )
    )


def _plain(annotation: object) -> object:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _stable(default: object) -> object:
    """Return a default whose printed form is the same in every process."""
    return sorted(default, key=str) if isinstance(default, frozenset) else default


def _constant(value: object) -> str:
    return f"<{type(value).__name__}>" if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    sys.stdout.write("\n".join(describe()))
