"""The one connection of a conversation, which several threads may write to."""

from __future__ import annotations

import json

from antigravity_sync._clock import Deadline, MonotonicClock
from antigravity_sync._transport.link import Link
from antigravity_sync._wire.frames import Endpoint
from antigravity_sync.testing.fake_harness import FakeHarness
from tests.gates import CEILING, Task, wait_until
from tests.loop.fakes import VERSION
from tests.loop.raw_client import RawHarness

THREADS, EACH = 8, 25


def test_send_when_many_threads_do_at_once_then_no_message_is_torn():
    """Each arrives once and whole, those of a thread in its order."""
    with FakeHarness(version=VERSION) as fake, RawHarness(fake.path) as harness:
        harness.ready()
        deadline = Deadline.after(MonotonicClock(), CEILING)
        link = Link.connect(Endpoint(harness.port, harness.key), deadline)
        link.send(json.dumps({"config": {}}))
        assert link.receive_first(deadline)

        def send(thread: int) -> None:
            for number in range(EACH):
                answer = {"id": f"{thread}-{number}", "responseJson": f"{thread}" * 20_000}
                link.send(json.dumps({"toolResponse": answer}))

        for task in [Task(lambda thread=thread: send(thread)) for thread in range(THREADS)]:
            task.result()

        def arrived() -> list[dict[str, str]]:
            return [each["toolResponse"] for each in fake.received if "toolResponse" in each]

        wait_until(lambda: len(arrived()) >= THREADS * EACH, "all messages")
        link.abort()
        link.release()
    assert "unparseable" not in fake.events
    for thread in range(THREADS):
        mine = [each for each in arrived() if each["responseJson"] == f"{thread}" * 20_000]
        assert [each["id"] for each in mine] == [f"{thread}-{number}" for number in range(EACH)]
