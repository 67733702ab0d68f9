"""The oracle against expectations that were derived by hand, from reading the recordings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import ExpectedTurn, irregularity, read_turns
from tests.recordings import Record, Recording, connection_starts, connections, load

_PLAIN_STEP_KEYS = frozenset(
    {"cascadeId", "trajectoryId", "parentTrajectoryId", "stepIndex", "state", "source", "target"}
    | {"text", "textDelta", "thinking", "thinkingDelta", "requestText"}
)


def recording(version: str, scenario: str) -> Recording:
    return load(version)[version, scenario]


def turns(version: str, scenario: str) -> list[ExpectedTurn]:
    return read_turns(recording(version, scenario))


def only_turn(version: str, scenario: str) -> ExpectedTurn:
    (turn,) = turns(version, scenario)
    return turn


def last_message(version: str, scenario: str, turn: ExpectedTurn) -> dict[str, Any]:
    message = recording(version, scenario).records[turn.last].msg
    assert message is not None
    return message


# -- plain turns -------------------------------------------------------------------------------


def test_oracle_when_a_text_turn_goes_well_then_everything_about_it_is_known() -> None:
    """A streamed answer is one message, two steps, no asks, and ends with the idle state."""
    turn = only_turn("0.1.10", "01_text")

    assert (turn.prompt, turn.outcome, turn.messages) == ("hi", "completed", ("Hello world",))
    assert (turn.text, turn.thoughts, turn.steps, turn.asks) == ("Hello world", "", 2, ())
    assert turn.usage_total == {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 0,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 0,
        "totalTokenCount": 15,
    }
    assert (turn.halted, turn.irregular, turn.error, turn.kind) == (False, None, "", None)
    state = last_message("0.1.10", "01_text", turn)["trajectoryStateUpdate"]["state"]
    assert state == "STATE_FULLY_IDLE"


def test_oracle_when_the_model_thinks_then_thoughts_are_kept_apart_from_text() -> None:
    """Thinking and text share a step but not a field."""
    said = [(turn.thoughts, turn.text) for turn in turns("0.1.10", "02_thinking")]
    assert said == [("Let me think. More thought.", "Answer 42")] * 2


@pytest.mark.parametrize(
    ("version", "scenario", "totals"),
    [
        ("0.1.10", "03_usage", [110, 220]),  # usageUpdate: replaced
        ("0.1.10", "16c_resume_RESUME", [75]),  # seeded by the init answer with 60
        ("0.1.5", "T12_two_turns", [15, 30]),  # usageMetadata: added up
        ("0.1.9", "E2_background", [45]),  # three model calls in one turn
        ("0.1.10", "03b_usage_missing", [None]),  # nothing reported is not zero
    ],
)
def test_oracle_when_usage_is_reported_then_the_total_is_the_sessions(
    version: str, scenario: str, totals: list[int | None]
) -> None:
    """Usage is what the whole session used up to the end of the turn, in every version's form."""
    seen = [(turn.usage_total or {}).get("totalTokenCount") for turn in turns(version, scenario)]
    assert seen == totals


_REPLIES = [("completed", (f"reply {n}",), 2) for n in range(3)]
_HALTED = [("cancelled", ("w0 w1 w2 w3 w4 ",), 2), ("completed", ("second ok",), 2)]
_NOT_HALTED = [("completed", ("ok",), 2)] * 2
_TWO = [("completed", ("ok0",), 2), ("completed", ("ok2",), 2)]
_BACKGROUND = [("completed", ("main says 3", "main says 5"), 5)]


@pytest.mark.parametrize(
    ("version", "scenario", "expected"),
    [
        ("0.1.10", "04_two_turns", _REPLIES),  # own steps only; an empty prompt is a turn
        ("0.1.22", "12e_text_and_finish", [("completed", ("intro ",), 3)]),  # finish says nothing
        ("0.1.22", "15_429", [("open", (), 6)]),  # the error step of a retry fails nothing
        ("0.1.10", "13a_halt_mid_stream", _HALTED),  # the partial text is kept
        ("0.1.22", "13d_halt_when_idle", _NOT_HALTED),  # a halt while idle cancels nothing
        ("0.1.10", "14b_trigger_after_turn", _TWO),  # a trigger's run is in neither turn
        ("0.1.10", "08k_hook_error_msg_pre_turn", [("lost", (), 0)]),  # the socket just closes
        ("0.1.22", "14a_trigger_first", []),  # a trigger alone is no turn
        ("0.1.5", "E2_background", _BACKGROUND),  # idles, then runs again
        ("0.1.6", "E2_background", _BACKGROUND),  # the command ends before it runs again
        ("0.1.8", "E2_background", _BACKGROUND),  # says that it waits
        ("0.1.9", "E2_background", _BACKGROUND),  # waits without a word
    ],
)
def test_oracle_when_a_session_is_read_then_outcomes_messages_and_steps_are(
    version: str, scenario: str, expected: list[tuple[str, tuple[str, ...], int]]
) -> None:
    """Each row was read off the recording; its comment says what it is there for."""
    seen = turns(version, scenario)
    assert [(turn.outcome, turn.messages, turn.steps) for turn in seen] == expected
    assert [turn.halted for turn in seen] == [row[0] == "cancelled" for row in expected]


