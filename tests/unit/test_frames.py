"""The handshake: a length, a message, and what may be wrong with either."""

from __future__ import annotations

import platform

import pytest

from antigravity_sync._version import __version__
from antigravity_sync._wire import wire_pb2
from antigravity_sync._wire.frames import (
    MAX_BYTES,
    Endpoint,
    FrameDecoder,
    input_config,
    read_endpoint,
)
from antigravity_sync.errors import HandshakeError


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


@pytest.mark.parametrize("message", [b"", b"x", b"\x00" * 38, b"y" * MAX_BYTES])
def test_decoder_when_a_message_is_whole_then_it_is_returned(message: bytes) -> None:
    """The length is four bytes, little endian; what follows the message is not part of it."""
    assert FrameDecoder().feed(framed(message)) == message
    assert FrameDecoder().feed(framed(message) + b"more") == message


@pytest.mark.parametrize("cut", [0, 1, 3, 4, 5, 10])
def test_decoder_when_a_message_is_cut_then_it_waits_for_the_rest(cut: int) -> None:
    """However little a pipe hands out."""
    decoder = FrameDecoder()
    data = framed(b"abcdefg")
    assert decoder.feed(data[:cut]) is None
    assert decoder.feed(data[cut:]) == b"abcdefg"


def test_decoder_when_the_length_is_absurd_then_what_came_is_quoted() -> None:
    """Text on stdout is the usual reason, so the error shows its beginning."""
    with pytest.raises(HandshakeError, match=r"Usage: loc.*harness_path"):
        FrameDecoder().feed(b"Usage: localharness [flags]" + b"x" * 100)
    decoder = FrameDecoder()
    assert decoder.feed(MAX_BYTES.to_bytes(4, "little") + b"x" * 100) is None
    assert decoder.begun() == MAX_BYTES.to_bytes(4, "little") + b"x" * 56


def test_input_config_when_it_is_read_back_then_it_says_who_we_are() -> None:
    """Storage, language and version; nothing that has to do with a key."""
    message = FrameDecoder().feed(input_config("/var/lib/it"))
    config = wire_pb2.InputConfig.FromString(message)
    assert config.storage_directory == "/var/lib/it"
    assert config.client_info.language == "python-sync"
    assert config.client_info.version == __version__
    assert config.client_info.language_version == platform.python_version()


def test_read_endpoint_when_it_is_one_then_port_and_key_are_known_and_the_key_hidden() -> None:
    """The key opens the port, so it shows in no log."""
    data = wire_pb2.OutputConfig(port=4711, api_key="sesame").SerializeToString()
    endpoint = read_endpoint(data)
    assert endpoint == Endpoint(4711, "sesame")
    assert "sesame" not in repr(endpoint)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "no usable port"),
        (wire_pb2.OutputConfig(port=70_000).SerializeToString(), "no usable port"),
        (wire_pb2.OutputConfig(port=-1).SerializeToString(), "no usable port"),
        (b"\xff\xff\xff", "cannot be read"),
    ],
)
def test_read_endpoint_when_it_is_none_then_the_error_says_what_to_check(
    data: bytes, complaint: str
) -> None:
    """A handshake without a port, or that is none at all."""
    with pytest.raises(HandshakeError, match=f"{complaint}.*check"):
        read_endpoint(data)
