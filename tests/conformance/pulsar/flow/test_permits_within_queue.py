"""The check of `flow.permits-within-queue`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.flow._permits import taking
from tests.conformance.pulsar.flow._returned_permits import partly_acked

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.flow.permits_within_queue import permits_within_queue


def test_permits_for_what_came() -> None:
    story = taking(2)
    story.flow(4)
    assert judged(permits_within_queue, story) == ([], 1)


def test_permit_for_nothing_is_found() -> None:
    story = taking(2)
    story.flow(5)
    assert judged(permits_within_queue, story)[0] == ["more-than-the-queue"]


def test_messages_an_ack_set_takes_out_are_not_charged() -> None:
    story = Script()
    story.consumer(receiver_queue_size=4)
    story.flow(4)
    story.message(0, 1, 2, 3, ack_sets=((0b1000,),))
    story.flow(5)
    assert judged(permits_within_queue, story)[0] == ["more-than-the-queue"]


def test_each_connection_has_a_ledger_of_its_own() -> None:
    story = taking(2)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    story.flow(4, conn=1)
    story.message(2, conn=1)
    story.flow(1, conn=1)
    assert judged(permits_within_queue, story) == ([], 1)


def test_permits_for_filtered_messages_are_found_once() -> None:
    assert partly_acked(4).judged(permits_within_queue)[0] == []


def test_more_permits_than_filtered_messages_explain_are_found() -> None:
    assert partly_acked(5).judged(permits_within_queue)[0] == ["more-than-the-queue"]
