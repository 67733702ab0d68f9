"""The harness's own decision under the rules that it is sent, beside that of the rules here.

A client by hand drives it, without hooks: whatever is refused, the harness refused itself. What it
decided is read from what the model was told.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import AgentConfig, Capabilities, Tool, ToolInvocation
from antigravity_sync import _messages as m
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.encode import encode
from antigravity_sync._wire.render import Conversation, render_init
from antigravity_sync.policy import Effect, Policy, allow, confirm, deny, evaluate
from antigravity_sync.testing import ScriptedModel, always, call
from tests.gates import Task
from tests.loop.raw_client import RawHarness, is_end, receive, send, step_of
from tests.versions import VERSIONS, harness_path, release

pytestmark = pytest.mark.real

SETS: Final = 200
#: How every refusal by a rule begins, and nothing else that the model is told.
REFUSED: Final = "denied by pre-tool hook"
#: Names that rules are about: the harness's tools', your own, and some that no call is of.
OWN: Final = ("mine", "push")
NAMES: Final = (
    "*", "*", "*", "view_file", "list_directory", "create_file", "run_command", "start_subagent",
    "invoke_subagent", "ask_question", "finish", *OWN, "mcp_git_push", "no_such_tool",
)  # fmt: skip
#: Nothing that takes long: a command does, and is a tool like any other to a rule.
OFFERED: Final = Capabilities.none().enable(
    "view_file", "list_directory", "create_file", "start_subagent", "ask_question"
)
FINISH: Final = {"type": "object", "properties": {"answer": {"type": "string"}}}


def yes(_call: ToolInvocation) -> bool:
    return True


def no(_call: ToolInvocation) -> bool:
    return False


def raises(_call: ToolInvocation) -> bool:
    raise LookupError("no such thing")


def random_rules(chance: random.Random) -> list[Policy]:
    """Return rules of all kinds; in a third of the sets none depends on the call or a person."""
    is_plain = chance.random() < 1 / 3

    def one() -> Policy:
        name = chance.choice(NAMES)
        when = None if is_plain else chance.choice([None, None, yes, no, raises])
        reason = chance.choice(["", "zqx"])
        rules = [allow(name, when), deny(name, reason, when), deny(name, reason, when)]
        if not is_plain:
            rules.append(confirm(name))
        return chance.choice(rules)

    return [one() for _ in range(chance.randrange(1, 8))]


def calls_in(workspace: Path) -> dict[str, Any]:
    """Return a call of each kind, by its canonical name."""
    place = str(workspace)
    question = {"question": "Which?", "options": ["a", "b"], "is_multi_select": False}
    subagent = {"TypeName": "nobody", "Role": "none", "Prompt": "go"}
    return {
        "view_file": call("view_file", AbsolutePath=f"{place}/text"),
        "list_directory": call("list_dir", DirectoryPath=place),
        "create_file": call(
            "write_to_file",
            TargetFile=f"{place}/made",
            CodeContent="x",
            Overwrite=True,
            Description="make",
        ),
        "start_subagent": call("invoke_subagent", Subagents=[subagent]),
        "ask_question": call("ask_question", questions=[question]),
        **{name: call(name) for name in OWN},
        "finish": call("finish", answer="x"),
    }


def own_tool(name: str) -> Tool:
    return Tool(name, "Do.", {"type": "object", "properties": {}}, lambda: None)


@attrs.frozen
class Bench:
    """A harness that decides about one call of each kind, under any rules."""

    harness: RawHarness
    model: ScriptedModel
    dialect: Dialect
    workspace: Path

    def ask(self, policies: list[Policy], names: Sequence[str]) -> dict[str, bool]:
        """Return for calls of these names whether the harness refuses them.

        Each time in a conversation of its own; `finish`, which ends a turn, is asked about last.
        """
        config = AgentConfig(
            **self.model.agent_options(),
            workspaces=[self.workspace],
            capabilities=OFFERED,
            tools=[own_tool(name) for name in OWN],
            policies=policies,
            raw_config={"enabledHooks": [], "finishToolSchemaJson": json.dumps(FINISH)},
        )
        rendered = render_init(
            config,
            conversation=Conversation(),
            api_key="none",
            app_data_dir=str(self.workspace.parent),
            dialect=self.dialect,
        )
        client = self.harness.connect()
        client.send(rendered.text)
        assert "initializeConversationResponse" in receive(client)
        before = len(self.model.requests)
        client.send(encode(m.UserInput((m.TextPart(" ".join(names)),)), self.dialect))
        while not is_end(frame := receive(client)):
            self._answer(client, frame)
        client.shutdown()
        requests = self.model.requests
        assert len(requests) > before
        told = [json.dumps(answer) for _, answer in requests[-1].function_responses]
        # Where `finish` was let through, the model was not asked again.
        assert len(told) in (len(names), len(names) - 1)
        return dict.fromkeys(names, False) | {
            name: REFUSED in text for name, text in zip(names, told, strict=False)
        }

    def _answer(self, client: Any, frame: dict[str, Any]) -> None:
        assert "callHookRequest" not in frame
        if "toolCall" in frame:
            answer = {"id": frame["toolCall"]["id"], "responseJson": '{"result": "zqx-ran"}'}
            send(client, toolResponse=answer)
        elif "stepUpdate" in frame and step_of(frame)["state"] == "STATE_WAITING_FOR_USER":
            step = step_of(frame)
            where = {"trajectoryId": step["trajectoryId"], "stepIndex": step["stepIndex"]}
            send(client, questionResponse={**where, "response": {"answers": [{}]}})


@pytest.fixture(params=[version for version in VERSIONS if release(version) >= (0, 1, 10)])
def bench(request: pytest.FixtureRequest, tmp_path: Path, _leaves_nothing: None) -> Iterator[Bench]:
    """Give a harness that knows `policyConfig`."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "text").write_text("old")
    with bench_of(request.param, workspace) as bench:
        yield bench


