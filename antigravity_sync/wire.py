"""What the installed harness says that this package does not know."""

from __future__ import annotations

from ._wire.drift import clear_drift_report, drift_report

__all__ = ["clear_drift_report", "drift_report"]
