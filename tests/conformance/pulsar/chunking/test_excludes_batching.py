"""The check of `chunking.excludes-batching`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.chunking._size_limits import CASE, chunk

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.chunking.excludes_batching import excludes_batching


def test_refusing_both_is_accepted() -> None:
    story = Script()
    both = {"topic": "t", "config": {"batching": True, "chunking": True}}
    opening = story.invoke("open_producer", PRODUCER, args=both)
    story.complete(opening, Outcome.FAIL, error=ErrorClass.INVALID_CONFIG)
    check = trial(excludes_batching, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_chunking_dropped_in_silence_is_found() -> None:
    story = Script()
    story.producer(batching=True, chunking=True)
    story.send(0, size=2_500)
    story.fail(0, ErrorClass.TOO_LARGE)
    assert codes_of(trial(excludes_batching, story.done(), CASE)) == ["chunking-dropped"]


def test_chunking_that_wins_is_accepted() -> None:
    check = chunk(excludes_batching, batching=True, chunking=True)
    assert (check.findings, check.exercised) == ([], 1)
