"""Go on with a conversation after its program is gone; a second agent is kept out meanwhile.

python examples/resume.py
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from antigravity_sync import Agent
from antigravity_sync.errors import ConversationBusyError, SessionLostError
from antigravity_sync.testing import ScriptedModel

NAME = "customer 4711"


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        "Nice to meet you, Ada.",
        lambda request: f"You are Ada; {len(request.contents)} messages tell me so.",
    ) as model:
        yield model.agent_options()


def main() -> None:
    with model_options() as options, tempfile.TemporaryDirectory() as save_dir:
        saved = {"save_dir": save_dir, "conversation_id": NAME, **options}
        agent = Agent(**saved).start()
        print(agent.chat("My name is Ada.").text)
        try:
            Agent(**saved).start()
        except ConversationBusyError as error:
            print(f"Busy: process {error.pid} has it open.")
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        try:
            agent.chat("Are you there?")
        except SessionLostError as error:
            print(f"Lost: exit code {error.exit_code}.")
        agent.close()

        with Agent(**saved, resume="must") as agent:
            for step in agent.initial_history:
                mark = " (interrupted)" if step.is_interrupted else ""
                print(f"Restored: {step.source}: {step.text}{mark}")
            print(agent.chat("Who am I?").text)


if __name__ == "__main__":
    main()
