"""Where the command keeps what must outlive it: conversations and locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..errors import ConfigError

STATE_VARIABLE: Final = "ANTIGRAVITY_SYNC_STATE"


def state_dir(environ: Mapping[str, str], *, system: str = sys.platform) -> Path:
    """Return the directory of what is kept, which need not exist.

    Args:
        environ: The environment to read.
        system: A `sys.platform` value.

    Raises:
        ConfigError: There is no home directory and no variable names another place.
    """
    if chosen := environ.get(STATE_VARIABLE):
        return Path(os.path.expanduser(chosen)).absolute()
    shared = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(shared):  # the XDG rules say that a relative one is to be ignored
        return Path(shared, "antigravity-sync")
    if system == "win32" and (local := environ.get("LOCALAPPDATA")):
        return Path(local, "antigravity-sync", "state")
    home = environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError(
            f"there is no home directory to keep conversations in; set {STATE_VARIABLE} to a "
            "directory, or give --save-dir"
        )
    below = {"win32": "AppData/Local", "darwin": "Library/Application Support"}
    return Path(home, below.get(system, ".local/state"), "antigravity-sync")


def sessions_dir(environ: Mapping[str, str]) -> Path:
    """Return the directory of conversations; see `state_dir`."""
    return state_dir(environ) / "sessions"


def locks_dir(environ: Mapping[str, str]) -> Path:
    """Return the directory of `--lock` files; see `state_dir`."""
    return state_dir(environ) / "locks"
