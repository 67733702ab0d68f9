"""Every kind of tool on every way to a decision, on every version: what happened, not what we sent.

Proof is a file that is there or is not, and what the model is told. The last test prints the table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import Agent, Decision, Hooks, policy
from antigravity_sync.errors import ConfigError
from antigravity_sync.events import Allowed, Denied, ToolAction, ToolCallDispatched
from antigravity_sync.responses import ChatResponse
from antigravity_sync.testing import ScriptedModel
from tests.kinds import BUILTIN, CAPABILITIES, CHANGING, CUSTOM, MCP, Kind, leave_mark, told
from tests.mcp import PlainServer
from tests.versions import VERSIONS, release

pytestmark = pytest.mark.real

#: What a cell may say.
RAN, DENIED, MOVED, NOT_OFFERED, REFUSED = "ran", "denied", "moved", "not offered", "refused"

ALL: Final = (*BUILTIN, CUSTOM, MCP)

#: (path, kind, version) → what happened there; the last test prints it.
TABLE: dict[tuple[str, str, str], str] = {}


def boom(_argument: object) -> bool:
    raise RuntimeError("zqx-boom")


def yes(_call: object) -> bool:
    return True


def no(_call: object) -> bool:
    return False


def for_each(rule: Callable[[str], Any]) -> tuple[Any, ...]:
    return tuple(rule(name) for name in ALL)


@attrs.frozen
class Way:
    """One way to a decision.

    Attributes:
        options: What the agent is given.
        outcome: What happens to a call.
        reason: What the model is told of a denial; `{name}` is the tool's.
        failures: How many errors the response holds.
    """

    options: dict[str, Any]
    outcome: str
    reason: str = ""
    failures: int = 0


def hook(answer: Callable[[Any], Any]) -> dict[str, Any]:
    return {"hooks": [Hooks(on_pre_tool=answer)]}


def rules(*policies: Any) -> dict[str, Any]:
    return {"policies": list(policies)}


def coroutine(_call: object) -> Any:
    async def later() -> bool:
        return True

    return later()


WAYS: Final[dict[str, Way]] = {
    "no rule, but a hook that says nothing": Way(hook(lambda _call: None), RAN),
    "allow_all": Way(rules(policy.allow_all()), RAN),
    "allow": Way(rules(*for_each(policy.allow)), RAN),
    "deny with reason": Way(
        rules(*for_each(lambda name: policy.deny(name, f"zqx no {name}")), policy.allow_all()),
        DENIED,
        "zqx no",
    ),
    "deny without reason": Way(
        rules(*for_each(policy.deny), policy.allow_all()), DENIED, "is denied by policy"
    ),
    "deny_all": Way(rules(policy.deny_all("zqx shut")), DENIED, "zqx shut"),
    "deny_all, exact allow": Way(rules(policy.deny_all("no"), *for_each(policy.allow)), RAN),
    "confirm, yes": Way(rules(*for_each(lambda name: policy.confirm(name, yes))), RAN),
    "confirm, no": Way(
        rules(*for_each(lambda name: policy.confirm(name, no))), DENIED, "was not confirmed"
    ),
    "confirm, handler raises": Way(
        rules(*for_each(lambda name: policy.confirm(name, boom))), DENIED, "zqx-boom", failures=1
    ),
    "confirm, handler answers nonsense": Way(
        rules(*for_each(lambda name: policy.confirm(name, lambda _call: "yes"))),
        DENIED,
        "was not confirmed",
    ),
    "confirm without handler": Way(
        rules(*for_each(policy.confirm)), DENIED, "needs a confirmation"
    ),
    "confirm without handler, hook allows": Way(
        {**rules(*for_each(policy.confirm)), **hook(yes)}, RAN
    ),
    "confirm without handler, hook denies": Way(
        {**rules(*for_each(policy.confirm)), **hook(lambda _call: Decision.deny("zqx hook"))},
        DENIED,
        "zqx hook",
    ),
    "deny when true": Way(
        rules(*for_each(lambda name: policy.deny(name, "zqx when", yes)), policy.allow_all()),
        DENIED,
        "zqx when",
    ),
    "deny when false": Way(
        rules(*for_each(lambda name: policy.deny(name, "no", no)), policy.allow_all()), RAN
    ),
    "deny when it raises": Way(
        rules(*for_each(lambda name: policy.deny(name, "no", boom)), policy.allow_all()),
        DENIED,
        "zqx-boom",
    ),
    "allow when true, deny_all": Way(
        rules(policy.deny_all("no"), *for_each(lambda name: policy.allow(name, yes))), RAN
    ),
    "allow when false, deny_all": Way(
        rules(policy.deny_all("zqx no"), *for_each(lambda name: policy.allow(name, no))),
        DENIED,
        "zqx no",
    ),
    "allow when it raises": Way(
        rules(policy.allow_all(), *for_each(lambda name: policy.allow(name, boom))),
        DENIED,
        "zqx-boom",
    ),
    "hook denies with reason": Way(
        hook(lambda _call: Decision.deny("zqx hook")), DENIED, "zqx hook"
    ),
    "hook denies, policy allows": Way(
        {**rules(policy.allow_all()), **hook(lambda _call: Decision.deny("zqx hook"))},
        DENIED,
        "zqx hook",
    ),
    "hook allows, policy denies": Way(
        {**rules(policy.deny_all("zqx policy")), **hook(yes)}, DENIED, "zqx policy"
    ),
    "hook returns False": Way(hook(no), DENIED, "denied by on_pre_tool"),
    "hook returns nonsense": Way(hook(lambda _call: "yes"), DENIED, "on_pre_tool returned a str"),
    "hook returns a coroutine": Way(hook(coroutine), DENIED, "on_pre_tool returned a coroutine"),
    "hook raises": Way(hook(boom), DENIED, "zqx-boom", failures=1),
}


def kinds_in(workspace: Path, names: tuple[str, ...] = ALL) -> list[Kind]:
    return [Kind(name, workspace / name).prepare() for name in names]


def everything(place: Path) -> dict[str, Any]:
    """Return the options that offer every kind of tool."""
    return {
        "capabilities": CAPABILITIES,
        "tools": [leave_mark],
        "mcp_servers": [PlainServer(place).option()],
    }


def script_of(kinds: list[Kind]) -> list[Any]:
    return [reply for kind in kinds for reply in (kind.call(), "done")]


def play(agent: Agent, prompt: str) -> tuple[list[Any], ChatResponse]:
    turn = agent.stream(prompt)
    return list(turn), turn.response()


def actions_in(events: list[Any]) -> list[ToolAction]:
    return [event for event in events if isinstance(event, ToolAction)]


def check_ran(kind: Kind, events: list[Any], response: ChatResponse, text: str) -> list[str]:
    """Return what speaks against it that a call ran, once, and was shown so."""
    problems = []
    if not kind.has_run(text):
        problems.append(f"has not run; the model was told {text:.200}")
    if [entry.decision for entry in response.tool_calls] != [Allowed()]:
        problems.append(f"tool_calls are {response.tool_calls}")
    shown = [type(event) for event in events if isinstance(event, ToolAction | ToolCallDispatched)]
    if shown != [ToolCallDispatched if kind.name == CUSTOM else ToolAction]:
        problems.append(f"shown are {shown}")
    return problems


def check_denied(
    kind: Kind, events: list[Any], response: ChatResponse, text: str, way: Way, tells_why: bool
) -> list[str]:
    """Return what speaks against it that a call was refused, and everybody was told why."""
    problems = []
    if kind.has_run(text):
        problems.append(f"has run; the model was told {text:.200}")
    decisions = [entry.decision for entry in response.tool_calls]
    reason = getattr(decisions[0], "reason", "") if len(decisions) == 1 else ""
    if way.reason not in reason or not isinstance(decisions[0], Denied):
        problems.append(f"tool_calls say {decisions}")
    if [event.decision for event in actions_in(events)] != decisions:
        problems.append(f"shown are {actions_in(events)}")
    expected = reason if tells_why else "denied permission"
    if expected not in text or not expected:
        problems.append(f"the model was told {text:.200}")
    if response.text != "done":
        problems.append(f"the answer is {response.text!r}")
    if len(response.errors) != way.failures:
        problems.append(f"errors are {response.errors}")
    return problems


@pytest.mark.parametrize("name", WAYS)
def test_call_when_it_is_decided_then_that_is_what_happens(make_agent, tmp_path, version, name):
    """Each kind of tool runs exactly where it may, and a refusal leaves nothing but its reason."""
    way = WAYS[name]
    kinds = kinds_in(tmp_path / "workspace")
    problems = []
    options = {**everything(tmp_path), **way.options}
    with ScriptedModel(*script_of(kinds)) as model, make_agent(model, **options) as agent:
        for kind in kinds:
            events, response = play(agent, "go")
            text = told(model)
            if way.outcome == RAN:
                found = check_ran(kind, events, response, text)
            else:
                # 0.1.5 takes no reason for what it asks about by a waiting step.
                tells_why = kind.name == CUSTOM or release(version) > (0, 1, 5)
                found = check_denied(kind, events, response, text, way, tells_why)
            TABLE[name, kind.name, version] = "WRONG" if found else way.outcome
            problems += [f"{kind.name}: {problem}" for problem in found]
    assert problems == []


def test_call_when_there_is_no_rule_then_only_what_reads_is_there(make_agent, tmp_path, version):
    """By default the model can look at files and call your own tools; MCP servers need a rule."""
    kinds = kinds_in(tmp_path / "workspace", (*BUILTIN, CUSTOM))
    problems = []
    with (
        ScriptedModel(*script_of(kinds)) as model,
        make_agent(model, tools=[leave_mark]) as agent,
    ):
        for kind in kinds:
            events, response = play(agent, "go")
            if kind.name in CHANGING:
                found = ["has run"] if kind.has_run(told(model)) else []
                found += ["was shown to run"] if actions_in(events) else []
                outcome = NOT_OFFERED
            else:
                found = check_ran(kind, events, response, told(model))
                outcome = RAN
            TABLE["no rule (read-only)", kind.name, version] = "WRONG" if found else outcome
            problems += [f"{kind.name}: {problem}" for problem in found]
    with pytest.raises(ConfigError, match="nothing governs them"):
        make_agent(model, mcp_servers=[PlainServer(tmp_path).option()])
    TABLE["no rule (read-only)", MCP, version] = REFUSED
    offered = set(model.requests[0].tools)
    assert not offered & {"write_to_file", "replace_file_content", "run_command"}
    assert problems == []


def test_call_when_a_hook_rewrites_it_then_that_is_where_it_runs(
    make_agent, tmp_path, version, caplog
):
    """New arguments take the place of the model's; where they cannot, the call is refused."""
    workspace = tmp_path / "workspace"
    kinds = kinds_in(workspace)
    moved = {
        kind.name: attrs.evolve(kind, place=workspace / f"{kind.name}-moved") for kind in kinds
    }
    for kind in moved.values():
        kind.prepare()
    names: list[str] = []

    def rewrite(_call: object) -> Decision:
        return Decision.allow(moved[names[-1]].rewritten_to(moved[names[-1]].place))

    for kind in kinds:  # what only the model could tell must be told by the new place alone
        (kind.place / "read").write_text("old")
        (kind.place / next(p.name for p in kind.place.glob("zqx*.txt"))).unlink()
    problems = []
    options = {**everything(tmp_path), **hook(rewrite)}
    with (
        caplog.at_level(logging.WARNING, "antigravity_sync"),
        ScriptedModel(*script_of(kinds)) as model,
        make_agent(model, **options) as agent,
    ):
        for kind in kinds:
            names.append(kind.name)
            caplog.clear()
            events, response = play(agent, "go")
            text = told(model)
            if kind.name == CUSTOM or release(version) >= (0, 1, 7):
                found = check_ran(moved[kind.name], events, response, text)
                outcome = MOVED
            else:
                way = Way({}, DENIED, "cannot be changed on this harness")
                found = check_denied(moved[kind.name], events, response, text, way, False)
                if "cannot rewrite" not in caplog.text:
                    found.append("nothing was logged")
                outcome = DENIED
            if kind.name not in ("view_file", "list_directory", "search_directory", "find_file"):
                found += ["ran at the old place"] if kind.has_run("") else []
            TABLE["hook rewrites", kind.name, version] = "WRONG" if found else outcome
            problems += [f"{kind.name}: {problem}" for problem in found]
    assert problems == []


