"""Inspectors on a `FakeHarness`: what they see, on which thread, and that they break nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from antigravity_sync import Agent, Hooks
from antigravity_sync.errors import ConfigError, LaunchError, TurnTimeoutError
from antigravity_sync.testing import replay
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    answer,
    delta,
    done,
    flood,
    hook,
    idle,
    running,
    state,
    stderr,
    user_echo,
    wait_for,
    wait_for_signal,
)
from antigravity_sync.wire import (
    HarnessSpawn,
    HarnessStderr,
    JsonlRecorder,
    WireEvent,
    WsReceive,
    WsSend,
    clear_drift_report,
    drift_report,
    read_recording,
)
from tests.gates import Gate, wait_until
from tests.loop.fakes import VERSION, fake_agent

GLOG = "1202 05:36:03.123456      10 x.go:1]"


@pytest.fixture(autouse=True)
def _own_report() -> Iterator[None]:
    clear_drift_report()
    yield
    clear_drift_report()


def of_kind(events: list[WireEvent], kind: type[WireEvent]) -> list[WireEvent]:
    return [event for event in events if isinstance(event, kind)]


def test_inspector_when_a_turn_runs_then_sees_all_four_kinds_in_order():
    """One correlation id, the process, and from the open conversation on its id."""
    events: list[WireEvent] = []
    threads = set()

    def look(event: WireEvent) -> None:
        events.append(event)
        threads.add(threading.current_thread().name.rpartition("-")[2])

    script = [running(), user_echo(), stderr(f"W{GLOG} hm"), delta("Hello"), done(), idle()]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake, wire_inspectors=look) as agent,
    ):
        agent.chat("hi")
        pid, conversation = agent.pid, agent.conversation_id
        wait_until(lambda: "hm" in str(events), "the line on stderr")
    assert isinstance(events[0], HarnessSpawn)
    assert (events[0].path, events[0].pid) == (str(fake.path), pid)
    assert [event.members() for event in of_kind(events, WsSend)][:2] == [
        ("config",),
        ("userInput",),
    ]
    assert of_kind(events, WsReceive)[0].members() == ("initializeConversationResponse",)
    assert {event.severity for event in of_kind(events, HarnessStderr) if "hm" in event.line} == {
        "WARNING"
    }
    assert len({event.correlation_id for event in events}) == 1
    assert {event.pid for event in events} == {pid}
    assert of_kind(events, WsSend)[1].conversation_id == conversation
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert threads <= {"MainThread", "pump"}


def test_correlation_when_sessions_differ_then_ids_do():
    """Another start of the same agent is another session."""
    events: list[WireEvent] = []
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake, wire_inspectors=[events.append])
        for _ in range(2):
            with agent:
                pass
    spawns = of_kind(events, HarnessSpawn)
    assert len({event.correlation_id for event in spawns}) == len(spawns) == 2
    assert {event.correlation_id for event in events} == {e.correlation_id for e in spawns}


def test_halt_when_it_goes_past_a_blocked_pump_then_seen():
    """A halt that another thread writes is shown once the pump is free."""
    events: list[WireEvent] = []
    gate = Gate()

    def hold(_call: object) -> None:
        gate.pass_through()

    ask = hook("PRE_TOOL", toolName="x", argumentsJson="{}")
    script = [running(), user_echo(), ask, wait_for("haltRequest"), idle()]
    with FakeHarness(script, version=VERSION) as fake:
        hooks = Hooks(on_pre_tool=hold)
        with fake_agent(fake, hooks=[hooks], wire_inspectors=[events.append]) as agent:
            turn = agent.stream("hi")
            gate.wait_arrived()
            assert agent.cancel()
            gate.open()
            assert turn.response().cancelled
    halts = [each for each in of_kind(events, WsSend) if each.members() == ("haltRequest",)]
    assert halts


def test_inspector_when_it_raises_then_switched_off_and_said_once(caplog):
    """The program goes on, and so do other inspectors."""
    events: list[WireEvent] = []
    calls = []

    def broken(event: WireEvent) -> None:
        calls.append(event)
        raise ValueError("no")

    with (
        FakeHarness(answer("fine"), version=VERSION) as fake,
        fake_agent(fake, wire_inspectors=[broken, events.append]) as agent,
    ):
        assert agent.chat("hi").text == "fine"
    assert len(calls) == 1
    assert len(events) > 5
    said = [r for r in caplog.records if "switched off" in r.getMessage()]
    assert len(said) == 1
    assert said[0].name == "antigravity_sync.wire"


@pytest.mark.parametrize("loud", ["summary", "initializeConversationResponse", "\x00,=,☃"])
def test_loud_wire_when_set_then_prints_what_it_says(loud, monkeypatch, capsys):
    """Whatever it is set to, the program runs."""
    monkeypatch.setenv("LOUD_WIRE", loud.replace("\x00", "%"))
    with FakeHarness(answer("fine"), version=VERSION) as fake, fake_agent(fake) as agent:
        assert agent.chat("hi").text == "fine"
    printed = [line.split("] ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    if loud == "summary":
        assert printed[0].startswith(f"spawn {fake.path}")
        assert "ws send userInput" in printed
    elif loud.startswith("init"):
        (line,) = printed
        assert line.startswith('ws receive {"initializeConversationResponse"')
    else:
        assert printed == []


def test_inspectors_when_they_cannot_be_called_then_config_error(tmp_path):
    """Before anything is started, and so for a recording that cannot be written."""
    with pytest.raises(ConfigError, match="wire_inspectors"):
        Agent(wire_inspectors=[3])
    with FakeHarness(version=VERSION) as fake:
        recorder = JsonlRecorder(tmp_path / "none" / "x.jsonl")
        with pytest.raises(ConfigError, match="recording"):
            fake_agent(fake, wire_inspectors=[recorder]).start()
        assert fake.events == []


def test_recording_when_an_answer_streams_then_small_and_whole_again(tmp_path):
    """Cumulative texts are left out of the file and put back by the reader."""
    path = tmp_path / "wire.jsonl"
    script = [running(), user_echo(), flood(400, 10), done(), idle()]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake, wire_inspectors=[JsonlRecorder(path)]) as agent,
    ):
        response = agent.chat("hi")
    assert len(response.text) == 4000
    records = list(read_recording(path))
    steps = [r["payload"]["stepUpdate"] for r in records if "stepUpdate" in str(r.get("payload"))]
    texts = [each["text"] for each in steps if each["source"] == "SOURCE_MODEL"]
    assert len(texts) >= 400
    assert texts[-1] == response.text
    assert all(response.text.startswith(text) for text in texts)
    assert path.stat().st_size < 400 * 1000
    (turn,) = replay(path)
    assert turn.response.text == response.text
    assert turn.response.steps == response.steps


def test_recording_when_a_start_fails_then_holds_why(tmp_path):
    """What the harness said last is in the file."""
    path = tmp_path / "wire.jsonl"
    why = "Failed to create agent: the key hush-hush-1 is bad"
    with (
        FakeHarness(version=VERSION, drop_on_init=why) as fake,
        pytest.raises(LaunchError, match="is bad") as caught,
    ):
        recorder = JsonlRecorder(path)
        fake_agent(fake, api_key="hush-hush-1", wire_inspectors=[recorder]).start()
    assert "hush" not in str(caught.value) + caught.value.stderr_tail + path.read_text()
    kinds = [record["kind"] for record in read_recording(path)]
    assert kinds[:2] == ["HarnessSpawn", "WsSend"]
    assert "HarnessStderr" in kinds


def test_recording_when_a_hook_stands_still_then_holds_what_it_was_asked(tmp_path):
    """The pump is busy then, so nothing more would be written until it answers."""
    path = tmp_path / "wire.jsonl"
    gate = Gate()
    ask = hook("PRE_TOOL", toolName="x", argumentsJson="{}")
    text = [delta("one "), delta("two "), delta("three")]
    script = [running(), user_echo(), *text, ask, wait_for("callHookResponse"), done(), idle()]
    hooks = Hooks(on_pre_tool=lambda _call: gate.pass_through())
    with FakeHarness(script, version=VERSION) as fake:
        recorder = JsonlRecorder(path)
        with fake_agent(fake, hooks=[hooks], wire_inspectors=[recorder]) as agent:
            turn = agent.stream("hi")
            gate.wait_arrived()
            (*_, before, last) = read_recording(path)
            gate.open()
            assert turn.response().text == "one two three"
    assert before["payload"]["stepUpdate"]["text"] == "one two three"
    assert "callHookRequest" in last["payload"]


def test_recording_when_the_process_is_killed_then_holds_what_came(tmp_path):
    """The lines are with the system a moment after they came, without any close."""
    path = tmp_path / "wire.jsonl"
    script = [running(), user_echo(), delta("before the end"), wait_for_signal("never")]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake, wire_inspectors=[JsonlRecorder(path)]) as agent,
    ):
        turn = agent.stream("hi")
        wait_until(lambda: b"before the end" in path.read_bytes(), "the line in the file")
        turn.close()


def test_stderr_when_logged_then_with_its_severity_and_conversation(caplog):
    """On a logger of its own; the early prefix is no error."""
    lines = [f"ERROR: logging before google.Init: I{GLOG} early", f"E{GLOG} bad", "plain"]
    script = [running(), user_echo(), *(stderr(line) for line in lines), delta("x"), done(), idle()]
    with (
        caplog.at_level(logging.DEBUG),
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake) as agent,
    ):
        agent.chat("hi")
        conversation = agent.conversation_id
        wait_until(lambda: "plain" in caplog.text, "the last line")
    records = [r for r in caplog.records if r.name == "antigravity_sync.harness"]
    levels = {r.getMessage(): r.levelno for r in records}
    assert [levels[line] for line in lines] == [logging.INFO, logging.ERROR, logging.INFO]
    assert {r.conversation_id for r in records if r.getMessage() in lines} == {conversation}


def test_records_when_the_pump_logs_then_name_the_conversation(caplog):
    """Found by the thread; a record of nobody's has an empty one."""
    with (
        caplog.at_level(logging.DEBUG),
        FakeHarness(
            [running(), user_echo(), state("STATE_UNHEARD_OF"), delta("x"), done(), idle()],
            version=VERSION,
        ) as fake,
        fake_agent(fake) as agent,
    ):
        agent.chat("hi")
        conversation = agent.conversation_id
    (warned,) = [r for r in caplog.records if "does not know: Trajectory" in r.getMessage()]
    assert warned.conversation_id == conversation != ""
    ours = [r for r in caplog.records if r.name.startswith("antigravity_sync")]
    assert all(hasattr(record, "conversation_id") for record in ours)


