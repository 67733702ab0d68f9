"""Steps that wait for a confirmation, as 0.1.5 has them, with actions the real one never shows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from antigravity_sync import Capabilities, Decision, Hooks, policy, tool
from antigravity_sync.events import Denied, ToolAction
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    custom_tool,
    delta,
    done,
    idle,
    running,
    step,
    user_echo,
    wait_for,
)
from antigravity_sync.wire import clear_drift_report
from tests.loop.fakes import fake_agent

NEW: dict[str, Any] = {"deleteEverything": {"rootPath": "/"}}
COMMAND: dict[str, Any] = {"runCommand": {"commandLine": "make"}}


@pytest.fixture(autouse=True)
def _own_report() -> Iterator[None]:
    yield
    clear_drift_report()


def waiting(action: dict[str, Any]) -> object:
    """Return a step that waits; what for is only in its action (R74)."""
    return step(
        state="STATE_WAITING_FOR_USER",
        source="SOURCE_MODEL",
        target="TARGET_ENVIRONMENT",
        toolConfirmationRequest={},
        **action,
    )


def rules(*policies: policy.Policy) -> dict[str, Any]:
    return {"policies": list(policies)}


def hook(answer: Any) -> dict[str, Any]:
    return {"hooks": [Hooks(on_pre_tool=lambda _call: answer)]}


@pytest.mark.parametrize(
    ("action", "options", "accepted"),
    [
        pytest.param(COMMAND, rules(policy.deny("run_command")), False, id="known, denied"),
        pytest.param(COMMAND, rules(policy.allow("run_command")), True, id="known, allowed"),
        pytest.param(COMMAND, rules(policy.confirm("run_command")), False, id="known, nobody"),
        pytest.param({}, rules(policy.deny_all()), True, id="a notice"),
        pytest.param(NEW, {}, False, id="unknown, nothing governs"),
        pytest.param(NEW, rules(policy.deny("run_command")), False, id="unknown, no rule"),
        pytest.param(NEW, rules(policy.deny_all()), False, id="unknown, deny_all"),
        pytest.param(NEW, rules(policy.allow_all()), True, id="unknown, allow_all"),
        pytest.param(NEW, rules(policy.allow("deleteEverything")), True, id="unknown, by name"),
        pytest.param(NEW, rules(policy.confirm("*")), False, id="unknown, nobody confirms"),
        pytest.param(
            NEW, rules(policy.confirm("*", lambda _call: True)), True, id="unknown, confirmed"
        ),
        pytest.param(NEW, hook(True), True, id="unknown, a hook allows"),
        pytest.param(NEW, hook(Decision.deny("no")), False, id="unknown, a hook denies"),
    ],
)
def test_confirmation_when_wanted_then_rules_and_hooks_answer_and_the_unknown_is_refused(
    action, options, accepted, caplog
):
    """An action that nobody knows needs somebody who allows it, and is warned of (R74-R81)."""
    script = [
        *(running(), user_echo(), waiting(action), wait_for("toolConfirmation"), done()),
        *(delta("end"), done(), idle()),
    ]
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync.runtime"),
        FakeHarness(script, version="0.1.5") as fake,
        # There is no workspace, and what is asked about must reach the rules.
        fake_agent(fake, contain_workspaces=False, **_offering(action, options)) as agent,
    ):
        assert agent.chat("go").text == "end"
    (answer,) = [each["toolConfirmation"] for each in fake.received if "toolConfirmation" in each]
    assert answer.get("accepted", False) is accepted
    told = [each for each in caplog.messages if "wants to do deleteEverything" in each]
    if action is NEW:
        assert len(told) == 1
        assert told[0].endswith("allowed" if accepted else "denied")
    else:
        assert told == []


def _offering(action: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    if action is COMMAND:
        return {"capabilities": Capabilities.read_only().enable("run_command"), **options}
    return options


def test_call_when_its_notice_was_let_through_then_it_has_a_check_of_its_own():
    """A notice says nothing of what is to be called, so it decides nothing (R75, R76)."""
    calls = []

    @tool
    def wipe() -> str:
        """Wipe."""
        calls.append(1)
        return "done"

    script = [
        *(running(), user_echo(), waiting({}), wait_for("toolConfirmation")),
        *custom_tool("wipe"),
        *(delta("end"), done(), idle()),
    ]
    with (
        FakeHarness(script, version="0.1.5") as fake,
        fake_agent(fake, tools=[wipe], policies=[policy.deny_all("zqx no")]) as agent,
    ):
        turn = agent.stream("go")
        shown = [event for event in turn if isinstance(event, ToolAction)]
        assert turn.response().text == "end"
    assert calls == []
    assert [event.decision for event in shown] == [Denied("zqx no")]
