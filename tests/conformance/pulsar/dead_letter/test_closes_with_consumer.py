"""The check of `dead-letter.closes-with-consumer`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._letters import Letters
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_twice

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.dead_letter.closes_with_consumer import closes_with_consumer


def _closed(*, receipted: bool = True, closes: bool = False, later: bool = False) -> Letters:
    """A consumer is closed behind its dead letter, and so is its producer where it `closes`."""
    story = refused_twice()
    story.posts()
    if receipted:
        story.receipt(0, producer_id=5)
    close = story.invoke("close", CONSUMER)
    if closes:
        story.up("CLOSE_PRODUCER", producer_id=5, request_id=70)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=71)
    story.down("SUCCESS", request_id=71)
    story.complete(close)
    if later:
        story.after(100)
        story.up("CLOSE_PRODUCER", producer_id=5, request_id=70)
    return story


def test_producer_of_letters_that_is_closed_with_its_consumer_is_accepted() -> None:
    for story in (_closed(closes=True), _closed(later=True)):
        check = story.judged(closes_with_consumer)
        assert (check.findings, check.exercised) == ([], 1)


def test_producer_of_letters_that_outlives_its_consumer_is_found() -> None:
    assert codes_of(_closed().judged(closes_with_consumer)) == ["left-open"]


def test_producer_that_waits_for_a_receipt_is_not_judged() -> None:
    check = _closed(receipted=False).judged(closes_with_consumer)
    assert (check.findings, check.exercised) == ([], 0)


def test_producer_whose_connection_ends_with_the_client_is_accepted() -> None:
    story = _closed()
    story.closed()
    assert codes_of(story.judged(closes_with_consumer)) == []
