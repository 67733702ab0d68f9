"""Tools, policies, containment, hooks and questions on the real harness, in their shortest form."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from antigravity_sync import (
    Agent,
    Answer,
    CancelQuestions,
    Capabilities,
    Decision,
    Hooks,
    ToolContext,
    policy,
    tool,
)
from antigravity_sync.errors import PromptDeniedError, ReentrantCallError, ToolDispatchError
from antigravity_sync.events import ToolAction, ToolCallDispatched, ToolCallFinished
from antigravity_sync.responses import Denied
from antigravity_sync.testing import ModelGate, ScriptedModel, call, chunks
from tests.gates import Gate, Task

pytestmark = pytest.mark.real

ALLOWED = {"capabilities": Capabilities.read_only().enable("run_command", "create_file")}


def told(model: ScriptedModel, number: int) -> str:
    """Return what the model was told of the call it made last, as text."""
    return str(model.requests[number].function_responses[-1:])


def shell(line: str, cwd) -> object:
    return call("run_command", CommandLine=line, Cwd=str(cwd), WaitMsBeforeAsync=20_000)


@pytest.fixture
def workspace(tmp_path):
    return tmp_path / "workspace"


def test_a_tool_runs_on_the_waiting_callers_thread_and_its_result_reaches_the_model(make_agent):
    """With a connection that only its own thread may use, as in ordinary code."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table stock (name text, amount int)")
    connection.execute("insert into stock values ('nails', 7)")
    seen = []

    @tool
    def amount(name: str, ctx: ToolContext) -> int:
        """Tell how many there are."""
        seen.append((threading.get_ident(), ctx.conversation_id))
        row = connection.execute("select amount from stock where name = ?", (name,)).fetchone()
        return row[0]

    with (
        ScriptedModel(call("amount", name="nails"), "seven") as model,
        make_agent(model, tools=[amount]) as agent,
    ):
        turn = agent.stream("how many nails?")
        events = list(turn)
        response = turn.response()
        assert seen == [(threading.get_ident(), agent.conversation_id)]
    connection.close()
    assert '"result": 7' in told(model, 1) or '"result":7' in told(model, 1)
    kinds = [type(event) for event in events]
    assert kinds.index(ToolCallDispatched) < kinds.index(ToolCallFinished)
    assert [(entry.name, entry.result) for entry in response.tool_calls] == [("amount", 7)]
    assert "amount" in model.requests[0].tools


def test_a_bad_call_is_told_and_can_be_repaired(make_agent):
    """Wrong arguments never reach the function, and the model hears what is wrong."""
    given = []

    @tool
    def book(seats: int) -> str:
        """Book."""
        given.append(seats)
        return "booked"

    script = [call("book", seats="many"), call("book", seats="2"), "done"]
    with ScriptedModel(*script) as model, make_agent(model, tools=[book]) as agent:
        response = agent.chat("book")
    assert given == [2]
    assert "seats" in told(model, 1)
    assert "booked" in told(model, 2)
    assert isinstance(response.errors[0], ToolDispatchError)


def test_a_failing_tool_is_an_answer_with_words(make_agent):
    """Also an exception without a text."""

    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError

    with ScriptedModel(call("fail"), "sorry") as model, make_agent(model, tools=[fail]) as agent:
        assert agent.chat("go").text == "sorry"
    assert "ValueError" in told(model, 1)


def test_an_interrupt_in_a_tool_halts_the_turn_and_goes_up(make_agent):
    """It is the caller's, and the next turn is clean."""

    @tool
    def interrupt() -> str:
        """Interrupt."""
        raise KeyboardInterrupt

    with (
        ScriptedModel(call("interrupt"), "fresh") as model,
        make_agent(model, tools=[interrupt]) as agent,
    ):
        with pytest.raises(KeyboardInterrupt):
            agent.chat("go")
        assert agent.chat("again").text == "fresh"


def test_a_tool_that_calls_its_own_agent_is_told_not_to(make_agent):
    """An error for the model instead of a deadlock."""
    holder: list[Agent] = []
    caught = []

    @tool
    def ask_self() -> str:
        """Ask."""
        try:
            return holder[0].chat("me").text
        except ReentrantCallError as error:
            caught.append(error)
            raise

    with (
        ScriptedModel(call("ask_self"), "well") as model,
        make_agent(model, tools=[ask_self]) as agent,
    ):
        holder.append(agent)
        assert agent.chat("go").text == "well"
    assert len(caught) == 1
    holder.clear()