def test_oracle_when_a_budget_ends_the_turn_then_the_stop_reason_is_kept() -> None:
    """A spent budget is a completed turn with a reason."""
    turn = only_turn("0.1.17", "E5_budget")
    assert (turn.outcome, turn.messages) == ("completed", ())
    assert turn.stop_reason == "STOP_REASON_MAX_MODEL_CALLS_EXCEEDED"


# -- asks --------------------------------------------------------------------------------------


def test_oracle_when_tools_are_called_then_each_ask_is_listed_once_in_order() -> None:
    """Text before a call is a message; the call's own step is not."""
    turn = only_turn("0.1.10", "05b_tool_object")
    assert turn.asks == (("tool", "callid-1"),)
    assert (turn.messages, turn.steps) == (("Calling now. ", "done"), 4)

    parallel = only_turn("0.1.22", "05f_tool_parallel_seq")
    assert parallel.asks == (
        ("tool", "22315bbd-be14-41a1-bbde-fe5a3408ebfc"),
        ("tool", "332cd3c1-7309-4714-8ce9-395fb9aad0ce"),
    )


def test_oracle_when_a_stop_hook_continues_then_it_is_still_one_turn() -> None:
    """Two answers, five hooks before the end, and the session-end hook after it."""
    turn = only_turn("0.1.22", "08q_stop_continue")
    assert turn.messages == ("done", "done")
    assert [(ask[1], str(ask[2]).removeprefix("LIFECYCLE_HOOK_")) for ask in turn.asks] == [
        ("hook_request_0", "ON_SESSION_START"),
        ("hook_request_1", "PRE_TURN"),
        ("hook_request_2", "STOP"),
        ("hook_request_3", "STOP"),
        ("hook_request_4", "POST_TURN"),
    ]
    assert turn.late_asks == (("hook", "hook_request_5", "LIFECYCLE_HOOK_ON_SESSION_END"),)


def test_oracle_when_the_post_turn_hook_comes_after_the_idle_then_it_is_late() -> None:
    """Up to 0.1.13 the post-turn hook trails the turn; from 0.1.14 it is part of it."""
    hook = ("hook", "hook_request_0", "LIFECYCLE_HOOK_POST_TURN")
    old, new = only_turn("0.1.10", "33f_postturn_order"), only_turn("0.1.22", "33f_postturn_order")
    assert (old.asks, old.late_asks) == ((), (hook,))
    assert (new.asks, new.late_asks) == ((hook,), ())


def test_oracle_when_an_ask_is_refused_then_the_error_step_is_no_message() -> None:
    """A step that ever had an ENVIRONMENT target or an error never counts, wherever it points."""
    denied = only_turn("0.1.10", "07h_ask_dynamic_deny")
    assert (denied.asks, denied.messages, denied.steps) == ((("policy", "1"),), ("done",), 3)

    turn = only_turn("0.1.10", "09f_cancelled")
    assert turn.asks == (("question", "8466c0c09d275de71f6f7bd7f421478f", 1),)
    assert (turn.outcome, turn.messages, turn.steps) == ("completed", ("done",), 3)


def test_oracle_when_a_question_needs_permission_then_both_asks_are_seen() -> None:
    """On 0.1.5 one step asks for confirmation, then for answers, without leaving its state."""
    turn = only_turn("0.1.5", "T8_questions")
    main = "db4ae842ef5b8d0d0ab5962508992ac5"
    assert turn.asks == (("confirmation", main, 1), ("question", main, 1))
    assert (turn.outcome, turn.irregular) == ("open", "left unanswered: question")


# -- how turns end -----------------------------------------------------------------------------


def test_oracle_when_the_prompt_is_denied_then_the_turn_failed_as_denied() -> None:
    """A denied prompt shows no activity at all, only the cancelled state; the next is a turn."""
    first, second = turns("0.1.22", "08e_pre_turn_deny")
    for turn in (first, second):
        assert (turn.outcome, turn.kind, turn.error) == ("failed", "denied", "turn denied!")
        assert (turn.steps, turn.follows_failure) == (0, False)


