"""From options to the first message, in the spelling of each harness version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from antigravity_sync import (
    AgentConfig,
    Capabilities,
    Gemini,
    Hooks,
    McpServer,
    Model,
    Retry,
    Subagent,
    policy,
)
from antigravity_sync._wire import dialect as dialect_module
from antigravity_sync._wire.dialect import ALL_VERSIONS, NEWEST, Dialect
from antigravity_sync._wire.probing import probe_fields
from antigravity_sync._wire.render import Conversation, Rendered, render_init
from antigravity_sync.capabilities import BuiltinTool
from antigravity_sync.config import check_options

TABLE = json.loads(Path(dialect_module.__file__).with_name("fields.json").read_text("utf-8"))

#: Flag of each tool that the harness runs; `finish` has none, it comes with a response schema.
FLAGS = {
    "list_directory": "listDir",
    "search_directory": "grepSearch",
    "find_file": "find",
    "view_file": "viewFile",
    "create_file": "writeToFile",
    "edit_file": "fileEdit",
    "run_command": "runCommand",
    "ask_question": "userQuestions",
    "start_subagent": "subagents",
    "generate_image": "generateImage",
    "search_web": "searchWeb",
    "read_url_content": "readUrlContent",
    "manage_task": "manageTask",
    "schedule": "schedule",
    "run_workflow": "runWorkflow",
}
#: Flags that came after 0.1.5, with the first release that knows them.
LATER_FLAGS = {
    "readUrlContent": "0.1.6",
    "manageTask": "0.1.14",
    "schedule": "0.1.14",
    "runWorkflow": "0.1.22",
}

FULL = AgentConfig(
    model=Model("m", Gemini(api_key="k", base_url="http://127.0.0.1:1", headers={"X-Team": "a"})),
    system_instructions="Be brief.",
    capabilities=Capabilities.all(),
    policies=[policy.deny("run_command")],
    retry=Retry(max_retries=7, first_delay=0.25, multiplier=3.0, max_output_retries=4),
    compaction=50_000,
    tool_output_limit=5,
)
CONVERSATION = Conversation("c" * 32, "RESUME")


def render(
    config: AgentConfig = FULL,
    version: str = "0.1.10",
    *,
    conversation: Conversation = CONVERSATION,
    is_probe: bool = False,
) -> Rendered:
    return render_init(
        config,
        conversation=conversation,
        api_key="the-key",
        app_data_dir="/data",
        dialect=Dialect(version),
        is_probe=is_probe,
    )


def sent(*args: Any, **options: Any) -> dict[str, Any]:
    message = json.loads(render(*args, **options).text)
    assert list(message) == ["config"]
    return dict(message["config"])


def unknown_names(message: str, value: dict[str, Any], index: int, path: str = "") -> list[str]:
    """Return what the release at `index` would stumble over, by the table alone."""
    found = []
    fields = TABLE["messages"][message]
    for key, item in value.items():
        kinds = [kind for first, last, kind in fields.get(key, ()) if first <= index <= last]
        if not kinds:
            found.append(f"{path}{key}")
            continue
        kind = kinds[0].removeprefix("repeated ")
        for one in item if isinstance(item, list) else [item]:
            if isinstance(one, dict) and kind in TABLE["messages"]:
                found += unknown_names(kind, one, index, f"{path}{key}.")
            elif isinstance(one, str) and kind in TABLE["enums"]:
                spans = TABLE["enums"][kind].get(one, [])
                if not any(first <= index <= last for first, last in spans):
                    found.append(f"{path}{key}={one}")
    return found


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_init_when_rendered_then_the_release_knows_every_name(version: str) -> None:
    """Nothing is sent that the release does not know: it would end the session."""
    index = ALL_VERSIONS.index(version)
    assert unknown_names("HarnessConfig", sent(FULL, version), index) == []


def test_checker_when_a_name_is_too_new_then_found() -> None:
    """The check above can fail: it finds fields, nested fields and enum names."""
    config = {
        "policyConfig": {},
        "harnessSideTools": {"runWorkflow": {"enabled": True}},
        "enabledHooks": ["LIFECYCLE_HOOK_STOP"],
        "nonsense": 1,
    }
    assert unknown_names("HarnessConfig", config, 0) == [
        "policyConfig",
        "harnessSideTools.runWorkflow",
        "enabledHooks=LIFECYCLE_HOOK_STOP",
        "nonsense",
    ]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_dropped_when_rendered_then_exactly_what_is_missing(version: str) -> None:
    """What a release cannot be told is reported, so that nothing is lost in silence."""
    newest = sent(FULL, ALL_VERSIONS[-1])
    index = ALL_VERSIONS.index(version)
    expected = set(unknown_names("HarnessConfig", newest, index))
    assert set(render(FULL, version).dropped) == expected


@pytest.mark.parametrize("version", ["0.1.5", "0.1.10", "0.1.22"])
@pytest.mark.parametrize("tool", FLAGS)
def test_flags_when_one_tool_is_wanted_then_that_flag_alone_is_on(tool: str, version: str) -> None:
    """Each tool has one flag; the others are sent as off, for absence has meant both."""
    config = AgentConfig(
        capabilities=Capabilities.none().enable(tool), policies=[policy.allow_all()]
    )
    known = {
        flag
        for flag in FLAGS.values()
        if flag not in LATER_FLAGS
        or ALL_VERSIONS.index(version) >= ALL_VERSIONS.index(LATER_FLAGS[flag])
    }
    flags = sent(config, version)["harnessSideTools"]
    assert flags == {flag: {"enabled": flag == FLAGS[tool]} for flag in known}


def test_flags_when_a_builtin_is_added_then_it_must_be_here() -> None:
    """Every tool but `finish` has a flag."""
    assert set(FLAGS) == {tool.value for tool in BuiltinTool} - {"finish"}


@pytest.mark.parametrize(
    ("capabilities", "on"),
    [
        (Capabilities.read_only(), {"listDir", "grepSearch", "find", "viewFile"}),
        (Capabilities.none(), set()),
        (Capabilities.all(), set(FLAGS.values())),
    ],
)
def test_flags_when_a_preset_is_used_then_its_tools(
    capabilities: Capabilities, on: set[str]
) -> None:
    """The presets mean the same on the wire as in their names."""
    config = AgentConfig(capabilities=capabilities, policies=[policy.allow_all()])
    flags = sent(config, NEWEST.version)["harnessSideTools"]
    assert {name for name, flag in flags.items() if flag["enabled"]} == on


def test_model_when_it_has_everything_then_sent_with_the_resolved_key() -> None:
    """The model goes with its name, address, headers, and the key that was resolved."""
    assert sent(FULL.evolve(capabilities=Capabilities.none()))["models"] == [
        {
            "name": "m",
            "types": ["MODEL_TYPE_TEXT"],
            "geminiApiEndpoint": {
                "apiKey": "the-key",
                "baseUrl": "http://127.0.0.1:1",
                "httpHeaders": {"X-Team": "a"},
            },
        }
    ]


def test_model_when_bare_then_only_name_and_key() -> None:
    """What is not set is not sent."""
    (model,) = sent(AgentConfig(model="m"))["models"]
    assert model["geminiApiEndpoint"] == {"apiKey": "the-key"}


def test_workspaces_when_several_then_in_order(tmp_path: Path) -> None:
    """Workspaces keep their order; none are none."""
    paths = [tmp_path / name for name in ("b", "a")]
    for path in paths:
        path.mkdir()
    assert sent(AgentConfig(workspaces=paths))["workspaces"] == [
        {"filesystemWorkspace": {"directory": str(path.resolve())}} for path in paths
    ]
    assert sent(AgentConfig(workspaces=()))["workspaces"] == []


def test_instructions_when_given_then_they_replace() -> None:
    """Text replaces the harness's own instructions; without text nothing is sent."""
    text, _note = sent()["systemInstructions"]["custom"]["part"]
    assert text == {"text": "Be brief."}
    assert "systemInstructions" not in sent(AgentConfig())


