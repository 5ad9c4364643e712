"""The check of `ack.ack-set-filters-delivery`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.ack._indexes import by_index

from assay_conformance.pulsar.checks.ack.ack_set_filters_delivery import ack_set_filters_delivery


def test_filtered_messages_that_stay_away_are_right() -> None:
    story = by_index()
    story.gets_batch(0, 4, ack_set=(0b1010,), only=(1, 3))
    assert story.judged(ack_set_filters_delivery) == ([], 2)


def test_filtered_message_that_is_delivered_is_found() -> None:
    story = by_index()
    story.gets_batch(0, 4, ack_set=(0b1010,), only=(0,))
    assert story.judged(ack_set_filters_delivery)[0] == ["filtered-delivered"]


def test_copy_that_came_before_is_delivered_rightly() -> None:
    story = Consuming(batch_index_ack=True)
    story.message(0, 1, entry=0, batch=True)
    story.message(0, 1, entry=0, batch=True, ack_sets=((0b10,),))
    story.member(0, 0, 2)
    assert story.judged(ack_set_filters_delivery) == ([], 0)
