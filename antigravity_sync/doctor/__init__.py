"""Is everything there that an agent needs? What is found out, line by line.

`antigravity-sync doctor` prints it; programs call `examine`::

    from antigravity_sync import doctor

    for finding in doctor.examine(save_dir="/var/lib/agents"):
        print(finding.level.value, finding.check, finding.message, finding.advice)
"""

from __future__ import annotations

from ._examine import examine
from ._finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
