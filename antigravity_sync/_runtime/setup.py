"""The user's side of an engine, put together from the configuration."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Final

from .._clock import Clock, MonotonicClock
from .._core.rules import SessionRules
from .._wire.dialect import Dialect
from .._wire.limits import check_limits
from .._wire.media import fit_result
from .._wire.models import model_caveats
from .._wire.render import Conversation, Rendered, render_init
from .._wire.subagents import subagent_caveats
from ..capabilities import BuiltinTool
from ..config import AgentConfig
from ..containment import Containment
from ..hooks import Run, wanted
from ..models import Retry
from ..policy import PolicySet, unknown_names
from ..tools import Tool
from . import mcp
from .board import Board
from .delegation import Delegation
from .gate import AskPerson, Gate
from .hosting import BaseHost
from .mailbox import Mailbox
from .opening import RenderInit
from .plan import Directories, Plan
from .respond import Responder
from .store import Store
from .toolroom import Callbacks
from .watch import Watch

_log: Final = logging.getLogger("antigravity_sync.runtime")


def make_responder(
    plan: Plan,
    directories: Directories,
    dialect: Dialect,
    mailbox: Mailbox,
    board: Board,
    watch: Watch,
    label: str,
) -> Responder:
    """Return what answers the harness for this agent."""
    config = plan.config
    clock: Clock = MonotonicClock()
    tools = {tool.name: tool for tool in config.tools if isinstance(tool, Tool)}
    workspaces = tuple(str(path) for path in config.workspaces)
    base = os.getcwd()
    # Up to 0.1.6 a command without a directory starts where the harness was started.
    command_directory = workspaces[0] if workspaces and not _starts_at_base(dialect) else base
    _warn(plan, dialect, tools)

    def make_gate(ask_person: AskPerson, run: Run) -> Gate:
        return Gate(
            PolicySet(config.policies).bind(workspaces, command_directory),
            tuple(config.hooks),
            Containment(
                writable=(*workspaces, directories.app_data),
                readable=tuple(str(path) for path in config.skills_paths),
                forbidden=(directories.storage,),
                base=base,
                command_directory=command_directory,
            )
            if config.contain_workspaces and not directories.is_elsewhere
            else None,
            ask_person,
            run,
            can_rewrite=dialect.can_rewrite,
            has_hooks=dialect.has_pre_tool_hook,
            has_compaction_hook=dialect.has_compaction_hook,
            delegation=Delegation.of(config, dialect),
        )

    callbacks = Callbacks(
        tools,
        tuple(config.hooks),
        config.callback_wrapper,
        config.tool_workers,
        fit=lambda files: fit_result(files, dialect),
    )
    return Responder(callbacks, mailbox, board, watch, clock, label, make_gate)


def make_rules(config: AgentConfig, dialect: Dialect) -> SessionRules:
    """Return what the session must know about this harness and the configuration.

    Raises:
        ConfigError: The harness, whose version may have been unknown, cannot keep a limit.
    """
    check_limits(config, dialect)
    return SessionRules(
        harness_version=dialect.version,
        coordinates_subagents=dialect.waits_for_subagents,
        idles_while_tasks_run=dialect.idles_while_tasks_run,
        announces_tasks=dialect.announces_tasks,
        task_wait=float("inf") if config.task_wait is None else config.task_wait,
        max_history=config.max_history,
        budget=config.budget,
        reports_before_calls=dialect.reports_before_calls,
        asks_for_subagents=dialect.governs_subagents,
    )


def make_renderer(
    plan: Plan, store: Store, host: BaseHost, choose: Callable[[Dialect], Conversation]
) -> RenderInit:
    """Return what makes the first message that opens the conversation that `choose` says."""

    def render(dialect: Dialect, is_probe: bool) -> Rendered:
        if not is_probe:
            host.check_options(plan.config, dialect)
        return render_init(
            plan.config,
            conversation=choose(dialect),
            api_key=plan.key,
            app_data_dir=store.directories.app_data or host.app_data_dir,
            dialect=dialect,
            is_probe=is_probe,
        )

    return render


def _starts_at_base(dialect: Dialect) -> bool:
    return not dialect.has_continuation_mode


def _warn(plan: Plan, dialect: Dialect, tools: dict[str, Tool]) -> None:
    """Tell of rules and hooks that will never do anything."""
    config = plan.config
    known = (*(tool.value for tool in BuiltinTool), *tools, *mcp.tool_names(config))
    for name, near in unknown_names(config.policies, known, mcp.unlisted(config)).items():
        hint = f"; did you mean {near!r}?" if near else ""
        _log.warning("a policy names %r, which is no tool of this agent%s", name, hint)
    for caveat in mcp.caveats(config, dialect):
        _log.warning("%s", caveat)
    for caveat in model_caveats(config, dialect):
        _log.warning("%s", caveat)
    for caveat in subagent_caveats(config, dialect):
        _log.warning("%s", caveat)
    if config.retry != Retry() and not dialect.has_retry_config:
        _log.warning("harness %s retries as it likes; `retry` is ignored", dialect.version)
    if "on_stop" in wanted(config.hooks) and not dialect.has_stop_hook:
        _log.warning("harness %s does not call on_stop; it is ignored", dialect.version)
