from typing import Any

import msgspec
import pytest
from tests.conformance.checks.chunk_story import CHUNKS, Story

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Topology
from assay_conformance.model.event import ClosedBy, ErrorClass, Fate, Fired, Outcome, Sides
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.resend.ignores_stale_receipt import ignores_stale_receipt
from assay_conformance.pulsar.checks.resend.keeps_queue_order import keeps_queue_order
from assay_conformance.pulsar.checks.resend.leaves_on_receipt_ahead import leaves_on_receipt_ahead
from assay_conformance.pulsar.checks.resend.same_unit import same_unit
from assay_conformance.pulsar.checks.resend.unreceipted_again import unreceipted_again
from assay_conformance.pulsar.checks.resend.waits_for_producer_success import waits_for_producer_success


def _in_flight(count: int = 3, **config: Any) -> Script:
    """`count` messages sent, no receipt."""
    story = Script()
    story.producer(**config)
    for number in range(count):
        story.send(number)
    for number in range(count):
        story.send_frame(number)
    return story


def _cut(story: Script, conn: int = 0) -> Script:
    story.cut(conn)
    story.producer_again(conn + 1)
    return story


def _codes(check: object) -> list[str]:
    return [finding.code for finding in check.findings]  # type: ignore[attr-defined]


# --- unreceipted-again ------------------------------------------------------------------------------------------------


def test_resend_of_everything_unreceipted_is_accepted() -> None:
    story = _cut(_in_flight())
    for number in range(3):
        story.send_frame(number, conn=1)
    check = trial(unreceipted_again, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 3)


def test_unit_left_out_of_the_resend_is_found() -> None:
    story = _cut(_in_flight())
    story.send_frame(0, conn=1)
    story.send_frame(2, conn=1)
    (finding,) = trial(unreceipted_again, story.at(5000).done()).findings
    assert finding.code == "not-sent-again"
    assert "sequence id 1" in finding.sentence


def test_nothing_sent_again_for_a_long_time_is_found() -> None:
    assert _codes(trial(unreceipted_again, _cut(_in_flight(1)).at(5000).done())) == ["not-sent-again"]


def test_case_that_ends_before_the_resend_is_not_judged() -> None:
    assert _codes(trial(unreceipted_again, _cut(_in_flight(1)).done())) == []


