"""The check of `batching.lowest-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._histories import ids, lowest

from assay_conformance.history.script import NAME
from assay_conformance.model.event import Member, Meta


def test_batch_that_goes_by_its_lowest_id_is_accepted() -> None:
    check = lowest()
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_goes_by_its_highest_id_is_found() -> None:
    members = tuple(Member(size=1, digest=0, sequence_id=id) for id in range(3))
    assert [finding.code for finding in lowest(sequence_id=2, members=members).findings] == ["other-id"]
    assert ids(sequence_id=2, members=members).findings == []


def test_batch_whose_metadata_goes_by_another_id_is_found() -> None:
    meta = Meta(producer_name=NAME, sequence_id=2, highest_sequence_id=2, batch=3)
    assert [finding.code for finding in lowest(meta=meta).findings] == ["other-id"]
