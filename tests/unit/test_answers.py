"""From a frame that wants an answer to an ask, and from a decision to the answer."""

from __future__ import annotations

from typing import Any, Final

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._core import answers
from antigravity_sync._core.asks import Ask, AskKind
from antigravity_sync._core.replies import (
    ErrorText,
    GoOn,
    Heard,
    QuestionsReply,
    Reply,
    Rewritten,
    ToolReply,
    Unheard,
)
from antigravity_sync._core.toolsteps import mcp_action
from antigravity_sync.responses import Action, Allowed, Denied
from tests.stage import MAIN, step, tool

PRE_TOOL: Final = answers.PRE_TOOL
NO: Final = Denied("no")

TOOL: Final = answers.frame_ask(m.ToolCallFrame("c", "mine", '{"X":1}', {"X": 1}, "t"))
HOOK: Final = answers.frame_ask(
    m.HookFrame(
        "h",
        PRE_TOOL,
        {
            "toolName": "push",
            "serverName": "git",
            "callId": "c",
            "trajectoryId": "t",
            "arguments": {
                "ServerName": "git",
                "ToolName": "push",
                "Arguments": {"CommandLine": "ls"},
            },
        },
    )
)
STOP: Final = answers.frame_ask(m.HookFrame("s", "LIFECYCLE_HOOK_STOP", {"responseText": "x"}))
POLICY: Final = answers.frame_ask(
    m.PolicyFrame("1", "R", {"toolName": "view_file", "arguments": {"AbsolutePath": "file:///a"}})
)
CONFIRM: Final = answers.step_ask(tool(1, "WAITING_FOR_USER", wants_confirmation=True))
NOTICE: Final = answers.step_ask(step(1, "", "WAITING_FOR_USER", wants_confirmation=True))
QUESTIONS: Final = answers.step_ask(step(1, "", "WAITING_FOR_USER", questions=({}, {})))
UNKNOWN: Final = answers.unknown_ask(m.UnknownFrame("newRequest", {}, "r"))


@pytest.mark.parametrize(
    ("ask", "kind", "key", "name", "args"),
    [
        (TOOL, AskKind.TOOL, ("tool", "c"), "mine", {"X": 1}),
        (HOOK, AskKind.HOOK, ("hook", "h"), "push", {"CommandLine": "ls"}),
        (STOP, AskKind.HOOK, ("hook", "s"), "STOP", {"responseText": "x"}),
        (POLICY, AskKind.POLICY, ("policy", "1"), "view_file", {"absolute_path": "/a"}),
        (
            CONFIRM,
            *(AskKind.CONFIRMATION, ("confirmation", MAIN, "1"), "run_command"),
            {"command_line": "make"},
        ),
        (NOTICE, AskKind.CONFIRMATION, ("confirmation", MAIN, "1"), "", {}),
        (QUESTIONS, AskKind.QUESTIONS, ("questions", MAIN, "1"), "ask_question", {}),
        (UNKNOWN, AskKind.HOOK, ("hook", "r"), "newRequest", {}),
    ],
)
def test_ask_when_a_frame_wants_an_answer_then_it_says_what_and_by_which_key(
    ask: Ask, kind: AskKind, key: tuple[str, ...], name: str, args: dict[str, Any]
) -> None:
    """Kind and identity; a built-in's call in one spelling, any other as it was declared."""
    assert (ask.kind, ask.key, ask.name, ask.args) == (kind, key, name, args)


def test_ask_when_the_frame_says_who_asks_then_that_is_kept() -> None:
    """Server, call and trajectory, where the version has them; text where text belongs."""
    assert (HOOK.server_name, HOOK.call_id, HOOK.trajectory_id) == ("git", "c", "t")
    assert (TOOL.call_id, TOOL.trajectory_id) == ("c", "t")
    odd = answers.frame_ask(m.PolicyFrame("1", "R", {"toolName": 5, "callId": None}))
    assert (odd.name, odd.call_id) == ("", "")


@pytest.mark.parametrize(
    ("ask", "about_a_call", "dies"),
    [
        (TOOL, True, True),
        (HOOK, True, True),
        (STOP, False, False),
        (POLICY, True, True),
        (CONFIRM, True, True),
        (NOTICE, False, True),
        (QUESTIONS, False, True),
        (UNKNOWN, False, False),
    ],
)
def test_ask_when_it_has_a_kind_then_who_decides_and_what_a_halt_does_follow(
    ask: Ask, about_a_call: bool, dies: bool
) -> None:
    """Calls can be refused; a halt drops all but the hooks around the end."""
    assert answers.is_about_a_call(ask) is about_a_call
    assert answers.dies_with_the_turn(ask) is dies


@pytest.mark.parametrize(
    "hook", ["PRE_TOOL", "POST_TOOL", "ON_TOOL_ERROR", "PRE_TURN"], ids=lambda each: each
)
def test_ask_when_a_hook_belongs_to_a_call_or_a_prompt_then_a_halt_drops_it(hook: str) -> None:
    """A late answer to one of these is fatal to the session."""
    frame = m.HookFrame("h", f"LIFECYCLE_HOOK_{hook}")
    assert answers.dies_with_the_turn(answers.frame_ask(frame))


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (NOTICE, m.Confirmation(MAIN, 1, accepted=True)),
        (QUESTIONS, m.QuestionsAnswer(MAIN, 1, (m.WireAnswer(), m.WireAnswer()))),
        (STOP, m.HookAnswer("s", "LIFECYCLE_HOOK_STOP")),
        (UNKNOWN, m.HookAnswer("r", "newRequest")),
    ],
)
def test_default_answer_when_nobody_decides_then_it_lets_the_turn_go_on(
    ask: Ask, expected: m.ClientMessage
) -> None:
    """A notice is let through, questions stay unanswered, hooks get the empty result."""
    assert answers.answer(ask, Unheard()) == expected


