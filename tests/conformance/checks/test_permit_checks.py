"""Permits after the first, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.flow.permits import EntriesWhole, HalfQueue, RestartsAfterReconnect, WithinQueue
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _taking(count: int, queue: int = 4) -> Script:
    """A consumer with that queue, filled, whose application took the first messages."""
    story = Script()
    story.consumer(receiver_queue_size=queue)
    story.flow(queue)
    for number in range(queue):
        story.message(number)
    for number in range(count):
        story.received(number)
    return story


# --- half a queue -----------------------------------------------------------------------------------------------------


def test_permits_after_half_a_queue() -> None:
    story = _taking(2)
    story.flow(2)
    story.after(1_000)
    assert judged(HalfQueue, story) == ([], 1)


def test_grant_may_be_seen_before_the_deliveries_that_led_to_it() -> None:
    story = _taking(0)
    story.flow(2)
    story.received(0)
    story.received(1)
    story.after(1_000)
    assert judged(HalfQueue, story) == ([], 1)


def test_no_permits_after_half_a_queue_is_found() -> None:
    story = _taking(2)
    story.after(600)
    assert judged(HalfQueue, story)[0] == ["no-refill"]


def test_message_of_another_topic_of_the_consumer_takes_nothing_from_this_queue() -> None:
    story = _taking(1)
    story.subscribed(consumer_id=1, topic="u")
    story.message(0, consumer_id=1)
    story.received(0, topic=story.full("u"))
    story.after(600)
    assert judged(HalfQueue, story)[0] == []


def test_consumer_that_is_closed_owes_no_permits() -> None:
    story = _taking(2)
    story.invoke("close", 2)
    story.after(600)
    assert judged(HalfQueue, story)[0] == []


def test_consumer_that_is_paused_owes_no_permits() -> None:
    story = _taking(1)
    story.complete(story.invoke("pause", 2))
    story.received(1)
    story.after(1_000)
    assert judged(HalfQueue, story)[0] == []


def test_permits_one_by_one_are_found() -> None:
    story = _taking(1)
    story.flow(1)
    assert judged(HalfQueue, story)[0] == ["in-drips"]


def test_what_a_lost_connection_kept_from_being_granted_is_not_judged() -> None:
    story = _taking(2)
    story.cut()
    story.after(1_000)
    assert judged(HalfQueue, story) == ([], 0)


# --- no more than the queue -------------------------------------------------------------------------------------------


def test_permits_for_what_came() -> None:
    story = _taking(2)
    story.flow(4)
    assert judged(WithinQueue, story) == ([], 1)


def test_permit_for_nothing_is_found() -> None:
    story = _taking(2)
    story.flow(5)
    assert judged(WithinQueue, story)[0] == ["more-than-the-queue"]


def test_messages_an_ack_set_takes_out_are_not_charged() -> None:
    story = Script()
    story.consumer(receiver_queue_size=4)
    story.flow(4)
    story.message(0, 1, 2, 3, ack_sets=((0b1000,),))
    story.flow(5)
    assert judged(WithinQueue, story)[0] == ["more-than-the-queue"]


def test_each_connection_has_a_ledger_of_its_own() -> None:
    story = _taking(2)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    story.flow(4, conn=1)
    story.message(2, conn=1)
    story.flow(1, conn=1)
    assert judged(WithinQueue, story) == ([], 1)


# --- after a reconnect ------------------------------------------------------------------------------------------------


def _reconnected() -> Script:
    story = _taking(1)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    return story


def test_whole_queue_after_a_reconnect() -> None:
    story = _reconnected()
    story.flow(4, conn=1)
    assert judged(RestartsAfterReconnect, story) == ([], 1)


def test_less_than_the_queue_after_a_reconnect_is_found() -> None:
    story = _reconnected()
    story.flow(1, conn=1)
    story.after(200)
    assert judged(RestartsAfterReconnect, story)[0] == ["wrong-permits-after-reconnect"]


def test_grant_for_a_message_of_before_may_cross_the_answer_to_subscribe() -> None:
    story = _reconnected()
    story.flow(1, conn=1)
    story.flow(4, conn=1)
    assert judged(RestartsAfterReconnect, story) == ([], 1)


def test_no_permits_after_a_reconnect_are_found() -> None:
    story = _reconnected()
    story.after(600)
    assert judged(RestartsAfterReconnect, story)[0] == ["no-permits-after-reconnect"]


def test_first_connection_is_another_requirements_matter() -> None:
    assert judged(RestartsAfterReconnect, _taking(1)) == ([], 0)


# --- the broker's side ------------------------------------------------------------------------------------------------


def _subscribed() -> Script:
    story = Script()
    story.consumer(receiver_queue_size=4)
    return story


def test_entry_beyond_the_permits_is_owed() -> None:
    story = _subscribed()
    story.flow(4)
    story.message(0, 1, 2)
    story.message(3, 4, 5)
    story.flow(3)
    story.message(6)
    assert judged(EntriesWhole, story) == ([], 3)


def test_message_without_permits_is_found() -> None:
    story = _subscribed()
    story.message(0)
    assert judged(EntriesWhole, story)[0] == ["beyond-permits"]


def test_debt_that_is_forgotten_is_found() -> None:
    story = _subscribed()
    story.flow(2)
    story.message(0, 1, 2)
    story.message(3, 4, 5)
    story.flow(2)
    story.message(6)
    assert judged(EntriesWhole, story)[0] == ["beyond-permits"]


def _redelivered(*numbers: int, kind: str = "Exclusive") -> Script:
    """Two permits are left when redelivery is asked for; then these messages come."""
    story = Script()
    story.consumer(kind=kind, receiver_queue_size=4)
    story.flow(2)
    story.redeliver_frame()
    for number in numbers:
        story.message(number)
    return story


def test_a_read_that_redelivery_began_may_come_beside_another() -> None:
    assert judged(EntriesWhole, _redelivered(2, 3, 0, 1))[0] == []


def test_redelivery_to_one_of_several_begins_nothing_beside() -> None:
    assert "beyond-permits" in judged(EntriesWhole, _redelivered(2, 3, 0, 1, kind="Shared"))[0]


def test_more_than_two_reads_bring_is_found() -> None:
    assert judged(EntriesWhole, _redelivered(2, 3, 0, 1, 4))[0] == ["beyond-permits"]


def test_one_read_may_bring_as_many_entries_as_there_were_permits() -> None:
    story = _subscribed()
    story.flow(2)
    story.message(0, 1, 2)
    story.message(3, 4, 5)
    assert judged(EntriesWhole, story) == ([], 2)
