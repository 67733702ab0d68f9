"""Hooks: what may be one, what they say, and how several compose."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import AsyncIterator, Callable
from typing import Any

import attrs
import pytest

from antigravity_sync import (
    Answer,
    Decision,
    Hooks,
    Question,
    StopDecision,
    StopInfo,
    ToolInvocation,
    ToolOutcome,
)
from antigravity_sync.errors import ConfigError
from antigravity_sync.hooks import (
    HOOK_NAMES,
    as_decision,
    decide_stop,
    decide_tool,
    decide_turn,
    error_text,
    functions,
    observe,
    question_function,
    result_text,
    wanted,
)

CALL = ToolInvocation("run_command", {"command_line": "ls", "cwd": "/ws"})
OUTCOME = ToolOutcome("run_command", error="boom")


class Holder:
    def __call__(self, argument: object) -> object:
        return argument

    def method(self, argument: object) -> object:
        return argument

    @staticmethod
    def static(argument: object) -> object:
        return argument

    @classmethod
    def of_class(cls, argument: object) -> object:
        return argument

    async def later(self, argument: object) -> object:
        return argument


class Later:
    async def __call__(self, argument: object) -> object:
        return argument


async def coroutine(argument: object) -> object:
    return argument


async def stream(argument: object) -> AsyncIterator[object]:
    yield argument


def two(first: object, second: object) -> None:
    pass


def named(*, argument: object) -> None:
    pass


def raises(_argument: object) -> Any:
    raise LookupError("no such thing")


def answers(value: object) -> Callable[[object], Any]:
    return lambda _argument: value


# ── what may be a hook ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", HOOK_NAMES)
@pytest.mark.parametrize(
    "function",
    [
        None,
        lambda argument: argument,
        lambda: None,
        lambda *arguments: arguments,
        lambda argument, more=1: argument,
        Holder(),
        Holder().method,
        Holder.static,
        Holder.of_class,
        functools.partial(two, 1),
        functools.partial(two, 1, 2),
        print,
        dict,
        [].append,
    ],
)
def test_hooks_when_given_something_callable_then_taken(name: str, function: object) -> None:
    """Functions, lambdas, partials, bound methods and callable objects are hooks."""
    assert getattr(Hooks(**{name: function}), name) is function  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOOK_NAMES)
@pytest.mark.parametrize(
    "function",
    [
        5,
        "function",
        [],
        coroutine,
        stream,
        functools.partial(coroutine),
        Holder().later,
        Later(),
        coroutine.__get__(1),
        two,
        named,
    ],
)
def test_hooks_when_given_what_cannot_be_called_plainly_then_config_error(
    name: str, function: object
) -> None:
    """A coroutine function, and what does not take one argument, is refused by the hook's name."""
    with pytest.raises(ConfigError, match=name):
        Hooks(**{name: function})  # type: ignore[arg-type]


def test_hooks_when_given_by_position_or_a_wrong_name_then_type_error() -> None:
    """Hooks are named, so that nobody confuses them."""
    with pytest.raises(TypeError):
        Hooks(print)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Hooks(on_tool=print)  # type: ignore[call-arg]


def test_hooks_when_changed_then_refused() -> None:
    """Hooks are values; a changed one is a new one."""
    hooks = Hooks(on_pre_tool=print)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        hooks.on_pre_tool = None  # type: ignore[misc]
    assert hooks == Hooks(on_pre_tool=print)
    assert attrs.evolve(hooks, on_pre_tool=None) == Hooks()


def test_hooks_when_listed_then_those_promised() -> None:
    """The hooks are the ten of the documentation."""
    assert set(HOOK_NAMES) == {
        "on_session_start",
        "on_session_end",
        "on_pre_turn",
        "on_post_turn",
        "on_pre_tool",
        "on_post_tool",
        "on_tool_error",
        "on_questions",
        "on_compaction",
        "on_stop",
    }


def test_wanted_when_there_are_several_then_all_that_have_a_function() -> None:
    """A hook is wanted if any of the sets has it."""
    assert wanted([]) == frozenset()
    assert wanted([Hooks(), Hooks(on_stop=print), Hooks(on_stop=print, on_pre_tool=print)]) == {
        "on_stop",
        "on_pre_tool",
    }


