"""Budgets of turns, counted by the session; compaction and the cut of outputs in the message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antigravity_sync import AgentConfig, Budget, Capabilities, ChatResponse, McpServer, policy
from antigravity_sync import _messages as m
from antigravity_sync._core.answers import PRE_TOOL
from antigravity_sync._core.inputs import Decided
from antigravity_sync._core.phases import Phase
from antigravity_sync._core.replies import GoOn, ToolReply
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.limits import check_limits
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.errors import ConfigError
from antigravity_sync.responses import Allowed, Denied, Usage
from tests.stage import IDLE, MAIN, SUB, Stage, step, tool

NEW, OLD = "0.1.22", "0.1.5"

MODEL_CALLS = "MAX_MODEL_CALLS_EXCEEDED"
TOOL_CALLS = "MAX_TOOL_CALLS_EXCEEDED"


def hook(number: int, name: str = "ping", **more: Any) -> m.HookFrame:
    """Return the question whether a call may run."""
    args = {"toolName": name, "callId": f"c{number}", "trajectoryId": MAIN, "arguments": {}}
    return m.HookFrame(f"hook_{number}", PRE_TOOL, {**args, **more})


def request(number: int, name: str = "ping", trajectory: str = MAIN) -> m.ToolCallFrame:
    return m.ToolCallFrame(f"c{number}", name, "{}", {}, trajectory)


def report(calls: int) -> m.UsageFrame:
    """Return what a harness reports after so many model calls."""
    return m.UsageFrame(Usage(10 * calls, 0, 5 * calls, 0, 15 * calls))


def one_report() -> m.UsageFrame:
    """Return what an old harness reports after each."""
    return m.UsageFrame(Usage(10, 0, 5, 0, 15), is_cumulative=False)


def on_stage(version: str = NEW, **limits: int) -> Stage:
    old = version == OLD
    stage = Stage.of(
        version,
        budget=Budget(**limits),
        reports_before_calls=old,
        asks_for_subagents=old,
    )
    stage.begin()
    return stage


def run(stage: Stage, number: int) -> None:
    """Let a call of a custom tool run to its end."""
    stage.feed(hook(number), Decided(("hook", f"hook_{number}"), Allowed()))
    stage.feed(request(number), Decided(("tool", f"c{number}"), ToolReply()))


def ended(stage: Stage) -> ChatResponse:
    """End a halted turn as the harness does."""
    assert stage.phase is Phase.HALTING
    stage.feed(IDLE)
    stage.pass_time(1.0)
    response = stage.completed()
    assert not response.cancelled
    return response


# ── model calls ─────────────────────────────────────────────────────────────────────────────────


def test_model_calls_when_the_last_one_calls_a_tool_then_halted_before_it_runs() -> None:
    """The question whether it may run stays unanswered; the report of the call is still taken."""
    stage = on_stage(model_calls=2)
    run(stage, 1)
    stage.feed(report(1), step(2, "hm", "ACTIVE"), hook(2))
    assert stage.phase is Phase.HALTING
    assert ("hook", "hook_2") not in stage.to_decide
    stage.feed(step(2, "hm", delta=""), IDLE)
    assert not stage.is_over()
    stage.feed(step(3, " and", delta=" and"), report(2))  # 0.1.22 may say so after the idle
    response = stage.completed()
    assert (response.stop_reason, response.messages) == (MODEL_CALLS, ("hm", " and"))
    assert not response.cancelled
    assert response.usage.total_tokens == 30


def test_model_calls_when_the_last_report_never_comes_then_the_turn_ends_soon() -> None:
    """A model that is cut off may not have said how much it took."""
    stage = on_stage(model_calls=1)
    stage.feed(hook(1))
    assert ended(stage).stop_reason == MODEL_CALLS


def test_model_calls_when_the_last_one_answers_then_the_turn_is_whole() -> None:
    """What would be used up by the next call is not yet exceeded."""
    stage = on_stage(model_calls=2)
    run(stage, 1)
    stage.feed(report(1), step(2, "done"), report(2), IDLE)
    response = stage.completed()
    assert (response.text, response.stop_reason, stage.halts) == ("done", None, 0)


def test_model_calls_when_one_more_is_made_without_a_tool_then_halted() -> None:
    """As after an answer that the harness cannot use, of which nothing else tells."""
    stage = on_stage(model_calls=2)
    stage.feed(report(1), report(2))
    assert stage.halts == 0
    stage.feed(report(3))
    assert ended(stage).stop_reason == MODEL_CALLS


def test_model_calls_when_an_old_harness_reports_first_then_the_next_call_is_one_too_many() -> None:
    """Up to 0.1.6 a report does not come after all the calls of its reply."""
    stage = on_stage(OLD, model_calls=1)
    stage.feed(one_report(), tool(1, "WAITING_FOR_USER", wants_confirmation=True))
    assert stage.to_decide == []
    assert ended(stage).stop_reason == MODEL_CALLS


def test_model_calls_when_an_old_harness_asks_while_the_model_speaks_then_halted_at_once() -> None:
    """Whatever it asks for belongs to a call that has yet to be reported."""
    stage = on_stage(OLD, model_calls=1)
    stage.feed(step(1, "hm", "ACTIVE"), tool(2, "WAITING_FOR_USER", wants_confirmation=True))
    assert stage.to_decide == []
    stage.feed(step(1, "hm", delta=""))
    assert ended(stage).stop_reason == MODEL_CALLS


@pytest.mark.parametrize("is_answered", [False, True])
def test_model_calls_when_an_old_harness_asks_first_then_its_report_tells(
    is_answered: bool,
) -> None:
    """The call waits for its confirmation, or has it and has not ended."""
    stage = on_stage(OLD, model_calls=1)
    ask = step(
        1,
        "",
        "WAITING_FOR_USER",
        action="listDirectory",
        target=m.TO_ENVIRONMENT,
        wants_confirmation=True,
    )
    stage.feed(ask)
    if is_answered:
        stage.feed(Decided(("confirmation", MAIN, "1"), Allowed()))
    assert stage.halts == 0
    stage.feed(one_report())
    assert ended(stage).stop_reason == MODEL_CALLS


def test_reports_when_they_say_nothing_new_or_come_before_the_echo_then_not_counted() -> None:
    """The end of an earlier run, and a report that is sent again."""
    stage = Stage.of(NEW, budget=Budget(model_calls=1))
    stage.start()
    stage.feed(report(1))
    stage.feed(step(0, "go", source=m.USER, target=m.TO_MODEL))
    stage.feed(report(1), report(2), report(2), step(1, "done"), IDLE)
    assert stage.completed().stop_reason is None


# ── tool calls ──────────────────────────────────────────────────────────────────────────────────


def test_tool_calls_when_one_too_many_then_it_is_not_decided() -> None:
    """Each counts once, in whatever order it is asked about, asked for and asked about again."""
    stage = on_stage(tool_calls=2)
    stage.feed(hook(1), hook(2), hook(1))
    stage.feed(Decided(("hook", "hook_1"), Allowed()), Decided(("hook", "hook_2"), Allowed()))
    stage.feed(request(1), request(2), request(2))
    assert stage.halts == 0
    stage.feed(hook(3))
    assert ("hook", "hook_3") not in stage.to_decide
    assert ended(stage).stop_reason == TOOL_CALLS


def test_tool_calls_when_they_have_no_ids_then_matched_by_name() -> None:
    """From 0.1.6 to 0.1.9 the question about a call does not say which it is."""
    stage = on_stage(tool_calls=2)
    stage.feed(hook(1, callId=""), hook(2, "pong", callId=""))
    stage.feed(request(7, "pong"), request(8, "ping"))
    assert stage.halts == 0
    stage.feed(request(9, "ping"))
    assert stage.phase is Phase.HALTING


def test_tool_calls_when_refused_then_they_count() -> None:
    """A model that tries the forbidden for ever is stopped too."""
    stage = on_stage(tool_calls=1)
    stage.feed(hook(1), Decided(("hook", "hook_1"), Denied("no")), hook(2))
    assert ended(stage).stop_reason == TOOL_CALLS


def test_tool_calls_when_an_old_harness_asks_then_a_custom_one_counts_once() -> None:
    """0.1.5 has it confirmed without a name before it is asked for."""
    stage = on_stage(OLD, tool_calls=1)
    more = {"target": m.TO_ENVIRONMENT, "wants_confirmation": True}
    stage.feed(step(1, "Calling ping", "WAITING_FOR_USER", **more), request(1))
    assert stage.halts == 0
    stage.feed(tool(2, "WAITING_FOR_USER", wants_confirmation=True))
    assert stage.phase is Phase.HALTING


def test_tool_calls_when_the_answer_is_given_then_finish_is_none() -> None:
    """Giving the structured answer is no call of a tool."""
    stage = on_stage(tool_calls=1)
    stage.feed(hook(1), hook(2, "finish"))
    assert stage.halts == 0


def test_tool_calls_when_a_subagent_acts_unasked_then_its_steps_count() -> None:
    """Since 0.1.18; what is asked about all the same counts once."""
    stage = on_stage(tool_calls=2)
    asked = hook(1, "run_command", trajectoryId=SUB)
    stage.feed(asked, tool(1, trajectory_id=SUB), tool(1, "DONE", trajectory_id=SUB))
    stage.feed(hook(2, trajectoryId=SUB), request(2, trajectory=SUB), step(3, trajectory_id=SUB))
    assert stage.halts == 0
    stage.feed(tool(4, trajectory_id=SUB))
    assert ended(stage).stop_reason == TOOL_CALLS


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"input_tokens": 20}, "MAX_INPUT_TOKENS_EXCEEDED"),
        ({"output_tokens": 10}, "MAX_OUTPUT_TOKENS_EXCEEDED"),
        ({"total_tokens": 30}, "MAX_TOTAL_TOKENS_EXCEEDED"),
    ],
)
def test_tokens_when_used_up_then_halted_unless_the_answer_is_whole(
    limits: dict[str, int], name: str
) -> None:
    """A call since the last report needs another model call, and a text may be the answer."""
    for calls, stop_reason in ((True, name), (False, None)):
        stage = on_stage(**limits)
        run(stage, 1)
        stage.feed(report(1), step(2, "hm"))
        if calls:
            run(stage, 2)
        stage.feed(report(2), IDLE)
        assert stage.completed().stop_reason == stop_reason


def test_budget_when_the_next_turn_begins_then_whole() -> None:
    """Only what a turn itself has used counts."""
    stage = on_stage(model_calls=1, total_tokens=20)
    stage.feed(step(1, "one"), report(1), IDLE)
    stage.begin(2, index=2)
    stage.feed(step(3, "two"), report(2), IDLE)
    assert stage.completed(2).stop_reason is None


def test_budget_when_there_is_none_then_nothing_is_counted() -> None:
    """The meter of a turn without a budget stands still."""
    stage = Stage.of(NEW)
    stage.begin()
    run(stage, 1)
    stage.feed(report(1))
    assert stage.session.state.turn is not None
    meter = stage.session.state.turn.meter
    assert (meter.model_calls, meter.tool_calls) == (0, 0)


def test_stop_hook_when_the_budget_is_used_up_then_overruled() -> None:
    """Otherwise the model would be called once more."""
    stage = on_stage(model_calls=1)
    stage.feed(step(1, "one"), report(1), m.HookFrame("hook_9", "LIFECYCLE_HOOK_STOP"))
    stage.feed(Decided(("hook", "hook_9"), GoOn("more")), IDLE)
    assert stage.sent[-1] == m.HookAnswer("hook_9", "LIFECYCLE_HOOK_STOP")
    assert stage.completed().stop_reason == MODEL_CALLS


def test_halt_when_it_cuts_a_call_then_what_the_harness_says_of_it_is_no_text() -> None:
    """0.1.7 to 0.1.13 say so in the model's name, in a step that never ends."""
    stage = on_stage(total_tokens=1)
    stage.feed(step(1, "hm"), hook(1), Decided(("hook", "hook_1"), Allowed()), request(1))
    stage.feed(report(1))
    stage.feed(step(2, "failed to execute tool call: context canceled", "ACTIVE"))
    response = ended(stage)
    assert (response.messages, response.incomplete) == (("hm",), False)


