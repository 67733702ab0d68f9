"""The file that is started in place of the harness, in a directory like the wheel's."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from antigravity_sync.errors import ConfigError

#: The longest first line that every kernel still reads.
_SHEBANG_BYTES = 127

_LAUNCHER = """\
import sys, types
package = types.ModuleType("fake_harness")
package.__path__ = [{directory!r}]
sys.modules["fake_harness"] = package
from fake_harness._fake_process import main
main({home!r})
"""


def binary_path(root: Path) -> Path:
    """Return where the wheel puts the binary below `site-packages`."""
    return root / "google" / "antigravity" / "bin" / "localharness"


def write_binary(root: Path, home: Path) -> None:
    """Write the executable that plays what the files in `home` describe.

    It imports the process's modules from this directory under a package of their own, so neither
    this package nor site-packages is imported, and bytecode is still cached.

    Raises:
        ConfigError: This interpreter does not know its own path.
    """
    if not sys.executable:
        raise ConfigError(
            "FakeHarness needs sys.executable, which is empty here: run it in an ordinary Python."
        )
    directory = os.path.dirname(os.path.abspath(__file__))
    program = _LAUNCHER.format(directory=directory, home=str(home))
    shebang = f"#!{sys.executable} -IS\n"
    if len(os.fsencode(shebang)) > _SHEBANG_BYTES or " " in sys.executable:
        launcher = home / "launcher.py"
        launcher.write_text(program, encoding="utf-8")
        # /bin/sh by its full path: PATH may be empty.
        interpreter = shlex.quote(sys.executable)
        shebang = "#!/bin/sh\n"
        program = f'exec {interpreter} -I -S {shlex.quote(str(launcher))} "$@"\n'
    path = binary_path(root)
    path.parent.mkdir(parents=True)
    path.write_text(shebang + program, encoding="utf-8")
    path.chmod(0o755)


def write_metadata(root: Path, version: str) -> None:
    """Write what pip leaves beside an installed wheel of that version."""
    directory = root / f"google_antigravity-{version}.dist-info"
    directory.mkdir()
    text = f"Metadata-Version: 2.1\nName: google-antigravity\nVersion: {version}\n"
    (directory / "METADATA").write_text(text, encoding="utf-8")
