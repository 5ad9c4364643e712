"""On which connection a producer comes back, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.model.event import ClosedBy
from assay_conformance.pulsar.checks.connection.returns_on_its_connection import returns_on_its_connection

LIVES_ON_MS = 2_000


def sent_away() -> Script:
    """A producer that its broker has closed."""
    story = Script()
    story.producer()
    story.down("CLOSE_PRODUCER", producer_id=0)
    return story


def test_producer_that_registers_where_it_was_is_accepted() -> None:
    story = sent_away()
    story.producer_ready()
    story.after(LIVES_ON_MS)
    assert judged(returns_on_its_connection, story) == ([], 1)


def test_producer_that_takes_another_connection_to_its_broker_is_found() -> None:
    story = sent_away()
    story.producer_again(1)
    story.after(LIVES_ON_MS)
    assert judged(returns_on_its_connection, story)[0] == ["another-connection"]


def test_client_that_ends_the_first_connection_has_one_for_each() -> None:
    story = sent_away()
    story.producer_again(1)
    story.closed(0)
    assert judged(returns_on_its_connection, story) == ([], 0)


def test_producer_whose_connection_is_lost_takes_another_one() -> None:
    story = Script()
    story.producer()
    story.cut(by=ClosedBy.FAULT)
    story.producer_again(1)
    story.after(LIVES_ON_MS)
    assert judged(returns_on_its_connection, story) == ([], 0)


def test_producer_whose_topic_went_to_another_broker_follows_it() -> None:
    story = sent_away()
    story.opened(1, broker=1, url="pulsar://other:6650")
    story.up("CONNECT", 1)
    story.down("CONNECTED", 1)
    story.producer_ready(1)
    story.after(LIVES_ON_MS)
    assert judged(returns_on_its_connection, story) == ([], 0)
