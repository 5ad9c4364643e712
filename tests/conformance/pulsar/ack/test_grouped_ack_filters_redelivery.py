"""The check of `ack.grouped-ack-filters-redelivery`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.ack.grouped_ack_filters_redelivery import grouped_ack_filters_redelivery


def held(queue: int = 1_000) -> Consuming:
    """Message 0 comes again while the ack of it is held."""
    story = Consuming(queue=queue)
    story.gets(0)
    story.ack(1)
    story.message(0)
    return story


def test_held_message_that_is_dropped_is_right() -> None:
    story = held()
    story.after(50)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_redelivery) == ([], 1)


def test_held_message_that_is_handed_over_is_found() -> None:
    story = held()
    story.received(0)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_redelivery)[0] == ["handed-over-again"]


def test_held_message_that_is_handed_over_later_is_found() -> None:
    story = held()
    story.after(50)
    story.ack_frame(0)
    story.received(0)
    assert story.judged(grouped_ack_filters_redelivery)[0] == ["handed-over-again"]


def test_ack_and_message_may_have_crossed() -> None:
    story = held()
    story.received(0)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_redelivery) == ([], 0)


def test_message_that_comes_again_after_its_ack_left_is_handed_over() -> None:
    story = Consuming()
    story.gets(0)
    story.ack(1)
    story.ack_frame(0)
    story.gets(0)
    story.ack(2)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_redelivery) == ([], 0)


def test_copy_from_before_the_ack_may_be_handed_over() -> None:
    story = Consuming()
    story.gets(0)
    story.message(0)
    story.ack(1)
    story.message(0)
    story.received(0)
    story.after(50)
    story.ack_frame(0)
    assert story.judged(grouped_ack_filters_redelivery) == ([], 1)


def test_message_covered_by_a_cumulative_ack_is_dropped_for_good() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cumulative_frame(1)
    story.message(0)
    story.received(0)
    assert story.judged(grouped_ack_filters_redelivery)[0] == ["handed-over-again"]


@pytest.mark.parametrize("constants", [{"ack_group_ms": 0}, {"ack_group_max": 1}], ids=str)
def test_client_without_groups_remembers_no_cumulative_ack(constants: dict[str, int]) -> None:
    story = Consuming("Exclusive", **constants)
    story.gets(0, 1)
    story.ack(2, cumulative=True)
    story.cut()
    story.again(kind="Exclusive")
    story.message(0, conn=1)
    story.received(0)
    assert story.judged(grouped_ack_filters_redelivery) == ([], 0)


def test_message_sought_behind_its_cumulative_ack_is_handed_over() -> None:
    """The ack is told of when the seek has begun: it was called before."""
    story = Consuming()
    story.gets(0)
    acked = story.invoke("ack", CONSUMER, args={"messages": [1], "cumulative": True})
    story.invoke("seek", CONSUMER, args={"publish_time_ms": 0})
    story.ack_frame(0, ack_type="Cumulative")
    story.up("SEEK", consumer_id=0, request_id=99)
    story.complete(acked)
    story.subscribed()
    story.message(0)
    story.received(0)
    story.after(50)
    assert story.judged(grouped_ack_filters_redelivery)[0] == []


def test_permit_of_a_dropped_message_comes_back() -> None:
    story = held(queue=2)
    story.flow(1)
    story.after(600)
    story.ack_frame(0)
    story.close_consumer()
    assert story.judged(grouped_ack_filters_redelivery) == ([], 1)


def test_permit_of_a_dropped_message_that_is_kept_is_found() -> None:
    story = held(queue=2)
    story.after(600)
    story.ack_frame(0)
    story.close_consumer()
    assert story.judged(grouped_ack_filters_redelivery)[0] == ["permit-not-returned"]
