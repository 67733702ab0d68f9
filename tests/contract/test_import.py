"""What `import antigravity_sync` does to a process: little, quietly, and with three packages."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

import antigravity_sync
from tests.contract.source import PACKAGE, ROOT, module_names

RUNTIME = {"attr", "attrs", "google", "websocket"}
#: A program that loads everything an agent needs.
WHOLE = "import antigravity_sync, antigravity_sync._runtime.engine, antigravity_sync.wire"


def python(code: str, *flags: str, **environ: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *flags, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environ},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def loaded(code: str) -> set[str]:
    """Return the modules that code loads, those the interpreter has at its start aside."""
    show = "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    return set(json.loads(python(f"import sys; before = set(sys.modules)\n{code}\n{show}")))


def outside(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) - {PACKAGE}


def test_import_when_done_then_only_attrs_comes_along() -> None:
    """Importing every name costs attrs alone; the rest waits until an agent starts."""
    modules = loaded("from antigravity_sync import Agent, AgentConfig, Hooks, policy, tool, run")
    assert outside(modules) <= {"attr", "attrs"}
    ours = modules - loaded("import attrs")  # which on Python 3.10 brings subprocess along
    assert not ours & {"subprocess", "zipfile", "ssl", "http.client", "urllib.request"}


def test_import_when_an_agent_is_needed_then_the_three_packages() -> None:
    """A running agent needs attrs, protobuf and the WebSocket library, and nothing else."""
    modules = loaded(WHOLE)
    # Python adds these names by itself while it loads a compiled protobuf.
    assert outside(modules) - {"google._upb"} <= RUNTIME
    assert not {name for name in modules if name.startswith("google.antigravity")}
    assert "asyncio" not in modules


def test_import_when_warnings_are_errors_then_silent() -> None:
    """Every module can be imported with `-W error`, and prints nothing."""
    names = [name for name in module_names() if not name.endswith("testing.plugin")]
    assert python("\n".join(f"import {name}" for name in names)) == ""


def test_import_when_optimised_then_works() -> None:
    """`-OO` removes docstrings and assertions; nothing depends on them."""
    assert python(f"{WHOLE}\nprint(antigravity_sync.Agent())", "-OO").startswith("<Agent")


def test_import_when_done_then_no_thread_process_or_handler() -> None:
    """Importing starts nothing and touches neither signals nor logging."""
    code = """
import signal, sys, threading, logging
before = {n: signal.getsignal(n) for n in signal.valid_signals()}
import antigravity_sync, antigravity_sync._runtime.engine
assert threading.active_count() == 1
assert not logging.root.handlers
assert before == {n: signal.getsignal(n) for n in signal.valid_signals()}
"""
    assert python(code) == ""


def test_import_when_the_star_is_used_then_all_names() -> None:
    """`from antigravity_sync import *` brings exactly `__all__`."""
    code = """
before = set(globals())
from antigravity_sync import *
import antigravity_sync
assert set(globals()) - before - {"before", "antigravity_sync"} == set(antigravity_sync.__all__)
"""
    assert python(code) == ""


def test_import_when_a_name_is_asked_for_then_fetched_from_where_types_say() -> None:
    """The table of names at run time says what the imports for type checkers say."""
    tree = ast.parse((ROOT / PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (branch,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (node.module, alias.name)
        for node in branch.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert {(home, n) for home, names in antigravity_sync._HOMES.items() for n in names} == typed
    for name in antigravity_sync.__all__:
        assert getattr(antigravity_sync, name) is not None
        assert name in dir(antigravity_sync)


def test_import_when_only_the_package_is_wanted_then_nothing_of_ours_is_loaded() -> None:
    """Names are fetched when they are asked for."""
    ours = {name for name in loaded("import antigravity_sync") if name.startswith(f"{PACKAGE}.")}
    assert ours == {f"{PACKAGE}._version"}


def test_import_when_a_name_is_unknown_then_the_usual_error() -> None:
    """The package does not pretend to have what it has not."""
    with pytest.raises(ImportError, match="Agnet"):
        exec("from antigravity_sync import Agnet", {})


def test_run_module_when_the_command_is_imported_then_no_runtime() -> None:
    """The command answers without loading what only agents need."""
    modules = loaded("from antigravity_sync.cli import main")
    assert not modules & {"websocket", "google.protobuf", "antigravity_sync._runtime.engine"}
