"""Subagents before a process exists: what is refused, what is sent, what is held back."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from antigravity_sync import (
    AgentConfig,
    BuiltinTool,
    Capabilities,
    Gemini,
    Hooks,
    Model,
    Subagent,
    ToolInvocation,
    policy,
    tool,
)
from antigravity_sync._runtime.delegation import Delegation
from antigravity_sync._wire.dialect import ALL_VERSIONS, Dialect
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync._wire.subagents import subagent_caveats
from antigravity_sync.errors import ConfigError

STARTS = Capabilities.read_only().enable("start_subagent")
READING = {"viewFile", "listDir", "grepSearch", "find"}
OLD = [version for version in ALL_VERSIONS if not Dialect(version).has_subagents]
#: The last release that asks about what subagents do, and the first that does not.
ASKING, SILENT = "0.1.17", "0.1.18"


@tool
def measure(place: str) -> str:
    """Measure."""
    return place


def config(*subagents: Subagent, **options: Any) -> AgentConfig:
    defaults: dict[str, Any] = {
        "subagents": subagents,
        "capabilities": STARTS,
        "policies": [policy.allow_all()],
        "tools": [measure],
        "contain_workspaces": False,
    }
    return AgentConfig(**{**defaults, **options})


def sent(made: AgentConfig, version: str = "0.1.10") -> list[dict[str, Any]]:
    rendered = render_init(
        made,
        conversation=Conversation(),
        api_key="k",
        app_data_dir="/data",
        dialect=Dialect(version),
    )
    return list(json.loads(rendered.text)["config"].get("customSubagents", []))


def offered(made: AgentConfig, version: str) -> set[str]:
    (subagent,) = sent(made, version)
    return {name for name, flag in subagent["harnessSideTools"].items() if flag["enabled"]}


# ── what is refused ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["", " ", " a", "a\n", "a\tb", "self", None, 5, "\ud800"])
def test_name_when_it_is_none_then_refused(name: Any) -> None:
    """The model calls a subagent by it, and `self` is the harness's own."""
    with pytest.raises(ConfigError, match="cannot be named"):
        Subagent(name)


@pytest.mark.parametrize("name", ["helper", "code reviewer", "über", "a.b-c_1", "research"])
def test_name_when_the_harness_takes_it_then_taken(name: str) -> None:
    """The harness takes any other line of text (tried on 0.1.10 and 0.1.22)."""
    assert sent(config(Subagent(name)))[0]["name"] == name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"description": 5}, "description must be str"),
        ({"description": "\ud800"}, "lone surrogate"),
        ({"system_instructions": " "}, "are empty"),
        ({"system_instructions": 5}, "must be str"),
        ({"capabilities": "all"}, "capabilities must be Capabilities"),
        ({"tools": [measure]}, "by name, not as"),
        ({"tools": 5}, "by name, not as 5"),
        ({"model": 5}, "model must be Model"),
        ({"model": ""}, "needs a name"),
        ({"model": Model("m", Gemini(api_key="secret-key"))}, "give its name alone"),
    ],
)
def test_option_when_it_is_bad_then_refused(options: Any, words: str) -> None:
    """Each names itself, and no key is shown."""
    with pytest.raises(ConfigError, match=words) as caught:
        Subagent("a", **options)
    assert "secret-key" not in str(caught.value)


def test_subagents_when_a_name_is_used_twice_then_refused() -> None:
    """The model could not tell them apart."""
    with pytest.raises(ConfigError, match="two subagents are named 'a'"):
        config(Subagent("a"), Subagent("b"), Subagent("a"))


def test_subagents_when_one_is_something_else_then_refused() -> None:
    """A mapping or a name is no subagent."""
    with pytest.raises(ConfigError, match=r"takes Subagent\(...\), not 'a'"):
        AgentConfig(subagents=["a"])  # type: ignore[list-item]


def test_subagents_when_the_agent_cannot_start_any_then_refused_with_the_remedy() -> None:
    """Delegation is off by default, and a subagent that nobody can start is a mistake."""
    with pytest.raises(ConfigError, match=r'enable\("start_subagent"\)'):
        AgentConfig(subagents=[Subagent("a")])


