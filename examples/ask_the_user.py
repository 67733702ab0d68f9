"""Pass the model's questions on to the person at the terminal.

python examples/ask_the_user.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from antigravity_sync import Agent, Answer, Capabilities, Hooks, Question, policy
from antigravity_sync.testing import ScriptedModel, call

ASKED = {"question": "Which colour?", "options": ["red", "blue"], "is_multi_select": False}


@contextmanager
def model_options() -> Iterator[dict[str, str]]:
    """Yield the options of the real model if there is a key, of a scripted one if not."""
    if os.environ.get("GEMINI_API_KEY"):
        yield {}
        return
    print("No GEMINI_API_KEY: a scripted model answers, so the words are known beforehand.\n")
    with ScriptedModel(
        call("ask_question", questions=[ASKED]), "I shall keep that in mind."
    ) as model:
        yield model.agent_options()


def ask(question: Question) -> Answer:
    print(question.text)
    for number, choice in enumerate(question.choices, 1):
        print(f"  {number}. {choice}")
    if not sys.stdin.isatty():
        print("No terminal to ask at, so this stays unanswered.")
        return Answer.unanswered()
    said = input("A number, or your own words: ").strip()
    if said.isdecimal() and 1 <= int(said) <= len(question.choices):
        return Answer.choices(int(said) - 1)
    return Answer.freeform(said)


def ask_all(questions: Sequence[Question]) -> list[Answer]:
    return [ask(question) for question in questions]


def main() -> None:
    with (
        model_options() as options,
        Agent(
            capabilities=Capabilities.read_only().enable("ask_question"),
            policies=[policy.allow("ask_question")],
            hooks=[Hooks(on_questions=ask_all)],
            **options,
        ) as agent,
    ):
        print(agent.chat("Ask me for my favourite colour.").text)


if __name__ == "__main__":
    main()