def test_functions_when_some_take_nothing_then_all_take_one_argument() -> None:
    """They come in their order, and one without parameters is called without."""
    seen: list[object] = []
    sets = [
        Hooks(on_post_turn=lambda: seen.append("none")),
        Hooks(),
        Hooks(on_post_turn=seen.append),
        Hooks(on_post_turn=lambda *all_of: seen.append(all_of)),
        Hooks(on_post_turn=lambda text="default": seen.append(text)),
    ]
    for function in functions(sets, "on_post_turn"):
        function("text")
    assert seen == ["none", "text", ("text",), "text"]


# ── decisions ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        (None, True),
        (True, True),
        (False, False),
        (Decision.allow(), True),
        (Decision.allow({"a": 1}), True),
        (Decision.deny("no"), False),
        # everything else refuses, whatever it looks like
        (0, False),
        (1, False),
        ("", False),
        ("allow", False),
        ([], False),
        ({}, False),
        (Decision, False),
        (Decision.allow, False),
        (StopDecision.stop(), False),
        ((True,), False),
    ],
)
def test_as_decision_when_given_a_return_value_then_allowed_or_not(
    value: object, is_allowed: bool
) -> None:
    """`None`, `True` and an allowing `Decision` allow, and nothing else does."""
    decision = as_decision(value)
    assert decision.is_allowed is is_allowed
    assert is_allowed or decision.reason.strip()


def test_as_decision_when_it_is_a_decision_then_kept() -> None:
    """A decision with a reason, or with arguments, is what counts."""
    for decision in (Decision.deny("because"), Decision.allow({"a": 1})):
        assert as_decision(decision) is decision


def test_as_decision_when_it_is_something_else_then_the_reason_names_the_hook() -> None:
    """Who wrote the hook can tell from the reason what is wrong."""
    assert as_decision("yes", "on_pre_turn").reason == (
        "on_pre_turn returned a str, which is no Decision, bool or None"
    )
    assert (
        as_decision(1).reason == "on_pre_tool returned an int, which is no Decision, bool or None"
    )


def test_as_decision_when_it_is_a_coroutine_then_denied_and_closed() -> None:
    """A lambda around a coroutine function denies, and leaves no coroutine that was never run."""
    assert not as_decision(coroutine(1)).is_allowed


@pytest.mark.parametrize("reason", ["", "  "])
def test_as_decision_when_denied_without_a_reason_then_one_is_made(reason: str) -> None:
    """The model is always told something."""
    assert as_decision(Decision.deny(reason)).reason == "denied by on_pre_tool"
    assert as_decision(False, "on_pre_turn").reason == "denied by on_pre_turn"


@pytest.mark.parametrize(
    "args", [5, "a", [], [("a", 1)], {1: 2}, {"a": object()}, {"a": float("nan")}, {"a": {1, 2}}]
)
def test_decision_when_its_arguments_are_no_json_object_then_config_error(args: Any) -> None:
    """What cannot be sent is refused where it is written."""
    with pytest.raises(ConfigError, match="new arguments"):
        Decision.allow(args)


def test_decision_when_its_arguments_change_later_then_it_does_not() -> None:
    """A decision holds arguments of its own."""
    args = {"a": 1}
    decision = Decision.allow(args)
    args["a"] = 2
    assert decision.args == {"a": 1}


@pytest.mark.parametrize("reason", [5, None, "\ud800"])
def test_decision_when_its_reason_is_no_text_then_config_error(reason: Any) -> None:
    """A reason goes over the wire."""
    with pytest.raises(ConfigError, match="reason"):
        Decision.deny(reason)
    with pytest.raises(ConfigError, match="reason"):
        StopDecision.go_on(reason)


@pytest.mark.parametrize("reason", ["", " \n"])
def test_go_on_when_there_is_no_reason_then_config_error(reason: str) -> None:
    """The harness wants one, and so does the model."""
    with pytest.raises(ConfigError, match="reason"):
        StopDecision.go_on(reason)


