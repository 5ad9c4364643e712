"""What a call may fail over."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.listener.handlers import Handlers
from tests.conformance.pulsar.robustness._malformed import NO_FRAME, injecting

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Fired, Outcome
from assay_conformance.pulsar.checks.robustness.failure_needs_cause import failure_needs_cause

A_FRAME = b"\x00\x00\x00\x09\x00\x00\x00\x05\x08\x13\x9a\x01\x00"
"""A PONG."""


class _Story(Script):
    """A consumer and a producer that are open since long, and one call of the consumer that fails."""

    def __init__(self) -> None:
        super().__init__({"t": "persistent://public/default/t", "u": "persistent://public/default/u"})
        self.consumer()
        self.producer(topic="u")
        self.at(1_000)

    def fails(self, verb: str = "receive", error: ErrorClass = ErrorClass.OTHER, **args: object) -> None:
        self.complete(self.invoke(verb, CONSUMER, args={"handle": CONSUMER, **args}), Outcome.FAIL, error=error)

    def judged(self) -> list[str]:
        return [finding.code for finding in trial(failure_needs_cause, self.done()).findings]


@pytest.mark.parametrize("verb", ["receive", "seek", "ack", "nack", "close", "has_message_available"])
def test_call_that_fails_with_nothing_in_its_way_is_found(verb: str) -> None:
    story = _Story()
    story.fails(verb)
    assert story.judged() == ["failed-without-cause"]


def test_call_that_succeeds_is_judged() -> None:
    story = _Story()
    story.complete(story.invoke("receive", CONSUMER))
    assert trial(failure_needs_cause, story.done()).exercised == 3  # With both that opened.


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.UNKNOWN, []), (Outcome.OK, ["failed-without-cause"])])
def test_client_that_did_not_open_opens_nothing(outcome: Outcome, codes: list[str]) -> None:
    """pulsar-rs 6.9.1 connects as its client opens, and has none if that fails."""
    story = Script()
    story.complete(story.invoke("open_client", 1), outcome)
    opening = story.after(500).invoke("open_consumer", CONSUMER, args={"client": 1, "topics": ["t"]})
    story.complete(opening, Outcome.FAIL, error=ErrorClass.CLOSED)
    assert [finding.code for finding in trial(failure_needs_cause, story.done()).findings] == codes


def test_error_of_the_broker_is_a_cause() -> None:
    story = _Story()
    call = story.invoke("seek", CONSUMER)
    story.up("SEEK", consumer_id=0, request_id=9)
    story.down("ERROR", request_id=9, fields={"error": "MetadataError"})
    story.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged() == []


def test_error_of_another_handle_is_no_cause() -> None:
    story = _Story()
    call = story.invoke("receive", CONSUMER)
    story.send_frame(0, handle=PRODUCER)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "NotAllowedError"})
    story.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged() == ["failed-without-cause"]


def test_request_without_an_answer_is_a_cause() -> None:
    story = _Story()
    call = story.invoke("seek", CONSUMER)
    story.up("SEEK", consumer_id=0, request_id=9)
    story.after(2_000).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert story.judged() == []


def test_lost_connection_is_a_cause() -> None:
    story = _Story()
    story.cut()
    story.fails()
    assert story.judged() == []


@pytest.mark.parametrize(("raw", "codes"), [(NO_FRAME, []), (A_FRAME, ["failed-without-cause"])])
def test_bytes_that_are_no_frame_stay_a_cause_while_their_connection_lasts(raw: bytes, codes: list[str]) -> None:
    story = _Story()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.after(3_000)
    call = story.invoke("close", CONSUMER, args={"handle": CONSUMER})
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=9)
    story.down("SUCCESS", request_id=9)
    story.after(1_000).complete(call, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert [one.code for one in trial(failure_needs_cause, story.done(), injecting(raw)).findings] == codes


def test_call_of_what_is_closed_may_fail() -> None:
    story = _Story()
    story.complete(story.invoke("close", CONSUMER, args={"handle": CONSUMER}))
    story.fails(error=ErrorClass.CLOSED)
    assert story.judged() == []


def test_queue_may_be_full() -> None:
    story = _Story()
    story.send(0)
    story.fail(0, ErrorClass.QUEUE_FULL)
    assert story.judged() == []


def test_send_that_has_its_receipt_may_not_fail() -> None:
    story = _Story()
    story.send(0)
    story.send_frame(0)
    story.receipt(0)
    story.fail(0, ErrorClass.OTHER)
    assert story.judged() == ["failed-without-cause"]


def test_opening_with_settings_that_exclude_each_other_may_fail() -> None:
    story = Script()
    call = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.complete(call, Outcome.FAIL, error=ErrorClass.INVALID_CONFIG)
    assert trial(failure_needs_cause, story.done()).findings == []


def test_trouble_that_was_over_before_the_call_is_no_cause() -> None:
    story = _Story()
    story.cut()
    story.connected(1)
    story.subscribed(1)
    story.after(1_000)
    story.fails("close")
    assert story.judged() == ["failed-without-cause"]


@pytest.mark.parametrize(("count", "codes"), [(0, []), (1, ["failed-without-cause"])])
def test_call_in_a_handler_call_that_no_receive_lets_wait_may_fail(count: int, codes: list[str]) -> None:
    story = Handlers()
    story.complete(story.invoke("receive", CONSUMER, args={"count": 1}), count=count)
    story.called(0)
    call = story.invoke("ack", CONSUMER, args={"inside": 1, "messages": [1]})
    story.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)
    assert story.judged(failure_needs_cause)[0] == codes
