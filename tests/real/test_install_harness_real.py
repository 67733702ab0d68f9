"""Installing the pinned harness from the index that pip is configured for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antigravity_sync._transport.binary import WHEEL_MEMBER, find_harness
from antigravity_sync._transport.install import install_harness


@pytest.mark.real
def test_install_when_from_the_real_index_then_the_search_finds_a_harness_that_starts(
    tmp_path, monkeypatch
):
    """The real wheel's binary lands in the cache, is found there as 0.1.10, and runs."""
    monkeypatch.setenv("ANTIGRAVITY_SYNC_CACHE", str(tmp_path))
    path = install_harness("0.1.10")
    others = [entry for entry in sys.path if not Path(entry, WHEEL_MEMBER).exists()]
    monkeypatch.setattr(sys, "path", others)
    found = find_harness(None, {"ANTIGRAVITY_SYNC_CACHE": str(tmp_path)})
    assert (found.path, found.version, found.origin) == (path, "0.1.10", "cache")
    assert os.access(path, os.X_OK)
    # Without a first message on stdin it has nothing to do, and says so.
    done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    assert b"InputConfig" in done.stderr
