"""Which thread runs a tool, and what that thread sees, may do and may not do."""

from __future__ import annotations

import contextlib
import contextvars
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Iterator

import django
import flask
import pytest
from django.conf import settings
from django.db import connection as django_connection
from django.utils import translation

from antigravity_sync import Agent, ToolContext, tool
from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._runtime.workers import Workers
from antigravity_sync.errors import ReentrantCallError
from antigravity_sync.events import TextDelta, ToolCallDispatched, ToolCallFinished
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    custom_tool,
    delta,
    done,
    idle,
    running,
    tool_call,
    user_echo,
    wait_for,
)
from tests.gates import CEILING, Gate, History, Task, wait_until

VERSION = "0.1.10"
END = [delta("done"), done(), idle()]
HELLO = [running(), user_echo(), delta("hello"), done(), idle()]


def calling(*names: str) -> list[object]:
    """Return a turn that calls tools one after the other."""
    calls = [custom_tool(name, call_id=f"call-{name}") for name in names]
    return [running(), user_echo(), *(item for one in calls for item in one), *END]


def calling_at_once(*names: str) -> list[object]:
    """Return a turn that calls tools without waiting for one before the next."""
    calls = [tool_call(name, call_id=f"call-{name}") for name in names]
    return [running(), user_echo(), *calls, *[wait_for("toolResponse")] * len(names), *END]


@contextlib.contextmanager
def agent_on(fake: FakeHarness, *tools: object, **options: object) -> Iterator[Agent]:
    defaults = {"harness_path": fake.path, "api_key": "x", "workspaces": [], "tools": tools}
    with Agent(**{**defaults, **options}) as agent:
        yield agent


def answers(fake: FakeHarness) -> list[str]:
    """Return what the model was told of its calls, as text."""
    return [str(one["toolResponse"]) for one in fake.received if "toolResponse" in one]


def run_tool(function: Callable[..., object], **options: object) -> str:
    """Have a tool called in a turn of its own by this thread; return what the model was told."""
    name = function.__name__
    with (
        FakeHarness(calling(name), version=VERSION) as fake,
        agent_on(fake, function, **options) as agent,
    ):
        assert agent.chat("go").text == "done"
        (answer,) = answers(fake)
    return answer


# ── on the caller's thread ──────────────────────────────────────────────────────────────────────


def test_a_tool_uses_the_callers_sqlite_connection():
    """It refuses any other thread."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:

        def stock() -> int:
            """Count."""
            return connection.execute("select 41 + 1").fetchone()[0]

        assert "42" in run_tool(stock)
        assert "ProgrammingError" in run_tool(stock, tool_workers=1)


def test_a_tool_sees_the_callers_thread_locals_and_context_variables():
    """And what it sets itself is still there after the turn."""
    local = threading.local()
    local.user = "mine"
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("also mine")
    seen = []

    def look() -> str:
        """Look."""
        seen.append((threading.get_ident(), local.user, variable.get()))
        variable.set("set by the tool")
        return "seen"

    run_tool(look)
    assert seen == [(threading.get_ident(), "mine", "also mine")]
    assert variable.get() == "set by the tool"


def test_a_worker_sees_a_copy_of_the_context_variables_and_no_thread_locals():
    """What it sets stays in the copy."""
    local = threading.local()
    local.user = "mine"
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("also mine")
    seen = []

    @tool(worker=True)
    def look() -> str:
        """Look."""
        seen.append((getattr(local, "user", None), variable.get()))
        variable.set("set by the tool")
        return "seen"

    run_tool(look)
    assert seen == [(None, "also mine")]
    assert variable.get() == "also mine"


@pytest.mark.parametrize("workers", [0, 1])
def test_a_tool_sees_flasks_contexts(workers):
    """They are context variables, so workers see them too."""
    app = flask.Flask("shop")

    def look() -> str:
        """Look."""
        return f"{flask.current_app.name} {flask.g.user} {flask.request.path}"

    with app.test_request_context("/cart"):
        flask.g.user = "buyer"
        assert "shop buyer /cart" in run_tool(look, tool_workers=workers)


@pytest.fixture(scope="module")
def _django() -> None:
    if not settings.configured:
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        settings.configure(DATABASES={"default": database}, USE_I18N=True)
        django.setup()


@pytest.mark.usefixtures("_django")
def test_a_tool_sees_djangos_connection_and_language():
    """The connection is the caller's own, with the table in its memory."""

    def look() -> str:
        """Look."""
        with django_connection.cursor() as cursor:
            cursor.execute("select name from carts")
            return f"{cursor.fetchone()[0]} in {translation.get_language()}"

    try:
        with django_connection.cursor() as cursor:
            cursor.execute("create table carts (name text)")
            cursor.execute("insert into carts values ('full')")
        with translation.override("de"):
            assert "full in de" in run_tool(look)
    finally:
        # Django keeps databases in memory open in `close`.
        django_connection.connection.close()
        django_connection.connection = None


