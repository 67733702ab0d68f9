"""What the harness asked of the model, as a value that tests can look into."""

from __future__ import annotations

import functools
import json
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

# JSON as the harness sent it: its shape belongs to the Gemini API, and a test that indexes into it
# should not have to prove each level to a type checker.
JsonObject: TypeAlias = dict[str, Any]

_CREDENTIAL_HEADERS: Final = frozenset(
    {"authorization", "cookie", "proxy-authorization", "x-goog-api-key", "x-api-key"}
)
_HIDDEN: Final = "***"
_OPENING: Final = "<USER_REQUEST>"
_CLOSING: Final = "</USER_REQUEST>"


@attrs.frozen(slots=False, eq=False, repr=False)
class ModelRequest:
    """One request of the harness to the model; strictly read-only.

    The body is parsed when it is first looked into, so that recording a long conversation stays
    cheap.

    Attributes:
        number: 1 for the first request of the model, 2 for the next.
        method: What was asked: `"streamGenerateContent"` or `"generateContent"`.
        model: The model's name in the address.
        path: The address on the server, without a key.
        headers: Request headers, names in lower case, credentials replaced by `***`.
        api_key: The key that was sent, `""` if none; not in the repr.
        raw_body: The body as it arrived.

    Thread: any.
    """

    number: int
    method: str
    model: str
    path: str
    headers: Mapping[str, str]
    api_key: str
    raw_body: bytes

    @functools.cached_property
    def body(self) -> JsonObject:
        """The request as sent, `{}` if it is not a JSON object."""
        try:
            body = json.loads(self.raw_body)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def contents(self) -> list[JsonObject]:
        """The conversation so far, oldest first: dicts with `role` and `parts`."""
        contents: list[JsonObject] = self.body.get("contents") or []
        return contents

    @property
    def system_instruction(self) -> str:
        """The text of the system instruction, `""` if there is none."""
        return _text_of(self.body.get("systemInstruction") or {})

    @functools.cached_property
    def declarations(self) -> dict[str, JsonObject]:
        """The declared functions by name, in the order of declaration."""
        return {
            declaration["name"]: declaration
            for group in self.body.get("tools") or ()
            for declaration in group.get("functionDeclarations") or ()
        }

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the declared functions."""
        return tuple(self.declarations)

    @property
    def function_responses(self) -> list[tuple[str, JsonObject]]:
        """What tools answered in the whole conversation, oldest first, as (tool, response)."""
        return [
            (part["functionResponse"].get("name", ""), part["functionResponse"].get("response", {}))
            for part in _parts_of(self.contents)
            if "functionResponse" in part
        ]

    @property
    def last_text(self) -> str:
        """The text of the last content in the user's role, whoever wrote it.

        Besides prompts these are the harness's own messages: triggers, news of subagents and of
        background commands, complaints about an unusable answer.
        """
        return next(self._user_texts(), "")

    @property
    def prompt(self) -> str:
        """What the user last said, in the user's own words.

        Where the harness marks nothing as the user's (a subagent's task, a picture to draw), it is
        `last_text`.
        """
        unwrapped = (_unwrap(text) for text in self._user_texts())
        said = next((text for text in unwrapped if text is not None), None)
        return self.last_text if said is None else said

    def describe(self) -> str:
        """Return one line about what was asked: the prompt and what came after it."""
        asked = f"prompt {_shorten(self.prompt)}"
        last = self.contents[-1:]
        answered = [p["functionResponse"] for p in _parts_of(last) if "functionResponse" in p]
        for response in answered:
            asked += f", response of {response.get('name')!r} {_shorten(response.get('response'))}"
        if not answered and _unwrap(self.last_text) is None and self.last_text != self.prompt:
            asked += f", then {_shorten(self.last_text)}"
        return asked

    def _user_texts(self) -> Iterator[str]:
        """Yield the texts in the user's role, newest first."""
        for content in reversed(self.contents):
            if content.get("role", "user") == "user":
                yield _text_of(content)

    def __repr__(self) -> str:
        return f"<ModelRequest {self.number} {self.method} {self.describe()}>"


def parse_request(
    number: int, target: str, headers: Mapping[str, str], body: bytes
) -> ModelRequest:
    """Return the request behind an address such as `/v1beta/models/NAME:METHOD?alt=sse`.

    Args:
        number: Its place in the order of arrival, from 1.
        target: Path and query.
        headers: Names in lower case.
        body: As it arrived.
    """
    path, _, query = target.partition("?")
    query_items = urllib.parse.parse_qsl(query, keep_blank_values=True)
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    api_key = headers.get("x-goog-api-key") or dict(query_items).get("key") or bearer
    head, _, method = path.rpartition(":")
    shown = [(name, _HIDDEN if name == "key" else value) for name, value in query_items]
    return ModelRequest(
        number=number,
        method=method,
        model=urllib.parse.unquote(head.rpartition("/models/")[2]),
        path=path + (f"?{urllib.parse.urlencode(shown, safe='*')}" if shown else ""),
        headers={
            name: _HIDDEN if name in _CREDENTIAL_HEADERS else value
            for name, value in headers.items()
        },
        api_key=api_key,
        raw_body=body,
    )


def _parts_of(contents: list[JsonObject]) -> Iterator[JsonObject]:
    for content in contents:
        yield from content.get("parts") or ()


def _text_of(content: JsonObject) -> str:
    return "".join(part.get("text", "") for part in content.get("parts") or ())


def _unwrap(text: str) -> str | None:
    """Return what the harness wrapped as the user's words, `None` if there is no such thing."""
    start = text.find(_OPENING)
    # The harness does not escape the text it wraps: only the last closing tag is its own.
    end = text.rfind(_CLOSING)
    if not 0 <= start < end:
        return None
    return text[start + len(_OPENING) : end].removeprefix("\n").removesuffix("\n")


def _shorten(value: object, limit: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