# ── what is said ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", 2**31])
@pytest.mark.parametrize(
    "name", ["model_calls", "tool_calls", "input_tokens", "output_tokens", "total_tokens"]
)
def test_budget_when_a_limit_is_no_amount_then_refused(name: str, value: Any) -> None:
    """Nothing is no budget, and a fraction of a call is none."""
    with pytest.raises(ConfigError, match=name):
        Budget(**{name: value})


def test_budget_when_given_by_position_then_refused() -> None:
    """Nobody knows which comes first."""
    with pytest.raises(TypeError):
        Budget(3)  # type: ignore[misc]


def sent(config: AgentConfig, version: str) -> dict[str, Any]:
    rendered = render_init(
        config,
        conversation=Conversation(),
        api_key="k",
        app_data_dir="/data",
        dialect=Dialect.of(version),
    )
    message: dict[str, Any] = json.loads(rendered.text)["config"]
    return message


def test_calls_when_nothing_but_a_budget_governs_them_then_asked_about() -> None:
    """They would not be counted otherwise."""
    free = AgentConfig(contain_workspaces=False)
    assert "enabledHooks" not in sent(free, NEW)
    counted = free.evolve(budget=Budget(tool_calls=3))
    assert sent(counted, NEW)["enabledHooks"] == [PRE_TOOL]
    assert "budgetConfig" not in sent(counted, NEW)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_compaction_when_given_then_in_the_terms_of_the_release(version: str) -> None:
    """0.1.17 and newer are told in both ways."""
    said = sent(AgentConfig(compaction=50_000), version)
    assert said["compactionThreshold"] == 50_000
    newer = Dialect.of(version).rewrites_with_struct
    assert said.get("compactionConfig") == ({"tokenThreshold": 50_000} if newer else None)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_limits_when_a_release_cannot_keep_them_then_refused(version: str) -> None:
    """Compaction needs room since 0.1.11; outputs are cut since 0.1.6. Budgets are ours."""
    dialect = Dialect.of(version)
    check_limits(AgentConfig(compaction=40_000, budget=Budget(total_tokens=1)), dialect)
    low, cut = AgentConfig(compaction=39_999), AgentConfig(tool_output_limit=1)
    if ALL_VERSIONS.index(version) >= ALL_VERSIONS.index("0.1.11"):
        with pytest.raises(ConfigError, match="compaction=39999 is too low"):
            check_limits(low, dialect)
    else:
        check_limits(low, dialect)
    if version == "0.1.5":
        with pytest.raises(ConfigError, match="leave tool_output_limit out"):
            check_limits(cut, dialect)
    else:
        check_limits(cut, dialect)


@pytest.mark.parametrize(
    ("limit", "may_view", "expected"),
    [
        (None, True, None),
        (None, False, 256 * 1024),
        (100, True, 400),
        (100, False, 400),
        (2**31 - 1, True, 2**31 - 1),
    ],
)
def test_results_of_servers_when_there_is_a_limit_then_they_have_the_same(
    limit: int | None, may_view: bool, expected: int | None
) -> None:
    """The user's word counts more than what suits a model that cannot look into files."""
    config = AgentConfig(
        mcp_servers=[McpServer.http("http://127.0.0.1:3", name="web")],
        policies=[policy.allow_all()],
        capabilities=Capabilities.read_only() if may_view else Capabilities.none(),
        tool_output_limit=limit,
    )
    said = sent(config, NEW)
    assert said.get("mcpMaxOutputBytes") == expected
    truncated = None if limit is None else {"truncate": {"maxTokens": limit}}
    assert said.get("toolOutputTruncation") == truncated
    assert "mcpMaxOutputBytes" not in sent(config, "0.1.21")