def test_an_exception_of_a_tool_is_one_error_answer():
    """On either thread, with the exception's name and text."""

    def fail() -> str:
        """Fail."""
        raise LookupError("no such row")

    for workers in (0, 1):
        assert "LookupError: no such row" in run_tool(fail, tool_workers=workers)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_on_the_callers_thread_halts_the_turn_and_goes_up(kind):
    """The call gets no answer, and the agent is usable afterwards."""

    def interrupt() -> str:
        """Interrupt."""
        raise kind

    with (
        FakeHarness(calling("interrupt"), HELLO, version=VERSION) as fake,
        agent_on(fake, interrupt) as agent,
    ):
        with pytest.raises(kind):
            agent.chat("go")
        assert agent.chat("again").text == "hello"
        assert answers(fake) == []
        assert fake.events.count("message:haltRequest") == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_on_a_worker_is_an_error_answer(kind):
    """There it is nobody's."""

    @tool(worker=True)
    def interrupt() -> str:
        """Interrupt."""
        raise kind

    assert kind.__name__ in run_tool(interrupt)


# ── on workers ──────────────────────────────────────────────────────────────────────────────────


def test_tool_workers_run_calls_side_by_side_on_named_threads():
    """Both must be there before either goes on."""
    barrier = threading.Barrier(2)
    names = set()

    def meet() -> str:
        barrier.wait(CEILING)
        names.add(threading.current_thread().name)
        return "met"

    one = tool(name="one", description="Meet.")(lambda: meet())
    two = tool(name="two", description="Meet.")(lambda: meet())
    with (
        FakeHarness(calling_at_once("one", "two"), version=VERSION) as fake,
        agent_on(fake, one, two, tool_workers=2) as agent,
    ):
        assert agent.chat("go").text == "done"
        assert ["met" in answer for answer in answers(fake)] == [True, True]
    assert {name.rpartition("-tool-")[2] for name in names} == {"1", "2"}


def test_an_exclusive_tool_runs_alone():
    """The others wait until it has left."""
    gate = Gate()
    history = History()

    @tool(exclusive=True)
    def alone() -> str:
        """Be alone."""
        history.add("alone in")
        gate.pass_through()
        history.add("alone out")
        return "left"

    def other() -> str:
        """Be there."""
        history.add("other")
        return "was there"

    with (
        FakeHarness(calling_at_once("alone", "other"), version=VERSION) as fake,
        agent_on(fake, alone, other, tool_workers=2) as agent,
    ):
        turn = agent.stream("go")
        gate.wait_arrived()
        dispatched = (event for event in turn if isinstance(event, ToolCallDispatched))
        assert {next(dispatched).name, next(dispatched).name} == {"alone", "other"}
        assert history.entries == ("alone in",)
        gate.open()
        assert turn.response().text == "done"
    assert history.entries == ("alone in", "alone out", "other")


def test_an_exclusive_tool_waits_for_those_that_run_already():
    """It has a thread of its own, and stands still on it until the last of them has left."""
    gates = {"one": Gate(), "two": Gate()}
    history = History()

    def stay(name: str) -> str:
        history.add(f"{name} in")
        gates[name].pass_through()
        history.add(f"{name} out")
        return "left"

    one = tool(name="one", description="Be there.")(lambda: stay("one"))
    two = tool(name="two", description="Be there.")(lambda: stay("two"))

    @tool(exclusive=True)
    def alone() -> str:
        """Be alone."""
        history.add("alone")
        return "was alone"

    def has_decided() -> bool:
        """Return whether the third worker waits for the others, or does not."""
        return "alone" in history.entries or "enter" in stack_of(f"{agent._engine.label}-tool-3")

    with (
        FakeHarness(calling_at_once("one", "two", "alone"), version=VERSION) as fake,
        agent_on(fake, one, two, alone, tool_workers=3) as agent,
    ):
        chat = Task(lambda: agent.chat("go"))
        for gate in gates.values():
            gate.wait_arrived()
        wait_until(has_decided, "a place at the turnstile")
        gates["one"].open()
        history.wait_for("one out")
        wait_until(has_decided, "a place at the turnstile")
        assert "alone" not in history.entries
        gates["two"].open()
        assert chat.result().text == "done"
    assert history.entries[-3:] == ("one out", "two out", "alone")


