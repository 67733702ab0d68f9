"""The codec: every kind of frame as it was recorded, and everything that may be odd about one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from antigravity_sync import _messages as m
from antigravity_sync._wire import codec
from antigravity_sync._wire.drift import clear_drift_report, drift_report
from antigravity_sync.responses import Usage
from tests.recordings import load


@pytest.fixture(autouse=True)
def _own_report() -> Iterator[None]:
    """Start and leave the process-wide count empty."""
    clear_drift_report()
    yield
    clear_drift_report()


def recorded(version: str, scenario: str, index: int) -> dict[str, Any]:
    event = load(version)[version, scenario].records[index].msg
    assert event is not None
    return event


def decode(event: dict[str, Any]) -> list[m.PeerFrame]:
    return codec.decode(json.dumps(event))


def one(event: dict[str, Any]) -> Any:
    (frame,) = decode(event)
    return frame


def one_step(**members: Any) -> m.StepFrame:
    frame = one({"stepUpdate": {"trajectoryId": "t", "stepIndex": 1, **members}, "seqNum": "1"})
    assert isinstance(frame, m.StepFrame)
    return frame


# -- recorded frames ---------------------------------------------------------------------------


def test_decode_when_a_text_step_is_read_then_whole_and_delta_are_apart() -> None:
    """The plainest frame there is."""
    frame = one(recorded("0.1.10", "01_text", 7))
    main = "f243501ed534f22d63329b80c8ddf66d"
    assert frame == m.StepFrame(main, 0, m.DONE, m.USER, m.TO_MODEL, "hi", "hi")


@pytest.mark.parametrize(
    ("version", "scenario", "index", "action", "payload"),
    [
        ("0.1.10", "06_find", 7, "findFile", "query"),
        ("0.1.10", "06_grep", 7, "searchDirectory", "numResults"),
        ("0.1.10", "06_list_dir", 7, "listDirectory", "directoryPath"),
        ("0.1.10", "06_replace", 7, "editFile", "filePath"),
        ("0.1.10", "06_two_builtin", 7, "viewFile", "endLine"),
        ("0.1.10", "06_run_command", 7, "runCommand", "commandLine"),
        ("0.1.10", "19e_generate_image", 7, "generateImage", "imageName"),
        ("0.1.10", "11a_mcp_call", 7, "mcpTool", "serverName"),
        ("0.1.10", "05b_tool_object", 9, "customTool", "toolCall"),
        ("0.1.10", "12a_finish_ok", 8, "finish", "outputString"),
    ],
)
def test_decode_when_a_step_acts_then_the_action_is_its_member(
    version: str, scenario: str, index: int, action: str, payload: str
) -> None:
    """What a step does is the one member that is none of the common ones."""
    frame = one(recorded(version, scenario, index))
    assert frame.action == action
    assert payload in frame.payload
    assert frame.extra == {}


@pytest.mark.parametrize(
    ("version", "scenario", "index", "error", "code"),
    [
        ("0.1.10", "06_view_file_missing", 13, "The model produced an invalid tool call.", 0),
        ("0.1.22", "06_replace_nomatch", 15, "Model produced a malformed edit", None),
        ("0.1.10", "09f_cancelled", 14, "Questions cancelled.", None),
    ],
)
def test_decode_when_a_step_failed_then_error_and_status_are_told(
    version: str, scenario: str, index: int, error: str, code: int | None
) -> None:
    """The text may stand in either of two places; a status below 100 is the harness's own none."""
    frame = one(recorded(version, scenario, index))
    assert frame.state == m.ERROR
    assert frame.error.startswith(error)
    assert frame.http_code == code


def test_decode_when_the_model_failed_then_the_http_status_is_kept() -> None:
    """The status of a refused model call, from its object alone."""
    frame = one_step(state="STATE_ERROR", error={"errorMessage": "quota", "httpCode": 429})
    assert (frame.error, frame.http_code) == ("quota", 429)