@contextlib.contextmanager
def bench_of(version: str, workspace: Path) -> Iterator[Bench]:
    known = calls_in(workspace)

    def reply(asked: Any) -> Any:
        """All calls but the one that may end the turn, then that, then a word."""
        *calls, finish = (known[name] for name in asked.prompt.split())
        told = len(asked.function_responses)
        return calls if told == 0 else finish if told == len(calls) else "ok"

    home = workspace.parent
    with (
        ScriptedModel(always(reply)) as model,
        RawHarness(str(harness_path(version)), env={**os.environ, "HOME": str(home)}) as harness,
    ):
        drain = Task(harness.stderr)  # a pipe that is full would hold the harness
        harness.ready(body=b"")  # nothing is kept, which saves a database for each set of rules
        yield Bench(harness, model, Dialect.of(version), workspace)
        harness.process.kill()
        drain.result()


def decides(policies: list[Policy], name: str) -> Effect | None:
    return evaluate(policies, ToolInvocation(name)).effect


def most_permissive(policies: list[Policy]) -> list[Policy]:
    """Return the rules as they are when each condition comes out in favour of the call."""
    outcome = {Effect.DENY: no, Effect.ALLOW: yes}
    return [
        one if one.when is None else attrs.evolve(one, when=outcome[one.effect]) for one in policies
    ]


def test_harness_when_given_random_rules_then_it_never_disagrees(
    bench: Bench, tmp_path: Path
) -> None:
    """It denies nothing that may run here, and lets nothing pass that no call may do here."""
    counted = {True: 0, False: 0}
    for seed in range(SETS):
        policies = random_rules(random.Random(seed))
        certain = most_permissive(policies)
        is_certain = {
            name: decides(certain, name) is Effect.DENY for name in calls_in(bench.workspace)
        }
        for name, is_refused in bench.ask(policies, tuple(is_certain)).items():
            counted[is_refused] += 1
            about = (seed, name, list(map(str, policies)))
            if is_refused:
                assert decides(policies, name) is Effect.DENY, ("denied there alone", *about)
            assert is_refused or not is_certain[name], ("allowed there", *about)
    assert min(counted.values()) > SETS  # or nothing was shown
