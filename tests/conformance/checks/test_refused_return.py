"""Producers that are refused when they come back, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Fate, Frame, Outcome, Sides
from assay_conformance.pulsar.checks.resend.keeps_returning import keeps_returning
from assay_conformance.pulsar.checks.resend.quota_fails_pending import quota_fails_pending
from assay_conformance.pulsar.timeline.producers import PASSING_ERRORS


class _Refused(Script):
    """A message is under way when the connection dies, and the producer that comes back is refused. `torn`: another one
    had a receipt there ahead of one that a fault keeps."""

    def __init__(self, error: str = "ProducerBusy", *, torn: bool = False) -> None:
        super().__init__()
        self.producer()
        self.asked = self.send(0)
        self.send_frame(0)
        self.cut()
        self.connected(1)
        if torn:
            self.receipt(0, conn=1, producer_id=7, fate=Fate.HELD, sides=Sides.SENDER)
            self.receipt(1, conn=1, producer_id=7)
        self.refuse(error)

    def refuse(self, error: str = "ProducerBusy") -> Frame:
        asked = self.producer_asks(1)
        return self.down("ERROR", 1, request_id=asked.request_id, fields={"error": error})

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised


@pytest.mark.parametrize("error", sorted(PASSING_ERRORS))
def test_producer_that_asks_again_and_keeps_its_send_is_accepted(error: str) -> None:
    story = _Refused(error)
    story.producer_ready(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    story.complete(story.asked)
    assert story.judged(keeps_returning) == ([], 1)


def test_producer_that_never_asks_again_is_found() -> None:
    story = _Refused()
    story.after(9_000)
    assert story.judged(keeps_returning)[0] == ["stayed-away"]


def test_producer_that_looks_its_topic_up_again_has_not_given_up() -> None:
    story = _Refused()
    story.after(400)
    story.up("LOOKUP", 1, request_id=77, fields={"topic": story.full("t")})
    story.after(9_000)
    assert story.judged(keeps_returning)[0] == []


def test_producer_that_is_closed_meanwhile_need_not_come_back() -> None:
    story = _Refused()
    story.invoke("close", 1, args={"handle": 1})
    story.after(9_000)
    assert story.judged(keeps_returning)[0] == []


def test_send_that_fails_over_a_passing_refusal_is_found() -> None:
    story = _Refused()
    story.complete(story.asked, Outcome.UNKNOWN, error=ErrorClass.FENCED)
    assert story.judged(keeps_returning)[0] == ["failed-pending"]


@pytest.mark.parametrize("error", [ErrorClass.TIMEOUT, ErrorClass.TOO_LARGE])
def test_send_whose_time_is_over_or_that_was_never_taken_may_fail(error: ErrorClass) -> None:
    story = _Refused()
    story.complete(story.asked, Outcome.UNKNOWN, error=error)
    assert story.judged(keeps_returning)[0] == []


def test_refusal_that_does_not_pass_shows_nothing() -> None:
    story = _Refused("TopicTerminatedError")
    story.after(9_000)
    assert story.judged(keeps_returning) == ([], 0)


def test_quota_that_fails_the_send_is_accepted() -> None:
    story = _Refused("ProducerBlockedQuotaExceededException")
    story.complete(story.asked, Outcome.UNKNOWN, error=ErrorClass.QUEUE_FULL)
    assert story.judged(quota_fails_pending) == ([], 1)


def test_send_that_waits_on_over_a_quota_is_found() -> None:
    story = _Refused("ProducerBlockedQuotaExceededException")
    story.after(2_000)
    assert story.judged(quota_fails_pending)[0] == ["left-pending"]


def test_send_that_is_sent_again_over_a_quota_is_found() -> None:
    story = _Refused("ProducerBlockedQuotaExceededException")
    story.producer_ready(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    story.complete(story.asked)
    assert story.judged(quota_fails_pending)[0] == ["kept-pending"]


def test_quota_told_to_a_client_that_left_over_a_receipt_proves_nothing() -> None:
    story = _Refused("ProducerBlockedQuotaExceededException", torn=True)
    story.closed(1)
    story.after(2_000)
    assert story.judged(quota_fails_pending)[0] == []


def test_quota_that_asks_to_wait_fails_nothing() -> None:
    story = _Refused("ProducerBlockedQuotaExceededError")
    story.after(2_000)
    assert story.judged(quota_fails_pending) == ([], 0)
