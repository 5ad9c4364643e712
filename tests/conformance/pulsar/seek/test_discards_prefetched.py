"""The check of `seek.discards-prefetched`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.seek._histories import asks, reading, sought

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.seek.discards_prefetched import discards_prefetched


def test_what_comes_again_may_be_handed_over() -> None:
    story = reading(0, 1)
    sought(story, 1)
    story.message(2)
    story.received(2)
    assert judged(discards_prefetched, story) == ([], 1)


def test_what_comes_by_the_retry_letter_topic_is_none_of_the_topic_that_was_sought() -> None:
    story = reading(0, 1)
    sought(story, 3)
    story.received(2, topic="persistent://public/default/t-s-RETRY")
    assert judged(discards_prefetched, story) == ([], 0)


def test_prefetched_message_behind_a_seek_is_found() -> None:
    story = reading(0, 1)
    sought(story, 3)
    story.received(2)
    assert judged(discards_prefetched, story)[0] == ["stale-delivery"]


def _partitions_sought(*again: int) -> Script:
    """A message of each of two partitions has come; after a seek to a time those of these partitions come again."""
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected()
    for partition in range(2):
        story.subscribed(consumer_id=partition, topic=f"t-partition-{partition}")
    story.complete(opening)
    for partition in range(2):
        story.stored(partition, topic=f"t-partition-{partition}")
        story.message(partition, consumer_id=partition)
    invoke = story.invoke("seek", CONSUMER, args={"publish_time_ms": 0})
    for partition in range(2):
        story.up("SEEK", consumer_id=partition, request_id=90 + partition)
        story.down("SUCCESS", request_id=90 + partition)
        story.subscribed(consumer_id=partition, topic=f"t-partition-{partition}")
    story.complete(invoke)
    for partition in again:
        story.message(partition, consumer_id=partition)
    return story


def _received_of(story: Script, partition: int) -> None:
    story.received(partition, topic=story.full(f"t-partition-{partition}"))


def test_messages_of_all_partitions_come_again() -> None:
    story = _partitions_sought(0, 1)
    _received_of(story, 0)
    _received_of(story, 1)
    assert judged(discards_prefetched, story) == ([], 2)


def test_prefetched_message_of_one_partition_is_found() -> None:
    story = _partitions_sought(0)
    _received_of(story, 0)
    _received_of(story, 1)
    assert judged(discards_prefetched, story)[0] == ["stale-delivery"]


def _acked(story: Script) -> None:
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))


def test_acknowledgment_ahead_of_a_seek() -> None:
    story = reading(0, 1)
    _acked(story)
    story.ack_frame(0)
    sought(story, 1)
    assert judged(discards_prefetched, story)[0] == []


def test_acknowledgment_behind_a_seek_is_found() -> None:
    story = reading(0, 1)
    _acked(story)
    sought(story, 1)
    story.ack_frame(0)
    assert judged(discards_prefetched, story)[0] == ["acked-behind-seek"]


@pytest.mark.parametrize(("closed", "codes"), [(True, []), (False, ["acked-behind-seek"])])
def test_acknowledgment_of_a_consumer_that_the_broker_has_closed_is_dropped(closed: bool, codes: list[str]) -> None:
    """Java and C++ clients flush behind the answer to a SEEK: by then the broker has no such consumer."""
    story = reading(0, 1)
    _acked(story)
    invoke, _ = asks(story, 1)
    if closed:
        story.down("CLOSE_CONSUMER", consumer_id=0)
    story.ack_frame(0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.complete(invoke)
    assert judged(discards_prefetched, story)[0] == codes


def test_acknowledgment_asked_for_again_behind_a_seek() -> None:
    story = reading(0, 1)
    _acked(story)
    sought(story, 1)
    _acked(story)
    story.ack_frame(0)
    assert judged(discards_prefetched, story)[0] == []


def test_who_else_may_have_subscribed_again_leaves_deliveries_unjudged() -> None:
    """Two consumers of one subscription: which of them the second SUBSCRIBE is of is not known."""
    story = reading(0, 1, 2)
    sought(story, 0)
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.received(3)
    assert judged(discards_prefetched, story)[0] == []


@pytest.mark.parametrize(("beside", "codes"), [(True, []), (False, ["acked-behind-seek"])])
def test_acknowledgment_between_two_seeks_may_leave_behind_the_first(beside: bool, codes: list[str]) -> None:
    """Of two under way nobody sees whose the SEEK is."""
    story = reading(0, 1)
    first = story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}) if beside else None
    _acked(story)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 1, -1, -1, 0]})
    story.up("SEEK", consumer_id=0, request_id=90)
    story.ack_frame(0)
    if first is not None:
        story.complete(first)
    assert judged(discards_prefetched, story)[0] == codes