def test_a_worker_tool_answers_at_its_timeout(make_agent):
    """The model hears of it, the tool is told, and the turn goes on."""
    gate = Gate()
    contexts = []

    @tool(timeout=0.2)
    def slow(ctx: ToolContext) -> str:
        """Wait."""
        contexts.append(ctx)
        gate.pass_through()
        return "late"

    with ScriptedModel(call("slow"), "went on") as model, make_agent(model, tools=[slow]) as agent:
        assert agent.chat("go").text == "went on"
        assert contexts[0].cancelled.is_set()
        gate.open()
    assert "did not answer within 0.2 s" in told(model, 1)


@pytest.mark.parametrize(
    ("rules", "hook", "runs", "reason"),
    [
        pytest.param([policy.allow_all()], None, True, "", id="allow"),
        pytest.param([policy.deny("run_command", "not here")], None, False, "not here", id="deny"),
        pytest.param([policy.deny_all("nothing")], None, False, "nothing", id="deny all"),
        pytest.param(
            [policy.deny_all(), policy.allow("run_command")], None, True, "", id="exact beats all"
        ),
        pytest.param([policy.confirm("run_command", lambda _: True)], None, True, "", id="yes"),
        pytest.param(
            [policy.confirm("run_command", lambda _: False)],
            None,
            False,
            "not confirmed",
            id="no",
        ),
        pytest.param([policy.confirm("run_command")], None, False, "confirmation", id="nobody"),
        pytest.param([policy.confirm("run_command")], lambda _: True, True, "", id="hook confirms"),
        pytest.param([], lambda _: Decision.deny("hook says no"), False, "hook says no", id="hook"),
        pytest.param([], lambda _: False, False, "on_pre_tool", id="hook false"),
        pytest.param([], lambda _: 5, False, "on_pre_tool", id="hook nonsense"),
        pytest.param([], lambda _: 1 / 0, False, "ZeroDivisionError", id="hook raises"),
        pytest.param([], lambda _: None, True, "", id="hook none"),
    ],
)
def test_a_command_runs_or_leaves_no_trace(
    make_agent, workspace, version, rules, hook, runs, reason
):
    """Proven on disk; where it is refused the model is told why (0.1.5: that it is)."""
    hooks = [] if hook is None else [Hooks(on_pre_tool=hook)]
    victim = workspace / "victim"
    with (
        ScriptedModel(shell(f"touch {victim}", workspace), "ok") as model,
        make_agent(model, policies=rules, hooks=hooks, **ALLOWED) as agent,
    ):
        turn = agent.stream("go")
        actions = [event for event in turn if isinstance(event, ToolAction)]
        response = turn.response()
    assert victim.exists() is runs
    assert len(actions) == 1
    assert isinstance(actions[0].decision, Denied) is not runs
    if not runs:
        assert reason in response.tool_calls[0].decision.reason
        assert (reason if version != "0.1.5" else "denied") in told(model, 1)


def test_a_denied_tool_of_ones_own_does_not_run(make_agent):
    """Policies bind custom tools too."""
    ran = []

    @tool
    def launch() -> str:
        """Launch."""
        ran.append(True)
        return "gone"

    with (
        ScriptedModel(call("launch"), "I see") as model,
        make_agent(model, tools=[launch], policies=[policy.deny("launch", "too late")]) as agent,
    ):
        response = agent.chat("go")
    assert ran == []
    assert "too late" in response.tool_calls[0].decision.reason
    if agent.harness_version != "0.1.5":
        assert "too late" in told(model, 1)


def test_a_hook_rewrites_arguments(make_agent, workspace, version):
    """The file appears at the new place; 0.1.5 and 0.1.6 cannot, and deny."""

    def redirect(invocation):
        line = invocation.args["command_line"].replace("first", "second")
        return Decision.allow({"command_line": line})

    with (
        ScriptedModel(shell(f"touch {workspace}/first", workspace), "ok") as model,
        make_agent(model, hooks=[Hooks(on_pre_tool=redirect)], **ALLOWED) as agent,
    ):
        agent.chat("go")
    assert not (workspace / "first").exists()
    assert (workspace / "second").exists() is (version not in ("0.1.5", "0.1.6"))
    del model


@pytest.mark.parametrize("where", ["outside", "dotdot", "link", "twin", "uri"])
def test_a_file_outside_the_workspace_is_not_read(make_agent, workspace, tmp_path, where):
    """By its real path, however it is written."""
    secret = tmp_path / "workspace2"
    secret.mkdir()
    (secret / "secret.txt").write_text("ZQX")
    (workspace / "link").symlink_to(secret)
    paths = {
        "outside": f"{secret}/secret.txt",
        "dotdot": f"{workspace}/../workspace2/secret.txt",
        "link": f"{workspace}/link/secret.txt",
        "twin": f"{workspace}2/secret.txt",
        "uri": f"file://{secret}/%73ecret.txt",
    }
    with (
        ScriptedModel(call("view_file", AbsolutePath=paths[where]), "ok") as model,
        make_agent(model) as agent,
    ):
        response = agent.chat("go")
    assert "ZQX" not in told(model, 1)
    # Up to 0.1.10 a harness takes no URI for a path and refuses the call before anybody is asked.
    refused_by_harness = where == "uri" and not response.tool_calls
    assert refused_by_harness or isinstance(response.tool_calls[0].decision, Denied)


