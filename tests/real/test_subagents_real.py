"""Subagents on the real harness: what they are told, given, shown, refused, and how they end.

Up to 0.1.9 a declared subagent is a copy of the agent, or lacks tools, and is refused; there
`self`, the harness's own kind, stands in where that makes no difference.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from antigravity_sync import Agent, Capabilities, Decision, Hooks, Subagent, policy, tool
from antigravity_sync.errors import ConfigError, TurnTimeoutError
from antigravity_sync.events import (
    Denied,
    Finished,
    TextDelta,
    ToolAction,
    ToolCallDispatched,
    ToolCallFinished,
)
from antigravity_sync.testing import ModelGate, ScriptedModel, call, chunks, hang, http_error
from antigravity_sync.testing._requests import ModelRequest
from tests.gates import CEILING, Task
from tests.versions import VERSIONS, harness_path, release

pytestmark = pytest.mark.real

#: Those that run what is declared.
DECLARING: Final = [version for version in VERSIONS if release(version) >= (0, 1, 10)]
#: Those that ask about what a declared subagent does with a built-in tool.
ASKING: Final = [version for version in DECLARING if release(version) < (0, 1, 18)]

STARTS: Final = Capabilities.none().enable("start_subagent")
#: What the harness gives every subagent on some version.
ALWAYS: Final = {"send_message", "schedule"}


class Cast:
    """Answers each agent from its own script, told apart by the task it began with."""

    def __init__(self, **scripts: list[Any]) -> None:
        self.asked: dict[str, list[ModelRequest]] = {name: [] for name in scripts}
        self._scripts = {name: iter(script) for name, script in scripts.items()}
        self._lock = threading.Lock()

    def __call__(self, request: ModelRequest) -> Any:
        with self._lock:
            begun_with = json.dumps(request.contents[0])
            who = next((name for name in self._scripts if f"task of {name}" in begun_with), "main")
            self.asked[who].append(request)
            # After its last reply an agent repeats itself: how often the main one is told depends.
            return next(self._scripts[who], f"{who} again")

    def told(self, who: str) -> str:
        """Return what an agent was last told by its tools."""
        return json.dumps(self.asked[who][-1].function_responses[-1:])


def start(*names: str, kind: str | None = None) -> Any:
    """Return the main model's call that starts subagents with a task each."""
    return call(
        "invoke_subagent",
        Subagents=[
            {"TypeName": kind or name, "Role": "helper", "Prompt": f"task of {name}"}
            for name in names
        ],
    )


@pytest.fixture
def agents(make_agent: Callable[..., Agent], version: str) -> Callable[..., Agent]:
    """Make agents that may start subagents: declared ones, or copies where there are none else."""

    def make(model: ScriptedModel, *subagents: Subagent, **options: Any) -> Agent:
        declared = subagents if version in DECLARING else ()
        defaults: dict[str, Any] = {"capabilities": STARTS, "policies": [policy.allow_all()]}
        return make_agent(model, **{**defaults, **options}, subagents=declared)

    return make


def kind_of(version: str) -> str | None:
    return None if version in DECLARING else "self"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


