"""Batches by key, both ways: {A: 0, 3, 4} and {B: 1, 2}."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.batching.keyed import KeyedKeepsOrder, KeyedTellsHighest, OneKeyPerEntry
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, MESSAGE_BYTES, NAME, PRODUCER, Script, digest_of
from assay_conformance.model.event import Identity, Member, Meta

KEYS = ("a", "b", "b", "a", "a")


class Story(Script):
    """Five messages of two keys were sent to a producer that batches by key."""

    def __init__(self, kind: str = "key_based") -> None:
        super().__init__()
        self.producer(batching=True, batching_type=kind)
        for number, key in enumerate(KEYS):
            self.send(number, key=key)

    def entry(self, *numbers: int, key: str | None, told: int, highest: int = 0) -> None:
        """An entry with these messages leaves."""
        self.send_frame(
            *numbers,
            sequence_id=told,
            highest_sequence_id=highest,
            meta=Meta(producer_name=NAME, sequence_id=told, highest_sequence_id=highest, batch=len(numbers), key=key),
            members=tuple(
                Member(
                    size=MESSAGE_BYTES,
                    digest=digest_of(number),
                    identity=Identity(CASE_NUMBER, PRODUCER, number),
                    sequence_id=number,
                )
                for number in numbers
            ),
        )

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised


def _by_highest() -> Story:
    story = Story()
    story.entry(1, 2, key="b", told=2)
    story.entry(0, 3, 4, key="a", told=4)
    return story


def test_one_key_an_entry_is_accepted() -> None:
    assert _by_highest().judged(OneKeyPerEntry) == ([], 2)


def test_two_keys_in_an_entry_are_found() -> None:
    story = Story()
    story.entry(0, 1, key="a", told=1)
    assert story.judged(OneKeyPerEntry) == (["keys-mixed"], 1)


def test_entry_without_its_key_is_found() -> None:
    story = Story()
    story.entry(1, 2, key=None, told=2)
    assert story.judged(OneKeyPerEntry) == (["key-not-told"], 1)


def test_entry_with_the_name_of_no_key_is_accepted() -> None:
    story = Story()
    story.send(5)
    story.entry(5, key="NONE_KEY", told=5)
    assert story.judged(OneKeyPerEntry) == ([], 1)


def test_highest_ids_are_accepted() -> None:
    assert _by_highest().judged(KeyedTellsHighest) == ([], 2)


def test_lowest_ids_alone_are_found() -> None:
    story = Story()
    story.entry(0, 3, 4, key="a", told=0)
    assert story.judged(KeyedTellsHighest) == (["other-highest"], 1)


def test_entries_sorted_by_highest_id_are_accepted() -> None:
    assert _by_highest().judged(KeyedKeepsOrder) == ([], 1)


def test_ranges_that_overlap_are_found() -> None:
    story = Story()
    story.entry(0, 3, 4, key="a", told=0, highest=4)
    story.entry(1, 2, key="b", told=1, highest=2)
    assert story.judged(KeyedKeepsOrder) == (["id-told-before"], 1)


def test_key_that_leaves_backwards_is_found() -> None:
    story = Story()
    story.entry(3, 4, key="a", told=4)
    story.entry(0, key="a", told=5)
    assert story.judged(KeyedKeepsOrder) == (["key-out-of-order"], 1)


def test_other_batchers_are_not_judged() -> None:
    story = Story("default")
    story.entry(0, 1, key=None, told=0)
    assert story.judged(OneKeyPerEntry) == ([], 0)
