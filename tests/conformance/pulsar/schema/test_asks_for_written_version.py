"""The check of `schema.asks-for-written-version`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import FIRST, SECOND, Typed

from assay_conformance.pulsar.checks.schema.asks_for_written_version import asks_for_written_version


def story(own: str = SECOND) -> Typed:
    """A value of the first version is handed to a consumer."""
    history = Typed()
    history.opens_producer(FIRST)
    history.opens_consumer(own)
    history.holds(FIRST)
    return history


def test_value_of_another_version_that_was_asked_for_is_accepted() -> None:
    history = story()
    history.asks(FIRST, FIRST)
    history.reads()
    assert judged(asks_for_written_version, history) == ([], 1)


def test_value_of_another_version_that_was_never_asked_for_is_found() -> None:
    history = story()
    history.reads()
    assert judged(asks_for_written_version, history) == (["not-asked"], 1)


def test_asking_for_another_version_is_not_enough() -> None:
    history = story()
    history.asks(SECOND, SECOND)
    history.reads()
    assert judged(asks_for_written_version, history) == (["not-asked"], 1)


def test_value_of_the_own_schema_needs_no_question() -> None:
    history = story(own=FIRST)
    history.reads()
    assert judged(asks_for_written_version, history) == ([], 0)