def test_decode_when_a_step_waits_then_what_for_is_known() -> None:
    """A confirmation, a confirmation of a known call, and questions."""
    notice = one(recorded("0.1.5", "T7_custom_tool", 6))
    assert (notice.state, notice.wants_confirmation, notice.action) == (m.WAITING, True, "")
    call = one(recorded("0.1.5", "T1_cmd_plain", 7))
    assert (call.wants_confirmation, call.action) == (True, "runCommand")
    asking = one(recorded("0.1.10", "09a_single", 9))
    assert asking.request_text == "Prompted for questions"
    assert asking.questions[0]["multipleChoice"]["question"] == "Pick one?"
    assert not asking.wants_confirmation


def test_decode_when_a_trajectorys_state_is_read_then_error_and_reason_are_there() -> None:
    """State, error and stop reason; what names the parent is known and not kept."""
    denied = one(recorded("0.1.10", "08e_pre_turn_deny", 9))
    assert (denied.state, denied.error) == (m.CANCELLED, "turn denied!")
    spent = one(recorded("0.1.22", "27f2_budget_tool_calls", 16))
    assert spent.stop_reason == "STOP_REASON_MAX_TOOL_CALLS_EXCEEDED"
    sub = one(recorded("0.1.22", "10a_one_subagent", 14))
    assert (sub.state, sub.extra) == (m.RUNNING, {})


def test_decode_when_usage_comes_as_its_own_event_then_it_is_cumulative() -> None:
    """64-bit counts come as text."""
    frame = one(recorded("0.1.10", "01_text", 12))
    usage = Usage(10, 0, 5, 0, 15)
    main = "f243501ed534f22d63329b80c8ddf66d"
    assert frame == m.UsageFrame(usage, {main: usage}, is_cumulative=True)


def test_decode_when_usage_rides_on_a_step_then_it_is_one_calls_and_goes_first() -> None:
    """Up to 0.1.9 the last frame of a reply has its count, and may be what the turn waits for."""
    usage, step = decode(recorded("0.1.5", "A1_userInput_string", 7))
    assert isinstance(step, m.StepFrame)
    assert usage == m.UsageFrame(
        Usage(10, 0, 5, 0, 15), {step.trajectory_id: Usage(10, 0, 5, 0, 15)}, is_cumulative=False
    )


def test_decode_when_a_tool_is_called_then_the_arguments_are_read() -> None:
    """The text form is the one that every version has."""
    frame = one(recorded("0.1.10", "05b_tool_object", 14))
    assert frame == m.ToolCallFrame("callid-1", "mytool", '{"x":"a"}', {"x": "a"})


@pytest.mark.parametrize(
    ("text", "arguments"),
    [("", {}), ("null", None), ("[1]", [1]), ("no JSON", "no JSON"), ("[" * 9000, "[" * 9000)],
)
def test_decode_when_arguments_are_no_object_then_they_are_what_they_are(
    text: str, arguments: object
) -> None:
    """A model may write anything; what is no JSON stays text."""
    assert one({"toolCall": {"id": "1", "argumentsJson": text}}).arguments == arguments


@pytest.mark.parametrize(
    ("index", "name", "member"),
    [
        (5, "ON_SESSION_START", None),
        (7, "PRE_TURN", "userInput"),
        (11, "PRE_TOOL", "arguments"),
        (20, "POST_TOOL", "result"),
        (29, "POST_TURN", "responseText"),
        (31, "ON_SESSION_END", None),
    ],
)
def test_decode_when_a_hook_is_called_then_its_own_arguments_are_taken(
    index: int, name: str, member: str | None
) -> None:
    """Each hook has its arguments under a name of its own, or none."""
    frame = one(recorded("0.1.10", "08a_all_custom_ok", index))
    assert frame.request_id.startswith("hook_request_")
    assert frame.type == f"LIFECYCLE_HOOK_{name}"
    assert frame.args == {} if member is None else member in frame.args


