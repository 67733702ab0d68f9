"""One contract for every connection: local and remote on the real harness, mock, a user's own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from antigravity_sync import AgentConfig, Harness, Step
from antigravity_sync.connections import (
    Connection,
    ConnectionStrategy,
    Conversation,
    LocalConnectionStrategy,
    MockConnection,
    RemoteConnectionStrategy,
    Text,
)
from antigravity_sync.errors import AgentClosedError, ConfigError, UsageError
from antigravity_sync.testing import ModelGate, ScriptedModel, always, chunks
from tests.gates import Task
from tests.versions import VERSIONS, harness_path


def text_step(index: int, text: str, state: str = "DONE", source: str = "MODEL") -> Step:
    target = "USER" if source == "MODEL" else "MODEL"
    return Step(index, "main", True, source, target, state, text=text)


class Parrot(Connection):
    """What a user might write: it answers by itself, one growing step per prompt."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._steps: list[Step | None] = []
        self._index = -1
        self._is_idle = True
        self._is_closed = False
        self.answer = ""

    @property
    def conversation_id(self) -> str:
        return "parrot"

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def receive_steps(self) -> Iterator[Step]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._steps or self._is_idle)
                if not self._steps:
                    return
                step = self._steps.pop(0)
                if step is None:
                    self._is_idle = True
                    return
            yield step

    def send(self, content: object) -> None:
        self._begin(text_step(self._index + 1, str(content), source="USER"))

    def send_trigger_notification(self, text: str) -> None:
        self._begin(text_step(self._index + 1, text, source="SYSTEM"))

    def _begin(self, first: Step) -> None:
        if self._is_closed:
            raise AgentClosedError("it has flown")
        with self._changed:
            self._is_idle = False
            self._index += 2
            half, whole = self.answer[:4], self.answer
            last = text_step(self._index, whole)
            self._steps = [first, text_step(self._index, half, "ACTIVE"), last, None]
            self._changed.notify_all()

    def send_halt_request(self) -> None:
        with self._changed:
            self._steps = []
            self._is_idle = True
            self._changed.notify_all()

    def send_tool_confirmation(self, trajectory_id: str, step_index: int, accepted: bool) -> None:
        raise ConfigError("a parrot asks nothing")

    def send_tool_response(self, call_id: str, result: object) -> None:
        raise ConfigError("a parrot asks nothing")

    def send_question_response(self, trajectory_id: str, step_index: int, answers: object) -> None:
        raise ConfigError("a parrot asks nothing")

    def disconnect(self) -> None:
        self._is_closed = self._is_idle = True


class ParrotStrategy(ConnectionStrategy):
    """A strategy of a user's own."""

    def connect(self) -> Parrot:
        return Parrot()


@attrs.define
class Peer:
    """A connection, and what stands at its other end.

    Attributes:
        connection: The connection.
        prepare: Sets what is answered next, in two pieces of which the first has four letters.
        let_go: Lets the second piece go, where something holds it.
    """

    connection: Connection
    prepare: Callable[[str], None]
    let_go: Callable[[], object] = lambda: None


def mock_peer() -> Peer:
    mock = MockConnection("mock")

    def prepare(answer: str) -> None:
        index = 2 * len(mock.sent_prompts + mock.sent_triggers)
        mock.steps_to_yield = [
            text_step(index, "", source="USER"),
            text_step(index + 1, answer[:4], "ACTIVE"),
            text_step(index + 1, answer),
        ]

    return Peer(mock, prepare)


def parrot_peer() -> Peer:
    parrot = ParrotStrategy().connect()
    return Peer(parrot, lambda answer: setattr(parrot, "answer", answer))


def local_peer(version: str, place: Path, model: ScriptedModel, gate: ModelGate, say: list) -> Peer:
    config = AgentConfig(
        harness_path=harness_path(version),
        workspaces=[place],
        env={"HOME": str(place)},
        **model.agent_options(),
    )
    return Peer(LocalConnectionStrategy(config).connect(), say.append, gate.release)


def remote_peer(harness: Harness, model: ScriptedModel, gate: ModelGate, say: list) -> Peer:
    config = AgentConfig(contain_workspaces=False, **model.agent_options())
    server = harness.serve()
    where = {"host": server.host, "port": server.port, "key": server.token}
    return Peer(RemoteConnectionStrategy(config, **where).connect(), say.append, gate.release)


REMOTE = [f"remote {version}" for version in VERSIONS]


