"""The beginning of a file of each format: enough for whoever looks at the first bytes."""

from __future__ import annotations

from typing import Final

from antigravity_sync import Audio, Document, Image, Video
from antigravity_sync._media_types import MediaType
from antigravity_sync.testing.replies import TINY_PNG

Media = Image | Audio | Video | Document

PNG: Final = TINY_PNG

SAMPLES: Final = {
    "png": PNG,
    "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    "webp": b"RIFF\x1a\x00\x00\x00WEBPVP8L",
    "bmp": b"BM\x1e\x00\x00\x00\x00\x00",
    "gif": b"GIF89a\x01\x00\x01\x00",
    "tiff": b"II*\x00\x08\x00\x00\x00",
    "heic": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00",
    "heif": b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00",
    "avif": b"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00",
    "wav": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    "mp3": b"ID3\x04\x00\x00\x00\x00\x00\x00\xff\xfb",
    "m4a": b"\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00",
    "aac": b"\xff\xf1\x50\x80\x00\x1f\xfc",
    "ogg": b"OggS\x00\x02\x00\x00",
    "flac": b"fLaC\x00\x00\x00\x22",
    "webm": b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81",
    "mp4": b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00",
    "mov": b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00",
    "3gp": b"\x00\x00\x00\x14ftyp3gp4\x00\x00\x00\x00",
    "avi": b"RIFF\x24\x00\x00\x00AVI LIST",
    "flv": b"FLV\x01\x05\x00\x00\x00\x09\xff",
    "mpeg": b"\x00\x00\x01\xba\x44\x00",
    "wmv": b"0&\xb2u\x8ef\xcf\x11\xa6\xd9",
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "rtf": b"{\\rtf1 hello}",
    "zip": b"PK\x03\x04\x14\x00",
    "ole": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "text": "a,b\n1,2 €\n".encode(),
}

CLASSES: Final[dict[str, type[Media]]] = {
    "IMAGE": Image,
    "AUDIO": Audio,
    "VIDEO": Video,
    "DOCUMENT": Document,
}


def content_of(known: MediaType) -> bytes:
    """Return some content that may be of this type."""
    return SAMPLES[min(known.formats)] if known.formats else b"\x01\x00\x02\x00"


def part_of(known: MediaType) -> Media:
    """Return a part of this type."""
    return CLASSES[known.kind].from_bytes(content_of(known), known.name)
