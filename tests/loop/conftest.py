from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a temporary directory for the test, in which no agent may leave a private one."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert private_directories(directory) == []


def private_directories(temporary: Path) -> list[str]:
    return sorted(path.name for path in temporary.glob("antigravity-sync-*"))
