"""The check of `ordering.receipts-in-send-order`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._torn_streams import codes_found, sent
from tests.conformance.pulsar.ordering._histories import three

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.ordering.receipts_in_send_order import receipts_in_send_order


def _receipts(*receipts: int) -> Check:
    story = Script()
    three(story)
    for number in receipts:
        story.receipt(number)
    return trial(receipts_in_send_order, story.done())


def test_receipts_in_send_order_are_accepted() -> None:
    check = _receipts(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_of_two_messages_with_one_id_either_may_have_been_answered_first() -> None:
    story = Script()
    story.producer()
    for sequence_id in (0, 3, 0):
        story.send_frame(sequence_id)
    story.receipt(0, id=DUPLICATE)
    story.receipt(0)
    story.receipt(3)
    assert trial(receipts_in_send_order, story.done()).findings == []


def test_receipt_out_of_order_is_found() -> None:
    assert [finding.code for finding in _receipts(0, 2, 1).findings] == ["receipt-out-of-order"]


def test_receipt_of_a_duplicate_may_overtake() -> None:
    story = Script()
    three(story)
    story.receipt(2, id=DUPLICATE)
    story.receipt(0)
    story.receipt(1)
    assert trial(receipts_in_send_order, story.done()).findings == []


def test_receipts_of_a_resend_on_the_same_connection_are_not_told_apart() -> None:
    story = Script()
    three(story)
    story.send_frame(0)
    story.receipt(0)
    story.receipt(1)
    story.receipt(2)
    story.receipt(0)
    assert trial(receipts_in_send_order, story.done()).findings == []


def test_receipts_that_the_client_alone_saw_reordered_are_not_the_brokers() -> None:
    story = Script()
    three(story)
    story.receipt(0, sides=Sides.SENDER)
    story.receipt(1)
    story.receipt(0, sides=Sides.RECEIVER)
    assert trial(receipts_in_send_order, story.done()).findings == []


def test_sends_that_wait_for_a_new_session_are_of_the_old_one_where_they_arrive() -> None:
    story = sent(2)
    held = story.send_frame(1, sides=Sides.SENDER, fate=Fate.HELD)
    asked = story.producer_asks(sides=Sides.SENDER, fate=Fate.HELD)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=held.frame)
    story.producer_asks(sides=Sides.RECEIVER, fate=Fate.RELEASED, frame=asked.frame)
    for number in (0, 1):
        story.send_frame(number)
        story.receipt(number)
    assert codes_found(receipts_in_send_order, story) == []


def test_refusal_of_a_chunk_that_was_overtaken_does_not_tell_which_chunks_are_answered_later() -> None:
    story = sent(0)
    meta = {chunk: Meta(producer_name="p", sequence_id=0, chunk_id=chunk, chunks=2) for chunk in (0, 1)}
    story.send_frame(0, meta=meta[0])
    story.send_frame(1)
    story.send_frame(0, meta=meta[1])
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    story.receipt(0)
    story.receipt(1)
    assert codes_found(receipts_in_send_order, story) == []
