"""A recording as a timeline: what is a span, the page, the text, and the command."""

from __future__ import annotations

import html.parser
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from antigravity_sync._report.page import page_of
from antigravity_sync._report.reader import read_timelines
from antigravity_sync._report.text import text_of
from antigravity_sync._report.timeline import Lane, Mark, SessionLine, Span
from antigravity_sync.cli import main
from antigravity_sync.errors import ConfigError

MAIN, SUB = "main-id", "sub-id"

Capture = pytest.CaptureFixture[str]


class Tape:
    """Writes a recording by hand, a tenth of a second between its lines."""

    def __init__(self, path: Path, correlation_id: str = "one") -> None:
        self.path, self.correlation_id, self.now = path, correlation_id, 1000.0

    def line(self, kind: str, **more: object) -> Tape:
        head = {"kind": kind, "correlation_id": self.correlation_id, "time": self.now, "pid": 7}
        with self.path.open("a") as file:
            file.write(json.dumps({**head, "conversation_id": "talk", **more}) + "\n")
        self.now = round(self.now + 0.1, 3)
        return self

    def send(self, **payload: object) -> Tape:
        return self.line("WsSend", payload=payload)

    def receive(self, **payload: object) -> Tape:
        return self.line("WsReceive", payload=payload)

    def begin(self) -> Tape:
        self.line("HarnessSpawn", path="/bin/localharness", version="0.1.22").send(config={})
        return self.receive(initializeConversationResponse={"cascadeId": MAIN})

    def step(self, index: int, state: str = "DONE", trajectory: str = MAIN, **more: object) -> Tape:
        ids = {"trajectoryId": trajectory, "stepIndex": index, "state": f"STATE_{state}"}
        fields = {"source": "SOURCE_MODEL", "target": "TARGET_USER", **more}
        return self.receive(stepUpdate={**ids, **fields})

    def state(self, name: str, trajectory: str = MAIN, **more: object) -> Tape:
        return self.receive(
            trajectoryStateUpdate={"trajectoryId": trajectory, "state": f"STATE_{name}", **more}
        )


@pytest.fixture
def tape(tmp_path: Path) -> Tape:
    return Tape(tmp_path / "wire.jsonl")


def only(tape: Tape) -> SessionLine:
    (line,) = read_timelines(tape.path)
    return line


def spans(line: SessionLine, lane: Lane) -> list[tuple[str, float, float, str]]:
    return [
        (span.name, round(span.start, 3), round(span.end, 3), span.mark.value)
        for span in line.spans
        if span.lane is lane
    ]


# ── what is a span ──────────────────────────────────────────────────────────────────────────────


def test_turn_when_recorded_then_waits_answers_tools_and_usage(tape: Tape) -> None:
    """A turn is from the prompt to idle; in it are waits for the model, answers and tools."""
    tape.begin().send(userInput="Hello  there\nyou").state("RUNNING")  # 0.3, 0.4
    tape.step(0, source="SOURCE_USER", target="TARGET_MODEL", text="Hello")  # 0.5
    tape.step(1, "ACTIVE", text="I lo", thinking="Hm.").step(1, text="I look.", thinking="Hm.")
    view = {"target": "TARGET_ENVIRONMENT", "viewFile": {"filePath": "/x"}}
    tape.step(2, "ACTIVE", **view).step(2, **view)  # 0.8, 0.9
    tape.receive(usageUpdate={"total": {"totalTokenCount": "15"}})  # 1.0
    tape.step(3, text="Done.").receive(usageUpdate={"total": {"totalTokenCount": "40"}})
    tape.state("FULLY_IDLE")  # 1.3
    line = only(tape)
    assert (line.version, line.pid, line.conversation_id, line.events) == ("0.1.22", 7, "talk", 14)
    assert spans(line, Lane.SESSION) == [("start", 0.0, 0.2, "")]
    assert spans(line, Lane.TURN) == [("Hello there you", 0.3, 1.3, "")]
    assert spans(line, Lane.WAIT) == [
        ("waiting for the model", 0.3, 0.6, ""),
        ("waiting for the model", 0.9, 1.1, ""),
    ]
    assert spans(line, Lane.MODEL) == [("answer", 0.6, 0.7, ""), ("answer", 1.1, 1.1, "")]
    assert spans(line, Lane.TOOL) == [("view_file", 0.8, 0.9, "")]
    assert spans(line, Lane.USAGE) == [("+15 tokens", 1.0, 1.0, ""), ("+25 tokens", 1.2, 1.2, "")]
    answer = next(span for span in line.spans if span.lane is Lane.MODEL)
    assert answer.detail == "Hm.\n\nI look."
    assert line.errors() == []


