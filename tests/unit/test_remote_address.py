"""Where a served harness is looked for, by what key, and what a client may not ask of it."""

from __future__ import annotations

import pytest

from antigravity_sync import AgentConfig, RemoteConnectionStrategy, policy
from antigravity_sync.connections._address import endpoint_of
from antigravity_sync.errors import ConfigError

KEY = "a-token-of-some-length"
NAMES = ("ANTIGRAVITY_HARNESS_HOST", "ANTIGRAVITY_HARNESS_PORT", "ANTIGRAVITY_HARNESS_TOKEN")


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        ((None, None, KEY), (), ("127.0.0.1", 8000, KEY)),
        ((None, None, None), ("h.example", "81", KEY), ("h.example", 81, KEY)),
        (("mine", 82, KEY), ("h.example", "81", "another-token"), ("mine", 82, KEY)),
        ((None, None, None), (" h ", " 81 ", f" {KEY} "), ("h", 81, KEY)),
        ((None, None, KEY), ("", "", ""), ("127.0.0.1", 8000, KEY)),
        (("::1", None, KEY), (), ("::1", 8000, KEY)),
        (("[fe80::1%eth0]", None, KEY), (), ("fe80::1%eth0", 8000, KEY)),
    ],
)
def test_address_when_looked_for_then_arguments_beat_variables_and_those_the_defaults(
    given, environ, expected
):
    """Spaces around a variable are nobody's intention."""
    found = endpoint_of(*given, dict(zip(NAMES, environ, strict=False)))
    assert (found.host, found.port, found.key) == expected
    assert not found.is_ours


@pytest.mark.parametrize(
    ("given", "environ", "named"),
    [
        ((None, None, None), (), "ANTIGRAVITY_HARNESS_TOKEN"),
        ((None, None, "  "), (), "no token"),
        ((None, None, 7), (), "key must be a string"),
        ((None, None, "two words"), (), "key holds"),
        ((None, None, "line\r\nx: y"), (), "key holds"),
        ((None, 0, KEY), (), "port must be"),
        ((None, 65_536, KEY), (), "port must be"),
        ((None, "80", KEY), (), "port must be"),
        ((None, None, KEY), ("", "eighty"), "ANTIGRAVITY_HARNESS_PORT must be"),
        ((None, None, KEY), ("", "-1"), "ANTIGRAVITY_HARNESS_PORT must be"),
        ((None, None, KEY), ("", "99999999999"), "ANTIGRAVITY_HARNESS_PORT must be"),
        (("http://h", None, KEY), (), "host must be"),
        (("h:80", None, KEY), (), "host must be"),
        (("user@h", None, KEY), (), "host must be"),
        ((b"h", None, KEY), (), "host must be"),
        ((None, None, KEY), ("h/x",), "ANTIGRAVITY_HARNESS_HOST must be"),
    ],
)
def test_address_when_it_is_none_then_refused_by_its_name(given, environ, named):
    """The argument's, or the variable's that it came from; the token is never shown."""
    with pytest.raises(ConfigError, match=named) as caught:
        endpoint_of(*given, dict(zip(NAMES, environ, strict=False)))
    if isinstance(given[2], str) and given[2].strip():
        assert given[2] not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"save_dir": "x"}, "save_dir"),
        ({"env": {"A": "b"}}, "env"),
        ({"harness_path": "x"}, "harness_path"),
        ({"policies": [policy.workspace_only()]}, "workspace_only"),
        ({"tool_workers": 1}, "tool_workers"),
    ],
)
def test_strategy_when_an_option_is_the_servers_then_refused(options, named):
    """Before anything is connected; so is what only an agent honours."""
    with pytest.raises(ConfigError, match=named):
        RemoteConnectionStrategy(AgentConfig(**options), key=KEY)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"conversation_id": " "}, "conversation_id"),
        ({"conversation_id": 7}, "conversation_id"),
        ({"resume": "perhaps"}, "resume"),
        ({"resume": "must"}, 'resume="must"'),
        ({"hooks": ["on_whim"]}, "no hook"),
    ],
)
def test_strategy_when_a_conversation_is_none_then_refused(options, named):
    """With what it may be."""
    with pytest.raises(ConfigError, match=named):
        RemoteConnectionStrategy(AgentConfig(), key=KEY, **options)


def test_strategy_when_shown_then_where_it_goes_and_not_its_token():
    """As a log would show it."""
    shown = repr(RemoteConnectionStrategy(AgentConfig(), host="h.example", port=81, key=KEY))
    assert shown == "<RemoteConnectionStrategy: h.example:81>"
