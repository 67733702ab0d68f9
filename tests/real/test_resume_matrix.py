"""Ways to die, and what a conversation still knows when another agent goes on with it.

In each a first turn has ended and the second one is hit; then a new agent resumes. Proof is what
the harness restores and what the model is told. The last test prints the table.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from antigravity_sync import Agent, Capabilities, Hooks, Retry, policy, tool
from antigravity_sync.errors import InvalidRequestError, SessionLostError
from antigravity_sync.events import TextDelta
from antigravity_sync.responses import Step
from antigravity_sync.testing import ModelGate, ScriptedModel, call, chunks, http_error, usage
from antigravity_sync.turn import Turn
from tests.gates import Task, wait_until
from tests.loop.scripts import Script, orphans_come_to_us
from tests.versions import harness_path

pytestmark = pytest.mark.real

VERSIONS: Final = ("0.1.10", "0.1.22")
OPTIONS: Final[dict[str, Any]] = {
    "conversation_id": "matrix",
    "capabilities": Capabilities.read_only().enable("run_command", "ask_question"),
    "policies": [policy.allow_all(), policy.allow("ask_question")],
    "retry": Retry(max_retries=0),
}
#: (way, version) → what was restored of the second turn, what the model was told of it.
TABLE: dict[tuple[str, str], tuple[str, str]] = {}


@attrs.define
class Scene:
    """A conversation that is about to be hit, with an agent whose first turn is over.

    Attributes:
        version: Of the harness.
        place: A directory for everything.
        gate: Holds the model in mid-answer.
        reply: What the model says to the second prompt.
        is_summarising: Whether the harness has asked for a summary, to make room.
    """

    version: str
    place: Path
    gate: ModelGate = attrs.field(factory=ModelGate)
    reply: Callable[[Scene], Any] = lambda _scene: "never"
    is_summarising: bool = False
    model: ScriptedModel = attrs.field(init=False)
    agent: Agent = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.model = ScriptedModel(self._answer, loop=True)

    def _answer(self, request: Any) -> Any:
        known = {"first": "noted", "third": "fine"}
        if "continuation summary" in request.last_text:
            self.is_summarising = True
            return chunks(self.gate, "late")
        return known.get(request.prompt) or self.reply(self)

    def make(self, **options: Any) -> Agent:
        return Agent(
            harness_path=harness_path(self.version),
            save_dir=self.place / "saved",
            workspaces=[self.place],
            env={"HOME": str(self.place)},
            **{**OPTIONS, **self.model.agent_options(), **options},
        )

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.agent.pid, number)

    def begun(self) -> Turn:
        """Begin the second turn; return it when its answer has begun."""
        turn = self.agent.stream("second")
        assert next(event.text for event in turn if isinstance(event, TextDelta)) == "half"
        return turn


# ── ways to die ─────────────────────────────────────────────────────────────────────────────────


def between_turns(number: int) -> Callable[[Scene], None]:
    def die(scene: Scene) -> None:
        scene.kill(number)
        assert scene.agent.close().exit_code == -number

    return die


def just_asked(scene: Scene) -> None:
    turn = scene.agent.stream("second")
    scene.kill()
    with pytest.raises(SessionLostError):
        turn.response()


def when(is_due: Callable[[Scene], object]) -> Callable[[Scene], None]:
    def die(scene: Scene) -> None:
        task = Task(lambda: scene.agent.chat("second"))
        wait_until(lambda: is_due(scene), "the moment to kill")
        scene.kill()
        with pytest.raises(SessionLostError):
            task.result()

    return die


def in_mid_answer(*numbers: int) -> Callable[[Scene], None]:
    def die(scene: Scene) -> None:
        turn = scene.begun()
        for number in numbers:
            scene.kill(number)
        with pytest.raises(SessionLostError):
            turn.response()

    return die


def in_callback(scene: Scene) -> None:
    """Have a tool, hook or handler kill the harness."""
    with pytest.raises(SessionLostError):
        scene.agent.chat("second")


def closed_in_mid_answer(scene: Scene) -> None:
    scene.begun()
    assert scene.agent.close().clean


def after_a_failure(scene: Scene) -> None:
    with pytest.raises(InvalidRequestError):
        scene.agent.chat("second")
    between_turns(signal.SIGKILL)(scene)


def after_a_cancel(scene: Scene) -> None:
    turn = scene.begun()
    turn.cancel()
    assert turn.response().cancelled
    between_turns(signal.SIGKILL)(scene)


PARENT: Final = """
agent = make(save_dir=sys.argv[2], conversation_id="matrix", base_url=sys.argv[3],
             workspaces=[sys.argv[4]], env={"HOME": sys.argv[4]}).start()
