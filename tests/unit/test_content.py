"""What a prompt may be."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from antigravity_sync import Audio, Document, Image, SlashCommand, Text, Video
from antigravity_sync._media_types import BY_SUFFIX, MEDIA_TYPES, MediaType
from antigravity_sync._messages import MediaPart, PromptPart, SlashPart, TextPart, prompt_text
from antigravity_sync._wire.dialect import Dialect
from antigravity_sync._wire.media import fit, fit_prompt, fit_result
from antigravity_sync.content import MAX_MEDIA_BYTES, MAX_TEXT_BYTES, prompt_parts
from antigravity_sync.errors import ConfigError
from tests.samples import CLASSES, PNG, SAMPLES, Media, content_of, part_of


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


@pytest.mark.parametrize("prompt", [None, 5, b"hello", {"a": 1}, iter(["hello"])])
def test_prompt_when_no_prompt_then_its_type_is_named(prompt: object) -> None:
    """Bytes and other things are refused by name."""
    with pytest.raises(ConfigError, match=type(prompt).__name__):
        prompt_parts(prompt)  # type: ignore[arg-type]


# ── parts ───────────────────────────────────────────────────────────────────────────────────────

PICTURE = Image.from_bytes(PNG)


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        (Text("a"), [TextPart("a")]),
        (["a", Text("b")], [TextPart("a\nb")]),
        (("a", "", " "), [TextPart("a")]),
        (PICTURE, [MediaPart("image/png", PNG)]),
        (["", PICTURE], [MediaPart("image/png", PNG)]),
        (["a", PICTURE, "b"], [TextPart("a"), MediaPart("image/png", PNG), TextPart("\nb")]),
        ([SlashCommand("goal"), "win"], [SlashPart("goal"), TextPart("win")]),
        (SlashCommand("/goal"), [SlashPart("goal")]),
    ],
)
def test_prompt_when_of_parts_then_in_order_and_texts_apart(
    prompt: Any, parts: list[PromptPart]
) -> None:
    """The harness puts nothing between two texts, so a line end goes there; blanks are left out."""
    assert prompt_parts(prompt) == tuple(parts)


def test_prompt_text_when_of_parts_then_as_the_harness_has_it() -> None:
    """What `on_pre_turn` gets is what the harness makes of the parts."""
    assert prompt_text(prompt_parts(["a", PICTURE, "b"])) == "a\nb"
    assert prompt_text(prompt_parts([SlashCommand("goal"), "win", "now"])) == "/goal win\nnow"
    assert prompt_text(prompt_parts(PICTURE)) == ""


@pytest.mark.parametrize("prompt", [[], (), [""], ["\n", Text(" ")]])
def test_prompt_when_no_part_says_anything_then_value_error(prompt: Any) -> None:
    """A list of nothing is as empty as nothing."""
    with pytest.raises(ConfigError, match="empty"):
        prompt_parts(prompt)


def test_prompt_when_a_list_is_in_a_list_then_refused() -> None:
    """Parts are not nested."""
    with pytest.raises(ConfigError, match="list"):
        prompt_parts([["a"]])  # type: ignore[list-item]


def test_prompt_when_too_big_then_refused() -> None:
    """More than the harness can keep would end the turn and lose the conversation."""
    half = Image.from_bytes(PNG + bytes(MAX_MEDIA_BYTES // 2))
    assert prompt_parts([half, "x" * 2_000_000])
    assert prompt_parts("x" * MAX_TEXT_BYTES)
    with pytest.raises(ConfigError, match="files of the prompt"):
        prompt_parts([half, half])
    with pytest.raises(ConfigError, match="text of the prompt: 8,000,001 bytes"):
        prompt_parts("x" * (MAX_TEXT_BYTES + 1))
    with pytest.raises(ConfigError, match=r"beside .* bytes of files"):
        prompt_parts([half, "x" * MAX_TEXT_BYTES])


@pytest.mark.parametrize("name", ["", "/", "two words", "//x", "a\n", 5, None])
def test_slash_command_when_no_word_then_refused(name: Any) -> None:
    """A command is one word."""
    with pytest.raises(ConfigError, match="one word"):
        SlashCommand(name)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("known", MEDIA_TYPES.values(), ids=lambda known: known.name)
def test_bytes_when_their_type_is_said_then_kept(known: MediaType) -> None:
    """Each type of the table is taken by its class, and by no other."""
    part = part_of(known)
    assert (part.mime_type, part.data) == (known.name, content_of(known))
    assert pickle.loads(pickle.dumps(part)) == part
    for kind, other in CLASSES.items():
        if kind != known.kind:
            with pytest.raises(ConfigError, match=f"use {type(part).__name__}"):
                other.from_bytes(content_of(known), known.name)


@pytest.mark.parametrize("known", MEDIA_TYPES.values(), ids=lambda known: known.name)
def test_fallback_when_a_type_has_one_then_older_releases_take_it(known: MediaType) -> None:
    """What is sent instead is of the same kind and format, and older."""
    if known.instead:
        instead = MEDIA_TYPES[known.instead]
        assert instead.kind == known.kind
        assert instead.since < known.since or len(instead.since) < len(known.since)
        assert known.formats <= instead.formats


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_path_when_its_suffix_is_known_then_that_type(suffix: str, tmp_path: Path) -> None:
    """A file is what its name says, whatever case it is in, if its content does not contradict."""
    known = MEDIA_TYPES[BY_SUFFIX[suffix]]
    path = tmp_path / f"file{suffix.upper()}"
    path.write_bytes(content_of(known))
    cls = CLASSES[known.kind]
    assert cls.from_path(path) == cls(content_of(known), known.name)


@pytest.mark.parametrize("found", SAMPLES)
def test_bytes_when_nothing_is_said_then_their_type_is_found(found: str) -> None:
    """Content alone tells the type, except of archives, which hold anything, and of AVIF."""
    fitting = [name for name, known in MEDIA_TYPES.items() if found in known.formats]
    takers = []
    for cls in CLASSES.values():
        try:
            takers.append(cls.from_bytes(SAMPLES[found]).mime_type)
        except ConfigError:
            continue
    assert set(takers) <= set(fitting)
    assert bool(takers) == (found not in {"zip", "ole", "avif"})


@pytest.mark.parametrize(
    ("cls", "found", "mime_type"),
    [
        (Image, "jpeg", "image/png"),
        (Image, "text", "image/png"),
        (Image, "avif", "image/heic"),
        (Document, "png", "application/pdf"),
        (Document, "png", "text/plain"),
        (Document, "text", "application/pdf"),
        (Document, "pdf", "text/markdown"),
        (
            Document,
            "ole",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (Audio, "ogg", "audio/wav"),
        (Audio, "text", "audio/mp3"),
        (Video, "webm", "video/mp4"),
    ],
)
def test_bytes_when_they_contradict_their_type_then_refused(
    cls: type[Media], found: str, mime_type: str, tmp_path: Path
) -> None:
    """The model's service would refuse the prompt, which stays in the history for good."""
    with pytest.raises(ConfigError, match=f"called {mime_type} but holds {found}"):
        cls.from_bytes(SAMPLES[found], mime_type)
    with pytest.raises(ConfigError, match="but holds"):
        cls(SAMPLES[found], mime_type)


