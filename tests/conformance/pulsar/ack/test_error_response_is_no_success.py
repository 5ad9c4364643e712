"""The check of `ack.error-response-is-no-success`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack._receipts import Awaiting

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack.error_response_is_no_success import error_response_is_no_success


def test_refused_acknowledgment_that_fails() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer(error="MetadataError")
    story.complete(invoke, Outcome.FAIL)
    assert story.judged(error_response_is_no_success) == ([], 1)


def test_refused_acknowledgment_that_ends_well_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer(error="MetadataError")
    story.complete(invoke)
    assert story.judged(error_response_is_no_success)[0] == ["refusal-taken-for-success"]


def test_acknowledgment_lost_with_its_connection_that_ends_well_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.complete(invoke)
    assert story.judged(error_response_is_no_success)[0] == ["loss-taken-for-success"]


def test_acknowledgment_that_may_have_been_sent_for_another_consumer_is_nobodys() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.invoke("open_consumer", CONSUMER + 1, args={"topics": ["t"], "subscription": "s"})
    story.again()
    story.ack_frame(0, conn=1, request_id=51)
    story.complete(invoke)
    assert story.judged(error_response_is_no_success)[0] == []


def test_acknowledgment_that_is_sent_again_and_answered() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.again()
    story.ack_frame(0, conn=1, request_id=51)
    story.down("ACK_RESPONSE", 1, consumer_id=0, request_id=51)
    story.complete(invoke)
    assert story.judged(error_response_is_no_success) == ([], 1)
