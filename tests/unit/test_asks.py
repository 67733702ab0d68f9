"""The table of open asks."""

from __future__ import annotations

from antigravity_sync._core import asks
from antigravity_sync._core.asks import Ask, AskKind, AskTable


def ask(number: int = 1, kind: AskKind = AskKind.HOOK, name: str = "run_command") -> Ask:
    return Ask((kind.name.lower(), str(number)), kind, name)


def test_ask_when_it_is_opened_and_closed_then_it_counts_once() -> None:
    """The first answer takes it out; a second finds nothing, and it cannot come again."""
    table = AskTable()
    assert table.open(ask())
    assert not table.open(ask())
    assert len(table) == 1
    assert table.close(ask().key) == ask()
    assert table.close(ask().key) is None
    assert not table.open(ask())
    assert len(table) == 0


def test_ask_when_it_is_withdrawn_then_it_can_neither_be_answered_nor_come_again() -> None:
    """Only what the harness has dropped is withdrawn."""
    table = AskTable()
    hook, tool = ask(1), ask(1, AskKind.TOOL)
    table.open(hook)
    table.open(tool)
    assert table.withdraw(lambda each: each.kind is AskKind.TOOL) == (tool.key,)
    assert table.close(tool.key) is None
    assert not table.open(tool)
    assert table.close(hook.key) == hook


def test_asks_when_all_are_withdrawn_then_all_are_remembered() -> None:
    """A halt voids everything at once."""
    table = AskTable()
    for number in range(3):
        table.open(ask(number))
    assert table.withdraw(lambda _: True) == tuple(ask(number).key for number in range(3))
    assert len(table) == 0
    assert not any(table.open(ask(number)) for number in range(3))


def test_asks_when_the_connection_is_new_then_ids_begin_anew() -> None:
    """The same id on a new connection is another ask."""
    table = AskTable()
    table.open(ask(1))
    table.open(ask(2))
    table.close(ask(1).key)
    table.forget()
    assert len(table) == 0
    assert table.open(ask(1))
    assert table.open(ask(2))


def test_asks_when_very_many_were_closed_then_the_oldest_are_forgotten() -> None:
    """What is remembered is bounded; re-delivery comes within a handful of frames."""
    table = AskTable()
    for number in range(asks._REMEMBERED + 1):
        table.open(ask(number))
        table.close(ask(number).key)
    assert table.open(ask(0))
    assert not table.open(ask(1))


def test_describe_when_a_turn_hangs_on_them_then_each_has_a_word() -> None:
    """What kind it is, and of what, if it has a name."""
    table = AskTable()
    table.open(ask(1))
    table.open(ask(1, AskKind.QUESTIONS, ""))
    assert table.describe() == ("hook run_command", "questions")
