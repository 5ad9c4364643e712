"""resend.quota-exceeded-fails-pending, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.resend.refused_return import Refused

from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.resend.quota_exceeded_fails_pending import quota_exceeded_fails_pending


def test_quota_that_fails_the_send_is_accepted() -> None:
    story = Refused("ProducerBlockedQuotaExceededException")
    story.complete(story.asked, Outcome.UNKNOWN, error=ErrorClass.QUEUE_FULL)
    assert story.judged(quota_exceeded_fails_pending) == ([], 1)


def test_send_that_waits_on_over_a_quota_is_found() -> None:
    story = Refused("ProducerBlockedQuotaExceededException")
    story.after(2_000)
    assert story.judged(quota_exceeded_fails_pending)[0] == ["left-pending"]


def test_send_that_is_sent_again_over_a_quota_is_found() -> None:
    story = Refused("ProducerBlockedQuotaExceededException")
    story.producer_ready(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    story.complete(story.asked)
    assert story.judged(quota_exceeded_fails_pending)[0] == ["kept-pending"]


def test_quota_told_to_a_client_that_left_over_a_receipt_proves_nothing() -> None:
    story = Refused("ProducerBlockedQuotaExceededException", torn=True)
    story.closed(1)
    story.after(2_000)
    assert story.judged(quota_exceeded_fails_pending)[0] == []


def test_quota_that_asks_to_wait_fails_nothing() -> None:
    story = Refused("ProducerBlockedQuotaExceededError")
    story.after(2_000)
    assert story.judged(quota_exceeded_fails_pending) == ([], 0)
