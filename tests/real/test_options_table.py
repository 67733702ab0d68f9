"""Every option on every version: sent, taken by the harness, and where its effect is proven.

An option that is added and not listed here fails the last test, which prints the table with `-s`.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import (
    Agent,
    AgentConfig,
    Capabilities,
    Hooks,
    McpServer,
    Model,
    Retry,
    Subagent,
    SystemInstructions,
    policy,
)
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.errors import ConfigError
from antigravity_sync.testing import ScriptedModel
from tests.versions import VERSIONS, release

pytestmark = pytest.mark.real

TESTS: Final = Path(__file__).parents[1]
#: (option, version) → what happened there.
TABLE: Final[dict[tuple[str, str], str]] = {}
SENT: Final = "sent, taken"
REFUSED: Final = "refused"
WARNED: Final = "warned"
OURS: Final = "ours"


def noted(_call: object) -> None:
    """Look at a call."""


def pick(number: int) -> int:
    """Give it back."""
    return number


@attrs.frozen
class Case:
    """One option.

    Attributes:
        proof: Test that proves its effect, as `file::name` below `tests`.
        value: What it is set to; left out where it never gets to the harness.
        beside: Options it needs.
        first: First version that has it; older ones must refuse it, or
        warning: say this in the log.
    """

    proof: str
    value: Any = None
    beside: Mapping[str, Any] = attrs.field(factory=dict)
    first: str = "0.1.5"
    warning: str = ""
    is_ours: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "is_ours", self.value is None)


RULES: Final = {"policies": [policy.deny("run_command")]}
CASES: Final = {
    "harness_path": Case("real/test_turns.py::test_harness_version_is_told_from_the_binary"),
    "env": Case("real/test_process_commands.py::test_key_when_the_agents_shell_looks_for_it"),
    "save_dir": Case("real/test_resume.py::test_resume_when_closed"),
    "app_data_dir": Case("real/test_containment_real.py::test_app_data_when_it_is_looked_at"),
    "conversation_id": Case("real/test_resume.py::test_resume_when_closed"),
    "resume": Case("real/test_resume.py::test_resume_when_told_must_or_never"),
    "model": Case(
        "real/test_model_options_real.py::test_request_when_options_are_given", "another-model"
    ),
    "models": Case(
        "real/test_media.py::test_generate_image_when_there_is_an_image",
        [Model("painter", types="image")],
    ),
    "api_key": Case("real/test_model_errors.py::test_a_bad_key_reported_as_400"),
    "base_url": Case("real/test_turns.py::test_chat_returns_the_models_text"),
    "system_instructions": Case(
        "real/test_prompting_real.py::test_instructions_when_they_replace",
        SystemInstructions.append("Be brief."),
    ),
    "workspaces": Case("real/test_governance_matrix.py::test_call_when_it_is_decided", ()),
    "announce_workspaces": Case(
        "real/test_prompting_real.py::test_instructions_when_they_replace",
        False,
        {"system_instructions": "Be brief."},
    ),
    "skills_paths": Case("real/test_prompting_real.py::test_skills_when_given", [TESTS]),
    "capabilities": Case(
        "real/test_decisions.py::test_what_the_model_is_offered", Capabilities.none()
    ),
    "policies": Case(
        "real/test_governance_matrix.py::test_call_when_it_is_decided",
        [policy.deny("view_file")],
        {"contain_workspaces": False},
    ),
    "hooks": Case(
        "real/test_decisions.py::test_hooks_are_called_in_order", [Hooks(on_post_tool=noted)]
    ),
    "hook_timeout": Case("real/test_hook_watch.py::test_hook_when_its_time_is_up"),
    "contain_workspaces": Case(
        "real/test_containment_real.py::test_containment_when_switched_off", False
    ),
    "tools": Case("real/test_decisions.py::test_a_tool_runs_on_the_waiting", [pick]),
    "tool_workers": Case("real/test_subagents_real.py::test_tools_when_two_subagents_call_them"),
    "callback_wrapper": Case("real/test_decisions.py::test_a_wrapper_is_put_around"),
    "mcp_servers": Case(
        "real/test_mcp_servers.py::test_call_when_the_servers_are_real",
        [McpServer.stdio(sys.executable, ["-c", ""], name="plain")],
        RULES,
    ),
    "subagents": Case(
        "real/test_subagents_real.py::test_subagent_when_started",
        [Subagent("helper", description="helps")],
        {**RULES, "capabilities": Capabilities.read_only().enable("start_subagent")},
        first="0.1.10",
    ),
    "triggers": Case("real/test_triggers_real.py::test_trigger_when_its_interval_passes"),
    "on_trigger_busy": Case("real/test_triggers_real.py::test_call_when_a_triggers_turn_runs"),
    "response_schema": Case(
        "real/test_structured_output.py::test_answer_when_schema_given", {"type": "object"}
    ),
    "turn_timeout": Case("real/test_cancel.py::test_the_deadline_halts"),
    "start_timeout": Case("loop/test_start_failures.py::test_start_when_an_answer_never_comes"),
    "close_timeout": Case("loop/test_close.py::test_close"),
    "task_wait": Case("real/test_background_commands.py::test_a_background_command_that_never"),
    "retry": Case(
        "real/test_model_errors.py::test_retries_are_bounded",
        Retry(max_retries=1),
        first="0.1.8",
        warning="`retry` is ignored",
    ),
    "budget": Case("real/test_limits_real.py::test_model_calls_when_used_up"),
    "compaction": Case(
        "real/test_limits_real.py::test_compaction_when_the_history_is_long", 50_000
    ),
    "tool_output_limit": Case(
        "real/test_limits_real.py::test_tool_output_when_longer", 500, first="0.1.6"
    ),
    "max_history": Case("real/test_resume.py::test_history_when_there_is_more_than_it_keeps"),
    "wire_inspectors": Case("real/test_recording_real.py::test_recording_when_replayed"),
    "raw_config": Case(
        "real/test_prompting_real.py::test_raw_config_when_it_says_otherwise",
        {"appDataDir": "/nowhere"},
    ),
}
SHOWN: Final = {name: case for name, case in CASES.items() if not case.is_ours}


@functools.cache
def names_in(path: str) -> tuple[str, ...]:
    """Return the names of the tests of a file."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def default_of(name: str) -> Any:
    """Return what an option is when nobody says."""
    default = attrs.fields_dict(AgentConfig)[name].default
    return default.factory() if isinstance(default, attrs.Factory) else default


