"""resend.keeps-queue-order, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._reopened_names import AGAIN
from tests.conformance.pulsar.resend._reopened_names import killed_and_opened_again
from tests.conformance.pulsar.resend.in_flight import codes_of, cut, in_flight

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.resend.keeps_queue_order import keeps_queue_order


def test_the_heir_of_a_killed_producer_is_not_held_to_its_queue() -> None:
    story = killed_and_opened_again()
    story.sent(0, handle=AGAIN, conn=1, producer_id=1)
    assert story.judged(keeps_queue_order) == []


def test_resend_in_queue_order_is_accepted() -> None:
    story = cut(in_flight())
    for number in range(3):
        story.send_frame(number, conn=1)
    check = trial(keeps_queue_order, story.done())
    assert (check.findings, check.exercised) == ([], 3)


def test_resend_out_of_order_is_found() -> None:
    story = cut(in_flight())
    for number in (0, 2, 1):
        story.send_frame(number, conn=1)
    assert codes_of(trial(keeps_queue_order, story.done())) == ["out-of-order"]


def test_new_send_that_overtakes_the_resend_is_found() -> None:
    story = cut(in_flight(1))
    story.send(1)
    story.send_frame(1, conn=1)
    story.send_frame(0, conn=1)
    assert codes_of(trial(keeps_queue_order, story.done())) == ["out-of-order"]


def test_resend_of_an_acknowledged_unit_is_found() -> None:
    story = in_flight(2)
    story.receipt(0)
    story.ok(0)
    cut(story)
    story.send_frame(0, conn=1)
    story.send_frame(1, conn=1)
    assert codes_of(trial(keeps_queue_order, story.done())) == ["sent-after-receipt"]


def test_unit_whose_receipt_may_have_been_lost_may_be_sent_again() -> None:
    story = in_flight(1)
    story.receipt(0)
    cut(story)
    story.send_frame(0, conn=1)
    story.ok(0)
    assert codes_of(trial(keeps_queue_order, story.done())) == []


SMALL = ((0, 10), (1, 11), (0, 12), (1, 13), (2, 14))
"""Sequence ids and checksums: an early reconnect had the producer begin at 0 again after two that are pending."""


def _small(order: tuple[tuple[int, int], ...]) -> Check:
    """Messages too small for an identity, which leave in turn, and in this order on the next connection."""
    story = Script()
    story.producer()
    for sequence_id, unit in SMALL:
        story.send_frame(sequence_id, unit=unit, members=())
    cut(story)
    for sequence_id, unit in order:
        story.send_frame(sequence_id, conn=1, unit=unit, members=())
    return trial(keeps_queue_order, story.done())


def test_resend_in_queue_order_is_accepted_where_ids_are_used_anew() -> None:
    check = _small(SMALL)
    assert (codes_of(check), check.exercised) == ([], 5)


def test_resend_out_of_order_is_found_where_ids_are_used_anew() -> None:
    assert codes_of(_small((*SMALL[2:4], *SMALL[:2], SMALL[4]))) == ["out-of-order", "out-of-order"]