def test_directory_when_given_then_sent() -> None:
    """The harness is always told where to keep its files."""
    assert sent(AgentConfig())["appDataDir"] == "/data"


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_retry_when_set_then_in_milliseconds_where_known(version: str) -> None:
    """Bounds of retries go to every release that has them, since 0.1.8."""
    expected = {
        "apiRetry": {
            "maxRetries": 7,
            "initialSleepDurationMs": 250,
            "exponentialMultiplier": 3.0,
        },
        "modelOutputRetry": {"maxRetries": 4},
    }
    has_it = Dialect(version).has_retry_config
    assert sent(FULL, version).get("retryConfig") == (expected if has_it else None)


def test_hook_when_there_are_policies_then_enabled() -> None:
    """Rules need the harness to ask before each call; with nothing to ask it is not slowed."""
    assert sent()["enabledHooks"] == ["LIFECYCLE_HOOK_PRE_TOOL"]
    assert "enabledHooks" not in sent(AgentConfig(contain_workspaces=False))


def test_hook_when_workspaces_are_contained_then_enabled() -> None:
    """The fence is asked before each call too, and it stands unless taken down."""
    assert sent(AgentConfig())["enabledHooks"] == ["LIFECYCLE_HOOK_PRE_TOOL"]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_conversation_when_resumed_then_id_and_mode_where_known(version: str) -> None:
    """An id is sent as it is; the mode only to releases that know modes."""
    config = sent(FULL, version)
    assert config["cascadeId"] == "c" * 32
    has_modes = Dialect(version).has_continuation_mode
    assert config.get("sessionContinuationMode") == ("RESUME" if has_modes else None)