def first_message(config: AgentConfig, version: str) -> str:
    """Return what is sent of a configuration to a version."""
    return render_init(
        config,
        conversation=Conversation(),
        api_key="k",
        app_data_dir="/data",
        dialect=Dialect.of(version),
    ).text


@pytest.mark.parametrize("name", SHOWN)
def test_option_when_given_then_sent_and_taken_or_refused(make_agent, version, name, caplog):
    """The first message says it, and the harness opens a conversation with it; or we say no."""
    case = SHOWN[name]
    with ScriptedModel() as model:
        plain = make_agent(model, **case.beside).config
        if release(version) < release(case.first) and case.warning:
            with Agent(plain.evolve(**{name: case.value})):
                assert case.warning in caplog.text
            TABLE[name, version] = WARNED
            return
        if release(version) < release(case.first):
            with pytest.raises(ConfigError), Agent(plain.evolve(**{name: case.value})):
                pytest.fail("it was taken")
            TABLE[name, version] = REFUSED
            return
        without = plain.evolve(**{name: default_of(name)})
        given = plain.evolve(**{name: case.value})
        assert first_message(given, version) != first_message(without, version)
        with Agent(given) as agent:
            assert agent.conversation_id
        TABLE[name, version] = SENT


def test_table_when_all_has_run_then_every_option_is_in_it_and_proven():
    """No option is untested and none is silently ignored; with `-s` the table is shown."""
    assert set(CASES) == {field.name for field in attrs.fields(AgentConfig)}
    rows = [["option", *VERSIONS, "effect"]]
    for name, case in CASES.items():
        path, _, start = case.proof.partition("::")
        assert any(test.startswith(start) for test in names_in(path)), f"{name}: no {case.proof}"
        cells = [OURS if case.is_ours else TABLE.get((name, version), "") for version in VERSIONS]
        assert all(cells), f"{name}: {cells}"
        rows.append([name, *cells, case.proof])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    print("\n" + "\n".join(lines))  # noqa: T201 - the table
