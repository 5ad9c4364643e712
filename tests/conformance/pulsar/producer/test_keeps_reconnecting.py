"""producer.keeps-reconnecting, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.refused_return import Refused

from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.producer.keeps_reconnecting import keeps_reconnecting

QUOTA = "ProducerBlockedQuotaExceededException"


def refused(error: str = QUOTA) -> Refused:
    """The producer is refused when it comes back, and the application sends again."""
    story = Refused(error)
    story.after(500)
    story.send(1)
    return story


def test_producer_that_comes_back_is_accepted() -> None:
    story = refused()
    story.producer_ready(1)
    assert story.judged(keeps_reconnecting) == ([], 2)


@pytest.mark.parametrize("error", [QUOTA, "MetadataError", "ProducerBusy"])
def test_producer_that_stays_away_in_silence_is_found(error: str) -> None:
    story = refused(error)
    story.after(9_000)
    story.fail(1, ErrorClass.TIMEOUT)
    assert story.judged(keeps_reconnecting)[0] == ["stayed-away"]


def test_producer_that_comes_back_when_it_is_used_is_accepted() -> None:
    story = Refused(QUOTA)
    story.after(9_000)
    story.send(1)
    story.producer_asks(1)
    story.after(9_000)
    story.fail(1, ErrorClass.TIMEOUT)
    assert story.judged(keeps_reconnecting)[0] == []


def test_send_may_report_that_its_producer_is_gone() -> None:
    story = refused()
    story.after(9_000)
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged(keeps_reconnecting)[0] == []


def test_terminated_topic_ends_its_producers() -> None:
    story = refused("TopicTerminatedError")
    story.after(9_000)
    story.fail(1, ErrorClass.TIMEOUT)
    assert story.judged(keeps_reconnecting)[0] == []