@pytest.fixture(params=["mock", "own", *VERSIONS, *REMOTE])
def peer(request: pytest.FixtureRequest, tmp_path: Path, _leaves_nothing: None) -> Iterator[Peer]:
    """Give a connection of each kind; local and remote ones on each version of the harness."""
    if request.param == "mock":
        yield mock_peer()
    elif request.param == "own":
        yield parrot_peer()
    else:
        gate = ModelGate()
        say: list[str] = []

        def answer(_: object) -> object:
            text = say[-1]
            return chunks(text[:4], gate, text[4:])

        where, _, version = request.param.rpartition(" ")
        with ScriptedModel(always(answer)) as model, contextlib.ExitStack() as stack:
            if where:
                harness = Harness(harness_path=harness_path(version), env={"HOME": str(tmp_path)})
                made = remote_peer(stack.enter_context(harness), model, gate, say)
            else:
                made = local_peer(version, tmp_path, model, gate, say)
            yield made
            made.connection.disconnect()


def said(steps: list[Step]) -> list[str]:
    """Return the model's texts in their last form."""
    last = {step.index: step.text for step in steps if step.source == "MODEL"}
    return list(last.values())


def until_begun(steps: Iterator[Step], text: str) -> None:
    """Read until the model has said the beginning of a text, and no more."""
    for step in steps:
        if step.source == "MODEL" and step.text:
            assert text.startswith(step.text)
            return
    raise AssertionError("the steps ended before the answer began")


def test_connection_when_two_prompts_are_sent_then_each_has_its_steps(peer: Peer) -> None:
    """Idle before, busy during, idle after; the iterator ends by itself, and has nothing more."""
    connection = peer.connection
    assert connection.conversation_id
    assert connection.conversation_id in repr(connection)
    assert connection.is_idle
    assert list(connection.receive_steps()) == []
    for prompt, answer in (("first", "one and more"), ("second", "two and more")):
        peer.prepare(answer)
        connection.send(prompt)
        assert not connection.is_idle
        peer.let_go()
        steps = list(connection.receive_steps())
        assert said(steps) == [answer]
        assert all(step.is_main for step in steps)
        assert connection.is_idle
        assert list(connection.receive_steps()) == []


def test_connection_when_halted_from_another_thread_then_the_steps_end(peer: Peer) -> None:
    """What was cut off never comes, and the next prompt begins a clean turn."""
    connection = peer.connection
    connection.send_halt_request()  # harmless when idle
    peer.prepare("never to be said")
    connection.send("go")
    steps = connection.receive_steps()
    until_begun(steps, "never to be said")
    Task(connection.send_halt_request).result()
    assert "never to be said" not in said(list(steps))
    assert connection.is_idle
    peer.prepare("well then")
    connection.send("again")
    peer.let_go()
    peer.let_go()  # the first may go to the answer that was halted, if the model has not noticed
    assert said(list(connection.receive_steps())) == ["well then"]


def test_connection_when_a_loop_is_left_then_another_goes_on(peer: Peer) -> None:
    """Leaving the loop halts nothing."""
    peer.prepare("one and more")
    peer.connection.send("go")
    for _ in peer.connection.receive_steps():
        break
    peer.let_go()
    assert said(list(peer.connection.receive_steps())) == ["one and more"]


def test_connection_when_a_trigger_is_sent_then_it_begins_a_turn(peer: Peer) -> None:
    """Its steps are read like those of a prompt, which older harnesses want first."""
    connection = peer.connection
    peer.prepare("hello you")
    connection.send("hi")
    peer.let_go()
    list(connection.receive_steps())
    peer.prepare("too hot here")
    connection.send_trigger_notification("34 degrees")
    assert not connection.is_idle
    peer.let_go()
    assert said(list(connection.receive_steps())) == ["too hot here"]


def test_connection_when_disconnected_then_nothing_can_be_sent(peer: Peer) -> None:
    """A second time is harmless."""
    peer.connection.disconnect()
    peer.connection.disconnect()
    assert peer.connection.is_idle
    with pytest.raises(UsageError):
        peer.connection.send("too late")


def test_conversation_when_it_runs_on_any_connection_then_it_adds_up(peer: Peer) -> None:
    """Pieces as they come, one entry of history for each step, and the newest of them kept."""
    conversation = Conversation(peer.connection, 3)
    assert (conversation.turn_count, conversation.last_response) == (0, "")
    for answer in ("one and more", "two and more"):
        peer.prepare(answer)
        pieces = conversation.chat("go")
        assert next(pieces) == Text(answer[:4])
        peer.let_go()
        assert "".join(piece.text for piece in pieces if isinstance(piece, Text)) == answer[4:]
        assert conversation.last_response == answer
    assert conversation.turn_count == 2
    texts = [step.text for step in conversation.history]
    assert len(texts) == 3
    assert texts[0] == "one and more"
    assert texts[2] == "two and more"
    conversation.disconnect()
    with pytest.raises(UsageError):
        conversation.chat("too late")
