"""resend.pending-sends-resent, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._reopened_names import Story
from tests.conformance.pulsar.resend._reopened_names import (
    NAMINGS,
    Naming,
    killed_and_opened_again,
    lost_while_another_opens,
    made_up,
)
from tests.conformance.pulsar.resend.in_flight import codes_of, cut, in_flight

from assay_conformance.checks.trial import trial
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.resend.pending_sends_resent import pending_sends_resent


def _overtaken(named: Naming) -> Story:
    story = lost_while_another_opens(named)
    story.send(1, size=10)
    story.send_frame(1, conn=1, **story.small(1))
    story.after(500)
    return story


def test_a_name_that_a_broker_made_up_is_one_producers() -> None:
    assert _overtaken(made_up).judged(pending_sends_resent) == ["not-sent-again"]


@pytest.mark.parametrize("named", NAMINGS[1:])
def test_a_name_that_was_asked_for_may_be_eithers(named: Naming) -> None:
    assert _overtaken(named).judged(pending_sends_resent) == []


def test_nobody_sends_again_what_a_killed_process_left() -> None:
    assert killed_and_opened_again().judged(pending_sends_resent) == []


def test_resend_of_everything_unreceipted_is_accepted() -> None:
    story = cut(in_flight())
    for number in range(3):
        story.send_frame(number, conn=1)
    check = trial(pending_sends_resent, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 3)


def test_unit_left_out_of_the_resend_is_found() -> None:
    story = cut(in_flight())
    story.send_frame(0, conn=1)
    story.send_frame(2, conn=1)
    (finding,) = trial(pending_sends_resent, story.at(5000).done()).findings
    assert finding.code == "not-sent-again"
    assert "sequence id 1" in finding.sentence


def test_nothing_sent_again_for_a_long_time_is_found() -> None:
    assert codes_of(trial(pending_sends_resent, cut(in_flight(1)).at(5000).done())) == ["not-sent-again"]


def test_case_that_ends_before_the_resend_is_not_judged() -> None:
    assert codes_of(trial(pending_sends_resent, cut(in_flight(1)).done())) == []


def test_producer_that_has_to_wait_for_its_turn_owes_nothing_yet() -> None:
    story = in_flight()
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields={"producer_ready": False})
    check = trial(pending_sends_resent, story.at(5_000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_producer_that_is_sent_away_as_soon_as_it_is_back_owes_nothing_there() -> None:
    story = cut(in_flight(1))
    story.down("CLOSE_PRODUCER", 1, producer_id=0)
    story.at(3_000).producer_ready(1)
    story.send_frame(0, conn=1)
    assert codes_of(trial(pending_sends_resent, story.at(5_000).done())) == []


def test_unit_with_a_receipt_is_owed_nothing() -> None:
    story = in_flight(2)
    story.receipt(0)
    cut(story).send_frame(1, conn=1)
    assert codes_of(trial(pending_sends_resent, story.at(5000).done())) == []


def test_send_that_timed_out_is_owed_nothing() -> None:
    story = in_flight(1)
    story.cut()
    story.unknown(0)
    story.producer_again(1)
    assert codes_of(trial(pending_sends_resent, story.at(5000).done())) == []


def test_closed_producer_owes_nothing() -> None:
    story = in_flight(1)
    story.invoke("close", 1)
    assert codes_of(trial(pending_sends_resent, cut(story).at(5000).done())) == []


def test_send_failed_by_the_lost_connection_is_found() -> None:
    story = in_flight(1)
    story.cut()
    story.unknown(0, ErrorClass.TRANSPORT)
    assert codes_of(trial(pending_sends_resent, story.done())) == ["failed-instead"]


def test_send_that_failed_a_moment_before_the_link_saw_the_end_is_found() -> None:
    story = in_flight(1)
    story.unknown(0, ErrorClass.TRANSPORT)
    story.cut()
    assert codes_of(trial(pending_sends_resent, story.done())) == ["failed-instead"]


def test_send_that_failed_long_before_the_connection_ended_failed_for_something_else() -> None:
    story = in_flight(1)
    story.unknown(0, ErrorClass.TRANSPORT)
    story.at(5000).cut()
    assert codes_of(trial(pending_sends_resent, story.done())) == []


def test_machine_too_busy_to_tell_late_from_never_is_undecided() -> None:
    story = cut(in_flight(1))
    story.at(5000).load(5000, loop_lag_ms=900)
    check = trial(pending_sends_resent, story.done())
    assert (codes_of(check), bool(check.undecided_because)) == ([], True)
