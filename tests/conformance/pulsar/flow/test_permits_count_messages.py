"""The check of `flow.permits-count-messages`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.flow.permits_count_messages import permits_count_messages


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
    assert judged(permits_count_messages, story) == ([], 3)


def test_message_without_permits_is_found() -> None:
    story = _subscribed()
    story.message(0)
    assert judged(permits_count_messages, story)[0] == ["beyond-permits"]


def test_consumer_that_subscribes_again_where_it_is_keeps_its_permits() -> None:
    """pulsar-client-go 0.21.0 was seen to subscribe twice on one connection after it had lost another."""
    story = _subscribed()
    story.flow(4)
    story.subscribed()
    story.message(0)
    assert judged(permits_count_messages, story)[0] == []


def test_debt_that_is_forgotten_is_found() -> None:
    story = _subscribed()
    story.flow(2)
    story.message(0, 1, 2)
    story.message(3, 4, 5)
    story.flow(2)
    story.message(6)
    assert judged(permits_count_messages, story)[0] == ["beyond-permits"]


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
    assert judged(permits_count_messages, _redelivered(2, 3, 0, 1))[0] == []


def test_redelivery_to_one_of_several_begins_nothing_beside() -> None:
    assert "beyond-permits" in judged(permits_count_messages, _redelivered(2, 3, 0, 1, kind="Shared"))[0]


def test_more_than_two_reads_bring_is_found() -> None:
    assert judged(permits_count_messages, _redelivered(2, 3, 0, 1, 4))[0] == ["beyond-permits"]


def test_one_read_may_bring_as_many_entries_as_there_were_permits() -> None:
    story = _subscribed()
    story.flow(2)
    story.message(0, 1, 2)
    story.message(3, 4, 5)
    assert judged(permits_count_messages, story) == ([], 2)
