"""What a call of a built-in tool is shown as: one spelling, to whom ever and on every version."""

from __future__ import annotations

from typing import Any

import pytest

from antigravity_sync import Capabilities, Hooks, ToolInvocation, ToolOutcome, policy
from antigravity_sync.events import ErrorRaised, Severity, ToolAction
from antigravity_sync.responses import Allowed, Denied
from antigravity_sync.testing import ScriptedModel, call
from tests.kinds import BUILTIN, CAPABILITIES, Kind, told
from tests.versions import release

pytestmark = pytest.mark.real


def main_argument(kind: Kind) -> tuple[str, str]:
    """Return the name and the value of the path that a call is about."""
    ((name, value),) = kind.rewritten_to(kind.place).items()
    return name, value


@pytest.mark.parametrize("effect", ["allowed", "denied"])
def test_arguments_when_a_tool_is_called_then_in_one_spelling(
    make_agent, tmp_path, version, effect
):
    """Rules, hooks, events and the response name an argument alike: `absolute_path`, not as a step.

    Up to 0.1.6 a call is known by its step alone, later by what the model wrote and by its step.
    """
    kinds = [Kind(name, tmp_path / "workspace" / name).prepare() for name in BUILTIN]
    asked: list[ToolInvocation] = []
    outcomes: list[ToolOutcome] = []

    def remember(invocation: ToolInvocation) -> bool:
        asked.append(invocation)
        return effect == "denied"

    script: list[Any] = [reply for kind in kinds for reply in (kind.call(), "done")]
    with (
        ScriptedModel(*script) as model,
        make_agent(
            model,
            capabilities=CAPABILITIES,
            policies=[policy.deny("*", "zqx", when=remember)],
            hooks=[Hooks(on_post_tool=outcomes.append)],
        ) as agent,
    ):
        for kind in kinds:
            asked.clear()
            outcomes.clear()
            turn = agent.stream("go")
            (action,) = [event for event in turn if isinstance(event, ToolAction)]
            (entry,) = turn.response().tool_calls
            name, value = main_argument(kind)
            decision = Denied if effect == "denied" else Allowed
            assert isinstance(action.decision, decision)
            assert action.action.args[name] == value
            assert entry.args[name] == value
            assert asked
            assert {one.args[name] for one in asked} == {value}
            assert {one.canonical_path for one in asked} == {value}
            # 0.1.6 to 0.1.9 do not say which call has ended.
            known = value if version == "0.1.5" or release(version) >= (0, 1, 10) else None
            heard = [one.args.get(name) for one in outcomes]
            assert heard == ([known] if effect == "allowed" else [])


def test_action_when_the_file_to_view_is_not_there_then_refused_or_no_call_at_all(
    make_agent, tmp_path, version
):
    """Up to 0.1.18 the harness looks for the file first, and asks nobody about a call of nothing.

    So the model hears that it is missing where a rule would have denied it; nothing else gets out.
    """
    missing = tmp_path / "workspace" / "missing"
    with (
        ScriptedModel(call("view_file", AbsolutePath=str(missing)), "done") as model,
        make_agent(
            model,
            capabilities=Capabilities.read_only(),
            policies=[policy.deny("view_file", "zqx no")],
        ) as agent,
    ):
        turn = agent.stream("go")
        events = list(turn)
        response = turn.response()
    shown = [event for event in events if isinstance(event, ToolAction)]
    assert response.text == "done"
    if release(version) >= (0, 1, 19):
        (action,) = shown
        assert action.decision == Denied("zqx no")
        assert action.action.args["absolute_path"] == str(missing)
        assert "zqx no" in told(model)
    else:
        assert shown == []
        assert response.tool_calls == ()
        errors = [event for event in events if isinstance(event, ErrorRaised)]
        assert [error.severity for error in errors] == [Severity.TRANSIENT]
        assert "invalid tool call" in told(model)
