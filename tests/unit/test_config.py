"""Every option is checked when the configuration is made, and the message names it."""

from __future__ import annotations

import copy
import math
import os
import pickle
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import pytest

from antigravity_sync import (
    Agent,
    AgentConfig,
    Capabilities,
    Gemini,
    Hooks,
    McpServer,
    Model,
    Retry,
    policy,
)
from antigravity_sync.config import (
    KEY_VARIABLES,
    check_options,
    merged_environment,
    resolve_key,
    without_keys,
)
from antigravity_sync.errors import ConfigError
from antigravity_sync.models import DEFAULT_MODEL

LONE_SURROGATE = "\ud800"
SECRET = "do-not-show-this"

#: Option, a value it must refuse. Every option of `AgentConfig` appears.
BAD_VALUES: list[tuple[str, Any]] = [
    ("harness_path", 5),
    ("harness_path", b"/bin/true"),
    ("env", ["A=B"]),
    ("env", {"A": 5}),
    ("env", {"": "x"}),
    ("env", {"A=B": "x"}),
    ("env", {"A\0": "x"}),
    ("env", {"A": "x\0"}),
    ("env", {5: "x"}),
    ("env", {"A": LONE_SURROGATE}),
    ("env", {LONE_SURROGATE: "x"}),
    ("save_dir", 5),
    ("save_dir", ""),
    ("save_dir", b"/tmp"),
    ("save_dir", "a\0b"),
    ("save_dir", "~no-such-user/x"),
    ("app_data_dir", 5),
    ("app_data_dir", ""),
    ("app_data_dir", "/tmp/" + LONE_SURROGATE),
    ("conversation_id", 5),
    ("conversation_id", ""),
    ("conversation_id", LONE_SURROGATE),
    ("conversation_id", "without a save_dir"),
    ("resume", "always"),
    ("resume", None),
    ("resume", ["auto"]),
    ("resume", "must"),
    ("model", 5),
    ("model", Model("m", types="image")),
    ("model", ""),
    ("model", "  "),
    ("models", 5),
    ("models", ["a", 5]),
    ("models", ["a", "b"]),
    ("api_key", 5),
    ("api_key", LONE_SURROGATE),
    ("base_url", 5),
    ("base_url", "localhost:8080"),
    ("base_url", "ftp://localhost"),
    ("base_url", "http://"),
    ("base_url", "http://["),
    ("system_instructions", 5),
    ("system_instructions", ["be", "brief"]),
    ("system_instructions", "be " + LONE_SURROGATE),
    ("workspaces", 5),
    ("workspaces", None),
    ("workspaces", [5]),
    ("workspaces", ""),
    ("workspaces", b"/tmp"),
    ("workspaces", "a\0b"),
    ("workspaces", "/no/such/directory"),
    ("workspaces", __file__),
    ("workspaces", ["/tmp", "/no/such/directory"]),
    ("announce_workspaces", "no"),
    ("skills_paths", 5),
    ("skills_paths", ["/tmp", "/no/such/directory"]),
    ("skills_paths", __file__),
    ("capabilities", "all"),
    ("capabilities", {"view_file"}),
    ("policies", "deny_all"),
    ("policies", None),
    ("policies", [policy.deny_all(), "view_file"]),
    ("hooks", 5),
    ("hooks", None),
    ("hooks", [Hooks(), print]),
    ("budget", 5),
    ("budget", {"model_calls": 5}),
    ("compaction", 0),
    ("compaction", 1.5),
    ("compaction", 2**31),
    ("tool_output_limit", 0),
    ("tool_output_limit", "5"),
    ("contain_workspaces", None),
    ("contain_workspaces", 1),
    ("tools", 5),
    ("tools", None),
    ("tools", "tools"),
    ("tools", [print, 5]),
    ("tool_workers", -1),
    ("tool_workers", None),
    ("tool_workers", True),
    ("mcp_servers", None),
    ("mcp_servers", "python server.py"),
    ("mcp_servers", [{"name": "git", "command": "git-mcp"}]),
    ("mcp_servers", [McpServer.http("http://a", name="a")]),
    ("mcp_servers", [McpServer.http("http://a", name="a"), McpServer.stdio("b", name="a")]),
    ("triggers", "tick"),
    ("triggers", [7]),
    ("on_trigger_busy", "kill"),
    ("response_schema", "object"),
    ("response_schema", {"type": "array"}),
    ("response_schema", int),
    ("subagents", None),
    ("subagents", ["helper"]),
    ("callback_wrapper", 5),
    ("callback_wrapper", "wrap"),
    *(
        (name, value)
        for name in (
            "turn_timeout",
            "start_timeout",
            "close_timeout",
            "task_wait",
            "hook_timeout",
        )
        for value in (0, 0.0, -1, math.nan, "5", True, b"", -math.inf)
    ),
    ("close_timeout", None),
    ("close_timeout", math.inf),
    ("retry", 3),
    ("retry", None),
    ("max_history", -1),
    ("max_history", 1.5),
    ("max_history", True),
    ("max_history", None),
    ("wire_inspectors", 5),
    ("wire_inspectors", ["print"]),
    ("wire_inspectors", None),
    ("raw_config", []),
    ("raw_config", None),
    ("raw_config", {"x": object()}),
    ("raw_config", {"x": math.nan}),
    ("raw_config", {"x": LONE_SURROGATE}),
    ("raw_config", {("a", "b"): 1}),
]


