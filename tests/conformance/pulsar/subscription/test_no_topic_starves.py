"""The check of `subscription.no-topic-starves`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import client
from tests.conformance.pulsar.subscription._patterns import FULL

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Member
from assay_conformance.pulsar.checks.subscription.no_topic_starves import no_topic_starves


def _merging(*order: int, again: int | None = None, batch: int = 1, conn: int = 0) -> tuple[list[str], int]:
    """Message 0 of topic sports comes first, on connection `conn`, and twelve of news-a after it, on connection 0; the
    application gets them in this order. The last `batch` are one entry.

    Each topic has a queue of five.
    """
    story = Script(FULL)
    args = {"topics": ["news-a", "sports"], "subscription": "s"}
    story.connected()
    story.invoke("open_consumer", CONSUMER, args=args)
    if conn:
        story.connected(conn)
    for number, (topic, where) in enumerate({"news-a": 0, "sports": conn}.items()):
        story.subscribed(conn=where, consumer_id=number, topic=FULL[topic])
    story.message(0, conn=conn, consumer_id=1)
    for number in range(1, 14 - batch):
        several = (Member(size=64, digest=0),) * batch
        together: dict[str, Any] = {} if number < 13 - batch else {"members": several}
        story.message(number, consumer_id=0, **together)
    for number in order:
        if number == again:
            story.message(number, entry=0, consumer_id=1)
        story.received(number, topic=FULL["news-a" if number else "sports"])
    said = trial(no_topic_starves, story.done(), facts=client(receiver_queue_size=5))
    return [finding.code for finding in said.findings], said.exercised


def test_topics_that_are_merged_as_they_came() -> None:
    assert _merging(*range(13)) == ([], 3)


def test_message_that_is_passed_over_by_more_than_all_queues_hold_is_found() -> None:
    assert _merging(*range(1, 13), 0)[0] == ["starved"]


def test_what_comes_on_another_connection_may_have_been_read_before_it() -> None:
    assert _merging(*range(1, 13), 0, conn=1)[0] == []


def test_batch_is_taken_as_a_whole_where_there_is_room_for_one_of_its_messages() -> None:
    assert _merging(*range(1, 13), 0, batch=3)[0] == []


def test_message_that_comes_again_waits_from_then_on() -> None:
    assert _merging(*range(1, 13), 0, again=0)[0] == []
