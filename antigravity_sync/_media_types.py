"""Which files the harness takes, and how to tell what a file really is.

The harness refuses a prompt with a type that it does not know, and drops such a file from a tool's
result without a word, so both are looked up here first. Which release takes which type was found
out by trying each on each.
"""

from __future__ import annotations

from typing import Final

import attrs

#: One per line: name, the first release that takes it, suffixes of such files, formats its content
#: may have (`-` is any), and what older releases may be told instead. Every kind stands under its
#: own class. What the harness takes beside these (Google's own documents, frames as JPEG 2000) no
#: model reads from a file.
_TABLE: Final = """
IMAGE
image/png 0.1.5 png png
image/jpeg 0.1.5 jpg,jpeg,jpe,jfif jpeg
image/webp 0.1.5 webp webp
image/bmp 0.1.5 bmp,dib bmp
image/gif 0.1.12 gif gif
image/heic 0.1.12 heic heic,heif
image/heif 0.1.12 heif,hif heif,heic
image/tiff 0.1.12 tif,tiff tiff
AUDIO
audio/wav 0.1.7 wav,wave wav
audio/x-wav 0.1.9 - wav audio/wav
audio/wave 0.1.9 - wav audio/wav
audio/vnd.wave 0.1.9 - wav audio/wav
audio/mp3 0.1.7 mp3 mp3
audio/mpeg 0.1.9 - mp3 audio/mp3
audio/mp4 0.1.7 - mp4,m4a
audio/m4a 0.1.7 m4a m4a,mp4
audio/aac 0.1.9 aac aac
audio/ogg 0.1.9 ogg,oga ogg
audio/opus 0.1.9 opus ogg
audio/flac 0.1.9 flac flac
audio/webm 0.1.7 weba webm
audio/l16 0.1.9 - -
VIDEO
video/mp4 0.1.5 mp4,m4v mp4,m4a
video/mpeg 0.1.5 mpeg,mpe,m1v,m2v mpeg
video/mpg 0.1.5 mpg mpeg
video/quicktime 0.1.5 mov,qt mov,mp4
video/avi 0.1.5 avi avi
video/x-flv 0.1.5 flv flv
video/webm 0.1.5 webm webm
video/wmv 0.1.5 wmv,asf wmv
video/3gpp 0.1.5 3gp,3gpp 3gp,mp4
DOCUMENT
application/pdf 0.1.5 pdf pdf
text/plain 0.1.5 txt,text,log,rst,tex,diff,patch,yaml,yml,toml,ini,cfg,conf,sql,sh text
text/csv 0.1.5 csv text
text/html 0.1.5 html,htm text
text/css 0.1.5 css text
text/xml 0.1.5 xml text
text/rtf 0.1.5 rtf rtf
text/javascript 0.1.5 js,mjs,cjs text
application/json 0.1.5 json,ipynb text
text/markdown 0.1.12 md,markdown text text/plain
text/x-markdown 0.1.12 - text text/plain
text/x-python 0.1.12 py,pyi text text/plain
text/x-python-script 0.1.12 - text text/plain
text/tab-separated-values 0.1.12 tsv text text/plain
text/yaml 0.1.12 - text text/plain
text/x-yaml 0.1.12 - text text/plain
text/x-c 0.1.12 - text text/plain
text/x-c++ 0.1.12 - text text/plain
text/x-csrc 0.1.12 - text text/plain
text/x-chdr 0.1.12 - text text/plain
text/x-go 0.1.12 - text text/plain
text/x-java 0.1.12 - text text/plain
text/x-rust 0.1.12 - text text/plain
text/x-sh 0.1.12 - text text/plain
text/x-shellscript 0.1.12 - text text/plain
text/x-sql 0.1.12 - text text/plain
text/x-typescript 0.1.12 - text text/plain
text/x-diff 0.1.12 - text text/plain
text/x-patch 0.1.12 - text text/plain
application/xml 0.1.12 - text text/xml
application/rtf 0.1.12 - rtf text/rtf
application/javascript 0.1.12 - text text/javascript
application/x-javascript 0.1.12 - text text/javascript
application/typescript 0.1.12 - text text/plain
application/x-typescript 0.1.12 - text text/plain
application/yaml 0.1.12 - text text/plain
application/x-yaml 0.1.12 - text text/plain
application/sql 0.1.12 - text text/plain
application/x-sh 0.1.12 - text text/plain
application/x-ipynb+json 0.1.12 - text application/json
application/msword 0.1.12 doc ole
application/vnd.ms-excel 0.1.12 xls ole
application/vnd.ms-powerpoint 0.1.12 ppt ole
application/vnd.openxmlformats-officedocument.wordprocessingml.document 0.1.12 docx zip
application/vnd.openxmlformats-officedocument.spreadsheetml.sheet 0.1.12 xlsx zip
application/vnd.openxmlformats-officedocument.presentationml.presentation 0.1.12 pptx zip
application/vnd.oasis.opendocument.text 0.1.12 odt zip
"""