@pytest.mark.parametrize(
    ("name", "value"),
    BAD_VALUES,
    ids=[f"{n}={v!a}"[:60].partition(" object at")[0] for n, v in BAD_VALUES],
)
def test_option_when_bad_then_the_error_names_it(name: str, value: Any) -> None:
    """A bad value is a `ConfigError`, which is a `ValueError`, and its text names the option."""
    with pytest.raises(ConfigError) as caught:
        AgentConfig(**{name: value})
    assert name in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_bad_values_when_an_option_is_added_then_it_must_be_here() -> None:
    """The table above covers every option."""
    assert {name for name, _ in BAD_VALUES} == {f.name for f in attrs.fields(AgentConfig)}


@pytest.mark.parametrize("make", [AgentConfig, Agent, AgentConfig().evolve])
def test_unknown_option_when_near_one_then_the_hint_names_it(make: Any) -> None:
    """A misspelt option is refused with the right spelling."""
    with pytest.raises(ConfigError, match=r"'modle'.*did you mean model\?"):
        make(modle="x")


def test_unknown_option_when_near_nothing_then_all_are_listed() -> None:
    """A name like no option brings the list of options."""
    with pytest.raises(ConfigError, match=r"harness_path.*turn_timeout.*raw_config"):
        check_options(["qqqq"])


def test_agent_when_given_no_config_object_then_says_what_it_got() -> None:
    """The positional argument of `Agent` must be an `AgentConfig`."""
    with pytest.raises(ConfigError, match="AgentConfig, not dict"):
        Agent({"model": "x"})  # type: ignore[arg-type]


def test_agent_when_given_config_and_options_then_options_win() -> None:
    """Options beside a configuration override it and leave it as it was."""
    config = AgentConfig(model="one", task_wait=1.0)
    merged = Agent(config, model="two").config
    assert (merged.text_model().name, merged.task_wait) == ("two", 1.0)
    assert config.text_model().name == "one"


def test_defaults_when_nothing_is_given_then_read_only_and_bounded() -> None:
    """The default looks at files only, has a timeout on everything, and works where it is."""
    config = AgentConfig()
    assert config.capabilities == Capabilities.read_only()
    assert (config.turn_timeout, config.start_timeout, config.close_timeout, config.task_wait) == (
        300.0,
        30.0,
        10.0,
        60.0,
    )
    assert config.workspaces == (os.path.realpath(os.getcwd()),)
    assert config.text_model() == Model(DEFAULT_MODEL, Gemini())