@pytest.mark.parametrize(
    "value",
    [
        Decision.allow({"a": 1}),
        Decision.deny("no"),
        StopDecision.go_on("more"),
        StopInfo("text", 1, "REASON", "error"),
        OUTCOME,
        CALL,
    ],
)
def test_values_when_copied_or_pickled_then_equal(value: object) -> None:
    """What hooks get and give are plain values."""
    assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == copy.deepcopy(value) == value
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        value.name = "x"  # type: ignore[attr-defined]


# ── before a tool ───────────────────────────────────────────────────────────────────────────────


def test_decide_tool_when_there_is_no_hook_then_allowed_as_it_is() -> None:
    """Nobody minds, nothing changes."""
    assert decide_tool([], CALL) == Decision.allow()
    assert decide_tool([Hooks(), Hooks(on_post_tool=raises)], CALL) == Decision.allow()


def test_decide_tool_when_one_denies_then_the_first_counts_and_ends_it() -> None:
    """Hooks are asked in their order up to the first refusal."""
    seen: list[str] = []

    def hook(name: str, verdict: object) -> Hooks:
        def function(call: ToolInvocation) -> Any:
            seen.append(name)
            return verdict

        return Hooks(on_pre_tool=function)

    sets = [
        hook("a", None),
        hook("b", True),
        Hooks(),
        hook("c", Decision.deny("first")),
        hook("d", Decision.deny("second")),
    ]
    assert decide_tool(sets, CALL) == Decision.deny("first")
    assert seen == ["a", "b", "c"]


def test_decide_tool_when_arguments_change_then_they_flow_on() -> None:
    """Each hook sees the arguments as the last one left them, and the call gets them all."""
    seen: list[ToolInvocation] = []

    def note(call: ToolInvocation) -> None:
        seen.append(call)

    sets = [
        Hooks(on_pre_tool=answers(Decision.allow({"command_line": "pwd"}))),
        Hooks(on_pre_tool=note),
        Hooks(on_pre_tool=answers(Decision.allow({"cwd": "/tmp", "extra": None}))),
        Hooks(on_pre_tool=note),
    ]
    decision = decide_tool(sets, CALL)
    assert [call.args for call in seen] == [
        {"command_line": "pwd", "cwd": "/ws"},
        {"command_line": "pwd", "cwd": "/tmp", "extra": None},
    ]
    assert decision == Decision.allow(seen[-1].args)
    assert CALL.args == {"command_line": "ls", "cwd": "/ws"}


def test_decide_tool_when_denied_after_a_change_then_nothing_is_changed() -> None:
    """A refusal carries no arguments."""
    sets = [
        Hooks(on_pre_tool=answers(Decision.allow({"a": 1}))),
        Hooks(on_pre_tool=answers(False)),
    ]
    assert decide_tool(sets, CALL) == Decision.deny("denied by on_pre_tool")


def test_decide_tool_when_a_hook_fails_then_denied_with_what_happened() -> None:
    """A hook that cannot say yes says no."""
    reached = [Hooks(on_pre_tool=raises), Hooks(on_pre_tool=answers(Decision.allow()))]
    decision = decide_tool(reached, CALL)
    assert not decision.is_allowed
    assert decision.reason == "on_pre_tool failed: LookupError('no such thing')"


def test_decide_tool_when_a_hook_is_interrupted_then_the_interrupt_goes_up() -> None:
    """Ctrl-C in a hook is no answer."""

    def interrupted(_call: ToolInvocation) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decide_tool([Hooks(on_pre_tool=interrupted)], CALL)


def test_decide_tool_when_run_by_somebody_then_every_hook_is() -> None:
    """Who runs hooks gets the name and the call, and what it raises is the hook's failure."""
    seen: list[str] = []

    def run(name: str, call: Callable[[], object]) -> object:
        seen.append(name)
        return call()

    def refuse(_name: str, _call: Callable[[], object]) -> object:
        raise TimeoutError("too slow")

    sets = [Hooks(on_pre_tool=answers(None)), Hooks(on_pre_tool=answers(True))]
    assert decide_tool(sets, CALL, run).is_allowed
    assert seen == ["on_pre_tool", "on_pre_tool"]
    assert "too slow" in decide_tool(sets, CALL, refuse).reason