def stack_of(name: str) -> tuple[str, ...]:
    """Return the functions that a thread is in, `()` if there is no such thread."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        if thread.name == name and thread.ident in frames:
            stack = traceback.extract_stack(frames[thread.ident])
            return tuple(frame.name for frame in stack)
    return ()


def test_the_model_is_answered_at_the_deadline_and_the_stuck_worker_is_replaced():
    """With one worker, the tool that is called next must not wait for the one that hangs."""
    gate = Gate()
    contexts = []

    @tool(timeout=0.3)
    def hang(ctx: ToolContext) -> str:
        """Hang."""
        contexts.append(ctx)
        gate.pass_through()
        return "late"

    def quick() -> str:
        """Be quick."""
        return "in time"

    with (
        FakeHarness(calling("hang", "quick"), version=VERSION) as fake,
        agent_on(fake, hang, quick, tool_workers=1) as agent,
    ):
        assert agent.chat("go").text == "done"
        first, second = answers(fake)
        assert contexts[0].cancelled.is_set()
        gate.open()
    assert "did not answer within 0.3 s" in first
    assert "in time" in second


def test_stuck_workers_are_replaced_up_to_a_bound():
    """Eight more than there may be; what comes then waits until one is free again."""
    workers = Workers("bounded", 1)
    gates = [Gate() for _ in range(9)]
    for gate in gates:
        workers.submit(gate.pass_through, contextvars.copy_context())
        gate.wait_arrived()
        workers.replace()
    ran = threading.Event()
    workers.submit(ran.set, contextvars.copy_context())
    names = [thread.name for thread in threading.enumerate()]
    assert sorted(name for name in names if name.startswith("bounded-")) == [
        f"bounded-{number}" for number in range(1, 10)
    ]
    assert not ran.is_set()
    gates[4].open()
    assert ran.wait(CEILING)
    for gate in gates:
        gate.open()
    assert workers.close(Deadline.after(MonotonicClock(), CEILING)) == ()


def test_close_names_the_worker_that_does_not_end():
    """A tool that hangs beyond the close is a daemon's matter, and the report says which."""
    workers = Workers("held", 1)
    gate, queued = Gate(), threading.Event()
    workers.submit(gate.pass_through, contextvars.copy_context())
    gate.wait_arrived()
    workers.submit(queued.set, contextvars.copy_context())
    assert workers.close(Deadline.after(MonotonicClock(), 0.0)) == ("held-1",)
    workers.submit(queued.set, contextvars.copy_context())
    gate.open()
    assert workers.close(Deadline.after(MonotonicClock(), CEILING)) == ()
    assert not queued.is_set()


# ── re-entry ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [0, 1])
def test_a_tool_may_ask_another_agent_and_not_its_own(workers):
    """Its own refuses at once, and the model hears so."""
    agents: dict[str, Agent] = {}
    caught = []

    def ask() -> str:
        """Ask."""
        try:
            agents["own"].chat("me")
        except ReentrantCallError as error:
            caught.append(error)
        return agents["other"].chat("you").text

    with (
        FakeHarness(calling("ask"), version=VERSION) as fake,
        FakeHarness(HELLO, version=VERSION) as second,
        agent_on(fake, ask, tool_workers=workers) as own,
        agent_on(second) as other,
    ):
        agents.update(own=own, other=other)
        assert own.chat("go").text == "done"
        (answer,) = answers(fake)
    agents.clear()
    assert len(caught) == 1
    assert "hello" in answer


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loop_over_two_agents_fails_fast(workers):
    """A's tool asks B, whose tool asks A: that one is refused, and both turns end."""
    agents: dict[str, Agent] = {}

    def ask_b() -> str:
        """Ask."""
        return agents["b"].chat("from a").text

    def ask_a() -> str:
        """Ask."""
        return agents["a"].chat("from b").text

    with (
        FakeHarness(calling("ask_b"), version=VERSION) as one,
        FakeHarness(calling("ask_a"), version=VERSION) as two,
        agent_on(one, ask_b, tool_workers=workers) as a,
        agent_on(two, ask_a, tool_workers=workers) as b,
    ):
        agents.update(a=a, b=b)
        assert a.chat("go").text == "done"
        assert "ReentrantCallError" in answers(two)[0]
        assert "ReentrantCallError" not in answers(one)[0]
    agents.clear()


# ── cancelling and parking ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", [0, 1])
def test_a_running_tool_is_told_that_its_turn_was_cancelled(workers):
    """It waits on its context; another thread cancels."""
    gate = Gate()
    gate.open()
    told = threading.Event()

    def wait(ctx: ToolContext) -> str:
        """Wait."""
        gate.pass_through()
        if ctx.cancelled.wait(CEILING):
            told.set()
        return "too late"

    with (
        FakeHarness(calling("wait"), HELLO, version=VERSION) as fake,
        agent_on(fake, wait, tool_workers=workers) as agent,
    ):
        chat = Task(lambda: agent.chat("go"))
        gate.wait_arrived()
        assert agent.cancel()
        assert chat.result().cancelled
        assert told.wait(CEILING)
        assert agent.chat("again").text == "hello"
        assert answers(fake) == []


def test_an_unread_stream_parks_its_tool_until_the_caller_reads():
    """The tool runs in the read that follows its dispatch, before anything later is yielded."""
    seen: list[str] = []

    def count() -> int:
        """Count."""
        seen.append("ran")
        return 7

    with FakeHarness(calling("count"), version=VERSION) as fake, agent_on(fake, count) as agent:
        turn = agent.stream("go")
        fake.wait_for("userInput")
        assert seen == []
        for event in turn:
            if isinstance(event, ToolCallDispatched):
                assert seen == []
                assert answers(fake) == []
            if isinstance(event, ToolCallDispatched | ToolCallFinished | TextDelta):
                seen.append(type(event).__name__)
        assert turn.response().text == "done"
    assert seen == ["ToolCallDispatched", "ran", "ToolCallFinished", "TextDelta"]