# ── what it is told, given and shown ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", DECLARING)
def test_subagent_when_started_then_it_is_what_was_declared_and_shown_as_its_own(
    agents, workspace, version
) -> None:
    """Own instructions, own tools, own trajectory, own usage; of the agent it knows its task."""
    (workspace / "note").write_text("zqx-note")
    ran_on = []

    @tool
    def measure(place: str) -> str:
        """Measure."""
        ran_on.append(threading.current_thread())
        return f"zqx-measured {place}"

    @tool
    def other() -> str:
        """Do something else."""
        return ""

    look = call("view_file", AbsolutePath=str(workspace / "note"))
    cast = Cast(
        main=[start("helper"), "main first"],
        helper=[look, call("measure", place="here"), "helper says"],
    )
    helper = Subagent(
        "helper",
        description="Helps zqx-well.",
        system_instructions="Be zqx-brief.",
        tools=["measure"],
    )
    with (
        ScriptedModel(cast, loop=True) as model,
        agents(model, helper, tools=[measure, other], contain_workspaces=False) as agent,
    ):
        turn = agent.stream("zqx-secret of the user")
        events = list(turn)
        response = turn.response()
        main_id = agent.conversation_id
        usage, per_trajectory = agent.usage, agent.trajectory_usage

    main, sub = cast.asked["main"][0], cast.asked["helper"][0]
    assert "invoke_subagent" in main.tools
    assert "Helps zqx-well." in json.dumps(main.body)
    assert "Be zqx-brief." not in json.dumps(main.body)
    reading = {"view_file", "list_dir", "grep_search", "find_by_name"}
    also = {"other"} if release(version) < (0, 1, 21) else set()  # which the start warns of
    assert set(sub.tools) - ALWAYS - also == {*reading, "measure"}
    assert "Be zqx-brief." in sub.system_instruction
    assert str(workspace) in sub.system_instruction
    assert "zqx-secret" not in json.dumps(sub.body)
    assert "zqx-note" in json.dumps(cast.asked["helper"][1].contents)
    assert "zqx-measured here" in cast.told("helper")
    assert ran_on == [threading.current_thread()]

    ids = {event.trajectory_id for event in events if not event.is_main}
    (sub_id,) = ids
    assert sub_id != main_id
    texts = [event for event in events if isinstance(event, TextDelta)]
    assert all(event.is_main == (event.trajectory_id == main_id) for event in texts)
    assert "".join(event.text for event in texts if not event.is_main) == "helper says"
    assert "".join(e.text for e in texts if e.is_main) == "".join(response.messages)
    assert "helper says" not in "".join(response.messages)
    assert response.text == "main again"  # the agent is told, and has the last word

    actions = [event for event in events if isinstance(event, ToolAction)]
    assert [(e.action.name, e.action.subagent_name, e.trajectory_id) for e in actions] == [
        ("start_subagent", None, main_id),  # the harness shows no name
        ("view_file", None, sub_id),
    ]
    assert set(per_trajectory) == {main_id, sub_id}
    assert per_trajectory[sub_id].total_tokens == 3 * 15
    assert sum(each.total_tokens or 0 for each in per_trajectory.values()) == usage.total_tokens
    assert usage == response.usage


def test_delegation_when_it_is_not_enabled_then_it_is_not_offered(make_agent) -> None:
    """It is off by default."""
    with ScriptedModel("hello") as model, make_agent(model) as agent:
        agent.chat("go")
    assert not [name for name in model.requests[0].tools if "subagent" in name]


@pytest.mark.parametrize("version", DECLARING)
def test_subagent_when_it_is_given_everything_then_all_but_subagents(
    agents, version, caplog
) -> None:
    """They cannot be nested, and the start says so."""
    cast = Cast(main=[start("helper")], helper=["done"])
    helper = Subagent("helper", capabilities=Capabilities.all())
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(cast, loop=True) as model,
        agents(model, helper, contain_workspaces=False) as agent,
    ):
        agent.chat("go")
    offered = set(cast.asked["helper"][0].tools)
    assert {"run_command", "write_to_file", "view_file", "ask_question"} <= offered
    assert ("search_web" in offered) == (release(version) >= (0, 1, 14))
    assert not [name for name in offered if "subagent" in name]
    assert "cannot start subagents of its own" in caplog.text


@pytest.mark.parametrize("version", [one for one in DECLARING if one not in ASKING])
def test_model_when_a_subagent_has_its_own_then_its_requests_name_it(agents) -> None:
    """The agent's requests go on naming the agent's; key and address are the agent's."""
    cast = Cast(main=[start("helper")], helper=["done"])
    with (
        ScriptedModel(cast, loop=True) as model,
        agents(model, Subagent("helper", model="gemini-small")) as agent,
    ):
        agent.chat("go")
    assert {request.model for request in cast.asked["helper"]} == {"gemini-small"}
    assert {request.model for request in cast.asked["main"]} == {model.name}
    assert {request.api_key for request in cast.asked["helper"]} == {"scripted-key"}


