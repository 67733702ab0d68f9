"""Pytest fixtures; loaded by the `pytest11` entry point, the only module that imports pytest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from antigravity_sync.testing.fake_harness import FakeHarness
from antigravity_sync.testing.scripted_model import ScriptedModel


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Start scripted models that end with the test; calls without a reply fail it.

    The fixture is a function that takes what `ScriptedModel` takes and returns it started.
    """
    models: list[ScriptedModel] = []

    # Any: the arguments are those of ScriptedModel, which checks them.
    def start(*replies: Any, **options: Any) -> ScriptedModel:
        model = ScriptedModel(*replies, **options)
        models.append(model)
        return model.start()

    yield start
    # All are closed before any is checked: a failing check must not leave the others running.
    for model in models:
        model.close()
    for model in models:
        model.check()


@pytest.fixture
def fake_harness() -> Iterator[Callable[..., FakeHarness]]:
    """Start stand-in harnesses that end with the test.

    The fixture is a function that takes what `FakeHarness` takes and returns it started.
    """
    with contextlib.ExitStack() as stack:
        # Any: the arguments are those of FakeHarness, which checks them.
        def start(*turns: Any, **knobs: Any) -> FakeHarness:
            return stack.enter_context(FakeHarness(*turns, **knobs))

        yield start