def test_producer_that_has_to_wait_for_its_turn_owes_nothing_yet() -> None:
    story = _in_flight()
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields={"producer_ready": False})
    check = trial(unreceipted_again, story.at(5_000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_producer_that_is_sent_away_as_soon_as_it_is_back_owes_nothing_there() -> None:
    story = _cut(_in_flight(1))
    story.down("CLOSE_PRODUCER", 1, producer_id=0)
    story.at(3_000).producer_ready(1)
    story.send_frame(0, conn=1)
    assert _codes(trial(unreceipted_again, story.at(5_000).done())) == []


def test_unit_with_a_receipt_is_owed_nothing() -> None:
    story = _in_flight(2)
    story.receipt(0)
    _cut(story).send_frame(1, conn=1)
    assert _codes(trial(unreceipted_again, story.at(5000).done())) == []


def test_send_that_timed_out_is_owed_nothing() -> None:
    story = _in_flight(1)
    story.cut()
    story.unknown(0)
    story.producer_again(1)
    assert _codes(trial(unreceipted_again, story.at(5000).done())) == []


def test_closed_producer_owes_nothing() -> None:
    story = _in_flight(1)
    story.invoke("close", 1)
    assert _codes(trial(unreceipted_again, _cut(story).at(5000).done())) == []


def test_send_failed_by_the_lost_connection_is_found() -> None:
    story = _in_flight(1)
    story.cut()
    story.unknown(0, ErrorClass.TRANSPORT)
    assert _codes(trial(unreceipted_again, story.done())) == ["failed-instead"]


def test_send_that_failed_a_moment_before_the_link_saw_the_end_is_found() -> None:
    story = _in_flight(1)
    story.unknown(0, ErrorClass.TRANSPORT)
    story.cut()
    assert _codes(trial(unreceipted_again, story.done())) == ["failed-instead"]


def test_send_that_failed_long_before_the_connection_ended_failed_for_something_else() -> None:
    story = _in_flight(1)
    story.unknown(0, ErrorClass.TRANSPORT)
    story.at(5000).cut()
    assert _codes(trial(unreceipted_again, story.done())) == []


def test_machine_too_busy_to_tell_late_from_never_is_undecided() -> None:
    story = _cut(_in_flight(1))
    story.at(5000).load(5000, loop_lag_ms=900)
    check = trial(unreceipted_again, story.done())
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


# --- keeps-queue-order ------------------------------------------------------------------------------------------------


def test_resend_in_queue_order_is_accepted() -> None:
    story = _cut(_in_flight())
    for number in range(3):
        story.send_frame(number, conn=1)
    check = trial(keeps_queue_order, story.done())
    assert (check.findings, check.exercised) == ([], 3)


def test_resend_out_of_order_is_found() -> None:
    story = _cut(_in_flight())
    for number in (0, 2, 1):
        story.send_frame(number, conn=1)
    assert _codes(trial(keeps_queue_order, story.done())) == ["out-of-order"]


def test_new_send_that_overtakes_the_resend_is_found() -> None:
    story = _cut(_in_flight(1))
    story.send(1)
    story.send_frame(1, conn=1)
    story.send_frame(0, conn=1)
    assert _codes(trial(keeps_queue_order, story.done())) == ["out-of-order"]


def test_resend_of_an_acknowledged_unit_is_found() -> None:
    story = _in_flight(2)
    story.receipt(0)
    story.ok(0)
    _cut(story)
    story.send_frame(0, conn=1)
    story.send_frame(1, conn=1)
    assert _codes(trial(keeps_queue_order, story.done())) == ["sent-after-receipt"]


def test_unit_whose_receipt_may_have_been_lost_may_be_sent_again() -> None:
    story = _in_flight(1)
    story.receipt(0)
    _cut(story)
    story.send_frame(0, conn=1)
    story.ok(0)
    assert _codes(trial(keeps_queue_order, story.done())) == []


SMALL = ((0, 10), (1, 11), (0, 12), (1, 13), (2, 14))
"""Sequence ids and checksums: an early reconnect had the producer begin at 0 again behind two that are pending."""


def _small(order: tuple[tuple[int, int], ...]) -> Check:
    """Messages too small for an identity, which leave in turn, and in this order on the next connection."""
    story = Script()
    story.producer()
    for sequence_id, unit in SMALL:
        story.send_frame(sequence_id, unit=unit, members=())
    _cut(story)
    for sequence_id, unit in order:
        story.send_frame(sequence_id, conn=1, unit=unit, members=())
    return trial(keeps_queue_order, story.done())


def test_resend_in_queue_order_is_accepted_where_ids_are_used_anew() -> None:
    check = _small(SMALL)
    assert (_codes(check), check.exercised) == ([], 5)


def test_resend_out_of_order_is_found_where_ids_are_used_anew() -> None:
    assert _codes(_small((*SMALL[2:4], *SMALL[:2], SMALL[4]))) == ["out-of-order", "out-of-order"]


# --- same-unit --------------------------------------------------------------------------------------------------------


def _again(*numbers: int, **fields: Any) -> Check:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, 2)
    _cut(story).send_frame(*numbers, conn=1, **fields)
    return trial(same_unit, story.done())


def test_same_bytes_again_are_accepted() -> None:
    check = _again(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_other_bytes_are_found() -> None:
    assert _codes(_again(0, 1, 2, unit=7)) == ["bytes-changed"]


def test_other_sequence_id_is_found() -> None:
    assert _codes(_again(0, 1, 2, sequence_id=3)) == ["id-changed"]


def test_other_highest_sequence_id_is_found() -> None:
    assert _codes(_again(0, 1, 2, highest_sequence_id=9)) == ["id-changed"]


def test_batch_cut_again_is_found() -> None:
    assert _codes(_again(0, 1)) == ["cut-again"]


# --- waits-for-producer-success ---------------------------------------------------------------------------------------


def test_send_after_producer_success_is_accepted() -> None:
    story = _cut(_in_flight(1))
    story.send_frame(0, conn=1)
    check = trial(waits_for_producer_success, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_before_producer_success_is_found() -> None:
    story = _in_flight(1)
    story.cut()
    story.connected(1)
    story.producer_asks(1)
    story.send_frame(0, conn=1)
    assert _codes(trial(waits_for_producer_success, story.done())) == ["sent-too-early"]


def test_send_of_a_producer_that_has_to_wait_for_its_turn_is_found() -> None:
    story = Script()
    story.connected()
    asked = story.producer_asks()
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_ready": False})
    story.send_frame(0)
    assert _codes(trial(waits_for_producer_success, story.done())) == ["sent-too-early"]


def test_send_without_producer_is_found() -> None:
    story = _in_flight(1)
    story.cut()
    story.connected(1)
    story.send_frame(0, conn=1)
    assert _codes(trial(waits_for_producer_success, story.done())) == ["no-producer"]


def test_send_refused_while_reconnecting_is_found() -> None:
    story = _in_flight(1)
    story.cut()
    story.send(1)
    story.fail(1, ErrorClass.TRANSPORT)
    assert _codes(trial(waits_for_producer_success, story.done())) == ["failed-meanwhile"]


FORGETS = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset())
"""A client that fails what a lost connection left without a receipt."""


@pytest.mark.parametrize(("asked_ms", "codes"), [(50, []), (3_000, ["failed-meanwhile"])])
def test_who_sends_nothing_again_may_fail_what_was_asked_before_it_noticed(asked_ms: int, codes: list[str]) -> None:
    story = _in_flight(1)
    story.at(1_000).cut()
    story.at(1_000 + asked_ms).send(1)
    story.fail(1, ErrorClass.TRANSPORT)
    assert _codes(trial(waits_for_producer_success, story.done(), facts=FORGETS)) == codes


def test_send_refused_for_a_full_queue_is_accepted() -> None:
    story = _in_flight(1)
    story.cut()
    story.send(1)
    story.fail(1, ErrorClass.QUEUE_FULL)
    assert _codes(trial(waits_for_producer_success, story.done())) == []


# --- ignores-stale-receipt --------------------------------------------------------------------------------------------


def _stale() -> Script:
    """Message 0 receipted twice while message 1 waits."""
    story = _in_flight(2)
    story.receipt(0)
    story.ok(0)
    story.receipt(0)
    return story


def test_stale_receipt_that_changes_nothing_is_accepted() -> None:
    story = _stale()
    story.receipt(1)
    story.ok(1)
    check = trial(ignores_stale_receipt, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_completed_by_a_stale_receipt_is_found() -> None:
    story = _stale()
    story.ok(1)
    assert _codes(trial(ignores_stale_receipt, story.done())) == ["completed-by-stale-receipt"]


def _stale_and_ahead(*, stale_first: bool) -> Script:
    """Message 2 receipted while message 1 waits, and message 0 for the second time."""
    story = _in_flight(3)
    story.receipt(0)
    story.ok(0)
    for number in (0, 2) if stale_first else (2, 0):
        story.receipt(number)
    story.ok(1)
    return story


def test_send_completed_behind_a_receipt_ahead_is_not_put_down_to_a_stale_one() -> None:
    assert _codes(trial(ignores_stale_receipt, _stale_and_ahead(stale_first=True).done())) == []
    assert _codes(trial(leaves_on_receipt_ahead, _stale_and_ahead(stale_first=True).at(5000).done())) == ["stayed"]


def test_send_completed_by_a_stale_receipt_behind_one_ahead_is_found() -> None:
    story = _stale_and_ahead(stale_first=False)
    assert _codes(trial(ignores_stale_receipt, story.done())) == ["completed-by-stale-receipt"]


def test_client_that_leaves_over_a_stale_receipt_is_found() -> None:
    story = _stale()
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == ["left-the-connection"]


def test_client_that_leaves_where_a_send_said_what_nobody_meant_is_accepted() -> None:
    story = _in_flight(2)
    story.send_frame(1, fate=Fate.ALTERED, sides=Sides.RECEIVER)
    story.receipt(0)
    story.ok(0)
    story.receipt(0)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_over_a_receipt_that_was_changed_is_accepted() -> None:
    story = _in_flight(2)
    story.receipt(0, fate=Fate.ALTERED)
    story.ok(0)
    story.receipt(0)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


@pytest.mark.parametrize(("lag_ms", "codes"), [(1_246, []), (50, ["left-the-connection"])])
def test_client_that_heard_nothing_while_the_machine_stood_still_may_leave_behind_a_stale_receipt(
    lag_ms: int, codes: list[str]
) -> None:
    """Its keep-alive ended the connection; the bench read and answered its PING when it went on."""
    story = _stale()
    story.after(113).closed(0)
    story.load(window_ms=1_811, loop_lag_ms=lag_ms)
    facts = msgspec.structs.replace(ANY_CLIENT, fixed={"keep_alive_ms": 700})
    check = trial(ignores_stale_receipt, story.done(), facts=facts)
    assert (_codes(check), bool(check.undecided_because)) == (codes, not codes)


def test_client_that_leaves_where_bytes_were_made_up_is_accepted() -> None:
    story = _stale()
    story.add(Fired, fault=0, action="inject", conn=0)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


@pytest.mark.parametrize(
    ("answer", "error", "codes"),
    [
        ("PARTITIONED_METADATA_RESPONSE", "TooManyRequests", []),
        ("LOOKUP_RESPONSE", "ServiceNotReady", []),
        ("LOOKUP_RESPONSE", "AuthorizationError", ["left-the-connection"]),
        ("ERROR", "ServiceNotReady", ["left-the-connection"]),
    ],
)
def test_client_may_leave_a_broker_that_is_too_busy_to_look_up(answer: str, error: str, codes: list[str]) -> None:
    story = _stale()
    story.down(answer, request_id=77, fields={"error": error})
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == codes


@pytest.mark.parametrize("unreadable", [{"fate": Fate.ALTERED}, {"meta": None}, {"members": ()}])
def test_client_that_leaves_over_a_message_it_cannot_read_is_accepted(unreadable: dict[str, Any]) -> None:
    story = _stale()
    story.message(0, **unreadable)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def _two_of_one_id() -> Script:
    """The ids begin anew while message 1 waits: message 2 has that of message 0, which timed out. Which of the two a
    receipt is for, nobody knows."""
    story = _in_flight(2)
    story.unknown(0)
    story.send(2)
    story.send_frame(2, sequence_id=0)
    story.receipt(0)
    return story


def test_receipt_of_an_id_that_two_messages_have_may_complete_either() -> None:
    story = _two_of_one_id()
    story.ok(2)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_where_two_messages_have_one_id_is_accepted() -> None:
    story = _two_of_one_id()
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_where_another_producers_messages_have_one_id_is_accepted() -> None:
    """A receipt of that one may lie ahead, which is to be left over."""
    story = _stale()
    story.producer(7, producer_id=7, name="other")
    for number in (0, 1):
        story.send(number, handle=7)
        story.send_frame(number, sequence_id=0, handle=7, producer_id=7, name="other")
    story.receipt(0, producer_id=7)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def test_cut_after_a_stale_receipt_proves_nothing() -> None:
    story = _stale()
    story.cut(0)
    check = trial(ignores_stale_receipt, story.done())
    assert (check.findings, check.exercised) == ([], 0)


def test_client_that_leaves_because_it_was_closed_is_accepted() -> None:
    story = _stale()
    story.invoke("close", 1)
    story.closed(0)
    assert _codes(trial(ignores_stale_receipt, story.done())) == []


def test_late_receipt_of_a_timed_out_send_is_stale() -> None:
    story = _in_flight(1)
    story.unknown(0)
    story.receipt(0)
    assert trial(ignores_stale_receipt, story.done()).exercised == 1


def test_second_completion_is_found() -> None:
    story = _in_flight(1)
    call = next(event for event in story.events if getattr(event, "verb", "") == "send")
    story.unknown(0)
    story.receipt(0)
    story.complete(call, Outcome.OK)  # type: ignore[arg-type]
    assert _codes(trial(ignores_stale_receipt, story.done())) == ["completed-twice"]


# --- leaves-on-receipt-ahead ------------------------------------------------------------------------------------------


def _ahead() -> Script:
    """Message 1 receipted while message 0 waits."""
    story = _in_flight(2)
    story.receipt(1)
    return story


def test_client_that_leaves_over_a_receipt_ahead_is_accepted() -> None:
    story = _ahead()
    story.closed(0)
    check = trial(leaves_on_receipt_ahead, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_is_found() -> None:
    assert _codes(trial(leaves_on_receipt_ahead, _ahead().at(5000).done())) == ["stayed"]


def test_broker_that_stops_reading_now_and_then_learns_late_of_who_leaves() -> None:
    topology = Topology(settings=BrokerSettings(publish_rate=Rate(messages=20)))
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    check = trial(leaves_on_receipt_ahead, _ahead().at(5000).done(), case)
    assert (check.findings, check.exercised) == ([], 0)


def test_cut_right_after_a_receipt_ahead_proves_nothing() -> None:
    story = _ahead()
    story.cut(0)
    check = trial(leaves_on_receipt_ahead, story.at(5000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_receipt_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = _in_flight(2)
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.receipt(1)
    assert _codes(trial(leaves_on_receipt_ahead, story.at(5_000).done())) == []


def test_receipt_behind_a_timed_out_head_is_not_ahead() -> None:
    story = _in_flight(2)
    story.unknown(0)
    story.receipt(1)
    assert _codes(trial(leaves_on_receipt_ahead, story.at(5000).done())) == []


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
    assert _codes(trial(leaves_on_receipt_ahead, story.at(5000).done())) == []


def test_receipt_ahead_of_messages_that_nobody_knows_is_not_judged() -> None:
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
    story.send_frame(0, members=())
    story.send_frame(1)
    story.receipt(1)
    check = trial(leaves_on_receipt_ahead, story.at(5000).done())
    assert (_codes(check), check.exercised) == ([], 0)


def test_broker_that_closes_first_proves_nothing() -> None:
    story = _ahead()
    story.closed(0, ClosedBy.BROKER)
    assert trial(leaves_on_receipt_ahead, story.at(5000).done()).exercised == 0


def test_receipt_behind_a_chunked_message_that_timed_out_is_not_ahead() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    story.at(600).unknown(0)
    story.send(1)
    story.send_frame(1)
    story.receipt(1)
    assert _codes(trial(leaves_on_receipt_ahead, story.at(5_000).done())) == []
