"""The check of `ack.flushed-on-close`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack._histories import Story

from assay_conformance.model.event import ClosedBy
from assay_conformance.pulsar.checks.ack.flushed_on_close import flushed_on_close


def test_close_sends_pending_acks_first() -> None:
    story = Story()
    story.ack(1, 2)
    story.close_consumer()
    story.ack_frame(0, 1)
    story.close_frame()
    assert story.judged(flushed_on_close) == ([], 1)


def test_close_that_forgets_acks_is_found() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.close_frame()
    assert story.judged(flushed_on_close)[0] == ["forgotten-on-close"]


def test_ack_behind_close_consumer_is_too_late() -> None:
    story = Story()
    story.ack(1)
    story.close_consumer()
    story.close_frame()
    story.ack_frame(0)
    assert story.judged(flushed_on_close)[0] == ["forgotten-on-close"]


def test_ack_asked_for_after_close_is_not_owed() -> None:
    story = Story()
    story.close_consumer()
    story.ack(1)
    story.close_frame()
    assert story.judged(flushed_on_close) == ([], 0)


def test_acks_over_lost_connection_are_not_owed_at_close() -> None:
    story = Story()
    story.ack(1)
    story.cut(by=ClosedBy.FAULT)
    story.connected(1)
    story.subscribed(1)
    story.close_consumer()
    story.up("CLOSE_CONSUMER", 1, consumer_id=0, request_id=99)
    assert story.judged(flushed_on_close) == ([], 0)


def test_cumulative_ack_forgotten_on_close_is_one_finding() -> None:
    story = Story()
    story.ack(1)
    story.ack(3, cumulative=True)
    story.close_consumer()
    story.close_frame()
    assert story.judged(flushed_on_close)[0] == ["forgotten-on-close"]
