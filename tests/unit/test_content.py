"""What a prompt may be."""

from __future__ import annotations

import pytest

from antigravity_sync._messages import TextPart
from antigravity_sync.content import prompt_parts
from antigravity_sync.errors import ConfigError


@pytest.mark.parametrize("prompt", ["Hello", "a\nb\r\n\tc", "äöü 日本 🙂", " padded ", "0"])
def test_prompt_when_text_then_sent_as_it_is(prompt: str) -> None:
    """Text goes over the wire unchanged, line ends and blanks included."""
    assert prompt_parts(prompt) == (TextPart(prompt),)


@pytest.mark.parametrize("control", ["\0", "\x07", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\x9f"])
def test_prompt_when_it_has_controls_then_spaces(control: str) -> None:
    """Control characters become spaces here, as the harness would do, so that the echo fits."""
    assert prompt_parts(f"a{control}b") == (TextPart("a b"),)


@pytest.mark.parametrize("prompt", ["", " ", "\n\t", "\u3000"])
def test_prompt_when_empty_then_value_error(prompt: str) -> None:
    """An empty prompt is refused before anything is sent."""
    with pytest.raises(ValueError, match="empty") as caught:
        prompt_parts(prompt)
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize(
    "prompt", ["\ud800", "a\udfffb", b"\xff".decode("utf-8", "surrogateescape")]
)
def test_prompt_when_it_holds_a_lone_surrogate_then_refused(prompt: str) -> None:
    """What cannot be written as UTF-8 is refused with its likely cause."""
    with pytest.raises(ConfigError, match="UTF-8"):
        prompt_parts(prompt)


@pytest.mark.parametrize("prompt", [None, 5, b"hello", ["hello"]])
def test_prompt_when_no_string_then_its_type_is_named(prompt: object) -> None:
    """Bytes and other things are refused by name."""
    with pytest.raises(ConfigError, match=type(prompt).__name__):
        prompt_parts(prompt)  # type: ignore[arg-type]
