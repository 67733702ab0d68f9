"""A local connection that is forgotten, that cannot be made, or that two threads use at once."""

from __future__ import annotations

import pytest

from antigravity_sync import AgentConfig
from antigravity_sync.connections import LocalConnectionStrategy
from antigravity_sync.errors import (
    AgentBusyError,
    ConcurrentIterationError,
    HandshakeError,
    StartTimeoutError,
)
from antigravity_sync.testing import FakeHarness
from antigravity_sync.testing.fake_harness import delta, running, user_echo, wait_for_signal
from tests.gates import Task, wait_until
from tests.leaks import state
from tests.loop.fakes import VERSION, interrupted_when

STUCK = [running(), user_echo(), delta("x"), wait_for_signal("never")]


def strategy(fake: FakeHarness, **options: object) -> LocalConnectionStrategy:
    return LocalConnectionStrategy(AgentConfig(harness_path=fake.path, api_key="key", **options))


def test_connection_when_dropped_then_warns_and_ends_the_process():
    """What was forgotten is told, and nothing of it stays."""
    with FakeHarness(STUCK, version=VERSION) as fake:
        connection = strategy(fake).connect()
        connection.send("hi")
        next(connection.receive_steps())
        with pytest.warns(ResourceWarning, match="without disconnect"):
            del connection
        wait_until(lambda: state(fake.pid) == "gone", "its end")


def test_connect_when_no_websocket_comes_up_then_gives_up_after_five():
    """The process is killed; the error carries how often, where, and the harness's words."""
    words = b"E1202 no room at the inn\n"
    with FakeHarness(version=VERSION, drop_connects=1000, stderr_before_handshake=words) as fake:
        with pytest.raises(HandshakeError, match="5 tries") as caught:
            strategy(fake).connect()
        assert fake.events.count("accepted") == caught.value.attempts == 5
        assert f":{caught.value.port} " in str(caught.value)
        assert "no room at the inn" in caught.value.stderr_tail
        assert state(fake.pid) == "gone"


def test_connect_when_the_harness_is_silent_then_the_time_is_up():
    """The error says how much time there was."""
    with FakeHarness(version=VERSION, no_init_response=True) as fake:
        with pytest.raises(StartTimeoutError) as caught:
            strategy(fake, start_timeout=0.5).connect()
        assert caught.value.timeout == 0.5
        assert state(fake.pid) == "gone"


def test_connect_when_interrupted_then_leaves_nothing():
    """Ctrl-C goes up, and the process is gone."""
    with FakeHarness(version=VERSION, no_init_response=True) as fake:
        with (
            pytest.raises(KeyboardInterrupt),
            interrupted_when(lambda: fake.wait_for_event("accepted")),
        ):
            strategy(fake).connect()
        assert state(fake.pid) == "gone"


def test_connection_when_used_by_two_threads_then_the_second_is_told():
    """One reads; a second reader and a second sender hear at once that they may not."""
    with FakeHarness(STUCK, version=VERSION) as fake, strategy(fake).connect() as connection:
        connection.send("hi")
        steps = connection.receive_steps()
        while "x" not in next(steps).text:
            pass
        reader = Task(lambda: list(steps))
        wait_until(connection._direct._reading.locked, "the reader")
        with pytest.raises(ConcurrentIterationError):
            next(connection.receive_steps())
        with pytest.raises(AgentBusyError):
            connection.send("me too")
        connection.send_halt_request()
        reader.result()