for piece in agent.stream("second").text_deltas():
    print(piece, flush=True)
"""


def parent_dies(scene: Scene) -> None:
    """Kill the program; the next agent waits until its harness has noticed."""
    scene.agent.close()
    paths = (scene.place / "saved", scene.model.base_url, scene.place)
    script = Script(PARENT, str(harness_path(scene.version)), *map(str, paths))
    script.expect("half")
    os.kill(script.pid, signal.SIGKILL)
    assert script.end().code == -9


# ── what is going on then ───────────────────────────────────────────────────────────────────────


def half(scene: Scene) -> Any:
    return chunks("half", scene.gate, " done")


def command(scene: Scene) -> Any:
    line = f"touch {scene.place}/began; sleep 300"
    return call("run_command", CommandLine=line, Cwd=str(scene.place), WaitMsBeforeAsync=20_000)


def question(_scene: Scene) -> Any:
    asked = {"question": "Tea?", "options": ["yes", "no"], "is_multi_select": False}
    return call("ask_question", questions=[asked])


def compacting(_scene: Scene) -> dict[str, Any]:
    by_count = {"tokenThreshold": 20_000, "useModelReportedTokenCount": True}
    return {"raw_config": {"compactionConfig": by_count}}


def killing_tool(scene: Scene) -> dict[str, Any]:
    @tool
    def leave() -> str:
        """Leave."""
        scene.kill()
        return "gone"

    return {"tools": [leave]}


def killing_hook(name: str) -> Callable[[Scene], dict[str, Any]]:
    def options(scene: Scene) -> dict[str, Any]:
        def kill(_about: object) -> Any:
            scene.kill()

        return {"hooks": [Hooks(**{name: kill})]}

    return options


#: What is restored of the second turn, and what the model is told of it with the third prompt.
Outcome = tuple[str, str]
NOTHING: Final[Outcome] = ("", "")
PROMPT: Final[Outcome] = ("user second", "user second")
CUT: Final[Outcome] = ("user second, model half (interrupted)", "user second")
ENDED: Final[Outcome] = ("user second, model half", "user second, model half")


def interrupted_call(shown: str, name: str, answer: str) -> tuple[Outcome, ...]:
    """Return what may come of a call: its step and the model's words are saved one by one."""
    restored = f"user second, model {shown} (interrupted)"
    told = f"user second, call {name}, response {answer}"
    return (PROMPT, (restored, PROMPT[1]), (restored, told))


@attrs.frozen
class Way:
    """A way to die.

    Attributes:
        die: Does it.
        outcomes: What may come of it; several where a race decides.
        reply: What the model says to the second prompt.
        options: Of the agent that is hit.
        versions: Where it is gone.
    """

    die: Callable[[Scene], None]
    outcomes: tuple[Outcome, ...]
    reply: Callable[[Scene], Any] = half
    options: Callable[[Scene], dict[str, Any]] = lambda _scene: {}
    versions: tuple[str, ...] = VERSIONS


