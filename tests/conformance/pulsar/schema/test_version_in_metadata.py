"""The check of `schema.version-in-metadata`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import FIRST, SECOND, Typed

from assay_conformance.pulsar.checks.schema.version_in_metadata import version_in_metadata


@pytest.mark.parametrize(
    ("version", "codes"), [(FIRST, []), (None, ["no-version"]), (SECOND, ["other-version"])], ids=str
)
def test_message_names_the_version_that_was_answered(version: str | None, codes: list[str]) -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.sends(0, version)
    assert judged(version_in_metadata, story) == (codes, 1)


def test_message_of_a_producer_without_a_schema_names_none() -> None:
    story = Typed()
    story.producer()
    story.sends(0, None)
    assert judged(version_in_metadata, story) == ([], 0)


def test_version_of_a_further_schema_is_accepted() -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.down("GET_OR_CREATE_SCHEMA_RESPONSE", request_id=901, fields={"schema_version": SECOND})
    story.sends(0, SECOND)
    assert judged(version_in_metadata, story) == ([], 1)
