"""Functions of yours that the agent calls at certain moments, and what they are given.

Hooks are plain functions. They run on the agent's own thread, one at a time; while one runs the
agent waits for it. A hook that fails fails closed: the call or prompt it was asked about is
refused.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import attrs

from ._checks import check_function, check_text
from ._paths import local_path, path_arguments, real
from .errors import ConfigError
from .questions import Answer, CancelQuestions, Question
from .responses import JsonObject

_T = TypeVar("_T")

#: Runs a hook: its name, and the call to make. What it raises is the hook's failure.
Run: TypeAlias = "Callable[[str, Callable[[], object]], object]"


# ── what hooks are given ────────────────────────────────────────────────────────────────────────


@attrs.frozen
class ToolInvocation:
    """A tool call that is about to happen.

    Attributes:
        name: Canonical name: of the built-in, of your tool, or `mcp_<server>_<tool>`.
        args: Arguments with snake_case keys and local paths, the same over all harness versions.
        raw_args: Arguments as the harness sent them.
        server_name: The MCP server, `""` for other tools.
        call_id: The harness's id of the call, `""` where it has none.
        trajectory_id: Who calls, `""` where the version does not say (up to 0.1.12).
        is_main: Whether that is the main trajectory, not a subagent's; true where nobody says.
    """

    name: str
    args: JsonObject = attrs.field(factory=dict)
    raw_args: object = None
    server_name: str = ""
    call_id: str = ""
    trajectory_id: str = ""
    is_main: bool = True

    @property
    def canonical_path(self) -> str | None:
        """Return where the first path of a built-in tool's call really leads, links followed.

        `None` for a tool that takes no path, and for a path that leads nowhere. Looks at the file
        system each time.
        """
        for argument in path_arguments(self.name, self.args)[:1]:
            path = local_path(argument)
            return None if path is None else real(path)
        return None


@attrs.frozen
class ToolOutcome:
    """A tool call that has happened.

    Attributes:
        name: Canonical name of the tool.
        args: Its arguments, as in `ToolInvocation`; empty where the harness does not repeat them.
        result: What it returned: a string as it is, another value as JSON; `None` if it failed, and
            for an MCP server's tool on 0.1.5.
        error: Why it failed, `""` if it did not.
        call_id: The harness's id of the call, the one of `ToolInvocation`.
        server_name: The MCP server, `""` for other tools.
        trajectory_id: Who called, `""` where the version does not say (up to 0.1.12).
        is_main: Whether that is the main trajectory, not a subagent's; true where nobody says.
    """

    name: str
    args: JsonObject = attrs.field(factory=dict)
    result: str | None = None
    error: str = ""
    call_id: str = ""
    server_name: str = ""
    trajectory_id: str = ""
    is_main: bool = True


@attrs.frozen
class StopInfo:
    """The agent thinks it is done.

    Attributes:
        response_text: Its answer.
        continuation_count: How often it was told to go on in this turn.
        stop_reason: Why it stops, such as `MAX_MODEL_CALLS_EXCEEDED`, if it had to.
        error: Error text, `""` if none.
        trajectory_id: Who stops.
        is_main: Whether that is the main trajectory, not a subagent's.
    """

    response_text: str = ""
    continuation_count: int = 0
    stop_reason: str | None = None
    error: str = ""
    trajectory_id: str = ""
    is_main: bool = True


# ── what hooks decide ───────────────────────────────────────────────────────────────────────────


def _own_arguments(args: object) -> JsonObject | None:
    if args is None:
        return None
    if not isinstance(args, Mapping) or not all(isinstance(name, str) for name in args):
        raise ConfigError(f"new arguments are a mapping with names for keys, not {args!r:.80}")
    try:
        json.dumps(dict(args), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"new arguments must be plain JSON: {error}") from error
    return dict(args)


@attrs.frozen
class Decision:
    """Whether a call or a prompt may pass; made by `allow` or `deny`.

    Attributes:
        is_allowed: Whether it may.
        args: Arguments to change before it does, `None` for none.
        reason: For a refusal, what the model or the caller is told.
    """

    is_allowed: bool
    args: JsonObject | None = attrs.field(default=None, converter=_own_arguments)
    reason: str = attrs.field(default="", validator=check_text)

    @classmethod
    def allow(cls, args: JsonObject | None = None) -> Decision:
        """Let it pass.

        Args:
            args: Arguments of the call to put in place of its own, in the spelling of
                `ToolInvocation.args`; those that are not named stay as they are.

        Raises:
            ConfigError: They are not plain JSON.
        """
        return cls(True, args)

    @classmethod
    def deny(cls, reason: str = "") -> Decision:
        """Refuse it.

        Args:
            reason: What the model is told about a call, or the caller about a prompt.

        Raises:
            ConfigError: It is no text.
        """
        return cls(False, None, reason)


@attrs.frozen
class StopDecision:
    """Whether the agent may stop; made by `stop` or `go_on`.

    Attributes:
        goes_on: Whether it is to go on.
        reason: What it is told then.
    """

    goes_on: bool
    reason: str = attrs.field(default="", validator=check_text)

    @classmethod
    def stop(cls) -> StopDecision:
        """Let it stop."""
        return cls(False)

    @classmethod
    def go_on(cls, reason: str) -> StopDecision:
        """Make it go on.

        Args:
            reason: What it is told, as a message of the system.

        Raises:
            ConfigError: There is no reason, and the harness would stop all the same.
        """
        decision = cls(True, reason)
        if not reason.strip():
            raise ConfigError("go_on needs a reason: it is all that the model is told")
        return decision


# ── the hooks ───────────────────────────────────────────────────────────────────────────────────


def _check_hook(owner: object, field: attrs.Attribute[_T], value: _T) -> None:
    if value is None:
        return
    check_function(owner, field, value)
    if not callable(value) or _fits(value, 1) or _fits(value, 0):
        return
    raise ConfigError(f"{field.name} is called with one argument, which {value!r} does not take")


def _fits(function: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:  # written in C, and it does not say
        return True
    except TypeError:
        return False
    return True


@attrs.frozen(kw_only=True)
class Hooks:
    """A set of hooks; an agent may have several, which compose.

    Each is a plain function of one argument, or of none if it does not care; a `ConfigError` says
    so otherwise.

    Attributes:
        on_session_start: Called with the conversation's id when the conversation is open.
        on_session_end: Called with the conversation's id before it is closed.
        on_pre_turn: Called with the prompt's text; returns a `Decision`, a bool, or `None` to let
            it pass. The first refusal counts.
        on_post_turn: Called with the answer's text.
        on_pre_tool: Called with a `ToolInvocation`; returns a `Decision`, a bool, or `None` to let
            it pass. The first refusal counts; the next hook sees arguments as the last one left
            them.
        on_post_tool: Called with the `ToolOutcome` of a call that succeeded.
        on_tool_error: Called with the `ToolOutcome` of one that failed; a string that it returns is
            what the model sees of it. The first string counts.
        on_questions: Called with a tuple of `Question`; returns a list of `Answer`, or
            `CancelQuestions()`. Only the first one is called; it may wait for a person.
        on_compaction: Called with the summary that replaces the earlier conversation.
        on_stop: Called with a `StopInfo`; returns a `StopDecision`, or `None` to let it stop. The
            first that says "go on" counts.
    """

    on_session_start: Callable[..., object] | None = attrs.field(
        default=None, validator=_check_hook
    )
    on_session_end: Callable[..., object] | None = attrs.field(default=None, validator=_check_hook)
    on_pre_turn: Callable[..., Decision | bool | None] | None = attrs.field(
        default=None, validator=_check_hook
    )
    on_post_turn: Callable[..., object] | None = attrs.field(default=None, validator=_check_hook)
    on_pre_tool: Callable[..., Decision | bool | None] | None = attrs.field(
        default=None, validator=_check_hook
    )
    on_post_tool: Callable[..., object] | None = attrs.field(default=None, validator=_check_hook)
    on_tool_error: Callable[..., str | None] | None = attrs.field(
        default=None, validator=_check_hook
    )
    on_questions: Callable[..., Iterable[Answer] | CancelQuestions] | None = attrs.field(
        default=None, validator=_check_hook
    )
    on_compaction: Callable[..., object] | None = attrs.field(default=None, validator=_check_hook)
    on_stop: Callable[..., StopDecision | None] | None = attrs.field(
        default=None, validator=_check_hook
    )


HOOK_NAMES: Final = tuple(field.name for field in attrs.fields(Hooks))


# ── how several compose: pure, but for the hooks themselves ─────────────────────────────────────


def wanted(hooks: Sequence[Hooks]) -> frozenset[str]:
    """Return the names of the hooks that have a function."""
    return frozenset(name for name in HOOK_NAMES for one in hooks if getattr(one, name) is not None)


def functions(hooks: Sequence[Hooks], name: str) -> tuple[Callable[[object], object], ...]:
    """Return the functions for a hook in their order, each to be called with its one argument."""
    found = (getattr(one, name) for one in hooks)
    return tuple(_of_one(function) for function in found if function is not None)


def as_decision(value: object, hook: str = "on_pre_tool") -> Decision:
    """Return the decision that a hook's return value is; what is none refuses.

    Args:
        value: What it returned.
        hook: Its name, for the reason.
    """
    if value is None or value is True:
        return Decision.allow()
    if value is False:
        return Decision.deny(f"denied by {hook}")
    if isinstance(value, Decision):
        if value.is_allowed or value.reason.strip():
            return value
        return Decision.deny(f"denied by {hook}")
    if inspect.iscoroutine(value):
        value.close()  # nobody will ever wait for it, and Python would complain of that
    return Decision.deny(f"{hook} returned {_kind(value)}, which is no Decision, bool or None")


def decide_tool(hooks: Sequence[Hooks], call: ToolInvocation, run: Run | None = None) -> Decision:
    """Return what the `on_pre_tool` hooks say about a call.

    If they change arguments, `args` of the result are all the arguments that the call shall have.
    """
    changed = False
    for function in functions(hooks, "on_pre_tool"):
        decision = _ask("on_pre_tool", function, call, run)
        if not decision.is_allowed:
            return decision
        if decision.args is not None:
            call = attrs.evolve(call, args={**call.args, **decision.args})
            changed = True
    return Decision.allow(call.args if changed else None)


def decide_turn(hooks: Sequence[Hooks], prompt: str, run: Run | None = None) -> Decision:
    """Return what the `on_pre_turn` hooks say about a prompt."""
    for function in functions(hooks, "on_pre_turn"):
        decision = _ask("on_pre_turn", function, prompt, run)
        if not decision.is_allowed:
            return decision
    return Decision.allow()


def decide_stop(hooks: Sequence[Hooks], info: StopInfo, run: Run | None = None) -> StopDecision:
    """Return what the `on_stop` hooks say; one that fails, or returns something else, lets it stop.

    A broken hook that made the agent go on would make it do so for ever.
    """
    for function in functions(hooks, "on_stop"):
        value = _attempt("on_stop", function, info, run)
        if isinstance(value, StopDecision) and value.goes_on:
            return value
    return StopDecision.stop()


def error_text(hooks: Sequence[Hooks], outcome: ToolOutcome, run: Run | None = None) -> str | None:
    """Return the first text that an `on_tool_error` hook has for a failed call, or `None`."""
    for function in functions(hooks, "on_tool_error"):
        value = _attempt("on_tool_error", function, outcome, run)
        if isinstance(value, str):
            return value
    return None


def observe(hooks: Sequence[Hooks], name: str, value: object, run: Run | None = None) -> None:
    """Call every function for a hook that only watches; one that fails does not stop the others."""
    for function in functions(hooks, name):
        _attempt(name, function, value, run)


def question_function(
    hooks: Sequence[Hooks],
) -> Callable[[tuple[Question, ...]], object] | None:
    """Return the function that answers questions: that of the first hooks which have one."""
    return next(iter(functions(hooks, "on_questions")), None)


def result_text(value: object) -> str:
    """Return a tool's result as hooks see it: a string as it is, anything else as JSON.

    Of `{"result": …}`, which is put around what your own tools return, only the inside counts.
    """
    if isinstance(value, Mapping) and set(value) == {"result"}:
        value = value["result"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _of_one(function: Callable[..., object]) -> Callable[[object], object]:
    return function if _fits(function, 1) else lambda _argument: function()


def _plainly(_name: str, call: Callable[[], object]) -> object:
    return call()


def _ask(
    name: str, function: Callable[[object], object], argument: object, run: Run | None
) -> Decision:
    try:
        return as_decision((run or _plainly)(name, lambda: function(argument)), name)
    except Exception as error:  # noqa: BLE001 - boundary: a user's hook; failing closed is the answer
        return Decision.deny(f"{name} failed: {error!r:.500}")


def _attempt(
    name: str, function: Callable[[object], object], argument: object, run: Run | None
) -> object:
    try:
        return (run or _plainly)(name, lambda: function(argument))
    except Exception:  # noqa: BLE001 - boundary: a user's hook; `run` has told whoever must know
        return None


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
