"""The check of `batching.key-based-highest-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._keyed_batches import Story, by_highest

from assay_conformance.pulsar.checks.batching.key_based_highest_sequence_id import key_based_highest_sequence_id


def test_highest_ids_are_accepted() -> None:
    assert by_highest().judged(key_based_highest_sequence_id) == ([], 2)


def test_lowest_ids_alone_are_found() -> None:
    story = Story()
    story.entry(0, 3, 4, key="a", told=0)
    assert story.judged(key_based_highest_sequence_id) == (["other-highest"], 1)
