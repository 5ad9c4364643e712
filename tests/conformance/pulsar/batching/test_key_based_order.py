"""The check of `batching.key-based-order`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._keyed_batches import Story, by_highest

from assay_conformance.pulsar.checks.batching.key_based_order import key_based_order


def test_entries_sorted_by_highest_id_are_accepted() -> None:
    assert by_highest().judged(key_based_order) == ([], 1)


def test_ranges_that_overlap_are_found() -> None:
    story = Story()
    story.entry(0, 3, 4, key="a", told=0, highest=4)
    story.entry(1, 2, key="b", told=1, highest=2)
    assert story.judged(key_based_order) == (["id-told-before"], 1)


def test_key_that_leaves_backwards_is_found() -> None:
    story = Story()
    story.entry(3, 4, key="a", told=4)
    story.entry(0, key="a", told=5)
    assert story.judged(key_based_order) == (["key-out-of-order"], 1)
