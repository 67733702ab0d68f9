"""The twelve rules of the runtime, each by name, on a stand-in harness that can be held anywhere.

What another module proves at length is proved here in its shortest form.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from antigravity_sync import Agent, Capabilities, policy
from antigravity_sync.errors import (
    AgentBusyError,
    AgentClosedError,
    ReentrantCallError,
    SessionLostError,
    TurnTimeoutError,
)
from antigravity_sync.events import TextDelta
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    frame,
    hook,
    idle,
    kill,
    mark,
    running,
    stderr,
    tool_call,
    user_echo,
    wait_for,
    wait_for_signal,
)
from tests.gates import CEILING, Gate, History, Task, wait_until

HELLO = [running(), user_echo(), delta("hello"), done(), idle()]
PRE_TOOL = "PRE_TOOL"


def held(*after: object) -> list[object]:
    """Return a turn that says `hello`, then stands still until the test sends the signal `go`."""
    return [running(), user_echo(), delta("hello"), wait_for_signal("go"), *after]


@contextlib.contextmanager
def agent_on(fake: FakeHarness, **options: object) -> Iterator[Agent]:
    defaults = {"harness_path": fake.path, "api_key": "x", "workspaces": []}
    with Agent(**{**defaults, **options}) as agent:
        yield agent


def governed(*policies: policy.Policy) -> dict[str, object]:
    return {
        "capabilities": Capabilities.read_only().enable("run_command"),
        # There is no workspace, and what is asked about must reach the rules.
        "contain_workspaces": False,
        "policies": list(policies),
    }


def asks(name: str, request_id: str = "hook_request_1") -> object:
    return hook(PRE_TOOL, request_id=request_id, toolName=name, argumentsJson="{}")


def test_rule_1_one_owner_the_session_is_fed_by_the_pump_alone():
    """The session refuses to be fed from any other thread."""
    from antigravity_sync._core.inputs import Tick

    with FakeHarness(version="0.1.10") as fake, agent_on(fake) as agent:
        with pytest.raises(AssertionError):
            agent._engine.pump._feed(Tick())
        assert agent.chat("still fine").text == "ok"


def test_rule_2_one_door_commands_and_frames_keep_their_order():
    """Eight threads cancel at once: one halt per turn, and the next turn is clean."""
    with FakeHarness(held(), HELLO, version="0.1.10") as fake, agent_on(fake) as agent:
        turn = agent.stream("go")
        assert next(turn).text == "hello"
        barrier = threading.Barrier(8)

        def cancel() -> bool:
            barrier.wait(CEILING)
            return agent.cancel()

        tasks = [Task(cancel) for _ in range(8)]
        assert turn.response().cancelled
        # All of them first: a late one must not meet the next turn.
        outcomes = [task.result() for task in tasks]
        assert any(outcomes)
        assert agent.chat("again").text == "hello"
        assert fake.events.count("message:haltRequest") == 1


def test_rule_2_unread_deltas_are_merged_without_loss():
    """A consumer that reads nothing finds all the text, in few events."""
    pieces = [delta(f"<{number}>") for number in range(500)]
    script = [running(), user_echo(), *pieces, mark("all"), done(), idle()]
    with FakeHarness(script, version="0.1.10") as fake, agent_on(fake) as agent:
        turn = agent.stream("go")
        assert agent.wait_idle(timeout=CEILING)
        texts = [event.text for event in turn if isinstance(event, TextDelta)]
    assert "".join(texts) == "".join(f"<{number}>" for number in range(500))
    assert len(texts) == 1


def test_rule_3_no_lock_is_held_while_user_code_runs():
    """While a policy stands still, everything that other threads may call returns."""
    gate = Gate()

    def stand(_call) -> bool:
        gate.pass_through()
        return True

    script = [running(), user_echo(), asks("run_command"), wait_for("callHookResponse"), idle()]
    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=stand))) as agent,
    ):
        turn = agent.stream("go")
        gate.wait_arrived()

        def look() -> None:
            assert agent.usage is not None
            assert agent.history == ()
            assert not agent.is_idle
            assert agent.conversation_id
            assert not agent.wait_idle(timeout=0.0)
            with pytest.raises(AgentBusyError):
                agent.chat("me too", timeout=0.0)
            repr(agent)

        Task(look).result()
        gate.open()
        assert turn.response().text == ""


def test_rule_4_the_pump_never_waits_for_the_consumer():
    """Nobody reads, and the harness's request is answered all the same."""
    script = [running(), user_echo(), delta("x"), asks("run_command"), wait_for("callHookResponse")]
    script += [mark("answered"), done(), idle()]
    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow_all())) as agent,
    ):
        turn = agent.stream("go")
        fake.wait_for("callHookResponse")
        assert agent.wait_idle(timeout=CEILING)
        assert turn.response().text == "x"


