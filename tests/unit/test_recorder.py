"""The file of a recorder: who may read it, what it survives, and that nothing in it is lost."""

from __future__ import annotations

import json
import os
import stat

import pytest

from antigravity_sync._wire.recorder import dump
from antigravity_sync._wire.shorten import Lengthener, Shortener
from antigravity_sync.errors import ConfigError
from antigravity_sync.wire import HarnessSpawn, JsonlRecorder, read_recording

SPAWN = HarnessSpawn(correlation_id="c", time=1.0, pid=2, path="/x")


def step(text, delta, number=0, *, index=1, thinking="", thought="", first="text"):
    """Return a frame of a streamed answer, its members in either order of the known ones."""
    said = {"textDelta": delta, "thinkingDelta": thought, "text": text}
    if first == "text":
        said = {"text": text, "textDelta": delta, "thinkingDelta": thought}
    ids = {"trajectoryId": "t", "stepIndex": index, "state": "STATE_ACTIVE", "thinking": thinking}
    event = {"stepUpdate": {**ids, **said}, "seqNum": str(number)}
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_file_when_made_then_only_this_user_reads_it(tmp_path):
    """Prompts are in it. One that exists is added to."""
    path = tmp_path / "wire.jsonl"
    recorder = JsonlRecorder(path)
    assert not path.exists()
    for _ in range(2):
        recorder.open()
        recorder(SPAWN)
        recorder.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert lines_of(path) == [SPAWN.to_dict()] * 2
    assert str(path) in repr(recorder)


def test_file_when_it_cannot_be_made_then_config_error(tmp_path):
    """It says what to do."""
    with pytest.raises(ConfigError, match="choose a file in a directory that exists"):
        JsonlRecorder(tmp_path / "none" / "wire.jsonl").open()


def test_file_when_two_use_it_then_open_until_the_last_closes(tmp_path):
    """Several agents may share a recorder; after the last close nothing is written."""
    recorder = JsonlRecorder(tmp_path / "wire.jsonl")
    recorder.open()
    recorder.open()
    recorder.close()
    recorder(SPAWN)
    recorder.flush()
    assert len(lines_of(tmp_path / "wire.jsonl")) == 1
    recorder.close()
    recorder.close()
    recorder(SPAWN)
    assert len(lines_of(tmp_path / "wire.jsonl")) == 1


def test_file_when_much_comes_then_it_goes_to_the_system_by_itself(tmp_path):
    """A flood is not kept in memory."""
    recorder = JsonlRecorder(tmp_path / "wire.jsonl")
    recorder.open()
    for _ in range(3):
        recorder.write(dump({"x": "y" * 50_000}))
    assert len(lines_of(tmp_path / "wire.jsonl")) == 2
    recorder.close()
    assert len(lines_of(tmp_path / "wire.jsonl")) == 3


def test_file_when_the_process_forks_then_the_child_writes_nothing(tmp_path):
    """What the parent has not written yet is written once."""
    recorder = JsonlRecorder(tmp_path / "wire.jsonl")
    recorder.open()
    recorder(SPAWN)
    child = os.fork()
    if not child:
        recorder.give_up()
        recorder(SPAWN)
        recorder.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    recorder.close()
    assert len(lines_of(tmp_path / "wire.jsonl")) == 1


def test_recording_when_its_last_line_is_cut_off_then_read_without_it(tmp_path):
    """That is what a killed process leaves."""
    path = tmp_path / "wire.jsonl"
    path.write_bytes(dump(SPAWN.to_dict()) + b'\n[1]\n{"kind":"WsRec')
    assert list(read_recording(path)) == [SPAWN.to_dict()]


def shorten_all(frames, is_clean=lambda _: True):
    """Return what a recorder would write of frames: short ones, and how they were made short."""
    shortener, written = Shortener(), []
    for data in frames:
        taken = shortener.run.take(data) if shortener.run else None
        if taken is not None:
            (line,) = shortener.run.lines(b'{"kind":""', [(0.5, *taken)])
            assert json.loads(line)["time"] == 0.5
            short = line.partition(b',"payload":')[2].removesuffix(b"}")
            written.append((short, shortener.run.left_out))
        else:
            written.append(shortener.shorten(data, is_clean))
    return written


def restore_all(written):
    lengthener, restored = Lengthener(), []
    for data, left_out in written:
        payload = json.loads(data)
        lengthener.complete("c", payload, left_out)
        restored.append(payload)
    return restored


PIECES = ["Hello", " wörld", "", ' "quoted"', "\\", "\n", ',"text":"x"', "😀", "e", "nd"] * 3


@pytest.mark.parametrize("first", ["text", "delta"])
def test_answer_when_streamed_then_short_and_whole_again(first):
    """Each frame without its text, whatever characters the pieces are made of."""
    frames, text = [], ""
    for number, piece in enumerate(PIECES):
        text += piece
        frames.append(step(text, piece, number, first=first))
    written = shorten_all(frames)
    assert restore_all(written) == [json.loads(data) for data in frames]
    assert [left_out for _, left_out in written[1:]] == [["text", "thinking"]] * (len(frames) - 1)
    assert sum(len(data) for data, _ in written) < sum(map(len, frames))


def test_steps_when_they_change_or_tell_another_text_then_written_whole():
    """What does not follow from the frame before is never left out."""
    frames = [
        step("ab", "ab"),
        step("abc", "c"),
        step("abX", "X"),  # not what came before plus the piece
        step("abX", "", index=2),  # another step that says the same
        step("abXy", "y", index=2),
        step("abXy", "", index=1),
        step("abXyz", "z", index=1, thinking="hm", thought="hm"),
        step("abXyz", "", index=1, thinking="hm, yes", thought=", yes"),
        b'{"toolCall":{"text":"abXyz","textDelta":""}}',
        step("abXyz!", "!", index=1, thinking="hm, yes"),
    ]
    written = shorten_all(frames)
    assert restore_all(written) == [json.loads(data) for data in frames]
    assert [bool(left_out) for _, left_out in written] == [
        *(False, True, False, False, True, False, True, True, False, True)
    ]


def test_frames_when_they_are_junk_then_written_as_they_are():
    """Nothing raises."""
    frames = [b"", b"{", b"[1]", b'{"stepUpdate":3}', b'{"stepUpdate":{"text":3}}', b"\xff\xfe"]
    assert shorten_all([step("a", "a"), *frames])[1:] == [(data, []) for data in frames]


def test_answer_when_a_piece_completes_a_secret_then_the_frame_is_not_shortened():
    """Pieces that are clean by themselves are not left to be put together."""
    frames = [step("x", "x"), step("xsec", "sec"), step("xsecret", "ret")]
    shortener = Shortener()
    left = [shortener.shorten(data, lambda text: "secret" not in text)[1] for data in frames]
    assert [bool(each) for each in left] == [False, True, False]
