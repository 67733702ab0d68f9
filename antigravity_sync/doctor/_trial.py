"""A real start and a turn, with a scripted model, so that nothing is asked and nothing costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from .. import policy
from .._wire.drift import drift_report
from .._wire.inspect import WireEvent
from ..agent import Agent
from ..config import AgentConfig
from ..errors import AntigravityError, InitError
from ..testing.replies import always
from ..testing.scripted_model import ScriptedModel
from ._finding import Finding, failed, failure, ok, warning

_ANSWER: Final = "All is well."
_SLOW: Final = 5.0
_PATIENCE: Final = 30.0
#: What runs code of the user's, or would leave something behind.
_LEFT_OUT: Final = {"hooks": (), "triggers": (), "models": (), "callback_wrapper": None}


class _Stopwatch:
    """Notes when a start gets how far."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    def __call__(self, event: WireEvent) -> None:
        self.times.setdefault(event.kind, event.time)

    def between(self, first: str, second: str) -> float:
        return self.times.get(second, 0.0) - self.times.get(first, 0.0)


def try_it(config: AgentConfig) -> Iterator[Finding]:
    """Start what `config` describes, have a turn, close it.

    Tools, MCP servers and subagents come along; hooks and triggers do not, and the conversation is
    thrown away.
    """
    watch = _Stopwatch()
    before = drift_report()
    with ScriptedModel(always(_ANSWER)) as model:
        known = {field.name for field in attrs.fields(AgentConfig)}
        left_out = {name: value for name, value in _LEFT_OUT.items() if name in known}
        trial = config.evolve(
            **left_out,
            **model.agent_options(),
            policies=[*config.policies, policy.deny_all("this is a trial")],
            save_dir=None,
            app_data_dir=None,
            conversation_id=None,
            resume="auto",
            response_schema=None,
            wire_inspectors=[watch],
        )
        agent = Agent(trial)
        try:
            agent.start()
        except AntigravityError as error:
            yield _why_not(error, config)
            return
        try:
            yield _started(watch)
            yield from _stuck_tools(agent)
            yield _turn(agent)
        finally:
            report = agent.close()
    drift = sorted(set(drift_report()) - set(before))
    if drift:
        yield warning(
            "turn",
            f"the harness said what this package does not know: {', '.join(drift)}",
            "look for a newer version of this package, or use a tested harness",
        )
    if report.clean:
        yield ok("close", f"ended by itself in {report.duration:.2f} s")
    else:
        forced = ", ".join(report.forced) or f"exit code {report.exit_code}"
        yield warning("close", f"the harness did not end by itself ({forced})", "see the log")


def _why_not(error: AntigravityError, config: AgentConfig) -> Finding:
    found = failed("start", error)
    if type(error) is InitError and config.raw_config:
        return attrs.evolve(found, advice="raw_config is merged in: see that this version knows it")
    return found


def _started(watch: _Stopwatch) -> Finding:
    shaken, opened = watch.between("HarnessSpawn", "WsSend"), watch.between("WsSend", "WsReceive")
    said = f"handshake in {shaken:.2f} s, conversation open in {opened:.2f} s"
    if shaken + opened > _SLOW:
        return warning(
            "start", said, "the machine is slow or busy; see that start_timeout is enough"
        )
    return ok("start", said)


def _stuck_tools(agent: Agent) -> Iterator[Finding]:
    names = ", ".join(tool.value for tool in agent.unswitchable_tools)
    if names:
        yield warning(
            "tools",
            f"harness {agent.harness_version} offers {names} whatever capabilities say, and "
            "neither policies nor hooks see them",
            "use harness 0.1.14 or newer if that matters",
        )
    else:
        yield ok("tools", f"harness {agent.harness_version} offers no tool that was not asked for")


def _turn(agent: Agent) -> Finding:
    try:
        patience = agent.config.turn_timeout
        response = agent.chat(
            "Is all well?", timeout=_PATIENCE if patience is None else min(patience, _PATIENCE)
        )
    except AntigravityError as error:
        return failed("turn", error)
    if response.text != _ANSWER:
        return failure("turn", "the scripted answer did not come back", "use a tested harness")
    return ok("turn", f"a scripted turn took {response.duration:.2f} s")