def test_asks_when_recorded_then_hooks_and_decisions(tape: Tape) -> None:
    """Hooks, policy decisions, confirmations and questions last from the ask to the answer."""
    tape.begin().send(complexUserInput={"parts": [{"text": "Go"}]})
    for number, decided in enumerate(({"decision": "ALLOW"}, {"decision": "DENY", "reason": "no"})):
        tape.receive(
            callHookRequest={
                "requestId": f"h{number}",
                "type": "LIFECYCLE_HOOK_PRE_TOOL",
                "preToolArgs": {"toolName": "run_command", "argumentsJson": '{"CommandLine":"ls"}'},
            }
        ).send(callHookResponse={"requestId": f"h{number}", "preToolResult": decided})
    tape.receive(policyDecisionRequest={"requestId": "p", "toolArgs": {"toolName": "view_file"}})
    tape.send(
        policyDecisionResponse={
            "requestId": "p",
            "outcome": "POLICY_EVALUATION_OUTCOME_DENY",
            "denyReason": "never",
        }
    )
    view = {"target": "TARGET_ENVIRONMENT", "viewFile": {"filePath": "/x"}}
    tape.step(4, "WAITING_FOR_USER", **view, toolConfirmationRequest={})
    tape.send(toolConfirmation={"trajectoryId": MAIN, "stepIndex": 4, "accepted": True})
    asked = {"questions": [{"multipleChoice": {"question": "Which?", "choices": ["a"]}}]}
    tape.step(5, "WAITING_FOR_USER", questionsRequest=asked)
    tape.send(questionResponse={"trajectoryId": MAIN, "stepIndex": 5, "cancelled": True})
    line = only(tape)
    assert spans(line, Lane.HOOK) == [
        ("PRE_TOOL run_command", 0.4, 0.5, ""),
        ("PRE_TOOL run_command", 0.6, 0.7, ""),
    ]
    assert spans(line, Lane.DECISION) == [
        ("run_command: allowed", 0.4, 0.5, ""),
        ("run_command: denied, no", 0.6, 0.7, "denied"),
        ("view_file: denied, never", 0.8, 0.9, "denied"),
        ("view_file: allowed", 1.0, 1.1, ""),
        ("question", 1.2, 1.3, ""),
    ]


def test_trouble_when_recorded_then_errors_and_what_never_ended(tape: Tape) -> None:
    """Failed tools, failed steps, bad lines of stderr; what the end cut off is marked."""
    tape.begin().send(userInput="Go")
    for number, answer in enumerate(({"responseJson": "{}"}, {"errorMessage": "no such city"})):
        tape.receive(toolCall={"id": f"c{number}", "name": "weather", "argumentsJson": "{}"})
        tape.send(toolResponse={"id": f"c{number}", **answer})
    command = {"target": "TARGET_ENVIRONMENT", "runCommand": {"commandLine": "x"}}
    tape.step(1, "ERROR", **command, errorMessage="boom")
    tape.step(2, "ERROR", source="SOURCE_SYSTEM", errorMessage="HTTP 503")
    tape.line("HarnessStderr", line="E0102 bad thing", severity="ERROR")
    tape.line("HarnessStderr", line="just so", severity="INFO")
    tape.receive(somethingNew={"a": 1})
    tape.step(0, "ACTIVE", trajectory=SUB, target="TARGET_ENVIRONMENT", viewFile={"filePath": "/x"})
    line = only(tape)
    assert [span.name for span in line.errors()] == [
        "weather: no such city",
        "run_command: boom",
        "HTTP 503",
        "E0102 bad thing",
    ]
    assert spans(line, Lane.STDERR)[0][0] == "just so"
    assert spans(line, Lane.OTHER)[0][0] == "somethingNew"
    assert line.trajectories == {MAIN: "main", SUB: "subagent 1"}
    unfinished = [span.lane for span in line.spans if span.mark is Mark.UNFINISHED]
    assert set(unfinished) == {Lane.TURN, Lane.WAIT, Lane.TOOL}


