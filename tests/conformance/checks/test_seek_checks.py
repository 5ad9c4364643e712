"""Seeks, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.seek.arriving import EndsWhenConnected, ForgetsBefore, StartsAtTarget
from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Frame, Invoke, Meta


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _reading(*taken: int) -> Script:
    """Five messages have come, and the application took some of them."""
    story = Script()
    for number in range(5):
        story.stored(number)
    story.consumer()
    for number in range(5):
        story.message(number)
    for number in taken:
        story.received(number)
    return story


def _asks(story: Script, entry: int | None, publish_time_ms: int | None = None) -> tuple[Invoke, Frame]:
    target = {"publish_time_ms": publish_time_ms} if entry is None else {"message_id": [1, entry, -1, -1, 0]}
    invoke = story.invoke("seek", CONSUMER, args=target)
    return invoke, story.up("SEEK", consumer_id=0, request_id=99)


def _sought(story: Script, entry: int | None, publish_time_ms: int | None = None) -> None:
    """A seek behind an entry, or to a time, that goes as it should."""
    invoke, _ = _asks(story, entry, publish_time_ms)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.complete(invoke)


# --- where it starts --------------------------------------------------------------------------------------------------


def test_first_message_is_behind_the_one_sought() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.message(1)
    story.received(1)
    assert judged(StartsAtTarget, story) == ([], 1)


def test_place_of_a_time_goes_with_a_subscription_that_is_not_durable() -> None:
    story = Script()
    for number in range(3):
        story.stored(number)
    story.consumer(durable=False)
    _sought(story, None, publish_time_ms=10**12)
    story.stored(3, meta=Meta(producer_name="p", sequence_id=3, publish_time_ms=10**12))
    story.cut()
    story.connected(1)
    story.subscribed(1, durable=False)
    story.message(0, conn=1)
    story.received(0)
    assert judged(StartsAtTarget, story) == ([], 0)


def test_seek_of_which_nothing_was_seen_is_not_judged() -> None:
    """Where several consumers may have written a SUBSCRIBE, nobody knows whose stream it is."""
    story = _reading(0, 1, 2)
    story.complete(story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}))
    story.received(3)
    assert judged(StartsAtTarget, story) == ([], 0)


def test_message_sought_itself_is_found() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.message(0)
    story.received(0)
    assert judged(StartsAtTarget, story)[0] == ["wrong-start"]


def _sought_inclusively(first: int) -> Script:
    """A consumer that begins with the message it seeks goes back to message 1, and gets this one."""
    story = Script()
    for number in range(3):
        story.stored(number)
    story.consumer(start_inclusive=True)
    _sought(story, 1)
    story.message(first)
    story.received(first)
    return story


def test_inclusive_seek_begins_with_its_message() -> None:
    assert judged(StartsAtTarget, _sought_inclusively(1)) == ([], 1)


def test_inclusive_seek_that_begins_behind_its_message_is_found() -> None:
    assert judged(StartsAtTarget, _sought_inclusively(2))[0] == ["wrong-start"]


def test_message_left_out_is_found() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.message(2)
    story.received(2)
    assert judged(StartsAtTarget, story)[0] == ["wrong-start"]


def test_first_message_of_the_time_sought() -> None:
    story = Script()
    for number in range(3):
        story.stored(number, meta=Meta(producer_name="p", sequence_id=number, publish_time_ms=1_000 * number))
    story.consumer()
    _sought(story, None, 1_500)
    story.message(2)
    story.received(2)
    assert judged(StartsAtTarget, story) == ([], 1)


def test_message_that_came_as_its_connection_ended_may_not_have_been_read() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.message(1)
    story.cut()
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(StartsAtTarget, story)[0] == []


def test_message_that_came_and_is_withheld_is_found() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.message(1)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(StartsAtTarget, story)[0] == ["nothing-delivered"]


def test_message_that_did_not_come_is_not_withheld() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    receive = story.invoke("receive", CONSUMER, args={"count": 1})
    story.after(600)
    story.complete(receive, count=0)
    assert judged(StartsAtTarget, story)[0] == []


def test_message_acknowledged_behind_a_seek_need_not_come() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [2]}))
    story.message(2)
    story.received(2)
    assert judged(StartsAtTarget, story) == ([], 0)


def test_receive_under_way_makes_a_seek_undecidable() -> None:
    story = _reading(0, 1, 2)
    story.invoke("receive", CONSUMER, args={"count": 1})
    _sought(story, 0)
    story.message(0)
    story.received(0)
    assert judged(StartsAtTarget, story) == ([], 0)


def test_consumer_that_comes_later_may_get_the_first_message() -> None:
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.message(2)
    story.received(2)
    assert judged(StartsAtTarget, story)[0] == []


def test_message_with_a_delay_may_come_behind_others() -> None:
    story = Script()
    for number in range(3):
        later = 2_000 if number == 1 else None
        story.stored(number, meta=Meta(producer_name="p", sequence_id=number, deliver_at_ms=later))
    story.consumer(kind="Shared")
    story.message(0)
    story.received(0)
    _sought(story, 0)
    story.message(2)
    story.received(2)
    assert judged(StartsAtTarget, story) == ([], 0)


def test_chunked_message_comes_as_its_last_chunk() -> None:
    story = Script()
    for number in range(2):
        meta = Meta(producer_name="p", sequence_id=0, publish_time_ms=1_000, uuid="p-0", chunk_id=number, chunks=2)
        story.stored(number, entry=number, meta=meta)
    story.consumer()
    _sought(story, None, 500)
    story.received(1)
    assert judged(StartsAtTarget, story) == ([], 0)


# --- what is forgotten ------------------------------------------------------------------------------------------------


def test_what_comes_again_may_be_handed_over() -> None:
    story = _reading(0, 1)
    _sought(story, 1)
    story.message(2)
    story.received(2)
    assert judged(ForgetsBefore, story) == ([], 1)


def test_what_comes_by_the_retry_letter_topic_is_none_of_the_topic_that_was_sought() -> None:
    story = _reading(0, 1)
    _sought(story, 3)
    story.received(2, topic="persistent://public/default/t-s-RETRY")
    assert judged(ForgetsBefore, story) == ([], 0)


def test_prefetched_message_behind_a_seek_is_found() -> None:
    story = _reading(0, 1)
    _sought(story, 3)
    story.received(2)
    assert judged(ForgetsBefore, story)[0] == ["stale-delivery"]


def _acked(story: Script) -> None:
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))


def test_acknowledgment_ahead_of_a_seek() -> None:
    story = _reading(0, 1)
    _acked(story)
    story.ack_frame(0)
    _sought(story, 1)
    assert judged(ForgetsBefore, story)[0] == []


def test_acknowledgment_behind_a_seek_is_found() -> None:
    story = _reading(0, 1)
    _acked(story)
    _sought(story, 1)
    story.ack_frame(0)
    assert judged(ForgetsBefore, story)[0] == ["acked-behind-seek"]


def test_acknowledgment_asked_for_again_behind_a_seek() -> None:
    story = _reading(0, 1)
    _acked(story)
    _sought(story, 1)
    _acked(story)
    story.ack_frame(0)
    assert judged(ForgetsBefore, story)[0] == []


# --- when it ends -----------------------------------------------------------------------------------------------------


def test_seek_ends_when_subscribed_again() -> None:
    story = _reading()
    _sought(story, 1)
    assert judged(EndsWhenConnected, story) == ([], 1)


def test_seek_that_ends_while_the_consumer_is_away_is_found() -> None:
    story = _reading()
    invoke, _ = _asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.complete(invoke)
    story.subscribed()
    assert judged(EndsWhenConnected, story)[0] == ["ended-while-away"]


def test_seek_that_does_not_end_is_found() -> None:
    story = _reading()
    _asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.after(600)
    assert judged(EndsWhenConnected, story)[0] == ["not-ended"]


def test_seek_of_a_consumer_with_a_retry_letter_topic_waits_for_that_too() -> None:
    story = _reading()
    _asks(story, 1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.down("SUCCESS", request_id=99)
    story.subscribed()
    story.after(600)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"retry_letters": True})
    assert trial(EndsWhenConnected, story.done(), facts=facts).findings == []


def test_answer_ahead_of_the_close_may_end_a_seek() -> None:
    story = _reading()
    invoke, _ = _asks(story, 1)
    story.down("SUCCESS", request_id=99)
    story.complete(invoke)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    assert judged(EndsWhenConnected, story) == ([], 0)


def test_who_else_may_have_subscribed_again_leaves_deliveries_unjudged() -> None:
    """Two consumers of one subscription: which of them the second SUBSCRIBE is of is not known."""
    story = _reading(0, 1, 2)
    _sought(story, 0)
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.received(3)
    assert judged(ForgetsBefore, story)[0] == []


@pytest.mark.parametrize(("beside", "codes"), [(True, []), (False, ["acked-behind-seek"])])
def test_acknowledgment_between_two_seeks_may_leave_behind_the_first(beside: bool, codes: list[str]) -> None:
    """Of two under way nobody sees whose the SEEK is."""
    story = _reading(0, 1)
    first = story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}) if beside else None
    _acked(story)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 1, -1, -1, 0]})
    story.up("SEEK", consumer_id=0, request_id=90)
    story.ack_frame(0)
    if first is not None:
        story.complete(first)
    assert judged(ForgetsBefore, story)[0] == codes
