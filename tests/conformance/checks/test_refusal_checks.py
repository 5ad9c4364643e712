"""Refused sends and producers, both ways."""

from __future__ import annotations

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Fate, Sides
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.checks.resend.not_allowed_fails_one import not_allowed_fails_one
from assay_conformance.pulsar.checks.resend.resends_spoilt_on_the_way import resends_spoilt_on_the_way
from assay_conformance.pulsar.checks.resend.retries_transient_error import retries_transient_error
from assay_conformance.pulsar.checks.resend.terminated_fails_all import terminated_fails_all


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


class _Refused(Script):
    """Two messages are under way, and the first is answered so."""

    def __init__(self, error: str, **fields: object) -> None:
        super().__init__()
        self.producer()
        for number in (0, 1):
            self.send(number)
            self.send_frame(number, **fields)  # type: ignore[arg-type]
        self.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": error})

    def judged(self, check: type[Check]) -> Check:
        return trial(check, self.at(5_000).done())


# --- retries-transient-error ------------------------------------------------------------------------------------------


def test_send_that_leaves_again_after_a_passing_error_is_accepted() -> None:
    story = _Refused("PersistenceError")
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    check = story.judged(retries_transient_error)
    assert (check.findings, check.exercised) == ([], 1)


def test_send_that_fails_with_a_passing_error_is_found() -> None:
    story = _Refused("MetadataError")
    story.unknown(0, ErrorClass.OTHER)
    assert _codes(story.judged(retries_transient_error)) == ["failed"]


FORGETS = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset())
"""A client that fails what a lost connection left without a receipt."""


@pytest.mark.parametrize("check", [retries_transient_error, resends_spoilt_on_the_way])
def test_who_sends_nothing_again_may_fail_what_was_refused_and_then_lost_its_connection(check: type[Check]) -> None:
    story = _Refused("ChecksumError" if check is resends_spoilt_on_the_way else "PersistenceError")
    story.cut()
    story.fail(0, ErrorClass.TRANSPORT)
    assert _codes(trial(check, story.at(5_000).done(), facts=FORGETS)) == []


@pytest.mark.parametrize("check", [retries_transient_error, resends_spoilt_on_the_way])
def test_who_sends_nothing_again_may_not_fail_what_was_refused_in_passing(check: type[Check]) -> None:
    story = _Refused("ChecksumError" if check is resends_spoilt_on_the_way else "PersistenceError")
    story.fail(0, ErrorClass.TRANSPORT)
    assert _codes(trial(check, story.at(5_000).done(), facts=FORGETS)) == ["failed"]


def test_send_left_out_of_the_resend_after_a_passing_error_is_found() -> None:
    story = _Refused("PersistenceError")
    story.closed()
    story.producer_again(1)
    story.send_frame(1, conn=1)
    story.at(3_000).unknown(0)
    assert _codes(story.judged(retries_transient_error)) == ["left-out"]


def test_send_that_timed_out_before_the_resend_is_not_left_out() -> None:
    story = _Refused("PersistenceError")
    story.closed()
    story.at(3_000).unknown(0)
    story.producer_again(1)
    story.send_frame(1, conn=1)
    assert _codes(story.judged(retries_transient_error)) == []


def test_send_of_a_producer_that_is_not_let_in_again_may_fail() -> None:
    story = _Refused("PersistenceError")
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.unknown(0, ErrorClass.OTHER)
    assert _codes(story.judged(retries_transient_error)) == []


def test_send_of_a_producer_that_finds_no_broker_again_may_fail() -> None:
    story = _Refused("PersistenceError")
    story.cut()
    story.connected(1)
    story.down("LOOKUP_RESPONSE", 1, request_id=9, fields={"response": "Failed", "error": "NotAllowedError"})
    story.unknown(0, ErrorClass.OTHER)
    assert _codes(story.judged(retries_transient_error)) == []


def test_client_that_does_nothing_about_a_passing_error_is_found() -> None:
    assert _codes(_Refused("UnknownError").judged(retries_transient_error)) == ["not-sent-again"]


def test_send_that_times_out_meanwhile_is_accepted() -> None:
    story = _Refused("PersistenceError")
    story.unknown(0, ErrorClass.TIMEOUT)
    assert _codes(story.judged(retries_transient_error)) == []


# --- resends-spoilt-on-the-way ----------------------------------------------------------------------------------------


def test_message_spoilt_on_its_way_that_is_sent_again_at_once_is_accepted() -> None:
    story = _Refused("ChecksumError")
    story.send_frame(0)
    story.send_frame(1)
    check = story.judged(resends_spoilt_on_the_way)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_spoilt_on_its_way_that_fails_is_found() -> None:
    story = _Refused("ChecksumError")
    story.unknown(0, ErrorClass.CORRUPT)
    assert _codes(story.judged(resends_spoilt_on_the_way)) == ["failed"]


def test_message_that_left_corrupt_may_fail() -> None:
    story = _Refused("ChecksumError", intact=False)
    story.unknown(0, ErrorClass.CORRUPT)
    assert _codes(story.judged(resends_spoilt_on_the_way)) == []


# --- not-allowed-fails-one --------------------------------------------------------------------------------------------