def test_subagents_when_recorded_then_each_has_its_own_waits_and_answers(tape: Tape) -> None:
    """A subagent's model is waited for from when it runs; its end is not the turn's."""
    tape.begin().send(userInput="Go").state("RUNNING")
    tape.state("RUNNING", SUB).step(0, trajectory=SUB, text="Found it.").state("FULLY_IDLE", SUB)
    line = only(tape)
    (wait,) = (one for one in line.spans if one.lane is Lane.WAIT and one.trajectory == SUB)
    assert (round(wait.start, 3), round(wait.end, 3)) == (0.5, 0.6)
    assert spans(line, Lane.TURN) == [("Go", 0.3, 0.7, "unfinished")]


def test_turns_when_triggered_or_halted_then_told(tape: Tape) -> None:
    """A trigger's turn is one, too; a halt is a moment; an idle model is not waited for."""
    tape.begin().send(automatedTrigger={"parts": [{"text": "wake up"}]})
    tape.send(haltRequest=True).state("CANCELLED")
    assert [name for name, *_ in spans(only(tape), Lane.TURN)] == ["trigger: wake up", "halt"]
    assert spans(only(tape), Lane.WAIT) == []


def test_recording_when_it_holds_several_sessions_then_each_of_its_own(tape: Tape) -> None:
    """Sessions of one file do not mix, and junk in it is passed over."""
    tape.begin()
    with tape.path.open("a") as file:
        file.write('{"kind": "Nonsense"}\n[1]\n{"cut off')
    with tape.path.open("a") as file:
        file.write("\n")
    other = Tape(tape.path, "two")
    other.now = 2000.0
    other.begin().send(userInput="Go")
    first, second = read_timelines(tape.path)
    assert (first.correlation_id, second.correlation_id) == ("one", "two")
    assert (first.began, second.began, round(second.length, 3)) == (1000.0, 2000.0, 0.3)
    assert spans(first, Lane.TURN) == []


# ── the page ────────────────────────────────────────────────────────────────────────────────────