def test_conversation_when_new_then_no_id() -> None:
    """The harness chooses the id of a new conversation."""
    config = sent(conversation=Conversation())
    assert "cascadeId" not in config
    assert config["sessionContinuationMode"] == "CREATE_ONLY"


# ── raw_config ──────────────────────────────────────────────────────────────────────────────────


def test_raw_config_when_nested_then_merged_last() -> None:
    """Objects are merged, everything else is replaced, and the rest stays."""
    raw = {
        "retryConfig": {"apiRetry": {"maxRetries": 99}},
        "enabledHooks": [],
        "appDataDir": "/other",
        "workspaces": None,
    }
    before, after = sent(), sent(FULL.evolve(raw_config=raw))
    assert after["retryConfig"]["apiRetry"] == before["retryConfig"]["apiRetry"] | {
        "maxRetries": 99
    }
    assert after["retryConfig"]["modelOutputRetry"] == before["retryConfig"]["modelOutputRetry"]
    assert (after["enabledHooks"], after["appDataDir"], after["workspaces"]) == ([], "/other", None)
    assert after["models"] == before["models"]


@pytest.mark.parametrize("version", ["0.1.5", "0.1.22"])
def test_raw_config_when_unknown_then_sent_all_the_same(version: str) -> None:
    """`raw_config` is the user's word: it is not filtered, so that the harness can complain."""
    raw = {"brandNew": {"x": 1}, "mcpMaxOutputBytes": 5}
    config = sent(FULL.evolve(raw_config=raw), version)
    assert (config["brandNew"], config["mcpMaxOutputBytes"]) == ({"x": 1}, 5)


# ── probing ─────────────────────────────────────────────────────────────────────────────────────


