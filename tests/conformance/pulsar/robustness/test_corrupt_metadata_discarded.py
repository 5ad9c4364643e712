"""The check of `robustness.corrupt-metadata-discarded`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.robustness._malformed import consuming

from assay_conformance.pulsar.checks.robustness.corrupt_metadata_discarded import corrupt_metadata_discarded


def test_bad_metadata_that_is_acknowledged() -> None:
    story = consuming()
    story.message(0, meta=None, members=())
    story.ack_frame(0)
    assert judged(corrupt_metadata_discarded, story) == ([], 1)


def test_bad_metadata_that_closes_the_connection_is_found() -> None:
    story = consuming()
    story.message(0, meta=None, members=())
    story.closed()
    assert judged(corrupt_metadata_discarded, story)[0] == ["connection-closed"]


def test_bad_metadata_that_stays_in_the_backlog_is_found() -> None:
    story = consuming()
    story.message(0, meta=None, members=())
    story.after(600)
    assert judged(corrupt_metadata_discarded, story)[0] == ["not-reported"]


def test_damaged_message_is_another_requirements_matter() -> None:
    story = consuming()
    story.message(0, meta=None, members=(), intact=False)
    story.after(600)
    assert judged(corrupt_metadata_discarded, story) == ([], 0)
