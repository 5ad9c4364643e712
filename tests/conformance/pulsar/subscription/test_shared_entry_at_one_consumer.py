"""The check of `subscription.shared-entry-at-one-consumer`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._shared_subscription import FIRST, HOLE, SECOND, THIRD, said, two

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.subscription.shared_entry_at_one_consumer import shared_entry_at_one_consumer


def test_entries_at_one_consumer_each_are_accepted() -> None:
    story = two("Shared")
    story.message(0)
    story.message(1, conn=1)
    assert said(shared_entry_at_one_consumer, story) == ([], 0)


def test_entry_at_two_consumers_is_found() -> None:
    story = two("Shared")
    story.message(0)
    story.message(0, conn=1)
    assert said(shared_entry_at_one_consumer, story)[0] == ["at-two-consumers"]


def test_entry_that_was_asked_for_again_may_go_to_the_other() -> None:
    story = two("Shared")
    story.message(0)
    story.redeliver_frame(0)
    story.message(0, conn=1)
    assert said(shared_entry_at_one_consumer, story) == ([], 0)


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["at-two-consumers"]), (Fate.DUPLICATED, [])])
def test_entry_that_a_fault_asks_for_twice_may_go_out_in_between(fate: Fate, codes: list[str]) -> None:
    story = two("Shared")
    story.message(0)
    story.redeliver_frame(0, fate=fate)
    story.message(0)
    story.message(0, conn=1)
    assert said(shared_entry_at_one_consumer, story)[0] == codes


def test_entry_beside_one_that_a_fault_asks_for_twice_is_at_one_consumer() -> None:
    story = two("Shared")
    story.message(0)
    story.message(1)
    story.redeliver_frame(0, fate=Fate.DUPLICATED)
    story.message(1, conn=1)
    assert said(shared_entry_at_one_consumer, story)[0] == ["at-two-consumers"]


def test_entry_of_a_consumer_that_went_may_go_to_the_other() -> None:
    story = two("Shared")
    story.message(0)
    story.cut(0)
    story.message(0, conn=1)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story) == ([], 1)


def _left_behind(permits: int = 100, after_ms: int = 1_000) -> Script:
    story = Script()
    story.consumer(FIRST, conn=0, kind="Shared")
    story.consumer(SECOND, conn=1, kind="Shared")
    story.flow(100)
    story.flow(permits, conn=1)
    story.message(0)
    story.cut(0)
    story.after(after_ms)
    return story


def test_entry_left_behind_is_found() -> None:
    assert said(shared_entry_at_one_consumer, _left_behind())[0] == ["left-behind"]


def test_what_a_broker_makes_of_an_altered_acknowledgment_is_its_own_affair() -> None:
    story = _left_behind(after_ms=0)
    story.ack_frame(5, conn=1, fate=Fate.ALTERED)
    assert said(shared_entry_at_one_consumer, story.after(1_000))[0] == []


def test_heir_that_has_permits_for_a_moment_is_not_served_yet() -> None:
    story = _left_behind(permits=0)
    story.flow(1, conn=1)
    story.cut(1)
    assert said(shared_entry_at_one_consumer, story.after(1_000))[0] == []


def _chunks_left_behind(heir_has: int) -> list[str]:
    """A consumer with both chunks of a message goes; another without further permits has been sent the first since."""
    story = two("Shared")
    story.consumer(THIRD, conn=2, kind="Shared")
    story.flow(1, conn=2)
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in range(2)]
    for number, meta in enumerate(chunks):
        story.message(number, meta=meta)
    story.cut(0)
    story.message(0, conn=heir_has, meta=chunks[0])
    story.after(1_000)
    return said(shared_entry_at_one_consumer, story)[0]


def test_chunk_waits_for_the_consumer_that_has_the_others() -> None:
    assert _chunks_left_behind(heir_has=2) == []


def test_chunk_that_does_not_come_to_the_consumer_that_has_the_others_is_found() -> None:
    assert _chunks_left_behind(heir_has=1) == ["left-behind"]


@pytest.mark.parametrize(("came", "codes"), [(1, []), (2, ["left-behind"])])
def test_message_that_came_in_part_is_for_nobody_else(came: int, codes: list[str]) -> None:
    """A broker of Pulsar 4.0 holds it for the consumer that is gone; a whole one is for anybody."""
    story = two("Shared")
    for number in range(came):
        meta = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        story.message(number, meta=meta)
    story.cut(0)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story)[0] == codes


def test_chunk_whose_first_one_is_acknowledged_is_for_nobody() -> None:
    story = two("Shared")
    for number in range(2):
        meta = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        story.message(number, meta=meta)
    story.ack_frame(0)
    story.cut(0)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story)[0] == []


def _left_behind_a_chunk(*acked: int) -> list[str]:
    """A consumer with both chunks of a message and another message goes; `acked` were acknowledged before."""
    story = two("Shared")
    for number in range(3):
        chunk = Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2)
        meta = chunk if number < 2 else Meta(producer_name="p", sequence_id=1)
        story.stored(number, meta=meta)
        story.message(number, meta=meta)
    story.ack_frame(*acked)
    story.cut(0)
    story.after(1_000)
    return said(shared_entry_at_one_consumer, story)[0]


def test_entry_behind_a_chunk_that_is_for_nobody_waits_with_it() -> None:
    assert _left_behind_a_chunk(0) == []


def test_entry_left_behind_a_message_that_is_acknowledged_is_found() -> None:
    assert _left_behind_a_chunk(0, 1) == ["left-behind"]


def test_chunk_that_is_stored_ahead_of_the_first_is_for_nobody() -> None:
    """The other consumer gets the message whole; what had come of it out of order stays behind."""
    story = two("Shared")
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in range(2)]
    story.message(0, meta=chunks[1])
    story.cut(0)
    story.message(1, conn=1, meta=chunks[0])
    story.message(2, conn=1, meta=chunks[1])
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story)[0] == []


def test_entry_behind_a_chunk_that_is_stored_ahead_of_the_first_waits_with_it() -> None:
    """The chunk was not due when the entry went out for the first time."""
    story = two("Shared")
    chunks = [Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=number, chunks=2) for number in (1, 0, 1)]
    for number, meta in enumerate([*chunks, Meta(producer_name="p", sequence_id=1)]):
        story.stored(number, meta=meta)
    story.message(3)
    story.cut(0)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story)[0] == []


def test_permits_for_a_consumer_that_the_broker_closed_are_none() -> None:
    story = _left_behind(permits=0)
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    story.flow(100, conn=1)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story)[0] == []


def test_entry_nobody_has_permits_for_may_stay() -> None:
    assert said(shared_entry_at_one_consumer, _left_behind(permits=0)) == ([], 0)


def test_entry_may_take_a_moment() -> None:
    assert said(shared_entry_at_one_consumer, _left_behind(after_ms=20)) == ([], 0)


def test_entry_a_rate_may_hold_back_is_not_judged() -> None:
    case = msgspec.structs.replace(
        ANY_CASE, topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=1)),))
    )
    assert said(shared_entry_at_one_consumer, _left_behind(), case) == ([], 0)


def test_broker_that_does_not_know_a_consumer_went_has_not_left_its_entries_behind() -> None:
    story = Script()
    story.consumer(FIRST, conn=0, kind="Shared")
    story.consumer(SECOND, conn=1, kind="Shared")
    story.flow(100, conn=1)
    story.message(0)
    story.closed(0)
    story.after(1_000)
    assert said(shared_entry_at_one_consumer, story, HOLE) == ([], 0)


def test_ack_that_arrives_before_its_consumers_close_settles() -> None:
    story = two("Shared")
    story.message(0)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=98, sides=Sides.SENDER)
    story.ack_frame(0, sides=Sides.RECEIVER)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=98, sides=Sides.RECEIVER)
    story.after(400)
    assert said(shared_entry_at_one_consumer, story)[0] == []
