"""Version of this package and of the harness it is written against."""

from __future__ import annotations

from typing import Final

__version__ = "0.1.0"

#: The harness release this SDK is pinned to; `install_harness()` fetches it.
SUPPORTED_HARNESS_VERSION: Final = "0.1.10"

#: Every harness release the real-harness suite passed on (`make test-all-versions`).
VERIFIED_HARNESS_VERSIONS: Final[tuple[str, ...]] = (
    "0.1.5",
    "0.1.10",
    "0.1.11",
    "0.1.12",
    "0.1.13",
    "0.1.14",
    "0.1.15",
    "0.1.16",
    "0.1.17",
    "0.1.18",
    "0.1.19",
    "0.1.20",
    "0.1.21",
    "0.1.22",
)

#: The oldest release that answers the first message; older ones cannot be driven.
OLDEST_HARNESS_VERSION: Final = "0.1.5"