def test_config_when_made_then_frozen_and_keyword_only() -> None:
    """A configuration cannot be changed, nor built by position."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        AgentConfig().model = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        AgentConfig("/bin/true")  # type: ignore[misc]


@pytest.mark.parametrize("name", ["turn_timeout", "start_timeout", "task_wait"])
@pytest.mark.parametrize("value", [None, 1, 0.001, math.inf])
def test_patience_when_positive_or_none_then_kept(name: str, value: float | None) -> None:
    """Whole numbers, fractions, infinity and `None` are times a caller may be ready to wait."""
    assert getattr(AgentConfig(**{name: value}), name) == value


# ── paths ───────────────────────────────────────────────────────────────────────────────────────


def test_workspaces_when_relative_links_then_real_and_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workspaces are resolved at construction: later changes of directory or links do not count."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    config = AgentConfig(workspaces=["link", Path("real/../real")])
    monkeypatch.chdir("/")
    assert config.workspaces == (str(real.resolve()), str(real.resolve()))


@pytest.mark.parametrize("make", [str, Path, lambda path: [path], lambda path: iter([path])])
def test_workspaces_when_one_or_many_then_a_tuple(make: Any, tmp_path: Path) -> None:
    """One path, a list and an iterator are all taken."""
    assert AgentConfig(workspaces=make(tmp_path)).workspaces == (str(tmp_path.resolve()),)


def test_workspaces_when_empty_then_none_at_all() -> None:
    """No workspace is a choice, and not the current directory."""
    assert AgentConfig(workspaces=()).workspaces == ()


def test_workspaces_when_home_then_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~` is the user's home directory."""
    (tmp_path / "repo").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert AgentConfig(workspaces="~/repo").workspaces == (str((tmp_path / "repo").resolve()),)


