"""The check of `batching.key-based-one-key-per-batch`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._keyed_batches import Story, by_highest

from assay_conformance.pulsar.checks.batching.key_based_one_key_per_batch import key_based_one_key_per_batch


def test_one_key_an_entry_is_accepted() -> None:
    assert by_highest().judged(key_based_one_key_per_batch) == ([], 2)


def test_two_keys_in_an_entry_are_found() -> None:
    story = Story()
    story.entry(0, 1, key="a", told=1)
    assert story.judged(key_based_one_key_per_batch) == (["keys-mixed"], 1)


def test_entry_without_its_key_is_found() -> None:
    story = Story()
    story.entry(1, 2, key=None, told=2)
    assert story.judged(key_based_one_key_per_batch) == (["key-not-told"], 1)


def test_entry_with_the_name_of_no_key_is_accepted() -> None:
    story = Story()
    story.send(5)
    story.entry(5, key="NONE_KEY", told=5)
    assert story.judged(key_based_one_key_per_batch) == ([], 1)


def test_other_batchers_are_not_judged() -> None:
    story = Story("default")
    story.entry(0, 1, key=None, told=0)
    assert story.judged(key_based_one_key_per_batch) == ([], 0)