def test_drift_when_two_unknown_states_come_twice_then_counted_and_told_once_at_close(caplog):
    """One warning for each value, one for all when the agent closes, and the report."""
    unknown = [state("STATE_ODD"), state("STATE_STRANGE")]
    script = [running(), user_echo(), *unknown, *unknown, delta("x"), done(), idle()]
    with FakeHarness(script, version=VERSION) as fake, fake_agent(fake) as agent:
        agent.chat("hi")
        report = drift_report()
        each = [m for m in caplog.messages if "does not know" in m]
        assert len(each) == len(report) == 2
    assert report == {"TrajectoryState=STATE_ODD": 2, "TrajectoryState=STATE_STRANGE": 2}
    assert len([m for m in caplog.messages if "drifted apart" in m]) == 1
    clear_drift_report()
    assert drift_report() == {}


def test_timeout_when_an_unknown_state_came_then_named_with_the_version():
    """The state that may have been the end is in the error."""
    script = [running(), user_echo(), state("STATE_NEARLY_IDLE"), wait_for("haltRequest"), idle()]
    with (
        FakeHarness(script, version=VERSION) as fake,
        fake_agent(fake) as agent,
        pytest.raises(TurnTimeoutError, match=r"STATE_NEARLY_IDLE.*made for 0\.1\.10") as caught,
    ):
        agent.chat("hi", timeout=0.5)
    assert "STATE_NEARLY_IDLE" in str(caught.value.unknown_states)
