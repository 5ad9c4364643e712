"""The check of `routing.partitions-are-independent`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar.routing._partitions import FIVE, Story

from assay_conformance.checks.trial import trial
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.routing.partitions_are_independent import partitions_are_independent


def test_message_that_leaves_beside_a_slow_partition_is_accepted() -> None:
    story = Story()
    story.goes(0, 1)
    story.goes(1, 2)
    assert story.judged(partitions_are_independent) == ([], 1)


def test_message_that_waits_for_a_slow_partition_is_found() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(partitions_are_independent) == (["held-up"], 1)


def test_message_waits_for_a_broker_that_does_not_always_read() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    settings = BrokerSettings(max_pending_sends=2)
    slow = msgspec.structs.replace(FIVE, topology=msgspec.structs.replace(FIVE.topology, settings=settings))
    assert trial(partitions_are_independent, story.done(), slow).findings == []


def test_message_to_the_slow_partition_itself_shows_nothing() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=1)
    assert story.judged(partitions_are_independent) == ([], 0)


def test_message_that_its_caller_asks_for_behind_a_synchronous_one_shows_nothing() -> None:
    story = Story()
    story.send(0, mode="sync")
    story.send_frame(0, producer_id=1)
    story.send(1)
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(partitions_are_independent) == ([], 0)


def test_synchronous_message_that_waits_for_a_slow_partition_is_found() -> None:
    story = Story()
    story.goes(0, 1)
    story.send(1, mode="sync")
    story.after(800)
    story.send_frame(1, producer_id=2)
    assert story.judged(partitions_are_independent) == (["held-up"], 1)
