"""Finds the reply to everything the harness asks: policies, hooks, tools, questions.

Runs on the pump. What may wait for a person goes to the handler thread, what runs a tool goes to
the caller of the turn or to a worker; their replies come back through the mailbox.
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Callable
from typing import Final, Protocol

import attrs

from .. import hooks as hooking
from .._arguments import as_in_step
from .._clock import Clock, Deadline
from .._core.answers import asked_action, is_about_a_call
from .._core.asks import Ask, AskKind
from .._core.inputs import CallbackFailed, Decided, Input
from .._core.replies import (
    ErrorText,
    GoOn,
    Heard,
    QuestionsReply,
    Reply,
    Rewritten,
    ToolReply,
    Unheard,
)
from .._messages import WireAnswer
from ..errors import UsageError
from ..events import Compacted, Event, ToolAction
from ..hooks import StopInfo, ToolInvocation, ToolOutcome
from ..questions import CancelQuestions, Question, settle
from ..responses import Allowed, ChatResponse, Denied, JsonObject
from . import roles
from .board import Board
from .gate import AskPerson, Gate
from .mailbox import Call, Mailbox
from .toolroom import Callbacks, ToolRoom
from .watch import Watch
from .workers import Workers

_log: Final = logging.getLogger("antigravity_sync.runtime")

_HOOK: Final = "LIFECYCLE_HOOK_"


class Taker(Protocol):
    """One who answers by himself what the harness asks."""

    def wants(self, ask: Ask) -> bool:
        """Return whether he answers this, once the rules let it pass."""

    def take(self, ask: Ask) -> None:
        """Have him answer it."""


class Responder:
    """The user's side of the conversation.

    Thread: the pump's, except where a method says otherwise.

    Attributes:
        tools: Where the user's tools run.
        taker: Who answers in place of the configuration's callbacks, `None` for nobody.
    """

    def __init__(
        self,
        callbacks: Callbacks,
        mailbox: Mailbox,
        board: Board,
        watch: Watch,
        clock: Clock,
        label: str,
        make_gate: Callable[[AskPerson, hooking.Run], Gate],
    ) -> None:
        self._callbacks = callbacks
        self._hooks = callbacks.hooks
        self._mailbox = mailbox
        self._board = board
        self._watch = watch
        self._label = label
        self._gate = make_gate(self._ask_person, self.run_hook)
        self._handler = Workers(f"{label}-handler", 1)
        self.tools = ToolRoom(callbacks, mailbox, board, clock, label)
        self._feed: Callable[[Input], None] = mailbox.post
        self._wanted = hooking.wanted(self._hooks)
        self._conversation_id = ""
        self._failures: list[Exception] = []
        self.taker: Taker | None = None

    def bind(self, feed: Callable[[Input], None]) -> None:
        """Set how the pump takes an input at once, on its own thread."""
        self._feed = feed
        self.tools.bind(feed)

    # ── asks ────────────────────────────────────────────────────────────────────────────────────

    def respond(self, ask: Ask) -> None:
        """Find the reply to an ask and feed it, now or when it is known."""
        if self.taker is not None and self.taker.wants(ask):
            self._hand_over(ask, self.taker)
            return
        match ask.kind:
            case AskKind.TOOL:
                self._respond_to_call(ask)
            case AskKind.POLICY:
                self._decide(ask, lambda reply: self._reply(ask, reply))
            case AskKind.CONFIRMATION if ask.name:
                self._decide(ask, lambda reply: self._reply(ask, reply))
            case AskKind.CONFIRMATION:
                self._reply(ask, Unheard())
            case AskKind.QUESTIONS:
                self._respond_to_questions(ask)
            case AskKind.HOOK:
                self._respond_to_hook(ask)

    def _hand_over(self, ask: Ask, taker: Taker) -> None:
        """Have somebody else answer what no rule refuses."""
        was_decided = ask.kind is AskKind.TOOL and self._gate.has_passed(ask)
        if was_decided or not is_about_a_call(ask):
            taker.take(ask)
            return

        def go(said: Reply) -> None:
            self._reply(ask, said) if isinstance(said, Denied) else taker.take(ask)

        self._decide(ask, go)

    def _decide(self, ask: Ask, then: Callable[[Reply], None]) -> None:
        """Put a call to the gate; its policies may be user code too."""
        if not self._gate.runs_user_code:
            self._gate.decide(ask, then)
            return
        live = self._board.live
        mine = frozenset({self._label})
        known: list[Reply] = []
        take = known.append

        with (
            self._watch.running(f"a policy on {ask.name}"),
            roles.playing(mine if live is None else mine | live.roles),
        ):
            self._gate.decide(ask, lambda reply: take(reply))
        take = then  # what a person says comes later
        for reply in known:
            then(reply)  # not inside: sending it is not the policy's time

    def _reply(self, ask: Ask, reply: Reply) -> None:
        self._feed(Decided(ask.key, reply))

    def _respond_to_hook(self, ask: Ask) -> None:
        match ask.hook_type.removeprefix(_HOOK):
            case "PRE_TOOL":
                self._decide(ask, lambda reply: self._reply(ask, reply))
            case "POST_TOOL":
                self._observe_outcome(ask)
                self._reply(ask, Heard())
            case "ON_TOOL_ERROR":
                outcome = self._outcome(ask, error=_text(ask.args, "errorMessage"))
                text = hooking.error_text(self._hooks, outcome, self.run_hook)
                self._reply(ask, Heard() if text is None else ErrorText(text))
            case "ON_COMPACTION":
                self._observe("on_compaction", _text(ask.args, "summary"))
                self._reply(ask, Heard())
            case "STOP":
                self._reply(ask, self._stop(ask))
            case _:
                self._reply(ask, Unheard())

    def _stop(self, ask: Ask) -> Reply:
        args = ask.args
        count = args.get("continuationCount")
        info = StopInfo(
            _text(args, "responseText"),
            count if isinstance(count, int) else 0,
            _text(args, "stopReason").removeprefix("STOP_REASON_").replace("UNSPECIFIED", "")
            or None,
            _text(args, "errorMessage"),
            ask.trajectory_id,
            ask.is_main,
        )
        said = hooking.decide_stop(self._hooks, info, self.run_hook)
        return GoOn(said.reason) if said.goes_on else Heard()

    def _observe_outcome(self, ask: Ask) -> None:
        error = _text(ask.args, "error")
        if error:
            # A failure that the harness reports here has had its ON_TOOL_ERROR, or has none.
            return
        raw = _text(ask.args, "result")
        try:
            result = hooking.result_text(json.loads(raw))
        except ValueError:
            result = raw
        outcome = self._outcome(ask, result=result)
        hooking.observe(self._hooks, "on_post_tool", outcome, self.run_hook)

    def _outcome(self, ask: Ask, *, result: str | None = None, error: str = "") -> ToolOutcome:
        # Up to 0.1.10 a failed call of an MCP tool is called after the tool that dispatches it.
        call = self._gate.passed(ask.call_id)
        return ToolOutcome(
            asked_action(ask).name if call is None else call.name,
            {} if call is None else call.args,
            result,
            error,
            ask.call_id,
            ask.server_name if call is None else call.server_name,
            ask.trajectory_id,
            ask.is_main,
        )

    # ── tools ───────────────────────────────────────────────────────────────────────────────────

    def _respond_to_call(self, ask: Ask) -> None:
        tool = self._callbacks.tools.get(ask.name)
        if tool is None:
            self._reply(ask, Denied(f"there is no tool named {ask.name!r}; use a declared one"))
            return

        def go(reply: Reply) -> None:
            match reply:
                case Rewritten(arguments=arguments):
                    self.tools.dispatch(ask, tool, arguments)
                case Allowed():
                    self.tools.dispatch(ask, tool, ask.raw_args)
                case _:
                    self._reply(ask, reply)

        if self._gate.has_passed(ask):
            self.tools.dispatch(ask, tool, ask.raw_args)
        else:
            self._decide(ask, go)

    def finished(self, happened: Decided) -> Decided:
        """Take in a reply on its way to the session; return it, with a hook's words if it has any.

        Where the harness has no hooks of its own (0.1.5), those of ours are called here.
        """
        task = self.tools.take_back(happened.key)
        if task is None or not isinstance(happened.reply, ToolReply) or self._gate.has_hooks:
            return happened
        reply = happened.reply
        args = task.arguments if isinstance(task.arguments, dict) else {}
        outcome = ToolOutcome(task.tool.name, args, error=reply.error, call_id=task.context.call_id)
        if reply.error:
            text = hooking.error_text(self._hooks, outcome, self.run_hook)
            return happened if text is None else Decided(happened.key, ToolReply(error=text))
        result = hooking.result_text(json.loads(reply.result_json))
        hooking.observe(
            self._hooks, "on_post_tool", attrs.evolve(outcome, result=result), self.run_hook
        )
        return happened

    # ── people ──────────────────────────────────────────────────────────────────────────────────

    def _respond_to_questions(self, ask: Ask) -> None:
        function = hooking.question_function(self._hooks)
        if function is None:
            self._reply(ask, Unheard())
            return
        questions = tuple(Question.parse(raw) for raw in ask.questions)

        def answer() -> None:
            reply: Reply = Unheard()
            try:
                given = self._wrapped(lambda: function(questions))
                settled, warnings = settle(questions, given)
                for warning in warnings:
                    _log.warning("%s", warning)
                reply = QuestionsReply(
                    None
                    if isinstance(settled, CancelQuestions)
                    else tuple(WireAnswer(each.selected, each.text) for each in settled)
                )
            except BaseException as error:  # noqa: BLE001 - boundary: a user's handler; the question stays open
                _log.exception("on_questions failed; the questions stay unanswered")
                self._mailbox.post(CallbackFailed(_as_exception(error, "on_questions")))
            self._mailbox.post(Decided(ask.key, reply))

        self._submit(answer)

    def _ask_person(
        self,
        handler: Callable[[ToolInvocation], bool],
        call: ToolInvocation,
        then: Callable[[Reply], None],
    ) -> None:
        def ask() -> None:
            try:
                confirmed = self._wrapped(lambda: handler(call))
                reply: Reply = (
                    Allowed() if confirmed is True else Denied(f"{call.name} was not confirmed")
                )
            except BaseException as error:  # noqa: BLE001 - boundary: a user's handler; failing closed
                _log.exception("the confirm handler for %s failed; the call is denied", call.name)
                self._mailbox.post(CallbackFailed(_as_exception(error, "a confirm handler")))
                reply = Denied(f"the confirmation of {call.name} failed: {error!r:.500}")
            self._mailbox.post(Call(lambda: then(reply)))

        self._submit(ask)

    def _submit(self, job: Callable[[], None]) -> None:
        """Run a job on the handler's thread, unless its turn is over by the time it can begin."""
        live = self._board.live
        if live is None:
            self._handler.submit(job, contextvars.copy_context())
        else:
            self._handler.submit(lambda: job() if live.end is None else None, live.context)

    def _wrapped(self, call: Callable[[], object]) -> object:
        """Run user code on the handler's thread."""
        with roles.playing(frozenset({self._label})):
            return self.through_wrapper(call)

    def through_wrapper(self, call: Callable[[], object]) -> object:
        """Make a call of user code through the configured wrapper; any thread."""
        wrapper = self._callbacks.wrapper
        if wrapper is None:
            return call()
        found: list[object] = []
        wrapper(lambda: found.append(call()))
        if not found:  # with `None` for an answer, what the hook forbids would pass
            raise UsageError("callback_wrapper returned without making the call; have it do so")
        return found[0]

    # ── hooks ───────────────────────────────────────────────────────────────────────────────────

    def run_hook(self, name: str, call: Callable[[], object]) -> object:
        """Run a hook; what it raises is logged, kept for the response, and goes up."""
        live = self._board.live
        mine = frozenset({self._label})
        try:
            with (
                self._watch.running(name),
                roles.playing(mine if live is None else mine | live.roles),
            ):
                return self.through_wrapper(call)
        except BaseException as error:  # boundary: a user's hook; whoever called decides
            _log.exception("hook %s failed", name)
            failure = _as_exception(error, name)
            self._failures.append(failure)
            self._feed(CallbackFailed(failure))
            if failure is error:
                raise
            raise failure from error

    def pre_turn(self, prompt: str) -> Denied | None:
        """Return why a prompt must not be sent, `None` if it may."""
        if not self.wants("on_pre_turn"):
            return None
        said = hooking.decide_turn(self._hooks, prompt, self.run_hook)
        return None if said.is_allowed else Denied(said.reason)

    def session_started(self, conversation_id: str) -> None:
        """Call `on_session_start`, once for a conversation and not for a reconnection of it."""
        if conversation_id != self._conversation_id:
            self._conversation_id = conversation_id
            self._observe("on_session_start", conversation_id)

    def session_ends(self) -> None:
        """Call `on_session_end`, if the session has started."""
        if self._conversation_id:
            self._observe("on_session_end", self._conversation_id)

    def wants(self, name: str) -> bool:
        """Return whether there is a hook of this name."""
        return name in self._wanted

    def after_turn(self, response: ChatResponse) -> ChatResponse:
        """Call `on_post_turn`; return the response, with the errors it raised."""
        if response.cancelled or not self.wants("on_post_turn"):
            return response
        self._failures.clear()
        self._observe("on_post_turn", response.text)
        return attrs.evolve(response, errors=(*response.errors, *self._failures))

    def watch_event(self, event: Event) -> None:
        """Call the hooks that hear of an event because no request of the harness tells them."""
        if isinstance(event, Compacted):
            if not self._gate.has_compaction_hook:
                self._observe("on_compaction", event.summary)
        elif (
            isinstance(event, ToolAction)
            and isinstance(event.decision, Allowed)
            and not self._gate.has_hooks
        ):
            self._observe_action(event)

    def _observe_action(self, event: ToolAction) -> None:
        """Tell of a built-in tool's end where the harness does not call tool hooks (0.1.5)."""
        action = event.action
        result = action.result or {}
        error = result.get("error")
        server = _text(action.extra, "server_name")
        outcome = ToolOutcome(
            action.name,
            action.args,
            server_name=server,
            trajectory_id=event.trajectory_id,
            is_main=event.is_main,
        )
        if isinstance(error, str):
            failed = attrs.evolve(outcome, error=error)
            hooking.error_text(self._hooks, failed, self.run_hook)
        elif server:
            self._observe("on_post_tool", outcome)  # the step does not tell what came of it
        else:
            # As newer harnesses put it: what was asked and what came of it in one object.
            whole = {**as_in_step(action.name, action.args), **result}
            done = attrs.evolve(outcome, result=hooking.result_text(whole))
            self._observe("on_post_tool", done)

    def _observe(self, name: str, value: object) -> None:
        hooking.observe(self._hooks, name, value, self.run_hook)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def close(self, deadline: Deadline) -> tuple[str, ...]:
        """End the threads; return the names of those that would not end in time. Any thread."""
        return (*self.tools.close(deadline), *self._handler.close(deadline))


def _as_exception(error: BaseException, what: str) -> Exception:
    """Return an error that may go up through our own threads: no `SystemExit` may end those."""
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"{what} raised {error!r}, which ends nothing on this thread")


def _text(args: JsonObject, name: str) -> str:
    value = args.get(name)
    return value if isinstance(value, str) else ""
