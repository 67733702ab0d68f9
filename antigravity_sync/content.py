"""What a prompt may be, and how it is made fit for the wire."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar

import attrs

from ._checks import local_path
from ._media_types import BY_SUFFIX, MediaType, known_type, sniff, type_of_format
from .errors import ConfigError

if TYPE_CHECKING:
    from ._messages import PromptPart

#: How much of files one prompt may hold.
MAX_MEDIA_BYTES: Final = 20 * 1024 * 1024
#: How much text, in UTF-8; what exceeds some hundred kilobytes the harness cuts for the model.
MAX_TEXT_BYTES: Final = 8 * 1000 * 1000
#: How much of both. The harness keeps a text three times, and a prompt that is some megabytes
#: bigger than this it loses, which ends the turn and the model's memory of what went before.
_MAX_KEPT_BYTES: Final = 27 * 1000 * 1000
_TEXT_COPIES: Final = 3

#: Control characters the harness would turn into spaces anyway; tab and line ends stay (LIVE 21).
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
#: A path keeps one slash of an address when it is made a `Path`.
_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/|data:", re.ASCII)
_COMMAND: Final = re.compile(r"/?([\w:.-]+)", re.ASCII)

_Binary: TypeAlias = "bytes | bytearray | memoryview"
_BINARY: Final = (bytes, bytearray, memoryview)
_Self = TypeVar("_Self", bound="_Media")


def _own(data: _Binary) -> bytes:
    return bytes(data) if isinstance(data, (bytearray, memoryview)) else data


def _canonical(mime_type: str) -> str:
    known = known_type(mime_type)
    return mime_type if known is None else known.name


@attrs.frozen
class Text:
    """A piece of text of a prompt.

    Attributes:
        text: What to say.

    Raises:
        ConfigError: It is no text.
    """

    text: str

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(f"Text takes a string, not {type(self.text).__name__}")
        if _SURROGATE.search(self.text):
            raise ConfigError(
                "the prompt holds a lone surrogate, which is no text; decode its source as UTF-8"
            )

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> Text:
        """Return the text of a file, which goes into the prompt as if it had been typed.

        Blocks on the file system.

        Raises:
            ConfigError: It cannot be read, is too big, or is not UTF-8.
        """
        name, data = _read("Text", path, MAX_TEXT_BYTES)
        return cls(_decode(name, data))

    @classmethod
    def from_bytes(cls, data: _Binary, mime_type: str | None = None) -> Text:
        """Return text from its UTF-8 bytes.

        Args:
            data: The bytes.
            mime_type: What they are, if that is to be checked; some kind of text.

        Raises:
            ConfigError: They are no text.
        """
        content = _bytes("Text", data)
        known = None if mime_type is None else _known("Text.from_bytes()", mime_type)
        if known is not None and "text" not in known.formats:
            raise ConfigError(f"Text.from_bytes(): {known.name} is no text; use {_class(known)}")
        return cls(_decode("Text.from_bytes()", content))


@attrs.frozen
class _Media:
    """A file that goes to the model as it is; checked when it is made.

    Attributes:
        data: Its content.
        mime_type: What that is, such as `image/png`.
    """

    _kind: ClassVar[str] = ""

    data: bytes = attrs.field(repr=False, converter=_own)
    mime_type: str = attrs.field(converter=_canonical)

    def __attrs_post_init__(self) -> None:
        name = type(self).__name__
        self._settle(name, _bytes(name, self.data), self.mime_type)

    @classmethod
    def from_path(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """Read a file.

        What it is follows from its suffix, which its content must not contradict, or else from its
        content alone.

        Args:
            path: A local file.

        Blocks on the file system.

        Raises:
            ConfigError: It cannot be read, is empty or too big, is something else than its name
                says, or no harness takes it; also for a URL.
        """
        name, data = _read(cls.__name__, path, MAX_MEDIA_BYTES)
        suffix = os.path.splitext(name)[1].lower()
        return cls(data, cls._settle(name, data, BY_SUFFIX.get(suffix)))

    @classmethod
    def from_bytes(cls: type[_Self], data: _Binary, mime_type: str | None = None) -> _Self:
        """Take the content of a file.

        Args:
            data: The content.
            mime_type: What it is, such as `image/png`; `None` finds out.

        Raises:
            ConfigError: It is empty or too big, is something else than `mime_type` says, or no
                harness takes it.
        """
        content = _bytes(cls.__name__, data)
        return cls(content, cls._settle(f"{cls.__name__}.from_bytes()", content, mime_type))

    @classmethod
    def _settle(cls, source: str, data: bytes, mime_type: str | None) -> str:
        """Return the MIME type of a content, having checked that it can be that."""
        if not data:
            raise ConfigError(f"{source}: the file is empty; leave it out")
        if len(data) > MAX_MEDIA_BYTES:
            raise ConfigError(f"{source}: {_too_big(len(data), MAX_MEDIA_BYTES)}")
        found = sniff(data)
        name = type_of_format(found, cls._kind) if mime_type is None else mime_type
        if mime_type is None and not name:
            shown = f"its content ({found})" if found else "its content"
            raise ConfigError(f"{source}: {shown} does not tell its MIME type; give it")
        known = _known(source, name)
        if known.kind != cls._kind:
            raise ConfigError(f"{source}: {known.name} is no {cls.__name__}; use {_class(known)}")
        # Sound and film come in more shapes than have a mark; what has none is taken on trust.
        is_trusted = not found and cls._kind in ("AUDIO", "VIDEO")
        if known.formats and found not in known.formats and not is_trusted:
            holds = f"holds {found}" if found else "holds something else"
            raise ConfigError(f"{source}: it is called {known.name} but {holds}; correct its type")
        return known.name


class Image(_Media):
    """A picture: PNG, JPEG, WebP, BMP; GIF, HEIC, HEIF and TIFF for harness 0.1.12 and newer."""

    __slots__ = ()
    _kind = "IMAGE"


class Audio(_Media):
    """Sound, for harness 0.1.7 and newer: WAV, MP3, M4A, WebM; from 0.1.9 AAC, Ogg, Opus, FLAC."""

    __slots__ = ()
    _kind = "AUDIO"


class Video(_Media):
    """A film: MP4, MPEG, QuickTime, AVI, FLV, WebM, WMV, 3GP."""

    __slots__ = ()
    _kind = "VIDEO"


class Document(_Media):
    """A document: PDF, or UTF-8 text such as CSV, HTML, JSON, Markdown or source code.

    Text of a type that an older harness does not know goes to it as `text/plain`. Office documents
    are for harness 0.1.12 and newer.
    """

    __slots__ = ()
    _kind = "DOCUMENT"


def _command(name: str) -> str:
    given: object = name
    match = _COMMAND.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ConfigError(f"a slash command is one word such as 'goal', not {name!r}")
    return match[1]


@attrs.frozen
class SlashCommand:
    """A command of the harness, such as `goal`; text that follows in the prompt is its argument.

    Careful: `goal` has the model called again and again until it says that the goal is reached.

    Attributes:
        name: Its name, with the slash or without.

    Raises:
        ConfigError: It can be no command.
    """

    name: str = attrs.field(converter=_command)


ContentPart: TypeAlias = "Text | Image | Document | Audio | Video | SlashCommand"
#: What `Agent.chat` takes.
Prompt: TypeAlias = "str | ContentPart | Sequence[str | ContentPart]"


def prompt_parts(prompt: Prompt) -> tuple[PromptPart, ...]:
    """Return a prompt as wire parts.

    The harness puts all text before all files and adds nothing between two texts, so pieces of text
    are parted by a line end here.

    Raises:
        ConfigError: It is empty, too big, of a wrong type, or holds a lone surrogate, which the
            harness would drop without a word.
    """
    from ._messages import MediaPart, SlashPart, TextPart  # only by now needed: see `Agent.start`

    parts: list[PromptPart] = []
    has_text = is_argument = False
    size = 0
    for item in _items(prompt):
        if isinstance(item, _Media):
            size += len(item.data)
            parts.append(MediaPart(item.mime_type, item.data))
        elif isinstance(item, SlashCommand):
            parts.append(SlashPart(item.name))
            is_argument = True
        elif item.text.strip():
            said = _CONTROLS.sub(" ", item.text)
            parts.append(TextPart(f"\n{said}" if has_text and not is_argument else said))
            has_text, is_argument = True, False
    if not parts:
        raise ConfigError("the prompt is empty; say something")
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    _check_sizes(size, sum(len(text.encode()) for text in texts))
    return tuple(parts) if len(texts) < len(parts) else (TextPart("".join(texts)),)


def _check_sizes(files: int, text: int) -> None:
    if files > MAX_MEDIA_BYTES:
        raise ConfigError(f"the files of the prompt: {_too_big(files, MAX_MEDIA_BYTES)}")
    most = min(MAX_TEXT_BYTES, (_MAX_KEPT_BYTES - files) // _TEXT_COPIES)
    if text > most:
        beside = f"beside {files:,} bytes of files " if files else ""
        raise ConfigError(f"the text of the prompt: {beside}{_too_big(text, most)}")


def _items(prompt: Prompt) -> Iterable[ContentPart]:
    is_many = isinstance(prompt, Sequence) and not isinstance(prompt, (str, *_BINARY))
    for item in prompt if is_many else (prompt,):  # type: ignore[union-attr]
        if isinstance(item, str):
            yield Text(item)
        elif isinstance(item, (Text, Image, Document, Audio, Video, SlashCommand)):
            yield item
        else:
            raise ConfigError(
                "a prompt is a string, a part such as Image.from_path(…), or a list of these, "
                f"not {type(item).__name__}"
            )


def _bytes(source: str, data: object) -> bytes:
    if not isinstance(data, _BINARY):
        raise ConfigError(f"{source} takes bytes, not {type(data).__name__}; see from_path()")
    return bytes(data)


def _known(source: str, mime_type: object) -> MediaType:
    known = known_type(mime_type)
    if known is None:
        raise ConfigError(f"{source}: no harness takes the MIME type {mime_type!r}; convert it")
    return known


def _class(known: MediaType) -> str:
    return known.kind.capitalize()


def _too_big(size: int, most: int) -> str:
    return f"{size:,} bytes are more than the {most:,} that a prompt may hold; send less"


def _decode(source: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: it is not UTF-8 text; convert it or send a file") from error


def _read(owner: str, path: object, most: int) -> tuple[str, bytes]:
    """Return a file's path and content; anything but a file of bearable size is not opened."""
    source = f"{owner}.from_path()"
    shown = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(shown, str) and _URL.match(shown):
        raise ConfigError(f"{source} takes a local path, not the URL {shown[:200]!r}; fetch it")
    name = local_path(source, path)
    try:
        facts = os.stat(name)
        if not stat.S_ISREG(facts.st_mode):
            raise ConfigError(f"{source}: {name!r} is no file; give the path of one")
        if facts.st_size > most:
            raise ConfigError(f"{source}: {name!r}: {_too_big(facts.st_size, most)}")
        with open(name, "rb") as file:
            data = file.read(most + 1)  # and not more, should it grow meanwhile
    except OSError as error:
        raise ConfigError(f"{source}: {name!r} cannot be read ({error.strerror})") from error
    return name, data
