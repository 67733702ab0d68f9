"""What each harness release may be sent, and how the release is found out."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from antigravity_sync._wire.dialect import (
    ALL_VERSIONS,
    NEWEST,
    Dialect,
    narrow,
    parse_version,
)
from antigravity_sync._wire.probing import probe_fields, rejected_field_in, with_probe
from antigravity_sync.errors import ConfigError, HandshakeError, InternalError

#: Each property with the first and last release for which it holds.
SPANS = [
    ("user_input_is_text", "0.1.5", "0.1.10"),
    ("first_trigger_ok", "0.1.19", "0.1.22"),
    ("has_error_message", "0.1.6", "0.1.22"),
    ("needs_confirmations", "0.1.5", "0.1.5"),
    ("has_pre_tool_hook", "0.1.6", "0.1.22"),
    ("can_rewrite", "0.1.7", "0.1.22"),
    ("has_compaction_hook", "0.1.14", "0.1.22"),
    ("rewrites_with_struct", "0.1.17", "0.1.22"),
    ("has_policy_config", "0.1.10", "0.1.22"),
    ("has_containment_switch", "0.1.13", "0.1.22"),
    ("asks_only_interactive", "0.1.13", "0.1.22"),
    ("has_stop_hook", "0.1.16", "0.1.22"),
    ("has_continuation_mode", "0.1.7", "0.1.22"),
    ("has_retry_config", "0.1.8", "0.1.22"),
    ("reports_before_calls", "0.1.5", "0.1.6"),
    ("needs_room_to_compact", "0.1.11", "0.1.22"),
    ("spares_vertex_base_url", "0.1.14", "0.1.22"),
    ("returns_openai_calls", "0.1.10", "0.1.22"),
    ("has_subagents", "0.1.10", "0.1.22"),
    ("governs_defined_subagents", "0.1.5", "0.1.16"),
    ("limits_subagent_tools", "0.1.21", "0.1.22"),
    ("governs_subagents", "0.1.5", "0.1.17"),
    ("waits_for_subagents", "0.1.8", "0.1.22"),
    ("idles_while_tasks_run", "0.1.5", "0.1.7"),
]

#: Releases that take exactly the same first messages without subagents, each group oldest first.
TWINS = [("0.1.8", "0.1.9"), ("0.1.14", "0.1.15"), ("0.1.19", "0.1.20")]

RICH_CONFIG: dict[str, Any] = {
    "cascadeId": "c" * 32,
    "sessionContinuationMode": "CREATE_OR_RESUME",
    "toolOutputTruncation": {"truncate": {"maxTokens": 500, "saveFullOutput": True}},
    "policyConfig": {
        "rules": [{"tool": "*", "decision": "POLICY_DECISION_ALLOW"}],
        "workspaceContainment": "WORKSPACE_CONTAINMENT_DISABLED",
    },
    "agentBehavior": "AGENT_BEHAVIOR_INTERACTIVE",
    "enabledHooks": ["LIFECYCLE_HOOK_PRE_TOOL", "LIFECYCLE_HOOK_STOP"],
    "harnessSideTools": {
        "runCommand": {"enabled": True, "maxTimeoutMs": 1000},
        "viewFile": {"enabled": True},
        "runWorkflow": {"enabled": False},
    },
    "compactionConfig": {"tokenThreshold": 9, "useModelReportedTokenCount": True},
    "systemInstructions": {"custom": {"part": [{"text": "Be brief."}]}},
    "tools": [{"name": "one", "deferLoading": False}],
}


def dialect(version: str) -> Dialect:
    return Dialect.of(version)


# ── versions ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.1.10", (0, 1, 10)),
        (" 0.1.5\n", (0, 1, 5)),
        ("1", (1,)),
        ("0.2.0rc1", (0, 2, 0)),
        ("0.1.10.post2", (0, 1, 10)),
        ("0.1.10+linux.2", (0, 1, 10)),
    ],
)
def test_parse_version_when_text_is_a_version_then_gives_its_numbers(
    text: str, numbers: tuple[int, ...]
):
    """A version gives the numbers of its release, without what a packager added."""
    assert parse_version(text) == numbers


@pytest.mark.parametrize("text", ["", "latest", "0.1.", ".1", "0..1", "0.1.x", "1" * 5000, "٣.١"])
def test_parse_version_when_text_is_nonsense_then_raises_config_error(text: str):
    """What is not a version is refused with an example of one."""
    with pytest.raises(ConfigError, match=r"0\.1\.10"):
        parse_version(text)


@pytest.mark.parametrize(
    ("version", "rules"),
    [
        ("0.1.5", "0.1.5"),
        ("0.1.5.1", "0.1.5"),
        ("0.1.9", "0.1.9"),
        ("0.1.10", "0.1.10"),
        ("0.1.22", "0.1.22"),
        ("0.1.23", "0.1.22"),
        ("0.2", "0.1.22"),
        ("12.0.0", "0.1.22"),
    ],
)
def test_of_when_version_can_be_driven_then_picks_newest_rules_not_newer(version: str, rules: str):
    """A release gets its own rules, and one that is not known those of the newest before it."""
    assert Dialect.of(version).version == rules


@pytest.mark.parametrize("version", ["0.1.4", "0.1.0", "0.1", "0"])
def test_of_when_version_is_too_old_then_error_says_which_work(version: str):
    """A release that cannot be driven is refused, naming the oldest and the newest that work."""
    with pytest.raises(HandshakeError, match=r"0\.1\.5 to 0\.1\.22 work"):
        Dialect.of(version)


def test_dialect_when_made_for_an_unknown_release_then_raises_config_error():
    """Rules that are not known cannot be spoken."""
    with pytest.raises(ConfigError, match=r"0\.1\.99"):
        Dialect("0.1.99")


def test_all_versions_when_listed_then_are_in_order_and_newest_is_last():
    """The known releases stand oldest first, and `NEWEST` speaks the last one."""
    assert ALL_VERSIONS[0] == "0.1.5"
    assert sorted(ALL_VERSIONS, key=parse_version) == list(ALL_VERSIONS)
    assert Dialect(ALL_VERSIONS[-1]) == NEWEST


# ── facts ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("fact", "first", "last"), SPANS)
def test_fact_when_asked_of_every_release_then_holds_exactly_in_its_span(
    fact: str, first: str, last: str
):
    """A fact holds from its first release to its last, and for no other."""
    expected = ALL_VERSIONS[ALL_VERSIONS.index(first) : ALL_VERSIONS.index(last) + 1]
    assert tuple(v for v in ALL_VERSIONS if getattr(Dialect(v), fact)) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.1.7", False), ("0.1.8", True), ("0.1.9", False), ("0.1.10", True), ("0.1.22", True)],
)
def test_announces_tasks_when_asked_around_its_gap_then_0_1_9_does_not(
    version: str, expected: bool
):
    """The state for background commands came, went for one release, and came back."""
    assert dialect(version).announces_tasks is expected


@pytest.mark.parametrize(
    ("version", "expected"), [("0.1.18", True), ("0.1.19", False), ("0.1.20", True)]
)
def test_announces_skills_when_asked_around_its_gap_then_0_1_19_does_not(
    version: str, expected: bool
):
    """One release lists no skills."""
    assert dialect(version).announces_skills is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.1.5", 0), ("0.1.6", 2), ("0.1.10", 2), ("0.1.13", 2), ("0.1.14", 0), ("0.1.22", 0)],
)
def test_unswitchable_tools_when_asked_then_two_until_they_got_flags(version: str, expected: int):
    """They came with 0.1.6 and their flags with 0.1.14."""
    assert len(dialect(version).unswitchable_tools) == expected


@pytest.mark.parametrize(
    ("version", "lacked"),
    [
        ("0.1.8", {"search_web", "read_url_content", "manage_task", "run_workflow"}),
        ("0.1.13", {"search_web", "read_url_content", "manage_task", "run_workflow"}),
        ("0.1.14", {"manage_task", "run_workflow"}),
        ("0.1.17", {"manage_task", "run_workflow"}),
        ("0.1.18", {"run_workflow"}),
        ("0.1.22", {"run_workflow"}),
    ],
)
def test_tools_when_a_subagent_is_given_all_then_these_are_lacking(version: str, lacked: set[str]):
    """As each release was seen to offer them."""
    assert set(dialect(version).lacked_by_subagents) == lacked


def test_facts_when_listed_then_every_one_is_in_the_table():
    """No property goes untested."""
    facts = {name for name, member in vars(Dialect).items() if isinstance(member, property)}
    listed = {"announces_skills", "announces_tasks", "lacked_by_subagents", "unswitchable_tools"}
    assert facts == {name for name, _, _ in SPANS} | listed


# ── filter ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "message", "value", "kept", "dropped"),
    [
        pytest.param(
            "0.1.10",
            "HarnessConfig",
            {"cascadeId": "c", "agentBehavior": "AGENT_BEHAVIOR_INTERACTIVE"},
            {"cascadeId": "c"},
            ("agentBehavior",),
            id="a field of later releases",
        ),
        pytest.param(
            "0.1.6",
            "HarnessConfig",
            {"harnessSideTools": {"codeSearch": {"enabled": True}, "find": {"enabled": True}}},
            {"harnessSideTools": {"find": {"enabled": True}}},
            ("harnessSideTools.codeSearch",),
            id="a field of earlier releases",
        ),
        pytest.param(
            "0.1.12",
            "HarnessConfig",
            {"policyConfig": {"rules": [], "workspaceContainment": "x"}, "models": []},
            {"policyConfig": {"rules": []}, "models": []},
            ("policyConfig.workspaceContainment",),
            id="a nested field",
        ),
        pytest.param(
            "0.1.12",
            "HarnessConfig",
            {"policyConfig": {"workspaceContainment": "x"}},
            {"policyConfig": {}},
            ("policyConfig.workspaceContainment",),
            id="the only field of a message, which stays",
        ),
        pytest.param(
            "0.1.5",
            "HarnessConfig",
            {"tools": [{"name": "a", "deferLoading": True}, {"name": "b", "deferLoading": False}]},
            {"tools": [{"name": "a"}, {"name": "b"}]},
            ("tools.deferLoading",),
            id="fields of repeated messages, reported once",
        ),
        pytest.param(
            "0.1.14",
            "HarnessConfig",
            {"customSubagents": [{"skillsConfig": {"inheritConfig": {"skillNames": ["s"]}}}]},
            {"customSubagents": [{"skillsConfig": {"inheritConfig": {}}}]},
            ("customSubagents.skillsConfig.inheritConfig.skillNames",),
            id="deep inside a repeated message",
        ),
        pytest.param(
            "0.1.15",
            "HarnessConfig",
            {"enabledHooks": ["LIFECYCLE_HOOK_STOP", "LIFECYCLE_HOOK_PRE_TOOL"]},
            {"enabledHooks": ["LIFECYCLE_HOOK_PRE_TOOL"]},
            ("enabledHooks=LIFECYCLE_HOOK_STOP",),
            id="one of several enum names",
        ),
        pytest.param(
            "0.1.15",
            "HarnessConfig",
            {"agentBehavior": "AGENT_BEHAVIOR_MINIMAL"},
            {},
            ("agentBehavior=AGENT_BEHAVIOR_MINIMAL",),
            id="a single enum name",
        ),
        pytest.param(
            "0.1.16",
            "HarnessConfig",
            {"agentBehavior": "AGENT_BEHAVIOR_MINIMAL", "enabledHooks": [99, "NEVER_HEARD_OF"]},
            {"agentBehavior": "AGENT_BEHAVIOR_MINIMAL", "enabledHooks": [99, "NEVER_HEARD_OF"]},
            (),
            id="enum names in time, numbers, and names of no release",
        ),
        pytest.param(
            "0.1.5",
            "HarnessConfig",
            {"noSuchField": 1, "tools": [{"noSuchField": {"deferLoading": 1}}]},
            {"noSuchField": 1, "tools": [{"noSuchField": {"deferLoading": 1}}]},
            (),
            id="fields of no release",
        ),
        pytest.param(
            "0.1.5",
            "HarnessConfig",
            {"models": [{"geminiApiEndpoint": {"httpHeaders": {"serviceTier": "x"}}}]},
            {"models": [{"geminiApiEndpoint": {"httpHeaders": {"serviceTier": "x"}}}]},
            (),
            id="a map, whose keys are no field names",
        ),
        pytest.param(
            "0.1.17",
            "CustomSystemInstructions.Part",
            {"template": {"templateName": "old", "name": "new", "args": [{"name": "a"}]}},
            {"template": {"templateName": "old", "args": [{"name": "a"}]}},
            ("template.name",),
            id="the later name in a message that changed its type",
        ),
        pytest.param(
            "0.1.18",
            "CustomSystemInstructions.Part",
            {"template": {"templateName": "old", "name": "new", "noSuchField": 1}},
            {"template": {"name": "new", "noSuchField": 1}},
            ("template.templateName",),
            id="the earlier name in a message that changed its type",
        ),
        pytest.param(
            "0.1.10",
            "InputEvent",
            {"userInput": "text"},
            {"userInput": "text"},
            (),
            id="user input as text",
        ),
        pytest.param(
            "0.1.11",
            "InputEvent",
            {"userInput": {"parts": [{"text": "t"}]}, "complexUserInput": {"parts": []}},
            {"userInput": {"parts": [{"text": "t"}]}},
            ("complexUserInput",),
            id="user input as an object",
        ),
        pytest.param(
            "0.1.16",
            "InputEvent",
            {"callHookResponse": {"preToolResult": {"decision": "ALLOW", "modifiedArgs": {}}}},
            {"callHookResponse": {"preToolResult": {"decision": "ALLOW"}}},
            ("callHookResponse.preToolResult.modifiedArgs",),
            id="a later message",
        ),
        pytest.param(
            "0.1.5",
            "InputEvent",
            {"toolResponse": {"response": {"fields": [{"name": "errorMessage"}]}}},
            {"toolResponse": {"response": {"fields": [{"name": "errorMessage"}]}}},
            (),
            id="values spelled out",
        ),
        pytest.param(
            "0.1.5",
            "HarnessConfig",
            {"agentBehavior": None, "compactionThreshold": None, "budgetConfig": {"scope": None}},
            {"compactionThreshold": None},
            ("budgetConfig",),
            id="nulls, which go without a word",
        ),
    ],
)
def test_filter_when_release_lacks_something_then_drops_and_names_it(
    version: str,
    message: str,
    value: dict[str, Any],
    kept: dict[str, Any],
    dropped: tuple[str, ...],
):
    """A message loses what the release does not know, at any depth, and nothing else."""
    before = copy.deepcopy(value)
    assert dialect(version).filter(message, value) == (kept, dropped)
    assert value == before


def test_filter_when_release_knows_everything_then_returns_an_equal_copy():
    """The newest release gets the whole message, in an object of its own."""
    kept, dropped = NEWEST.filter("HarnessConfig", RICH_CONFIG)
    assert kept == RICH_CONFIG
    assert kept is not RICH_CONFIG
    assert kept["tools"] is not RICH_CONFIG["tools"]
    assert dropped == ()


def test_filter_when_order_matters_then_keeps_it():
    """Fields stay in the order in which they were given, which is what probing relies on."""
    value = {"models": [], "cascadeId": "c", "workspaces": []}
    assert list(dialect("0.1.5").filter("HarnessConfig", value)[0]) == list(value)


def test_filter_when_message_is_unknown_then_raises_internal_error():
    """A misspelt message name is this package's own defect."""
    with pytest.raises(InternalError, match="HarnesConfig"):
        NEWEST.filter("HarnesConfig", {})