def test_delegation_when_nothing_governs_it_then_refused() -> None:
    """Starting subagents changes things, like any tool outside the read-only ones."""
    with pytest.raises(ConfigError, match="nothing governs them: start_subagent"):
        AgentConfig(subagents=[Subagent("a")], capabilities=STARTS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mesure", "did you mean 'measure'"),
        ("view_file", "it is built in: add it by capabilities"),
        ("xyz", "add it to the tools of the agent"),
    ],
)
def test_tool_when_the_agent_does_not_have_it_then_refused(name: str, hint: str) -> None:
    """A subagent calls the agent's own functions, by their names."""
    with pytest.raises(ConfigError, match=hint):
        config(Subagent("a", tools=["measure", name]))


def test_subagent_when_copied_then_equal() -> None:
    """A configuration with subagents can be sent to another process."""
    made = Subagent("a", description="d", tools="measure", model="m")
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.tools == ("measure",)


# ── what is sent ────────────────────────────────────────────────────────────────────────────────


def test_subagent_when_rendered_then_everything_is_there() -> None:
    """Instructions are appended; a tool is declared as the agent's own is."""
    made = config(Subagent("a", description="d", system_instructions="Be brief.", tools="measure"))
    (subagent,) = sent(made)
    assert (subagent["name"], subagent["description"]) == ("a", "d")
    assert subagent["systemInstructions"] == {
        "appended": {"appendedSections": [{"content": "Be brief."}]}
    }
    (declared,) = subagent["tools"]
    assert declared["name"] == "measure"
    assert "place" in json.loads(declared["parametersJsonSchema"])["properties"]


def test_subagent_when_bare_then_only_reads() -> None:
    """Without more it looks at files; what is not set is not sent."""
    made = config(Subagent("a"))
    assert offered(made, "0.1.10") == READING
    (subagent,) = sent(made)
    assert not {"systemInstructions", "model"} & set(subagent)
    assert subagent["tools"] == []


def test_subagents_when_there_are_none_then_nothing_is_sent() -> None:
    """Not even an empty list."""
    assert sent(config()) == []


@pytest.mark.parametrize("version", ["0.1.10", "0.1.22"])
def test_subagent_when_it_wants_subagents_then_off_with_a_warning(version: str) -> None:
    """They cannot be nested, whatever is asked for."""
    made = config(Subagent("a", capabilities=Capabilities.all()))
    assert "subagents" not in offered(made, version)
    assert "runCommand" in offered(made, version)
    caveats = list(subagent_caveats(made, Dialect(version)))
    assert "cannot start subagents of its own" in caveats[0]


@pytest.mark.parametrize("version", OLD)
def test_subagent_when_the_harness_runs_a_copy_instead_then_refused(version: str) -> None:
    """Up to 0.1.7 one would have all the agent's tools and none of its instructions."""
    with pytest.raises(ConfigError, match=r"use 0\.1\.10 or newer"):
        sent(config(Subagent("a")), version)


@pytest.mark.parametrize("version", [one for one in ALL_VERSIONS if one not in OLD])
def test_model_when_a_subagent_has_its_own_then_its_name_where_the_harness_takes_one(
    version: str,
) -> None:
    """A harness that is given an endpoint here ends at the first prompt."""
    made = config(Subagent("a", model=Model("small")))
    if Dialect(version).governs_subagents:
        with pytest.raises(ConfigError, match=r"use 0\.1\.18 or newer"):
            sent(made, version)
    else:
        assert sent(made, version)[0]["model"] == {"name": "small", "types": ["MODEL_TYPE_TEXT"]}


# ── what is held back ───────────────────────────────────────────────────────────────────────────


