"""Token counts, whichever way the version reports them."""

from __future__ import annotations

from antigravity_sync._core.usage import UsageBook
from antigravity_sync._messages import UsageFrame
from antigravity_sync.responses import Usage


def tokens(total: int) -> Usage:
    return Usage(total_tokens=total)


def test_usage_when_nothing_was_reported_then_that_is_not_zero() -> None:
    """Not reported is not nothing used."""
    book = UsageBook()
    assert (book.total, book.is_fresh, book.begin_turn()) == (None, False, Usage())


def test_usage_when_reports_are_cumulative_then_the_last_one_stands() -> None:
    """Since 0.1.10 each report is the conversation's total, per trajectory too."""
    book = UsageBook()
    book.take(UsageFrame(tokens(15), {"main": tokens(15)}))
    book.take(UsageFrame(tokens(40), {"main": tokens(30), "sub": tokens(10)}))
    assert book.total == tokens(40)
    assert book.by_trajectory == {"main": tokens(30), "sub": tokens(10)}


def test_usage_when_reports_are_per_call_then_they_are_added_up() -> None:
    """Up to 0.1.9 each report is one model call's."""
    book = UsageBook()
    for who in ("main", "main", "sub"):
        book.take(UsageFrame(tokens(15), {who: tokens(15)}, is_cumulative=False))
    assert book.total == tokens(45)
    assert book.by_trajectory == {"main": tokens(30), "sub": tokens(15)}


def test_usage_when_a_turn_begins_then_it_has_the_totals_before_and_nothing_new() -> None:
    """Whether anything was reported since is known."""
    book = UsageBook()
    book.take(UsageFrame(tokens(15)))
    assert book.is_fresh
    assert book.begin_turn() == tokens(15)
    assert not book.is_fresh


def test_usage_when_a_report_says_nothing_then_what_was_known_stands() -> None:
    """An unreadable total does not make the conversation forget."""
    book = UsageBook()
    book.take(UsageFrame(tokens(15)))
    book.take(UsageFrame(Usage()))
    assert book.total == tokens(15)
