"""The check of `robustness.checksum-mismatch-reported`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.robustness._histories import Story

from assay_conformance.model.event import AgentEnded, ClosedBy, Fate
from assay_conformance.pulsar.checks.robustness.checksum_mismatch_reported import checksum_mismatch_reported


def test_damaged_message_held_back_until_its_consumer_comes_again_is_for_nobody() -> None:
    story = Story()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    named = {"topic": story.full("t"), "subscription": "s"}
    story.up("SUBSCRIBE", consumer_id=0, request_id=77, fields=named)
    story.damaged(0)
    story.down("SUCCESS", request_id=77)
    story.after(1_000)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported)[0] == []


def test_damaged_message_is_reported_and_skipped() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.flow(1)
    story.message(1)
    story.received(1)
    story.after(600)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported) == ([], 1)


def test_damaged_message_that_is_delivered_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.received(0)
    assert story.judged(checksum_mismatch_reported)[0] == ["damaged-delivered"]


def test_message_that_came_damaged_and_whole_may_be_delivered_once() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.message(0)
    story.received(0)
    assert story.judged(checksum_mismatch_reported) == ([], 1)


def test_damage_that_is_not_reported_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.flow(1)
    story.after(600)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported)[0] == ["not-reported"]


def test_machine_that_is_busy_long_after_a_report_was_due_excuses_nothing() -> None:
    story = Story()
    story.damaged(0)
    story.after(5_000)
    story.load(window_ms=100, loop_lag_ms=1_000)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported)[0] == ["not-reported"]


def test_damage_before_a_lost_connection_is_not_judged() -> None:
    story = Story()
    story.damaged(0)
    story.cut()
    story.after(600)
    assert story.judged(checksum_mismatch_reported) == ([], 0)


def test_plain_ack_of_damaged_message_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0, error="")
    assert story.judged(checksum_mismatch_reported)[0] == ["wrong-report"]


def test_other_validation_error_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0, error="DecompressionError")
    assert story.judged(checksum_mismatch_reported)[0] == ["wrong-report"]


def test_permits_that_never_come_back_are_found() -> None:
    story = Story()
    for number in (0, 1):
        story.damaged(number)
        story.reported(number)
    story.after(600)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported)[0] == ["permit-not-returned"]


def test_permit_may_wait_for_half_the_queue() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.after(600)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported) == ([], 1)


def test_permits_wait_for_what_the_application_left_in_the_queue() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.message(1)
    story.after(600)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported) == ([], 1)


def test_permits_of_what_the_application_has_just_taken_may_still_come_back() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.message(1)
    story.after(600)
    story.received(1)
    story.close_consumer()
    assert story.judged(checksum_mismatch_reported) == ([], 1)


def test_connection_left_beside_a_message_spoilt_in_another_way_is_not_laid_to_a_damaged_one() -> None:
    story = Story()
    story.damaged(0)
    story.message(7, fate=Fate.ALTERED)
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(checksum_mismatch_reported)[0] == []


def test_connection_closed_behind_a_spoilt_message_that_was_acknowledged_is_laid_to_the_damaged_one() -> None:
    story = Story()
    story.message(7, fate=Fate.ALTERED)
    story.ack_frame(7)
    story.damaged(0)
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(checksum_mismatch_reported)[0] == ["connection-closed"]


def test_process_that_dies_over_damage_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.closed(by=ClosedBy.CLIENT)
    story.add(AgentEnded, reason="signal 11")
    assert story.judged(checksum_mismatch_reported)[0] == ["connection-closed"]


def test_connection_closed_over_damage_is_found() -> None:
    story = Story()
    story.damaged(0)
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(checksum_mismatch_reported)[0] == ["connection-closed"]


def test_connection_closed_by_the_application_is_no_breach() -> None:
    story = Story()
    story.damaged(0)
    story.reported(0)
    story.invoke("close", 0, args={"handle": 0})
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(checksum_mismatch_reported) == ([], 1)
