"""Conversations as they lie in a save directory."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from ..errors import ConfigError, ConversationBusyError, ConversationNotFoundError

_MAX_TITLE: Final = 200
_NEW_FILE: Final = 0o600


@attrs.frozen
class Saved:
    """One conversation.

    Attributes:
        wire_id: The harness's id of it, which its files are named after.
        conversation_id: The user's id of it, the harness's if there is none.
        title: How its first prompt began, `""` if no command of ours began it.
        size: Bytes on disk.
        modified: When it was last written, in seconds since 1970.
        is_open: Whether an agent has it open.
    """

    wire_id: str
    conversation_id: str
    title: str
    size: int
    modified: float
    is_open: bool


@attrs.frozen
class _Note:
    """What a command of ours wrote down about a conversation that it began."""

    conversation_id: str = ""
    title: str = ""


def note(save_dir: str, conversation_id: str, prompt: str) -> None:
    """Write down the name and the first prompt of a conversation, if nothing is written yet.

    A harness keeps neither the name that a user gave nor a title.
    """
    from .._runtime.store import wire_id

    words = " ".join(prompt.split())[:_MAX_TITLE]
    content = json.dumps({"conversation_id": conversation_id, "title": words, "time": time.time()})
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    # A list of conversations without a title is no reason to fail.
    with contextlib.suppress(OSError):
        descriptor = os.open(Path(save_dir, f"{wire_id(conversation_id)}.json"), flags, _NEW_FILE)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(content)


def conversations(save_dir: str) -> list[Saved]:
    """Return the conversations in a directory, the newest last.

    Raises:
        ConfigError: It cannot be read.
    """
    directory = Path(save_dir)
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(
            f"save_dir {save_dir!r} cannot be read ({error.strerror}); name another"
        ) from error
    aliases = {
        str(content.get("wire_id")): key.removesuffix(".alias")
        for key in names
        if key.endswith(".alias")
        for content in [_read(directory / key)]
    }
    found = []
    for name in names:
        wire_id, ending = os.path.splitext(name)
        if ending == ".db":
            with contextlib.suppress(FileNotFoundError):
                found.append(_saved(directory, wire_id, aliases.get(wire_id)))
    return sorted(found, key=lambda one: one.modified)


def find(save_dir: str, conversation_id: str) -> Saved:
    """Return the conversation with this id, the user's or the harness's.

    Raises:
        ConfigError: The directory cannot be read.
        ConversationNotFoundError: There is none.
    """
    from .._runtime.store import wire_id

    wanted = {conversation_id, wire_id(conversation_id)}
    for one in conversations(save_dir):
        if one.conversation_id == conversation_id or one.wire_id in wanted:
            return one
    raise ConversationNotFoundError(
        f"there is no conversation {conversation_id!r} in {save_dir}; see `sessions list`"
    )


def delete(save_dir: str, saved: Saved) -> None:
    """Remove a conversation with all that belongs to it.

    Raises:
        ConfigError: It cannot be removed.
        ConversationBusyError: An agent has it open.
    """
    directory = Path(save_dir)
    with _held(directory, saved):
        try:
            for path in _files(directory, saved.wire_id):
                path.unlink(missing_ok=True)
            shutil.rmtree(_brain(directory, saved.wire_id), ignore_errors=True)
        except OSError as error:
            raise ConfigError(
                f"{error.filename} cannot be removed ({error.strerror}); see who owns it"
            ) from error


@contextlib.contextmanager
def _held(directory: Path, saved: Saved) -> Iterator[None]:
    from .._runtime.filelock import FileLock

    lock = FileLock(os.fspath(directory / f"{saved.wire_id}.lock"))
    if not lock.take():
        raise ConversationBusyError(
            f"the conversation {saved.conversation_id} is open in process {lock.read()[:20]}; "
            "close it there first"
        )
    try:
        yield
    finally:
        lock.release()


def _saved(directory: Path, wire_id: str, key: str | None) -> Saved:
    noted = _noted(directory, wire_id) or (_noted(directory, key) if key else None) or _Note()
    alias = _read(directory / f"{key}.alias").get("conversation_id", "") if key else ""
    paths = [*_files(directory, wire_id), *_brain(directory, wire_id).rglob("*")]
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):
            size += path.stat().st_size
    return Saved(
        wire_id,
        str(alias) or noted.conversation_id or wire_id,
        noted.title,
        size,
        (directory / f"{wire_id}.db").stat().st_mtime,
        _is_open(directory / f"{wire_id}.lock"),
    )


def _files(directory: Path, wire_id: str) -> list[Path]:
    endings = (".db", ".db-wal", ".db-shm", ".db-journal", ".json", ".alias")
    found = [directory / f"{wire_id}{ending}" for ending in endings]
    for alias in directory.glob("*.alias"):
        if _read(alias).get("wire_id") == wire_id:
            found += [alias, alias.with_suffix(".json")]
    return list(dict.fromkeys(found))


def _brain(directory: Path, wire_id: str) -> Path:
    """Return where a harness keeps its own files on a conversation."""
    return directory / "app_data" / "brain" / wire_id


def _is_open(path: Path) -> bool:
    from .._runtime.filelock import FileLock

    if not path.exists():
        return False
    lock = FileLock(os.fspath(path))
    try:
        is_free = lock.take()
    except OSError:
        return False
    lock.give_up()  # and leave the file, which may hold the last words of somebody killed
    return not is_free


def _noted(directory: Path, key: str) -> _Note | None:
    content = _read(directory / f"{key}.json")
    if not content:
        return None
    return _Note(str(content.get("conversation_id", "")), str(content.get("title", "")))


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
