"""What is decided and made before a process exists."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs

from .._transport.binary import HarnessBinary, find_harness
from ..config import AgentConfig, merged_environment, resolve_key, without_keys
from ..errors import ConfigError


@attrs.frozen
class Plan:
    """Everything that is decided before a process exists.

    Attributes:
        config: The options.
        binary: The harness.
        key: The model's key.
        environ: The child's environment.
    """

    config: AgentConfig
    binary: HarnessBinary
    key: str = attrs.field(repr=False)
    environ: Mapping[str, str] = attrs.field(repr=False)

    @classmethod
    def make(cls, config: AgentConfig) -> Plan:
        """Resolve what `config` leaves open.

        Raises:
            ConfigError: There is no model key.
            HarnessNotFoundError: There is no usable binary.
        """
        environ = merged_environment(config, os.environ)
        return cls(
            config,
            find_harness(config.harness_path, environ),
            resolve_key(config.text_model(), environ),
            without_keys(environ),
        )


@attrs.frozen
class Directories:
    """Where the harness keeps things.

    Attributes:
        storage: Conversations.
        app_data: The harness's own files.
        private: A directory of ours that holds them and goes with the engine, `None` if the user
            gave one.
    """

    storage: str
    app_data: str
    private: str | None = None

    @classmethod
    def choose(cls, config: AgentConfig) -> Directories:
        """Say where they will be; nothing is made yet, so that its removal can be arranged first.

        Raises:
            ConfigError: One is to be made and there is no place for it.
        """
        private = None
        if config.save_dir is None:
            try:
                place = tempfile.gettempdir()
            except OSError as error:
                raise ConfigError(
                    f"there is no temporary directory ({error}); set save_dir"
                ) from error
            private = os.path.join(place, f"antigravity-sync-{secrets.token_hex(8)}")
        storage = os.fspath(config.save_dir or private or "")
        return cls(storage, os.fspath(config.app_data_dir or Path(storage) / "app_data"), private)

    def create(self) -> None:
        """Create what does not exist, readable by this user alone.

        Raises:
            ConfigError: A directory cannot be written.
        """
        try:
            if self.private is not None:
                os.mkdir(self.private, mode=0o700)  # never one that somebody else put there
        except OSError as error:
            raise ConfigError(
                f"the private directory {self.private!r} cannot be made ({error.strerror}); "
                "set save_dir, or TMPDIR to a directory you may write to"
            ) from error
        for name, directory in (("save_dir", self.storage), ("app_data_dir", self.app_data)):
            try:
                os.makedirs(directory, mode=0o700, exist_ok=True)
                is_writable = os.access(directory, os.W_OK | os.X_OK)
            except OSError:
                is_writable = False
            if not is_writable:
                raise ConfigError(
                    f"{name} {directory!r} cannot be written; choose a directory you may write to"
                )

    def remove_private(self) -> None:
        """Remove what is ours."""
        if self.private is None:
            return
        # What a failed start leaves is empty, and goes without a descriptor: there may be none.
        for directory in (self.app_data, self.private):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        shutil.rmtree(self.private, ignore_errors=True)