@pytest.mark.parametrize("denied", ["create_file", "edit_file"])
def test_edit_when_only_one_way_of_it_is_denied_then_that_one_never_runs(
    make_agent, tmp_path, version, denied
):
    """0.1.5 does not tell making a file from editing one: there, either rule holds both."""
    kinds = [Kind(name, tmp_path / "workspace" / name).prepare() for name in CHANGING[:2]]
    options = rules(policy.deny(denied, "zqx no"), policy.allow_all())
    with (
        ScriptedModel(*script_of(kinds)) as model,
        make_agent(model, capabilities=CAPABILITIES, **options) as agent,
    ):
        for _ in kinds:
            agent.chat("go")
    ran = [kind.name for kind in kinds if kind.has_run("")]
    others = [kind.name for kind in kinds if kind.name != denied]
    assert ran == ([] if version == "0.1.5" else others)


def test_matrix_when_all_has_run_then_no_cell_is_empty():
    """Every way was gone by every kind of tool on every version; with `-s` the table is shown."""
    ways = dict.fromkeys(way for way, _, _ in TABLE)
    rows = [["", *ALL]]
    for way in ways:
        rows.append([way])
        for kind in ALL:
            found = [TABLE.get((way, kind, version), "-") for version in VERSIONS]
            rows[-1].append(found[0] if len(set(found)) == 1 else "/".join(found))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    print("\n" + "\n".join([f"on {', '.join(VERSIONS)}:", *lines]))  # noqa: T201 - the table
    missing = [
        (way, kind, version)
        for way in ways
        for kind in ALL
        for version in VERSIONS
        if (way, kind, version) not in TABLE
    ]
    assert missing == []
    assert "WRONG" not in TABLE.values()
