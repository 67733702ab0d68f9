"""What the harness's own tools may touch, on the real file system and every version."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs
import pytest

from antigravity_sync import policy
from antigravity_sync.events import Denied
from antigravity_sync.testing import ScriptedModel
from tests.kinds import BUILTIN, CAPABILITIES, SECRET, Kind, seen, told

pytestmark = pytest.mark.real

OPEN: Final = {"capabilities": CAPABILITIES, "policies": [policy.allow_all()]}


def quoted(path: Path) -> str:
    """Return a `file:` URI in which not one letter stands for itself."""
    return "file://" + "".join(byte if byte == "/" else f"%{ord(byte):02X}" for byte in str(path))


def run_all(make_agent, kinds: list[Kind], **options: object) -> list[str]:
    """Call each tool once; return what came of each.

    `ran`, `refused` by us, `invalid` if the harness would not take the call and asked nobody, and
    `failed` if it was let through and could not, `elsewhere` if it did it in another place.
    """
    outcomes = []
    script = [reply for kind in kinds for reply in (kind.call(), "done")]
    with ScriptedModel(*script) as model, make_agent(model, **{**OPEN, **options}) as agent:
        for kind in kinds:
            response = agent.chat("go")
            assert response.text == "done"
            if kind.has_run(told(model)):
                outcomes.append("ran")
            elif any(isinstance(entry.decision, Denied) for entry in response.tool_calls):
                outcomes.append("refused")
            else:
                is_done = "rror" not in seen(model)
                tried = "elsewhere" if is_done else "failed"
                outcomes.append(tried if response.tool_calls else "invalid")
                assert response.tool_calls or not is_done
    return outcomes


ALL_RAN: Final = ["ran"] * len(BUILTIN)
ALL_REFUSED: Final = ["refused"] * len(BUILTIN)


def kinds_at(place: Path, spelling: Callable[[Path], str] = str) -> list[Kind]:
    return [Kind(name, place / name, spelling).prepare() for name in BUILTIN]


#: Ways to write a path inside.
INSIDE: Final[dict[str, Callable[[Path], str]]] = {
    "plain": str,
    "dots that stay inside": lambda path: f"{path.parent}/./{path.name}/../{path.name}",
    "doubled slash": lambda path: f"{path.parent}//{path.name}",
}


@pytest.mark.parametrize("spelling", INSIDE)
def test_path_when_inside_then_the_tool_works(make_agent, tmp_path, spelling):
    """Containment is in nobody's way inside of a workspace, however the path is written."""
    assert run_all(make_agent, kinds_at(tmp_path / "workspace", INSIDE[spelling])) == ALL_RAN


def test_path_when_a_link_stays_inside_then_the_tool_works(make_agent, tmp_path):
    """A link is judged by where it leads."""
    workspace = tmp_path / "workspace"
    (workspace / "link").symlink_to(workspace)
    kinds = kinds_at(workspace)
    through = [
        attrs.evolve(
            kind, spelling=lambda path: str(path).replace("/workspace/", "/workspace/link/")
        )
        for kind in kinds
    ]
    assert run_all(make_agent, through) == ALL_RAN


def outside_of(tmp_path: Path, name: str) -> tuple[Path, Callable[[Path], str]]:
    """Return a place outside, made ready, and how the model writes a path of it."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    match name:
        case "..":
            return outside, lambda path: str(path).replace(f"{tmp_path}/", f"{workspace}/../", 1)
        case "link to a directory":
            (workspace / "link").symlink_to(outside)
            return outside, lambda path: str(path).replace(str(outside), f"{workspace}/link", 1)
        case "dots behind a link":
            # By the system's reading this is outside; with the dots cancelled first it is inside.
            (outside / "deep").mkdir(parents=True)
            (workspace / "link").symlink_to(outside / "deep")
            return outside, lambda path: str(path).replace(str(outside), f"{workspace}/link/..", 1)
        case "twin by prefix":
            return tmp_path / "workspace2", str
        case "home":
            return tmp_path / "outside", lambda path: str(path).replace(str(tmp_path), "~", 1)
        case "URI":
            return outside, lambda path: f"file://{path}"
        case "quoted URI":
            return outside, quoted
        case "URI with dots":
            return outside, lambda path: str(path).replace(
                f"{tmp_path}/", f"file://{workspace}/%2E%2E/", 1
            )
    return outside, str


OUTSIDE: Final = (
    "plain",
    "..",
    "link to a directory",
    "dots behind a link",
    "twin by prefix",
    "home",
    "URI",
    "quoted URI",
    "URI with dots",
)


#: The ways that every tool takes for a path on every version, so that all depends on us.
DECIDED_BY_US: Final = ("plain", "..", "link to a directory", "twin by prefix")


@pytest.mark.parametrize("way", OUTSIDE)
def test_path_when_outside_then_nothing_happens(make_agent, tmp_path, version, way, monkeypatch):
    """No spelling leads a tool out: it does nothing, and the response says that it was refused."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place, spelling = outside_of(tmp_path, way)
    outcomes = run_all(make_agent, kinds_at(place, spelling))
    if way in DECIDED_BY_US:
        assert outcomes == ALL_REFUSED
    elif way == "dots behind a link" and version == "0.1.5":
        # It cancels the dots before it asks: what was asked, and what it does, is inside.
        assert set(outcomes) <= {"elsewhere", "failed", "invalid", "refused"}
        assert sorted(path.name for path in place.iterdir()) == sorted({"deep", *BUILTIN})
    else:  # the harness does not take most of these for paths, and asks nobody
        assert set(outcomes) <= {"refused", "invalid"}
        assert "refused" in outcomes


