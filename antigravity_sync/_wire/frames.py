"""Length-prefixed messages on the harness's stdio: four bytes, little endian, then protobuf."""

from __future__ import annotations

import platform
import struct
import sys
from typing import Final

import attrs

from .._version import __version__
from ..errors import HandshakeError

#: A handshake is 38 bytes; anything near this size is not one. Small, so that a line of text before
#: it is told as such: read as a length, most of them are beyond it.
MAX_BYTES: Final = 4096
#: How much of something unreadable is shown.
_SHOWN: Final = 60
_PREFIX: Final = struct.Struct("<I")


@attrs.define
class FrameDecoder:
    """Put one length-prefixed message together from whatever pieces a pipe hands out."""

    _buffer: bytearray = attrs.field(factory=bytearray)

    def feed(self, data: bytes) -> bytes | None:
        """Take in a piece; return the message once it is whole.

        Raises:
            HandshakeError: The length is beyond `MAX_BYTES`, so this is no handshake.
        """
        self._buffer += data
        if len(self._buffer) < _PREFIX.size:
            return None
        (length,) = _PREFIX.unpack_from(self._buffer)
        if length > MAX_BYTES:
            raise HandshakeError(
                f"the harness did not send a handshake but {self.begun()!r}; "
                "check that harness_path is the localharness binary and nothing wraps its output"
            )
        end = _PREFIX.size + length
        if len(self._buffer) < end:
            return None
        return bytes(self._buffer[_PREFIX.size : end])

    def begun(self) -> bytes:
        """Return the start of what has come so far."""
        return bytes(self._buffer[:_SHOWN])


@attrs.frozen
class Endpoint:
    """Where a harness listens, and the key that opens it.

    Attributes:
        port: Its port.
        key: The key.
        host: Its machine, a name or an address.
        is_ours: Whether we started it.
    """

    port: int
    key: str = attrs.field(repr=False)
    host: str = "127.0.0.1"
    is_ours: bool = True

    @property
    def address(self) -> str:
        """Host and port, as a URL has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def input_config(storage_directory: str) -> bytes:
    """Return the framed first message to the harness.

    Args:
        storage_directory: Where it keeps conversations, an absolute path.
    """
    from . import wire_pb2

    message = wire_pb2.InputConfig(
        storage_directory=storage_directory,
        client_info=wire_pb2.ClientInfo(
            language="python-sync",
            version=__version__,
            language_version=platform.python_version(),
        ),
    )
    data: bytes = message.SerializeToString()
    return _PREFIX.pack(len(data)) + data


def read_endpoint(data: bytes) -> Endpoint:
    """Return what the harness's handshake says.

    Raises:
        HandshakeError: It is no `OutputConfig`, or names no port.
    """
    from google.protobuf.message import DecodeError

    from . import wire_pb2

    config = wire_pb2.OutputConfig()
    try:
        config.ParseFromString(data)
    except DecodeError as error:
        raise HandshakeError(
            f"the harness's handshake {data[:_SHOWN]!r} cannot be read; "
            "check that harness_path is the localharness binary and nothing wraps its output"
        ) from error
    if not 0 < config.port < 65536:
        raise HandshakeError(
            f"the harness names no usable port ({config.port}); "
            f"check that it is a {sys.platform} build of localharness"
        )
    return Endpoint(config.port, config.api_key)
