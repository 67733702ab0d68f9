"""What a finished turn leaves: token sums, texts, values that can be sent elsewhere."""

from __future__ import annotations

import attrs
import pytest

from antigravity_sync.responses import (
    Action,
    Allowed,
    ChatResponse,
    CloseReport,
    Denied,
    Step,
    ToolCall,
    Usage,
)

COUNTERS = [
    "prompt_tokens",
    "cached_tokens",
    "candidates_tokens",
    "thoughts_tokens",
    "total_tokens",
]


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize(
    ("left", "right", "total", "rest"),
    [
        (5, 3, 8, 2),
        (0, 0, 0, 0),
        (None, None, None, None),
        (5, None, 5, 5),
        (None, 3, 3, None),
        (None, 0, 0, None),
        (0, None, 0, 0),
    ],
)
def test_usage_when_added_and_taken_off_then_unknown_stays_unknown(
    name: str, left: int | None, right: int | None, total: int | None, rest: int | None
) -> None:
    """`None` is "not reported": it adds nothing, and nothing can be taken off it."""
    one, other = Usage(**{name: left}), Usage(**{name: right})
    assert one + other == Usage(**{name: total})
    assert one - other == Usage(**{name: rest})


def test_usage_when_summed_then_like_numbers() -> None:
    """`sum` works with an empty usage to start from."""
    parts = [Usage(prompt_tokens=1, total_tokens=2), Usage(prompt_tokens=10), Usage()]
    assert sum(parts, Usage()) == Usage(prompt_tokens=11, total_tokens=2)


def test_usage_when_tiers_differ_then_the_first_known_stays() -> None:
    """The tier is a name, not a number."""
    assert (Usage() + Usage(service_tier="flex")).service_tier == "flex"
    assert (Usage(service_tier="a") - Usage(service_tier="b")).service_tier == "a"


def test_response_when_printed_then_its_text() -> None:
    """`str` of a response is what the model said."""
    assert str(ChatResponse(text="Hello")) == "Hello"
    assert f"{ChatResponse()}" == ""


@pytest.mark.parametrize(
    "value",
    [
        Usage(),
        Allowed(),
        Denied("r"),
        Action("view_file"),
        Step(0, "t", True, "MODEL", "USER", "DONE"),
        ToolCall("view_file"),
        ChatResponse(),
        CloseReport(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_when_assigned_to_then_refused(value: object) -> None:
    """Everything in a response is frozen."""
    name = next((field.name for field in attrs.fields(type(value))), "anything")
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        setattr(value, name, None)


def test_values_when_made_twice_then_share_no_containers() -> None:
    """Defaults are fresh."""
    assert ToolCall("a").args is not ToolCall("a").args
    assert Action("a").extra is not Action("a").extra


def test_decisions_when_matched_then_told_apart() -> None:
    """A decision is one of two classes, so that a match is complete."""
    match ToolCall("x", decision=Denied("because")).decision:
        case Denied(reason=reason):
            assert reason == "because"
        case Allowed():
            pytest.fail("a denial is not allowed")


def test_step_when_it_never_ended_then_interrupted() -> None:
    """A step that waits for somebody, or whose state nobody knows, has not ended either."""
    states = ("DONE", "ERROR", "ACTIVE", "WAITING_FOR_USER", "MOON")
    steps = [Step(0, "t", True, "MODEL", "USER", state) for state in states]
    assert [step.is_interrupted for step in steps] == [False, False, True, True, True]
