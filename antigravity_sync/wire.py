"""What goes between this process and the harness, and what of it this package does not know.

`AgentConfig(wire_inspectors=…)` takes functions that are called with a `WireEvent`; some are here.
The environment variable `LOUD_WIRE` prints events on stderr, chosen as by `WireFilter.parse`.
"""

from __future__ import annotations

from ._wire.drift import clear_drift_report, drift_report
from ._wire.inspect import (
    HarnessSpawn,
    HarnessStderr,
    WireEvent,
    WireFilter,
    WsReceive,
    WsSend,
)
from ._wire.inspectors import LoggingForwarder, StderrPrinter
from ._wire.recorder import JsonlRecorder, read_recording

__all__ = [
    "HarnessSpawn",
    "HarnessStderr",
    "JsonlRecorder",
    "LoggingForwarder",
    "StderrPrinter",
    "WireEvent",
    "WireFilter",
    "WsReceive",
    "WsSend",
    "clear_drift_report",
    "drift_report",
    "read_recording",
]
