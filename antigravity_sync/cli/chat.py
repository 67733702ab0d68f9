"""`chat`: a conversation with a person at a terminal."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final

from ..config import AgentConfig
from ..errors import AntigravityError
from ..hooks import Hooks, ToolInvocation
from ..questions import Answer, CancelQuestions, Question
from .display import Display, call_of
from .exits import CommandError, Exit, exit_for
from .options import add_agent_options, check_key, config_of
from .outcome import complaint
from .saved import note
from .say import harmless, say
from .signals import TerminatedError, sigterm_raises

if TYPE_CHECKING:
    from ..agent import Agent
    from ..turn import Turn
    from .feed import Feed

_PROMPT: Final = "> "
_YES: Final = frozenset({"y", "yes"})
_ALWAYS: Final = frozenset({"a", "always"})


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "chat",
        help="talk to an agent at the terminal",
        description="Talk to an agent at the terminal. You are asked before a tool changes "
        "anything. Ctrl-C halts the turn, twice leaves; so does Ctrl-D. The model's key is read "
        "from GEMINI_API_KEY.",
        allow_abbrev=False,
    )
    add_agent_options(parser)
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    if not sys.stdin.isatty():
        raise CommandError(
            Exit.USAGE, "chat needs a terminal, and standard input is none; use `run PROMPT`"
        )
    from ..agent import Agent
    from .feed import Feed

    feed = Feed()
    chat = _Chat(feed, _make_display())
    config = config_of(arguments, os.environ, ask=chat.approve)
    check_key(config, os.environ)
    config = config.evolve(hooks=[Hooks(on_questions=feed.answer)], turn_timeout=None)
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - makes `input` edit lines
    agent = Agent(config)
    try:
        with sigterm_raises(), chat.interrupts():
            agent.start()
            return chat.talk(agent, config)
    except TerminatedError:
        return Exit.TERMINATED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    finally:
        feed.close()
        chat.display.close()
        if config.save_dir is not None and chat.has_talked:
            say(f"the conversation is kept: --resume {agent.conversation_id}")
        agent.close()


class _Chat:
    """The person's side.

    Thread: the main one, except for `approve`.

    Attributes:
        display: What the person sees.
        has_talked: Whether anything was said.
    """

    def __init__(self, feed: Feed, display: Display) -> None:
        self.display = display
        self.has_talked = False
        self._feed = feed
        self._always: set[str] = set()
        self._turn: Turn | None = None
        self._is_asking = False
        self._is_halting = False

    # ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def interrupts(self) -> Iterator[None]:
        """Have the first Ctrl-C halt the turn that runs; every other is a `KeyboardInterrupt`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        turn = self._turn
        if turn is None or self._is_asking or self._is_halting:
            raise KeyboardInterrupt
        self._is_halting = True
        turn.cancel()

    # ── turns ───────────────────────────────────────────────────────────────────────────────────

    def talk(self, agent: Agent, config: AgentConfig) -> int:
        """Take turns until the person leaves."""
        is_leaving = False
        while True:
            try:
                prompt = self.display.ask(_PROMPT)
            except EOFError:
                self.display.note("bye")
                return Exit.OK
            except KeyboardInterrupt:
                if is_leaving:
                    raise
                is_leaving = True
                self.display.fresh_line()
                self.display.note("Ctrl-C again leaves")
                continue
            is_leaving = False
            if not prompt.strip():
                continue
            try:
                self._take_turn(agent, prompt)
            except AntigravityError as error:
                self.display.error(str(error))
                if not error.session_usable:
                    return exit_for(error)
            if not self.has_talked and config.save_dir is not None:
                note(os.fspath(config.save_dir), agent.conversation_id, prompt)
            self.has_talked = True

    def _take_turn(self, agent: Agent, prompt: str) -> None:
        from .feed import Approval, Asked, Ended, Tick

        self.display.begin()
        self._is_halting = False
        self._turn = turn = agent.stream(prompt)
        is_told = False
        try:
            for item in self._feed.play(turn):
                if self._is_halting and not is_told:
                    is_told = True
                    self._feed.drop_asks()
                    self.display.note("halting; Ctrl-C again leaves")
                match item:
                    case Approval():
                        item.reply.put(self._decide(item.call))
                    case Asked():
                        item.reply.put(self._reply(item.questions))
                    case Tick():
                        self.display.tick()
                    case Ended(error=None, response=response):
                        self.display.fresh_line()
                        if response is not None:
                            if wrong := complaint(response):
                                self.display.note(wrong)
                            self.display.end(response)
                    case Ended(error=error) if error is not None:
                        raise error
                    case Ended():
                        pass
                    case event:
                        self.display.event(event)
        finally:
            self._turn = None
            self.display.close()

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def approve(self, call: ToolInvocation) -> bool:
        """Return whether a call may run; called by the agent, on its thread for handlers."""
        return call.name in self._always or self._feed.approve(call)

    def _decide(self, call: ToolInvocation) -> bool:
        said = self._ask(f"allow {call_of(call.name, call.args)}? [y]es, [a]lways, [N]o: ").lower()
        if said in _ALWAYS:
            self._always.add(call.name)
        return said in _YES | _ALWAYS

    def _reply(self, questions: Sequence[Question]) -> list[Answer] | CancelQuestions:
        answers = []
        for question in questions:
            if question.is_unknown_type:
                answers.append(Answer.unanswered())
                continue
            self.display.note(question.text)
            for number, choice in enumerate(question.choices, 1):
                self.display.note(f"  {number}. {choice}")
            several = "numbers" if question.multi_select else "a number"
            answers.append(answer_of(question, self._ask(f"{several}, or your own words: ")))
            if self._is_halting:
                return CancelQuestions()
        return answers

    def _ask(self, words: str) -> str:
        """Return what the person types, `""` if the turn is halted."""
        if self._is_halting:
            return ""
        self._is_asking = True
        try:
            return self.display.ask(harmless(words)).strip()
        except (EOFError, KeyboardInterrupt):
            self._is_halting = True
            if self._turn is not None:
                self._turn.cancel()
            return ""
        finally:
            self._is_asking = False


def answer_of(question: Question, said: str) -> Answer:
    """Return the answer that somebody typed: numbers of choices, else their own words."""
    if not said:
        return Answer.unanswered()
    words = said.replace(",", " ").split()
    numbers = [int(word) - 1 for word in words if word.isascii() and word.isdecimal()]
    is_choice = len(numbers) == len(words) and all(
        0 <= number < len(question.choices) for number in numbers
    )
    if is_choice and (question.multi_select or len(numbers) == 1):
        return Answer.choices(*numbers)
    return Answer.freeform(said)


def _make_display() -> Display:
    """Return the nicest display that this terminal and this installation allow."""
    if sys.stdout.isatty():
        try:
            from .pretty import PrettyDisplay
        except ImportError:
            return Display()
        return PrettyDisplay()
    return Display()
