"""The check of `schema.stated-in-registrations`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import SECOND, Typed, stated

from assay_conformance.pulsar.checks.schema.stated_in_registrations import stated_in_registrations


@pytest.mark.parametrize(("states", "codes"), [(True, []), (False, ["not-stated"])])
def test_producer_states_its_schema(states: bool, codes: list[str]) -> None:
    story = Typed()
    story.opens_producer(states=states)
    assert judged(stated_in_registrations, story) == (codes, 1)


def test_producer_that_states_another_type_is_found() -> None:
    story = Typed()
    story.opens_producer(kind="String")
    assert judged(stated_in_registrations, story) == (["not-stated"], 1)


def test_consumer_that_states_nothing_is_found() -> None:
    story = Typed()
    story.opens_consumer()
    assert judged(stated_in_registrations, story) == (["not-stated"], 1)


def test_whoever_was_opened_with_bytes_states_nothing() -> None:
    story = Typed()
    story.producer(schema="bytes")
    story.consumer()
    assert judged(stated_in_registrations, story) == ([], 0)


def test_consumer_that_states_its_schema_is_accepted() -> None:
    story = Typed()
    story.opens_consumer()
    story.events = [event for event in story.events if getattr(event, "command", "") != "SUBSCRIBE"]
    story.subscribed(schema=stated(SECOND))
    assert judged(stated_in_registrations, story)[0] == []