# ── the other hooks ─────────────────────────────────────────────────────────────────────────────


def test_decide_turn_when_hooks_disagree_then_the_first_denial_counts() -> None:
    """A prompt passes if nobody refuses it."""
    prompts: list[str] = []
    sets = [Hooks(on_pre_turn=prompts.append), Hooks(on_pre_turn=answers(Decision.deny("no")))]
    assert decide_turn(sets[:1], "hi").is_allowed
    assert decide_turn([*sets, Hooks(on_pre_turn=raises)], "hi") == Decision.deny("no")
    assert prompts == ["hi", "hi"]
    assert decide_turn([Hooks(on_pre_turn=raises)], "hi").reason.startswith("on_pre_turn failed")
    assert decide_turn([], "hi") == Decision.allow()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], None),
        ([None], None),
        ([None, "first", "second"], "first"),
        ([""], ""),
        ([5, True, ["text"], "text"], "text"),
        ([b"text"], None),
    ],
)
def test_error_text_when_hooks_have_several_then_the_first_string(
    values: list[object], text: str | None
) -> None:
    """The first string replaces what the model sees, an empty one too."""
    sets = [Hooks(on_tool_error=answers(value)) for value in values]
    assert error_text(sets, OUTCOME) == text
    assert error_text([Hooks(on_tool_error=raises), *sets], OUTCOME) == text


@pytest.mark.parametrize("value", [None, StopDecision.stop(), True, "go on", raises])
def test_decide_stop_when_nobody_goes_on_then_stop(value: object) -> None:
    """Only a clear "go on" makes the agent go on; a broken hook would make it do so for ever."""
    hook = raises if value is raises else answers(value)
    assert decide_stop([Hooks(on_stop=hook)], StopInfo()) == StopDecision.stop()
    on = StopDecision.go_on("more")
    sets = [hook, answers(on), answers(StopDecision.go_on("too late"))]
    assert decide_stop([Hooks(on_stop=one) for one in sets], StopInfo()) is on


@pytest.mark.parametrize(
    "name",
    ["on_session_start", "on_session_end", "on_post_turn", "on_post_tool", "on_compaction"],
)
def test_observe_when_one_fails_then_the_others_are_called(name: str) -> None:
    """Hooks that only watch do not stand in each other's way."""
    seen: list[object] = []
    failures: list[str] = []

    def run(called: str, call: Callable[[], object]) -> object:
        try:
            return call()
        except LookupError:
            failures.append(called)
            raise

    sets = [Hooks(**{name: function}) for function in (seen.append, raises, seen.append)]
    observe(sets, name, OUTCOME, run)
    assert seen == [OUTCOME, OUTCOME]
    assert failures == [name]


def test_question_function_when_several_have_one_then_the_first() -> None:
    """A person is asked once."""
    assert question_function([Hooks()]) is None
    first = question_function(
        [
            Hooks(),
            Hooks(on_questions=lambda questions: [Answer.choices(0)] * len(questions)),
            Hooks(on_questions=raises),
        ]
    )
    assert first is not None
    assert first((Question("a", ["x"]),)) == [Answer.choices(0)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"result": 5}, "5"),
        ({"result": "x"}, "x"),
        ({"result": True}, "true"),
        ({"result": None}, "null"),
        ({"result": 1.5}, "1.5"),
        ({"result": {"a": [1]}}, '{"a": [1]}'),
        ({"result": {"result": 5}}, '{"result": 5}'),
        ({"result": "ä"}, "ä"),
        ({"result": {"a": "ä"}}, '{"a": "ä"}'),
        ({"result": 1, "more": 2}, '{"result": 1, "more": 2}'),
        ({"exit_code": 0}, '{"exit_code": 0}'),
        ({}, "{}"),
        (5, "5"),
        ("x", "x"),
        ('{"a": 1}', '{"a": 1}'),
        (None, "null"),
        ([1, "a"], '[1, "a"]'),
    ],
)
def test_result_text_when_given_a_result_then_the_inner_value(value: object, text: str) -> None:
    """Scalars are their JSON, strings are themselves, objects are serialised."""
    assert result_text(value) == text
