"""The check of `flow.full-queue-blocks-or-fails`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._in_flight import of_one_client, sent, succeed

from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.flow.full_queue_blocks_or_fails import full_queue_blocks_or_fails


def test_full_queue_refuses_at_once() -> None:
    story = sent(0, 1, max_pending_messages=2)
    story.send(2)
    story.fail(2)
    assert judged(full_queue_blocks_or_fails, story) == ([], 1)


def test_refusal_instead_of_blocking_is_found() -> None:
    story = sent(0, 1, max_pending_messages=2, block_if_queue_full=True)
    story.send(2)
    story.fail(2)
    assert judged(full_queue_blocks_or_fails, story)[0] == ["refused-instead-of-blocking"]


def test_refusal_of_a_send_that_may_have_happened_is_not_for_want_of_room() -> None:
    story = sent(0, 1, max_pending_messages=2, block_if_queue_full=True)
    story.send(2)
    story.unknown(2, ErrorClass.QUEUE_FULL)
    assert judged(full_queue_blocks_or_fails, story) == ([], 0)


def _refused_behind_a_time_out(after_ms: float, **config: Any) -> Script:
    """There is memory for one message; message 0 has ended when message 1 is refused, so much later."""
    story = of_one_client(1, 1, **config)
    story.send(0)
    story.fail(0, ErrorClass.TIMEOUT)
    story.after(after_ms).send(1)
    story.fail(1)
    return story


def test_refusal_with_memory_of_what_ended_is_found() -> None:
    assert judged(full_queue_blocks_or_fails, _refused_behind_a_time_out(150))[0] == ["refused-with-room"]


def test_memory_of_what_just_ended_may_not_be_free_yet() -> None:
    assert judged(full_queue_blocks_or_fails, _refused_behind_a_time_out(0)) == ([], 1)


def test_memory_that_another_producer_of_the_client_holds_is_full() -> None:
    story = of_one_client(1, 1, 3)
    story.send(0, 3)
    story.send(0, 1)
    story.fail(0, handle=1)
    assert judged(full_queue_blocks_or_fails, story) == ([], 1)


def test_batches_may_hold_more_memory_than_their_messages() -> None:
    story = of_one_client(3, 1, batching=True)
    story.send(0)
    story.send(1)
    story.fail(1)
    assert judged(full_queue_blocks_or_fails, story) == ([], 1)


def test_late_refusal_is_found() -> None:
    story = sent(0, 1, max_pending_messages=2)
    story.send(2)
    story.after(600)
    story.fail(2)
    assert judged(full_queue_blocks_or_fails, story)[0] == ["refused-late"]


def test_refusal_with_room_is_found() -> None:
    story = sent(0, max_pending_messages=2)
    story.send(1)
    story.fail(1)
    assert judged(full_queue_blocks_or_fails, story)[0] == ["refused-with-room"]


def test_send_that_failed_otherwise_holds_no_place() -> None:
    story = sent(max_pending_messages=1)
    story.send(0)
    story.fail(0, ErrorClass.TOO_LARGE)
    story.after(150)
    story.send(1)
    story.fail(1)
    assert judged(full_queue_blocks_or_fails, story)[0] == ["refused-with-room"]


def test_place_of_a_send_that_just_ended_may_not_be_free_yet() -> None:
    story = sent(0, max_pending_messages=1)
    succeed(story, 0)
    story.send(1)
    story.fail(1)
    assert judged(full_queue_blocks_or_fails, story)[0] == []


def test_refused_message_that_is_sent_is_found() -> None:
    story = sent(0, max_pending_messages=1)
    story.send(1)
    story.fail(1)
    story.send_frame(1)
    assert judged(full_queue_blocks_or_fails, story)[0] == ["refused-and-sent"]


@pytest.mark.parametrize(("again", "codes"), [(False, []), (True, ["refused-late"])])
def test_refusal_counts_from_the_first_opening_of_the_producer(again: bool, codes: list[str]) -> None:
    """A send may wait for it: one that is called at once, or the first to a partition that is opened lazily."""
    story = Script()
    if again:
        story.producer(max_pending_messages=2)
    else:
        story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": {"max_pending_messages": 2}})
    for number in range(3):
        story.send(number)
    story.after(600)
    if again:
        story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields={"producer_name": NAME})
    story.fail(2)
    assert judged(full_queue_blocks_or_fails, story)[0] == codes
