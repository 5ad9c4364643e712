"""The check of `schema.versions-kept-apart`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import FIRST, SECOND, Typed

from assay_conformance.pulsar.checks.schema.versions_kept_apart import versions_kept_apart


@pytest.mark.parametrize(
    ("answered", "definition", "codes"),
    [(FIRST, FIRST, []), (FIRST, SECOND, ["other-schema"]), (SECOND, SECOND, ["other-version"])],
    ids=["right", "other schema", "other version"],
)
def test_answer_has_the_version_that_was_asked_for(answered: str, definition: str, codes: list[str]) -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.asks(FIRST, answered, definition=definition)
    assert judged(versions_kept_apart, story) == (codes, 1)


def test_version_that_a_producer_was_given_and_is_not_found_again_is_found() -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.asks(FIRST)
    story.down("GET_SCHEMA_RESPONSE", request_id=900, fields={"error_code": "TopicNotFound"})
    assert judged(versions_kept_apart, story) == (["lost"], 1)


def test_version_that_was_never_given_is_not_judged() -> None:
    story = Typed()
    story.opens_producer(FIRST)
    story.asks(SECOND, SECOND)
    assert judged(versions_kept_apart, story) == ([], 0)
