"""The check of `dead-letter.not-batched`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_twice

from assay_conformance.pulsar.checks.dead_letter.not_batched import not_batched


def test_dead_letter_alone_is_accepted() -> None:
    story = refused_twice()
    story.posts()
    check = story.judged(not_batched)
    assert (check.findings, check.exercised) == ([], 1)


def test_dead_letter_in_a_batch_is_found() -> None:
    story = refused_twice()
    story.posts(batch=1)
    assert codes_of(story.judged(not_batched)) == ["batched"]
