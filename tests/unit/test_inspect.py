"""Events of the wire, the filter's grammar, and how lines of stderr are judged."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

from antigravity_sync._wire.glog import says_dropped, severity_of
from antigravity_sync.wire import (
    HarnessSpawn,
    HarnessStderr,
    LoggingForwarder,
    StderrPrinter,
    WireEvent,
    WireFilter,
    WsReceive,
    WsSend,
)

ABOUT: dict[str, Any] = {"correlation_id": "c0ffee0123", "time": 12.5, "pid": 7}
SPAWN = HarnessSpawn(path="/bin/harness", version="0.1.10", **ABOUT)
STDERR = HarnessStderr(line="oops\x1b[2J", severity="ERROR", **ABOUT)
PROMPT = WsSend(payload='{"userInput":"hi"}', **ABOUT)
STEP = WsReceive(payload='{"stepUpdate":{"text":"x"},"seqNum":"3"}', **ABOUT)
CALL = WsReceive(payload='{"toolCall":{"id":"1"},"timestampMicros":"3"}', **ABOUT)
JUNK = WsReceive(payload="no JSON", **ABOUT)
ALL: tuple[WireEvent, ...] = (SPAWN, STDERR, PROMPT, STEP, CALL, JUNK)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *((word, ALL) for word in ("1", "true", "yes", "on", "all", "", "ALL", " Yes ", ",,")),
        ("harness", (SPAWN, STDERR)),
        ("ws", (PROMPT, STEP, CALL, JUNK)),
        ("request, response, sse, upload", ()),
        ("STEPUPDATE", (STEP,)),
        ("step_update", (STEP,)),
        ("seqNum,timestampMicros", ()),
        ("toolCall,summary", (CALL,)),
        ("summary,userinput,toolcall", (PROMPT, CALL)),
        ("summary", ALL),
        ("harness,stepUpdate", (SPAWN, STDERR, STEP)),
        ("0", ()),
        ("off", ()),
        ("no such thing !?\x00", ()),
        ("request,all", ALL),
    ],
)
def test_filter_when_parsed_then_matches_what_the_grammar_says(text, wanted):
    """Any text is a filter."""
    wire_filter = WireFilter.parse(text)
    assert tuple(event for event in ALL if wire_filter.matches(event)) == wanted
    assert wire_filter.is_summary == ("summary" in text)


def test_filter_when_it_can_match_nothing_then_is_false():
    """So that a variable which says off costs nothing."""
    assert not WireFilter.parse("off")
    assert not WireFilter.parse("sse")
    assert WireFilter.parse("harness")


@pytest.mark.parametrize(
    ("event", "whole", "short"),
    [
        (SPAWN, "spawn /bin/harness (pid 7)", "spawn /bin/harness (pid 7)"),
        (STDERR, "stderr oops\\x1b[2J", "stderr oops\\x1b[2J"),
        (PROMPT, 'ws send {"userInput":"hi"}', "ws send userInput"),
        (STEP, f"ws receive {STEP.payload}", "ws receive stepUpdate"),
        (JUNK, "ws receive no JSON", "ws receive no message"),
    ],
)
def test_line_when_shown_then_whole_or_short(event, whole, short):
    """A summary names the members without those of the envelope; nothing moves the cursor."""
    assert WireFilter.parse("all").show(event) == f"[wire c0ffee01] {whole}"
    assert WireFilter.parse("summary").show(event) == f"[wire c0ffee01] {short}"


def test_event_when_made_plain_then_json_with_its_kind():
    """Every event goes through JSON; a frame's payload is the object it is."""
    plain = [json.loads(json.dumps(event.to_dict())) for event in ALL]
    assert [each["kind"] for each in plain] == [
        *("HarnessSpawn", "HarnessStderr", "WsSend", "WsReceive", "WsReceive", "WsReceive")
    ]
    assert plain[2]["payload"] == {"userInput": "hi"}
    assert plain[5]["payload"] == "no JSON"
    assert {each["correlation_id"] for each in plain} == {"c0ffee0123"}
    assert (plain[0]["time"], plain[0]["pid"], plain[0]["path"]) == (12.5, 7, "/bin/harness")


def test_printer_when_given_a_filter_then_prints_what_it_wants():
    """One line per event."""
    file = io.StringIO()
    printer = StderrPrinter(WireFilter.parse("toolCall,summary"), file)
    for event in ALL:
        printer(event)
    assert file.getvalue() == "[wire c0ffee01] ws receive toolCall\n"


def test_forwarder_when_called_then_logs_at_debug_with_the_event(caplog):
    """Frames hold prompts, so they stay below INFO."""
    with caplog.at_level(logging.DEBUG, "antigravity_sync.wire"):
        LoggingForwarder(WireFilter.parse("harness"))(SPAWN)
        LoggingForwarder(WireFilter.parse("harness"))(PROMPT)
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG
    assert record.wire_event is SPAWN


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("I1202 05:36:03.123456      10 auth_store.go:136] Using", "INFO"),
        ("W1202 05:36:03.123456      10 x.go:1] hm", "WARNING"),
        ("E1202 05:36:03.123456      10 x.go:1] bad", "ERROR"),
        ("F1202 05:36:03.123456      10 x.go:1] worse", "CRITICAL"),
        ("ERROR: logging before google.Init: I1202 05:36:03.1 10 a.go:1] Using", "INFO"),
        ("ERROR: logging before google.Init: E1202 05:36:03.1 10 a.go:1] no", "ERROR"),
        ("ERROR: logging before google.Init: whatever", "INFO"),
        ("ERROR: something", "ERROR"),
        ("Failed to send InputEvent: proto", "ERROR"),
        ("panic: runtime error", "ERROR"),
        ("Stdin closed, cleaning up...", "INFO"),
        ("Every line that begins with an E", "INFO"),
        ("", "INFO"),
    ],
)
def test_severity_when_a_line_is_judged_then_by_its_own_letter(line, severity):
    """The early prefix says ERROR and means nothing."""
    assert severity_of(line) == severity


def test_drop_when_a_line_says_so_then_seen():
    """Both spellings of it."""
    assert says_dropped("x Failed to unmarshal InputEvent: y")
    assert says_dropped("Failed to send InputEvent: y")
    assert not says_dropped("Failed to do anything else")
