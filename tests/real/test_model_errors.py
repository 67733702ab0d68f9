"""Failures of the model on the real harness: the typed error, and a healed agent."""

from __future__ import annotations

import pytest

from antigravity_sync import Retry
from antigravity_sync.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
    RateLimitError,
    TurnTimeoutError,
)
from antigravity_sync.events import ErrorRaised, Severity
from antigravity_sync.testing import (
    ScriptedModel,
    always,
    blocked,
    empty,
    finished,
    http_error,
    raw,
    refuse,
    truncated,
)
from tests.versions import release

pytestmark = pytest.mark.real

#: Harnesses that retry as they like need more than the default patience.
PATIENCE = 60.0
ONCE = Retry(max_retries=0, max_output_retries=0, first_delay=0.01)


def retries_by_itself(version: str) -> bool:
    """Up to 0.1.7 the harness retries as it likes."""
    return release(version) < (0, 1, 8)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (400, InvalidRequestError, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, InvalidRequestError, False),
        (429, RateLimitError, True),
        (500, ModelError, True),
        (503, OverloadedError, True),
    ],
)
def test_an_http_error_raises_its_type_and_the_agent_heals(
    make_agent, version, code, kind, retryable
):
    """Class, code and advice fit; the same conversation goes on over a new connection."""

    def reply(request):
        return http_error(code, "no such luck") if request.prompt == "2" else "ok " + request.prompt

    with ScriptedModel(reply, loop=True) as model, make_agent(model, retry=ONCE) as agent:
        assert agent.chat("1").text == "ok 1"
        pid, conversation = agent.pid, agent.conversation_id
        with pytest.raises(kind) as caught:
            agent.chat("2")
        error = caught.value
        assert type(error) is kind
        assert error.http_code == code
        assert error.retryable is retryable
        assert "no such luck" in str(error)
        assert error.partial.text == ""
        assert error.session_usable
        assert agent.chat("3").text == "ok 3"
        assert (agent.pid, agent.conversation_id) == (pid, conversation)
        last = model.requests[-1]
    assert any("ok 1" in str(content) for content in last.contents), "history was lost"


def test_a_bad_key_reported_as_400_is_an_authentication_error(make_agent, version):
    """Google answers a wrong key with 400; the user needs to hear of the key."""
    answer = http_error(400, "API key not valid. Please pass a valid API key.")
    with (
        ScriptedModel(answer, always("x")) as model,
        make_agent(model, retry=ONCE) as agent,
        pytest.raises(AuthenticationError),
    ):
        agent.chat("1")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(truncated("some text"), id="truncated stream"),
        pytest.param(raw("data: {not json}\r\n\r\n"), id="malformed event"),
        pytest.param(raw("<html>proxy</html>", content_type="text/html"), id="html body"),
        pytest.param(refuse(), id="connection closed"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_model_error_without_a_code(make_agent, version, reply):
    """Cut off, malformed or refused: no HTTP code, worth another try, and the agent heals."""

    def answer(request):
        return reply if request.prompt == "1" else "after"

    with (
        ScriptedModel(answer, loop=True) as model,
        make_agent(model, retry=ONCE, turn_timeout=PATIENCE) as agent,
    ):
        with pytest.raises(ModelError) as caught:
            agent.chat("1")
        assert caught.value.http_code is None
        assert caught.value.retryable
        assert agent.chat("2").text == "after"


def test_a_refused_connection_is_a_retryable_model_error(make_agent, version):
    """Nothing listens: the error says so and has no code."""
    with ScriptedModel() as model:
        agent = make_agent(model, retry=ONCE)
    with agent:
        with pytest.raises(ModelError) as caught:
            agent.chat("1")
        assert caught.value.http_code is None
        assert caught.value.retryable


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(finished("half", "MAX_TOKENS"), id="max tokens"),
        pytest.param(finished("x", "MALFORMED_FUNCTION_CALL"), id="malformed call"),
    ],
)
def test_unusable_output_is_a_model_error_that_a_retry_will_not_mend(make_agent, version, reply):
    """The model answered, but nothing that counts; unbounded retries meet the deadline."""
    with ScriptedModel(always(reply)) as model, make_agent(model, retry=ONCE) as agent:
        if retries_by_itself(version):
            with pytest.raises((ModelError, TurnTimeoutError)):
                agent.chat("1", timeout=2.0)
            return
        with pytest.raises(ModelError) as caught:
            agent.chat("1")
        assert caught.value.http_code is None
        assert not caught.value.retryable
        assert len(model.requests) <= 2


