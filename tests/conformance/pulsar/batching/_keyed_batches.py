"""Batches by key, both ways: {A: 0, 3, 4} and {B: 1, 2}."""

from __future__ import annotations

from assay_conformance.checks.base import Check
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


def by_highest() -> Story:
    story = Story()
    story.entry(1, 2, key="b", told=2)
    story.entry(0, 3, 4, key="a", told=4)
    return story
