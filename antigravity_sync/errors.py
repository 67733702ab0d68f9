"""Every exception this package raises.

Two questions shape the tree: who must act (the class), and whether the session still works
(`session_usable`). Facts are attributes, never only text; `str()` is one sentence that ends in what
to do. Every error pickles and copies, and is raised fresh each time.

::

    AntigravityError
    ├─ ConfigError (ValueError)
    ├─ UsageError: AgentNotStartedError · AgentClosedError · AgentBusyError · ReentrantCallError
    │     · ConcurrentIterationError · ForkedProcessError
    ├─ LaunchError: HarnessNotFoundError · HarnessExitedError · HandshakeError · InitError
    │     · StartTimeoutError (TimeoutError)
    │     InitError: McpServerError · ConversationNotFoundError · ConversationExistsError
    │     · ConversationBusyError
    ├─ SessionLostError: BacklogOverflowError · HookTimeoutError
    ├─ ProtocolError
    ├─ TurnError: TurnTimeoutError (TimeoutError) · TurnCancelledError · PromptDeniedError
    │     · StructuredOutputError
    │     ModelError: AuthenticationError · InvalidRequestError · RateLimitError · OverloadedError
    ├─ ToolDispatchError
    ├─ PoolError: PoolTimeoutError (TimeoutError) · PoolFullError · PoolClosedError
    └─ InternalError
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

_E = TypeVar("_E", bound="AntigravityError")


def _rebuild(cls: type[_E], message: str, facts: dict[str, Any]) -> _E:
    error = cls.__new__(cls, message)
    error.args = (message,)
    error.__dict__.update(facts)
    return error


class AntigravityError(Exception):
    """Base of everything that leaves this package."""

    #: Whether the agent that raised it can be used again as it is.
    session_usable: bool = True

    def __init__(self, message: str) -> None:
        super().__init__(message or type(self).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), str(self), dict(self.__dict__)))

    def __copy__(self) -> Self:
        return _rebuild(type(self), str(self), dict(self.__dict__))


class ConfigError(AntigravityError, ValueError):
    """An option is wrong; nothing was spawned or sent."""


# ── the caller's own sequence of calls ──────────────────────────────────────────────────────────


class UsageError(AntigravityError):
    """The call is not possible now; the sequence of calls in the program must change."""


class AgentNotStartedError(UsageError):
    """The agent has no harness yet: call `start()` or use it in a `with` block."""


class AgentClosedError(UsageError):
    """The agent was closed, by this or another thread; `start()` opens it again."""


class AgentBusyError(UsageError):
    """Another caller held the agent's one live turn for the whole timeout."""


class ReentrantCallError(UsageError):
    """A hook, policy or tool called its own agent, which would wait for itself."""


class ConcurrentIterationError(UsageError):
    """Two threads iterate one `Turn`; a turn has one consumer."""


class ForkedProcessError(UsageError):
    """The agent was started in another process; a fork cannot share it."""

    session_usable = False


# ── getting a harness to run ────────────────────────────────────────────────────────────────────


class LaunchError(AntigravityError):
    """The harness did not become usable; no process, thread or descriptor is left behind.

    Attributes:
        stderr_tail: The last lines the harness wrote to stderr, `""` if none.
    """

    session_usable = False

    def __init__(self, message: str, *, stderr_tail: str = "") -> None:
        super().__init__(message)
        self.stderr_tail = stderr_tail