def test_workspaces_when_bad_then_says_how(tmp_path: Path) -> None:
    """The message tells a missing directory from a file."""
    with pytest.raises(ConfigError, match="does not exist"):
        AgentConfig(workspaces=tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is not a directory"):
        AgentConfig(workspaces=tmp_path / "file")


def test_workspaces_when_the_current_directory_is_gone_then_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default workspace is checked like any other."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="workspaces"):
        AgentConfig()


@pytest.mark.parametrize("name", ["save_dir", "app_data_dir"])
def test_directories_when_relative_then_absolute_but_not_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory to write to is fixed at construction and made only at the start."""
    monkeypatch.chdir(tmp_path)
    assert getattr(AgentConfig(**{name: "kept"}), name) == str(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


# ── safety ──────────────────────────────────────────────────────────────────────────────────────

RISKY = [
    "create_file",
    "edit_file",
    "run_command",
    "ask_question",
    "start_subagent",
    "generate_image",
    "search_web",
    "read_url_content",
    "manage_task",
    "schedule",
    "run_workflow",
]


@pytest.mark.parametrize("tool", RISKY)
def test_safety_gate_when_a_tool_changes_things_ungoverned_then_refused(tool: str) -> None:
    """Each tool outside the read-only five needs a rule, and the message names tool and remedy."""
    capabilities = Capabilities.read_only().enable(tool)
    with pytest.raises(ConfigError, match=rf"{tool}.*policies"):
        AgentConfig(capabilities=capabilities)


@pytest.mark.parametrize(
    "rule", [policy.allow_all(), policy.deny_all(), policy.deny("view_file")], ids=str
)
def test_safety_gate_when_any_rule_exists_then_open(rule: policy.Policy) -> None:
    """Any policy counts as governing: what it says is the user's choice."""
    assert AgentConfig(capabilities=Capabilities.all(), policies=rule).policies == (rule,)


@pytest.mark.parametrize("capabilities", [Capabilities.read_only(), Capabilities.none()])
def test_safety_gate_when_nothing_changes_things_then_open(capabilities: Capabilities) -> None:
    """Looking needs no rule."""
    assert AgentConfig(capabilities=capabilities).policies == ()


def test_safety_gate_when_evolved_then_checked_again() -> None:
    """`evolve` cannot smuggle a tool past the gate, nor drop the rules that open it."""
    config = AgentConfig(capabilities=Capabilities.all(), policies=[policy.allow_all()])
    with pytest.raises(ConfigError, match="run_command"):
        config.evolve(policies=())
    with pytest.raises(ConfigError, match="run_command"):
        AgentConfig().evolve(capabilities=Capabilities.all())


# ── model, key, secrets ─────────────────────────────────────────────────────────────────────────


def test_key_when_given_everywhere_then_the_nearest_wins() -> None:
    """The endpoint's key beats the agent's, which beats the variable."""
    environ = {"GEMINI_API_KEY": "from-variable"}
    endpoint = AgentConfig(model=Model("m", Gemini(api_key="from-endpoint")), api_key="from-agent")
    assert resolve_key(endpoint.text_model(), environ) == "from-endpoint"
    assert resolve_key(AgentConfig(api_key="from-agent").text_model(), environ) == "from-agent"
    assert resolve_key(AgentConfig().text_model(), environ) == "from-variable"


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_key_when_blank_then_as_good_as_none(blank: str) -> None:
    """An empty key is looked past; with nothing else the error lists what was looked at."""
    model = AgentConfig(model=Model("m", Gemini(api_key=blank)), api_key=blank).text_model()
    assert resolve_key(model, {"GEMINI_API_KEY": " key\n"}) == "key"
    with pytest.raises(ConfigError, match=r"endpoint.*api_key.*GEMINI_API_KEY"):
        resolve_key(model, {"GEMINI_API_KEY": blank})


def test_text_model_when_endpoint_is_bare_then_filled_from_the_agent() -> None:
    """Key and address of the agent serve a model that has none; headers stay."""
    bare = Model("m", Gemini(headers={"X-Team": "a"}))
    config = AgentConfig(model=bare, api_key="k", base_url="http://127.0.0.1:1")
    filled = Gemini(api_key="k", base_url="http://127.0.0.1:1", headers={"X-Team": "a"})
    assert config.text_model() == Model("m", filled)
    own = Model("m", Gemini(api_key="own", base_url="http://127.0.0.1:2"))
    assert config.evolve(model=own).text_model() == own


def test_repr_when_secrets_are_set_then_hidden() -> None:
    """No printed form of a configuration shows a key, a header, a variable or raw content."""
    config = AgentConfig(
        api_key=SECRET,
        env={"TOKEN": SECRET},
        raw_config={"x": SECRET},
        model=Model("m", Gemini(api_key=SECRET, headers={"Authorization": SECRET})),
    )
    for shown in (repr(config), str(config), repr(config.text_model()), repr(Agent(config))):
        assert SECRET not in shown


def test_errors_when_a_secret_is_bad_then_it_is_not_quoted() -> None:
    """Complaints about secrets name the option only."""
    for options in (
        {"api_key": SECRET + LONE_SURROGATE},
        {"env": {"TOKEN": SECRET + "\0"}},
        {"raw_config": {"x": SECRET + LONE_SURROGATE}},
    ):
        with pytest.raises(ConfigError) as caught:
            AgentConfig(**options)
        assert SECRET not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        Gemini(headers={"Authorization": SECRET + LONE_SURROGATE})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Model(5),  # type: ignore[arg-type]
        lambda: Model(" "),
        lambda: Model("m", "http://127.0.0.1"),  # type: ignore[arg-type]
        lambda: Gemini(api_key=5),  # type: ignore[arg-type]
        lambda: Gemini(base_url="127.0.0.1"),
        lambda: Gemini(headers={"A": 5}),  # type: ignore[dict-item]
        lambda: Gemini(headers={"": "x"}),
        lambda: Gemini(headers="A: b"),  # type: ignore[arg-type]
        lambda: Retry(max_retries=-1),
        lambda: Retry(max_retries=1.5),  # type: ignore[arg-type]
        lambda: Retry(max_retries=True),
        lambda: Retry(max_output_retries=-1),
        lambda: Retry(first_delay=math.inf),
        lambda: Retry(first_delay=-0.1),
        lambda: Retry(multiplier=math.nan),
        lambda: Retry(multiplier="2"),  # type: ignore[arg-type]
    ],
)
def test_model_and_retry_when_bad_then_config_error(make: Any) -> None:
    """The parts of a configuration are checked when they are made."""
    with pytest.raises(ConfigError):
        make()


