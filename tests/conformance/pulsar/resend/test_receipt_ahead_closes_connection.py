"""resend.receipt-ahead-closes-connection, both ways, on histories of a few lines."""

import msgspec
from tests.conformance.pulsar.chunking._chunked import CHUNKS, Story
from tests.conformance.pulsar.resend.in_flight import codes_of, in_flight

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Topology
from assay_conformance.model.event import ClosedBy
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.resend.receipt_ahead_closes_connection import receipt_ahead_closes_connection


def _ahead() -> Script:
    """Message 1 receipted while message 0 waits."""
    story = in_flight(2)
    story.receipt(1)
    return story


def test_client_that_leaves_over_a_receipt_ahead_is_accepted() -> None:
    story = _ahead()
    story.closed(0)
    check = trial(receipt_ahead_closes_connection, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_is_found() -> None:
    assert codes_of(trial(receipt_ahead_closes_connection, _ahead().at(5000).done())) == ["stayed"]


def test_broker_that_stops_reading_now_and_then_learns_late_of_who_leaves() -> None:
    topology = Topology(settings=BrokerSettings(publish_rate=Rate(messages=20)))
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    check = trial(receipt_ahead_closes_connection, _ahead().at(5000).done(), case)
    assert (check.findings, check.exercised) == ([], 0)


def test_cut_right_after_a_receipt_ahead_proves_nothing() -> None:
    story = _ahead()
    story.cut(0)
    check = trial(receipt_ahead_closes_connection, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_receipt_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = in_flight(2)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.receipt(1)
    assert codes_of(trial(receipt_ahead_closes_connection, story.at(5_000).done())) == []


def test_receipt_behind_a_timed_out_head_is_not_ahead() -> None:
    story = in_flight(2)
    story.unknown(0)
    story.receipt(1)
    assert codes_of(trial(receipt_ahead_closes_connection, story.at(5000).done())) == []


def test_receipt_behind_that_of_an_id_used_anew_is_not_ahead() -> None:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
    story.send_frame(0)
    story.send_frame(1, sequence_id=0)
    story.receipt(0)
    story.unknown(0)  # It had timed out before that receipt came, which is that of message 1.
    story.send_frame(2, sequence_id=1)
    story.receipt(1)
    assert codes_of(trial(receipt_ahead_closes_connection, story.at(5000).done())) == []


def test_receipt_ahead_of_messages_that_nobody_knows_is_not_judged() -> None:
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
    story.send_frame(0, members=())
    story.send_frame(1)
    story.receipt(1)
    check = trial(receipt_ahead_closes_connection, story.at(5000).done())
    assert (codes_of(check), check.exercised) == ([], 0)


def test_broker_that_closes_first_proves_nothing() -> None:
    story = _ahead()
    story.closed(0, ClosedBy.BROKER)
    assert trial(receipt_ahead_closes_connection, story.at(5000).done()).exercised == 0


def test_receipt_behind_a_chunked_message_that_timed_out_is_not_ahead() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    story.at(600).unknown(0)
    story.send(1)
    story.send_frame(1)
    story.receipt(1)
    assert codes_of(trial(receipt_ahead_closes_connection, story.at(5_000).done())) == []
