"""Where a served harness is, from arguments and the environment, and what it is not told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .._wire.frames import Endpoint
from ..config import AgentConfig
from ..errors import ConfigError

_HOST_VARIABLE: Final = "ANTIGRAVITY_HARNESS_HOST"
_PORT_VARIABLE: Final = "ANTIGRAVITY_HARNESS_PORT"
_TOKEN_VARIABLE: Final = "ANTIGRAVITY_HARNESS_TOKEN"  # noqa: S105 - a name
_DEFAULT_HOST: Final = "127.0.0.1"
_DEFAULT_PORT: Final = 8000
_RESUMES: Final = ("auto", "must", "never")
#: Options of the process, which is not ours.
_OF_THE_SERVER: Final = ("save_dir", "env", "harness_path")
#: A name or an address; no scheme, port, path or user.
_HOST: Final = re.compile(r"[0-9A-Za-z._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[0-9A-Za-z._-]+)?")
#: What a header can carry.
_TOKEN: Final = re.compile(r"[!-~]+")


def endpoint_of(
    host: str | None, port: int | None, key: str | None, environ: Mapping[str, str]
) -> Endpoint:
    """Return where to connect.

    Args:
        host: Name or address; `None` takes `ANTIGRAVITY_HARNESS_HOST`, else this machine.
        port: `None` takes `ANTIGRAVITY_HARNESS_PORT`, else 8000.
        key: The server's token; `None` takes `ANTIGRAVITY_HARNESS_TOKEN`.
        environ: The environment.

    Raises:
        ConfigError: One of them is impossible, or there is no token.
    """
    return Endpoint(
        _port(port, environ), _token(key, environ), _checked_host(host, environ), is_ours=False
    )


def refuse_options(config: AgentConfig) -> None:
    """Refuse options that would be ignored over there, or taken for something else.

    Raises:
        ConfigError: One of them is set.
    """
    for name in _OF_THE_SERVER:
        if getattr(config, name):
            raise ConfigError(
                f"{name} is the business of whoever runs the harness, and over a connection it "
                "would be ignored; leave it out here and set it there"
            )
    if any(policy.is_guard for policy in config.policies):
        raise ConfigError(
            "workspace_only() looks at this machine's disk, and the paths are another's; leave it "
            "out: contain_workspaces does the same over there"
        )


def wanted_conversation(conversation_id: object, resume: object) -> tuple[str, str]:
    """Return which conversation to open, `""` for a new one, and whether it may exist.

    Raises:
        ConfigError: One of the two is impossible, or they do not go together.
    """
    if conversation_id is not None and (
        not isinstance(conversation_id, str) or not conversation_id.strip()
    ):
        raise ConfigError(
            f"conversation_id must be a string with something in it, not {conversation_id!r}"
        )
    if not isinstance(resume, str) or resume not in _RESUMES:
        raise ConfigError(f"resume must be one of {', '.join(_RESUMES)}, not {resume!r}")
    if resume == "must" and conversation_id is None:
        raise ConfigError('resume="must" needs the conversation_id of the one to resume')
    return conversation_id or "", resume


def _checked_host(host: object, environ: Mapping[str, str]) -> str:
    name = "host"
    if host is None:
        host = environ.get(_HOST_VARIABLE, "").strip() or _DEFAULT_HOST
        name = _HOST_VARIABLE
    bare = host
    if isinstance(host, str) and host.startswith("[") and host.endswith("]"):
        bare = host[1:-1]
    if not isinstance(bare, str) or not _HOST.fullmatch(bare):
        raise ConfigError(
            f"{name} must be a name or an address such as harness.example or ::1, not {host!r}"
        )
    return bare


def _port(port: int | None, environ: Mapping[str, str]) -> int:
    name, said = "port", repr(port)
    if port is None:
        text = environ.get(_PORT_VARIABLE, "").strip()
        if not text:
            return _DEFAULT_PORT
        name, said = _PORT_VARIABLE, repr(text)
        is_number = text.isascii() and text.isdigit() and len(text) < 6
        port = int(text) if is_number else 0
    if type(port) is not int or not 0 < port < 65536:
        raise ConfigError(f"{name} must be a number from 1 to 65535, not {said}")
    return port


def _token(key: object, environ: Mapping[str, str]) -> str:
    name = "key"
    if key is None:
        key = environ.get(_TOKEN_VARIABLE, "")
        name = _TOKEN_VARIABLE
    if not isinstance(key, str):
        raise ConfigError(f"{name} must be a string, not {type(key).__name__}")
    key = key.strip()
    if not key:
        raise ConfigError(
            f"no token for the harness: looked at key and {_TOKEN_VARIABLE}; set one of them to "
            "the token that the server was given"
        )
    if not _TOKEN.fullmatch(key):
        raise ConfigError(f"{name} holds what no token has, such as a space; check it")
    return key
