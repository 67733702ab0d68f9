from __future__ import annotations

import contextlib
import gc
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antigravity_sync import SUPPORTED_HARNESS_VERSION, Agent
from antigravity_sync.errors import AntigravityError
from antigravity_sync.testing import ScriptedModel
from tests.leaks import Belongings, assert_nothing_added
from tests.versions import VERSIONS, harness_path


def pytest_configure() -> None:
    """Hear Ctrl-C also when started in the background, where shells have it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Keep what collecting has made out of the collections that look for leaks.

    One follows each test, and walking through thousands of collected tests took longer than most
    of them; what a test makes is still walked through.
    """
    # Before a test moves HOME, and with it the cache.
    with contextlib.suppress(AntigravityError):  # whoever needs one will say what is wrong
        for version in {*VERSIONS, SUPPORTED_HARNESS_VERSION}:
            harness_path(version)
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    """Every test leaves threads, descriptors and child processes as it found them."""
    before = Belongings.now()
    yield
    assert_nothing_added(before)


@pytest.fixture(autouse=True)
def _no_model_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach a real model by accident."""
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTIGRAVITY_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Give a harness version; a test that takes it runs once on each."""
    return request.param


@pytest.fixture
def make_agent(
    version: str, tmp_path: Path, _leaves_nothing: None
) -> Iterator[Callable[..., Agent]]:
    """Make agents on the real harness of `version`; all are closed at the end."""
    agents: list[Agent] = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def make(model: ScriptedModel, /, **options: object) -> Agent:
        defaults = {
            "harness_path": harness_path(version),
            "workspaces": [workspace],
            "env": {"HOME": str(tmp_path)},
            **model.agent_options(),
        }
        agent = Agent(**{**defaults, **options})
        agents.append(agent)
        return agent

    yield make
    for agent in agents:
        agent.close()
