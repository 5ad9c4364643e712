"""The check of `dedup.max-producers-in-snapshot`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.dedup._broker import ONE_NAME, RESTARTED, judged, two_names

from assay_conformance.pulsar.checks.dedup.max_producers_in_snapshot import max_producers_in_snapshot


def test_one_name_of_two_is_known_where_one_is_written_down() -> None:
    assert judged(max_producers_in_snapshot, two_names(-1, 0), ONE_NAME) == ([], 2)


def test_more_names_that_are_known_than_are_written_down_are_found() -> None:
    assert judged(max_producers_in_snapshot, two_names(0, 0), ONE_NAME)[0] == ["too-many-names"]


def test_names_of_entries_that_no_snapshot_may_know_of_are_not_counted() -> None:
    assert judged(max_producers_in_snapshot, two_names(0, 0, behind=1), ONE_NAME) == ([], 0)


def test_names_within_the_bound_are_no_matter_of_it() -> None:
    assert judged(max_producers_in_snapshot, two_names(0, 0), RESTARTED) == ([], 0)
