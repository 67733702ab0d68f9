"""Ctrl-C between any two lines of a start or a close leaves nothing."""

from __future__ import annotations

import gc
import linecache
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import antigravity_sync
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.leaks import Belongings, assert_nothing_added
from tests.loop.conftest import private_directories
from tests.loop.fakes import VERSION, fake_agent

#: A file, a line, and the how-manieth time it runs; later rounds of a loop teach nothing new.
Moment = tuple[str, int, int]
ROUNDS = 2
PACKAGE = Path(antigravity_sync.__file__).parent
TRACED = ("agent.py", "_runtime", "_transport")


class Tracer:
    """Notes the moments of a call on this thread; raises KeyboardInterrupt at one of them."""

    def __init__(self, target: Moment | None = None) -> None:
        self.moments: dict[Moment, None] = {}
        self._target = target
        self._counts: Counter[tuple[str, int]] = Counter()

    def run(self, call: Callable[[], object]) -> None:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            call()
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, _event: str, _arg: object):
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE) or path.relative_to(PACKAGE).parts[0] not in TRACED:
            return None
        return self._step

    def _step(self, frame: FrameType, event: str, _arg: object):
        if event == "line":
            line = (Path(frame.f_code.co_filename).name, frame.f_lineno)
            self._counts[line] += 1
            moment = (*line, self._counts[line])
            if moment[2] <= ROUNDS and not is_safe(frame, moment):
                self.moments[moment] = None
            if moment == self._target:
                raise KeyboardInterrupt
        return self._step


def is_safe(frame: FrameType, moment: Moment) -> bool:
    """Return whether the interpreter handles no signal there: at a `try`, and leaving a `with`."""
    source = linecache.getline(frame.f_code.co_filename, moment[1]).strip()
    return source == "try:" or (moment[2] > 1 and source.startswith("with "))


def moments_of(prepare: Callable[[], object], call: Callable[[], object]) -> list[Moment]:
    """Return the moments of a call that goes well, after one that loaded and cached everything."""
    for _ in range(2):
        prepare()
        tracer = Tracer()
        tracer.run(call)
    return list(tracer.moments)


def interrupt_at(moment: Moment, call: Callable[[], object]) -> bool:
    """Interrupt a call there; return whether it came by."""
    try:
        Tracer(moment).run(call)
    except KeyboardInterrupt:
        return True
    return False


@pytest.fixture(autouse=True)
def _dropped_sockets_are_no_leak():
    """Tolerate a socket or file that is dropped: it is closed at once, and that is what counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


#: All moments take a minute, so only every fifth is tried each time.
PARTS = 5
EVERY_PART = [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, PARTS))]


def assert_nothing_added_by(moment: Moment, before: Belongings, temporary: Path) -> None:
    try:
        assert_nothing_added(before)
    except AssertionError as error:
        raise AssertionError(f"interrupted at {moment}: {error}") from None
    assert private_directories(temporary) == [], f"interrupted at {moment}"


@pytest.mark.parametrize("part", EVERY_PART)
def test_start_when_interrupted_at_any_line_then_leaves_nothing(part, temporary):
    """Wherever in a start Ctrl-C comes, no process, thread, descriptor or directory is left."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        moments = moments_of(agent.close, agent.start)
        agent.close()
        assert len(moments) > 100
        missed = 0
        for moment in moments[part::PARTS]:
            before = Belongings.now()
            if not interrupt_at(moment, agent.start):
                missed += 1  # some waits take another way in each run
                agent.close()
            assert_nothing_added_by(moment, before, temporary)
        assert missed < 5
        with agent:
            assert agent.chat("hi").text == "ok"


@pytest.mark.parametrize("part", EVERY_PART)
def test_close_when_interrupted_at_any_line_then_the_next_close_finds_or_leaves_nothing(
    part, temporary
):
    """Wherever in a close Ctrl-C comes, nothing is left after a second one, and it starts again."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        moments = moments_of(agent.start, agent.close)
        assert len(moments) > 100
        missed = 0
        for moment in moments[part::PARTS]:
            before = Belongings.now()
            agent.start()
            missed += not interrupt_at(moment, agent.close)
            assert agent.close().leftovers == (), f"interrupted at {moment}"
            assert_nothing_added_by(moment, before, temporary)
        assert missed < 5
        with agent:
            assert agent.chat("hi").text == "ok"
