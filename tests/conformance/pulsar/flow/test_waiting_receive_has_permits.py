"""Whether the broker may send while the application waits."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.flow.waiting_receive_has_permits import waiting_receive_has_permits

LONG_MS = 2_000


def waits(permits: int, *, used: int = 0, pauses: bool = False, resumes: bool = False) -> tuple[list[str], int]:
    """A consumer grants so many permits, gets as many messages as are `used`, and waits for another one."""
    story = Script()
    story.consumer(receiver_queue_size=2)
    if permits:
        story.flow(permits)
    for number in range(used):
        story.message(number)
        story.received(number)
    if pauses:
        story.complete(story.invoke("pause", CONSUMER))
    if resumes:
        story.complete(story.invoke("resume", CONSUMER))
    call = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(LONG_MS)
    story.complete(call, count=0)
    return judged(waiting_receive_has_permits, story)


def test_permits_that_are_left_are_accepted() -> None:
    assert waits(2, used=1) == ([], 1)


def test_permits_that_are_used_up_are_found() -> None:
    assert waits(1, used=1) == (["no-permits"], 0)


def test_consumer_that_grants_nothing_is_found() -> None:
    assert waits(0) == (["no-permits"], 0)


def test_consumer_that_is_paused_owes_no_permits() -> None:
    assert waits(0, pauses=True) == ([], 0)


def test_consumer_that_was_resumed_owes_permits() -> None:
    assert waits(0, pauses=True, resumes=True) == (["no-permits"], 0)


def test_session_that_is_over_says_nothing() -> None:
    story = Script()
    story.consumer(receiver_queue_size=2)
    call = story.invoke("receive", CONSUMER, args={"count": 1})
    story.cut()
    story.after(LONG_MS)
    story.complete(call, count=0)
    assert judged(waiting_receive_has_permits, story) == ([], 0)
