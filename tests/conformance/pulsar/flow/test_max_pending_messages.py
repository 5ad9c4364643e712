"""The check of `flow.max-pending-messages`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._in_flight import sent, succeed

from assay_conformance.history.script import Script
from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.flow.max_pending_messages import max_pending_messages


def test_as_many_pending_as_allowed() -> None:
    story = sent(0, 1, max_pending_messages=2)
    succeed(story, 0, 1)
    assert judged(max_pending_messages, story) == ([], 1)


def test_one_pending_too_many_is_found() -> None:
    story = sent(0, 1, 2, max_pending_messages=2)
    succeed(story, 0, 1, 2)
    assert judged(max_pending_messages, story)[0] == ["too-many-pending"]


def test_members_of_a_batch_count_one_by_one() -> None:
    story = Script()
    story.producer(max_pending_messages=2)
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, 2)
    story.receipt(0)
    for number in range(3):
        story.ok(number)
    assert judged(max_pending_messages, story)[0] == ["too-many-pending"]


def test_receipts_of_two_sends_under_one_id_are_not_told_apart() -> None:
    story = Script()
    story.producer(max_pending_messages=1, batching=True)
    for number in range(3):
        story.send(number)
    story.send_frame(0, batch=True)
    story.unknown(0)
    story.send_frame(1, batch=True, sequence_id=0)
    story.receipt(0)
    story.send_frame(2, batch=True, sequence_id=1)
    succeed(story, 1, 2)
    assert judged(max_pending_messages, story)[0] == []


def test_stream_in_which_a_send_came_twice_is_not_judged() -> None:
    story = Script()
    story.producer(max_pending_messages=2)
    for number in range(3):
        story.send(number)
    story.send_frame(0, fate=Fate.DUPLICATED)
    story.send_frame(1)
    story.send_frame(2)
    succeed(story, 0, 1, 2)
    assert judged(max_pending_messages, story)[0] == []


def test_send_that_failed_may_have_left_the_queue_before() -> None:
    story = sent(0, 1, 2, max_pending_messages=2)
    story.unknown(0)
    succeed(story, 1, 2)
    assert judged(max_pending_messages, story)[0] == []


def test_resend_counts_once() -> None:
    story = sent(0, 1, max_pending_messages=2)
    story.cut()
    story.producer_again()
    story.send_frame(0, conn=1)
    story.send_frame(1, conn=1)
    for number in (0, 1):
        story.receipt(number, conn=1)
        story.ok(number)
    assert judged(max_pending_messages, story)[0] == []
