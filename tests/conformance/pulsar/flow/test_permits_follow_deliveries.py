"""The check of `flow.permits-follow-deliveries`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._permits import taking

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.flow.permits_follow_deliveries import permits_follow_deliveries

QUEUE = 4
SLOW_MS = 1_000


def full_again(times: int) -> Script:
    """A consumer whose queue was filled so many times, and then granted permits for again, with nothing taken yet."""
    story = taking(0, QUEUE)
    for number in range(QUEUE, QUEUE * times):
        if number % QUEUE == 0:
            story.flow(QUEUE)
        story.message(number)
    story.flow(QUEUE)
    return story


def take_all(story: Script, count: int) -> Script:
    for number in range(count):
        story.received(number)
    return story


def test_permits_for_what_was_taken() -> None:
    story = taking(2, QUEUE)
    story.flow(2)
    story.after(SLOW_MS)
    story.received(2)
    assert judged(permits_follow_deliveries, story) == ([], 1)


def test_permits_for_what_only_came_are_found() -> None:
    story = full_again(5)
    story.after(SLOW_MS)
    assert judged(permits_follow_deliveries, take_all(story, 5 * QUEUE))[0] == ["ahead-of-application"]


def test_a_second_queue_of_the_client_may_be_filled() -> None:
    story = full_again(4)
    story.after(SLOW_MS)
    assert judged(permits_follow_deliveries, take_all(story, 4 * QUEUE)) == ([], 4)


def test_what_is_taken_soon_may_have_been_taken_before() -> None:
    assert judged(permits_follow_deliveries, take_all(full_again(5), 5 * QUEUE)) == ([], 5)


def test_handler_is_given_a_message_when_it_is_called() -> None:
    story = full_again(5)
    called_ns = story.now_ns
    story.after(SLOW_MS)
    for number in range(5 * QUEUE):
        story.received(number, called_ns=called_ns)
    assert judged(permits_follow_deliveries, story) == ([], 5)


def test_what_the_application_never_gets_was_dropped() -> None:
    story = full_again(5)
    story.after(SLOW_MS)
    assert judged(permits_follow_deliveries, take_all(story, QUEUE))[0] == []
