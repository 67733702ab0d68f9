"""The count of what the harness said that this SDK does not know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from antigravity_sync._wire import drift
from tests.gates import Task


@pytest.fixture(autouse=True)
def _own_report() -> Iterator[None]:
    """Start and leave the process-wide count empty."""
    drift.clear_drift_report()
    yield
    drift.clear_drift_report()


def test_drift_when_nothing_was_seen_then_the_report_is_empty() -> None:
    """An empty report is healthy."""
    assert drift.drift_report() == {}


def test_drift_when_a_name_is_seen_again_then_it_is_counted_and_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One warning for each name, however often it comes."""
    for _ in range(3):
        drift.note("TrajectoryState", "STATE_FOO")
    drift.note("StepState", "STATE_FOO")
    assert drift.drift_report() == {"TrajectoryState=STATE_FOO": 3, "StepState=STATE_FOO": 1}
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [
        "TrajectoryState=STATE_FOO",
        "StepState=STATE_FOO",
    ]
    assert {record.name for record in caplog.records} == {"antigravity_sync.wire"}


def test_report_when_it_is_changed_then_the_count_is_not() -> None:
    """Callers get a copy."""
    drift.note("Kind", "x")
    drift.drift_report().clear()
    assert drift.drift_report() == {"Kind=x": 1}


def test_drift_when_a_name_is_huge_then_only_its_start_is_kept() -> None:
    """Junk does not fill the memory."""
    drift.note("Kind", "x" * 1_000_000)
    (name,) = drift.drift_report()
    assert len(name) < 300


def test_summary_when_something_was_seen_then_it_is_logged_once_and_again_with_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line for all sightings, and none that says what was said before."""
    drift.log_summary()
    assert caplog.messages == []
    drift.note("Kind", "b")
    drift.note("Kind", "a")
    drift.note("Kind", "a")
    caplog.clear()
    for _ in range(2):
        drift.log_summary()
    (told,) = caplog.messages
    assert told.endswith(": Kind=a (2×), Kind=b (1×)")
    drift.note("Kind", "a")
    drift.log_summary()
    assert "Kind=a (3×)" in caplog.messages[-1]


def test_drift_when_many_threads_count_then_no_sighting_is_lost() -> None:
    """Every session of a process counts into the one report."""

    def count() -> None:
        for _ in range(500):
            drift.note("Kind", "x")

    for task in [Task(count) for _ in range(4)]:
        task.result()
    assert drift.drift_report() == {"Kind=x": 2000}
