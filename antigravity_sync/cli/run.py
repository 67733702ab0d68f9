"""`run PROMPT`: one turn, for scripts and cron jobs; it asks nobody anything."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Final

import attrs

from .._clock import Deadline, MonotonicClock
from ..config import DEFAULT_TURN_TIMEOUT, AgentConfig
from ..errors import AntigravityError, StartTimeoutError, TurnError
from ..events import Event, Finished
from ..responses import ChatResponse
from .exits import CommandError, Exit, exit_for, exit_of
from .locks import held
from .options import add_agent_options, check_key, config_of, seconds
from .outcome import Outcome, complaint, to_line
from .saved import note
from .say import say, write
from .signals import TerminatedError, sigterm_raises

_OFFLINE_ANSWER: Final = "This is the scripted model: no real one was asked."

Sink = Callable[[Event], None]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="ask once and print the answer",
        description="Ask once, print the answer on standard output, and end with a code that says "
        "how it went. Nobody is asked anything: tools that change something run only with "
        "--allow. The model's key is read from GEMINI_API_KEY.",
        allow_abbrev=False,
    )
    parser.add_argument("prompt", metavar="PROMPT")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one JSON object at the end")
    shown.add_argument("--jsonl", action="store_true", help="print each event as a line of JSON")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=DEFAULT_TURN_TIMEOUT,
        metavar="SECONDS",
        help="for all of it (default: %(default)g)",
    )
    parser.add_argument(
        "--lock", metavar="NAME", help="end with 75 if another command holds this lock"
    )
    parser.add_argument(
        "--offline", action="store_true", help="use a scripted model, without a key or a network"
    )
    add_agent_options(parser)
    parser.set_defaults(action=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    lines = _Lines()
    sink = lines.event if arguments.jsonl else _nothing
    seen = _Seen(sink)
    try:
        with sigterm_raises(), held(arguments.lock, os.environ):
            outcome = _ask(arguments, seen)
    except CommandError as error:
        outcome = Outcome(error.code, message=str(error))
    except AntigravityError as error:
        outcome = Outcome(exit_for(error), error=error, message=str(error))
    except KeyboardInterrupt:
        outcome = Outcome(Exit.INTERRUPTED, message="interrupted")
    except TerminatedError:
        outcome = Outcome(Exit.TERMINATED, message="terminated")
    outcome = seen.fill(outcome)
    _show(outcome, arguments, lines)
    return outcome.code


def _ask(arguments: argparse.Namespace, seen: _Seen) -> Outcome:
    deadline = Deadline.after(MonotonicClock(), arguments.timeout)
    with _model(arguments) as config:
        from ..agent import Agent

        agent = Agent(config)
        try:
            agent.start(timeout=deadline.sooner(config.start_timeout).remaining())
            if config.save_dir is not None:
                seen.conversation_id = agent.conversation_id
                note(os.fspath(config.save_dir), agent.conversation_id, arguments.prompt)
            with agent.stream(arguments.prompt, timeout=deadline.remaining()) as turn:
                for event in turn:
                    seen.take(event)
        except StartTimeoutError as error:
            code = Exit.TIMEOUT if deadline.expired() else exit_for(error)
            return Outcome(code, error=error, message=str(error))
        except TurnError as error:
            partial = error.partial if isinstance(error.partial, ChatResponse) else None
            return Outcome(exit_for(error), partial, error, str(error))
        finally:
            agent.close()
    response = seen.response
    assert response is not None
    return Outcome(exit_of(response), response, message=complaint(response))


@contextlib.contextmanager
def _model(arguments: argparse.Namespace) -> Iterator[AgentConfig]:
    config = config_of(arguments, os.environ)
    if not arguments.offline:
        check_key(config, os.environ)
        yield config
        return
    from ..testing.replies import always
    from ..testing.scripted_model import ScriptedModel

    say("offline: a scripted model answers, no real one is asked")
    with ScriptedModel(always(_OFFLINE_ANSWER)) as model:
        yield config.evolve(**model.agent_options())


@attrs.define
class _Seen:
    """What has been seen of the turn, for a command that is cut off."""

    _sink: Sink
    response: ChatResponse | None = None
    conversation_id: str = ""

    def take(self, event: Event) -> None:
        if isinstance(event, Finished):  # the last line says all that it does
            self.response = event.response
        else:
            self._sink(event)

    def fill(self, outcome: Outcome) -> Outcome:
        return attrs.evolve(outcome, conversation_id=self.conversation_id)


@attrs.define
class _Lines:
    """Lines of `--jsonl`."""

    _count: int = 0

    def event(self, event: Event) -> None:
        self.line(event.to_dict())

    def line(self, content: dict[str, object]) -> None:
        self._count += 1
        write(to_line({"seq": self._count, "time": time.time(), **content}) + "\n")


def _show(outcome: Outcome, arguments: argparse.Namespace, lines: _Lines) -> None:
    if arguments.jsonl:
        lines.line({"event": "End", **outcome.to_dict()})
    elif arguments.json:
        write(to_line(outcome.to_dict()) + "\n")
    elif outcome.response is not None and outcome.response.text:
        write(outcome.response.text.rstrip("\n") + "\n")
    if outcome.message:
        is_error = outcome.error is not None
        say(f"error: {outcome.message}" if is_error else outcome.message)
    if outcome.code is not Exit.OK and outcome.conversation_id:
        say(f"the conversation is kept: --resume {outcome.conversation_id}")


def _nothing(_event: Event) -> None:
    """Show nothing while the turn runs."""
