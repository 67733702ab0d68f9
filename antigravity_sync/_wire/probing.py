"""What a first message carries to find out which release the harness is; see `dialect`."""

from __future__ import annotations

import re
from typing import Any, Final

# The harness separates the first two words by a plain or a no-break space, at random.
_REJECTION: Final = re.compile(r'\bproto:[ \u00a0].*?\bunknown field "([^"]+)"')


def probe_fields() -> dict[str, Any]:
    """Return a `HarnessConfig` whose every field is `null`: one for each release that can be told.

    They stand in the order in which releases brought them, because the harness reads in that order
    and names the first one that it does not know. No message appears whose mere presence means
    something, such as `policyConfig`. 0.1.8 and 0.1.9, 0.1.14 and 0.1.15, 0.1.19 and 0.1.20 take
    the same first messages: the newer one's rules serve both, and `announces_tasks` of 0.1.8 is the
    only property that comes out wrong.
    """
    run_command = {"maxTimeoutMs": None, "enableDaemonCommands": None, "enableSandbox": None}
    return {
        "toolOutputTruncation": None,  # 0.1.6
        "sessionContinuationMode": None,  # 0.1.7
        "retryConfig": None,  # 0.1.8
        "policyConfig": None,  # 0.1.10
        "agentBehavior": None,  # 0.1.11
        "harnessSideTools": {
            "runCommand": run_command,  # 0.1.12, 0.1.13, 0.1.16
            "manageTask": None,  # 0.1.14
        },
        "compactionConfig": None,  # 0.1.17
        "rulesConfig": None,  # 0.1.18
        "skillsConfig": None,  # 0.1.19
        "systemInstructions": {"overrides": None},  # 0.1.21
        "mcpMaxOutputBytes": None,  # 0.1.22
    }


def with_probe(config: dict[str, Any]) -> dict[str, Any]:
    """Return a `HarnessConfig` with the probing fields in front and its own values untouched."""
    return _merged(probe_fields(), config)


def _merged(probe: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    merged = {**probe, **config}  # keys keep their place of the probe, values are the config's
    for key, value in probe.items():
        own = config.get(key, value)
        if isinstance(value, dict) and isinstance(own, dict):
            merged[key] = _merged(value, own)
    return merged


def rejected_field_in(line: str) -> str | None:
    """Return the field that this stderr line of the harness complains about, if it does."""
    match = _REJECTION.search(line)
    return None if match is None else match[1]
