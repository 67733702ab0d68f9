"""What a callable takes as a tool: parameters that a model fills, and those that it does not."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from ._annotations import Reader
from ._docstrings import Docs, parse_docstring
from ._scopes import Scope, function_scope
from ._shapes import Anything, Field, NoneType, or_none
from .errors import ConfigError

#: Arguments that the harness adds to every tool, for its own display, and takes away again.
RESERVED: Final = frozenset({"toolAction", "toolSummary"})

_ANY_TEXT: Final = "Any JSON value."
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NO_CONTEXT: Final = "a tool's context can only be a parameter of its own; take it as one"

Function = Callable[..., object]


@attrs.frozen
class Signature:
    """The parameters of a tool.

    Attributes:
        parameters: Those that the model fills.
        injected: Names of those that get the context of the call.
    """

    parameters: tuple[Field, ...] = ()
    injected: tuple[str, ...] = ()


def subject_of(function: object) -> object:
    """Return what has the name, the docstring and the declaration: what is inside of partials."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def name_of(function: object) -> str:
    """Return the name of a callable, of its class if it has none of its own."""
    subject = subject_of(function)
    return str(getattr(subject, "__name__", type(subject).__name__))


def docs_of(function: object) -> Docs:
    """Return what the docstring of a callable says; a callable object has that of `__call__`."""
    subject = subject_of(function)
    if hasattr(subject, "__name__"):
        return parse_docstring(inspect.getdoc(subject))
    cls = type(subject)
    return parse_docstring(inspect.getdoc(cls.__call__) or inspect.getdoc(cls))


def check_callable(function: object, where: str) -> Function:
    """Return a callable that has run when its call returns.

    Args:
        function: What was given.
        where: What it is for, for errors.

    Raises:
        ConfigError: It is no callable, or one that makes a class, coroutine or generator.
    """
    subject = subject_of(function)
    if isinstance(subject, type):
        raise ConfigError(f"{where}: {subject.__name__} is a class; give a function or an instance")
    if not callable(function):
        raise ConfigError(f"{where}: {function!r} cannot be called; give a function")
    for one in (function, subject, type(subject).__call__):
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            raise ConfigError(f"{where} is a coroutine function; make it a plain `def`")
        if inspect.isgeneratorfunction(one):
            raise ConfigError(f"{where} is a generator function; return a list")
    checked: Function = function
    return checked


def read_signature(function: Function, owner: str, injected: type) -> Signature:
    """Return the parameters of a callable.

    A parameter without an annotation takes any JSON value; one whose default is `None` takes null,
    whatever its annotation.

    Args:
        function: The callable.
        owner: What it is, for errors: `"tool f"`.
        injected: The class of parameters that get the context.

    Raises:
        ConfigError: A parameter cannot be filled by a model; names it.
    """
    docs, scope = docs_of(function), _scope_of(function)
    reader = Reader(scope, (injected, _NO_CONTEXT))
    parameters: list[Field] = []
    contexts: list[str] = []
    for parameter in _parameters(function, owner):
        where = f"{owner}, parameter {parameter.name}"
        has_default = parameter.default is not inspect.Parameter.empty
        if parameter.kind in _VARIADIC:
            stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
            raise ConfigError(
                f"{owner}, parameter {stars}{parameter.name}: a model cannot fill it; name each "
                "parameter (a decorator should use functools.wraps), or write the schema yourself "
                "with Tool(name, description, parameters, function)"
            )
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            if has_default:  # and keeps it
                continue
            raise _positional(where)
        if _is_injected(parameter.annotation, scope, injected, where):
            contexts.append(parameter.name)
            continue
        if parameter.name in RESERVED:
            raise ConfigError(f"{where}: the harness has an argument of that name; rename it")
        shape = reader.read(parameter.annotation, where)
        text = docs.parameters.get(parameter.name, "")
        if not text and isinstance(shape, Anything):
            text = _ANY_TEXT
        if not has_default:
            parameters.append(Field(parameter.name, shape, text=text))
            continue
        shape = or_none(shape) if parameter.default is None else shape
        parameters.append(Field(parameter.name, shape, False, text, parameter.default))
    return Signature(tuple(parameters), tuple(contexts))


def read_injected(function: Function, owner: str, injected: type) -> tuple[str, ...]:
    """Return the names of the parameters that get the context, of a tool with its own schema.

    Raises:
        ConfigError: A parameter has no name to be given by.
    """
    try:
        parameters = list(_parameters(function, owner))
    except ConfigError:  # some builtins do not tell, and the schema does
        return ()
    scope = _scope_of(function)
    found: list[str] = []
    for parameter in parameters:
        has_default = parameter.default is not inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and not has_default:
            raise _positional(f"{owner}, parameter {parameter.name}")
        try:
            if _is_injected(parameter.annotation, scope, injected, owner):
                found.append(parameter.name)
        except ConfigError:  # of an annotation that is otherwise not needed
            continue
    return tuple(found)


def _positional(where: str) -> ConfigError:
    return ConfigError(f"{where} is positional-only, but arguments have names; drop the `/`")


def _scope_of(function: Function) -> Scope:
    subject = subject_of(function)
    return function_scope(subject if hasattr(subject, "__name__") else type(subject).__call__)


def _parameters(function: Function, owner: str) -> Iterator[inspect.Parameter]:
    """Yield the parameters that are still to be given."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError, NameError) as error:
        raise ConfigError(
            f"{owner} does not say what it takes ({error}); wrap it in a function that does"
        ) from error
    given: set[str] = set()
    inner: object = function
    while isinstance(inner, functools.partial):
        given |= set(inner.keywords)
        inner = inner.func
    qualname = str(getattr(inner, "__qualname__", ""))
    if isinstance(inner, types.FunctionType) and not qualname.rpartition(".")[0].endswith(">"):
        first = found[:1] if "." in qualname else []
        if any(one.name == "self" and one.annotation is one.empty for one in first):
            raise ConfigError(
                f"{owner}, parameter self: {qualname} belongs to no object; give the method of an "
                f"instance, such as {qualname.partition('.')[0]}(…).{inner.__name__}"
            )
    yield from (parameter for parameter in found if parameter.name not in given)


def _is_injected(annotation: object, scope: Scope, injected: type, where: str) -> bool:
    while isinstance(annotation, str | typing.ForwardRef):
        annotation = scope.evaluate(annotation, where)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _is_injected(arguments[0], scope, injected, where)
    if origin in (typing.Union, types.UnionType):
        others = [one for one in arguments if one is not NoneType]
        return bool(others) and all(_is_injected(one, scope, injected, where) for one in others)
    return annotation is injected
