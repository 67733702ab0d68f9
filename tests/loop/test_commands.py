"""What is told of a process that the agent has left running."""

from __future__ import annotations

import os
import subprocess

import pytest

from antigravity_sync._transport.commands import find_commands

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only where there is /proc")

ID = "zqx-test-of-commands-0123456789abcdef"
#: Becomes another program again and again, and in the end one that stays.
SCRIPT = 'if [ $0 = x300 ]; then exec sleep 300; fi; exec sh -c "$1" x$((${0#x} + 1)) "$1"'


def test_command_when_it_becomes_another_program_then_its_line_is_told_all_the_same():
    """In between it has none for a moment; whenever it is looked at, what is told is not blank."""
    environ = {**os.environ, "ANTIGRAVITY_CONVERSATION_ID": ID}
    with subprocess.Popen(["sh", "-c", SCRIPT, "x0", SCRIPT], env=environ) as process:
        try:
            lines: set[str] = set()
            while "sleep 300" not in lines:
                found = [each.line for each in find_commands(None, ID) if each.pid == process.pid]
                lines.update(found)
            assert len(lines) > 2
            assert all(line.startswith(("sh -c", "sleep", "[s")) for line in lines)
        finally:
            process.kill()