def test_decode_when_a_hook_has_other_members_then_only_its_arguments_are_taken() -> None:
    """What a later release adds to the request is not mistaken for them."""
    request = {"requestId": "1", "preTurnArgs": {"a": 1}, "context": {"b": 2}, "argsArgs": "x"}
    assert one({"callHookRequest": request}).args == {"a": 1}


def test_decode_when_a_policy_is_asked_then_the_call_is_read() -> None:
    """Dynamic rules carry the call in the form of a hook's."""
    frame = one(recorded("0.1.10", "07g_ask_dynamic_allow", 7))
    assert (frame.request_id, frame.rule_id) == ("1", "R1")
    assert frame.args["arguments"]["CommandLine"] == "echo hi"


def test_decode_when_the_session_ended_then_that_is_a_frame() -> None:
    """Its value is a bare truth."""
    assert one(recorded("0.1.10", "08a_all_custom_ok", 33)) == m.SessionEndFrame()


def test_decode_init_when_a_conversation_is_resumed_then_history_and_usage_are_there() -> None:
    """All that the answer to the first message may carry."""
    step = {"trajectoryId": "c", "stepIndex": 0, "state": "STATE_DONE", "text": "hi"}
    usage = {"totalTokenCount": "60"}
    answer = {
        "cascadeId": "c",
        "history": [step, "junk"],
        "cumulativeUsage": usage,
        "trajectoryUsage": [{"trajectoryId": "c", "usage": usage}, None],
        "sandboxStatus": {"available": True},
    }
    init = codec.decode_init(json.dumps({"initializeConversationResponse": answer}))
    assert init == m.InitFrame(
        "c",
        (m.StepFrame("c", 0, m.DONE, text="hi"),),
        m.UsageFrame(Usage(total_tokens=60), {"c": Usage(total_tokens=60)}),
        sandbox_available=True,
    )


def test_decode_init_when_it_is_bare_or_something_else_then_it_says_so() -> None:
    """Old versions say the id only; any other frame is no answer."""
    frame = codec.decode_init(json.dumps(recorded("0.1.10", "01_text", 3)))
    assert frame == m.InitFrame("f243501ed534f22d63329b80c8ddf66d")
    assert codec.decode_init(b'{"toolCall":{}}') is None
    assert codec.decode_init(b"") is None


# -- drift -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "field", "kept", "counted"),
    [
        (
            {"trajectoryStateUpdate": {"trajectoryId": "t", "state": "STATE_FOO"}},
            *("state", "STATE_FOO", "TrajectoryState=STATE_FOO"),
        ),
        (
            {"trajectoryStateUpdate": {"state": "STATE_RUNNING", "stopReason": "WHY"}},
            *("stop_reason", "WHY", "StopReason=WHY"),
        ),
        (
            {"trajectoryStateUpdate": {"state": 77}},
            *("state", "77", "TrajectoryState=77"),
        ),
        ({"stepUpdate": {"state": "STATE_FOO"}}, "state", "STATE_FOO", "StepState=STATE_FOO"),
        ({"stepUpdate": {"source": "SOURCE_X"}}, "source", "SOURCE_X", "StepSource=SOURCE_X"),
        ({"stepUpdate": {"target": ["x"]}}, "target", "['x']", "StepTarget=['x']"),
        ({"callHookRequest": {"type": "HOOK_X"}}, "type", "HOOK_X", "LifecycleHook=HOOK_X"),
        (
            {"stepUpdate": {"text": "x", "newThing": {"a": 1}}},
            *("extra", {"newThing": {"a": 1}}, "StepUpdate.member=newThing"),
        ),
        (
            {"trajectoryStateUpdate": {"state": "STATE_RUNNING", "new": 1}},
            *("extra", {"new": 1}, "TrajectoryStateUpdate.member=new"),
        ),
    ],
)
def test_decode_when_a_name_is_unknown_then_it_is_kept_as_it_came_and_counted(
    event: dict[str, Any], field: str, kept: object, counted: str
) -> None:
    """Nothing is lost and nothing is hidden."""
    assert getattr(one(event), field) == kept
    assert drift_report() == {counted: 1}


