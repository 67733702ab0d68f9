"""What the package promises is written down in `api.txt`, so that a change of it is seen."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path

import pytest

from tests.contract.public_api import PUBLIC, describe, public_names

SNAPSHOT = Path(__file__).with_name("api.txt")


def test_api_when_it_changes_then_the_snapshot_must_change_too() -> None:
    """Every public name and signature is as `api.txt` has it."""
    written, now = SNAPSHOT.read_text("utf-8"), "\n".join(describe())
    changes = difflib.unified_diff(written.splitlines(), now.splitlines(), "api.txt", "now", n=1)
    assert written == now, (
        "the public API changed; if that is meant, add a line to CHANGELOG.md and run "
        f"`python -m tests.contract.public_api > tests/contract/{SNAPSHOT.name}`\n"
        + "\n".join(changes)
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_when_listed_then_there_and_explained(name: str) -> None:
    """Each name of `__all__` exists once, and classes and functions say what they are for."""
    module = importlib.import_module(name)
    assert module.__doc__
    names = public_names(module)
    assert names
    assert len(names) == len(set(names))
    for one in names:
        value = getattr(module, one)
        if callable(value) and getattr(value, "__module__", "").startswith("antigravity_sync"):
            assert value.__doc__, f"{name}.{one} has no docstring"
