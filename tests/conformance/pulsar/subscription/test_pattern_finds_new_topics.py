"""The check of `subscription.pattern-finds-new-topics`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.subscription._patterns import FULL, INTERVAL_MS, Following

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.subscription.pattern_finds_new_topics import pattern_finds_new_topics

CLIENT = 1


def test_every_topic_that_matches_is_subscribed_to() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=2 * INTERVAL_MS)
    assert story.judged(pattern_finds_new_topics) == ([], 2)


def test_topic_that_was_there_and_is_left_out_is_found() -> None:
    assert Following().judged(pattern_finds_new_topics)[0] == ["left-out"]


def test_topic_that_one_of_two_consumers_subscribed_to_may_be_anothers() -> None:
    """The first could not be opened, as its client says; nobody knows what it still does."""
    story = Following("news-a")
    args = {"topics": ["news-a", "news-b"], "pattern": "news-.*", "subscription": "other", "config": {}}
    story.complete(story.invoke("open_consumer", CONSUMER + 1, args=args), Outcome.UNKNOWN)
    story.opens(CONSUMER + 2, "other", INTERVAL_MS, "news-a")
    assert story.judged(pattern_finds_new_topics)[0] == []


@pytest.mark.parametrize("closed", [CLIENT, CONSUMER + 1], ids=["client", "consumer"])
def test_consumer_that_is_closed_while_it_opens_owes_no_subscription(closed: int) -> None:
    """pulsar-client-go subscribes over a new connection after the end of its client's close, and reports success."""
    story = Following("news-a")
    args = {
        "topics": ["news-a", "news-b"],
        "pattern": "news-.*",
        "subscription": "other",
        "config": {},
        "client": CLIENT,
    }
    opening = story.invoke("open_consumer", CONSUMER + 1, args=args)
    story.complete(story.invoke("close", closed, args={"handle": closed}))
    story.subscribed(consumer_id=9, topic=FULL["news-a"], subscription="other")
    story.complete(opening)
    assert story.judged(pattern_finds_new_topics)[0] == []


@pytest.mark.parametrize("after_ms", [2 * INTERVAL_MS + 600, None], ids=["late", "never"])
def test_topic_that_comes_to_be_and_is_not_found_in_time_is_found(after_ms: int | None) -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    if after_ms is None:
        story.after(10 * INTERVAL_MS)
    else:
        story.finds(after_ms)
    assert story.judged(pattern_finds_new_topics)[0] == ["not-followed"]


def test_history_that_ends_in_time_says_nothing_of_a_new_topic() -> None:
    story = Following("news-a")
    story.stored(2, topic="news-b")
    assert story.judged(pattern_finds_new_topics) == ([], 1)


def test_each_consumer_has_the_time_of_its_own_interval() -> None:
    story = Following("news-a", interval_ms=INTERVAL_MS)
    story.opens(CONSUMER + 1, "rare", 4 * INTERVAL_MS, "news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=2 * INTERVAL_MS)
    story.finds(after_ms=6 * INTERVAL_MS, subscription="rare")
    assert story.judged(pattern_finds_new_topics)[0] == []


def test_consumer_that_looks_rarely_lends_no_time_to_another() -> None:
    story = Following("news-a", interval_ms=4 * INTERVAL_MS)
    story.opens(CONSUMER + 1, "often", INTERVAL_MS, "news-a")
    story.stored(2, topic="news-b")
    story.finds(after_ms=3 * INTERVAL_MS, subscription="often")
    assert story.judged(pattern_finds_new_topics)[0] == ["not-followed"]