def test_containment_can_be_switched_off_and_the_inside_is_open(make_agent, workspace, tmp_path):
    """What lies inside is read, what lies outside only when the user wants it so."""
    (workspace / "in.txt").write_text("INSIDE")
    (tmp_path / "out.txt").write_text("OUTSIDE")
    script = [
        call("view_file", AbsolutePath=f"{workspace}/in.txt"),
        call("view_file", AbsolutePath=f"{tmp_path}/out.txt"),
        "ok",
    ]
    with ScriptedModel(*script) as model, make_agent(model, contain_workspaces=False) as agent:
        agent.chat("go")
    assert "INSIDE" in told(model, 1)
    assert "OUTSIDE" in told(model, 2)


def test_hooks_are_called_in_order_and_once(make_agent, workspace):
    """One turn with one call, from the start of the session to its end."""
    seen: list[str] = []

    def note(name: str):
        return lambda _value: seen.append(name)

    hooks = Hooks(
        on_session_start=note("start"),
        on_session_end=note("end"),
        on_pre_turn=note("pre turn"),
        on_post_turn=note("post turn"),
        on_pre_tool=note("pre tool"),
        on_post_tool=note("post tool"),
    )

    @tool
    def count() -> int:
        """Count."""
        seen.append("tool")
        return 3

    with (
        ScriptedModel(call("count"), "three") as model,
        make_agent(model, tools=[count], hooks=[hooks]) as agent,
    ):
        agent.chat("go")
    assert seen == ["start", "pre turn", "pre tool", "tool", "post tool", "post turn", "end"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), ("x", "x"), (True, "true"), (None, "null"), ({"a": 1}, '{"a": 1}')],
)
def test_post_tool_hears_the_inner_value(make_agent, value, text):
    """Scalars as strings, objects as JSON."""
    seen = []

    @tool
    def give() -> object:
        """Give."""
        return value

    hooks = Hooks(on_post_tool=lambda outcome: seen.append((outcome.name, outcome.result)))
    with (
        ScriptedModel(call("give"), "ok") as model,
        make_agent(model, tools=[give], hooks=[hooks]) as agent,
    ):
        agent.chat("go")
    assert [(name, result.replace(" ", "")) for name, result in seen] == [
        ("give", text.replace(" ", ""))
    ]
    del model


def test_tool_error_hooks_replace_what_the_model_sees(make_agent):
    """The text is the hook's."""

    @tool
    def fail() -> str:
        """Fail."""
        raise RuntimeError("secret detail")

    hooks = Hooks(on_tool_error=lambda _outcome: "please try later")
    with (
        ScriptedModel(call("fail"), "ok") as model,
        make_agent(model, tools=[fail], hooks=[hooks]) as agent,
    ):
        agent.chat("go")
    assert "please try later" in told(model, 1)
    assert "secret detail" not in told(model, 1)


def test_a_denied_prompt_makes_no_model_call(make_agent):
    """The agent is usable afterwards."""

    def guard(prompt: str):
        return Decision.deny("not that word") if "bad" in prompt else None

    with (
        ScriptedModel("fine") as model,
        make_agent(model, hooks=[Hooks(on_pre_turn=guard)]) as agent,
    ):
        with pytest.raises(PromptDeniedError, match="not that word"):
            agent.chat("a bad prompt")
        assert agent.chat("a good one").text == "fine"
    assert len(model.requests) == 1


WITH_RESIDUE = tuple(f"0.1.{number}" for number in range(6, 14))
QUESTION = {"question": "Which?", "options": ["a", "b"], "is_multi_select": False}
ASKING = {
    "capabilities": Capabilities.read_only().enable("ask_question"),
    "policies": [policy.deny_all()],
}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(lambda _: [Answer.choices(1)], "A1: b", id="choice"),
        pytest.param(lambda _: [Answer.freeform("mine")], "A1: mine", id="own words"),
        pytest.param(lambda _: [], "Skipped", id="short"),
        pytest.param(lambda _: [Answer.choices(9)], "Skipped", id="no such choice"),
        pytest.param(lambda _: 1 / 0, "Skipped", id="raises"),
        pytest.param(lambda _: CancelQuestions(), "cancel", id="cancel"),
        pytest.param(None, "", id="nobody"),
    ],
)
def test_a_question_is_answered_though_everything_is_denied(make_agent, answers, expected):
    """Questions have their own handler, and policies' wildcards do not touch them."""
    hooks = [] if answers is None else [Hooks(on_questions=answers)]
    with (
        ScriptedModel(call("ask_question", questions=[QUESTION]), "thanks") as model,
        make_agent(model, hooks=hooks, **ASKING) as agent,
    ):
        assert agent.chat("go").text == "thanks"
    assert expected in told(model, 1)


