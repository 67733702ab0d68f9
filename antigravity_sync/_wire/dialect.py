"""What one harness release understands, and how to find out which release it is.

The harness parses strictly: a field or enum name it does not know ends the session at the first
message and silently loses any later one. So whatever is sent goes through `Dialect.filter`, and
where releases want different things, the code asks one of the `Dialect` properties instead of
comparing versions. `fields.json` beside this module says which release has which field; it is made
from the releases themselves (`proto/collect_fields.py`).

A binary without a version beside it is asked. A refused first message costs no more than its
WebSocket, the harness names the field it stumbled over, and `null` for a field it does know changes
nothing. So the first message carries a `null` for one field of each release (see `probing`), and
each refusal narrows the choice (`rejected_field_in`, `narrow`) until one is accepted, which then is
the session::

    candidates, dialect = ALL_VERSIONS, NEWEST
    while the harness refuses dialect.filter("HarnessConfig", with_probe(config)):
        candidates = narrow(candidates, the field that it named on stderr)
        dialect = Dialect(candidates[-1])

Everything here is a value or a pure function: any thread may use it, and nothing blocks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import attrs

from .._media_types import MEDIA_TYPES
from ..errors import ConfigError, HandshakeError, InternalError

_Span = tuple[int, int]
_Form = tuple[int, int, str]

_TABLE: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("fields.json").read_text(encoding="utf-8")
)
_MESSAGES: Final[dict[str, dict[str, list[_Form]]]] = _TABLE["messages"]
_ENUMS: Final[dict[str, dict[str, list[_Span]]]] = _TABLE["enums"]

#: Every release whose rules are known, oldest first.
ALL_VERSIONS: Final[tuple[str, ...]] = tuple(_TABLE["versions"])


def _other_forms() -> dict[str, set[str]]:
    """Return, for each message that another one replaced in some field, the other one's fields."""
    found: dict[str, set[str]] = {}
    for fields in _MESSAGES.values():
        for forms in fields.values():
            kinds = {kind for _, _, kind in forms if kind in _MESSAGES}
            for kind in kinds if len(kinds) > 1 else ():
                found.setdefault(kind, set()).update(*(_MESSAGES[one] for one in kinds - {kind}))
    return found


_OTHER_FORMS: Final = _other_forms()
_INDEX: Final = {version: index for index, version in enumerate(ALL_VERSIONS)}

_VERSION = re.compile(
    r"([0-9]{1,9}(?:\.[0-9]{1,9})*)"  # the release
    r"(?:(?:a|b|rc|\.post|\.dev|-|\+)[0-9A-Za-z.+-]*)?"  # and whatever a packager may add to it
)


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a release such as `0.1.10`; suffixes (`rc1`, `+local`) do not count.

    Raises:
        ConfigError: It is not a version.
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{text!r} is not a harness version; write one such as 0.1.10.")
    return tuple(int(part) for part in match[1].split("."))


_RELEASES: Final = tuple(parse_version(version) for version in ALL_VERSIONS)


def _known_version(_: object, __: object, version: str) -> None:
    if version not in _INDEX:
        raise ConfigError(f"No rules are known for harness {version!r}; use Dialect.of() instead.")


