"""The check of `batching.delayed-not-batched`, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.batching.delayed_not_batched import delayed_not_batched


def _delayed(*order: int, deliver_at_ms: int | None = 5_000) -> Check:
    """Messages 0 and 1 were in the open batch when 2, a delayed one, was asked for."""
    story = Script()
    story.producer(batching=True)
    for number in range(2):
        story.send(number)
    story.send(2, deliver_after_ms=1_000)
    meta = Meta(producer_name=NAME, sequence_id=2, deliver_at_ms=deliver_at_ms)
    for first in order:
        if first == 0:
            story.send_frame(0, 1, batch=True)
        else:
            story.send_frame(2, meta=meta)
    return trial(delayed_not_batched, story.done())


def test_delayed_message_behind_the_batch_is_accepted() -> None:
    check = _delayed(0, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_delayed_message_that_overtakes_the_batch_is_found() -> None:
    assert [finding.code for finding in _delayed(2, 0).findings] == ["overtakes-batch"]


def test_delayed_message_that_lost_its_time_is_found() -> None:
    assert [finding.code for finding in _delayed(0, 2, deliver_at_ms=None).findings] == ["time-lost"]


def test_delayed_message_that_others_have_to_wait_with_is_found() -> None:
    story = Script()
    story.producer(batching=True)
    story.send(0)
    story.send(1, deliver_after_ms=1_000)
    story.send_frame(0, 1, meta=Meta(producer_name=NAME, sequence_id=0, batch=2, deliver_at_ms=5_000))
    assert [finding.code for finding in trial(delayed_not_batched, story.done()).findings] == ["batched"]
