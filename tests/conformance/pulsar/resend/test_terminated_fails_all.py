"""resend.terminated-fails-all, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.refused import Refused, codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.resend.terminated_fails_all import terminated_fails_all


def test_sends_that_fail_at_the_word_terminated_are_accepted() -> None:
    story = Refused("TopicTerminatedError")
    for number in (0, 1):
        story.unknown(number, ErrorClass.TERMINATED)
    check = story.judged(terminated_fails_all)
    assert (check.findings, check.exercised) == ([], 2)


def test_send_that_waits_on_after_the_word_terminated_is_found() -> None:
    story = Refused("TopicTerminatedError")
    story.unknown(0, ErrorClass.TERMINATED)
    assert codes_of(story.judged(terminated_fails_all)) == ["left-pending"]


@pytest.mark.parametrize(("error", "codes"), [(ErrorClass.OTHER, ["wrong-error"]), (ErrorClass.TIMEOUT, [])])
def test_send_that_fails_at_the_word_terminated_says_so(error: ErrorClass, codes: list[str]) -> None:
    story = Refused("TopicTerminatedError")
    story.unknown(0, ErrorClass.TERMINATED)
    story.unknown(1, error)
    assert codes_of(story.judged(terminated_fails_all)) == codes


def _refused_again(times: int) -> Check:
    """The topic is terminated while the producer is away, and it asks to come back so often."""
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    for _ in range(times):
        asked = story.producer_asks(1)
        story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    return trial(terminated_fails_all, story.done())


def test_producer_told_once_that_its_topic_is_terminated_stays_away() -> None:
    assert codes_of(_refused_again(1)) == []


def test_producer_that_asks_again_is_found() -> None:
    assert codes_of(_refused_again(2)) == ["comes-back"]


@pytest.mark.parametrize(("before", "found"), [("ServiceNotReady", []), (None, ["comes-back"])])
def test_word_that_a_leaving_client_need_not_have_read_binds_nobody(before: str | None, found: list[str]) -> None:
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    if before:
        story.down("PARTITIONED_METADATA_RESPONSE", 1, request_id=77, fields={"error": before})
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    story.after(12).closed(1)
    story.connected(2)
    story.producer_asks(2)
    assert codes_of(trial(terminated_fails_all, story.done())) == found


def test_producer_asks_again_where_the_refusal_went_down_with_the_connection() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    story.cut(1)
    story.connected(2)
    story.producer_asks(2)
    assert codes_of(trial(terminated_fails_all, story.done())) == []
