"""The check of `batching.fills-while-previous-pending`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar.batching._closing import LIMITS, asks, told

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import Event
from assay_conformance.model.policy import Rate
from assay_conformance.pulsar.checks.batching.fills_while_previous_pending import fills_while_previous_pending


def _two_batches(second_ms: float, queue: int = 8) -> list[Event]:
    """The first batch is receipted at 400 ms, the second was full at 108 ms."""
    story = Script()
    story.producer(**LIMITS, max_pending_messages=queue, block_if_queue_full=True)
    story.at(100)
    asks(story, *range(8))
    if second_ms > 400:
        story.at(109).send_frame(0, 1, 2, 3, batch=True)
        story.at(400).receipt(0)
        story.at(second_ms).send_frame(4, 5, 6, 7, batch=True)
    else:
        story.at(109).send_frame(0, 1, 2, 3, batch=True)
        story.at(second_ms).send_frame(4, 5, 6, 7, batch=True)
        story.at(400).receipt(0)
    for number in range(8):
        story.ok(number)
    return story.done()


def test_batch_that_leaves_while_the_one_before_it_waits_is_accepted() -> None:
    assert told(fills_while_previous_pending, _two_batches(120)) == ([], 1)


def test_full_batch_that_waits_for_a_receipt_is_found() -> None:
    assert told(fills_while_previous_pending, _two_batches(402)) == (["waited-for-receipt"], 0)


def test_full_batch_that_leaves_long_after_the_receipt_waited_for_something_else() -> None:
    assert told(fills_while_previous_pending, _two_batches(900)) == ([], 0)


def test_batch_for_which_the_queue_has_no_room_is_not_judged() -> None:
    assert told(fills_while_previous_pending, _two_batches(402, queue=7)) == ([], 0)


def test_batch_that_its_broker_may_read_late_is_not_judged() -> None:
    slow = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    tried = trial(fills_while_previous_pending, _two_batches(402), msgspec.structs.replace(ANY_CASE, topology=slow))
    assert (tried.findings, tried.exercised) == ([], 0)


def test_batch_that_was_refused_ahead_of_the_first_receipt_leaves_room_for_one() -> None:
    story = Script()
    story.producer(**LIMITS, max_pending_messages=8, block_if_queue_full=True)
    story.at(100)
    asks(story, *range(16))
    story.at(117).send_frame(0, 1, 2, 3, batch=True)
    story.send_frame(4, 5, 6, 7, batch=True)
    story.down("SEND_ERROR", producer_id=0, sequence_id=4, fields={"error": "NotAllowedError"})
    story.at(118).send_frame(8, 9, 10, 11, batch=True)
    story.at(400).receipt(0)
    story.receipt(8)
    story.at(402).send_frame(12, 13, 14, 15, batch=True)
    assert told(fills_while_previous_pending, story.done())[0] == []