@attrs.frozen
class Dialect:
    """The rules of one harness release.

    Attributes:
        version: The release, one of `ALL_VERSIONS`.
    """

    version: str = attrs.field(validator=_known_version)

    @classmethod
    def of(cls, version: str) -> Dialect:
        """Return the rules for a harness of this version.

        A release newer than all known ones gets the newest rules, one between two known ones
        those of the older.

        Raises:
            ConfigError: It is not a version.
            HandshakeError: The release is too old to be driven at all.
        """
        release = parse_version(version)
        for known, name in zip(reversed(_RELEASES), reversed(ALL_VERSIONS), strict=True):
            if known <= release:
                return cls(name)
        raise HandshakeError(
            f"Harness {version} is too old: releases {ALL_VERSIONS[0]} to {ALL_VERSIONS[-1]} work; "
            "get one with `antigravity-sync install-harness`."
        )

    def filter(self, message: str, value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return a copy of `value` without what this release does not know, and what that was.

        Names are judged, shapes are not: which form a field wants is said by the properties. A
        field that no release knows is kept, so that the harness itself reports a mistake in
        `raw_config`. So are maps, whose keys are the user's. The input is left as it is; parts
        that hold no names are shared with the copy.

        Args:
            message: Short name of the message that `value` is, such as `"HarnessConfig"`.
            value: The message as JSON, under JSON names.

        Returns:
            The copy, and the dotted path of each thing dropped, once: `"agentBehavior"`,
            `"tools.deferLoading"`, and for an enum name `"enabledHooks=LIFECYCLE_HOOK_STOP"`. A
            `null` means nothing to the harness, so its loss is not mentioned.

        Raises:
            InternalError: There is no such message.
        """
        if message not in _MESSAGES:
            raise InternalError(f"No sendable message is called {message!r}; report this defect.")
        sieve = _Sieve(_INDEX[self.version])
        return sieve.message(message, value, ""), tuple(sieve.dropped)

    def knows(self, message: str, field: str) -> bool:
        """Return whether this release has a field of a message."""
        return bool(self.filter(message, {field: ""})[0])

    def _since(self, version: str) -> bool:
        return _INDEX[self.version] >= _INDEX[version]

    # ── input ───────────────────────────────────────────────────────────────────────────────────

    @property
    def user_input_is_text(self) -> bool:
        """Return whether `userInput` is a string and everything else goes to `complexUserInput`.

        So until 0.1.10. Since 0.1.11 `userInput` is an object with `parts`, and the other name is
        gone. The wrong form is lost without a reply.
        """
        return not self._since("0.1.11")

    def takes_media(self, mime_type: str) -> bool:
        """Return whether files of this type reach the model, in a prompt or from a tool."""
        known = MEDIA_TYPES.get(mime_type)
        return known is not None and self._since(known.since)

    @property
    def first_trigger_ok(self) -> bool:
        """Return whether an `automatedTrigger` may be the first input of a conversation.

        Since 0.1.19. Before, the turn fails or never starts.
        """
        return self._since("0.1.19")

    @property
    def has_error_message(self) -> bool:
        """Return whether a tool's failure is sent as `toolResponse.errorMessage`.

        Since 0.1.6. On 0.1.5 it goes as `{"error": …}` into `responseJson`; the field would lose
        the response and hang the turn.
        """
        return self._since("0.1.6")

    # ── governance ──────────────────────────────────────────────────────────────────────────────

    @property
    def needs_confirmations(self) -> bool:
        """Return whether every tool call waits for a `toolConfirmation`.

        Only on 0.1.5. Later releases never ask for one.
        """
        return not self._since("0.1.6")

    @property
    def has_pre_tool_hook(self) -> bool:
        """Return whether the `PRE_TOOL` hook is called.

        Since 0.1.6. 0.1.5 accepts it in `enabledHooks` and never calls it.
        """
        return self._since("0.1.6")

    @property
    def can_rewrite(self) -> bool:
        """Return whether the answer to a `PRE_TOOL` hook may change the arguments.

        Since 0.1.7. 0.1.6 loses an answer that tries to.
        """
        return self._since("0.1.7")

    @property
    def unswitchable_tools(self) -> tuple[str, ...]:
        """Return the built-in tools that are offered whatever the flags say.

        From 0.1.6, which brought them, to 0.1.13; 0.1.14 has flags for them.
        """
        is_stuck = self._since("0.1.6") and not self._since("0.1.14")
        return ("manage_task", "schedule") if is_stuck else ()

    @property
    def rewrites_with_struct(self) -> bool:
        """Return whether new arguments go as an object into `preToolResult.modifiedArgs`.

        Since 0.1.17. From 0.1.7 to 0.1.16 they go as JSON text into `modifiedArgumentsJson` (which
        0.1.17 takes too and 0.1.18 lost); before, arguments cannot be rewritten.
        """
        return self._since("0.1.17")

    @property
    def has_policy_config(self) -> bool:
        """Return whether the harness enforces a `policyConfig` itself; since 0.1.10."""
        return self._since("0.1.10")

    @property
    def has_containment_switch(self) -> bool:
        """Return whether `policyConfig.workspaceContainment` can switch path containment off.

        Since 0.1.13. On 0.1.10 to 0.1.12 any `policyConfig` switches it on; before, there is none.
        """
        return self._since("0.1.13")

    @property
    def asks_only_interactive(self) -> bool:
        """Return whether questions reach the client only with `AGENT_BEHAVIOR_INTERACTIVE`.

        Since 0.1.13, which cancels them otherwise. Before, they always do.
        """
        return self._since("0.1.13")

    @property
    def announces_skills(self) -> bool:
        """Return whether the harness's own instructions name the skills: all but 0.1.19's do."""
        return self.version != "0.1.19"

    @property
    def has_compaction_hook(self) -> bool:
        """Return whether the `ON_COMPACTION` hook tells the summary; since 0.1.14."""
        return self._since("0.1.14")

    @property
    def has_stop_hook(self) -> bool:
        """Return whether the `STOP` hook exists; since 0.1.16."""
        return self._since("0.1.16")

    @property
    def has_subagents(self) -> bool:
        """Return whether a declared subagent has the instructions and tools it was declared with.

        Since 0.1.10. On 0.1.8 and 0.1.9 some of the tools are missing; before, it is listed, and
        what runs is a copy of the agent itself.
        """
        return self._since("0.1.10")

    @property
    def governs_subagents(self) -> bool:
        """Return whether the built-in tools of declared subagents pass hooks and rules.

        So until 0.1.17. Since 0.1.18 nothing is asked and no rule of `policyConfig` counts; only
        the harness's own subagents, `self` and `research`, are still held.
        """
        return not self._since("0.1.18")

    @property
    def governs_defined_subagents(self) -> bool:
        """Return whether the same is true of those that a model defines by itself.

        So until 0.1.16.
        """
        return not self._since("0.1.17")

    @property
    def limits_subagent_tools(self) -> bool:
        """Return whether a declared subagent is offered only the custom tools it names.

        Since 0.1.21. Before, it is offered all of the agent's.
        """
        return self._since("0.1.21")

    @property
    def lacked_by_subagents(self) -> tuple[str, ...]:
        """Return the built-in tools that no declared subagent is offered, whatever its flags say.

        The web tools since 0.1.14, `manage_task` since 0.1.18.
        """
        lacked: tuple[str, ...] = ("run_workflow",)
        if not self._since("0.1.18"):
            lacked += ("manage_task",)
        if not self._since("0.1.14"):
            lacked += ("search_web", "read_url_content")
        return lacked

    # ── session ─────────────────────────────────────────────────────────────────────────────────

    @property
    def has_continuation_mode(self) -> bool:
        """Return whether `sessionContinuationMode` says to resume or to create.

        Since 0.1.7. Before, the harness chooses new ids itself and a given one must exist.
        """
        return self._since("0.1.7")

    @property
    def has_retry_config(self) -> bool:
        """Return whether `retryConfig` bounds the retries of model calls; since 0.1.8."""
        return self._since("0.1.8")

    @property
    def reports_before_calls(self) -> bool:
        """Return whether tokens may be reported before a call's tools are asked for (to 0.1.6)."""
        return not self._since("0.1.7")

    @property
    def needs_room_to_compact(self) -> bool:
        """Return whether what is longer than the threshold fails the turn; since 0.1.11."""
        return self._since("0.1.11")

    @property
    def spares_vertex_base_url(self) -> bool:
        """Return whether no token of ADC goes to the address of a Vertex endpoint; since 0.1.14."""
        return self._since("0.1.14")

    @property
    def returns_openai_calls(self) -> bool:
        """Return whether models behind a `gemmaEndpoint` see the calls they made; since 0.1.10."""
        return self._since("0.1.10")

    # ── the end of a turn ───────────────────────────────────────────────────────────────────────

    @property
    def waits_for_subagents(self) -> bool:
        """Return whether the main trajectory stays busy until its subagents are done.

        Since 0.1.8, which also lets the main agent answer them. Before, it goes idle while they
        run, and the client has to wait for each of them.
        """
        return self._since("0.1.8")

    @property
    def announces_tasks(self) -> bool:
        """Return whether `STATE_WAITING_FOR_TASKS` says that background commands still run.

        On 0.1.8 and since 0.1.10; 0.1.9 says nothing until it is idle.
        """
        return self.version == "0.1.8" or self._since("0.1.10")

    @property
    def idles_while_tasks_run(self) -> bool:
        """Return whether the main trajectory goes idle though a background command still runs.

        So until 0.1.7. Since 0.1.8 it is idle only when they have ended.
        """
        return not self._since("0.1.8")


#: The newest rules known: what to speak until the harness says otherwise.
NEWEST: Final = Dialect(ALL_VERSIONS[-1])


@attrs.define
class _Sieve:
    """One pass over one message, for the release at `index`."""

    index: int
    dropped: dict[str, None] = attrs.Factory(dict)  # a set that keeps its order

    def message(self, name: str, value: dict[str, Any], prefix: str) -> dict[str, Any]:
        fields = _MESSAGES[name]
        kept = {}
        for key, item in value.items():
            path = f"{prefix}{key}"
            forms = fields.get(key)
            if forms is None and key not in _OTHER_FORMS.get(name, ()):
                kept[key] = item  # no release knows it: the harness shall say so
                continue
            kind = None if forms is None else _form_at(forms, self.index)
            if kind is None:
                if item is not None:
                    self.dropped[path] = None
            elif self._keeps(kind, item, path):
                kept[key] = self._sifted(kind, item, path)
        return kept

    def _sifted(self, kind: str, item: Any, path: str) -> Any:
        name = kind.removeprefix("repeated ")
        if name != kind and isinstance(item, list):
            return [self._sifted(name, one, path) for one in item if self._keeps(name, one, path)]
        if name in _MESSAGES and isinstance(item, dict):
            return self.message(name, item, f"{path}.")
        return item

    def _keeps(self, kind: str, item: Any, path: str) -> bool:
        """Return False for an enum name that only other releases know, and take note of it."""
        spans = _ENUMS.get(kind, {}).get(item) if isinstance(item, str) else None
        if spans is None or any(first <= self.index <= last for first, last in spans):
            return True
        self.dropped[f"{path}={item}"] = None
        return False


def _form_at(forms: list[_Form], index: int) -> str | None:
    for first, last, kind in forms:
        if first <= index <= last:
            return kind
    return None


def narrow(candidates: tuple[str, ...], rejected_field: str) -> tuple[str, ...]:
    """Return those of the candidate releases that may have refused this field.

    The same tuple back means that nothing was learned: no candidate accepts the field at all, so
    it came from `raw_config`. An empty one means that every candidate knows it, so the harness is
    none of them. In both cases another try would fail alike.

    Args:
        candidates: Releases still possible, out of `ALL_VERSIONS`.
        rejected_field: JSON name, see `rejected_field_in`.
    """
    holders = [fields for fields in _MESSAGES.values() if rejected_field in fields]
    if not holders:
        return candidates
    return tuple(
        version
        for version in candidates
        if any(_lacks(fields, rejected_field, _INDEX[version]) for fields in holders)
    )


def _lacks(fields: dict[str, list[_Form]], field: str, index: int) -> bool:
    """Return whether this release has the message, that is one of its fields, but not this one."""
    if _form_at(fields[field], index) is not None:
        return False
    return any(_form_at(forms, index) is not None for forms in fields.values())