# ── environment of the child ────────────────────────────────────────────────────────────────────


def test_child_environment_when_changed_then_set_and_removed_in_a_copy() -> None:
    """`env` sets and removes variables and touches neither its source nor itself."""
    environ = {"KEEP": "1", "DROP": "1"}
    config = AgentConfig(env={"DROP": None, "ADD": "2", "ABSENT": None})
    assert merged_environment(config, environ) == {"KEEP": "1", "ADD": "2"}
    assert environ == {"KEEP": "1", "DROP": "1"}


def test_child_environment_when_it_has_model_keys_then_they_stay_behind() -> None:
    """The agent's shell inherits no model key."""
    environ = dict.fromkeys(KEY_VARIABLES, SECRET) | {"PATH": "/bin"}
    assert without_keys(environ) == {"PATH": "/bin"}


def test_child_environment_when_env_names_the_key_then_it_counts() -> None:
    """`env` may bring the key, which is then sent and not inherited."""
    merged = merged_environment(AgentConfig(env={"GEMINI_API_KEY": "k"}), {})
    assert resolve_key(AgentConfig().text_model(), merged) == "k"
    assert without_keys(merged) == {}


# ── values ──────────────────────────────────────────────────────────────────────────────────────


def test_config_when_its_sources_change_then_it_does_not() -> None:
    """Mappings and lists are copied, however deep."""
    raw: dict[str, Any] = {"deep": {"list": [1]}}
    env: dict[str, str | None] = {"A": "1"}
    headers = {"A": "1"}
    rules = [policy.allow_all()]
    config = AgentConfig(
        raw_config=raw, env=env, policies=rules, model=Model("m", Gemini(headers=headers))
    )
    raw["deep"]["list"].append(2)
    env["A"] = headers["A"] = "2"
    rules.clear()
    assert config.raw_config == {"deep": {"list": [1]}}
    assert config.env == {"A": "1"}
    assert config.policies == (policy.allow_all(),)
    assert config.text_model().endpoint.headers == {"A": "1"}


def test_config_when_given_any_mapping_then_taken() -> None:
    """A mapping need not be a dict."""
    config = AgentConfig(env=MappingProxyType({"A": "1"}), raw_config=MappingProxyType({"x": 1}))
    assert (config.env, config.raw_config) == ({"A": "1"}, {"x": 1})


def test_config_when_copied_then_equal() -> None:
    """Configurations can be sent to another process."""
    config = AgentConfig(model="m", policies=[policy.deny_all("no")], env={"A": None})
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config


def test_evolve_when_one_option_changes_then_the_rest_stays() -> None:
    """`evolve` returns a copy with the change and leaves the original."""
    config = AgentConfig(model="one", task_wait=None, system_instructions="be brief")
    evolved = config.evolve(model="two")
    assert evolved == attrs.evolve(config, model=Model("two"))
    assert (evolved.task_wait, evolved.system_instructions) == (None, "be brief")
    assert config.text_model().name == "one"


def test_resume_when_nothing_could_be_resumed_then_refused(tmp_path: Path) -> None:
    """Nobody loses a memory that they thought they had: without a `save_dir` there is none."""
    with pytest.raises(ConfigError, match="needs a save_dir"):
        AgentConfig(conversation_id="bob")
    with pytest.raises(ConfigError, match="needs the conversation_id"):
        AgentConfig(resume="must", save_dir=tmp_path)
    config = AgentConfig(conversation_id="bob", resume="must", save_dir=tmp_path)
    with pytest.raises(ConfigError, match="needs a save_dir"):
        config.evolve(save_dir=None)
    assert AgentConfig(resume="never").conversation_id is None