def test_oracle_when_the_model_fails_then_the_turn_fails_and_the_next_is_lost() -> None:
    """The texts of failed attempts are messages; the socket is closed under the next input."""
    first, second = turns("0.1.10", "15_fin_MAX_TOKENS_retry2")
    assert (first.outcome, first.kind, first.steps) == ("failed", "error", 5)
    assert first.error.startswith("model output error: max tokens limit reached")
    assert first.messages == ("cut", "cut")
    assert (second.outcome, second.follows_failure, second.irregular) == ("lost", True, None)


def test_oracle_when_a_step_ends_after_the_halted_turn_then_it_is_counted_there() -> None:
    """On 0.1.9 the last step, and the usage on it, came after the idle state."""
    first, second = turns("0.1.9", "T9_halt")
    assert (first.outcome, first.messages, first.steps) == ("cancelled", ("one ",), 2)
    assert last_message("0.1.9", "T9_halt", first)["stepUpdate"]["state"] == "STATE_DONE"
    assert [(t.usage_total or {}).get("totalTokenCount") for t in (first, second)] == [15, 30]
    assert (second.outcome, second.steps) == ("completed", 2)


@pytest.mark.parametrize(
    ("scenario", "outcome"),
    [
        ("17f_sigkill_mid_stream", "lost"),  # the process was killed
        ("17g_stdin_close_mid_stream", "lost"),  # the process ended, the socket with it
        ("17h_ws_close_mid_stream", "open"),  # the client itself closed the socket
    ],
)
def test_oracle_when_the_session_ends_mid_stream_then_it_matters_who_closed(
    scenario: str, outcome: str
) -> None:
    """What the peer did is a loss, what the client did leaves the turn open; the text stays."""
    first, second = turns("0.1.22", scenario)
    assert (first.outcome, second.outcome) == ("completed", outcome)
    assert second.text == "w0 w1 w2 w3 w4 "


# -- subagents, commands, triggers -------------------------------------------------------------


def test_oracle_when_the_main_waits_for_subagents_then_the_turn_goes_on() -> None:
    """Neither the waiting state nor the subagent's idle ends the turn; its texts do not count."""
    turn = only_turn("0.1.22", "10c_subagent_custom_tool")
    assert turn.messages == ("main done 2", "main done 3")
    assert turn.asks == (("tool", "7d72580c-d8a6-44a5-9d4c-445dc47b8853"),)
    assert (turn.outcome, turn.steps) == ("completed", 5)


@pytest.mark.parametrize(
    ("version", "messages", "usage"),
    [
        ("0.1.5", ("main says 3",), 45),
        ("0.1.6", ("main says 3", "sub result"), 45),  # subagent steps labelled as the main's
        ("0.1.7", ("main says 3",), 45),
        ("0.1.8", ("main says 3", "main says 5"), 60),
    ],
)
def test_oracle_when_a_subagent_outlives_the_main_then_old_versions_wait_for_it(
    version: str, messages: tuple[str, ...], usage: int
) -> None:
    """Up to 0.1.7 the subagent's idle settles the turn; later the main runs again and does."""
    turn = only_turn(version, "E1_subagent")

    assert (turn.outcome, turn.messages) == ("completed", messages)
    assert (turn.usage_total or {})["totalTokenCount"] == usage
    ended_by = last_message(version, "E1_subagent", turn)["trajectoryStateUpdate"]["trajectoryId"]
    assert (ended_by == _main_of(recording(version, "E1_subagent"))) == (version == "0.1.8")


def test_oracle_when_a_trigger_joins_a_turn_then_the_run_after_it_is_not_the_turns() -> None:
    """A trigger while running is answered in the turn; the extra run of 0.1.22 is nobody's."""
    turn = only_turn("0.1.22", "14c_trigger_while_running")
    assert turn.messages == ("w0 w1 w2 w3 w4 w5 w6 w7 end", "ok1")
    assert (turn.steps, (turn.usage_total or {})["totalTokenCount"]) == (4, 30)


# -- sessions that break the protocol ----------------------------------------------------------


def test_oracle_when_an_input_is_dropped_then_it_is_open_and_flagged() -> None:
    """0.1.22 drops the old form of an input without a word; the next one is answered."""
    first, dropped, third = turns("0.1.22", "18d10_old_userInput_string")
    assert (first.outcome, first.irregular) == ("completed", None)
    assert (dropped.prompt, dropped.outcome) == ("plain string", "open")
    assert dropped.irregular == "the harness dropped the input"
    assert (third.outcome, third.text) == ("completed", "r1")
    assert third.irregular is not None
    assert irregularity(recording("0.1.10", "18d10_old_userInput_string")) is None