# ── probing ─────────────────────────────────────────────────────────────────────────────────────


def first_unknown(version: str, document: dict[str, Any]) -> str | None:
    """Return the field that a strict reader of this release stumbles over, in document order."""
    kept, _ = Dialect(version).filter("HarnessConfig", document)
    return _first_missing(document, kept)


def _first_missing(sent: Any, known: Any) -> str | None:
    if isinstance(sent, dict):
        for key, value in sent.items():
            if key not in known:
                return str(key)
            if (name := _first_missing(value, known[key])) is not None:
                return name
    if isinstance(sent, list) and all(isinstance(one, dict) for one in sent):
        names = (_first_missing(*pair) for pair in zip(sent, known, strict=True))
        return next((name for name in names if name is not None), None)
    return None


def probe(version: str, config: dict[str, Any]) -> tuple[str, int]:
    """Find a harness out as a client does; return the rules settled on, and the number of tries."""
    candidates, speaking, tries = ALL_VERSIONS, NEWEST, 1
    while True:
        sent, _ = speaking.filter("HarnessConfig", with_probe(config))
        refused = first_unknown(version, sent)
        if refused is None:
            return speaking.version, tries
        left = narrow(candidates, refused)
        assert 0 < len(left) < len(candidates)
        candidates, speaking, tries = left, Dialect(left[-1]), tries + 1


