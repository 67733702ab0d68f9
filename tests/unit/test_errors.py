"""The tree of errors: who must act, what still works, which facts they carry."""

from __future__ import annotations

import pytest

from antigravity_sync import errors
from antigravity_sync.responses import ChatResponse

#: Each class and what it derives from, the builtin included.
TREE = {
    "AntigravityError": "Exception",
    "ConfigError": "AntigravityError ValueError",
    "UsageError": "AntigravityError",
    "AgentNotStartedError": "UsageError",
    "AgentClosedError": "UsageError",
    "AgentBusyError": "UsageError",
    "ReentrantCallError": "UsageError",
    "ConcurrentIterationError": "UsageError",
    "ForkedProcessError": "UsageError",
    "LaunchError": "AntigravityError",
    "HarnessNotFoundError": "LaunchError",
    "HarnessExitedError": "LaunchError",
    "HandshakeError": "LaunchError",
    "InitError": "LaunchError",
    "StartTimeoutError": "LaunchError TimeoutError",
    "McpServerError": "InitError",
    "ConversationNotFoundError": "InitError",
    "ConversationExistsError": "InitError",
    "ConversationBusyError": "InitError",
    "SessionLostError": "AntigravityError",
    "BacklogOverflowError": "SessionLostError",
    "HookTimeoutError": "SessionLostError",
    "ProtocolError": "AntigravityError",
    "TurnError": "AntigravityError",
    "TurnTimeoutError": "TurnError TimeoutError",
    "TurnCancelledError": "TurnError",
    "PromptDeniedError": "TurnError",
    "StructuredOutputError": "TurnError",
    "ModelError": "TurnError",
    "AuthenticationError": "ModelError",
    "InvalidRequestError": "ModelError",
    "RateLimitError": "ModelError",
    "OverloadedError": "ModelError",
    "ToolDispatchError": "AntigravityError",
    "PoolError": "AntigravityError",
    "PoolTimeoutError": "PoolError TimeoutError",
    "PoolFullError": "PoolError",
    "PoolClosedError": "PoolError",
    "InternalError": "AntigravityError",
}

#: After these the agent must be closed or made anew; after all others it works on.
UNUSABLE = {
    "ForkedProcessError",
    "LaunchError",
    "SessionLostError",
    "InternalError",
}


def defined_errors() -> dict[str, type[errors.AntigravityError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and kind.__module__ == errors.__name__
    }


def test_tree_when_read_off_the_module_then_as_promised() -> None:
    """The classes and their parents are a promise to callers' `except` clauses."""
    found = {
        name: " ".join(base.__name__ for base in kind.__bases__)
        for name, kind in defined_errors().items()
    }
    assert found == TREE


def test_session_usable_when_asked_then_known_for_every_class() -> None:
    """Callers can ask any error whether to go on with the same agent."""
    for name, kind in defined_errors().items():
        lineage = {parent.__name__ for parent in kind.__mro__}
        assert kind.session_usable is not bool(lineage & UNUSABLE), name


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (errors.LaunchError("m", stderr_tail="s"), {"stderr_tail": "s"}),
        (
            errors.HarnessNotFoundError("m", searched=["PATH: empty"]),
            {"searched": ("PATH: empty",), "stderr_tail": ""},
        ),
        (
            errors.HarnessExitedError("m", exit_code=-9, stderr_tail="s"),
            {"exit_code": -9, "stderr_tail": "s"},
        ),
        (errors.McpServerError("m", server="git"), {"server": "git", "stderr_tail": ""}),
        (
            errors.StartTimeoutError("m", stage="init", timeout=1.0),
            {"stage": "init", "timeout": 1.0, "stderr_tail": ""},
        ),
        (
            errors.SessionLostError("m", exit_code=2, close_code=1006, stderr_tail="s"),
            {"exit_code": 2, "close_code": 1006, "stderr_tail": "s", "partial": None},
        ),
        (errors.ProtocolError("m", detail="d"), {"detail": "d", "partial": None}),
        (errors.TurnError("m", partial=ChatResponse("a")), {"partial": ChatResponse("a")}),
        (
            errors.TurnTimeoutError(
                "m", timeout=1.0, waiting_for=["x"], unknown_states=iter("ab"), harness_version="1"
            ),
            {
                "timeout": 1.0,
                "waiting_for": ("x",),
                "unknown_states": ("a", "b"),
                "harness_version": "1",
                "partial": None,
            },
        ),
        (errors.StructuredOutputError("m", raw="{"), {"raw": "{", "partial": None}),
        (
            errors.RateLimitError("m", http_code=429, retryable=True),
            {"http_code": 429, "retryable": True, "partial": None},
        ),
        (errors.ToolDispatchError("m", name="add"), {"name": "add"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_facts_when_given_then_attributes(
    error: errors.AntigravityError, facts: dict[str, object]
) -> None:
    """What a program may want to know is an attribute; the text is for people."""
    assert {name: getattr(error, name) for name in facts} == facts
    assert str(error) == "m"


def test_usable_when_set_on_one_error_then_the_class_stays() -> None:
    """A lost connection that heals says so on the one error only."""
    error = errors.SessionLostError("m")
    error.session_usable = True
    assert not errors.SessionLostError("m").session_usable


def test_timeouts_when_caught_as_the_builtin_then_caught() -> None:
    """`except TimeoutError` and `except ValueError` work as everywhere."""
    with pytest.raises(TimeoutError):
        raise errors.TurnTimeoutError("too slow; raise timeout=")
    with pytest.raises(ValueError, match="bad"):
        raise errors.ConfigError("bad option")
