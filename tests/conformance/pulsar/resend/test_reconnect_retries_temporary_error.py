"""resend.reconnect-retries-temporary-error, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.refused_return import Refused

from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.resend.reconnect_retries_temporary_error import reconnect_retries_temporary_error
from assay_conformance.pulsar.outcomes.errors import PASSING_ERRORS


@pytest.mark.parametrize("error", sorted(PASSING_ERRORS))
def test_producer_that_asks_again_and_keeps_its_send_is_accepted(error: str) -> None:
    story = Refused(error)
    story.producer_ready(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    story.complete(story.asked)
    assert story.judged(reconnect_retries_temporary_error) == ([], 1)


def test_producer_that_never_asks_again_is_found() -> None:
    story = Refused()
    story.after(9_000)
    assert story.judged(reconnect_retries_temporary_error)[0] == ["stayed-away"]


def test_producer_that_looks_its_topic_up_again_has_not_given_up() -> None:
    story = Refused()
    story.after(400)
    story.up("LOOKUP", 1, request_id=77, fields={"topic": story.full("t")})
    story.after(9_000)
    assert story.judged(reconnect_retries_temporary_error)[0] == []


def test_producer_that_is_closed_meanwhile_need_not_come_back() -> None:
    story = Refused()
    story.invoke("close", 1, args={"handle": 1})
    story.after(9_000)
    assert story.judged(reconnect_retries_temporary_error)[0] == []


def test_send_that_fails_over_a_passing_refusal_is_found() -> None:
    story = Refused()
    story.complete(story.asked, Outcome.UNKNOWN, error=ErrorClass.FENCED)
    assert story.judged(reconnect_retries_temporary_error)[0] == ["failed-pending"]


@pytest.mark.parametrize("error", [ErrorClass.TIMEOUT, ErrorClass.TOO_LARGE])
def test_send_whose_time_is_over_or_that_was_never_taken_may_fail(error: ErrorClass) -> None:
    story = Refused()
    story.complete(story.asked, Outcome.UNKNOWN, error=error)
    assert story.judged(reconnect_retries_temporary_error)[0] == []


def test_refusal_that_does_not_pass_shows_nothing() -> None:
    story = Refused("TopicTerminatedError")
    story.after(9_000)
    assert story.judged(reconnect_retries_temporary_error) == ([], 0)


def test_refusal_behind_another_one_is_read_where_the_application_soon_ends_the_connection() -> None:
    """No client ends a connection over an ERROR, so that one before it does not hide what came."""
    story = Refused("TopicNotFound")
    story.refuse()
    story.complete(story.asked, Outcome.UNKNOWN, error=ErrorClass.OTHER)
    story.closed(1)
    assert story.judged(reconnect_retries_temporary_error)[0] == ["failed-pending"]


@pytest.mark.parametrize(("error", "codes"), [("NotAllowedError", []), ("ServiceNotReady", ["stayed-away"])])
def test_final_refusal_that_may_have_been_read_as_its_connection_ended_may_end_the_producer(
    error: str, codes: list[str]
) -> None:
    story = Refused()
    story.after(1_000)
    story.refuse(error)
    story.cut(1)
    story.after(40_000)
    assert story.judged(reconnect_retries_temporary_error)[0] == codes
