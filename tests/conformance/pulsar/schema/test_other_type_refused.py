"""The check of `schema.other-type-refused`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import FIRST, SECOND, Typed, stated

from assay_conformance.pulsar.checks.schema.other_type_refused import other_type_refused


def test_refusal_of_another_type_is_accepted() -> None:
    story = Typed()
    story.opens_producer()
    story.connected(1)
    asked = story.producer_asks(1, producer_id=1, schema=stated(SECOND, "String"))
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "IncompatibleSchema"})
    assert judged(other_type_refused, story) == ([], 1)


def test_producer_of_another_type_that_is_let_in_is_found() -> None:
    story = Typed()
    story.opens_producer()
    story.connected(1)
    story.lets_in(SECOND, conn=1, kind="String")
    assert judged(other_type_refused, story) == (["let-in"], 1)


def test_consumer_of_another_type_that_is_let_in_is_found() -> None:
    story = Typed()
    story.opens_producer()
    story.connected(1)
    story.subscribed(1, schema=stated(SECOND, "String"))
    assert judged(other_type_refused, story) == (["let-in"], 1)


def test_another_schema_of_the_same_type_is_not_judged() -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.connected(1)
    story.lets_in(SECOND, conn=1)
    assert judged(other_type_refused, story) == ([], 0)
