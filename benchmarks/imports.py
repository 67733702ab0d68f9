"""How long `import` takes, beside the official SDK, and what is installed for it.

Median of `-X importtime`'s cumulative microseconds in fresh interpreters with warm bytecode, taking
turns; both interpreters are of the same Python.
"""

from __future__ import annotations

import configparser
import importlib.metadata
import re
import subprocess
import sys

from side_by_side import HERE, ROOT, Row, environ, official_python, options, show, verdict

OURS, THEIRS = "antigravity_sync", "google.antigravity"
NAMES = "Agent, policy, tool"
BAR = 1 / 5
#: What may come with ours: what setup.cfg names, and what those need themselves.
EXPECTED = {"attrs", "protobuf", "websocket-client"}


def import_time(python: str, module: str, **more: str) -> float:
    """Return the cumulative microseconds of importing `module`."""
    done = subprocess.run(
        [python, "-X", "importtime", "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE,
        env=environ(**more),
    )
    for line in reversed(done.stderr.splitlines()):
        _, cumulative, name = line.split("|")
        if name.strip() == module:
            return float(cumulative)
    raise SystemExit(f"no line for {module} in the import times")


def statement_time(python: str, statement: str, **more: str) -> float:
    """Return the milliseconds that an import statement takes in a fresh interpreter."""
    code = (
        "import time; began = time.perf_counter(); "
        f"{statement}; print((time.perf_counter() - began) * 1e3)"
    )
    done = subprocess.run(
        [python, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=HERE,
        env=environ(**more),
    )
    return float(done.stdout)


def show_names(times: int, official: str, checkout: dict[str, str]) -> None:
    """Show what a program pays that uses names; ours are fetched when they are asked for."""
    ours, theirs = [], []
    for _ in range(times):
        ours.append(statement_time(sys.executable, f"from {OURS} import {NAMES}", **checkout))
        theirs.append(statement_time(official, f"from {THEIRS} import Agent"))
    mine, other = Row(f"{OURS}: {NAMES}", ours), Row(f"{THEIRS}: Agent", theirs)
    show("the names of a program, no bar", "ms", (mine, other), against=other)


def loaded_modules(python: str, module: str, **more: str) -> set[str]:
    """Return the names of all modules that importing `module` adds."""
    code = (
        "import sys; before = set(sys.modules); "
        f"import {module}; print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True, env=environ(**more)
    )
    return set(done.stdout.split())


def installed_with_ours() -> dict[str, str]:
    """Return the distributions that installing ours brings, with their versions."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    wanted = setup["options"]["install_requires"].split("\n")
    found: dict[str, str] = {}
    while wanted:
        requirement = wanted.pop()
        name = re.match(r"[\w.-]*", requirement.strip())[0]
        if not name or "extra ==" in requirement or name in found:
            continue
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # its marker does not hold here
        wanted += importlib.metadata.requires(name) or ()
    return found


def installed_with_theirs(python: str) -> list[str]:
    """Return the distributions in the official SDK's venv, without pip's own."""
    done = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.split() if not re.match(r"(pip|setuptools)==", line)]


def main() -> None:
    times = 5 if options(__doc__ or "").quick else 11
    official = official_python()
    checkout = {"PYTHONPATH": str(ROOT)}
    import_time(sys.executable, OURS, **checkout)  # writes the bytecode
    import_time(official, THEIRS)
    ours, theirs = [], []
    for _ in range(times):
        ours.append(import_time(sys.executable, OURS, **checkout) / 1e3)
        theirs.append(import_time(official, THEIRS) / 1e3)
    mine, other = Row(f"import {OURS}", ours), Row(f"import {THEIRS}", theirs)
    show("import, cumulative", "ms", (mine, other), against=other)
    holds = verdict("import time, ours / official", mine.median / other.median, BAR)
    show_names(times, official, checkout)

    modules, others = (
        loaded_modules(sys.executable, OURS, **checkout),
        loaded_modules(official, THEIRS),
    )
    print(f"\nmodules loaded: ours {len(modules)}, official {len(others)}")
    heavy = sorted(modules & {"asyncio", "google.protobuf", "websocket", "ssl", "http.client"})
    print(f"  of the heavy ones, ours loads: {', '.join(heavy) or 'none'}")

    packages = installed_with_ours()
    print("\ndistributions installed with ours:")
    for name, version in sorted(packages.items()):
        print(f"  {name}=={version}")
    brought = installed_with_theirs(official)
    print(f"distributions installed with the official SDK: {len(brought)}\n  {', '.join(brought)}")
    is_small = set(packages) >= EXPECTED and len(packages) <= len(EXPECTED) + 1
    print(f"  {'PASS' if is_small else 'FAIL'}  only {', '.join(sorted(EXPECTED))} and their needs")
    print(f"\n{'all bars hold' if holds and is_small else 'a bar does not hold'}")


if __name__ == "__main__":
    main()
