"""What clients of a served harness are passed on to, and told."""

from __future__ import annotations

import urllib.parse
from typing import Final

from .._transport.reach import APP_DATA_HEADER, VERSION_HEADER
from .._transport.relay import Target
from .host import Host
from .opening import REASONS

#: How long the reason of a refusal may take to show up on stderr after the connection dropped.
_REASON_GRACE: Final = 0.5


def target_of(host: Host) -> Target:
    """Return a running harness as a client's target."""
    mark = host.stderr.mark()
    headers = [(APP_DATA_HEADER, urllib.parse.quote(host.directories.app_data))]
    if host.dialect is not None:
        headers.append((VERSION_HEADER, host.dialect.version))

    def find_reason() -> str:
        # Of two clients that are refused at once, one may hear the other's.
        line = host.stderr.find_after(mark, lambda text: text.startswith(REASONS), _REASON_GRACE)
        return line or ""

    return Target(host.endpoint, tuple(headers), find_reason)
