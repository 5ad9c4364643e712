"""The check of `nack.acked-not-redelivered`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.nack._histories import DELAY_MS, Story

from assay_conformance.model.event import ClosedBy, Sides
from assay_conformance.pulsar.checks.nack.acked_not_redelivered import acked_not_redelivered


def refused_then_acked() -> Story:
    story = Story()
    story.call("nack", 2)
    story.call("ack", 2)
    return story


def test_acked_message_stays_away() -> None:
    story = refused_then_acked()
    story.ack_frame(1)
    story.after(DELAY_MS)
    story.redeliver_frame(1)
    story.after(400)
    story.receive(asked=1, got=0)
    assert story.judged(acked_not_redelivered) == ([], 1)


def test_acked_message_that_comes_again_is_found() -> None:
    story = refused_then_acked()
    story.ack_frame(1)
    story.after(DELAY_MS)
    story.redeliver_frame(1)
    story.message(1, redelivery_count=1)
    story.received(1)
    assert story.judged(acked_not_redelivered)[0] == ["redelivered-after-ack"]


def test_broker_that_ended_may_have_forgotten_an_acknowledgment() -> None:
    story = refused_then_acked()
    story.ack_frame(1)
    story.closed(0, by=ClosedBy.BROKER)
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.message(1, conn=1)
    story.received(1)
    assert story.judged(acked_not_redelivered)[0] == []


def test_message_from_the_clients_own_queue_is_found() -> None:
    story = refused_then_acked()
    story.ack_frame(1)
    story.received(1)
    assert story.judged(acked_not_redelivered)[0] == ["redelivered-after-ack"]


def test_message_dispatched_before_the_ack_came_may_arrive() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS)
    story.redeliver_frame(1)
    story.message(1, redelivery_count=1)
    story.call("ack", 2)
    story.ack_frame(1)
    story.received(1)
    assert story.judged(acked_not_redelivered)[0] == []


def test_message_asked_for_before_the_ack_came_may_be_sent_behind_it() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS)
    story.redeliver_frame(1)
    story.call("ack", 2)
    story.ack_frame(1)
    story.message(1, redelivery_count=1)
    story.received(1)
    assert story.judged(acked_not_redelivered)[0] == []


def test_ack_that_never_reached_the_broker_promises_nothing() -> None:
    story = refused_then_acked()
    story.ack_frame(1, sides=Sides.SENDER)
    story.after(DELAY_MS)
    story.message(1, redelivery_count=1)
    story.received(1)
    assert story.judged(acked_not_redelivered) == ([], 0)


def test_seek_brings_acked_messages_back_by_intent() -> None:
    story = refused_then_acked()
    story.ack_frame(1)
    story.up("SEEK", consumer_id=0, request_id=50)
    story.message(1)
    story.received(1)
    assert story.judged(acked_not_redelivered) == ([], 0)