def test_path_when_its_content_contradicts_its_suffix_then_refused(tmp_path: Path) -> None:
    """The message names the file."""
    path = tmp_path / "photo.jpg"
    path.write_bytes(PNG)
    with pytest.raises(ConfigError, match=r"photo\.jpg: it is called image/jpeg but holds png"):
        Image.from_path(path)


def test_path_when_its_suffix_is_unknown_then_by_content(tmp_path: Path) -> None:
    """A name without a known suffix does not matter."""
    path = tmp_path / "picture"
    path.write_bytes(PNG)
    assert Image.from_path(str(path)).mime_type == "image/png"
    path.write_bytes(b"\x00\x01\x02")
    with pytest.raises(ConfigError, match="does not tell"):
        Document.from_path(path)


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("image/JPG", "image/jpeg"),
        ("image/jpeg; q=1", "image/jpeg"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("video/x-msvideo", "video/avi"),
    ],
)
def test_type_when_spelled_otherwise_then_the_known_one(said: str, taken: str) -> None:
    """Usual other names, parameters and capitals are understood."""
    known = MEDIA_TYPES[taken]
    assert CLASSES[known.kind].from_bytes(content_of(known), said).mime_type == taken
    assert CLASSES[known.kind](content_of(known), said).mime_type == taken


@pytest.mark.parametrize("mime_type", ["image/svg+xml", "application/zip", "nonsense", "", 5])
def test_type_when_no_release_takes_it_then_refused(mime_type: Any) -> None:
    """An unsupported type is an error when the part is made."""
    with pytest.raises(ConfigError, match="no harness takes the MIME type"):
        Image.from_bytes(PNG, mime_type)