def test_decode_when_an_arm_is_unknown_then_it_is_an_unknown_frame_with_its_request_id() -> None:
    """A new event is kept whole; if it looks like a request it can be answered."""
    (frame,) = decode({"new_thing": {"requestId": "r1", "a_b": 1}, "seqNum": "1"})
    assert frame == m.UnknownFrame("new_thing", {"requestId": "r1", "a_b": 1}, "r1")
    assert one({"other": 5}) == m.UnknownFrame("other", {"value": 5})
    assert drift_report() == {"OutputEvent=new_thing": 1, "OutputEvent=other": 1}


def test_decode_when_an_arm_stands_beside_a_step_then_both_are_read() -> None:
    """A future release may put something beside the step, as old ones did with usage."""
    event = {"stepUpdate": {"stepIndex": 1}, "newThing": {}, "seqNum": "1", "timestampMicros": "2"}
    step, unknown = decode(event)
    assert isinstance(step, m.StepFrame)
    assert unknown == m.UnknownFrame("newThing", {})
    assert drift_report() == {"OutputEvent=newThing": 1}


def test_decode_when_a_known_arm_has_a_strange_value_then_it_is_unknown_and_counted() -> None:
    """An arm that is no object any more is as good as a new one."""
    assert one({"toolCall": "x"}) == m.UnknownFrame("toolCall", {"value": "x"})
    assert drift_report() == {"OutputEvent=toolCall": 1}


@pytest.mark.parametrize(
    "data", ["{", "[]", "null", "", b"\xff", b'{"stepUpdate"', '{"a":' + "9" * 5000 + "}"]
)
def test_decode_when_a_frame_cannot_be_read_then_its_start_is_kept(data: bytes | str) -> None:
    """An unreadable frame is told with its first characters and its length."""
    (frame,) = codec.decode(data)
    assert isinstance(frame, m.UnknownFrame)
    assert (frame.kind, frame.raw["length"]) == ("unreadable", len(data))
    assert len(str(frame.raw["start"])) <= 200
    assert drift_report() == {"Frame=unreadable": 1}


# -- tolerance ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "read"),
    [(5, 5), ("5", 5), ("-5", -5), (5.0, 5), ("x", 0), (None, 0), ([], 0), (float("nan"), 0)],
)
def test_decode_when_an_integer_comes_in_any_form_then_it_is_read_or_zero(
    value: object, read: int
) -> None:
    """64-bit integers are text, 32-bit ones numbers, and junk is no reason to fail."""
    assert one_step(stepIndex=value).index == read


@pytest.mark.parametrize(
    ("value", "count"), [("7", 7), (7, 7), ("", None), ("junk", None), (None, None), ("0", 0)]
)
def test_decode_when_a_count_comes_in_any_form_then_zero_is_not_absence(
    value: object, count: int | None
) -> None:
    """Reported zero is zero, what cannot be read was not reported."""
    frame = one({"usageUpdate": {"total": {"totalTokenCount": value}}})
    assert frame.total == Usage(total_tokens=count)


@pytest.mark.parametrize("empty", ["", None, {}])
def test_decode_when_an_error_is_empty_then_there_is_none(empty: object) -> None:
    """A present but empty error is no error and no action."""
    state = one({"trajectoryStateUpdate": {"state": "STATE_FULLY_IDLE", "error": empty or ""}})
    assert state.error == ""
    step = one_step(error=empty, errorMessage="")
    assert (step.error, step.action, step.http_code) == ("", "", None)


def test_decode_when_a_member_is_null_then_it_is_absent() -> None:
    """A null is what protobuf's JSON makes of nothing."""
    step = one_step(runCommand=None, toolConfirmationRequest=None, questionsRequest=None, text=None)
    assert (step.action, step.wants_confirmation, step.questions, step.text) == (
        "",
        False,
        None,
        "",
    )
    assert decode({"toolCall": None, "usageMetadata": None}) == []
    assert drift_report() == {}