def test_probe_when_the_version_is_a_guess_then_telling_fields_come_first() -> None:
    """A guess is sent with the fields that make a wrong guess show, and with the same content."""
    probing, plain = sent(version="0.1.22", is_probe=True), sent(version="0.1.22")
    order = list(probe_fields())
    assert list(probing)[: len(order)] == order
    assert {key: value for key, value in probing.items() if key in plain} == {
        **plain,
        "harnessSideTools": probing["harnessSideTools"],
        "systemInstructions": probing["systemInstructions"],
    }
    flags = probing["harnessSideTools"]
    assert {name: flag["enabled"] for name, flag in flags.items()} == {
        name: flag["enabled"] for name, flag in plain["harnessSideTools"].items()
    }
    assert all(probing[key] is None for key in order if key not in plain)


@pytest.mark.parametrize("version", ["0.1.5", "0.1.10"])
def test_probe_when_an_older_guess_then_still_only_known_names(version: str) -> None:
    """The telling fields are filtered like everything else, and their loss is not reported."""
    index = ALL_VERSIONS.index(version)
    config = sent(version=version, is_probe=True)
    assert unknown_names("HarnessConfig", config, index) == []
    plain = set(render(version=version).dropped)
    assert set(render(version=version, is_probe=True).dropped) == plain


# ── as text ─────────────────────────────────────────────────────────────────────────────────────


def test_text_when_not_ascii_then_plain() -> None:
    """Text is sent as it is, not as escapes."""
    assert "Sei kürzer 日本" in render(AgentConfig(system_instructions="Sei kürzer 日本")).text


def test_rendered_when_printed_then_no_key() -> None:
    """The message holds the key, so its printed form does not show it."""
    rendered = render()
    assert "the-key" in rendered.text
    assert "the-key" not in repr(rendered)


#: Options that decide something on this side of the wire, and are not in the first message.
LOCAL_OPTIONS = {
    "harness_path": "which program is started",
    "env": "the child's environment",
    "save_dir": "in the handshake",
    "app_data_dir": "passed in resolved",
    "conversation_id": "passed in resolved",
    "resume": "passed in resolved",
    "api_key": "passed in resolved",
    "turn_timeout": "ours",
    "start_timeout": "ours",
    "close_timeout": "ours",
    "task_wait": "ours",
    "hook_timeout": "ours",
    "wire_inspectors": "ours",
    "tool_workers": "ours",
    "callback_wrapper": "ours",
    "max_history": "ours",
    "budget": "ours",
    "triggers": "ours",
    "on_trigger_busy": "ours",
}


def pick(number: int) -> int:
    """Give it back."""
    return number


CHANGED = {
    "model": "other",
    "models": [Model("painter", types="image")],
    "base_url": "http://127.0.0.1:2",
    "system_instructions": "Other.",
    "workspaces": (),
    "announce_workspaces": False,
    "skills_paths": [os.curdir],
    "capabilities": Capabilities.none(),
    "policies": [policy.allow_all()],
    "hooks": [Hooks(on_post_tool=lambda _outcome: None)],
    "contain_workspaces": False,
    "tools": [pick],
    "mcp_servers": [McpServer.http("http://127.0.0.1:3", name="web")],
    "subagents": [Subagent("helper")],
    "response_schema": {"type": "object"},
    "retry": Retry(max_retries=1),
    "compaction": 50_000,
    "tool_output_limit": 5,
    "raw_config": {"x": 1},
}


def test_options_when_one_is_added_then_it_is_rendered_or_ours() -> None:
    """Every option is in exactly one of the two tables above."""
    check_options([*LOCAL_OPTIONS, *CHANGED])
    names = {field.name for field in attrs.fields(AgentConfig)}
    assert names == set(LOCAL_OPTIONS) | set(CHANGED)
    assert not set(LOCAL_OPTIONS) & set(CHANGED)


@pytest.mark.parametrize("name", CHANGED)
def test_option_when_changed_then_the_message_changes(name: str) -> None:
    """No option of the harness is silently ignored."""
    base = AgentConfig(
        policies=[policy.deny("run_command")],
        system_instructions="Mine.",
        capabilities=Capabilities.read_only().enable("start_subagent"),
    )
    assert sent(base.evolve(**{name: CHANGED[name]})) != sent(base)
