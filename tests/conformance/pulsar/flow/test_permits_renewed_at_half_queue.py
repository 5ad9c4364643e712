"""The check of `flow.permits-renewed-at-half-queue`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._permits import taking

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Handled
from assay_conformance.pulsar.checks.flow.permits_renewed_at_half_queue import permits_renewed_at_half_queue


def test_permits_after_half_a_queue() -> None:
    story = taking(2)
    story.flow(2)
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story) == ([], 1)


def test_grant_may_be_seen_before_the_deliveries_that_led_to_it() -> None:
    story = taking(0)
    story.flow(2)
    story.received(0)
    story.received(1)
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story) == ([], 1)


def test_no_permits_after_half_a_queue_is_found() -> None:
    story = taking(2)
    story.after(600)
    assert judged(permits_renewed_at_half_queue, story)[0] == ["no-refill"]


def test_message_of_another_topic_of_the_consumer_takes_nothing_from_this_queue() -> None:
    story = taking(1)
    story.subscribed(consumer_id=1, topic="u")
    story.message(0, consumer_id=1)
    story.received(0, topic=story.full("u"))
    story.after(600)
    assert judged(permits_renewed_at_half_queue, story)[0] == []


def test_consumer_that_is_closed_owes_no_permits() -> None:
    story = taking(2)
    story.invoke("close", 2)
    story.after(600)
    assert judged(permits_renewed_at_half_queue, story)[0] == []


def test_consumer_that_is_paused_owes_no_permits() -> None:
    story = taking(1)
    story.complete(story.invoke("pause", 2))
    story.received(1)
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story)[0] == []


def test_permits_one_by_one_are_found() -> None:
    story = taking(1)
    story.flow(1)
    assert judged(permits_renewed_at_half_queue, story)[0] == ["in-drips"]


def test_what_a_lost_connection_kept_from_being_granted_is_not_judged() -> None:
    story = taking(2)
    story.cut()
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story) == ([], 0)


def test_handler_that_runs_has_used_nothing_yet() -> None:
    story = taking(1)
    story.received(1, called_ns=story.now_ns)
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story)[0] == []


def test_no_permits_behind_handlers_that_returned_is_found() -> None:
    story = taking(1)
    story.received(1, called_ns=story.now_ns)
    story.add(Handled, handle=CONSUMER, delivery=2, done_ns=story.now_ns)
    story.after(1_000)
    assert judged(permits_renewed_at_half_queue, story)[0] == ["no-refill"]
