"""The check of `seek.starts-at-target`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.listener.handlers import Handlers
from tests.conformance.pulsar.seek._histories import asks, reading, sought

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.seek.starts_at_target import starts_at_target

OTHER = 5


def test_first_message_is_behind_the_one_sought() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.message(1)
    story.received(1)
    assert judged(starts_at_target, story) == ([], 1)


def test_entry_of_which_nothing_can_be_taken_may_be_passed_over() -> None:
    story = Script()
    story.stored(0)
    story.stored(1, members=())
    story.stored(2)
    story.consumer()
    sought(story, 0)
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story) == ([], 0)


def test_place_of_a_time_goes_with_a_subscription_that_is_not_durable() -> None:
    story = Script()
    for number in range(3):
        story.stored(number)
    story.consumer(durable=False)
    sought(story, None, publish_time_ms=10**12)
    story.stored(3, meta=Meta(producer_name="p", sequence_id=3, publish_time_ms=10**12))
    story.cut()
    story.connected(1)
    story.subscribed(1, durable=False)
    story.message(0, conn=1)
    story.received(0)
    assert judged(starts_at_target, story) == ([], 0)


def test_seek_of_which_nothing_was_seen_is_not_judged() -> None:
    """Where several consumers may have written a SUBSCRIBE, nobody knows whose stream it is."""
    story = reading(0, 1, 2)
    story.complete(story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}))
    story.received(3)
    assert judged(starts_at_target, story) == ([], 0)


def test_message_sought_itself_is_found() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.message(0)
    story.received(0)
    assert judged(starts_at_target, story)[0] == ["wrong-start"]


def test_message_that_a_handler_got_before_the_seek_ended_comes_first() -> None:
    story = reading(0, 1, 2)
    invoke, _ = asks(story, 0)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed()
    for number in (1, 2):
        story.message(number)
    story.received(1)
    story.down("SUCCESS", request_id=99)
    story.complete(invoke)
    story.received(2)
    assert judged(starts_at_target, story) == ([], 0)


def _sought_inclusively(first: int) -> Script:
    """A consumer that begins with the message it seeks goes back to message 1, and gets this one."""
    story = Script()
    for number in range(3):
        story.stored(number)
    story.consumer(start_inclusive=True)
    sought(story, 1)
    story.message(first)
    story.received(first)
    return story


def test_inclusive_seek_begins_with_its_message() -> None:
    assert judged(starts_at_target, _sought_inclusively(1)) == ([], 1)


def test_inclusive_seek_that_begins_behind_its_message_is_found() -> None:
    assert judged(starts_at_target, _sought_inclusively(2))[0] == ["wrong-start"]


def test_message_left_out_is_found() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story)[0] == ["wrong-start"]


def test_first_message_of_the_time_sought() -> None:
    story = Script()
    for number in range(3):
        story.stored(number, meta=Meta(producer_name="p", sequence_id=number, publish_time_ms=1_000 * number))
    story.consumer()
    sought(story, None, 1_500)
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story) == ([], 1)


def test_message_that_came_as_its_connection_ended_may_not_have_been_read() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.message(1)
    story.cut()
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(starts_at_target, story)[0] == []


@pytest.mark.parametrize(("beside", "codes"), [(True, []), (False, ["nothing-delivered"])])
def test_message_for_a_handler_may_wait_for_handlers_of_the_same_client(beside: bool, codes: list[str]) -> None:
    story = Handlers()
    for number in range(2):
        story.stored(number)
    if beside:
        story.open(OTHER, consumer_id=1, listener=True)
    invoke, _ = asks(story, 0)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed(subscription=f"s{CONSUMER}")
    story.complete(invoke)
    story.message(1)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(starts_at_target, story)[0] == codes


def test_message_that_came_and_is_withheld_is_found() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.message(1)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(starts_at_target, story)[0] == ["nothing-delivered"]


def test_message_that_did_not_come_is_not_withheld() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(starts_at_target, story)[0] == []


def test_message_acknowledged_behind_a_seek_need_not_come() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [2]}))
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story) == ([], 0)


def test_receive_under_way_makes_a_seek_undecidable() -> None:
    story = reading(0, 1, 2)
    story.invoke("receive", CONSUMER, args={"count": 1})
    sought(story, 0)
    story.message(0)
    story.received(0)
    assert judged(starts_at_target, story) == ([], 0)


def test_consumer_that_comes_later_may_get_the_first_message() -> None:
    story = reading(0, 1, 2)
    sought(story, 0)
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story)[0] == []


def test_message_with_a_delay_may_come_behind_others() -> None:
    story = Script()
    for number in range(3):
        later = 2_000 if number == 1 else None
        story.stored(number, meta=Meta(producer_name="p", sequence_id=number, deliver_at_ms=later))
    story.consumer(kind="Shared")
    story.message(0)
    story.received(0)
    sought(story, 0)
    story.message(2)
    story.received(2)
    assert judged(starts_at_target, story) == ([], 0)


def test_chunked_message_comes_as_its_last_chunk() -> None:
    story = Script()
    for number in range(2):
        meta = Meta(producer_name="p", sequence_id=0, publish_time_ms=1_000, uuid="p-0", chunk_id=number, chunks=2)
        story.stored(number, entry=number, meta=meta)
    story.consumer()
    sought(story, None, 500)
    story.received(1)
    assert judged(starts_at_target, story) == ([], 0)