class Page(html.parser.HTMLParser):
    """What a page refers to, and what is in its element of data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.scripts = 0
        self.policy = ""
        self._is_data = False
        self.data: Any = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [str(given[name]) for name in ("src", "href") if name in given]
        self.scripts += tag == "script"
        self._is_data = tag == "script" and given.get("id") == "data"
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(given["content"])

    def handle_data(self, data: str) -> None:
        if self._is_data:
            self.data = json.loads(data)
            self._is_data = False


def big(count: int, detail: str) -> SessionLine:
    """Return a session of so many spans with a payload each."""
    lanes = list(Lane)
    return SessionLine(
        *("big", 1000.0),
        trajectories={MAIN: "main", SUB: "subagent 1"},
        spans=[
            Span(lanes[n % len(lanes)], f"span {n}", n * 1.0, n + 0.5, MAIN, f"{n} {detail}")
            for n in range(count)
        ],
        events=count,
        length=count * 1.0,
    )


def test_page_when_made_then_self_contained(tape: Tape) -> None:
    """No network: nothing is referred to, and the page itself forbids it."""
    tape.begin().send(userInput="Hello")
    text = page_of(read_timelines(tape.path), "A <title>")
    page = Page(text)
    assert page.links == []
    assert page.scripts == 2
    assert page.policy.startswith("default-src 'none'")
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttp", text)
    assert "A &lt;title&gt;" in text
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"\$(title|data)\b|\$\$", text)


def test_page_when_made_then_every_span_with_its_facts(tape: Tape) -> None:
    """The data of the page are the spans: lane, name, times, trajectory, payload, mark, tokens."""
    tape.begin().send(userInput="Hello").step(0, "ACTIVE", trajectory=SUB, text="Yes?")
    data = Page(page_of(read_timelines(tape.path), "t")).data
    (session,) = data["sessions"]
    assert session["trajectories"] == ["main", "subagent 1"]
    assert "harness 0.1.22 (pid 7)" in session["facts"]
    found = {
        (data["lanes"][span[0]], span[1], span[2], span[4], span[5], data["marks"][span[6]])
        for span in session["spans"]
    }
    assert ("turn", "Hello", 0.3, 0, "Hello", "unfinished") in found
    assert ("model", "answer", 0.4, 1, "Yes?", "unfinished") in found


def test_page_when_payloads_are_hostile_then_they_stay_text() -> None:
    """What a model says cannot end the element it stands in, nor start one."""
    nasty = "</script><script>alert(1)</script><!--\u2028\ud800 $data ${x}"
    line = big(3, nasty)
    line.spans[0].name = nasty
    text = page_of([line], nasty)
    page = Page(text)
    assert page.scripts == 2
    assert page.data["sessions"][0]["spans"][1][5].startswith("1 </script><script>alert(1)")
    text.encode("utf-8")


@pytest.mark.parametrize("detail", ["x" * 5000, "日本語" * 2000, "</" * 3000], ids=["a", "w", "e"])
def test_page_when_a_session_is_long_then_under_2_mb(detail: str) -> None:
    """Payloads of 2,000 spans are cut so far that the page opens at once; no span is left out."""
    text = page_of([big(2000, detail)], "big")
    assert len(text.encode()) < 2_000_000
    spans = Page(text).data["sessions"][0]["spans"]
    assert len(spans) == 2000
    assert all(f"… ({len(f'{n} {detail}')} characters)" in spans[n][5] for n in (0, 1999))


# ── the text and the command ────────────────────────────────────────────────────────────────────


def test_text_when_made_then_a_line_per_span_that_fits() -> None:
    """Lines are cut to the terminal; the longest span has the longest bar; marks stay in view."""
    line = big(4, "x")
    line.spans[0].end = 10.0
    line.spans[1].name = "long " * 50
    line.spans[1].mark = Mark.ERROR
    line.spans[2].trajectory = SUB
    head, facts, *rows = text_of([line], width=90)
    assert head.startswith("session big")
    assert "4 events" in facts
    assert "1 errors" in facts
    assert "█" * 20 in rows[0]
    assert len(rows[1]) <= 90
    assert rows[1].endswith("…  (error)")
    assert "[subagent 1] span 2" in rows[2]


def test_trace_when_asked_for_then_text_json_or_a_page(
    tape: Tape, tmp_path: Path, capsys: Capture
) -> None:
    """`trace FILE` prints, `--json` prints data, `--html OUT` writes a page for this user alone."""
    tape.begin().send(userInput="Hello \x1b[2J")
    assert main(["trace", str(tape.path)]) == 0
    shown = capsys.readouterr().out
    assert "turn     Hello \\x1b[2J" in shown
    assert main(["trace", str(tape.path), "--json"]) == 0
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    assert [span["lane"] for span in session["spans"]] == ["session", "turn", "wait"]
    out = tmp_path / "page.html"
    assert main(["trace", str(tape.path), "--html", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert Page(out.read_text("utf-8")).data["sessions"][0]["length"] == 0.3


def test_trace_when_there_is_nothing_to_show_then_78(tmp_path: Path, capsys: Capture) -> None:
    """A missing file, one without a session, and a page that cannot be written are named."""
    empty = tmp_path / "empty"
    empty.touch()
    assert main(["trace", str(tmp_path / "missing")]) == 78
    assert "cannot be read" in capsys.readouterr().err
    assert main(["trace", str(empty)]) == 78
    assert "there is no session" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        read_timelines(tmp_path)
    Tape(empty).begin()
    assert main(["trace", str(empty), "--html", str(tmp_path / "no" / "x")]) == 78
    assert "cannot be written" in capsys.readouterr().err
