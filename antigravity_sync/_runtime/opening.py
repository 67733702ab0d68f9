"""Open a conversation on a running harness: connect, send the first message, read its answer.

The same road for a start and for a connection that has to be made again. It runs on the caller's
thread and before any reader exists, so it may use plain timeouts.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from .._clock import Deadline
from .._messages import InitFrame
from .._transport.channel import Channel, Closed, LinkDownError
from .._transport.commands import Command, end_commands
from .._transport.drain import Tail
from .._wire.codec import decode_init
from .._wire.dialect import ALL_VERSIONS, NEWEST, Dialect, narrow
from .._wire.probing import rejected_field_in
from .._wire.redact import hide_secrets
from .._wire.render import Rendered
from ..errors import (
    AntigravityError,
    ConversationBusyError,
    ConversationExistsError,
    ConversationNotFoundError,
    HandshakeError,
    InitError,
    LaunchError,
    StartTimeoutError,
)
from .hosting import BaseHost
from .wiretap import Wiretap

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: How long the reason of a refusal may take to show up on stderr after the connection dropped.
_REASON_GRACE: Final = 0.5
#: How long the news of an exit may take to come after the connection went.
_EXIT_GRACE: Final = 0.5
#: Beginnings of the stderr lines that give the reason (LIVE A10, B).
REASONS: Final = (
    "Failed to parse initial message",
    "Failed to read init event",
    "Failed to create agent",
    "Failed to initialize",
    "Cascade ID",
)
#: A harness lets go of a conversation a moment after its connection went down, and calls it in use
#: until then. After a halt that it does not answer it may hold it for 8 s (measured on 0.1.10).
_REOPEN_PATIENCE: Final = 30.0
#: The first and the longest pause before another try; each is twice the one before.
_REOPEN_PAUSE: Final = 0.01
_REOPEN_LONGEST_PAUSE: Final = 0.25
#: After how many tries commands that may hold the conversation are ended.
_PATIENT_TRIES: Final = 6
#: How long a conversation may stay in use that somebody else, of whom nothing is known, had open.
_JOIN_PATIENCE: Final = 3.0
#: What the reason of a conversation says that is open elsewhere.
_BUSY: Final = "already in use"
#: What a first message has that wants commands to run in the harness's sandbox.
_SANDBOX: Final = re.compile(r'"enableSandbox"\s*:\s*true')

#: How it says that there is no such conversation; the words in brackets are missing up to 0.1.6.
_NOT_FOUND: Final = re.compile(r"conversation .* not found in|not found.*\(cannot resume\)")

RenderInit = Callable[[Dialect, bool], Rendered]


@attrs.frozen
class Opened:
    """An open conversation.

    Attributes:
        link: Its connection; nothing has been read from it since the answer.
        init: The answer to the first message.
        dialect: What the harness understands, now known for sure.
    """

    link: Channel
    init: InitFrame
    dialect: Dialect


def open_conversation(
    host: BaseHost, render: RenderInit, deadline: Deadline, tap: Wiretap
) -> Opened:
    """Open a conversation, finding out the harness's version on the way if it is unknown.

    A refused first message costs no more than its connection, so an unknown version is found by
    trying: the newest spelling first, then whatever the named field leaves possible. Where no
    reason can be heard it is the next older one each time, until one is taken.

    Args:
        host: The harness.
        render: Makes the first message for a dialect; the flag says that the dialect is a guess.
        deadline: When it must be done.
        tap: Is told what is sent and what comes.

    Blocks until the harness answers, refuses, exits, or the deadline passes.

    Raises:
        HandshakeError: It refuses the connection.
        HarnessExitedError: It ended.
        InitError: It refuses the configuration.
        StartTimeoutError: The deadline passed.
    """
    outcome = _open(host, render, deadline, tap)
    if isinstance(outcome, Opened):
        return outcome
    raise _refusal(outcome, host.stderr)


def reopen_conversation(
    host: BaseHost,
    render: RenderInit,
    deadline: Deadline,
    tap: Wiretap,
    find_commands: Callable[[], Iterable[Command]],
) -> Opened:
    """Open the conversation again after its connection went down, as `open_conversation` does.

    `find_commands` returns what the agent has running.

    A command that a halt did not end may hold it (seen on 0.1.16), so after a while commands of
    this conversation are ended.
    """
    patience = deadline.sooner(_REOPEN_PATIENCE)
    pause, tries, last = _REOPEN_PAUSE, 0, ""
    while True:
        try:
            outcome = _open(host, render, deadline, tap)
        except StartTimeoutError:
            if not last:
                raise
            outcome = last
        if isinstance(outcome, Opened):
            return outcome
        if not _may_be_busy(outcome, host):
            raise _refusal(outcome, host.stderr)
        last = outcome
        if patience.expired():
            raise ConversationBusyError(
                "the harness does not let go of the conversation's last connection; try again "
                "later, or close() the agent and resume in another",
                stderr_tail=host.stderr.text(),
            )
        tries += 1
        if tries == _PATIENT_TRIES:
            _end_commands(find_commands())
        threading.Event().wait(patience.sooner(pause).remaining())
        pause = min(pause * 2, _REOPEN_LONGEST_PAUSE)


def join_conversation(
    host: BaseHost, render: RenderInit, deadline: Deadline, tap: Wiretap
) -> Opened:
    """Open a conversation that whoever had it last may have closed this very moment."""
    patience = deadline.sooner(_JOIN_PATIENCE)
    pause = _REOPEN_PAUSE
    while True:
        outcome = _open(host, render, deadline, tap)
        if isinstance(outcome, Opened):
            return outcome
        if not _may_be_busy(outcome, host) or patience.expired():
            raise _refusal(outcome, host.stderr)
        threading.Event().wait(patience.sooner(pause).remaining())
        pause = min(pause * 2, _REOPEN_LONGEST_PAUSE)


def _may_be_busy(reason: str, host: BaseHost) -> bool:
    """Return whether the conversation may be free a moment later."""
    return _BUSY in reason or (not reason and host.is_foreign)


def _end_commands(found: Iterable[Command]) -> None:
    ended = end_commands(command for command in found if not command.is_helper)
    if ended:
        _log.warning("ended commands that kept the conversation from going on: %s", ended)


def _open(host: BaseHost, render: RenderInit, deadline: Deadline, tap: Wiretap) -> Opened | str:
    """Open a conversation; return it, or the reason of the refusal, `""` if there was none."""
    candidates, tried = ALL_VERSIONS, set[str]()
    while True:
        link = _connect(host, deadline)  # first: a host may learn from it what it understands
        try:
            known = host.dialect
            guess = known or Dialect.of(candidates[-1])
            rendered = render(guess, known is None)
            while known is None and rendered.text in tried and len(candidates) > 1:
                candidates = candidates[:-1]
                guess = Dialect.of(candidates[-1])
                rendered = render(guess, True)
            if rendered.text in tried or _is_unsafe(rendered, guess, tried):
                raise _refusal("", host.stderr)
        except BaseException:
            _drop(link)
            raise
        outcome = _try_init(link, host, rendered, deadline, tap)
        if isinstance(outcome, Opened):
            if rendered.dropped:
                _log.debug("harness %s does not know: %s", guess.version, rendered.dropped)
            return attrs.evolve(outcome, dialect=guess)
        if known is not None:
            return outcome
        field = rejected_field_in(outcome)
        if field is not None:
            remaining = narrow(candidates, field)
        else:
            remaining = () if outcome or not host.is_foreign else candidates
            tried.add(rendered.text)
        if not remaining or (field is not None and remaining == candidates):
            return outcome
        candidates = remaining


def _is_unsafe(rendered: Rendered, guess: Dialect, tried: set[str]) -> bool:
    """Return whether a newer harness might begin a conversation where an old one would resume it.

    So it is when the harness has said nothing but no, and the message for an old one does not say
    how the conversation is to be opened.
    """
    return bool(tried) and rendered.is_named and not guess.has_continuation_mode


def _drop(link: Channel) -> None:
    link.abort()
    link.release()


def _try_init(
    link: Channel, host: BaseHost, rendered: Rendered, deadline: Deadline, tap: Wiretap
) -> Opened | str:
    """Try one first message on a new connection; return what it opened, or why it was refused."""
    mark = host.stderr.mark()
    try:
        tap.sent_first(rendered.text)
        try:
            link.send(rendered.text)
            received = link.receive_first(deadline)
        except LinkDownError:
            received = Closed()
        if received is None:
            raise _late(host)
        if isinstance(received, Closed):
            _drop(link)
            host.hear_reason(received.reason)
            return _reason(host, mark, deadline)
        tap.answered(received)
        link.redact = tap.redactor.text
        init = decode_init(received)
        if init is None:
            raise HandshakeError(
                "the harness answered the first message with something else: "
                f"{received[:200]!r}; check its version",
                stderr_tail=host.stderr.text(),
            )
        hide_secrets(init, link.redact)
        if init.sandbox_available is False and _SANDBOX.search(rendered.text):
            raise InitError(
                "raw_config asks for the sandbox (enableSandbox), which this machine cannot give, "
                "and commands would run without it; take it out, or run where there is one",
                stderr_tail=host.stderr.text(),
            )
        return Opened(link, init, NEWEST)
    except BaseException:
        _drop(link)
        raise


def _late(host: BaseHost) -> StartTimeoutError:
    return StartTimeoutError(
        "the harness did not open the conversation in time; raise start_timeout"
        f"{host.stderr.last_words()}",
        stage="init",
        timeout=None,
        stderr_tail=host.stderr.text(),
    )


def _connect(host: BaseHost, deadline: Deadline) -> Channel:
    """Connect, or say what keeps the harness from listening."""
    try:
        return host.connect(deadline)
    except LaunchError as error:
        host.check_alive("instead of listening", deadline, _EXIT_GRACE)
        error.stderr_tail = host.stderr.text()
        raise


def _reason(host: BaseHost, mark: int, deadline: Deadline) -> str:
    """Return why the connection was dropped; the harness says so on stderr alone (LIVE A10)."""
    when = "instead of opening the conversation"
    host.check_alive(when, deadline)
    line = host.stderr.find_after(
        mark,
        lambda text: text.startswith(REASONS),
        deadline.sooner(_REASON_GRACE).remaining(),
    )
    if line is None:
        host.check_alive(when, deadline, _EXIT_GRACE)
        if deadline.expired():
            raise _late(host)  # no time was left to hear the reason
    return line or ""


def _refusal(reason: str, stderr: Tail) -> AntigravityError:
    tail = stderr.text()
    if _NOT_FOUND.search(reason):
        return ConversationNotFoundError(
            f"the conversation does not exist here ({reason}); check save_dir and conversation_id",
            stderr_tail=tail,
        )
    if "already exists" in reason:
        return ConversationExistsError(
            f"the conversation exists already ({reason}); resume it or choose another id",
            stderr_tail=tail,
        )
    if _BUSY in reason:
        return ConversationBusyError(
            f"the conversation is open elsewhere ({reason}); close it there first",
            stderr_tail=tail,
        )
    if "disk is full" in reason:
        return InitError(
            f"the disk is full that conversations are kept on ({reason}); free some space there, "
            "or choose another save_dir",
            stderr_tail=tail,
        )
    if "open backend" in reason:
        return InitError(
            f"the saved conversation cannot be read ({reason}); restore the file that it names "
            "from a backup, or remove it to begin anew",
            stderr_tail=tail,
        )
    said = reason or f"it gave no reason{stderr.last_words()}"
    return InitError(
        f"the harness refused the configuration: {said}; {_advice(reason)}",
        stderr_tail=tail,
    )


def _advice(reason: str) -> str:
    if not reason:
        return "see the log of whoever runs it, or try again if somebody else had the conversation"
    field = rejected_field_in(reason)
    if field is None or narrow(ALL_VERSIONS, field) == ALL_VERSIONS:
        return "correct the option it names"
    return (
        "only other releases have that field: take it out of raw_config, or see that the version "
        "beside the binary is its own"
    )