@pytest.mark.parametrize(
    ("ask", "reply", "expected"),
    [
        (TOOL, NO, m.ToolAnswer("c", error="no")),
        (TOOL, Allowed(), m.ToolAnswer("c", error="there is no tool named 'mine'")),
        (HOOK, Allowed(), m.HookAnswer("h", PRE_TOOL, allowed=True)),
        (HOOK, NO, m.HookAnswer("h", PRE_TOOL, allowed=False, reason="no")),
        (POLICY, Allowed(), m.PolicyAnswer("1", allowed=True)),
        (POLICY, NO, m.PolicyAnswer("1", allowed=False, reason="no")),
        (CONFIRM, Allowed(), m.Confirmation(MAIN, 1, accepted=True)),
        (CONFIRM, NO, m.Confirmation(MAIN, 1, accepted=False)),
        (QUESTIONS, Allowed(), m.QuestionsAnswer(MAIN, 1, (m.WireAnswer(), m.WireAnswer()))),
        (QUESTIONS, QuestionsReply(None), m.QuestionsAnswer(MAIN, 1, None)),
        (
            QUESTIONS,
            QuestionsReply((m.WireAnswer((1,)), m.WireAnswer((), "x"))),
            m.QuestionsAnswer(MAIN, 1, (m.WireAnswer((1,)), m.WireAnswer((), "x"))),
        ),
        (TOOL, ToolReply('{"result":1}'), m.ToolAnswer("c", '{"result":1}')),
        (TOOL, ToolReply(error="bad"), m.ToolAnswer("c", "{}", "bad")),
        (HOOK, Rewritten({"a": 1}), m.HookAnswer("h", PRE_TOOL, allowed=True, arguments={"a": 1})),
        (POLICY, Rewritten({"a": 1}), m.PolicyAnswer("1", allowed=True)),
        (CONFIRM, Rewritten({"a": 1}), m.Confirmation(MAIN, 1, accepted=False)),
        (STOP, GoOn("more"), m.HookAnswer("s", "LIFECYCLE_HOOK_STOP", reason="more")),
        (STOP, Heard(), m.HookAnswer("s", "LIFECYCLE_HOOK_STOP")),
        (HOOK, ErrorText("t"), m.HookAnswer("h", PRE_TOOL, error_text="t")),
    ],
)
def test_answer_when_a_decision_is_made_then_the_message_carries_it(
    ask: Ask, reply: Reply, expected: m.ClientMessage
) -> None:
    """Every kind of ask has its own answer for yes, for no, and for what has been found out."""
    assert answers.answer(ask, reply) == expected


def test_asked_action_when_a_call_is_decided_then_its_name_is_canonical() -> None:
    """MCP tools carry their server, and the subagent tool has one name of two."""
    assert answers.asked_action(HOOK) == mcp_action("git", "push", {"CommandLine": "ls"})
    invoke = answers.frame_ask(m.PolicyFrame("1", "R", {"toolName": "invoke_subagent"}))
    assert answers.asked_action(invoke) == Action("start_subagent")


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        (None, {}),
        ({}, {}),
        ([1], {"arguments": [1]}),
        ("no JSON", {"arguments": "no JSON"}),
        ({"DirectoryPath": "file:///a%20b", "n": 1}, {"directory_path": "/a b", "n": 1}),
        (
            # Refused before any rule sees it, whichever of them comes first here.
            {"directoryPath": "ls", "DirectoryPath": "rm", "directory_path": "id"},
            {"directory_path": "ls", "directory_path_": "rm", "directory_path__": "id"},
        ),
        ({"directorypath": "/a"}, {"directory_path": "/a"}),
        ({"_": 1, "": 2}, {"_": 1, "": 2}),
        ({"DirectoryPath": "file://["}, {"directory_path": "file://["}),
    ],
)
def test_call_ask_when_a_model_writes_anything_then_a_rule_can_look_at_it(
    parsed: object, expected: dict[str, Any]
) -> None:
    """No value is lost, and none hides behind another spelling of its name."""
    call = {"toolName": "list_directory", "arguments": parsed}
    assert answers.frame_ask(m.PolicyFrame("1", "R", call)).args == expected


@pytest.mark.parametrize("server", ["shop", ""])
def test_call_when_of_an_older_harness_then_the_mcp_tool_is_read_from_its_arguments(server):
    """Up to 0.1.9 the hook names the tool that calls, so a rule on the tool itself saw nothing."""
    arguments = {"server_name": "shop", "toolname": "buy", "Arguments": {"count": 1}}
    args = {"toolName": "call_mcp_tool", "serverName": server, "arguments": arguments}
    action = answers.asked_action(answers.frame_ask(m.HookFrame("1", PRE_TOOL, args)))
    assert (action.name, action.args) == ("mcp_shop_buy", {"count": 1})