def test_message_that_is_not_allowed_and_fails_alone_is_accepted() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.receipt(1)
    story.ok(1)
    check = story.judged(not_allowed_fails_one)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_that_is_not_allowed_and_leaves_again_is_found() -> None:
    story = _Refused("NotAllowedError")
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert _codes(story.judged(not_allowed_fails_one)) == ["sent-again"]


def test_refusal_that_went_down_with_the_connection_proves_nothing() -> None:
    story = _Refused("NotAllowedError")
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert _codes(story.judged(not_allowed_fails_one)) == []


def test_refusal_to_a_client_that_left_over_another_receipt_proves_nothing() -> None:
    """Of another producer one overtook the one before it, so that nobody read what came behind."""
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.receipt(0, producer_id=7, fate=Fate.HELD, sides=Sides.SENDER)
    story.receipt(1, producer_id=7)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "NotAllowedError"})
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert _codes(trial(not_allowed_fails_one, story.at(5_000).done())) == []


@pytest.mark.parametrize(("answered", "codes"), [(1, []), (0, ["sent-again"])], ids=["ahead", "in its turn"])
def test_refusal_to_a_client_that_left_over_a_receipt_ahead_proves_nothing(answered: int, codes: list[str]) -> None:
    """Of another producer, whose first SEND is still on its way."""
    story = Script()
    story.producer(producer_id=7, handle=PRODUCER + 7, name="other")
    for number in (0, 1):
        story.send(number, handle=PRODUCER + 7)
        story.send_frame(number, producer_id=7, handle=PRODUCER + 7, name="other")
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.receipt(answered, producer_id=7)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "NotAllowedError"})
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert _codes(trial(not_allowed_fails_one, story.at(5_000).done())) == codes


def test_refusal_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "NotAllowedError"})
    story.producer_ready()
    story.send_frame(0)
    assert _codes(trial(not_allowed_fails_one, story.at(5_000).done())) == []


def test_message_that_is_not_allowed_and_stays_pending_is_found() -> None:
    assert _codes(_Refused("NotAllowedError").judged(not_allowed_fails_one)) == ["not-failed"]


def test_neighbour_of_a_message_that_is_not_allowed_must_not_fail() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.fail(1, ErrorClass.OTHER)
    assert _codes(story.judged(not_allowed_fails_one)) == ["took-others-along"]


def test_sends_failed_by_a_producer_refused_later_are_not_its_neighbours() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.after(150).cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.fail(1, ErrorClass.OTHER)
    assert _codes(story.judged(not_allowed_fails_one)) == []


def test_sends_failed_by_a_lookup_that_is_refused_are_not_its_neighbours() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.up("LOOKUP", request_id=9, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Failed", "error": "NotAllowedError"})
    story.fail(1, ErrorClass.OTHER)
    assert _codes(story.judged(not_allowed_fails_one)) == []


def test_neighbour_whose_receipt_the_client_ignores_after_a_refusal_is_found() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.receipt(1)
    story.at(2_000).unknown(1)
    assert _codes(story.judged(not_allowed_fails_one)) == ["took-others-along"]


def test_neighbour_that_times_out_without_a_receipt_was_not_taken_along() -> None:
    story = _Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.at(2_000).unknown(1)
    assert _codes(story.judged(not_allowed_fails_one)) == []


# --- terminated-fails-all ---------------------------------------------------------------------------------------------


def test_sends_that_fail_at_the_word_terminated_are_accepted() -> None:
    story = _Refused("TopicTerminatedError")
    for number in (0, 1):
        story.unknown(number, ErrorClass.TERMINATED)
    check = story.judged(terminated_fails_all)
    assert (check.findings, check.exercised) == ([], 2)


def test_send_that_waits_on_after_the_word_terminated_is_found() -> None:
    story = _Refused("TopicTerminatedError")
    story.unknown(0, ErrorClass.TERMINATED)
    assert _codes(story.judged(terminated_fails_all)) == ["left-pending"]


@pytest.mark.parametrize(("error", "codes"), [(ErrorClass.OTHER, ["wrong-error"]), (ErrorClass.TIMEOUT, [])])
def test_send_that_fails_at_the_word_terminated_says_so(error: ErrorClass, codes: list[str]) -> None:
    story = _Refused("TopicTerminatedError")
    story.unknown(0, ErrorClass.TERMINATED)
    story.unknown(1, error)
    assert _codes(story.judged(terminated_fails_all)) == codes


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
    assert _codes(_refused_again(1)) == []


def test_producer_that_asks_again_is_found() -> None:
    assert _codes(_refused_again(2)) == ["comes-back"]


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
    assert _codes(trial(terminated_fails_all, story.done())) == found


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
    assert _codes(trial(terminated_fails_all, story.done())) == []


@pytest.mark.parametrize(("fate", "codes"), [(Fate.ALTERED, []), (Fate.PASSED, ["sent-again"])])
def test_refusal_behind_a_receipt_that_was_altered_need_not_have_been_read(fate: Fate, codes: list[str]) -> None:
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
        story.send_frame(number)
    story.receipt(0, fate=fate)
    story.down("SEND_ERROR", producer_id=0, sequence_id=1, fields={"error": "NotAllowedError"})
    story.after(5).closed()
    story.producer_again(1)
    story.send_frame(1, conn=1)
    story.at(500).receipt(1, conn=1)
    story.ok(1)
    assert _codes(trial(not_allowed_fails_one, story.at(5_000).done())) == codes
