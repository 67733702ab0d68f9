"""Ids of conversations, their aliases, and the lock that keeps a second agent out."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._runtime.filelock import FileLock
from antigravity_sync._runtime.plan import Directories, Wanted
from antigravity_sync._runtime.store import Store, wire_id
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.render import Conversation
from antigravity_sync.errors import (
    ConfigError,
    ConversationExistsError,
    ConversationNotFoundError,
    InitError,
)

OLD, NEW = Dialect("0.1.6"), Dialect("0.1.7")
CHOSEN = "a" * 32


def at_once() -> Deadline:
    return Deadline.after(MonotonicClock(), 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Directories:
    return Directories(str(tmp_path), str(tmp_path / "app_data"))


def claimed(place: Directories, name: str = "bob", resume: str = "auto") -> Store:
    store = Store(place, Wanted(name, resume))
    try:
        store.claim(at_once())
    except BaseException:
        store.release()
        raise
    return store


def begun(place: Directories, name: str) -> Path:
    """Put a conversation there, as a harness would."""
    path = Path(place.storage) / f"{wire_id(name)}.db"
    path.write_bytes(b"SQLite format 3\0")
    return path


# ── ids ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("legal", ["a" * 32, "A-" * 122, "0b2f1c9e-7d5a-4c0e-9b1a-2f6f0a9d3c11"])
def test_wire_id_when_a_harness_takes_it_then_itself(legal: str) -> None:
    """So an id that a harness chose, or another client, is found again."""
    assert wire_id(legal) == legal
    assert wire_id(wire_id("bob")) == wire_id("bob")


OTHERS = [
    "bob",
    "a" * 31,
    "a" * 245,
    "a" * 5000,
    "../" + "a" * 40,
    "a" * 32 + "\n",
    "日本",
    " ",
    "\0",
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda text: f"{text:.12}({len(text)})")
def test_wire_id_when_a_harness_would_refuse_it_then_a_hash_that_it_takes(other: str) -> None:
    """Any other string is mapped to a name of 64 plain characters, always the same."""
    mapped = wire_id(other)
    assert mapped == wire_id(other)
    assert len(mapped) == 64
    assert mapped.isalnum()


def test_wire_id_when_ids_differ_then_so_do_the_wire_ids() -> None:
    """No two of these are taken for each other."""
    ids = [*OTHERS, "Bob", "bob ", "b", "ob", "a" * 32]
    assert len({wire_id(one) for one in ids}) == len(ids)


# ── what is opened ──────────────────────────────────────────────────────────────────────────────


def test_first_when_nothing_is_wanted_then_a_new_one_and_no_lock(place: Directories) -> None:
    """A new conversation has no id yet, and nobody can know it."""
    store = claimed(place, "")
    assert store.first(NEW) == store.first(OLD) == Conversation("", "CREATE_ONLY")
    assert os.listdir(place.storage) == []


def test_first_when_it_is_not_there_then_made_under_its_id_where_one_can_be_given(
    place: Directories,
) -> None:
    """Up to 0.1.6 a harness chooses the id."""
    store = claimed(place)
    assert store.first(NEW) == Conversation(wire_id("bob"), "CREATE_OR_RESUME")
    assert store.first(OLD) == Conversation()
    store.release()
    store = claimed(place, resume="never")
    assert store.first(NEW) == Conversation(wire_id("bob"), "CREATE_ONLY")
    store.release()


def test_first_when_it_is_there_then_resumed_on_every_version(place: Directories) -> None:
    """The mode that would begin it in silence is not used for what is there."""
    begun(place, "bob")
    for resume in ("auto", "must"):
        store = claimed(place, resume=resume)
        assert store.first(NEW) == store.first(OLD) == Conversation(wire_id("bob"), "RESUME")
        store.release()


def test_claim_when_it_must_not_be_there_or_must_then_told_before_a_start(
    place: Directories,
) -> None:
    """The errors name the conversation and say what to do."""
    with pytest.raises(ConversationNotFoundError, match=r"'bob' in .*check save_dir"):
        claimed(place, resume="must")
    begun(place, "bob")
    with pytest.raises(ConversationExistsError, match="'bob' exists already"):
        claimed(place, resume="never")


@pytest.mark.parametrize("damage", ["empty", "directory"])
def test_claim_when_its_file_is_damaged_then_no_start_that_would_forget_it(
    place: Directories, damage: str
) -> None:
    """A harness takes an empty file for a conversation in which nothing was said."""
    path = begun(place, "bob")
    path.unlink()
    path.mkdir() if damage == "directory" else path.touch()
    with pytest.raises(InitError, match="damaged"):
        claimed(place)


# ── aliases ─────────────────────────────────────────────────────────────────────────────────────


def test_alias_when_a_harness_chose_the_id_then_found_by_either(place: Directories) -> None:
    """Your id leads to the harness's from then on, also on a version that could be given one."""
    store = claimed(place)
    store.opened(CHOSEN, at_once())
    assert store.wanted_again() == Wanted("bob", "must", CHOSEN)
    store.release()
    begun(place, CHOSEN)
    for name in ("bob", CHOSEN):
        store = claimed(place, name, "must")
        assert store.first(NEW) == Conversation(CHOSEN, "RESUME")
        store.release()
    (alias,) = Path(place.storage).glob("*.alias")
    assert json.loads(alias.read_text("utf-8")) == {"conversation_id": "bob", "wire_id": CHOSEN}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"wire_id": "../x"}', '{"wire_id": 5}'])
def test_alias_when_damaged_then_said_so(place: Directories, text: str) -> None:
    """A damaged alias does not begin another conversation in silence."""
    (Path(place.storage) / f"{wire_id('bob')}.alias").write_text(text)
    with pytest.raises(InitError, match=r"\.alias is damaged"):
        claimed(place)


def test_alias_when_it_cannot_be_written_then_a_config_error(place: Directories) -> None:
    """A conversation that could not be found again is not begun."""
    store = claimed(place)
    (Path(place.storage) / f"{wire_id('bob')}.alias.tmp").mkdir()
    with pytest.raises(ConfigError, match="cannot be noted"):
        store.opened(CHOSEN, at_once())
    store.release()


def test_store_when_the_directory_is_private_then_nothing_is_left_in_it(tmp_path: Path) -> None:
    """What nobody else can know needs no lock, and is not gone on with."""
    store = Store(Directories(str(tmp_path), str(tmp_path), str(tmp_path)), Wanted())
    store.claim(at_once())
    store.opened(CHOSEN, at_once())
    assert store.wanted_again() is None
    assert os.listdir(tmp_path) == []


# ── the lock ────────────────────────────────────────────────────────────────────────────────────


def test_lock_when_held_then_nobody_else_has_it_and_its_words_can_be_read(tmp_path: Path) -> None:
    """It is free again, and its file gone, as soon as it is released; any number of times."""
    path = str(tmp_path / "lock")
    mine, other = FileLock(path), FileLock(path)
    assert mine.take()
    mine.write("7 8 9")
    assert not other.take()
    assert other.read() == "7 8 9"
    other.release()
    assert not FileLock(path).take()
    mine.release()
    mine.release()
    assert os.listdir(tmp_path) == []
    assert FileLock(path).read() == ""


def test_lock_when_many_want_it_all_the_time_then_one_has_it_at_a_time(tmp_path: Path) -> None:
    """Also while its file comes and goes."""
    path = str(tmp_path / "lock")
    holders: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(300):
            lock = FileLock(path)
            if lock.take():
                holders.append(1)
                most.append(len(holders))
                holders.pop()
                lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
