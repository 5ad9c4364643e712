"""The check of `connection.close-reaches-all`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.pulsar.checks.connection.close_reaches_all import close_reaches_all


def test_producer_that_is_closed_at_its_broker_is_accepted() -> None:
    story = Script()
    story.producer()
    close = story.invoke("close", PRODUCER)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=70)
    story.down("SUCCESS", request_id=70)
    story.complete(close)
    assert judged(close_reaches_all, story.at(5_000)) == ([], 1)


def test_producer_that_stays_registered_is_found() -> None:
    story = Script()
    story.producer()
    story.complete(story.invoke("close", PRODUCER))
    assert judged(close_reaches_all, story.at(5_000))[0] == ["left-registered"]


@pytest.mark.parametrize("end", ["cut", "broker"])
def test_producer_that_was_away_has_nothing_to_close(end: str) -> None:
    story = Script()
    story.producer()
    if end == "cut":
        story.cut()
    else:
        story.down("CLOSE_PRODUCER", producer_id=0)
    story.complete(story.invoke("close", PRODUCER))
    assert judged(close_reaches_all, story.at(5_000)) == ([], 1)


def test_consumer_that_has_unsubscribed_is_closed_there() -> None:
    story = Script()
    story.consumer()
    story.up("UNSUBSCRIBE", consumer_id=0, request_id=70)
    story.down("SUCCESS", request_id=70)
    story.complete(story.invoke("close", CONSUMER))
    assert judged(close_reaches_all, story.at(5_000)) == ([], 1)