@pytest.mark.parametrize("version", ASKING)
def test_model_when_the_harness_has_no_such_field_then_nothing_is_started(make_agent) -> None:
    """It would run on the agent's model without a word."""
    options = {"capabilities": STARTS, "policies": [policy.allow_all()]}
    with ScriptedModel() as model:
        agent = make_agent(model, subagents=[Subagent("a", model="m")], **options)
        with pytest.raises(ConfigError, match=r"use 0\.1\.18 or newer"):
            agent.start()
        assert agent.pid is None


@pytest.mark.parametrize("version", [one for one in VERSIONS if one not in DECLARING])
@pytest.mark.parametrize("is_known", [True, False])
def test_subagents_when_the_harness_runs_copies_then_the_start_fails(
    make_agent, version, is_known, tmp_path
) -> None:
    """Before there is a process; where the version has to be found out first, after that."""
    path = harness_path(version)
    if not is_known:
        path = tmp_path / "localharness"
        path.symlink_to(harness_path(version))
    options = {"capabilities": STARTS, "policies": [policy.allow_all()], "harness_path": path}
    with ScriptedModel() as model:
        agent = make_agent(model, subagents=[Subagent("a")], **options)
        with pytest.raises(ConfigError, match=r"use 0\.1\.10 or newer"):
            agent.start()
        assert agent.pid is None


# ── what it may do ──────────────────────────────────────────────────────────────────────────────


@tool
def leave_mark(place: str) -> str:
    """Leave a mark."""
    Path(place).write_text("mark")
    return "marked"


@pytest.mark.parametrize("kind", ["self", "research"])
def test_rules_when_a_copy_calls_then_they_bind_it_as_the_agent(
    agents, workspace, tmp_path, version, kind
) -> None:
    """What the harness itself can start is asked about on every version."""
    outside, inside = tmp_path / "outside", workspace / "inside"
    outside.write_text("zqx7412")
    inside.write_text("zqx-inside")
    looks = [call("view_file", AbsolutePath=str(path)) for path in (outside, inside)]
    cast = Cast(main=[start("helper", kind=kind), "main says"], helper=[*looks, "done"])
    reading = STARTS.enable("view_file")
    with ScriptedModel(cast, loop=True) as model, agents(model, capabilities=reading) as agent:
        agent.chat("go")
    told = json.dumps(cast.asked["helper"][-1].contents)
    assert "zqx-inside" in told
    assert "zqx7412" not in told


def no_shouting(invocation: Any) -> Decision | None:
    return Decision.deny("zqx hook") if "loud" in str(invocation.args) else None


