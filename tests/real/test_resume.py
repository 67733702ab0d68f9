"""A conversation in a `save_dir` goes on: in another agent, in the same one, under either id."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from antigravity_sync import Hooks
from antigravity_sync.errors import (
    ConversationBusyError,
    ConversationExistsError,
    ConversationNotFoundError,
    InitError,
)
from antigravity_sync.testing import ScriptedModel, always
from tests.versions import VERSIONS, harness_path, release

pytestmark = pytest.mark.real

#: No harness would take it as an id, nor a file system as a name.
NAME = "../user 7/ünï\n" + "x" * 300


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "saved"


def db_files(saved: Path) -> list[str]:
    return sorted(path.stem for path in saved.glob("*.db"))


def test_resume_when_closed_then_another_agent_goes_on(make_agent, saved, version):
    """The model is told all that went before; what is new is counted and shown by itself."""
    restores_usage = release(version) >= (0, 1, 10)
    started: list[str] = []
    options = {"save_dir": saved, "hooks": [Hooks(on_session_start=started.append)]}
    with ScriptedModel("one", "two", "three") as model:
        with make_agent(model, conversation_id=NAME, **options) as agent:
            assert agent.initial_history == ()
            assert agent.chat("my name is ZQX").conversation_id == agent.conversation_id == NAME
            assert agent.usage.total_tokens == 15
        (wire_id,) = db_files(saved)
        for name in (NAME, wire_id):
            with make_agent(model, conversation_id=name, resume="must", **options) as agent:
                assert agent.conversation_id == name
                before = agent.initial_history
                assert agent.usage.total_tokens == (
                    len(before) // 2 * 15 if restores_usage else None
                )
                response = agent.chat("who am I?")
                assert response.usage.total_tokens == 15
                assert agent.usage.total_tokens == 15 + (restores_usage and len(before) // 2 * 15)
                assert [step.source for step in response.steps] == ["USER", "MODEL"]
                assert response.steps[0].index == len(before)
                assert agent.history == before + response.steps
                assert not any(step.is_interrupted for step in agent.history)
        assert [step.text for step in before] == ["my name is ZQX", "one", "who am I?", "two"]
        assert db_files(saved) == [wire_id]
    assert started == [NAME, NAME, wire_id]
    told = [request.contents for request in model.requests]
    assert [len(contents) for contents in told] == [1, 3, 5]
    assert "my name is ZQX" in str(told[2][0])


def test_resume_when_told_must_or_never_then_held_to_it(make_agent, saved):
    """The errors come before a harness is started, and nothing is begun by accident."""
    with ScriptedModel(always("hi")) as model:

        def make(name, resume):
            return make_agent(model, save_dir=saved, conversation_id=name, resume=resume)

        with pytest.raises(ConversationNotFoundError):
            make("bob", "must").start()
        assert db_files(saved) == []
        with make("bob", "never") as agent:
            agent.chat("hi")
            with pytest.raises(ConversationBusyError):
                make("bob", "must").start()
        with pytest.raises(ConversationExistsError):
            make("bob", "never").start()
        with pytest.raises(ConversationNotFoundError):
            make("alice", "must").start()
        with make_agent(model, save_dir=saved, resume="never") as agent:
            assert agent.conversation_id in db_files(saved)
        assert len(db_files(saved)) == 2


def test_start_again_when_there_is_a_save_dir_then_it_goes_on(make_agent, saved):
    """Also without an id, though nothing was said yet, and after a reset."""
    with ScriptedModel("one", "two", "three") as model:
        agent = make_agent(model, save_dir=saved)
        with agent:
            name = agent.conversation_id
        with agent:
            assert (agent.conversation_id, agent.initial_history) == (name, ())
            agent.chat("first")
            agent.reset()
            assert agent.history == ()
            agent.chat("second")
            other = agent.conversation_id
        with agent:
            assert agent.conversation_id == other
            assert [step.text for step in agent.initial_history] == ["second", "two"]
            agent.chat("third")
        assert db_files(saved) == sorted([name, other])
    assert "first" not in str(model.requests[-1].contents)
    assert "second" in str(model.requests[-1].contents)


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_start_again_when_there_is_no_save_dir_then_a_new_one(make_agent):
    """The private directory went at close, and the memory with it."""
    with ScriptedModel("one", "two") as model:
        agent = make_agent(model)
        with agent:
            agent.chat("first")
            name = agent.conversation_id
        with agent:
            assert (agent.history, agent.initial_history) == ((), ())
            agent.chat("second")
            assert agent.conversation_id != name
    assert "first" not in str(model.requests[-1].contents)


def test_resume_when_the_file_is_damaged_then_an_error_that_names_it(make_agent, saved):
    """It is neither repaired nor begun anew behind your back, and nothing stays locked."""
    with ScriptedModel(always("hi")) as model:
        with make_agent(model, save_dir=saved, conversation_id="bob") as agent:
            agent.chat("hi")
        (path,) = saved.glob("*.db")
        for damaged in (path.read_bytes()[:5000], b"junk" * 4096):
            path.write_bytes(damaged)
            with pytest.raises(InitError, match=r"\.db: .*restore the file") as caught:
                make_agent(model, save_dir=saved, conversation_id="bob").start()
            assert type(caught.value) is InitError
            assert path.read_bytes() == damaged
            assert list(saved.glob("*.lock")) == []


def test_resume_when_the_version_must_be_found_out_then_the_same(
    make_agent, saved, tmp_path, version
):
    """A binary without a version beside it is asked by the message that opens the conversation."""
    path = tmp_path / "localharness"
    shutil.copy(harness_path(version), path)
    with ScriptedModel("one", "two") as model:
        for prompt in ("first", "second"):
            options = {"harness_path": path, "save_dir": saved, "conversation_id": "bob"}
            with make_agent(model, **options) as agent:
                agent.chat(prompt)
        assert len(db_files(saved)) == 1
    assert len(model.requests[1].contents) == 3


@pytest.mark.parametrize("version", VERSIONS[-1:])
def test_history_when_there_is_more_than_it_keeps_then_the_last_of_it(make_agent, saved):
    """What was restored is whole in `initial_history`, whatever `history` keeps."""
    with ScriptedModel("one", "two") as model:
        agent = make_agent(model, save_dir=saved, max_history=3)
        with agent:
            agent.chat("first")
            agent.chat("second")
        with agent:
            assert [step.text for step in agent.initial_history] == [
                "first",
                "one",
                "second",
                "two",
            ]
            assert [step.text for step in agent.history] == ["one", "second", "two"]
