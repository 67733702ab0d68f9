"""What a measured child knows about itself; standard library only, for the official SDK's venv."""

from __future__ import annotations

import gc
import json
import os
import resource
import time
from typing import Any


def resident() -> int:
    """Return the resident memory in bytes."""
    return _status("VmRSS") or _peak_of_life()


def peak() -> int:
    """Return the highest resident memory in bytes since the start, or since `reset_peak`."""
    return _status("VmHWM") or _peak_of_life()


def reset_peak() -> None:
    """Start the high-water mark anew where the system can; elsewhere it counts from the start."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        pass


def _status(name: str) -> int:
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _peak_of_life() -> int:
    factor = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor


class Meter:
    """Measures from `with` to the end of its block."""

    def __enter__(self) -> Meter:
        gc.collect()
        reset_peak()
        self._resident = resident()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall
        self.growth = peak() - self._resident

    def report(self, **more: Any) -> None:
        """Print the measurements as one line of JSON."""
        print(json.dumps({"cpu": self.cpu, "wall": self.wall, "growth": self.growth, **more}))