def test_a_blocked_prompt_ends_with_an_error_or_at_the_deadline_never_never(make_agent, version):
    """Older harnesses retry a block without end; the deadline is the end then."""
    with (
        ScriptedModel(always(blocked("SAFETY"))) as model,
        make_agent(model, retry=ONCE) as agent,
        pytest.raises((ModelError, TurnTimeoutError)),
    ):
        agent.chat("1", timeout=1.5)


def test_endless_empty_answers_end_at_the_deadline_and_the_next_turn_works(make_agent, version):
    """The harness retries an empty answer for ever; we do not."""

    def reply(request):
        return "at last" if "2" in request.prompt else empty()

    with ScriptedModel(reply, loop=True) as model, make_agent(model, retry=ONCE) as agent:
        with pytest.raises(TurnTimeoutError):
            agent.chat("1", timeout=1.5)
        assert agent.chat("2").text == "at last"


def test_retries_are_bounded_and_visible(make_agent, version):
    """Two failures and a success: two transient events, three calls, one answer."""
    retry = Retry(max_retries=3, first_delay=0.05, multiplier=1.0)
    script = [http_error(503, "busy"), http_error(503, "busy"), "made it"]
    with ScriptedModel(*script) as model, make_agent(model, retry=retry) as agent:
        turn = agent.stream("go")
        events = list(turn)
        assert turn.response().text == "made it"
    errors = [event for event in events if isinstance(event, ErrorRaised)]
    assert [error.severity for error in errors] == [Severity.TRANSIENT] * len(errors)
    assert all(error.http_code == 503 for error in errors)
    if not retries_by_itself(version):
        assert len(errors) == 2
    assert len(model.requests) == 3


def test_a_fatal_failure_shows_no_severe_event_first(make_agent, version):
    """What ends the turn is raised, not shown as an event."""
    with ScriptedModel(http_error(403, "denied")) as model, make_agent(model, retry=ONCE) as agent:
        turn = agent.stream("go")
        seen = []
        with pytest.raises(AuthenticationError):
            for event in turn:
                seen.append(event)
    assert not [event for event in seen if isinstance(event, ErrorRaised)]


def test_three_failures_in_a_row_heal_each_time(make_agent, version):
    """Healing is not a one-off."""

    def reply(request):
        return http_error(400, "bad") if "bad" in request.prompt else f"ok {request.prompt}"

    with ScriptedModel(reply, loop=True) as model, make_agent(model, retry=ONCE) as agent:
        for number in range(3):
            with pytest.raises(InvalidRequestError):
                agent.chat(f"bad {number}")
            assert agent.chat(f"good {number}").text == f"ok good {number}"


def test_a_key_that_the_service_quotes_is_not_in_the_error(make_agent):
    """Errors get into logs and tickets; a key does not, whoever wrote it."""
    key = "zqx-key-0123456789abcdef"
    with (
        ScriptedModel(http_error(403, f"key {key} may not do this")) as model,
        make_agent(model, retry=ONCE, env={"ANTIGRAVITY_API_KEY": key}) as agent,
        pytest.raises(AuthenticationError) as caught,
    ):
        agent.chat("go")
    assert "may not do this" in str(caught.value)
    assert key not in str(caught.value) + repr(caught.value)


def test_a_key_that_the_service_quotes_is_not_in_events_or_errors_either(make_agent, version):
    """A failure that is got over is shown while the turn goes on, and so are its words."""
    key = "zqx-key-0123456789abcdef"
    retry = Retry(max_retries=3, first_delay=0.05, multiplier=1.0)
    script = [http_error(503, f"key {key} is busy"), "made it"]
    with (
        ScriptedModel(*script) as model,
        make_agent(model, retry=retry, env={"ANTIGRAVITY_API_KEY": key}) as agent,
    ):
        turn = agent.stream("go")
        events = list(turn)
        response = turn.response()
        assert response.text == "made it"
        history = agent.history
    shown = [event.message for event in events if isinstance(event, ErrorRaised)]
    if not retries_by_itself(version):
        assert ["is busy" in message for message in shown] == [True]
        assert len(response.errors) == 1
    assert key not in str([event.to_dict() for event in events]) + repr(events)
    assert key not in str([str(error) for error in response.errors]) + repr(response)
    assert key not in repr(history)
