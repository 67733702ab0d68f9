"""What surrounds the process: variables, proxies, home and save directories."""

from __future__ import annotations

import os
import stat

import pytest

from antigravity_sync.errors import ConfigError
from antigravity_sync.testing import ScriptedModel
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.gates import Task
from tests.loop.fakes import VERSION, fake_agent

# ── proxies ─────────────────────────────────────────────────────────────────────────────────────

PROXY_VARIABLES = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
]
#: The discard port: whoever asks this proxy is refused.
PROXIES = ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "socks5h://user:secret@127.0.0.1:9"]


@pytest.mark.real
@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("version", [VERSION])
def test_proxies_when_set_for_everything_then_loopback_is_not_touched(
    make_agent, proxy, monkeypatch
):
    """Neither our connection to the harness nor its one to a loopback model goes by a proxy."""
    for name in PROXY_VARIABLES:
        monkeypatch.setenv(name, proxy)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedModel("fine") as model, make_agent(model) as agent:
        assert agent.chat("hi").text == "fine"


# ── env= ────────────────────────────────────────────────────────────────────────────────────────


def test_env_when_given_then_it_is_merged_and_ours_stays_as_it_is(monkeypatch):
    """A string sets, None removes, everything else is inherited; os.environ is not touched."""
    monkeypatch.setenv("KEPT", "kept")
    monkeypatch.setenv("REMOVED", "removed")
    monkeypatch.setenv("CHANGED", "before")
    before = dict(os.environb)
    changes = {"REMOVED": None, "CHANGED": "after", "ADDED": "new", "NEVER_SET": None}
    with FakeHarness(version=VERSION) as fake:
        with fake_agent(fake, env=changes) as agent:
            agent.chat("hi")
        environ = fake.environ
    assert dict(os.environb) == before
    assert environ["KEPT"] == "kept"
    assert (environ["CHANGED"], environ["ADDED"]) == ("after", "new")
    assert not {"REMOVED", "NEVER_SET"} & set(environ)
    expected = {**os.environ, "CHANGED": "after", "ADDED": "new"}
    del expected["REMOVED"]
    # Only what a shell or an interpreter adds by itself may be more.
    assert {name: environ.get(name) for name in expected} == expected


def test_env_when_os_environ_changes_later_then_each_start_takes_what_there_is(monkeypatch):
    """The snapshot is taken at each start, not when the agent is made."""
    with FakeHarness(version=VERSION) as fake:
        agent = fake_agent(fake)
        for value in ("one", "two"):
            monkeypatch.setenv("STAGE", value)
            with agent:
                assert fake.environ["STAGE"] == value


def test_env_when_two_agents_in_two_threads_then_each_has_its_own():
    """Nothing process-wide is used, so agents with different variables do not mix."""
    with FakeHarness(version=VERSION) as fake:

        def work(name: str) -> int:
            with fake_agent(fake, env={"FOO": name}) as agent:
                assert agent.chat("hi").text == "ok"
                return agent.pid

        names = ["one", "two", "three", "four"]
        pids = [task.result() for task in [Task(lambda name=name: work(name)) for name in names]]
        found = {r.pid: r.facts["environ"]["FOO"] for r in fake.records if r.event == "spawned"}
        assert [found[pid] for pid in pids] == names
        assert "FOO" not in os.environ


def test_env_when_values_are_unicode_then_they_arrive_unchanged():
    """Any text that the system can carry goes through, undecodable bytes too."""
    values = {"GREETING": "grüße 🌍\n", "ÜMLAUT": "", "BYTES": os.fsdecode(b"\xff\xfe")}
    with FakeHarness(version=VERSION) as fake, fake_agent(fake, env=values):
        assert {name: fake.environ[name] for name in values} == values


@pytest.mark.parametrize("env", [{"A": "\ud800"}, {"\ud800": "x"}])
def test_env_when_the_system_cannot_carry_it_then_a_config_error(env):
    """What cannot be encoded is refused where it was written, not when a process is started."""
    with FakeHarness(version=VERSION) as fake, pytest.raises(ConfigError, match="env"):
        fake_agent(fake, env=env).start()


def test_keys_when_in_the_environment_then_sent_on_the_wire_and_kept_from_the_process(
    monkeypatch,
):
    """Model keys reach the harness in the first message alone, whichever way they were given."""
    monkeypatch.setenv("GEMINI_API_KEY", "key-of-os")
    monkeypatch.setenv("GOOGLE_API_KEY", "other-key-of-os")
    for env, key in [({}, "key-of-os"), ({"GEMINI_API_KEY": "key-of-env"}, "key-of-env")]:
        with FakeHarness(version=VERSION) as fake:
            with fake_agent(fake, api_key=None, env=env):
                config = fake.wait_for("config")["config"]
            assert config["models"][0]["geminiApiEndpoint"]["apiKey"] == key
            assert not [value for value in fake.environ.values() if "key-of" in value]


# ── directories ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.real
@pytest.mark.parametrize("home", [None, "/dev/null", "/dev/null/home"])
def test_home_when_unset_or_unusable_then_a_turn_works(make_agent, home):
    """The harness needs no home: what it keeps goes to the directories it is given."""
    with ScriptedModel("fine") as model, make_agent(model, env={"HOME": home}) as agent:
        assert agent.chat("hi").text == "fine"


@pytest.mark.parametrize("option", ["save_dir", "app_data_dir"])
@pytest.mark.parametrize("bad", ["a file", "below a file", "no place at all"])
def test_directory_when_it_cannot_be_used_then_a_config_error_before_a_process(
    option, bad, tmp_path
):
    """A directory that cannot be written is refused before anything is spawned."""
    file = tmp_path / "file"
    file.write_text("in the way")
    place = {
        "a file": file,
        "below a file": file / "deep" / "er",
        "no place at all": "/proc/self/x",
    }
    with FakeHarness(version=VERSION) as fake:
        with pytest.raises(ConfigError, match=option):
            fake_agent(fake, **{option: place[bad]}).start()
        assert fake.events == []


def test_save_dir_when_missing_then_it_is_made_for_this_user_alone(tmp_path):
    """A new save directory is private, is what the harness is told, and stays."""
    save_dir = tmp_path / "ünï" / "🌍 saved"
    with FakeHarness(version=VERSION) as fake:
        with fake_agent(fake, save_dir=save_dir) as agent:
            assert agent.chat("hi").text == "ok"
            assert fake.input_config["storage_directory"] == str(save_dir)
            config = fake.wait_for("config")["config"]
            assert config["appDataDir"] == str(save_dir / "app_data")
        assert stat.S_IMODE(save_dir.stat().st_mode) == 0o700
        assert save_dir.is_dir()


def test_save_dir_when_none_then_a_private_one_that_goes_at_close(temporary):
    """Without a save directory the conversation lives in a private one, gone after close()."""
    with FakeHarness(version=VERSION) as fake:
        with fake_agent(fake):
            storage = fake.input_config["storage_directory"]
            assert os.path.dirname(storage) == str(temporary)
            assert stat.S_IMODE(os.stat(storage).st_mode) == 0o700
        assert not os.path.exists(storage)


def test_save_dir_when_it_is_no_unicode_then_a_config_error(tmp_path):
    """The harness is told its directories in UTF-8; a name that is none is refused at once."""
    with FakeHarness(version=VERSION) as fake:
        with pytest.raises(ConfigError, match="save_dir"):
            fake_agent(fake, save_dir=tmp_path / os.fsdecode(b"\xff")).start()
        assert fake.events == []