@pytest.mark.parametrize(
    ("request_item", "answer_key"),
    [
        pytest.param(asks("run_command"), "callHookResponse", id="hook"),
        pytest.param(tool_call("no_such_tool", {}), "toolResponse", id="unknown tool"),
        pytest.param(hook("FROM_THE_FUTURE"), "callHookResponse", id="unknown hook"),
        pytest.param(
            frame(
                {
                    "policyDecisionRequest": {
                        "requestId": "1",
                        "ruleId": "r",
                        "toolArgs": {"toolName": "run_command"},
                    }
                }
            ),
            "policyDecisionResponse",
            id="policy",
        ),
        pytest.param(
            frame({"brandNewRequest": {"requestId": "9"}}), "callHookResponse", id="unknown event"
        ),
    ],
)
def test_rule_5_every_ask_is_answered_exactly_once(request_item, answer_key):
    """Delivered twice, answered once; kinds nobody knows are answered too."""
    script = [running(), user_echo(), request_item, wait_for(answer_key), request_item]
    script += [delta("end"), done(), idle()]

    def fail(_call) -> bool:
        raise ValueError

    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=fail))) as agent,
    ):
        assert agent.chat("go").text == "end"
    answers = [message[answer_key] for message in fake.received if answer_key in message]
    assert len(answers) == 1
    if answer_key == "callHookResponse" and "preToolResult" in answers[0]:
        assert answers[0]["preToolResult"]["decision"] == "DENY", "a failing policy must deny"


def test_rule_5_a_halt_past_a_blocked_pump_voids_the_answer():
    """`cancel` halts though a policy stands still, and that policy's answer is never sent."""
    gate = Gate()

    def stand(_call) -> bool:
        gate.pass_through()
        return True

    script = [running(), user_echo(), delta("x"), asks("run_command"), wait_for("haltRequest")]
    script += [mark("halted"), wait_for_signal("go"), done(), idle()]
    with (
        FakeHarness(script, HELLO, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=stand))) as agent,
    ):
        turn = agent.stream("go")
        gate.wait_arrived()
        assert agent.cancel()
        fake.wait_for("haltRequest")
        gate.open()
        fake.signal("go")
        assert turn.response().cancelled
        assert agent.chat("again").text == "hello"
        assert not [message for message in fake.received if "callHookResponse" in message]


def test_rule_6_one_live_turn_a_second_caller_waits_or_is_told():
    """The second caller's own timeout counts, and its prompt is never sent."""
    with (
        FakeHarness(held(done(), idle()), HELLO, version="0.1.10") as fake,
        agent_on(fake) as agent,
    ):
        turn = agent.stream("first")
        fake.wait_for("userInput")
        with pytest.raises(AgentBusyError):
            Task(lambda: agent.chat("second", timeout=0.01)).result()
        waiting = Task(lambda: agent.chat("third").text)
        fake.signal("go")
        assert turn.response().text == "hello"
        assert waiting.result() == "hello"
    prompts = [message["userInput"] for message in fake.received if "userInput" in message]
    assert prompts == ["first", "third"]


def test_rule_6_a_call_from_inside_a_callback_is_refused():
    """Blocking calls of the same agent raise at once; `cancel` is allowed."""
    seen = History()
    holder: list[Agent] = []

    def reenter(_call) -> bool:
        for call in (
            lambda: holder[0].chat("x"),
            lambda: holder[0].stream("x"),
            lambda: holder[0].wait_idle(timeout=1.0),
        ):
            try:
                call()
            except ReentrantCallError:
                seen.add("refused")
        return True

    script = [running(), user_echo(), asks("run_command"), wait_for("callHookResponse"), idle()]
    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=reenter))) as agent,
    ):
        holder.append(agent)
        agent.chat("go")
    assert seen.entries == ("refused",) * 3
    holder.clear()


def test_rule_6_a_loop_over_two_agents_is_caught_too():
    """A's callback asks B, whose callback asks A: refused, not a deadlock."""
    seen = History()
    agents: dict[str, Agent] = {}

    def ask_b(_call) -> bool:
        seen.add(agents["b"].chat("from a").text)
        return True

    def ask_a(_call) -> bool:
        try:
            agents["a"].chat("from b")
        except ReentrantCallError:
            seen.add("refused")
        return True

    asking = [running(), user_echo(), asks("run_command"), wait_for("callHookResponse")]
    asking += [delta("b is done"), done(), idle()]
    with (
        FakeHarness(asking, version="0.1.10") as one,
        FakeHarness(asking, version="0.1.10") as two,
        agent_on(one, **governed(policy.allow("run_command", when=ask_b))) as a,
        agent_on(two, **governed(policy.allow("run_command", when=ask_a))) as b,
    ):
        agents.update(a=a, b=b)
        a.chat("go")
    agents.clear()
    assert seen.entries == ("refused", "b is done")


