"""The released wheels that the contract tests read, and the scripts that read them.

A wheel is fetched once, with pip, into the cache directory of `proto/regenerate.py`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

#: The oldest release that can be driven, the one the SDK is pinned to, and the newest known.
VERSIONS = ("0.1.5", "0.1.10", "0.1.22")

PROTO_DIR = Path(__file__).parents[2] / "proto"


def load_script(name: str) -> ModuleType:
    """Return `proto/<name>.py` as a module; the directory is no package and not installed."""
    qualified = f"_proto_{name}"
    if qualified not in sys.modules:
        spec = importlib.util.spec_from_file_location(qualified, PROTO_DIR / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[qualified] = module
        spec.loader.exec_module(module)
    return sys.modules[qualified]


def wheel_paths() -> dict[str, Path]:
    """Return each release's wheel for this platform, fetching those that are not here yet."""
    directory: Path = load_script("regenerate").cache_dir() / "wheels"
    directory.mkdir(parents=True, exist_ok=True)
    return {
        version: _cached(directory, version) or _fetch(directory, version) for version in VERSIONS
    }


def _cached(directory: Path, version: str) -> Path | None:
    return next(directory.glob(f"google_antigravity-{version}-*.whl"), None)


def _fetch(directory: Path, version: str) -> Path:
    # Fetch beside the place and rename, so that a run cut short leaves no half wheel behind.
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", scratch]
        command.append(f"google-antigravity=={version}")
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"pip could not fetch {command[-1]}: {result.stderr[-600:]}"
        (wheel,) = Path(scratch).glob("*.whl")
        return wheel.replace(directory / wheel.name)
