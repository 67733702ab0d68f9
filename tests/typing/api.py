"""How a user's program looks to a type checker; nobody runs it, `test_typing.py` checks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict

from typing_extensions import assert_never, assert_type

import antigravity_sync
from antigravity_sync import (
    Action,
    Agent,
    AgentConfig,
    BuiltinTool,
    CancelHandle,
    Capabilities,
    ChatResponse,
    CloseReport,
    Conversation,
    Document,
    Gemini,
    Image,
    LocalConnectionStrategy,
    Model,
    OpenAICompatible,
    Retry,
    SlashCommand,
    Step,
    SystemInstructions,
    Text,
    ToolCall,
    ToolInvocation,
    Turn,
    Usage,
    Vertex,
    install_harness,
    policy,
    run,
)
from antigravity_sync import connections as links
from antigravity_sync.errors import (
    AntigravityError,
    ConfigError,
    HarnessNotFoundError,
    ModelError,
    TurnTimeoutError,
)
from antigravity_sync.events import (
    Allowed,
    Compacted,
    Denied,
    ErrorRaised,
    Event,
    Finished,
    QuestionAsked,
    Severity,
    TextDelta,
    ThinkingDelta,
    ToolAction,
    ToolCallDispatched,
    ToolCallFinished,
    UnknownEvent,
    UsageUpdated,
)
from antigravity_sync.testing import ScriptedModel, call, thought
from antigravity_sync.wire import drift_report


def sends_files(agent: Agent) -> None:
    picture = Image.from_path(Path("a.png"))
    assert_type(picture, Image)
    assert_type(Document.from_bytes(bytearray(b"x"), "text/plain"), Document)
    assert_type(agent.chat(picture), ChatResponse)
    pictures = [picture, picture]
    agent.stream(pictures)
    agent.chat(("Look:", Text("here"), picture, SlashCommand("goal")))


class Form(TypedDict):
    name: str


def configures() -> AgentConfig:
    config = AgentConfig(
        harness_path=Path("/opt/localharness"),
        env={"HTTP_PROXY": None, "LANG": "C"},
        model=Model("m", Gemini(api_key="k", headers={"X-Team": "a"})),
        system_instructions=SystemInstructions.append("Be brief.", ("Style", "No jokes.")),
        workspaces=[Path(), "/tmp"],
        skills_paths="/skills",
        capabilities=Capabilities.read_only().enable("run_command", BuiltinTool.EDIT_FILE),
        policies=policy.deny("run_command", "no", when=lambda call: "rm" in str(call.args)),
        turn_timeout=None,
        retry=Retry(max_retries=1),
        raw_config={"x": [1]},
    )
    for wanted in (Form, Gemini):
        config.evolve(response_schema=wanted)
    AgentConfig(response_schema=Form)
    AgentConfig(response_schema={"type": "object"})
    assert_type(config.evolve(model="other"), AgentConfig)
    AgentConfig(model=Model("m", Vertex(project="p", location="l")), models=[Model(types="image")])
    AgentConfig(models=["m", Model("p", types=("image",))])
    assert_type(OpenAICompatible("http://127.0.0.1:1").base_url, str)
    assert_type(config.text_model(), Model)
    assert_type(config.image_model(), Model | None)
    assert_type(config.turn_timeout, float | None)
    return config


def asks(agent: Agent) -> None:
    assert_type(agent.start(timeout=None), Agent)
    response = agent.chat("Hello", timeout=5)
    assert_type(response, ChatResponse)
    assert_type(response.text, str)
    assert_type(response.messages, tuple[str, ...])
    assert_type(response.usage, Usage)
    assert_type(response.usage - agent.usage, Usage)
    assert_type(response.usage.total_tokens, int | None)
    assert_type(response.tool_calls, tuple[ToolCall, ...])
    assert_type(response.pending_tasks, tuple[Action, ...])
    assert_type(response.cancelled, bool)
    assert_type(agent.history, tuple[Step, ...])
    assert_type(agent.trajectory_usage, Mapping[str, Usage])
    assert_type(agent.pid, int | None)
    assert_type(agent.cancel(), bool)
    assert_type(agent.cancel_handle(), CancelHandle)
    assert_type(agent.wait_idle(timeout=1.5), bool)
    assert_type(agent.close(timeout=1.5), CloseReport)
    assert_type(run("Hello", model="m"), ChatResponse)
    with agent as entered:
        assert_type(entered, Agent)


def streams(agent: Agent) -> None:
    with agent.stream("Hello") as turn:
        assert_type(turn, Turn)
        assert_type(turn.text_deltas(), Iterator[str])
        assert_type(turn.done, bool)
        assert_type(turn.cancel(), bool)
    for event in turn:
        assert_type(event, Event)
        shows(event)
    assert_type(turn.response(timeout=1.0), ChatResponse)


def shows(event: Event) -> str:
    """Return from every branch: a match over events can be complete."""
    match event:
        case TextDelta(text=text) | ThinkingDelta(text=text):
            return assert_type(text, str)
        case ToolAction(action=action, decision=Denied(reason=reason)):
            assert_type(action, Action)
            return assert_type(reason, str)
        case ToolAction(decision=Allowed()):
            return assert_type(event.action.name, str)
        case ToolAction():
            return ""
        case ToolCallDispatched(args=args):
            assert_type(args, Mapping[str, object])
            return event.call_id
        case ToolCallFinished(error=error):
            return error
        case QuestionAsked() | Compacted() | UsageUpdated():
            return str(event.to_dict())
        case ErrorRaised(severity=severity, http_code=http_code):
            assert_type(severity, Severity)
            assert_type(http_code, int | None)
            return event.message
        case UnknownEvent(kind=kind):
            return kind
        case Finished(response=response):
            return assert_type(response, ChatResponse).text
        case _:
            assert_never(event)


def governs(call: ToolInvocation) -> bool:
    assert_type(call.args, Mapping[str, object])
    rules = [policy.allow_all(), policy.confirm("edit_file", governs)]
    decision = policy.evaluate(rules, call)
    assert_type(decision, policy.PolicyDecision)
    assert_type(decision.effect, policy.Effect | None)
    assert_type(policy.explain(rules, call), str)
    return decision.effect is policy.Effect.ALLOW


def fails(agent: Agent) -> None:
    try:
        agent.chat("Hello")
    except ModelError as error:
        assert_type(error.http_code, int | None)
        assert_type(error.retryable, bool)
    except TurnTimeoutError as error:
        assert_type(error.waiting_for, tuple[str, ...])
    except HarnessNotFoundError as error:
        assert_type(error.searched, tuple[str, ...])
    except AntigravityError as error:
        assert_type(error.session_usable, bool)
    value_error: ValueError = ConfigError("x")
    timeout_error: TimeoutError = TurnTimeoutError("x")
    del value_error, timeout_error


def talks(config: AgentConfig) -> None:
    with LocalConnectionStrategy(config, hooks=["on_pre_tool"]).connect() as connection:
        assert_type(connection, links.LocalConnection)
        conversation = Conversation(connection, 5000, on_request=answers)
        for chunk in conversation.chat("Hello"):
            match chunk:
                case links.Thought(text=text) | links.Text(text=text):
                    assert_type(text, str)
                case ToolCall(call_id=str(call_id)):
                    connection.send_tool_response(call_id, {"degrees": 34})
                case ToolCall():
                    pass
                case _:
                    assert_never(chunk)
        assert_type(conversation.history, tuple[Step, ...])
        assert_type(conversation.total_usage, Usage)
        connection.send(["look", Image.from_path("a.png")])
        for step in connection.receive_steps():
            assert_type(step, Step)


def answers(step: links.RequestStep) -> str:
    match step.request:
        case links.ToolRequest(call_id=call_id):
            return assert_type(call_id, str)
        case links.HookRequest(request_id=request_id):
            return assert_type(request_id, str)
        case links.ConfirmationRequest(name=name):
            return assert_type(name, str)
        case links.QuestionsRequest(questions=questions):
            return questions[0].text
        case _:
            assert_never(step.request)


def tests() -> None:
    with ScriptedModel([thought("hm"), call("view_file", AbsolutePath="/a")], "Hi") as model:
        assert_type(model, ScriptedModel)
        with Agent(**model.agent_options()) as agent:
            asks(agent)


def installs() -> None:
    assert_type(install_harness("0.1.10", progress=print), Path)
    assert_type(drift_report(), dict[str, int])
    version: str = antigravity_sync.SUPPORTED_HARNESS_VERSION
    install_harness(version)
    assert_type(antigravity_sync.VERIFIED_HARNESS_VERSIONS, tuple[str, ...])
