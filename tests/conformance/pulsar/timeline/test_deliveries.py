"""What became of each MESSAGE, and how subscriptions stood when it was sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.pulsar.timeline.asked import asked

from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Event, Sides
from assay_conformance.pulsar.timeline import Delivery, Subscription, Timeline


def _story(kind: str = "Exclusive") -> Script:
    story = Script()
    story.consumer(kind=kind)
    story.flow(10)
    return story


def _of(story: Script, question: Callable[[list[Delivery]], object]) -> object:
    return asked(story, lambda timeline: question(timeline.deliveries))


def test_message_is_note_received_with_the_last_copy_that_had_come() -> None:
    story = _story()
    story.message(0)
    first = story.received(0)
    story.message(0, redelivery_count=1)
    second = story.received(0)
    assert _of(story, lambda deliveries: [one.received for one in deliveries]) == [(first,), (second,)]


def test_message_that_waited_while_another_copy_came_is_note_received_with_its_own() -> None:
    story = _story()
    story.message(0)
    story.message(0, redelivery_count=1)
    first, second = story.received(0), story.received(0, redelivery_count=1)
    assert _of(story, lambda deliveries: [one.received for one in deliveries]) == [(first,), (second,)]


def test_message_that_a_fault_swallowed_was_dispatched_and_did_not_come() -> None:
    story = _story()
    story.message(0, sides=Sides.SENDER)
    assert _of(story, lambda deliveries: [(one.dispatched, one.came) for one in deliveries]) == [(True, False)]


def test_calls_name_the_delivery_that_their_message_came_with() -> None:
    story = _story()
    story.message(0)
    story.received(0)
    ack = story.invoke("ack", CONSUMER, args={"messages": [1]})
    assert _of(story, lambda deliveries: [call.invoke for one in deliveries for call in one.calls]) == [ack]


def test_cumulative_ack_is_one_of_everything_before_it() -> None:
    story = _story()
    for number in range(3):
        story.message(number)
    ack = story.ack_frame(1, ack_type="Cumulative")
    acks = _of(story, lambda deliveries: [(one.acks, one.settled) for one in deliveries])
    assert acks == [((ack,), ack), ((ack,), ack), ((), None)]


def test_ack_that_a_fault_swallowed_was_written_and_settles_nothing() -> None:
    story = _story()
    story.message(0)
    ack = story.ack_frame(0, sides=Sides.SENDER)
    assert _of(story, lambda deliveries: [(one.acks, one.settled) for one in deliveries]) == [((ack,), None)]


@pytest.mark.parametrize("named", [(0,), ()])
def test_request_for_redelivery_names_entries_or_all(named: tuple[int, ...]) -> None:
    story = _story("Shared")
    story.message(0)
    asks = story.redeliver_frame(*named)
    story.message(0, redelivery_count=1)
    story.redeliver_frame(*named, sides=Sides.RECEIVER)
    asked_again = _of(story, lambda deliveries: [(one.asked_again, one.given_back is asks) for one in deliveries])
    assert asked_again == [(asks, True), (None, False)]


def test_entry_that_is_sent_to_another_consumer_is_the_next_delivery() -> None:
    story = _story("Shared")
    story.message(0)
    story.subscribed(consumer_id=1, kind="Shared")
    story.message(0, consumer_id=1)
    following = _of(story, lambda deliveries: [deliveries.index(one.next) if one.next else None for one in deliveries])
    assert following == [1, None]


# --- subscriptions ---


def _shared() -> tuple[Script, Event, Event]:
    """Two consumers; the first gets two entries and goes, with one of them acknowledged."""
    story = _story("Shared")
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.message(0)
    story.message(1)
    middle = story.flow(1, conn=1)
    story.ack_frame(0)
    story.cut()
    return story, middle, story.flow(1, conn=1)


def _at(story: Script, question: Callable[[Subscription], object]) -> object:
    def ask(timeline: Timeline) -> object:
        (subscription,) = timeline.subscriptions
        return question(subscription)

    return asked(story, ask)


def test_entries_are_unacknowledged_until_their_ack_comes() -> None:
    story, middle, last = _shared()
    assert _at(story, lambda one: [len([*one.unacked(at)]) for at in (middle, last)]) == [2, 1]


def test_members_live_until_their_connection_ends() -> None:
    story, middle, last = _shared()
    assert _at(story, lambda one: [len(one.living(at)) for at in (middle, last)]) == [2, 1]


def test_member_holds_what_it_neither_acknowledged_nor_gave_back() -> None:
    story, middle, last = _shared()
    assert _at(story, lambda one: [sorted(one.members[0].out(at)) for at in (middle, last)]) == [
        [(1, 0), (1, 1)],
        [(1, 1)],
    ]


def test_part_of_a_batch_settles_its_entry_and_does_not_acknowledge_it_whole() -> None:
    story = _story()
    story.message(0, 1, batch=True)
    story.ack_frame(0, ack_sets=((0b10,),))
    end = story.flow(1)
    assert _at(story, lambda one: (len([*one.unacked(end)]), one.is_acked((1, 0), end))) == (0, False)


def test_subscription_that_was_moved_by_a_seek_is_over() -> None:
    story = _story()
    seek = story.up("SEEK", consumer_id=0, request_id=90)
    assert _at(story, lambda one: one.over) == seek


def test_refused_consumer_is_no_member() -> None:
    story = _story()
    story.up("SUBSCRIBE", consumer_id=1, request_id=90, fields={"topic": story.full("t"), "subscription": "s"})
    waiting = story.flow(1)
    story.down("ERROR", request_id=90, fields={"error": "ConsumerBusy"})
    end = story.flow(1)
    found = _at(story, lambda one: (len(one.members), one.asked[1].refused, one.is_asked(waiting), one.is_asked(end)))
    assert found == (1, True, True, False)


def _unsubscribed(answer: str) -> bool:
    """Whether a subscription is another one after an UNSUBSCRIBE that is answered so."""
    story = Script()
    story.consumer()
    story.up("UNSUBSCRIBE", consumer_id=0, request_id=9)
    story.down(answer, request_id=9)
    return asked(story, lambda timeline: timeline.subscriptions[0].over is not None)


def test_subscription_is_over_once_it_is_unsubscribed_from() -> None:
    assert _unsubscribed("SUCCESS")


def test_subscription_goes_on_where_the_broker_refuses_to_unsubscribe() -> None:
    assert not _unsubscribed("ERROR")
