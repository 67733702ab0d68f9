"""Everything that leaves the package as a value can be sent to another process."""

from __future__ import annotations

import builtins
import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from antigravity_sync import Agent, AgentConfig, errors, policy, responses
from antigravity_sync.errors import AntigravityError, UsageError
from antigravity_sync.responses import Action, ChatResponse, CloseReport, Denied, Step, ToolCall
from antigravity_sync.turn import Turn
from tests.unit.test_events import EXAMPLES

CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, AntigravityError)
]
PARTIAL = ChatResponse(text="Hel", messages=("Hel",), tool_calls=(ToolCall("view_file"),))

#: A value for each fact that an error may carry.
FACTS: dict[str, Any] = {
    "stderr_tail": "last words",
    "searched": ("PATH: empty", "cache: empty"),
    "exit_code": -9,
    "server": "git",
    "stage": "init",
    "timeout": 1.5,
    "close_code": 1006,
    "partial": PARTIAL,
    "detail": "{",
    "waiting_for": ("a hook",),
    "unknown_states": ("STATE_MOON",),
    "harness_version": "0.1.10",
    "raw": "{}",
    "http_code": 429,
    "retryable": True,
    "name": "add",
    "pid": 4711,
    "attempts": 5,
    "port": 8000,
}

#: A hook that takes too long ends the session, which is more than a timeout.
TIMEOUTS = {errors.StartTimeoutError, errors.TurnTimeoutError, errors.PoolTimeoutError}

COPIES: list[Callable[[Any], Any]] = [
    *(lambda value, p=p: pickle.loads(pickle.dumps(value, p)) for p in range(2, 6)),
    copy.copy,
    copy.deepcopy,
]


def facts_of(kind: type[AntigravityError]) -> dict[str, Any]:
    parameters = list(inspect.signature(kind.__init__).parameters)[2:]
    return {name: FACTS[name] for name in parameters}


def of_each_class(function: Any) -> Any:
    return pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)(function)


@of_each_class
def test_error_when_copied_then_nothing_is_lost(kind: type[AntigravityError]) -> None:
    """Class, text, facts, what was set later and notes survive every way of copying."""
    error = kind("it broke; mend it", **facts_of(kind))
    error.session_usable = not kind.session_usable
    error.__notes__ = ["seen in a test"]  # as `add_note` does, from Python 3.11 on
    for make_copy in COPIES:
        other = make_copy(error)
        assert type(other) is kind
        assert other is not error
        assert (str(other), other.args) == ("it broke; mend it", error.args)
        assert vars(other) == vars(error)


@of_each_class
def test_error_when_made_without_text_then_says_its_name(kind: type[AntigravityError]) -> None:
    """No error is empty."""
    assert str(kind("", **facts_of(kind))) == kind.__name__


@of_each_class
def test_error_when_named_then_shadows_no_builtin(kind: type[AntigravityError]) -> None:
    """Importing all errors hides nothing of Python's."""
    assert not hasattr(builtins, kind.__name__)


@of_each_class
def test_error_when_caught_then_by_the_usual_nets(kind: type[AntigravityError]) -> None:
    """Every error is an `Exception` and ours; timeouts and bad options are Python's, too."""
    assert issubclass(kind, Exception)
    assert issubclass(kind, AntigravityError)
    assert issubclass(kind, TimeoutError) == (
        "Timeout" in kind.__name__ and "Hook" not in kind.__name__
    )
    assert issubclass(kind, ValueError) == (kind is errors.ConfigError)


@of_each_class
def test_error_when_documented_then_every_fact_is(kind: type[AntigravityError]) -> None:
    """Facts are in the docstring of the class that brings them, or of a parent."""
    documented = " ".join(parent.__doc__ or "" for parent in kind.__mro__)
    for name in facts_of(kind):
        assert f"{name}:" in documented, name
    assert kind.__doc__


def test_error_when_chained_then_a_copy_leaves_the_cause() -> None:
    """Causes stay behind, as with every exception: they may hold what cannot travel."""
    error = errors.InternalError("a defect; report it")
    error.__cause__ = OSError("a socket")
    assert pickle.loads(pickle.dumps(error)).__cause__ is None


VALUES = [
    *EXAMPLES,
    PARTIAL,
    CloseReport(exit_code=0, forced=("kill",)),
    Step(0, "t", True, "MODEL", "USER", "DONE", action=Action("view_file", {"path": "/a"})),
    ToolCall("view_file", decision=Denied("no")),
    ChatResponse(errors=(errors.ToolDispatchError("no such tool; add it", name="x"),)),
    AgentConfig(policies=[policy.deny("run_command", "no")]),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_value_when_copied_then_equal(value: Any) -> None:
    """Events, responses, reports and options travel whole."""
    for make_copy in COPIES:
        other = make_copy(value)
        assert type(other) is type(value)
        # Errors compare by identity, so what holds some is compared by its printed form.
        assert other == value or repr(other) == repr(value)


def test_values_when_a_class_is_added_then_it_must_be_here() -> None:
    """All classes of `responses` are copied above, by themselves or inside another."""
    shown = repr(VALUES)
    for name, kind in vars(responses).items():
        if isinstance(kind, type) and attrs.has(kind):
            assert f"{name}(" in shown, name


def test_agent_when_pickled_then_refused_with_a_sentence() -> None:
    """What holds a live process does not travel."""
    with pytest.raises(UsageError, match="pickled"):
        pickle.dumps(Agent())
    with pytest.raises(UsageError, match="pickled"):
        copy.copy(Agent())


def test_turn_when_pickled_then_refused_with_a_sentence() -> None:
    """Nor does a turn, which is half of a conversation."""
    turn = Turn.__new__(Turn)  # one without a process: pickling must not get as far as its fields
    with pytest.raises(UsageError, match="pickled"):
        pickle.dumps(turn)
    with pytest.raises(UsageError, match="pickled"):
        copy.deepcopy(turn)