@pytest.mark.parametrize("config", [{}, RICH_CONFIG], ids=["empty", "rich"])
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_probe_when_harness_is_strict_then_settles_within_four_tries(
    version: str, config: dict[str, Any]
):
    """Every release is told from the others, except from its twin, in at most four tries."""
    expected = next((new for old, new in TWINS if old == version), version)
    settled, tries = probe(version, config)
    assert settled == expected
    assert tries <= (4 if config else 3)


@pytest.mark.parametrize(("old", "new"), TWINS)
def test_twins_when_taken_for_each_other_then_only_0_1_8_differs_in_a_fact(old: str, new: str):
    """Settling on the newer twin misjudges nothing but whether 0.1.8 announces tasks."""
    facts = [*(name for name, _, _ in SPANS), "announces_tasks"]
    wrong = [f for f in facts if getattr(Dialect(old), f) != getattr(Dialect(new), f)]
    assert wrong == (["announces_tasks"] if old == "0.1.8" else [])


def test_probe_fields_when_read_then_hold_nothing_but_nulls():
    """No probing field has a value, so a harness that knows it takes it for absent."""

    def leaves(value: object) -> list[object]:
        if not isinstance(value, dict):
            return [value]
        return [leaf for one in value.values() for leaf in leaves(one)]

    found = leaves(probe_fields())
    assert found
    assert set(found) == {None}


