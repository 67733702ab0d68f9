"""Where the names in an annotation that is text are looked up."""

from __future__ import annotations

import builtins
import collections
import inspect
import sys
import types
import typing

import attrs

from .errors import ConfigError


@attrs.frozen(eq=False)
class Scope:
    """Namespaces, the nearest first."""

    spaces: tuple[dict[str, object], ...] = attrs.field(default=(), repr=False)

    def evaluate(self, annotation: str | typing.ForwardRef, where: str) -> object:
        """Return what an annotation in text means.

        Args:
            annotation: The text.
            where: What it annotates, for errors.

        Raises:
            ConfigError: A name is not known here, or it is no expression.
        """
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        module = getattr(annotation, "__forward_module__", None)
        names = collections.ChainMap(_module_names(module), *self.spaces)
        try:
            # It is the program's own source, which Python would evaluate just so.
            value: object = eval(text, {}, names)  # noqa: S307
        # Boundary: an annotation is code of somebody else's.
        except Exception as error:
            raise ConfigError(
                f"{where}: the annotation {text!r} cannot be resolved ({error}); "
                "define or import that name at module level, outside `if TYPE_CHECKING`"
            ) from error
        return value


def function_scope(function: object) -> Scope:
    """Return the scope of a function's annotations.

    Names come from its closure and its module, and, while the function that it was defined in is
    still running, from that one's variables: text is no use of a variable, so that a local class
    named only in annotations is not in the closure.
    """
    inner = inspect.unwrap(function) if callable(function) else function
    inner = getattr(inner, "__func__", inner)
    module: dict[str, object] = getattr(inner, "__globals__", None) or {}
    return Scope(
        (
            _type_parameters(inner),
            _closure(inner),
            _enclosing(getattr(inner, "__qualname__", ""), getattr(inner, "__module__", "")),
            module,
            vars(builtins),
        )
    )


def class_scope(cls: type, outer: Scope) -> Scope:
    """Return the scope of a class's annotations; `outer` is asked last."""
    return Scope(
        (
            _type_parameters(cls),
            {cls.__name__: cls},
            _enclosing(cls.__qualname__, cls.__module__),
            _module_names(cls.__module__),
            vars(builtins),
            # After the module: an attribute often has the name of its own type.
            dict(vars(cls)),
            *outer.spaces,
        )
    )


def _module_names(module: object) -> dict[str, object]:
    found = sys.modules.get(module) if isinstance(module, str) else module
    return vars(found) if isinstance(found, types.ModuleType) else {}


def _type_parameters(owner: object) -> dict[str, object]:
    return {each.__name__: each for each in getattr(owner, "__type_params__", ())}


def _closure(function: object) -> dict[str, object]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return {}
    found: dict[str, object] = {}
    for name, cell in zip(code.co_freevars, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _enclosing(qualname: str, module: str) -> dict[str, object]:
    outer, _, _ = qualname.rpartition(".<locals>.")
    if not outer:
        return {}
    name = outer.rpartition(".")[2]
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == name and frame.f_globals.get("__name__") == module:
            return dict(frame.f_locals)
        frame = frame.f_back
    return {}
