"""Credentials are taken out, whether they are known or only stand where such things stand."""

from __future__ import annotations

import json

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._wire.redact import MASK, Redactor, hide_secrets

SECRET = 'pa"ss/wörd+1'


def test_text_when_it_holds_a_known_secret_then_masked_in_each_spelling():
    """As it is, in JSON with and without ASCII, in a URL."""
    redactor = Redactor([SECRET])
    spellings = (
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        "http://x/?a=pa%22ss%2Fw%C3%B6rd%2B1&b",
    )
    for spelling in spellings:
        masked = redactor.text(f"before {spelling} after")
        assert MASK in masked
        assert masked.startswith("before ")
        assert masked.endswith(" after")
        assert "ss/w" not in masked
        assert "%2B1" not in masked


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc.def-123",
        'authorization="Basic Zm9vOmJhcg=="',
        '{"Authorization": "abc.def-123"}',
        "x-goog-api-key: abc.def-123",
        '"apiKey":"abc.def-123"',
        "GET /v1?alt=sse&key=abc.def-123 HTTP/1.1",
        "a key AIzaabc.def-123" + "x" * 30,
        "sk-abcdefghijklmnopqrst",
        "ghp_0123456789012345678901234",
    ],
)
def test_text_when_it_has_the_shape_of_a_credential_then_masked(text):
    """Without being told what is secret."""
    masked = Redactor().text(text.replace("AIzaabc.def-123", "AIza0123456789"))
    assert MASK in masked
    for word in ("abc.def", "Zm9v", "AIza0", "abcdefghijk", "0123456"):
        assert word not in masked
    assert Redactor().text(masked) == masked


def test_text_when_there_is_nothing_secret_then_it_stays():
    """What is about keys is no key."""
    for text in ("the key of the matter", "task-sk-1", "a token of thanks", "bearer", "Key: C"):
        assert Redactor(["true", ""]).text(text) == text


def test_message_when_it_has_secret_members_then_masked_and_learnt():
    """Names stay, values go, and are looked for in everything that comes later."""
    message = {
        "config": {
            "models": [
                {"geminiApiEndpoint": {"apiKey": "model-key-1", "baseUrl": "http://x"}},
                {"vertexEndpoint": {"httpHeaders": {"X-Word": "http-header-1"}}},
            ],
            "mcpServers": [
                {"stdio": {"command": "x", "env": {"HOME": "/home/me", "MY_TOKEN": "/slash-tok"}}},
                {"http": {"url": "http://y", "headers": {"Authorization": "Bearer head-er-1"}}},
            ],
            "extra": {"headers": [{"name": "X-Who", "value": "paired-value"}], "text": "stays"},
        }
    }
    redactor = Redactor()
    masked = json.loads(redactor.message(json.dumps(message)))["config"]
    assert masked["models"][0]["geminiApiEndpoint"] == {"apiKey": MASK, "baseUrl": "http://x"}
    assert masked["models"][1]["vertexEndpoint"] == {"httpHeaders": {"X-Word": MASK}}
    assert masked["mcpServers"][0]["stdio"]["env"] == {"HOME": MASK, "MY_TOKEN": MASK}
    assert masked["mcpServers"][1]["http"]["headers"] == {"Authorization": MASK}
    assert masked["extra"] == {"headers": [{"name": "X-Who", "value": MASK}], "text": "stays"}
    for word in ("model-key-1", "http-header-1", "/slash-tok", "head-er-1", "paired-value"):
        assert redactor.text(f"…{word}…") == f"…{MASK}…"
    assert redactor.text("cd /home/me") == "cd /home/me"


def test_message_when_it_is_no_json_then_words_are_masked():
    """Nothing raises."""
    assert Redactor(["secret-1"]).message('"apiKey": secret-1 {') == f'"apiKey": {MASK} {{'


def test_environment_when_added_then_names_that_sound_secret_count():
    """A variable called PATH is none."""
    redactor = Redactor()
    redactor.add_environment({"GITHUB_TOKEN": "tok-123456", "PATH": "/usr/bin:/bin"})
    assert redactor.text("tok-123456 /usr/bin:/bin") == f"{MASK} /usr/bin:/bin"


def test_redactor_when_shown_then_counts():
    """Its own repr tells no secret."""
    assert repr(Redactor(["secret-1"])) == "Redactor(1 secrets)"


def test_frames_when_they_tell_of_failures_then_without_secrets():
    """What a service quotes is hidden, in a history too; what a model writes is left as it is."""
    redact = Redactor(["model-key-1"]).text
    failed = m.StepFrame("t", 0, text="model-key-1?", text_delta="model-key-1", error="model-key-1")
    said = m.StepFrame("t", 1, text="model-key-1")
    idle = m.StateFrame("t", "STATE_FULLY_IDLE", error="model-key-1!")
    for frame in (m.InitFrame("c", (failed, said)), idle, m.SessionEndFrame()):
        hide_secrets(frame, redact)
    assert (failed.error, failed.text, failed.text_delta) == (MASK, f"{MASK}?", MASK)
    assert (said.text, idle.error) == ("model-key-1", f"{MASK}!")