def test_probe_fields_when_changed_by_a_caller_then_the_next_caller_gets_them_whole():
    """Each call returns an object of its own, down to the nested ones."""
    probe_fields()["harnessSideTools"].clear()
    assert probe_fields()["harnessSideTools"]


def test_with_probe_when_config_has_the_same_fields_then_its_values_win():
    """Probing adds nulls where the configuration is silent, and changes nothing that it says."""
    merged = with_probe(RICH_CONFIG)

    def silent(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: silent(one) for key, one in value.items() if one is not None}

    assert silent(merged) == RICH_CONFIG
    assert merged["harnessSideTools"]["runCommand"]["enableSandbox"] is None
    assert list(merged)[: len(probe_fields())] == list(probe_fields())


def test_with_probe_when_config_replaces_a_message_by_null_then_null_stays():
    """A `null` of the user's own is not turned into a message."""
    assert with_probe({"harnessSideTools": None})["harnessSideTools"] is None


def versions(first: str, last: str) -> tuple[str, ...]:
    return ALL_VERSIONS[ALL_VERSIONS.index(first) : ALL_VERSIONS.index(last) + 1]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("toolOutputTruncation", ("0.1.5",)),
        ("policyConfig", versions("0.1.5", "0.1.9")),
        ("mcpMaxOutputBytes", versions("0.1.5", "0.1.21")),
        ("maxTimeoutMs", versions("0.1.5", "0.1.11")),
        # A message that a release does not have cannot be where it found the field unknown.
        ("workspaceContainment", versions("0.1.10", "0.1.12")),
        ("saveFullOutput", versions("0.1.6", "0.1.20")),
        # The same name in two messages: the first message's had it later than the subagents'.
        ("skillsConfig", versions("0.1.5", "0.1.18")),
        ("codeSearch", versions("0.1.6", "0.1.22")),
        ("modifiedArgumentsJson", (*versions("0.1.5", "0.1.6"), *versions("0.1.18", "0.1.22"))),
        ("cascadeId", ()),
        ("noSuchField", ALL_VERSIONS),
    ],
)
def test_narrow_when_a_field_was_refused_then_leaves_the_releases_without_it(
    field: str, expected: tuple[str, ...]
):
    """Only a release that has the message but not the field can have refused it."""
    assert narrow(ALL_VERSIONS, field) == expected


def test_narrow_when_candidates_are_few_then_never_adds_one():
    """What an earlier refusal ruled out stays ruled out."""
    assert narrow(("0.1.8", "0.1.12"), "policyConfig") == ("0.1.8",)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('Failed to read init event: proto: (line 1:355): unknown field "bogus"', "bogus"),
        ('Failed to read init event: proto:\u00a0(line 1:355): unknown field "bogus"', "bogus"),
        ('Failed to parse initial message: proto: (line 1:9): unknown field "a_b"', "a_b"),
        ('Failed to parse initial message: proto:\u00a0(line 1:9): unknown field "aB"', "aB"),
        ('2026/01/02 Failed to parse initial message: proto: (line 1:9): unknown field "x"', "x"),
        ('Failed to parse initial message: proto: (line 1:9): duplicate field "x"', None),
        ("Failed to create agent: no text model configuration provided in HarnessConfig", None),
        ('the model said: unknown field "x"', None),
        ("", None),
    ],
)
def test_rejected_field_in_when_reading_stderr_then_finds_the_name(line: str, field: str | None):
    """The refusal is read in both wordings, with either space, and nothing else passes for one."""
    assert rejected_field_in(line) == field