@pytest.mark.parametrize("cls", [*CLASSES.values(), Text])
@pytest.mark.parametrize(
    "address", ["https://example.com/a.png", "HTTP://x/a", "file:///etc/hosts", "data:image/png,x"]
)
def test_path_when_a_url_then_refused(cls: Any, address: str) -> None:
    """Nothing is fetched on the quiet."""
    with pytest.raises(ConfigError, match="URL"):
        cls.from_path(address)
    if "//" in address:
        with pytest.raises(ConfigError, match="URL"):
            cls.from_path(Path(address))


@pytest.mark.parametrize("cls", [Image, Text])
def test_path_when_it_cannot_be_read_then_refused(cls: Any, tmp_path: Path) -> None:
    """Missing files, directories and pipes are refused by name; none is waited for."""
    with pytest.raises(ConfigError, match=r"gone\.png.*No such file"):
        cls.from_path(tmp_path / "gone.png")
    with pytest.raises(ConfigError, match="is no file"):
        cls.from_path(tmp_path)
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ConfigError, match="is no file"):
        cls.from_path(tmp_path / "pipe.png")
    with pytest.raises(ConfigError, match="path"):
        cls.from_path(5)


def test_path_when_the_file_is_too_big_then_not_read(tmp_path: Path) -> None:
    """The size is looked at first; a sparse file costs nothing."""
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ConfigError, match=r"1,099,511,627,776 bytes are more than the 20,971,520"):
        Image.from_path(path)
    with pytest.raises(ConfigError, match="more than"):
        Text.from_path(path)


@pytest.mark.parametrize("data", [b"", bytearray()])
def test_bytes_when_empty_then_refused(data: bytes) -> None:
    """The harness would leave an empty file out without a word."""
    with pytest.raises(ConfigError, match="empty"):
        Image.from_bytes(data, "image/png")


def test_bytes_when_too_many_then_refused() -> None:
    """The limit of a prompt is the limit of a part."""
    with pytest.raises(ConfigError, match="more than"):
        Image.from_bytes(PNG + bytes(MAX_MEDIA_BYTES), "image/png")


@pytest.mark.parametrize("data", ["text", None, [1]])
def test_bytes_when_none_then_refused(data: Any) -> None:
    """A string is no content of a file."""
    with pytest.raises(ConfigError, match="takes bytes"):
        Image.from_bytes(data)
    with pytest.raises(ConfigError, match="takes bytes"):
        Image(data, "image/png")


def test_bytes_when_they_can_change_then_a_copy() -> None:
    """A buffer that is reused later does not change the prompt."""
    buffer = bytearray(PNG)
    parts = [
        Image.from_bytes(buffer),
        Image.from_bytes(memoryview(buffer)),
        Image(buffer, "image/png"),
    ]
    buffer[:] = b"x" * len(buffer)
    assert {part.data for part in parts} == {PNG}


def test_part_when_shown_then_without_its_content() -> None:
    """A repr fits on a line of a log."""
    assert repr(PICTURE) == "Image(mime_type='image/png')"


def test_text_when_from_a_file_then_its_words(tmp_path: Path) -> None:
    """A mark of UTF-8 is no part of the text."""
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeffä".encode())
    assert Text.from_path(path) == Text("ä") == Text.from_bytes("ä".encode(), "text/markdown")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        Text.from_path(path)
    with pytest.raises(ConfigError, match="use Document"):
        Text.from_bytes(b"%PDF-", "application/pdf")
    with pytest.raises(ConfigError, match="string"):
        Text(b"x")  # type: ignore[arg-type]


# ── releases ────────────────────────────────────────────────────────────────────────────────────


def test_fit_when_the_release_is_older_than_a_type_then_another_or_refused() -> None:
    """Text goes as plain text; what has no older name is refused, with who takes it."""
    old, new = Dialect("0.1.10"), Dialect("0.1.12")
    page, film = MediaPart("text/markdown", b"x"), MediaPart("image/gif", SAMPLES["gif"])
    assert fit(page, new) == page
    assert fit(page, old) == MediaPart("text/plain", b"x")
    assert fit_prompt((TextPart("a"), film), new) == (TextPart("a"), film)
    with pytest.raises(ConfigError, match=r"0\.1\.10 does not take .*image/gif \(0\.1\.12 and"):
        fit_prompt((TextPart("a"), film), old)
    with pytest.raises(ConfigError, match="no harness does"):
        fit(MediaPart("x/y", b""), new)


def test_fit_result_when_the_files_are_too_big_then_refused() -> None:
    """What a tool returns is bound like a prompt."""
    half = MediaPart("image/png", bytes(MAX_MEDIA_BYTES // 2))
    new = Dialect("0.1.22")
    assert fit_result((half, half), new) == (half, half)
    with pytest.raises(ConfigError, match="return less"):
        fit_result((half, half, MediaPart("text/plain", b"x")), new)