WRITER = Subagent("a", capabilities=Capabilities.none().enable("run_command", "view_file"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"policies": [policy.allow_all()]}, {"runCommand", "viewFile"}),
        ({"policies": [policy.deny("create_file")]}, {"runCommand", "viewFile"}),
        ({"policies": [policy.deny("run_command")]}, {"viewFile"}),
        ({"policies": [policy.confirm("run_command")]}, {"viewFile"}),
        ({"policies": [policy.deny_all(), policy.allow("view_file")]}, {"viewFile"}),
        ({"policies": [policy.allow("view_file", lambda _: True)]}, {"runCommand"}),
        ({"policies": [policy.allow_all(), policy.deny_all()]}, {"runCommand", "viewFile"}),
        ({"policies": [policy.workspace_only()]}, set()),
        ({"policies": [policy.allow_all()], "contain_workspaces": True}, set()),
        ({"hooks": [Hooks(on_pre_tool=lambda _: None)]}, set()),
        ({"hooks": [Hooks(on_post_tool=lambda _: None)]}, {"runCommand", "viewFile"}),
    ],
)
def test_tool_when_a_silent_harness_might_have_to_refuse_it_then_it_is_not_offered(
    options: Any, expected: set[str]
) -> None:
    """Since 0.1.18 nobody is asked; what a rule might refuse must not be there at all."""
    made = config(WRITER, tools=[], **options)
    assert offered(made, ASKING) == {"runCommand", "viewFile"}
    assert offered(made, SILENT) == expected
    assert list(subagent_caveats(made, Dialect(ASKING))) == []
    caveats = list(subagent_caveats(made, Dialect(SILENT)))
    assert len(caveats) == (expected != {"runCommand", "viewFile"})


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.1.10", ["does not offer subagent 'a' these tools: search_web", "as well: measure"]),
        ("0.1.20", ["as well: measure"]),
        ("0.1.22", []),
    ],
)
def test_offer_when_the_harness_makes_another_then_the_start_says_so(
    version: str, words: list[str]
) -> None:
    """Nothing is different in silence."""
    web = Subagent("a", capabilities=Capabilities.none().enable("search_web"))
    caveats = list(subagent_caveats(config(web), Dialect(version)))
    assert len(caveats) == len(words)
    assert all(word in caveat for word, caveat in zip(words, caveats, strict=True))


def bounds(version: str, *subagents: Subagent, **options: Any) -> Delegation | None:
    return Delegation.of(config(*subagents, **options), Dialect(version))


def start(*names: str, key: str = "TypeName") -> ToolInvocation:
    return ToolInvocation("start_subagent", {"subagents": [{key: name} for name in names]})


@pytest.mark.parametrize("version", ["0.1.6", "0.1.10", ASKING, SILENT, "0.1.22"])
def test_call_when_nobody_was_given_the_tool_then_refused(version: str) -> None:
    """The model may define subagents with tools that nobody was given; they are held here."""
    made = bounds(version, Subagent("a", capabilities=Capabilities.none().enable("create_file")))
    assert made is not None
    refused = {one for one in BuiltinTool if made.check(ToolInvocation(one.value)) is not None}
    given = {BuiltinTool.CREATE_FILE, *STARTS.tools}
    assert refused - {BuiltinTool.START_SUBAGENT} == set(BuiltinTool) - given
    assert made.check(ToolInvocation("measure")) is None
    assert made.check(ToolInvocation("run_command", server_name="hub")) is None


def test_start_when_the_model_defined_it_then_refused_where_nobody_is_asked() -> None:
    """Case does not matter to the harness, so it does not matter here."""
    asking, silent = (bounds(version, Subagent("a")) for version in ("0.1.16", "0.1.17"))
    assert asking is not None
    assert silent is not None
    for call in (start("a"), start("self"), start("research", "a")):
        assert (asking.check(call), silent.check(call)) == (None, None)
    for call in (start("evil"), start("a", "evil"), start("evil", key="typename")):
        assert asking.check(call) is None
        assert "'evil' is none of this agent's" in str(silent.check(call))
    for arguments in ({}, {"subagents": None}, {"subagents": "a"}, {"subagents": [{}]}):
        assert silent.check(ToolInvocation("start_subagent", arguments)) is not None


def test_bounds_when_there_is_nothing_to_bound_then_none() -> None:
    """No subagents, or copies alone: nothing is added to the rules."""
    assert bounds("0.1.10", capabilities=Capabilities.read_only()) is None
    assert bounds("0.1.5") is None


@pytest.mark.parametrize(
    ("raw", "may_run", "may_start"),
    [
        ({"harnessSideTools": {}}, True, False),
        ({"customSubagents": []}, True, True),
        ({"appDataDir": "/x"}, False, False),
    ],
)
def test_bounds_when_the_user_writes_the_message_then_that_counts(
    raw: dict[str, Any], may_run: bool, may_start: bool
) -> None:
    """Tools that are switched on by hand are given, and subagents declared by hand are known."""
    made = bounds("0.1.22", raw_config=raw)
    assert made is not None
    assert (made.check(ToolInvocation("run_command")) is None) == may_run
    assert (made.check(start("evil")) is None) == may_start
