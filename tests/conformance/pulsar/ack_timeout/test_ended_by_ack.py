"""The check of `ack-timeout.ended-by-ack`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.ack_timeout._histories import holding, timed

from assay_conformance.history.script import CONSUMER, NAME
from assay_conformance.model.event import MessageId, Meta
from assay_conformance.pulsar.checks.ack_timeout.ended_by_ack import ended_by_ack


def test_acknowledged_message_that_is_left_alone_is_right() -> None:
    story = holding()
    story.ack(1)
    story.after(700)
    story.close_consumer()
    assert story.judged(ended_by_ack) == ([], 1)


def test_acknowledged_message_that_is_asked_for_is_found() -> None:
    story = holding()
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == ["asked-after-ack"]


def test_copy_handed_over_behind_the_acknowledgment_is_held_anew() -> None:
    story = holding()
    acked = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
    story.gets(0)
    story.complete(acked)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_request_for_everything_when_all_is_acknowledged_is_found() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.ack(2, cumulative=True)
    story.after(420)
    story.redeliver_frame()
    assert story.judged(ended_by_ack)[0] == ["asked-after-ack"]


def test_request_for_everything_when_something_is_held_is_right() -> None:
    story = holding("Exclusive")
    story.gets(1)
    story.ack(1)
    story.after(420)
    story.redeliver_frame()
    assert story.judged(ended_by_ack)[0] == []


def test_half_acknowledged_batch_is_asked_for_rightly() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_batch_acknowledged_to_the_last_message_is_settled() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.ack(1)
    story.ack(2)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == ["asked-after-ack"]


def test_batch_acknowledged_half_in_each_of_two_deliveries_may_be_asked_for() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.gets_batch(0, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_batch_that_came_again_when_a_part_had_been_handed_over_may_be_asked_for() -> None:
    story = timed()
    story.gets_batch(0, 2, only=(0,))
    story.message(0, 1, entry=0, batch=True)
    story.member(0, 1, 2)
    story.member(0, 0, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_batch_of_which_two_copies_came_at_once_may_be_asked_for() -> None:
    story = timed()
    for _ in range(2):
        story.message(0, 1, entry=0, batch=True)
    for index in (0, 1, 0):
        story.member(0, index, 2)
    story.ack(2)
    story.ack(3)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_refused_message_may_be_asked_for() -> None:
    story = holding()
    story.nack(1)
    story.ack(1)
    story.after(420)
    story.redeliver_frame(0)
    assert story.judged(ended_by_ack)[0] == []


def test_request_may_name_a_message_inside_a_batch() -> None:
    story = timed()
    story.gets_batch(0, 2)
    story.after(420)
    story.up("REDELIVER_UNACKNOWLEDGED_MESSAGES", consumer_id=0, ids=(MessageId(1, 0, -1, 1),))
    assert story.judged(ended_by_ack)[0] == []


@pytest.mark.parametrize(("named", "codes"), [((0, 1, 2), []), ((2,), ["chunk-left-out"])])
def test_chunked_message_is_asked_for_by_all_its_chunks(named: tuple[int, ...], codes: list[str]) -> None:
    story = timed()
    for chunk in range(3):
        story.message(0, entry=chunk, meta=Meta(producer_name=NAME, sequence_id=0, uuid="u", chunk_id=chunk, chunks=3))
    story.received(0, entry=2)
    story.after(420)
    story.redeliver_frame(*named)
    assert story.judged(ended_by_ack)[0] == codes
