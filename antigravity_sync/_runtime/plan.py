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
from .._wire.dialect import Dialect
from .._wire.limits import check_limits
from .._wire.models import check_models
from .._wire.subagents import check_subagents
from ..config import (
    AgentConfig,
    is_elsewhere,
    merged_environment,
    resolve_key,
    without_keys,
)
from ..errors import ConfigError
from .mcp import check_commands, servers_of


@attrs.frozen
class Wanted:
    """Which conversation a start is to open.

    Attributes:
        name: The user's id of it, `""` for none.
        resume: Whether it may, must or must not exist: `auto`, `must`, `never`.
        wire_id: The harness's id of it, where that is known already.
    """

    name: str = ""
    resume: str = "auto"
    wire_id: str = ""


@attrs.frozen
class Plan:
    """Everything that is decided before a process exists.

    Attributes:
        config: The options.
        binary: The harness, `None` if it is no process of ours.
        key: The model's key.
        environ: The child's environment.
        wanted: The conversation to open.
    """

    config: AgentConfig
    binary: HarnessBinary | None
    key: str = attrs.field(repr=False)
    environ: Mapping[str, str] = attrs.field(repr=False)
    wanted: Wanted = attrs.field(factory=Wanted)

    @property
    def local_binary(self) -> HarnessBinary:
        """The harness; only for a process of ours."""
        assert self.binary is not None
        return self.binary

    @property
    def version(self) -> str | None:
        """Version of the harness, `None` while that is not known."""
        return None if self.binary is None else self.binary.version

    @classmethod
    def of_host(cls, config: AgentConfig) -> Plan:
        """Resolve what a harness needs that has no conversation yet: no key, for one.

        Raises:
            HarnessNotFoundError: There is no usable binary.
        """
        environ = merged_environment(config, os.environ)
        binary = find_harness(config.harness_path, environ)
        return cls(config, binary, "", without_keys(environ))

    @classmethod
    def make(cls, config: AgentConfig, earlier: Wanted | None = None) -> Plan:
        """Resolve what `config` leaves open.

        Args:
            config: The options.
            earlier: The conversation that this agent had open before, to go on with.

        Raises:
            ConfigError: The model cannot be reached for want of a key or another option, there is
                no program of an MCP server, or the harness cannot do what is asked of it.
            HarnessNotFoundError: There is no usable binary.
        """
        for path in (*config.workspaces, *config.skills_paths):
            if is_elsewhere(path):
                raise ConfigError(
                    f"{str(path)!r} is a {type(path).__name__}, a path of another machine; give a "
                    "Path or a string, or use a RemoteConnectionStrategy"
                )
        environ = merged_environment(config, os.environ)
        config = config.settled(environ)
        check_commands(servers_of(config), environ)
        binary = find_harness(config.harness_path, environ)
        if binary.version is not None:
            check_options(config, Dialect.of(binary.version))
        return cls(
            config,
            binary,
            resolve_key(config.text_model(), environ),
            without_keys(environ),
            earlier or Wanted(config.conversation_id or "", config.resume),
        )

    @classmethod
    def elsewhere(cls, config: AgentConfig, key: str, wanted: Wanted) -> Plan:
        """Return the plan for a harness that is no process of ours.

        Nothing is looked for on this machine: no binary, no program, no directory. What depends on
        the version is checked when that is known.

        Args:
            config: The options, settled.
            key: The model's key.
            wanted: The conversation to open.
        """
        return cls(config, None, key, {}, wanted)


def check_options(config: AgentConfig, dialect: Dialect) -> None:
    """Refuse what a harness cannot do.

    Raises:
        ConfigError: One of the options.
    """
    if config.subagents:
        check_subagents(config, dialect)
    check_models(config, dialect)
    check_limits(config, dialect)


@attrs.frozen
class Directories:
    """Where the harness keeps things.

    Attributes:
        storage: Conversations.
        app_data: The harness's own files.
        private: A directory of ours that holds them and goes with the harness, `None` if the user
            gave one.
        is_guest: Whether somebody else makes and removes that.
        is_elsewhere: Whether nothing of it is on this machine, or any business of ours.
    """

    storage: str
    app_data: str
    private: str | None = None
    is_guest: bool = False
    is_elsewhere: bool = False

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

    def beside(self, label: str, config: AgentConfig) -> Directories:
        """Return where one conversation of several on one harness keeps things.

        What is private to a conversation is out of the reach of its neighbours' tools.
        """
        if config.app_data_dir is not None:
            app_data = os.fspath(config.app_data_dir)
        elif self.private is None:
            app_data = self.app_data
        else:
            app_data = os.path.join(self.storage, f"app_data-{label}")
        return attrs.evolve(self, app_data=app_data, is_guest=True)

    def create(self) -> None:
        """Create what does not exist, readable by this user alone.

        Raises:
            ConfigError: A directory cannot be written.
        """
        if self.is_elsewhere:
            return
        try:
            if self.private is not None and not self.is_guest:
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
        if self.is_guest:
            if self.app_data.startswith(self.private):
                shutil.rmtree(self.app_data, ignore_errors=True)
            return
        # What a failed start leaves is empty, and goes without a descriptor: there may be none.
        for directory in (self.app_data, self.private):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        shutil.rmtree(self.private, ignore_errors=True)
