"""Consumers of a pattern and of several topics, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.checks.consuming import client

from assay_conformance.checks.base import Check
from assay_conformance.checks.fairness import NoTopicStarves
from assay_conformance.checks.own_topic import AcksWhereItCame
from assay_conformance.checks.topic_patterns import FollowsPattern, HearsOfTopics
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.model.event import Member, Outcome, Sides

FULL = {name: f"persistent://public/default/{name}" for name in ("news-a", "news-b", "sports")}
INTERVAL_MS = 1_000


class Following(Script):
    """A consumer of `news-.*` that looks for topics once a second; `news-a` and `sports` are there before it."""

    def __init__(self, *subscribed: str, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(FULL)
        self.connected()
        self.down("CONNECTED", fields={"protocol_version": 21, "feature_flags": {"supports_topic_watchers": True}})
        self.stored(0, topic="news-a")
        self.stored(1, topic="sports")
        self.opens(CONSUMER, "s", interval_ms, *subscribed)

    def opens(self, handle: int, subscription: str, interval_ms: int, *subscribed: str) -> None:
        config = {"pattern_update_ms": interval_ms}
        args = {"topics": ["news-a", "news-b"], "pattern": "news-.*", "subscription": subscription, "config": config}
        opening = self.invoke("open_consumer", handle, args=args)
        for number, topic in enumerate(subscribed):
            self.subscribed(consumer_id=10 * handle + number, topic=FULL[topic], subscription=subscription)
        self.complete(opening)

    def finds(self, after_ms: int, subscription: str = "s") -> None:
        self.after(after_ms)
        self.subscribed(consumer_id=7, topic=FULL["news-b"], subscription=subscription)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done(), ANY_CASE)
        return [finding.code for finding in said.findings], said.exercised


def test_every_topic_that_matches_is_subscribed_to() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=2 * INTERVAL_MS)
    assert story.judged(FollowsPattern) == ([], 2)


def test_topic_that_was_there_and_is_left_out_is_found() -> None:
    assert Following().judged(FollowsPattern)[0] == ["left-out"]


def test_topic_that_one_of_two_consumers_subscribed_to_may_be_anothers() -> None:
    """The first could not be opened, as its client says; nobody knows what it still does."""
    story = Following("news-a")
    args = {"topics": ["news-a", "news-b"], "pattern": "news-.*", "subscription": "other", "config": {}}
    story.complete(story.invoke("open_consumer", CONSUMER + 1, args=args), Outcome.UNKNOWN)
    story.opens(CONSUMER + 2, "other", INTERVAL_MS, "news-a")
    assert story.judged(FollowsPattern)[0] == []


@pytest.mark.parametrize("after_ms", [2 * INTERVAL_MS + 600, None], ids=["late", "never"])
def test_topic_that_comes_to_be_and_is_not_found_in_time_is_found(after_ms: int | None) -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    if after_ms is None:
        story.after(10 * INTERVAL_MS)
    else:
        story.finds(after_ms)
    assert story.judged(FollowsPattern)[0] == ["not-followed"]


def test_history_that_ends_in_time_says_nothing_of_a_new_topic() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    assert story.judged(FollowsPattern) == ([], 1)


def test_each_consumer_has_the_time_of_its_own_interval() -> None:
    story = Following("news-a", interval_ms=INTERVAL_MS)
    story.opens(CONSUMER + 1, "rare", 4 * INTERVAL_MS, "news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=2 * INTERVAL_MS)
    story.finds(after_ms=6 * INTERVAL_MS, subscription="rare")
    assert story.judged(FollowsPattern)[0] == []


def test_consumer_that_looks_rarely_lends_no_time_to_another() -> None:
    story = Following("news-a", interval_ms=4 * INTERVAL_MS)
    story.opens(CONSUMER + 1, "often", INTERVAL_MS, "news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=3 * INTERVAL_MS, subscription="often")
    assert story.judged(FollowsPattern)[0] == ["not-followed"]


# --- watching ---


def _told(after_ms: int) -> Following:
    story = Following("news-a")
    story.up("WATCH_TOPIC_LIST", request_id=50)
    story.down("WATCH_TOPIC_UPDATE", fields={"new_topics": [FULL["news-b"], FULL["sports"]]})
    story.finds(after_ms)
    return story


def test_topic_that_is_told_of_is_subscribed_to_at_once() -> None:
    assert _told(after_ms=50).judged(HearsOfTopics) == ([], 1)


def test_topic_that_is_told_of_and_found_later_is_found() -> None:
    assert _told(after_ms=900).judged(HearsOfTopics)[0] == ["not-followed"]


@pytest.mark.parametrize(("fault", "codes"), [({"sides": Sides.RECEIVER}, []), ({}, ["not-followed"])])
def test_topic_whose_look_up_a_fault_held_back_may_come_late(fault: dict[str, Any], codes: list[str]) -> None:
    story = Following("news-a")
    story.up("WATCH_TOPIC_LIST", request_id=50)
    story.down("WATCH_TOPIC_UPDATE", fields={"new_topics": [FULL["news-b"]]})
    story.up("LOOKUP", request_id=51)
    story.after(900)
    story.down("LOOKUP_RESPONSE", request_id=51, **fault)
    story.finds(after_ms=10)
    assert story.judged(HearsOfTopics)[0] == codes


def test_client_that_has_nobody_watch_is_found() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=900)
    assert story.judged(HearsOfTopics)[0] == ["not-followed"]


# --- fairness ---


def _merging(*order: int, again: int | None = None, batch: int = 1, conn: int = 0) -> tuple[list[str], int]:
    """Message 0 of topic sports comes first, on connection `conn`, and twelve of news-a behind it, on connection 0; the
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
    said = trial(NoTopicStarves, story.done(), facts=client(receiver_queue_size=5))
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


def _acknowledging(*acks: tuple[int, int], cumulative: bool = False, both: bool = False) -> tuple[list[str], int]:
    """A consumer of two topics gets message 0 on the first and 1 on the second, `both`: that on the first, too; then
    it says (topic, message)."""
    story = Script(FULL)
    story.connected()
    story.invoke("open_consumer", CONSUMER, args={"topics": ["news-a", "sports"], "subscription": "s"})
    for number, topic in enumerate(("news-a", "sports")):
        story.subscribed(consumer_id=number, topic=FULL[topic])
        story.message(number, consumer_id=number)
    if both:
        story.message(1, consumer_id=0)
    for consumer_id, entry in acks:
        story.up(
            "ACK",
            consumer_id=consumer_id,
            ids=(entry_id(entry),),
            ack_type="Cumulative" if cumulative else "Individual",
        )
    said = trial(AcksWhereItCame, story.done(), ANY_CASE)
    return [finding.code for finding in said.findings], said.exercised


def test_each_message_is_acknowledged_on_its_own_topic() -> None:
    assert _acknowledging((0, 0), (1, 1)) == ([], 2)


def test_message_that_is_acknowledged_on_another_topic_is_found() -> None:
    assert _acknowledging((0, 0), (0, 1))[0] == ["on-another"]


def test_place_that_two_topics_have_is_taken_on_either() -> None:
    assert _acknowledging((0, 1), both=True)[0] == []


def test_what_is_acknowledged_up_to_somewhere_is_of_no_message() -> None:
    assert _acknowledging((0, 1), cumulative=True)[0] == []
