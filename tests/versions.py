"""The harness versions that the real-harness suite runs on, each installed once in the cache."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Final

from antigravity_sync._transport.install import install_harness

#: Oldest supported, pinned, newest known.
VERSIONS: Final = tuple(
    os.environ.get("ANTIGRAVITY_SYNC_TEST_VERSIONS", "0.1.5 0.1.10 0.1.22").split()
)


@functools.cache
def harness_path(version: str) -> Path:
    """Return the binary of a version, installed into the cache if it is not there yet."""
    return install_harness(version)


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