@pytest.mark.parametrize("version", DECLARING)
def test_rules_when_a_subagent_calls_then_they_bind_it_as_the_agent(
    agents, workspace, tmp_path, version
) -> None:
    """By what is on disk, and what the model was told: policy, hook and fence, each kind of tool.

    Where nobody is asked, the built-in tools are not there, and the model is told that instead.
    """
    outside = tmp_path / "outside"
    outside.write_text("zqx7412")
    write = {"CodeContent": "new", "Overwrite": True, "Description": "make"}
    wait = {"WaitMsBeforeAsync": 20_000}
    custom = {
        "loud": "zqx hook",
        "denied": "zqx custom",
        "mark": "marked",
    }
    builtin = [
        (call("view_file", AbsolutePath=str(outside)), "outside of the directories"),
        (call("run_command", CommandLine="loud > made", Cwd=str(workspace), **wait), "zqx hook"),
        (call("write_to_file", TargetFile=str(workspace / "made"), **write), "zqx policy"),
    ]
    tries = [(call("leave_mark", place=str(workspace / name)), custom[name]) for name in custom]
    if version in ASKING:
        tries += builtin
    else:  # the first call of a tool that is not there is enough: a model has few tries at that
        tries.append((builtin[-1][0], "Error invalid tool call"))
    cast = Cast(main=[start("helper")], helper=[*(wanted for wanted, _ in tries), "done"])
    helper = Subagent(
        "helper",
        capabilities=Capabilities.read_only().enable("create_file", "run_command"),
        tools=["leave_mark"],
    )
    with (
        ScriptedModel(cast, loop=True) as model,
        agents(
            model,
            helper,
            tools=[leave_mark],
            policies=[
                policy.deny("create_file", "zqx policy"),
                policy.deny("leave_mark", "zqx custom", lambda c: "denied" in str(c.args)),
                policy.allow_all(),
            ],
            hooks=[Hooks(on_pre_tool=no_shouting)],
        ) as agent,
    ):
        seen = [e for e in agent.stream("go") if isinstance(e, ToolCallDispatched)]
    if version not in ASKING:
        assert set(cast.asked["helper"][0].tools) - ALWAYS == {"leave_mark"}
    answers = cast.asked["helper"][-1].function_responses
    assert len(answers) == len(tries)
    for (_, words), (_, answer) in zip(tries, answers, strict=True):
        assert words in json.dumps(answer)
    assert "zqx7412" not in json.dumps(answers)
    assert [p.name for p in workspace.iterdir() if p.name[0] != "."] == ["mark"]
    (ran,) = seen
    assert ran.is_main == (release(version) < (0, 1, 17))  # which do not say who calls


def test_model_when_it_defines_a_subagent_then_nothing_runs_that_nobody_was_given(
    agents, workspace, version
) -> None:
    """No flag keeps a model from defining one that writes, and no rule here speaks of it."""
    define = call(
        "define_subagent",
        name="evil",
        description="writes",
        system_prompt="You write.",
        enable_write_tools=True,
    )
    write = call(
        "write_to_file",
        TargetFile=str(workspace / "made"),
        CodeContent="new",
        Overwrite=True,
        Description="make",
    )
    shell = call(
        "run_command", CommandLine="touch made", Cwd=str(workspace), WaitMsBeforeAsync=20_000
    )
    cast = Cast(
        main=[define, start("evil"), start("reader", kind="research"), "main says"],
        evil=[write, shell, "done"],
        reader=[shell, "done"],
    )
    with (
        ScriptedModel(cast, loop=True) as model,
        agents(model, Subagent("helper")) as agent,
    ):
        response = agent.chat("go")
    assert "defined successfully" in json.dumps(cast.asked["main"][1].contents)
    assert not (workspace / "made").exists()
    assert not response.incomplete
    refused = [one for one in response.tool_calls if isinstance(one.decision, Denied)]
    assert refused or version not in DECLARING  # older ones may not know what was defined


def test_tools_when_two_subagents_call_them_then_they_overlap_on_workers(agents, version) -> None:
    """Each waits for the other: one after the other they would never end."""
    together = threading.Barrier(2)

    @tool
    def meet() -> str:
        """Meet."""
        together.wait(CEILING)
        return "zqx-met"

    cast = Cast(
        main=[start("one", "two", kind=kind_of(version))],
        one=[call("meet"), "done"],
        two=[call("meet"), "done"],
    )
    subagents = [Subagent(name, tools=["meet"]) for name in ("one", "two")]
    with (
        ScriptedModel(cast, loop=True) as model,
        agents(model, *subagents, tools=[meet], tool_workers=2) as agent,
    ):
        turn = agent.stream("go")
        events = list(turn)
    assert ["zqx-met" in cast.told(name) for name in ("one", "two")] == [True, True]
    steps = [e for e in events if isinstance(e, ToolCallDispatched | ToolCallFinished)]
    assert [type(e) for e in steps] == [ToolCallDispatched] * 2 + [ToolCallFinished] * 2


