"""resend.not-allowed-fails-one, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.resend.refused import Refused, codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Fate, Sides
from assay_conformance.pulsar.checks.resend.not_allowed_fails_one import not_allowed_fails_one


def test_message_that_is_not_allowed_and_fails_alone_is_accepted() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.receipt(1)
    story.ok(1)
    check = story.judged(not_allowed_fails_one)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_that_is_not_allowed_and_leaves_again_is_found() -> None:
    story = Refused("NotAllowedError")
    story.closed()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert codes_of(story.judged(not_allowed_fails_one)) == ["sent-again"]


def test_refusal_that_went_down_with_the_connection_proves_nothing() -> None:
    story = Refused("NotAllowedError")
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    assert codes_of(story.judged(not_allowed_fails_one)) == []


def test_refusal_to_a_client_that_left_over_another_receipt_proves_nothing() -> None:
    """Of another producer one overtook the one before it, so that what came after was not read."""
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
    assert codes_of(trial(not_allowed_fails_one, story.at(5_000).done())) == []


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
    assert codes_of(trial(not_allowed_fails_one, story.at(5_000).done())) == codes


def test_refusal_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "NotAllowedError"})
    story.producer_ready()
    story.send_frame(0)
    assert codes_of(trial(not_allowed_fails_one, story.at(5_000).done())) == []


def test_message_that_is_not_allowed_and_stays_pending_is_found() -> None:
    assert codes_of(Refused("NotAllowedError").judged(not_allowed_fails_one)) == ["not-failed"]


def test_neighbour_of_a_message_that_is_not_allowed_must_not_fail() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.fail(1, ErrorClass.OTHER)
    assert codes_of(story.judged(not_allowed_fails_one)) == ["took-others-along"]


def test_sends_failed_by_a_producer_refused_later_are_not_its_neighbours() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.after(150).cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.fail(1, ErrorClass.OTHER)
    assert codes_of(story.judged(not_allowed_fails_one)) == []


def test_sends_failed_by_a_lookup_that_is_refused_are_not_its_neighbours() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.up("LOOKUP", request_id=9, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Failed", "error": "NotAllowedError"})
    story.fail(1, ErrorClass.OTHER)
    assert codes_of(story.judged(not_allowed_fails_one)) == []


def test_neighbour_whose_receipt_the_client_ignores_after_a_refusal_is_found() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.receipt(1)
    story.at(2_000).unknown(1)
    assert codes_of(story.judged(not_allowed_fails_one)) == ["took-others-along"]


def test_neighbour_that_times_out_without_a_receipt_was_not_taken_along() -> None:
    story = Refused("NotAllowedError")
    story.fail(0, ErrorClass.OTHER)
    story.at(2_000).unknown(1)
    assert codes_of(story.judged(not_allowed_fails_one)) == []


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
    assert codes_of(trial(not_allowed_fails_one, story.at(5_000).done())) == codes
