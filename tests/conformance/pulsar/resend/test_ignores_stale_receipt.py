"""resend.ignores-stale-receipt, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._torn_streams import codes_found, sent
from tests.conformance.pulsar.resend.in_flight import codes_of, in_flight

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Fate, Fired, Outcome, Sides
from assay_conformance.pulsar.checks.resend.ignores_stale_receipt import ignores_stale_receipt
from assay_conformance.pulsar.checks.resend.receipt_ahead_closes_connection import receipt_ahead_closes_connection


def test_receipts_of_a_torn_stream_are_neither_stale_nor_ahead() -> None:
    for check in (ignores_stale_receipt, receipt_ahead_closes_connection):
        story = sent()
        story.send_frame(0, sides=Sides.SENDER, fate=Fate.DROPPED)
        story.send_frame(1)
        story.receipt(1)
        story.receipt(0)
        story.receipt(0)
        story.after(20)
        story.closed()
        assert codes_found(check, story.at(5000)) == []


def _stale() -> Script:
    """Message 0 receipted twice while message 1 waits."""
    story = in_flight(2)
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
    assert codes_of(trial(ignores_stale_receipt, story.done())) == ["completed-by-stale-receipt"]


def _stale_and_ahead(*, stale_first: bool) -> Script:
    """Message 2 receipted while message 1 waits, and message 0 for the second time."""
    story = in_flight(3)
    story.receipt(0)
    story.ok(0)
    for number in (0, 2) if stale_first else (2, 0):
        story.receipt(number)
    story.ok(1)
    return story


def test_send_completed_behind_a_receipt_ahead_is_not_put_down_to_a_stale_one() -> None:
    assert codes_of(trial(ignores_stale_receipt, _stale_and_ahead(stale_first=True).done())) == []
    assert codes_of(trial(receipt_ahead_closes_connection, _stale_and_ahead(stale_first=True).at(5000).done())) == [
        "stayed"
    ]


def test_send_completed_by_a_stale_receipt_behind_one_ahead_is_found() -> None:
    story = _stale_and_ahead(stale_first=False)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == ["completed-by-stale-receipt"]


def test_client_that_leaves_over_a_stale_receipt_is_found() -> None:
    story = _stale()
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == ["left-the-connection"]


def _timed_out_and_receipted(*, error: ErrorClass) -> Script:
    """The send of message 0 ends without its receipt, which comes then; the client goes on elsewhere."""
    story = in_flight(1)
    story.at(400).unknown(0, error)
    story.receipt(0)
    story.at(560).closed(0)
    return story


def test_client_that_leaves_over_a_send_that_timed_out_is_accepted() -> None:
    check = trial(ignores_stale_receipt, _timed_out_and_receipted(error=ErrorClass.TIMEOUT).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_leaves_behind_a_send_that_did_not_time_out_is_found() -> None:
    story = _timed_out_and_receipted(error=ErrorClass.CLOSED)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == ["left-the-connection"]


def test_client_that_leaves_where_a_send_said_what_nobody_meant_is_accepted() -> None:
    story = in_flight(2)
    story.send_frame(1, fate=Fate.ALTERED, sides=Sides.RECEIVER)
    story.receipt(0)
    story.ok(0)
    story.receipt(0)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_over_a_receipt_that_was_changed_is_accepted() -> None:
    story = in_flight(2)
    story.receipt(0, fate=Fate.ALTERED)
    story.ok(0)
    story.receipt(0)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


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
    assert (codes_of(check), bool(check.undecided_because)) == (codes, not codes)


def test_client_that_leaves_where_bytes_were_made_up_is_accepted() -> None:
    story = _stale()
    story.add(Fired, fault=0, action="inject", conn=0)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


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
    assert codes_of(trial(ignores_stale_receipt, story.done())) == codes


@pytest.mark.parametrize("unreadable", [{"fate": Fate.ALTERED}, {"meta": None}, {"members": ()}])
def test_client_that_leaves_over_a_message_it_cannot_read_is_accepted(unreadable: dict[str, Any]) -> None:
    story = _stale()
    story.message(0, **unreadable)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def _two_of_one_id() -> Script:
    """The ids begin anew while message 1 waits: message 2 has that of message 0, which timed out. Which of the two a
    receipt is for, nobody knows."""
    story = in_flight(2)
    story.unknown(0)
    story.send(2)
    story.send_frame(2, sequence_id=0)
    story.receipt(0)
    return story


def test_receipt_of_an_id_that_two_messages_have_may_complete_either() -> None:
    story = _two_of_one_id()
    story.ok(2)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_where_two_messages_have_one_id_is_accepted() -> None:
    story = _two_of_one_id()
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def test_client_that_leaves_where_another_producers_messages_have_one_id_is_accepted() -> None:
    """A receipt of that one may lie ahead, which is to be left over."""
    story = _stale()
    story.producer(7, producer_id=7, name="other")
    for number in (0, 1):
        story.send(number, handle=7)
        story.send_frame(number, sequence_id=0, handle=7, producer_id=7, name="other")
    story.receipt(0, producer_id=7)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def test_cut_after_a_stale_receipt_proves_nothing() -> None:
    story = _stale()
    story.cut(0)
    check = trial(ignores_stale_receipt, story.done())
    assert (check.findings, check.exercised) == ([], 0)


def test_client_that_leaves_because_it_was_closed_is_accepted() -> None:
    story = _stale()
    story.invoke("close", 1)
    story.closed(0)
    assert codes_of(trial(ignores_stale_receipt, story.done())) == []


def test_late_receipt_of_a_timed_out_send_is_stale() -> None:
    story = in_flight(1)
    story.unknown(0)
    story.receipt(0)
    assert trial(ignores_stale_receipt, story.done()).exercised == 1


def test_second_completion_is_found() -> None:
    story = in_flight(1)
    call = next(event for event in story.events if getattr(event, "verb", "") == "send")
    story.unknown(0)
    story.receipt(0)
    story.complete(call, Outcome.OK)  # type: ignore[arg-type]
    assert codes_of(trial(ignores_stale_receipt, story.done())) == ["completed-twice"]


def test_client_that_stays_ignores_a_stale_receipt_whatever_else_came() -> None:
    story = _stale()
    story.down("LOOKUP_RESPONSE", request_id=77, fields={"error": "ServiceNotReady"})
    check = trial(ignores_stale_receipt, story.at(2_000).done())
    assert (codes_of(check), check.exercised) == ([], 1)
