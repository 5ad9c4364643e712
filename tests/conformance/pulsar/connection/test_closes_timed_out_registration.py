"""The check of `connection.closes-timed-out-registration`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import judged

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.closes_timed_out_registration import closes_timed_out_registration


def _unanswered() -> Script:
    story = Script()
    story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    story.producer_asks()
    return story


def test_registration_without_answer_is_closed_before_the_next() -> None:
    story = _unanswered()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=50)
    story.producer_asks()
    assert judged(closes_timed_out_registration, story) == ([], 1)


def test_registration_made_again_unclosed_is_found() -> None:
    story = _unanswered()
    story.producer_asks()
    assert judged(closes_timed_out_registration, story)[0] == ["asked-again"]


def test_registration_that_was_refused_need_not_be_closed() -> None:
    story = _unanswered()
    story.down("ERROR", request_id=1, fields={"error": "ServiceNotReady"})
    story.producer_asks()
    assert judged(closes_timed_out_registration, story) == ([], 0)


def _given_up() -> Script:
    story = _unanswered()
    opening = story.events[1]
    story.complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)  # type: ignore[arg-type]
    return story


def test_registration_that_was_given_up_and_left_is_found() -> None:
    story = _given_up()
    story.after(600)
    assert judged(closes_timed_out_registration, story)[0] == ["left-behind"]


def test_registration_whose_own_time_is_not_over_when_another_of_the_opening_was_given_up() -> None:
    """Of a partitioned topic each partition has its own, and the last one may have come to its broker late."""
    story = _given_up()
    story.after(600)
    patient = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": 1_000}))
    assert trial(closes_timed_out_registration, story.done(), patient).findings == []


def test_registration_that_was_given_up_and_closed() -> None:
    story = _given_up()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=50)
    story.after(600)
    assert judged(closes_timed_out_registration, story) == ([], 1)


def test_registration_on_another_connection_closes_what_is_left_with_the_first() -> None:
    story = _unanswered()
    story.connected(1)
    story.producer_asks(1)
    story.closed(0)
    assert judged(closes_timed_out_registration, story) == ([], 1)
