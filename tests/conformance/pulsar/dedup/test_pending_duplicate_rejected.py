"""The check of `dedup.pending-duplicate-rejected`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dedup._histories import CASE

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Kill
from assay_conformance.pulsar.checks.dedup.pending_duplicate_rejected import pending_duplicate_rejected


def _copied() -> Script:
    """Message 0 arrives twice, and is not stored yet."""
    story = Script()
    story.producer(producer_name="p")
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    return story


def test_copy_refused_until_the_first_is_stored_is_accepted() -> None:
    story = _copied()
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    story.stored(0)
    check = trial(pending_duplicate_rejected, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_copy_receipted_before_the_first_is_stored_is_found() -> None:
    story = _copied()
    story.receipt(0, conn=1, id=DUPLICATE)
    assert codes_of(trial(pending_duplicate_rejected, story.done(), CASE)) == ["receipted-undecided"]


def test_copy_that_what_was_stored_late_has_decided_may_be_receipted() -> None:
    """The first one was lost on its way, and when the one after it was stored is not known."""
    story = Script()
    story.producer()
    story.send_frame(1)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    story.stored(1, late=True)
    assert codes_of(trial(pending_duplicate_rejected, story.done(), CASE)) == []


def test_copy_receipted_when_the_first_is_stored_is_accepted() -> None:
    story = _copied()
    story.stored(0)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert codes_of(trial(pending_duplicate_rejected, story.done(), CASE)) == []


def test_copy_of_an_id_inside_a_stored_batch_is_decided() -> None:
    story = Script()
    story.producer(producer_name="p")
    batch = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=3, batch=4)
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3, meta=batch)
    story.stored(0, 1, 2, 3, meta=batch)
    for _ in range(2):
        story.send_frame(4, sequence_id=2)
    story.receipt(2, id=DUPLICATE)
    assert codes_of(trial(pending_duplicate_rejected, story.done(), CASE)) == []


def test_copy_receipted_by_the_next_broker_is_accepted() -> None:
    """What waited in the broker that was killed waits nowhere."""
    story = Script()
    story.producer()
    story.send(0)
    story.fired(action="kill")
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    killed = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Kill()),))
    assert codes_of(trial(pending_duplicate_rejected, story.done(), killed)) == []


def test_copy_on_a_topic_without_deduplication_is_not_judged() -> None:
    story = _copied()
    story.receipt(0, conn=1)
    assert codes_of(trial(pending_duplicate_rejected, story.done())) == []
