"""resend.retries-transient-error, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.refused import Refused, codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.model.event import ErrorClass
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.resend.checksum_error_resent import checksum_error_resent
from assay_conformance.pulsar.checks.resend.retries_transient_error import retries_transient_error


def test_send_that_leaves_again_after_a_passing_error_is_accepted() -> None:
    story = Refused("PersistenceError")
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    check = story.judged(retries_transient_error)
    assert (check.findings, check.exercised) == ([], 1)


def test_send_that_fails_with_a_passing_error_is_found() -> None:
    story = Refused("MetadataError")
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(story.judged(retries_transient_error)) == ["failed"]


FORGETS = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset())
"""A client that fails what a lost connection left without a receipt."""


@pytest.mark.parametrize("check", [retries_transient_error, checksum_error_resent])
def test_who_sends_nothing_again_may_fail_what_was_refused_and_then_lost_its_connection(check: type[Check]) -> None:
    story = Refused("ChecksumError" if check is checksum_error_resent else "PersistenceError")
    story.cut()
    story.fail(0, ErrorClass.TRANSPORT)
    assert codes_of(trial(check, story.at(5_000).done(), facts=FORGETS)) == []


@pytest.mark.parametrize("check", [retries_transient_error, checksum_error_resent])
def test_who_sends_nothing_again_may_not_fail_what_was_refused_in_passing(check: type[Check]) -> None:
    story = Refused("ChecksumError" if check is checksum_error_resent else "PersistenceError")
    story.fail(0, ErrorClass.TRANSPORT)
    assert codes_of(trial(check, story.at(5_000).done(), facts=FORGETS)) == ["failed"]


def test_send_left_out_of_the_resend_after_a_passing_error_is_found() -> None:
    story = Refused("PersistenceError")
    story.closed()
    story.producer_again(1)
    story.send_frame(1, conn=1)
    story.at(3_000).unknown(0)
    assert codes_of(story.judged(retries_transient_error)) == ["left-out"]


def test_send_that_timed_out_before_the_resend_is_not_left_out() -> None:
    story = Refused("PersistenceError")
    story.closed()
    story.at(3_000).unknown(0)
    story.producer_again(1)
    story.send_frame(1, conn=1)
    assert codes_of(story.judged(retries_transient_error)) == []


def test_send_of_a_producer_that_is_not_let_in_again_may_fail() -> None:
    story = Refused("PersistenceError")
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(story.judged(retries_transient_error)) == []


def test_send_of_a_producer_that_finds_no_broker_again_may_fail() -> None:
    story = Refused("PersistenceError")
    story.cut()
    story.connected(1)
    story.down("LOOKUP_RESPONSE", 1, request_id=9, fields={"response": "Failed", "error": "NotAllowedError"})
    story.unknown(0, ErrorClass.OTHER)
    assert codes_of(story.judged(retries_transient_error)) == []


def test_client_that_does_nothing_about_a_passing_error_is_found() -> None:
    assert codes_of(Refused("UnknownError").judged(retries_transient_error)) == ["not-sent-again"]


def test_send_that_times_out_meanwhile_is_accepted() -> None:
    story = Refused("PersistenceError")
    story.unknown(0, ErrorClass.TIMEOUT)
    assert codes_of(story.judged(retries_transient_error)) == []
