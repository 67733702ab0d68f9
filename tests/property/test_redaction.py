"""Wherever a secret is put, it comes out nowhere.

Each round draws new secrets, of letters that JSON and URLs spell in their own way, gives them to an
agent as key, headers, environment, and lets the harness say them on stderr, in its frames, whole
and in pieces, and in the error that ends the turn.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import traceback
import urllib.parse

import pytest

from antigravity_sync import McpServer, policy
from antigravity_sync.errors import AntigravityError
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    done,
    exit,
    idle,
    running,
    stderr,
    user_echo,
)
from antigravity_sync.wire import (
    JsonlRecorder,
    LoggingForwarder,
    StderrPrinter,
    WireEvent,
    read_recording,
)
from tests.gates import wait_until
from tests.loop.fakes import VERSION, fake_agent

ROUNDS = 6
LETTERS = 'abcdefghijkLMNOP0123456789-_.~+/="\\ é€'


def draw(rng: random.Random) -> str:
    """Return a secret; its ends are letters, as blanks around a key are no part of it."""
    middle = "".join(rng.choice(LETTERS) for _ in range(rng.randint(8, 40)))
    return f"q{middle.replace(' ', '')}z"


def spellings(secret: str) -> set[str]:
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        urllib.parse.quote(secret, safe=""),
    }


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_secrets_when_said_everywhere_then_in_no_output(seed, tmp_path, caplog):
    """Printer, forwarder, recorder, events, logs at DEBUG, errors and reprs."""
    rng = random.Random(seed)
    key, token, header, variable = (draw(rng) for _ in range(4))
    path, printed = tmp_path / "wire.jsonl", io.StringIO()
    events: list[WireEvent] = []
    recorder = JsonlRecorder(path)
    inspectors = [recorder] if seed % 2 else []
    inspectors += [] if seed % 3 == 0 else [StderrPrinter(file=printed), events.append]
    inspectors += [recorder, LoggingForwarder()] if not seed % 2 else []
    said = f"key={key} token {token} header {header} var {variable} {urllib.parse.quote(key)}"
    cut = rng.randint(1, len(token) - 1)
    script = [
        *(running(), user_echo(), stderr(f"W1202 05:36:03.1 1 x.go:1] {said}"), delta(said)),
        *(delta(token[:cut]), delta(token[cut:]), delta(" and on"), delta(" and on")),
        *(done(), idle()),
    ]
    dying = [running(), user_echo(), stderr(said), exit(3)]
    output = []
    with (
        caplog.at_level(logging.DEBUG, "antigravity_sync"),
        FakeHarness(script, dying, version=VERSION) as fake,
        fake_agent(
            fake,
            api_key=key,
            env={"MY_TOKEN": token, "OTHER": variable},
            mcp_servers=[McpServer.http("http://127.0.0.1:9/", name="x", headers={"X-A": header})],
            policies=[policy.allow_all()],
            wire_inspectors=inspectors,
        ) as agent,
    ):
        agent.chat("hi")
        with pytest.raises(AntigravityError) as caught:
            agent.chat("die")
        output += [repr(agent), *traceback.format_exception(caught.value)]
        output += [str(vars(caught.value)), repr(recorder)]
    wait_until(lambda: "and on" in path.read_text(), "the recording")
    output += [path.read_text(), printed.getvalue(), caplog.text, *map(repr, events)]
    output += [str(record) for record in read_recording(path)]
    output += [str(vars(record)) for record in caplog.records]
    everything = "\n".join(output)
    for secret in (key, token, header, variable):
        for spelling in spellings(secret):
            assert spelling not in everything
    assert "[redacted]" in everything
    with contextlib.suppress(ValueError):
        inspectors.remove(recorder)
