"""Threads: who may touch what. These rules hold everywhere on this floor, and each has its test.

1. One owner: every mutable object is touched by one thread; the owner asserts it.
2. One door: the session is reached only through the mailbox.
3. No lock is held while user code runs, a socket or process is waited for, or a line is logged.
4. The pump never waits for the consumer; the reader never waits for the pump.
5. Every ask is answered once, failing closed.
6. One live turn per agent, claimed before anything is posted.
7. A turn ends once, by the session.
8. No wait without a second way out: deadline, loss, close.
9. Abandoning is safe: leaving a turn only posts a message.
10. Close: any thread, once, bounded, never raises.
11. Death has one path; a dropped connection with a live process is not death.
12. Process events: a session of its own, fork and exit handled, nothing left behind.
"""