def test_decode_when_enum_values_come_as_numbers_then_they_are_their_names() -> None:
    """The other spelling of protobuf's JSON for enums; number 2 has an older name as well."""
    state = one({"trajectoryStateUpdate": {"trajectoryId": "t", "state": 2}})
    assert state.state == "STATE_FULLY_IDLE"
    assert one({"trajectoryStateUpdate": {"state": "STATE_IDLE"}}).state == "STATE_IDLE"
    step = one_step(state=3, source=3, target=1)
    assert (step.state.partition("_")[0], step.source) == ("STATE", m.MODEL)
    assert drift_report() == {}


def _snaked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            "".join(f"_{c.lower()}" if c.isupper() else c for c in key): _snaked(member)
            for key, member in value.items()
        }
    return [_snaked(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("version", "scenario", "index"),
    [
        ("0.1.10", "01_text", 7),
        ("0.1.5", "A1_userInput_string", 7),  # a step with usage beside it
        ("0.1.10", "01_text", 12),
        ("0.1.10", "06_run_command", 7),
        ("0.1.10", "09a_single", 9),
        ("0.1.22", "27f2_budget_tool_calls", 16),
        ("0.1.10", "08a_all_custom_ok", 11),
        ("0.1.10", "07g_ask_dynamic_allow", 7),
        ("0.1.10", "01_text", 3),
    ],
)
def test_decode_when_a_frame_is_spelled_in_snake_case_then_it_reads_the_same(
    version: str, scenario: str, index: int
) -> None:
    """Protobuf's other JSON spelling means the same."""
    event = recorded(version, scenario, index)
    assert decode(_snaked(event)) == decode(event)
    assert drift_report() == {}


def test_decode_when_a_waiting_step_has_an_unknown_action_then_that_is_its_name() -> None:
    """A tool nobody knows is decided under its wire name, not waved through (R77)."""
    step = one_step(
        state="STATE_WAITING_FOR_USER",
        target="TARGET_ENVIRONMENT",
        toolConfirmationRequest={},
        note="no object",
        deleteEverything={"path": "/"},
    )
    assert (step.action, step.payload) == ("deleteEverything", {"path": "/"})
    assert set(drift_report()) == {
        "StepUpdate.member=note",
        "StepUpdate.member=deleteEverything",
    }


@pytest.mark.parametrize(
    ("target", "extra"),
    [("TARGET_USER", {"newThing": {}}), ("TARGET_ENVIRONMENT", {"newThing": 1})],
)
def test_decode_when_an_unknown_member_is_no_action_then_the_step_has_none(
    target: str, extra: dict[str, Any]
) -> None:
    """New members of a text step leave it a text step."""
    step = one_step(target=target, **extra)
    assert (step.action, step.extra) == ("", extra)


@pytest.mark.parametrize(
    ("request_", "questions"),
    [
        ({"questions": [{}, {"multipleChoice": {}}]}, ({}, {"multipleChoice": {}})),
        ({}, ()),
        ({"questions": "junk"}, ()),
        ("junk", None),
    ],
)
def test_decode_when_questions_are_odd_then_they_can_still_be_counted(
    request_: object, questions: object
) -> None:
    """As many answers go out as questions came in."""
    assert one_step(questionsRequest=request_).questions == questions


def test_decode_when_usage_is_junk_then_nothing_was_reported() -> None:
    """Counts that cannot be read are none."""
    assert one({"usageUpdate": {"agents": "x", "total": 5}}) == m.UsageFrame(Usage())
    usage = one({"usageMetadata": "x"})
    assert usage == m.UsageFrame(Usage(), {"": Usage()}, is_cumulative=False)
    served = one({"usageUpdate": {"total": {"serviceTier": "flex"}}})
    assert served.total.service_tier == "flex"


def test_decode_when_a_step_names_only_its_cascade_then_that_is_its_trajectory() -> None:
    """The main trajectory has the conversation's id."""
    assert one({"stepUpdate": {"cascadeId": "c"}}).trajectory_id == "c"
