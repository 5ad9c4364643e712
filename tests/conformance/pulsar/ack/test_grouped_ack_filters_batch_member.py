"""The check of `ack.grouped-ack-filters-batch-member`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.pulsar.checks.ack.grouped_ack_filters_batch_member import grouped_ack_filters_batch_member

ALL_BUT_SECOND = 0b101


def comes_again(*handed: int, ack_set: tuple[int, ...] = (), by_index: bool = True) -> Consuming:
    """The second of three messages is acknowledged, and the batch comes again while that ack is held."""
    story = Consuming(batch_index_ack=by_index)
    story.gets_batch(0, 3)
    story.ack(2)
    story.gets_batch(0, 3, ack_set=ack_set, only=handed)
    return story


def test_held_message_that_is_dropped_is_right() -> None:
    story = comes_again(0, 2)
    story.after(50)
    story.ack_frame(0, ack_sets=((ALL_BUT_SECOND,),))
    assert story.judged(grouped_ack_filters_batch_member) == ([], 1)


def test_held_message_that_is_handed_over_is_found() -> None:
    story = comes_again(0, 1, 2)
    story.after(50)
    story.ack_frame(0, ack_sets=((ALL_BUT_SECOND,),))
    assert story.judged(grouped_ack_filters_batch_member)[0] == ["handed-over-again"]


def test_held_message_that_is_handed_over_later_is_found() -> None:
    story = comes_again(0, 2)
    story.after(50)
    story.ack_frame(0, ack_sets=((ALL_BUT_SECOND,),))
    story.member(0, 1, 3)
    assert story.judged(grouped_ack_filters_batch_member)[0] == ["handed-over-again"]


def test_ack_and_batch_may_have_crossed() -> None:
    story = comes_again(0, 1, 2)
    story.ack_frame(0, ack_sets=((ALL_BUT_SECOND,),))
    assert story.judged(grouped_ack_filters_batch_member) == ([], 0)


def test_message_that_the_broker_has_left_out_is_not_judged() -> None:
    story = comes_again(0, 2, ack_set=(ALL_BUT_SECOND,))
    story.after(50)
    story.ack_frame(0, ack_sets=((ALL_BUT_SECOND,),))
    assert story.judged(grouped_ack_filters_batch_member) == ([], 0)


def test_whole_batches_are_acknowledged_together() -> None:
    story = comes_again(0, 1, 2, by_index=False)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_batch_member) == ([], 0)
