"""All checks, in the order in which they are of use."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._transport.binary import HarnessBinary
from ..config import AgentConfig, merged_environment
from . import _binary, _machine
from ._finding import Finding, Level, failure


def examine(config: AgentConfig | None = None, /, **options: Any) -> tuple[Finding, ...]:
    """Look whether an agent with these options can run here, and return what was found.

    The harness is really started and has a turn, with a scripted model on the loopback interface:
    the model key is never sent anywhere. Nothing is left behind. Hooks and triggers are not run.

    Args:
        config: The options, or
        options: single fields of `AgentConfig`, which override those of `config`.

    Blocks for as long as that takes, at most for `start_timeout` and a minute. Any thread.

    Raises:
        ConfigError: An option does not exist or has a bad value.
    """
    settled = AgentConfig(**options) if config is None else config.evolve(**options)
    return tuple(findings_of(settled))


def findings_of(config: AgentConfig) -> Iterator[Finding]:
    """Yield what `examine` returns, each as soon as it is known."""
    environ = merged_environment(config, os.environ)
    yield _machine.check_packages()
    yield _machine.check_home(environ)
    binary = _binary.find(config.harness_path, environ)
    files = [Path(__file__)]
    if isinstance(binary, HarnessBinary):
        files.append(binary.path)
    yield _machine.check_clock(time.time(), _machine.newest_of(files))
    save_dir = None if config.save_dir is None else os.fspath(config.save_dir)
    yield _machine.check_save_dir(save_dir)
    yield from _machine.check_proxies(environ)
    yield _machine.check_credentials(config, environ)
    if isinstance(binary, Finding):
        yield binary
        return
    version = _binary.check_version(binary)
    yield version
    problems = list(_binary.check_runs(binary.path, environ))
    yield from problems
    if problems or version.level is Level.FAILURE:
        return
    try:
        from . import _trial
    except ImportError as error:
        yield failure("start", f"a package cannot be imported: {error}", "install it again")
        return
    yield from _trial.try_it(config)
