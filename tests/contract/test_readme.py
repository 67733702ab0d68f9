"""What the README shows runs, and what it lists is all there is."""

from __future__ import annotations

import ast
import inspect
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from antigravity_sync import (
    SUPPORTED_HARNESS_VERSION,
    VERIFIED_HARNESS_VERSIONS,
    Agent,
    AgentConfig,
    errors,
    testing,
)
from antigravity_sync.cli.exits import Exit
from antigravity_sync.testing import ScriptedModel, always
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.contract.source import ROOT
from tests.versions import harness_path

README = (ROOT / "README.md").read_text("utf-8")

#: A heading, or a fenced block of Python with the script of its model if it needs one.
BLOCK = re.compile(
    r"^## (?P<heading>[^\n]*)$"
    r"|(?:^<!-- model: (?P<script>[^\n]*) -->\n)?^```python\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@attrs.frozen
class Block:
    """A block of Python in the README."""

    name: str
    code: str = attrs.field(repr=False)
    script: str
    line: int


def blocks() -> Iterator[Block]:
    heading, count = "top", 0
    for match in BLOCK.finditer(README):
        if match["heading"] is not None:
            heading, count = match["heading"].lower().replace(" ", "-"), 0
        else:
            count += 1
            line = README.count("\n", 0, match.start("code"))
            script = match["script"] or 'always("An answer.")'
            yield Block(f"{heading}-{count}", match["code"], script, line)


#: What makes agents when it is called.
MAKERS = ("Agent", "AgentConfig", "AgentPool", "Harness", "run")


class _Offline(ast.NodeTransformer):
    """Add the address of a scripted model to each agent that the block makes without one."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        makes_agent = isinstance(node.func, ast.Name) and node.func.id in MAKERS
        given = {keyword.arg for keyword in node.keywords}
        has_own = given & {None, "harness_path", "connection"}
        if makes_agent and not has_own:
            for name in ("base_url", "api_key"):
                node.keywords.append(ast.keyword(name, ast.Name(f"_{name}", ast.Load())))
        return node


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a directory to run in and the pinned harness; put signal handlers back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTIGRAVITY_HARNESS_PATH", str(harness_path(SUPPORTED_HARNESS_VERSION)))
    handler = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.real
@pytest.mark.parametrize("block", list(blocks()), ids=lambda block: block.name)
def test_block_when_run_then_it_does_not_fail(
    block: Block, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block runs as it is printed, on the real harness, with a scripted model's address."""
    cache = harness_path(SUPPORTED_HARNESS_VERSION).parents[2]
    monkeypatch.setenv("ANTIGRAVITY_SYNC_CACHE", str(cache))
    tree = _Offline().visit(ast.parse("\n" * block.line + block.code))
    program = compile(ast.fix_missing_locations(tree), "README.md", "exec")
    script = eval(f"({block.script},)", dict(vars(testing)))
    with ScriptedModel(*script) as model:
        names: dict[str, Any] = {"_base_url": model.base_url, "_api_key": "key"}
        exec(program, names)
        for name, function in list(names.items()):
            if name.startswith("test_"):
                takes = inspect.signature(function).parameters
                function(**{"tmp_path": place} if takes else {})
        if not isinstance(script[0], type(always(""))):
            model.assert_done()
    printed = capsys.readouterr().out
    assert bool(printed) == ("print(" in block.code), "a block that prints shows something"


def test_blocks_when_found_then_all_of_them() -> None:
    """The search finds every fenced block, and each is Python."""
    assert len(list(blocks())) == README.count("```python") > 10
    assert README.count("```") == 2 * README.count("```python")


def test_readme_when_opened_then_the_two_commands_come_first() -> None:
    """A newcomer sees `make demo` and `make test` before any prose that can wait."""
    assert README.index("make demo") < README.index("make test") < README.index("```python")
    assert README.count("\n", 0, README.index("make test")) < 10


def test_first_program_when_counted_then_ten_lines() -> None:
    """The first program is short."""
    first = next(blocks())
    assert len([line for line in first.code.splitlines() if line]) <= 10


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table under a heading, without its head."""
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_threads_when_an_agent_runs_then_those_of_the_table() -> None:
    """The table of threads names every thread that an agent starts, and no other."""
    with FakeHarness("Hello.") as fake:
        before = set(threading.enumerate())
        with Agent(harness_path=fake.path, api_key="key") as agent:
            agent.chat("Hello!")
            started = set(threading.enumerate()) - before
    ours = {re.sub(r"\d+", "N", one.name) for one in started}
    cells = " ".join(row[0] for row in table("Which thread runs what"))
    prefix = "agsync-N"
    assert ours == {
        name if name.startswith(prefix) else prefix + name
        for name in re.findall(r"`([\w-]+)`", cells)
    }
    assert all(thread.daemon for thread in started)


def test_options_when_listed_then_every_one_in_order() -> None:
    """The table of options has the fields of `AgentConfig`, and their defaults."""
    rows = table("Options")
    fields = attrs.fields(AgentConfig)
    assert [row[0].strip("`") for row in rows] == [field.name for field in fields]
    for row, field in zip(rows, fields, strict=True):
        if not isinstance(field.default, attrs.Factory) and field.name != "workspaces":  # type: ignore[arg-type]
            assert row[1] == f"`{field.default!r}`".replace("'", '"'), field.name


def test_errors_when_listed_then_every_one_that_is_raised() -> None:
    """Every error that the package raises is in the README, with what to do."""
    source = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "antigravity_sync").rglob("*.py")
        if path.name != "errors.py"
    )
    names = [name for name, kind in vars(errors).items() if isinstance(kind, type)]
    raised = {
        name
        for name in names
        if name.endswith("Error") and re.search(rf"\b{name}\(", source) and name != "UsageError"
    }
    listed = set(re.findall(r"`(\w+Error)`", "\n".join(row[0] for row in table("Errors"))))
    assert raised <= listed
    assert listed <= set(names)


def test_versions_when_named_then_those_of_the_package() -> None:
    """The pin and the verified releases are those that the package publishes."""
    section = README.partition("## Harness versions")[2].partition("\n## ")[0]
    assert f"**{SUPPORTED_HARNESS_VERSION}**" in section
    *most, last = VERIFIED_HARNESS_VERSIONS
    assert f"**{', '.join(most)} and {last}**" in section


def test_exit_codes_when_listed_then_those_of_the_command() -> None:
    """The exit codes in the text are those of the command."""
    for code in Exit:
        assert code is Exit.FAILED or re.search(rf"\b{code.value} [a-zA-Z]", README), code


def test_links_when_followed_then_lead_somewhere() -> None:
    """Links inside the document and to files beside it work."""
    anchors = {
        re.sub(r"[^\w-]", "", line.lstrip("# ").lower().replace(" ", "-"))
        for line in README.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif "://" not in target:
            assert (ROOT / target).exists(), target
