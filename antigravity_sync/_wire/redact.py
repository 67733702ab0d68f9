"""Take credentials out of whatever is shown, logged or recorded.

Two ways together: what is known to be secret is looked for literally, and what stands where secrets
stand (members such as `apiKey`, `env` and `headers`, `Authorization`, keys of well-known shapes) is
taken out unseen. Each value found in such a member is looked for literally from then on.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from .. import _messages as m

MASK: Final = "[redacted]"

#: Shorter values are words like `true`, which would take every `true` out.
_SHORTEST: Final = 6
#: Members whose whole value is secret, without case, `_` and `-`.
_SECRET_MEMBERS: Final = frozenset(
    {"apikey", "authorization", "env", "environment", "headers", "httpheaders"}
    | {"password", "token"}
    | {"accesstoken", "refreshtoken", "secret", "clientsecret", "credentials", "xgoogapikey"}
)
#: Inside those, what is a name and not a value.
_NAMES: Final = frozenset({"name", "key"})
_MARKERS: Final = re.compile(
    r'"[^"]*(?:key|auth|env|header|password|token|secret|credential)[^"]*"\s*:', re.IGNORECASE
)
_SECRET_NAME: Final = re.compile(
    r"key|token|secret|passw|credential|auth|cookie|private", re.IGNORECASE
)
_SHAPES: Final = re.compile(
    r"(?P<before>(?:proxy-)?authorization[\"'\\]*\s*[:=]\s*[\"'\\]*(?:(?:bearer|basic|token)\s+)?"
    r"|\bbearer\s+"
    r"|(?:x-goog-)?api[-_]?key[\"'\\]*\s*[:=]\s*[\"'\\]*"
    r"|[?&](?:key|api_key|token|access_token)=)"
    r"(?!\[redacted\]|(?:bearer|basic|token)\s)[^\s\"'\\,;&}\])]{4,}"
    r"|\bAIza[0-9A-Za-z_-]{20,}|\bya29\.[0-9A-Za-z_.-]{10,}|\bsk-[0-9A-Za-z_-]{16,}"
    r"|\bgh[pousr]_[0-9A-Za-z]{20,}",
    re.IGNORECASE,
)
#: One of these is in everything that has such a shape.
_SIGNS: Final = (
    *("authorization", "bearer", "key", "token=", "aiza", "ya29.", "sk-"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
)


class Redactor:
    """What is secret in one session.

    Threads: any; a set of words is replaced as a whole when one is added.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._known: frozenset[str] = frozenset()
        self._words: tuple[str, ...] = ()
        self.add(*secrets)

    @property
    def longest(self) -> int:
        """Length of the longest word that is looked for."""
        return len(self._words[0]) if self._words else 0

    def add(self, *secrets: str) -> None:
        """Look for these literally from now on; those of fewer than six characters are not."""
        found = {each.strip() for each in secrets}
        found |= {each.rpartition(" ")[2] for each in found}  # `Bearer …`
        fresh = {each for each in found if len(each) >= _SHORTEST} - self._known
        if fresh:
            with self._lock:  # two conversations of one harness may learn at once
                self._known |= fresh
                words = {spelling for each in self._known for spelling in _spellings(each)}
                self._words = tuple(sorted(words, key=len, reverse=True))

    def take_over(self, other: Redactor) -> None:
        """Look for what `other` looks for, too."""
        self.add(*other._known)

    def add_environment(self, variables: Mapping[str, str]) -> None:
        """Look for the values of variables whose names sound secret."""
        self.add(*(value for name, value in variables.items() if _SECRET_NAME.search(name)))

    def text(self, text: str) -> str:
        """Return `text` without what is secret."""
        for word in self._words:
            if word in text:
                text = text.replace(word, MASK)
        # Most texts have nothing of the kind, and looking for a shape is slow.
        lower = text.lower()
        if any(sign in lower for sign in _SIGNS):
            return _SHAPES.sub(_mask_shape, text)
        return text

    def message(self, text: str) -> str:
        """Return a frame of ours without what is secret, by its members too."""
        if _MARKERS.search(text):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):  # `raw` of a test kit; the words remain
                return self.text(text)
            self.add(*_secrets_in(value))
            text = json.dumps(_without(value), ensure_ascii=False, separators=(",", ":"))
        return self.text(text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} secrets)"


def hide_secrets(frame: m.PeerFrame, redact: Callable[[str], str]) -> None:
    """Take secrets out of the failure that a frame tells of: services quote what they were sent."""
    if isinstance(frame, (m.StepFrame, m.StateFrame)) and frame.error:
        frame.error = redact(frame.error)
        if isinstance(frame, m.StepFrame):
            frame.text = redact(frame.text)
            frame.text_delta = redact(frame.text_delta)
    elif isinstance(frame, m.InitFrame):
        for step in frame.history:
            hide_secrets(step, redact)


def _spellings(secret: str) -> Iterator[str]:
    """Return how `secret` may be written: as it is, in JSON, in a URL."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield urllib.parse.quote(secret, safe="")


def _mask_shape(found: re.Match[str]) -> str:
    return f"{found['before'] or ''}{MASK}"


def _is_secret(member: str) -> bool:
    return member.lower().replace("_", "").replace("-", "") in _SECRET_MEMBERS


def _without(value: Any) -> Any:
    match value:
        case dict():
            return {k: _masked(v) if _is_secret(k) else _without(v) for k, v in value.items()}
        case list():
            return [_without(each) for each in value]
        case _:
            return value


def _masked(value: Any) -> Any:
    """Return `value` with its shape and names, and nothing else."""
    match value:
        case dict():
            names = _NAMES if "value" in value else frozenset[str]()
            return {k: v if k in names else _masked(v) for k, v in value.items()}
        case list():
            return [_masked(each) for each in value]
        case str() if value:
            return MASK
        case _:
            return value


def _secrets_in(value: Any, *, is_inside: bool = False, name: str = "") -> Iterator[str]:
    """Return the texts in secret members; a path in an environment is none unless its name says."""
    match value:
        case dict():
            pair = value.get("name") or value.get("key")
            for member, inner in value.items():
                if is_inside and member in _NAMES and "value" in value:
                    continue
                label = str(pair) if member == "value" and pair else member
                inside = is_inside or _is_secret(member)
                yield from _secrets_in(inner, is_inside=inside, name=label)
        case list():
            for each in value:
                yield from _secrets_in(each, is_inside=is_inside, name=name)
        case str() if is_inside and (not value.startswith("/") or _SECRET_NAME.search(name)):
            yield value
        case _:
            pass