#: Other names for the same, which no release knows.
_ALIASES: Final = {
    "image/jpg": "image/jpeg",
    "image/x-ms-bmp": "image/bmp",
    "audio/x-m4a": "audio/m4a",
    "audio/x-flac": "audio/flac",
    "video/mov": "video/quicktime",
    "video/x-m4v": "video/mp4",
    "video/x-msvideo": "video/avi",
    "video/flv": "video/x-flv",
    "video/x-ms-wmv": "video/wmv",
    "text/json": "application/json",
}

#: Source code of these suffixes is plain text: of each language's own type a model may not know.
_CODE_SUFFIXES: Final = (
    "bash c cc cpp cs dart fish go h hpp java jsx kt lua php pl r rb rs scala swift ts tsx zsh"
)


@attrs.frozen
class MediaType:
    """A type of file that some release takes.

    Attributes:
        name: MIME type.
        kind: `"IMAGE"`, `"AUDIO"`, `"VIDEO"` or `"DOCUMENT"`.
        since: The first release that takes it.
        formats: What its content may be, as `sniff` names it; empty if that cannot be told.
        instead: MIME type that older releases may be told, `""` if there is none.
    """

    name: str
    kind: str
    since: str
    formats: frozenset[str]
    instead: str = ""


def _read_table() -> tuple[dict[str, MediaType], dict[str, str]]:
    types: dict[str, MediaType] = {}
    by_suffix = {f".{suffix}": "text/plain" for suffix in _CODE_SUFFIXES.split()}
    kind = ""
    for line in _TABLE.strip().splitlines():
        if line.isupper():
            kind = line
            continue
        name, since, suffixes, formats, *instead = line.split()
        known = frozenset(formats.split(",")) - {"-"}
        types[name] = MediaType(name, kind, since, known, *instead)
        by_suffix |= {f".{suffix}": name for suffix in suffixes.split(",") if suffix != "-"}
    return types, by_suffix


#: MIME type → what is known of it, and suffix of a file's name → its MIME type.
MEDIA_TYPES, BY_SUFFIX = _read_table()

#: Format → the MIME type of such a file if nobody says it; the first that fits the kind counts.
#: Archives may hold anything, so theirs must be said.
_TYPES_OF_FORMAT: Final = {
    "m4a": ("audio/m4a", "video/mp4"),
    "mp4": ("video/mp4", "audio/mp4"),
    "webm": ("video/webm", "audio/webm"),
    "mov": ("video/quicktime",),
    "3gp": ("video/3gpp",),
    "ogg": ("audio/ogg",),
    "text": ("text/plain",),
    "zip": (),
    "ole": (),
}

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"OggS", "ogg"),
    (b"fLaC", "flac"),
    (b"\x1aE\xdf\xa3", "webm"),
    (b"\0\0\x01\xba", "mpeg"),
    (b"\0\0\x01\xb3", "mpeg"),
    (b"0&\xb2u\x8ef\xcf\x11", "wmv"),
    (b"%PDF-", "pdf"),
    (b"{\\rtf", "rtf"),
    (b"PK\x03\x04", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
#: Marks so short that a text may begin with them.
_WEAK_SIGNATURES: Final = ((b"BM", "bmp"), (b"ID3", "mp3"), (b"FLV", "flv"))
_RIFF: Final = {b"WEBP": "webp", b"WAVE": "wav", b"AVI ": "avi"}
#: Main brands of the ISO file format; all others are some MP4.
_BRANDS: Final = {
    b"heic": "heic",
    b"heix": "heic",
    b"hevc": "heic",
    b"mif1": "heif",
    b"msf1": "heif",
    b"heim": "heif",
    b"avif": "avif",
    b"avis": "avif",
    b"M4A ": "m4a",
    b"M4B ": "m4a",
    b"qt  ": "mov",
}


def known_type(name: object) -> MediaType | None:
    """Return what is known of a MIME type, spelled as it may be and with parameters or without."""
    if not isinstance(name, str):
        return None
    plain = name.partition(";")[0].strip().lower()
    return MEDIA_TYPES.get(_ALIASES.get(plain, plain))


def sniff(data: bytes) -> str:
    """Return the format of a file by its first bytes: `"png"`, …, `"text"`, `""` if unknown.

    Text is what is UTF-8 to its end and holds no NUL.
    """
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        return _RIFF[data[8:12]]
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return "3gp" if brand.startswith((b"3gp", b"3g2")) else _BRANDS.get(brand, "mp4")
    for mark, name in _SIGNATURES:
        if data.startswith(mark):
            return name
    return "text" if _is_text(data) else _weakly_marked(data)


def type_of_format(found: str, kind: str) -> str:
    """Return the MIME type of files of this format, `""` if it must be said."""
    names = _TYPES_OF_FORMAT.get(found)
    if names is None:
        names = tuple(each.name for each in MEDIA_TYPES.values() if found in each.formats)
    return next((name for name in names if MEDIA_TYPES[name].kind == kind), next(iter(names), ""))


def _weakly_marked(data: bytes) -> str:
    for mark, name in _WEAK_SIGNATURES:
        if data.startswith(mark):
            return name
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data[:1] == b"\xff" and len(data) > 1:
        if data[1] & 0xF6 == 0xF0:  # the head of an ADTS frame
            return "aac"
        if data[1] & 0xE0 == 0xE0 and data[1] & 0x06:  # of an MPEG audio frame, with its layer
            return "mp3"
    return ""


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
