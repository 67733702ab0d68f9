"""However the program ends, it ends, and takes its harness along."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from antigravity_sync.cli import main
from antigravity_sync.testing.fake_harness import (
    FakeHarness,
    delta,
    hook,
    running,
    user_echo,
    wait_for_signal,
)
from antigravity_sync.wire import read_recording
from tests.gates import wait_until
from tests.loop.fakes import VERSION
from tests.loop.scripts import (
    Script,
    adopted_exit_codes,
    assert_reaped_by_its_parent,
    orphans_come_to_us,
)

#: A turn that has begun to answer and does not go on.
STUCK = [running(), user_echo(), delta("some"), wait_for_signal("never")]


@pytest.fixture(autouse=True)
def _reaper():
    with orphans_come_to_us():
        yield


# ── ends at which Python still runs our code ────────────────────────────────────────────────────

ORDERLY = {
    "forgotten close": ("agent = make()\nagent.start()\nassert agent.chat('hi').text == 'ok'\n", 0),
    "attribute of a class": (
        "class Service:\n    agent = make()\nService.agent.start()\nService.agent.chat('hi')\n",
        0,
    ),
    "reference cycle": (
        "class Holder: pass\nholder = Holder()\nholder.me = holder\nholder.agent = make()\n"
        "holder.agent.start()\n",
        0,
    ),
    "made and forgotten in a thread": (
        "agents = []\n"
        "def work():\n    agents.append(make())\n    agents[0].start()\n    agents[0].chat('hi')\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n",
        0,
    ),
    "two agents": ("agents = [make().start(), make().start()]\nagents[1].chat('hi')\n", 0),
    "closed": ("with make() as agent:\n    agent.chat('hi')\n", 0),
    "closed at exit by the program": (
        "import atexit\nagent = make()\natexit.register(agent.close)\nagent.start()\n",
        0,
    ),
}


@pytest.mark.parametrize("name", ORDERLY)
def test_exit_when_an_agent_is_open_then_its_harness_is_closed_and_reaped(name):
    """An open agent is closed in order at exit: end of file, exit code 0, no word on stderr."""
    source, code = ORDERLY[name]
    with FakeHarness(version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert (ended.code, ended.err) == (code, "")
        assert_reaped_by_its_parent(fake)
        assert fake.events.count("exit:0") == len(fake.pids)
        assert fake.events.count("close:1000") == len(fake.pids)


def test_exit_when_it_drops_the_agent_on_the_way_then_warns_and_closes_too():
    """An agent that went with its function's frame is closed like any other that was dropped."""
    source = "def main():\n    agent = make()\n    agent.start()\n    sys.exit(4)\nmain()\n"
    with FakeHarness(version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert ended.code == 4
        assert ended.err.count("Traceback") == 1
        assert "ResourceWarning: an Agent was dropped without close()" in ended.err
        assert_reaped_by_its_parent(fake)
        assert "exit:0" in fake.events


def test_exit_when_in_the_middle_of_a_stream_then_the_turn_is_halted():
    """sys.exit between two events halts the turn, closes, and keeps its code."""
    source = "agent = make().start()\nfor event in agent.stream('hi'):\n    sys.exit(3)\n"
    with FakeHarness(STUCK, version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert (ended.code, ended.err) == (3, "")
        assert_reaped_by_its_parent(fake)
        assert "message:haltRequest" in fake.events
        assert "exit:0" in fake.events


def test_exit_when_an_exception_is_not_handled_then_only_that_is_told():
    """The program's own traceback is the only one, and nothing masks its exit code."""
    source = "with make() as agent:\n    agent.chat('hi')\n    raise ValueError('mine')\n"
    source_open = "agent = make().start()\nraise ValueError('mine')\n"
    for text in (source, source_open):
        with FakeHarness(version=VERSION) as fake:
            ended = Script(text, fake.path).end()
            assert ended.code == 1
            assert ended.err.count("Traceback") == 1
            assert ended.err.endswith("ValueError: mine\n")
            assert_reaped_by_its_parent(fake)
            assert "exit:0" in fake.events


def test_exit_when_another_thread_is_inside_chat_then_does_not_wait_for_it():
    """A daemon thread in the middle of a turn does not hold up the end."""
    source = (
        "agent = make().start()\n"
        "threading.Thread(target=agent.chat, args=('hi',), daemon=True).start()\n"
        "import antigravity_sync.agent\n"
        "while agent.is_idle: pass\n"
    )
    with FakeHarness(STUCK, version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert ended.code == 0
        assert_reaped_by_its_parent(fake)
        assert "exit:0" in fake.events


@pytest.mark.parametrize("count", [1, 3])
def test_exit_when_the_harness_ignores_the_end_of_stdin_then_it_is_ended(count):
    """At exit too a harness that does not go is made to, several at the same time."""
    source = f"agents = [make().start() for _ in range({count})]\n"
    with FakeHarness(version=VERSION, ignore_eof=True, ignore_sigterm=True) as fake:
        ended = Script(source, fake.path).end()
        assert (ended.code, ended.err) == (0, "")
        assert_reaped_by_its_parent(fake)
        assert len(fake.pids) == count
        assert fake.events.count("sigterm") == count


def test_exit_when_a_policy_blocks_for_ever_then_the_main_thread_closes():
    """A pump that never comes back from user code does not keep the harness alive."""
    source = (
        "inside = threading.Event()\n"
        "def block(call):\n    inside.set()\n    threading.Event().wait()\n"
        "agent = make(policies=[policy.allow('*', when=block)]).start()\n"
        "turn = agent.stream('hi')\n"
        "assert inside.wait(20)\n"
        "sys.exit(6)\n"
    )
    asks = [running(), user_echo(), hook("PRE_TOOL", toolName="x", argumentsJson="{}")]
    with FakeHarness([*asks, wait_for_signal("never")], version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert ended.code == 6
        assert "Traceback" not in ended.err
        assert_reaped_by_its_parent(fake)


# ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────────

INTERRUPTED = {
    "not caught": ("with make() as agent:\n    agent.chat('hi')\n", -signal.SIGINT),
    "not caught, open": ("agent = make().start()\nagent.chat('hi')\n", -signal.SIGINT),
    "caught": (
        "try:\n    with make() as agent:\n        agent.chat('hi')\n"
        "except KeyboardInterrupt:\n    sys.exit(130)\n",
        130,
    ),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_exit_when_interrupted_at_the_terminal_then_harness_is_halted_not_killed(name):
    """Ctrl-C goes to the whole group; the harness is not in it, and ends in order."""
    source, code = INTERRUPTED[name]
    with FakeHarness(STUCK, version=VERSION) as fake:
        script = Script(source, fake.path)
        fake.wait_for_event("gate:never")
        os.killpg(script.pid, signal.SIGINT)
        ended = script.end()
        assert ended.code == code
        assert ended.err.count("Traceback") == (0 if code == 130 else 1)
        assert ended.err == "" or ended.err.endswith("KeyboardInterrupt\n")
        assert_reaped_by_its_parent(fake)
        assert "sigint" not in fake.events
        assert fake.events.index("message:haltRequest") < fake.events.index("eof")
        assert "exit:0" in fake.events


# ── ends at which it does not ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turn", [STUCK, "ok"], ids=["mid-turn", "idle"])
@pytest.mark.parametrize("how", ["_exit", "SIGTERM", "SIGKILL"])
def test_exit_when_python_gets_no_chance_then_the_harness_sees_it_and_exits(how, turn, tmp_path):
    """Without a word from us the kernel closes stdin, and the harness exits with 0."""
    source = (
        "agent = make().start()\n"
        "for event in agent.stream('hi'):\n    break\n"
        "if sys.argv[2] == '_exit':\n    os._exit(5)\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    with FakeHarness(turn, version=VERSION) as fake:
        script = Script(source, fake.path, how, temporary=tmp_path)
        if how == "_exit":
            code = 5
        else:
            script.expect("ready")
            number = getattr(signal, how)
            os.kill(script.pid, number)
            code = -number
        ended = script.end()
        assert (ended.code, ended.err) == (code, "")
        assert adopted_exit_codes(fake) == [0]
        assert "eof" in fake.events


def test_recording_when_the_program_is_killed_in_mid_turn_then_what_came_can_be_read(
    tmp_path, capsys
):
    """What had come is in the file without a close; a last line that is torn is passed over."""
    path = tmp_path / "wire.jsonl"
    source = (
        "from antigravity_sync.wire import JsonlRecorder\n"
        "agent = make(wire_inspectors=[JsonlRecorder(sys.argv[2])]).start()\n"
        "agent.chat('hi')\n"
    )
    answer_so_far = [delta("one "), delta("two "), delta("three")]
    stuck = [running(), user_echo(), *answer_so_far, wait_for_signal("never")]
    with FakeHarness(stuck, version=VERSION) as fake:
        script = Script(source, fake.path, str(path), temporary=tmp_path)
        fake.wait_for_event("gate:never")
        wait_until(lambda: path.exists() and b"three" in path.read_bytes(), "the recorded answer")
        os.kill(script.pid, signal.SIGKILL)
        assert script.end().code == -signal.SIGKILL
        assert adopted_exit_codes(fake) == [0]
    with path.open("r+b") as file:
        whole = file.read()
        assert whole.endswith(b"}\n")
        file.truncate(len(whole) - 9)  # as if it had died in the middle of the last write
    records = list(read_recording(path))
    assert len(records) == whole.count(b"\n") - 1
    assert records[0]["kind"] == "HarnessSpawn"
    assert records[-1]["payload"]["stepUpdate"]["text"] == "one two "
    assert main(["trace", str(path)]) == 0
    assert "hi" in capsys.readouterr().out


def test_exit_when_sigterm_is_turned_into_sys_exit_then_closes_in_order():
    """What a service does with SIGTERM: the handler raises SystemExit inside chat()."""
    source = (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "with make() as agent:\n    agent.chat('hi')\n"
    )
    with FakeHarness(STUCK, version=VERSION) as fake:
        script = Script(source, fake.path)
        fake.wait_for_event("gate:never")
        os.kill(script.pid, signal.SIGTERM)
        ended = script.end()
        assert (ended.code, ended.err) == (143, "")
        assert_reaped_by_its_parent(fake)
        assert "sigterm" not in fake.events
        assert "exit:0" in fake.events


# ── a system with nothing to spare ──────────────────────────────────────────────────────────────


@pytest.mark.skipif(
    not hasattr(subprocess.Popen, "_on_error_fd_closer"),
    reason="this Python's own subprocess leaks pipes then (gh-87474)",
)
def test_start_when_descriptors_run_out_anywhere_then_an_error_of_ours_and_nothing_left():
    """With room for 0, 1, 2, ... descriptors every start either works or fails cleanly."""
    source = """
import resource
from antigravity_sync.errors import AntigravityError, LaunchError
def facts():
    names = sorted(t.name for t in threading.enumerate())
    with open('/proc/self/task/%d/children' % os.getpid()) as file:
        children = file.read()
    listed = os.listdir('/proc/self/fd')  # the listing's own is closed by the next line
    fds = sorted(fd for fd in listed if os.path.lexists('/proc/self/fd/' + fd))
    return names, fds, children
agent = make()
agent.start(); agent.close()
before = facts()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
failed = worked = 0
for room in range(24):
    resource.setrlimit(resource.RLIMIT_NOFILE, (3 + room, hard))
    try:
        agent.start()
        worked += 1
    except LaunchError as error:
        failed += 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    agent.close()
    after = facts()
    assert after == before, (room, before, after)
assert failed > 5, failed
assert worked > 5, worked
"""
    with FakeHarness(version=VERSION) as fake:
        ended = Script(source, fake.path).end()
        assert (ended.code, ended.err) == (0, "")
