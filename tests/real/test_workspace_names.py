"""Workspaces whose names are legal and unusual, and what the harness makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from antigravity_sync import Capabilities, policy
from antigravity_sync.testing import ScriptedModel
from tests.kinds import Kind, told

pytestmark = pytest.mark.real

NAMES = (
    "two words",
    "a#b?c",
    "per%41cent%",
    "\u00fcml\u00e4ut \u4e2d\u6587 \U0001f600",
    "-dash",
    "'quote\"",
    "a" * 250,
    "link",
)


def test_workspace_when_its_name_is_odd_then_tools_work_in_it(make_agent, tmp_path, monkeypatch):
    """Looking and writing end up in that very directory, wherever the program is by then."""
    places = [tmp_path / name for name in NAMES]
    (tmp_path / "behind").mkdir()
    places[-1].symlink_to(tmp_path / "behind")
    monkeypatch.chdir(tmp_path)
    roots: list[str | Path] = [*places[:-1], "relative", f"{places[-1]}/"]
    places.append(tmp_path / "relative")
    kinds = [
        Kind(name, place).prepare()
        for place in places
        for name in ("list_directory", "view_file", "create_file")
    ]
    script = [reply for kind in kinds for reply in (kind.call(), "done")]
    with (
        ScriptedModel(*script) as model,
        make_agent(
            model,
            workspaces=roots,
            capabilities=Capabilities.read_only().enable("create_file"),
            policies=[policy.allow_all()],
        ) as agent,
    ):
        monkeypatch.chdir("/")
        for kind in kinds:
            assert agent.chat("go").text == "done"
            text = told(model)
            # Its own fence lets some releases (0.1.10) make no new file by way of the link.
            is_fenced = kind.place.name == "link" and "Access to path" in text
            assert kind.has_run(text) or is_fenced, (kind.name, kind.place.name, text)