def test_a_person_may_take_their_time_and_cancel_works_meanwhile(make_agent):
    """A question that nobody has answered yet is dropped by a halt."""
    gate = Gate()

    def wait(_questions):
        gate.pass_through()
        return [Answer.choices(0)]

    with (
        ScriptedModel(call("ask_question", questions=[QUESTION]), "fresh") as model,
        make_agent(model, hooks=[Hooks(on_questions=wait)], **ASKING) as agent,
    ):
        chat = Task(lambda: agent.chat("go"))
        gate.wait_arrived()
        assert agent.cancel()
        assert chat.result().cancelled
        gate.open()
        assert agent.chat("again").text == "fresh"


def test_what_the_model_is_offered_is_what_was_asked_for(make_agent, version):
    """Plus, on 0.1.6–0.1.13, the two that cannot be switched off, which the agent tells."""
    with (
        ScriptedModel("ok") as model,
        make_agent(model, capabilities=Capabilities.none()) as agent,
    ):
        agent.chat("go")
        assert set(model.requests[0].tools) == {tool.value for tool in agent.unswitchable_tools}
    assert bool(agent.unswitchable_tools) is (version in WITH_RESIDUE)


def test_a_parents_rules_bind_its_text_while_a_stream_goes_on(make_agent):
    """A confirm handler that waits does not hold the text of another agent back."""
    gate, model_gate = Gate(), ModelGate()

    def ask(_call) -> bool:
        gate.pass_through()
        return True

    @tool
    def act() -> str:
        """Act."""
        return "acted"

    with (
        ScriptedModel(call("act"), "done") as one,
        ScriptedModel(chunks("a", model_gate, "b")) as two,
        make_agent(one, tools=[act], policies=[policy.confirm("act", ask)]) as first,
        make_agent(two) as second,
    ):
        waiting = Task(lambda: first.chat("go"))
        gate.wait_arrived()
        model_gate.release_all()
        assert second.chat("go").text == "ab"
        gate.open()
        assert waiting.result().text == "done"


def test_a_rule_sees_an_argument_however_the_model_spells_it(make_agent, workspace):
    """The harness takes `commandline` for `CommandLine`, so a rule must not look past it."""
    rule = policy.deny(
        "run_command", "not that", when=lambda asked: "zqx" in str(asked.args.get("command_line"))
    )
    bent = call("run_command", commandline="touch zqx", Cwd=str(workspace), WaitMsBeforeAsync=9_000)
    with (
        ScriptedModel(bent, "fine") as model,
        make_agent(model, **ALLOWED, policies=[rule, policy.allow_all()]) as agent,
    ):
        response = agent.chat("go")
    assert not (workspace / "zqx").exists()
    assert [entry.decision for entry in response.tool_calls] == [Denied("not that")]


def test_a_wrapper_is_put_around_hooks_and_worker_calls(make_agent):
    """It runs on their threads, before and after each, as a web framework's clean-up must."""
    log = []

    def wrapper(make_call):
        log.append("before")
        try:
            return make_call()
        finally:
            log.append("after")

    @tool(worker=True)
    def act() -> str:
        """Act."""
        log.append("tool")
        return "acted"

    def look(_call):
        log.append("hook")

    with (
        ScriptedModel(call("act"), "done") as model,
        make_agent(
            model, tools=[act], hooks=[Hooks(on_pre_tool=look)], callback_wrapper=wrapper
        ) as agent,
    ):
        assert agent.chat("go").text == "done"
    assert log == ["before", "hook", "after", "before", "tool", "after"]
    assert "acted" in told(model, 1)


def test_a_wrapper_that_makes_no_call_fails_closed(make_agent):
    """What was not called has allowed nothing."""
    ran = []

    @tool
    def act() -> str:
        """Act."""
        ran.append(True)
        return "acted"

    options = {"tools": [act], "hooks": [Hooks(on_pre_tool=lambda _call: True)]}
    with (
        ScriptedModel(call("act"), "done") as model,
        make_agent(model, callback_wrapper=lambda _make_call: None, **options) as agent,
    ):
        response = agent.chat("go")
    assert ran == []
    assert "have it do so" in str(response.errors[0])