# ── how it ends ─────────────────────────────────────────────────────────────────────────────────


def test_subagent_when_it_is_unknown_then_the_model_is_told(agents, version) -> None:
    """The turn goes on."""
    cast = Cast(main=[start("nobody"), "main says"])
    with ScriptedModel(cast, loop=True) as model, agents(model, Subagent("helper")) as agent:
        response = agent.chat("go")
    assert response.text == "main says"
    assert "nobody" in cast.told("main")
    assert ("not found" in cast.told("main")) == (release(version) < (0, 1, 17))


def test_subagent_when_its_model_fails_then_the_turn_does_not(agents, version) -> None:
    """The agent is told and goes on, where the harness tells it; the next turn is clean."""
    cast = Cast(
        main=[start("helper", kind=kind_of(version)), "main says"],
        helper=[http_error(400, "zqx-broken")],
    )
    with ScriptedModel(cast, loop=True) as model, agents(model, Subagent("helper")) as agent:
        response = agent.chat("go")
        assert not response.cancelled
        assert response.text in ("main says", "main again")
        assert agent.chat("and now?").text == "main again"


def test_subagent_when_it_hangs_then_the_deadline_ends_it_with_the_turn(agents, version) -> None:
    """No turn is held for ever, and nothing of it is left in the next one."""
    cast = Cast(
        main=[start("helper", kind=kind_of(version)), "main says"], helper=[hang(), "helper late"]
    )
    with ScriptedModel(cast, loop=True) as model, agents(model, Subagent("helper")) as agent:
        with pytest.raises(TurnTimeoutError):
            agent.chat("go", timeout=1.0)
        turn = agent.stream("and now?")
        events = list(turn)
        assert turn.response().text == "main again"
        assert [e for e in events if isinstance(e, TextDelta) and not e.is_main] == []
        assert agent.wait_idle(timeout=CEILING)


def test_subagent_when_the_turn_is_cancelled_then_it_is_stopped_too(agents, version) -> None:
    """It is in the middle of its answer."""
    gate = ModelGate()
    cast = Cast(
        main=[start("helper", kind=kind_of(version)), "main says"],
        helper=[chunks("helper begins", gate, " and ends")],
    )
    with ScriptedModel(cast, loop=True) as model, agents(model, Subagent("helper")) as agent:
        task = Task(lambda: agent.chat("go"))
        assert gate.waiting.wait(CEILING)
        assert agent.cancel()
        response = task.result()
        assert response.cancelled
        gate.release_all()
        turn = agent.stream("and now?")
        assert [e for e in turn if isinstance(e, TextDelta) and not e.is_main] == []
        assert turn.response().text in ("main says", "main again")


def test_subagent_when_it_ends_after_the_agent_answered_then_the_turn_waits(
    agents, version
) -> None:
    """Up to 0.1.7 the agent is idle meanwhile and hears nothing of it; later it answers again."""
    if version == "0.1.6":
        pytest.skip("labels the steps of subagents as the agent's")
    gate = ModelGate()
    cast = Cast(
        main=[start("helper", kind=kind_of(version)), "main first"],
        helper=[chunks(gate, "helper says")],
    )
    with ScriptedModel(cast, loop=True) as model, agents(model, Subagent("helper")) as agent:
        turn = agent.stream("go")
        seen = []
        for event in turn:
            if isinstance(event, TextDelta):
                seen.append((event.is_main, event.text))
                gate.release_all()
        assert isinstance(event, Finished)
        per_agent = [each.total_tokens or 0 for each in agent.trajectory_usage.values()]
        assert sorted(per_agent) == [15, 45 if release(version) >= (0, 1, 8) else 30]
        assert sum(per_agent) == agent.usage.total_tokens
    told = [(True, "main again")] if release(version) >= (0, 1, 8) else []
    assert seen == [(True, "main first"), (False, "helper says"), *told]
    assert turn.response().text == ("main again" if told else "main first")