def test_path_when_a_linked_leaf_is_not_there_yet_then_it_is_not_made(make_agent, tmp_path):
    """A link to a file that does not exist is still a way out."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    outside.mkdir()
    (workspace / "make").mkdir()
    (workspace / "make" / "made").symlink_to(outside / "made")
    kind = Kind("create_file", workspace / "make").prepare()
    assert run_all(make_agent, [kind]) == ["refused"]
    assert list(outside.iterdir()) == []


def test_path_when_parents_are_not_there_yet_then_outside_none_are_made(make_agent, tmp_path):
    """Directories that do not exist are judged by the nearest one that does."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    outside.mkdir()
    (workspace / "link").symlink_to(outside)
    bad = Kind("create_file", workspace / "link" / "a" / "b")
    good = Kind("create_file", workspace / "a" / "b")
    assert run_all(make_agent, [bad, good]) == ["refused", "ran"]
    assert list(outside.iterdir()) == []
    assert (workspace / "a" / "b" / "made").read_text() == "new\n"


#: What is no path at all.
NONE: Final[dict[str, Callable[[Path], str]]] = {
    "empty": lambda _path: "",
    "blank": lambda _path: " ",
    "NUL": lambda path: f"{path}\0/../../../outside",
    "URI of another machine": lambda path: f"file://elsewhere{path}",
    "URI with a query": lambda path: f"file://{path}?x",
    "URI that is broken": lambda path: f"file://{path}%ZZ",
    "another scheme": lambda path: f"http://localhost{path}",
    "unknown user": lambda _path: "~zqx-nobody/x",
}


@pytest.mark.parametrize("way", NONE)
def test_path_when_it_is_none_then_nothing_happens(make_agent, tmp_path, version, way):
    """What cannot be understood is refused, even where it would lead inside."""
    kinds = [
        kind
        for kind in kinds_at(tmp_path / "workspace", NONE[way])
        # A command may leave its directory out.
        if (kind.name, way) != ("run_command", "empty")
    ]
    before = sorted(path for path in tmp_path.rglob("*") if "workspace" in path.parts)
    outcomes = run_all(make_agent, kinds)
    assert set(outcomes) <= {"refused", "invalid"}
    after = sorted(path for path in tmp_path.rglob("*") if "workspace" in path.parts)
    assert after == before


def test_app_data_when_it_is_looked_at_then_it_is_open(make_agent, tmp_path):
    """The harness keeps there what the model is to read later, so it is no place outside."""
    app_data = tmp_path / "app-data"
    app_data.mkdir()
    assert run_all(make_agent, kinds_at(app_data), app_data_dir=app_data) == ALL_RAN


def test_save_dir_when_it_is_in_a_workspace_then_it_is_closed(make_agent, tmp_path):
    """Conversations are not for the model to read, much less to change."""
    save_dir = tmp_path / "workspace" / "saved"
    kinds = kinds_at(save_dir)
    assert run_all(make_agent, kinds, save_dir=save_dir) == ALL_REFUSED
    assert [path.suffix for path in save_dir.glob("*.db")] == [".db"]
    for path in save_dir.glob("*.db"):
        with sqlite3.connect(path) as saved:
            assert saved.execute("pragma quick_check").fetchone() == ("ok",)
        saved.close()


@pytest.mark.parametrize("way", ["plain", "..", "link to a directory", "twin by prefix"])
def test_containment_when_switched_off_then_every_path_will_do(make_agent, tmp_path, way):
    """`contain_workspaces=False` with `allow_all()` lets a tool go anywhere, on every version."""
    place, spelling = outside_of(tmp_path, way)
    assert run_all(make_agent, kinds_at(place, spelling), contain_workspaces=False) == ALL_RAN


def test_workspace_only_when_narrower_than_the_workspaces_then_it_holds(make_agent, tmp_path):
    """A rule may shut tools into a part of a workspace, whatever else is allowed by name."""
    part, rest = tmp_path / "workspace" / "part", tmp_path / "workspace" / "rest"
    guarded = [policy.workspace_only(part), *(policy.allow(name) for name in BUILTIN)]
    part.mkdir()
    inside, outside = kinds_at(part), kinds_at(rest)
    outcomes = run_all(make_agent, [*inside, *outside], policies=guarded)
    assert outcomes == ALL_RAN + ALL_REFUSED
    assert not (rest / "create_file" / "made").exists()
    assert (part / "create_file" / "made").exists()


def test_command_when_it_names_no_directory_then_it_starts_where_we_think(make_agent, tmp_path):
    """A rule on the directory of a command must not be deceived by one that names none."""
    workspace = tmp_path / "workspace"
    kind = Kind("run_command", workspace, lambda _path: "").prepare()
    with ScriptedModel(kind.call(), "done") as model, make_agent(model, **OPEN) as agent:
        response = agent.chat("go")
    denied = [entry for entry in response.tool_calls if isinstance(entry.decision, Denied)]
    assert (workspace / "mark").exists() == (not denied)


def test_secret_when_a_tool_is_refused_then_the_model_never_sees_it(make_agent, tmp_path):
    """Nothing of a file outside reaches the model, in no request and no error text."""
    kinds = [Kind(name, tmp_path / "outside" / name).prepare() for name in BUILTIN]
    script = [kind.call() for kind in kinds]
    with ScriptedModel(*script, "done") as model, make_agent(model, **OPEN) as agent:
        assert agent.chat("go").text == "done"
    assert all(SECRET not in request.raw_body.decode() for request in model.requests)
