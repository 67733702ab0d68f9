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
from .._transport.commands import Command, end_commands
from .._transport.link import Closed, Link, LinkDownError
from .._transport.process import HarnessProcess
from .._wire.codec import decode_init
from .._wire.dialect import ALL_VERSIONS, NEWEST, Dialect, narrow
from .._wire.frames import Endpoint
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
from .wiretap import Wiretap

_log: Final = logging.getLogger("antigravity_sync.runtime")

#: How long the reason of a refusal may take to show up on stderr after the connection dropped.
_REASON_GRACE: Final = 0.5
#: How long the news of an exit may take to come after the connection went.
_EXIT_GRACE: Final = 0.5
#: Beginnings of the stderr lines that give the reason (LIVE A10, B).
_REASONS: Final = (
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
#: What a first message has that wants commands to run in the harness's sandbox.
_SANDBOX: Final = re.compile(r'"enableSandbox"\s*:\s*true')

RenderInit = Callable[[Dialect, bool], Rendered]


@attrs.frozen
class Opened:
    """An open conversation.

    Attributes:
        link: Its connection; nothing has been read from it since the answer.
        init: The answer to the first message.
        dialect: What the harness understands, now known for sure.
    """

    link: Link
    init: InitFrame
    dialect: Dialect


def open_conversation(
    process: HarnessProcess,
    endpoint: Endpoint,
    render: RenderInit,
    dialect: Dialect | None,
    deadline: Deadline,
    tap: Wiretap,
) -> Opened:
    """Open a conversation, finding out the harness's version on the way if it is unknown.

    A refused first message costs no more than its connection, so an unknown version is found by
    trying: the newest spelling first, then whatever the named field leaves possible.

    Args:
        process: The harness.
        endpoint: Where it listens.
        render: Makes the first message for a dialect; the flag says that the dialect is a guess.
        dialect: What it understands, `None` if that is not known.
        deadline: When it must be done.
        tap: Is told what is sent and what comes.

    Blocks until the harness answers, refuses, exits, or the deadline passes.

    Raises:
        HandshakeError: It refuses the connection.
        HarnessExitedError: It ended.
        InitError: It refuses the configuration.
        StartTimeoutError: The deadline passed.
    """
    candidates = ALL_VERSIONS
    guess = dialect or NEWEST
    while True:
        rendered = render(guess, dialect is None)
        outcome = _try_init(process, endpoint, rendered, deadline, tap)
        if isinstance(outcome, Opened):
            if rendered.dropped:
                _log.debug("harness %s does not know: %s", guess.version, rendered.dropped)
            return attrs.evolve(outcome, dialect=guess)
        field = rejected_field_in(outcome)
        remaining = candidates if field is None else narrow(candidates, field)
        if dialect is not None or field is None or not remaining or remaining == candidates:
            raise _refusal(outcome, process)
        candidates = remaining
        guess = Dialect.of(candidates[-1])


def reopen_conversation(
    process: HarnessProcess,
    endpoint: Endpoint,
    render: RenderInit,
    dialect: Dialect,
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
    pause, tries, stderr_tail = _REOPEN_PAUSE, 0, None
    while True:
        try:
            return open_conversation(process, endpoint, render, dialect, deadline, tap)
        except (ConversationBusyError, StartTimeoutError) as error:
            if isinstance(error, ConversationBusyError):
                stderr_tail = error.stderr_tail
            if stderr_tail is None:
                raise
            if patience.expired():
                raise ConversationBusyError(
                    "the harness does not let go of the conversation's last connection; try again "
                    "later, or close() the agent and resume in another",
                    stderr_tail=stderr_tail,
                ) from error
        tries += 1
        if tries == _PATIENT_TRIES:
            _end_commands(find_commands())
        threading.Event().wait(patience.sooner(pause).remaining())
        pause = min(pause * 2, _REOPEN_LONGEST_PAUSE)


def _end_commands(found: Iterable[Command]) -> None:
    ended = end_commands(command for command in found if not command.is_helper)
    if ended:
        _log.warning("ended commands that kept the conversation from going on: %s", ended)


def _try_init(
    process: HarnessProcess,
    endpoint: Endpoint,
    rendered: Rendered,
    deadline: Deadline,
    tap: Wiretap,
) -> Opened | str:
    """Try one first message; return what it opened, or the reason it was refused."""
    mark = process.stderr.mark()
    link: Link | None = None
    try:
        link = _connect(process, endpoint, deadline)
        tap.redactor.add(endpoint.key)
        tap.sent_first(rendered.text)
        try:
            link.send(rendered.text)
            received = link.receive_first(deadline)
        except LinkDownError:
            received = Closed()
        if received is None:
            raise _late(process)
        if isinstance(received, Closed):
            link.abort()
            link.release()
            return _reason(process, mark, deadline)
        tap.answered(received)
        link.redact = tap.redactor.text
        init = decode_init(received)
        if init is None:
            raise HandshakeError(
                "the harness answered the first message with something else: "
                f"{received[:200]!r}; check its version",
                stderr_tail=process.stderr.text(),
            )
        hide_secrets(init, link.redact)
        if init.sandbox_available is False and _SANDBOX.search(rendered.text):
            raise InitError(
                "raw_config asks for the sandbox (enableSandbox), which this machine cannot give, "
                "and commands would run without it; take it out, or run where there is one",
                stderr_tail=process.stderr.text(),
            )
        return Opened(link, init, NEWEST)
    except BaseException:
        if link is not None:
            link.abort()
            link.release()
        raise


def _late(process: HarnessProcess) -> StartTimeoutError:
    return StartTimeoutError(
        "the harness did not open the conversation in time; raise start_timeout"
        f"{process.diagnosis()}",
        stage="init",
        timeout=None,
        stderr_tail=process.stderr.text(),
    )


def _connect(process: HarnessProcess, endpoint: Endpoint, deadline: Deadline) -> Link:
    """Connect, or say what keeps the harness from listening."""
    try:
        return Link.connect(endpoint, deadline)
    except LaunchError as error:
        if process.is_ending(deadline.sooner(_EXIT_GRACE)):
            raise process.exited_error("instead of listening", deadline) from error
        error.stderr_tail = process.stderr.text()
        raise


def _reason(process: HarnessProcess, mark: int, deadline: Deadline) -> str:
    """Return why the connection was dropped; the harness says so on stderr alone (LIVE A10)."""
    if process.poll() is not None:
        raise process.exited_error("instead of opening the conversation", deadline)
    line = process.stderr.find_after(
        mark,
        lambda text: text.startswith(_REASONS),
        deadline.sooner(_REASON_GRACE).remaining(),
    )
    if line is None and process.is_ending(deadline.sooner(_EXIT_GRACE)):
        raise process.exited_error("instead of opening the conversation", deadline)
    if line is None and deadline.expired():
        raise _late(process)  # no time was left to hear the reason
    return line or ""


def _refusal(reason: str, process: HarnessProcess) -> AntigravityError:
    tail = process.stderr.text()
    if "not found" in reason and "cannot resume" in reason:
        return ConversationNotFoundError(
            f"the conversation does not exist here ({reason}); check save_dir and conversation_id",
            stderr_tail=tail,
        )
    if "already exists" in reason:
        return ConversationExistsError(
            f"the conversation exists already ({reason}); resume it or choose another id",
            stderr_tail=tail,
        )
    if "already in use" in reason:
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
    said = reason or f"it gave no reason{process.diagnosis()}"
    return InitError(
        f"the harness refused the configuration: {said}; {_advice(reason)}",
        stderr_tail=tail,
    )


def _advice(reason: str) -> str:
    field = rejected_field_in(reason)
    if field is None or narrow(ALL_VERSIONS, field) == ALL_VERSIONS:
        return "correct the option it names"
    return (
        "only other releases have that field: take it out of raw_config, or see that the version "
        "beside the binary is its own"
    )