class HarnessNotFoundError(LaunchError):
    """No usable harness binary.

    Attributes:
        searched: Each place that was looked at, in order, with what was wrong there.
    """

    def __init__(self, message: str, *, searched: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.searched = tuple(searched)


class HarnessExitedError(LaunchError):
    """The harness process ended while it was being started.

    Attributes:
        exit_code: Its exit code, negative for a signal; `None` if it could not be read.
    """

    def __init__(
        self, message: str, *, exit_code: int | None = None, stderr_tail: str = ""
    ) -> None:
        super().__init__(message, stderr_tail=stderr_tail)
        self.exit_code = exit_code


class HandshakeError(LaunchError):
    """The harness runs but does not speak the protocol, or refused the connection.

    Attributes:
        attempts: How often it was tried to connect, 0 if it did not come to that.
        port: Where, `None` if that was not known yet.
    """

    def __init__(
        self, message: str, *, stderr_tail: str = "", attempts: int = 0, port: int | None = None
    ) -> None:
        super().__init__(message, stderr_tail=stderr_tail)
        self.attempts = attempts
        self.port = port


class InitError(LaunchError):
    """The harness refused the configuration."""


class McpServerError(InitError):
    """An MCP server could not be used.

    Attributes:
        server: Its configured name.
    """

    def __init__(self, message: str, *, server: str, stderr_tail: str = "") -> None:
        super().__init__(message, stderr_tail=stderr_tail)
        self.server = server


class ConversationNotFoundError(InitError):
    """The conversation to resume does not exist in the save directory."""


class ConversationExistsError(InitError):
    """The conversation to create exists already."""


class ConversationBusyError(InitError):
    """Another agent, here or in another process, has the conversation open.

    Attributes:
        pid: The process that has it open, `None` if that is not known.
    """

    def __init__(self, message: str, *, pid: int | None = None, stderr_tail: str = "") -> None:
        super().__init__(message, stderr_tail=stderr_tail)
        self.pid = pid


class StartTimeoutError(LaunchError, TimeoutError):
    """Starting took longer than its timeout.

    Attributes:
        stage: What it was waiting for.
        timeout: The budget in seconds.
    """

    def __init__(
        self, message: str, *, stage: str, timeout: float | None, stderr_tail: str = ""
    ) -> None:
        super().__init__(message, stderr_tail=stderr_tail)
        self.stage = stage
        self.timeout = timeout


# ── losing a running harness ────────────────────────────────────────────────────────────────────


class SessionLostError(AntigravityError):
    """The connection to the harness is gone.

    Attributes:
        exit_code: Exit code of the process, `None` while it lives.
        close_code: WebSocket close code, `None` if there was no close frame.
        stderr_tail: The last lines of its stderr.
        partial: What the turn in flight had produced, `None` if there was none.
    """

    session_usable = False

    def __init__(
        self,
        message: str,
        *,
        exit_code: int | None = None,
        close_code: int | None = None,
        stderr_tail: str = "",
        partial: Any = None,
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.close_code = close_code
        self.stderr_tail = stderr_tail
        self.partial = partial


class BacklogOverflowError(SessionLostError):
    """More unread data piled up than the session may hold."""


class HookTimeoutError(SessionLostError):
    """A hook or policy ran longer than `hook_timeout`; the session was torn down."""


class ProtocolError(AntigravityError):
    """The harness and this SDK misunderstood each other.

    Attributes:
        detail: The harness's own words, or the start of the frame.
        partial: What the turn in flight had produced, if any.
    """

    def __init__(self, message: str, *, detail: str = "", partial: Any = None) -> None:
        super().__init__(message)
        self.detail = detail
        self.partial = partial


# ── a turn that failed ──────────────────────────────────────────────────────────────────────────


class TurnError(AntigravityError):
    """A turn ended without a full answer; the agent works on.

    Attributes:
        partial: The `ChatResponse` as far as it came, `None` if nothing is known.
    """

    def __init__(self, message: str, *, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class TurnTimeoutError(TurnError, TimeoutError):
    """The turn's deadline passed; it was halted.

    Attributes:
        timeout: The budget in seconds.
        waiting_for: What was still open: tool calls, hooks, questions, states.
        unknown_states: States and events of the harness that this SDK does not know.
        harness_version: Version of the harness, `None` if it could not be told.
    """

    def __init__(
        self,
        message: str,
        *,
        timeout: float | None = None,
        waiting_for: Iterable[str] = (),
        unknown_states: Iterable[str] = (),
        harness_version: str | None = None,
        partial: Any = None,
    ) -> None:
        super().__init__(message, partial=partial)
        self.timeout = timeout
        self.waiting_for = tuple(waiting_for)
        self.unknown_states = tuple(unknown_states)
        self.harness_version = harness_version


class TurnCancelledError(TurnError):
    """The harness cancelled the turn on its own; a `cancel()` of ours does not raise."""


class PromptDeniedError(TurnError):
    """A pre-turn hook denied the prompt; no model call was made."""


class StructuredOutputError(TurnError):
    """The structured answer does not fit its schema.

    Attributes:
        raw: The answer as the model gave it; `""` when the harness gave up after several, none of
            which it shows.
    """

    def __init__(self, message: str, *, raw: str, partial: Any = None) -> None:
        super().__init__(message, partial=partial)
        self.raw = raw


class ModelError(TurnError):
    """The model call failed and the harness gave up.

    Attributes:
        http_code: Status of the model's answer, `None` when there was none (refused, cut off).
        retryable: Whether the same prompt may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        http_code: int | None = None,
        retryable: bool = False,
        partial: Any = None,
    ) -> None:
        super().__init__(message, partial=partial)
        self.http_code = http_code
        self.retryable = retryable


class AuthenticationError(ModelError):
    """The model refused the key."""


class InvalidRequestError(ModelError):
    """The model refused the request: unknown model, bad parameter, too long."""


class RateLimitError(ModelError):
    """Quota or rate limit; retry later."""


class OverloadedError(ModelError):
    """The model service is overloaded; retry later."""


class ToolDispatchError(AntigravityError):
    """A tool call could not be carried out; found in `response.errors`, not raised.

    Attributes:
        name: The tool.
    """

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(message)
        self.name = name


# ── pool ────────────────────────────────────────────────────────────────────────────────────────


class PoolError(AntigravityError):
    """A pool could not lease an agent."""


class PoolTimeoutError(PoolError, TimeoutError):
    """No agent became free in time."""


class PoolFullError(PoolError):
    """Too many callers wait already."""


class PoolClosedError(PoolError):
    """The pool was closed."""


class InternalError(AntigravityError):
    """A defect of this package; please report it with the traceback."""

    session_usable = False
