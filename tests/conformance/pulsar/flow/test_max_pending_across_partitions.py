"""A limit that partitions share, both ways: twelve across three partitions."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.flow.max_pending_across_partitions import max_pending_across_partitions

THREE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=3),)))


class Story(Script):
    def __init__(self, **config: Any) -> None:
        super().__init__()
        self.producer(topic="t-partition-0", **{"max_pending_across_partitions": 12, "routing": "single", **config})

    def sends(self, count: int) -> None:
        """So many leave, and are receipted and reported as sent when all have left."""
        for number in range(count):
            self.send(number)
            self.send_frame(number)
        for number in range(count):
            self.receipt(number)
            self.ok(number)

    def judged(self) -> tuple[list[str], int]:
        said = trial(max_pending_across_partitions, self.done(), THREE)
        return [finding.code for finding in said.findings], said.exercised


def test_a_share_that_is_used_up_is_accepted() -> None:
    story = Story()
    story.sends(4)
    assert story.judged() == ([], 1)


def test_more_than_a_share_is_found() -> None:
    story = Story()
    story.sends(5)
    assert story.judged() == (["too-many-pending"], 1)


def test_a_smaller_limit_of_each_partition_counts() -> None:
    story = Story(max_pending_messages=2)
    story.sends(3)
    assert story.judged() == (["too-many-pending"], 1)


def test_refusal_below_the_share_is_found() -> None:
    story = Story()
    story.send(0)
    story.fail(0, ErrorClass.QUEUE_FULL)
    assert story.judged() == (["refused-with-room"], 0)


def test_refusal_where_chunks_take_places_of_their_own_shows_nothing() -> None:
    story = Story(chunking=True)
    story.send(0)
    story.fail(0, ErrorClass.QUEUE_FULL)
    assert story.judged() == ([], 0)


def test_without_a_shared_limit_nothing_is_judged() -> None:
    story = Story(max_pending_across_partitions=0)
    story.sends(5)
    assert story.judged() == ([], 0)