WAYS: Final[dict[str, Way]] = {
    "SIGKILL between turns": Way(between_turns(signal.SIGKILL), (NOTHING,)),
    "SIGTERM between turns": Way(between_turns(signal.SIGTERM), (NOTHING,)),
    "SIGKILL right after the prompt": Way(just_asked, (NOTHING, PROMPT, CUT)),
    "SIGKILL while the model thinks": Way(
        when(lambda scene: len(scene.model.requests) == 2),
        (PROMPT,),
        lambda scene: chunks(scene.gate, "late"),
    ),
    "SIGKILL in mid-answer": Way(in_mid_answer(signal.SIGKILL), (PROMPT, CUT)),
    "SIGSTOP, SIGKILL in mid-answer": Way(
        in_mid_answer(signal.SIGSTOP, signal.SIGKILL), (PROMPT, CUT)
    ),
    "close() in mid-answer": Way(closed_in_mid_answer, (ENDED,)),
    "SIGKILL of the program": Way(parent_dies, (PROMPT, CUT, ENDED)),
    "SIGKILL in a tool of yours": Way(
        in_callback,
        interrupted_call("Calling leave", "leave", "Tool response for leave: <empty>"),
        lambda _scene: call("leave"),
        killing_tool,
    ),
    "SIGKILL in a command": Way(
        when(lambda scene: (scene.place / "began").exists()),
        interrupted_call("run_command", "run_command", "Step is still running"),
        command,
    ),
    "SIGKILL in on_pre_tool": Way(in_callback, (PROMPT,), command, killing_hook("on_pre_tool")),
    "SIGKILL at a question": Way(
        in_callback,
        interrupted_call("Calling ask_ques", "ask_question", "Step is WAITING for user approval"),
        question,
        killing_hook("on_questions"),
    ),
    "SIGKILL in a compaction": Way(
        when(lambda scene: scene.is_summarising),
        ((f"{ENDED[0]}, system Context compacti (interrupted)", ENDED[1]),),
        lambda _scene: usage("half", prompt=60_000),
        compacting,
        ("0.1.22",),  # the other one must be told more for it than is quick
    ),
    "SIGKILL after a failed turn": Way(
        after_a_failure,
        (("user second, system Agent execution ", "user second"),),
        lambda _scene: http_error(400, "no"),
    ),
    "SIGKILL after a cancelled turn": Way(after_a_cancel, (ENDED,)),
}

_NOISE: Final = re.compile(
    r"</?USER_REQUEST>|<ADDITIONAL_METADATA>.*?</ADDITIONAL_METADATA>|Created At: \S+", re.DOTALL
)


def described(step: Step) -> str:
    """Return a step in a few words."""
    what = step.action.name if step.action else step.text or step.error
    mark = " (interrupted)" if step.is_interrupted else ""
    return f"{step.source.lower()} {what:.16}{mark}"


def told(contents: list[Any]) -> list[str]:
    """Return what the model is told, in a few words for each part."""
    found = []
    for content in contents:
        for part in content["parts"]:
            if "functionCall" in part:
                found.append(f"call {part['functionCall']['name']}")
            elif "functionResponse" in part:
                output = str(part["functionResponse"]["response"].get("output"))
                found.append(f"response {' '.join(_NOISE.sub('', output).split())}")
            else:
                found.append(f"{content['role']} {' '.join(_NOISE.sub('', part['text']).split())}")
    return found


CELLS: Final = [(name, version) for name, way in WAYS.items() for version in way.versions]


@pytest.mark.parametrize(("name", "version"), CELLS)
def test_resume_when_it_died_then_finished_turns_are_whole_and_the_rest_is_marked(
    name: str, version: str, tmp_path: Path
) -> None:
    """Whatever it died of, what had ended is there, and the next turn works and is counted."""
    way = WAYS[name]
    scene = Scene(version, tmp_path, reply=way.reply)
    with orphans_come_to_us(), scene.model:
        scene.agent = scene.make(**way.options(scene)).start()
        try:
            assert scene.agent.chat("first").text == "noted"
            way.die(scene)
            with scene.make(resume="must") as agent:
                history, before = agent.initial_history, agent.usage
                third = agent.chat("third")
                assert agent.history == history + third.steps
                assert agent.usage == before + third.usage
        finally:
            scene.gate.release_all()
            scene.agent.close()
    finished, rest = history[:2], history[2:]
    assert [(step.text, step.state) for step in finished] == [("first", "DONE"), ("noted", "DONE")]
    assert (third.text, third.usage.total_tokens) == ("fine", 15)
    assert (before.total_tokens or 0) >= 15
    words = told(scene.model.requests[-1].contents)
    assert words[:2] == ["user first", "model noted"]
    assert words[-1] == "user third"
    outcome = (", ".join(map(described, rest)), ", ".join(words[2:-1]))
    TABLE[name, version] = outcome
    assert outcome in way.outcomes


def test_matrix_when_all_has_run_then_no_cell_is_empty() -> None:
    """Every way was gone on its versions; with `-s` the table is shown."""
    assert set(TABLE) == set(CELLS)
    rows = [("died of", "harness", "restored of the second turn", "the model is told")]
    rows += [
        (name, version, *(cell or "-" for cell in TABLE[name, version])) for name, version in TABLE
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()  # noqa: T201 - the table
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())  # noqa: T201 - the table