def test_oracle_when_the_breach_follows_the_turn_then_only_the_session_is_irregular() -> None:
    """A late answer after the halted turn does not taint the turn that was over."""
    turn = only_turn("0.1.10", "13b_halt_in_custom_tool")
    assert (turn.outcome, turn.irregular, turn.messages) == ("cancelled", None, ())


def test_oracle_when_an_input_is_queued_then_it_shares_the_end_of_the_running_turn() -> None:
    """Two inputs, one run, one idle: the answer to both is in the first turn."""
    first, second = turns("0.1.10", "18e_user_while_running")
    assert first.messages == ("w0 w1 w2 w3 w4 w5 w6 w7 end", "ok1")
    assert (second.prompt, second.outcome, second.messages) == ("second input", "completed", ())
    assert (first.last, first.irregular) == (second.last, second.irregular)


_DROPPED = "with a field this version drops"


@pytest.mark.parametrize(
    ("version", "scenario", "reason"),
    [
        ("0.1.10", "05k_no_answer", "left unanswered: tool"),
        ("0.1.10", "18e_user_while_running", "sent an input while a turn was running"),
        ("0.1.10", "05i_tool_wrong_id_then_right", "answered a tool that was never asked"),
        ("0.1.22", "33b_dup_question", "answered a question twice"),
        ("0.1.10", "13b_halt_in_custom_tool", "answered a tool after the halt"),
        ("0.1.22", "18d12_second_init", "sent a second config into a session"),
        ("0.1.22", "18d13_halt_false", "sent an event without content"),
        ("0.1.5", "T7b_custom_tool_errorMessage", f"answered a tool {_DROPPED}"),
        ("0.1.16", "T16b_modifiedArgs", f"answered a hook {_DROPPED}"),
        ("0.1.18", "T16a_modifiedArgumentsJson", f"answered a hook {_DROPPED}"),
        ("0.1.22", "A1_userInput_string", "the harness dropped the input"),
        ("0.1.22", "18c6_user_input_first", "sent an input before the session was initialised"),
        ("0.1.22", "09kI_no_answer_then_halt", None),  # halting instead of answering is allowed
        ("0.1.22", "17i_sigkill_mid_tool", None),  # nobody was left to be answered
    ],
)
def test_irregularity_when_a_session_breaks_the_protocol_then_the_reason_is_named(
    version: str, scenario: str, reason: str | None
) -> None:
    """Each kind of breach has its own sentence, and what only looks like one has none."""
    assert irregularity(recording(version, scenario)) == reason


# -- orders no recording happens to show -------------------------------------------------------

_MAIN = "main"
_INIT = ("recv", {"initializeConversationResponse": {"cascadeId": _MAIN}})
_INPUT = ("send", {"userInput": {"parts": [{"text": "go"}]}})


def made_up(*frames: tuple[str, dict[str, Any]], version: str = "0.1.22") -> list[ExpectedTurn]:
    """Read a session of these frames, all at once."""
    records = tuple(Record(direction, 0.0, msg=msg) for direction, msg in frames)
    return read_turns(Recording(version, "made up", records))


def state(name: str, trajectory: str = _MAIN) -> tuple[str, dict[str, Any]]:
    update = {"trajectoryId": trajectory, "state": f"STATE_{name}"}
    return "recv", {"trajectoryStateUpdate": update}


def step(index: int, text: str, name: str = "DONE", **more: Any) -> tuple[str, dict[str, Any]]:
    update = {"trajectoryId": _MAIN, "stepIndex": index, "state": f"STATE_{name}", "text": text}
    update |= {"source": "SOURCE_MODEL", "target": "TARGET_USER", "thinking": "", **more}
    return "recv", {"stepUpdate": update}


def test_oracle_when_a_stale_idle_crosses_the_input_then_it_does_not_end_the_turn() -> None:
    """A clean idle counts only once the turn has shown some activity."""
    idle = state("FULLY_IDLE")
    (turn,) = made_up(_INIT, _INPUT, idle, state("RUNNING"), step(1, "yes"), idle)
    assert (turn.outcome, turn.messages, turn.last) == ("completed", ("yes",), 5)


def test_oracle_when_an_ask_is_delivered_again_then_it_is_listed_once() -> None:
    """The same question on a second frame is the same ask."""
    asking = step(1, "?", "WAITING_FOR_USER", questionsRequest={})
    (turn,) = made_up(_INIT, _INPUT, state("RUNNING"), asking, asking)
    assert turn.asks == (("question", _MAIN, 1),)


