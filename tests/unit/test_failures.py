"""From what a harness says of a failure to the error that is raised."""

from __future__ import annotations

import pytest

from antigravity_sync._core.actions import Failure, FailureKind
from antigravity_sync._runtime.failures import Circumstances, make_error
from antigravity_sync.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
    RateLimitError,
    TurnError,
)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (400, InvalidRequestError, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, InvalidRequestError, False),
        (408, ModelError, True),
        (409, InvalidRequestError, False),
        (413, InvalidRequestError, False),
        (429, RateLimitError, True),
        (500, ModelError, True),
        (502, ModelError, True),
        (503, OverloadedError, True),
        (504, ModelError, True),
        (529, OverloadedError, True),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        "Error {code}, Message: zqx so, Status: ODD, Details: []",
        "HTTP request failed with status {code}: zqx so",
    ],
    ids=["Google's", "another's"],
)
def test_model_error_when_it_has_an_http_code_then_its_class_and_whether_to_try_again(
    code: int, kind: type[ModelError], retryable: bool, words: str
) -> None:
    """Whoever speaks; the words of the service are in the sentence, and the code beside it."""
    is_told = "Message" in words
    failure = Failure(
        FailureKind.MODEL, words.format(code=code), http_code=code if is_told else None
    )
    error = make_error(failure, None, Circumstances())
    assert type(error) is kind
    assert isinstance(error, ModelError)
    assert (error.http_code, error.retryable) == (code, retryable)
    assert "zqx so" in str(error)


@pytest.mark.parametrize("kind", [FailureKind.MODEL, FailureKind.TURN])
def test_error_when_the_harness_gives_no_reason_then_it_is_not_blank(kind: FailureKind) -> None:
    """There is always a sentence."""
    error = make_error(Failure(kind, ""), None, Circumstances())
    assert isinstance(error, TurnError)
    assert "no reason given" in str(error)


@pytest.mark.parametrize("kind", FailureKind)
def test_error_when_the_words_hold_a_secret_then_none_of_it_is_in_there(kind: FailureKind) -> None:
    """Whatever went wrong: what others have said is hidden before it becomes a sentence."""
    failure = Failure(kind, "zqx-key said no")
    error = make_error(failure, None, Circumstances(redact=lambda s: s.replace("zqx-key", "***")))
    assert "zqx-key" not in str(error) + repr(error) + repr(vars(error))