def test_rule_7_a_turn_ends_once_and_only_by_its_own_idle():
    """Idles of subagents, and one before our prompt's echo, end nothing."""
    script = [
        running(),
        idle(),
        frame({"trajectoryStateUpdate": {"trajectoryId": "sub", "state": "STATE_FULLY_IDLE"}}),
        user_echo(),
        delta("mine"),
        frame({"trajectoryStateUpdate": {"trajectoryId": "sub", "state": "STATE_FULLY_IDLE"}}),
        wait_for_signal("go"),
        delta(" all"),
        done(),
        idle(),
        idle(),
    ]
    with FakeHarness(script, HELLO, version="0.1.10") as fake, agent_on(fake) as agent:
        turn = agent.stream("go")
        assert next(turn).text == "mine"
        assert not turn.done
        fake.signal("go")
        assert turn.response().text == "mine all"
        assert agent.chat("next").text == "hello"


def test_rule_8_every_wait_has_a_second_way_out():
    """A harness that says nothing at all: the deadline, close and death each end the wait."""
    with (
        FakeHarness([], [], version="0.1.10", ignore_halt=True) as fake,
        agent_on(fake) as agent,
    ):
        with pytest.raises(TurnTimeoutError):
            agent.chat("go", timeout=0.1)
        chat = Task(lambda: agent.chat("go"))
        wait_until(lambda: fake.events.count("message:userInput") == 2, "the prompt")
        os.kill(agent.pid, signal.SIGKILL)
        with pytest.raises(SessionLostError):
            chat.result()


def test_rule_9_abandoning_is_safe_from_the_garbage_collector():
    """A turn in a reference cycle is halted when the collector finds it, on whatever thread."""
    with FakeHarness(held(), HELLO, version="0.1.10") as fake, agent_on(fake) as agent:
        turn = agent.stream("go")
        assert next(turn).text == "hello"
        cycle: list[object] = [turn]
        cycle.append(cycle)
        del turn, cycle
        Task(gc.collect).result()
        fake.wait_for("haltRequest")
        assert agent.chat("again").text == "hello"


def test_rule_10_close_from_inside_a_callback_begins_and_returns():
    """The callback is not waited for by itself; the pump finishes the close."""
    returned = threading.Event()
    holder: list[Agent] = []

    def close(_call) -> bool:
        holder[0].close()
        returned.set()
        return True

    script = [running(), user_echo(), asks("run_command"), wait_for_signal("never")]
    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=close))) as agent,
    ):
        holder.append(agent)
        turn = agent.stream("go")
        assert returned.wait(CEILING)
        with pytest.raises(AgentClosedError):
            turn.response()
        assert agent.close().exit_code == 0
    holder.clear()


def test_rule_11_death_reaches_every_waiter_with_code_and_last_words():
    """One loss, told to all; later calls say so at once; nothing is relaunched."""
    script = [running(), user_echo(), delta("half"), stderr("out of luck"), wait_for_signal("go")]
    with FakeHarness([*script, kill()], version="0.1.10") as fake, agent_on(fake) as agent:
        chat = Task(lambda: agent.chat("go"))
        fake.wait_for("userInput")
        idle_waiter = Task(lambda: agent.wait_idle(timeout=CEILING))
        wait_until(lambda: "out of luck" in agent._engine.circumstances().stderr_tail, "stderr")
        fake.signal("go")
        with pytest.raises(SessionLostError) as caught:
            chat.result()
        assert caught.value.exit_code == -signal.SIGKILL
        assert "out of luck" in caught.value.stderr_tail
        assert caught.value.partial.text == "half"
        for late in (idle_waiter.result, lambda: agent.chat("again")):
            with pytest.raises(SessionLostError):
                late()
        assert fake.events.count("spawned") == 1


def test_rule_11_death_is_told_though_the_pump_is_in_a_callback():
    """A policy that stands still does not keep the news from the caller."""
    gate = Gate()

    def stand(_call) -> bool:
        gate.pass_through()
        return True

    script = [running(), user_echo(), asks("run_command"), wait_for_signal("go"), kill()]
    with (
        FakeHarness(script, version="0.1.10") as fake,
        agent_on(fake, **governed(policy.allow("run_command", when=stand))) as agent,
    ):
        chat = Task(lambda: agent.chat("go"))
        gate.wait_arrived()
        fake.signal("go")
        with pytest.raises(SessionLostError):
            chat.result()
        gate.open()


def test_rule_12_ctrl_c_does_not_reach_the_harness():
    """The harness lives in a session of its own; our interrupt halts the turn and goes up."""
    with FakeHarness(held(), HELLO, version="0.1.10") as fake, agent_on(fake) as agent:
        assert os.getsid(agent.pid) != os.getsid(0)

        def interrupt() -> None:
            fake.wait_for("userInput")
            os.kill(os.getpid(), signal.SIGINT)

        sender = Task(interrupt)
        with pytest.raises(KeyboardInterrupt):
            agent.chat("go")
        sender.result()
        fake.wait_for("haltRequest")
        assert agent.chat("again").text == "hello"
        assert "sigint" not in fake.events