def test_oracle_when_the_main_runs_again_then_its_earlier_idle_is_void() -> None:
    """On 0.1.7 a subagent's idle settles the turn only while the main itself is idle."""
    begin = (_INIT, _INPUT, state("RUNNING"), state("RUNNING", "sub"), state("IDLE"))
    again = (state("RUNNING"), state("IDLE", "sub"), step(1, "late"), state("IDLE"))
    (turn,) = made_up(*begin, *again, version="0.1.7")
    assert (turn.outcome, turn.messages, turn.last) == ("completed", ("late",), 8)


def test_oracle_when_a_step_ends_after_the_next_input_then_it_stays_with_its_turn() -> None:
    """The index says whose step it is, not the moment."""
    halt = ("send", {"haltRequest": True})
    begin = (_INIT, _INPUT, state("RUNNING"), step(1, "par", "ACTIVE"), halt, state("FULLY_IDLE"))
    first, second = made_up(*begin, _INPUT, step(1, "partial"), state("RUNNING"), step(3, "new"))
    assert (first.messages, second.messages, second.steps) == (("partial",), ("new",), 1)


def test_oracle_when_a_resumed_session_reports_no_usage_then_the_old_total_stands() -> None:
    """The init answer of a resumed session says what was used before."""
    resumed = {"cascadeId": _MAIN, "cumulativeUsage": {"totalTokenCount": "60"}}
    init = ("recv", {"initializeConversationResponse": resumed})
    (turn,) = made_up(init, _INPUT, state("RUNNING"), state("FULLY_IDLE"))
    assert turn.usage_total == {"totalTokenCount": 60}


# -- the recordings themselves -----------------------------------------------------------------


def test_load_when_asked_for_everything_then_all_versions_are_there() -> None:
    """Eighteen versions, every record of a known kind, no recording empty."""
    everything = load()
    assert {version for version, _ in everything} == {f"0.1.{n}" for n in range(5, 23)}
    assert len(everything) == 1977
    assert all(session.records for session in everything.values())
    kinds = {record.dir for session in everything.values() for record in session.records}
    assert kinds == {"send", "recv", "stderr", "note"}


def test_load_when_the_version_was_never_recorded_then_the_error_names_the_choice() -> None:
    """A typo in a version must not read as an empty set of recordings."""
    with pytest.raises(KeyError, match=r"0\.1\.22"):
        load("0.1.4")


def test_connections_when_a_session_is_resumed_on_a_new_socket_then_it_is_cut_there() -> None:
    """A config that is answered, or that follows a close, begins a new socket; others do not."""
    resumed = recording("0.1.22", "D4_ws_close_reconnect_same_process")
    first, second = connections(resumed)
    assert first.records + second.records == resumed.records
    assert "config" in (second.records[0].msg or {})
    assert len(connections(recording("0.1.10", "27b_no_storage"))) == 2
    assert connection_starts(recording("0.1.10", "18d12_second_init")) == (0,)


def test_read_turns_when_all_recordings_are_read_then_deltas_agree_with_the_messages() -> None:
    """The joined text deltas of a turn are its joined messages, in all versions."""
    compared = 0
    for key, session in load().items():
        for turn in read_turns(session):
            if turn.steps:
                assert _joined_deltas(session, turn) == turn.messages, key
                compared += 1
    assert compared > 1400


def _joined_deltas(session: Recording, turn: ExpectedTurn) -> tuple[str, ...]:
    """Read the messages of a turn a second way, from what streamed."""
    main = _main_of(session, before=turn.first)
    streamed: dict[int, str] = {}
    barred: set[int] = set()
    for record in session.records[turn.first : turn.last + 1]:
        step = (record.msg or {}).get("stepUpdate") if record.dir == "recv" else None
        if step is None or step["trajectoryId"] != main:
            continue
        index = step["stepIndex"]
        streamed[index] = streamed.get(index, "") + step["textDelta"]
        ends = (step["source"], step["target"])
        spoken = ends == ("SOURCE_MODEL", "TARGET_USER") and step["state"] != "STATE_ERROR"
        if not spoken or step.keys() - _PLAIN_STEP_KEYS:
            barred.add(index)
    return tuple(text for i, text in sorted(streamed.items()) if text and i not in barred)


def _main_of(session: Recording, before: int | None = None) -> str:
    """Return the main trajectory of the last init answer before a record."""
    found = ""
    for record in session.records[:before]:
        if record.dir == "recv" and record.msg:
            found = record.msg.get("initializeConversationResponse", {}).get("cascadeId", found)
    return found
