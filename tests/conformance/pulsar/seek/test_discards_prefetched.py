"""The check of `seek.discards-prefetched`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.seek._histories import reading, sought

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
