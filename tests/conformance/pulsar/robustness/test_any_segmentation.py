"""The check of `robustness.any-segmentation`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.robustness._histories import CLIENT, Story

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import AgentEnded, ClosedBy, Fired, Healed, Meta
from assay_conformance.pulsar.checks.robustness.any_segmentation import any_segmentation


def test_messages_in_pieces_are_taken() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.received(0)
    assert story.judged(any_segmentation) == ([], 1)


@pytest.mark.parametrize(("redeliveries", "codes"), [(1, ["message-lost"]), (2, [])])
def test_message_that_comes_once_more_than_it_may_is_not_handed_over(redeliveries: int, codes: list[str]) -> None:
    story = Story()
    story.in_pieces()
    story.message(0, redelivery_count=redeliveries)
    story.after(1_100)
    story.receive(1, 0)
    buries = msgspec.structs.replace(CLIENT, fixed={"max_redeliver_count": 1})
    assert [finding.code for finding in trial(any_segmentation, story.done(), facts=buries).findings] == codes


def test_messages_behind_a_slicer_are_in_pieces_on_any_connection() -> None:
    story = Story()
    story.add(Fired, fault=0, action="slicer")
    story.message(0)
    story.received(0)
    assert story.judged(any_segmentation) == ([], 1)


def test_messages_behind_a_healed_slicer_are_whole_again() -> None:
    story = Story()
    story.add(Fired, fault=0, action="slicer")
    story.add(Healed, fault=0)
    story.opened(1)
    story.message(0, conn=1)
    story.received(0)
    assert story.judged(any_segmentation) == ([], 0)


def test_connection_that_ends_with_its_process_was_not_closed_over_pieces() -> None:
    story = Story()
    story.in_pieces()
    story.closed(by=ClosedBy.CLIENT)
    story.add(AgentEnded, reason="killed by signal 11")
    assert story.judged(any_segmentation)[0] == []


def test_connection_that_a_toxic_ends_need_not_be_kept() -> None:
    story = Story()
    story.in_pieces()
    story.add(Fired, fault=1, action="limit-data")
    story.closed()
    assert story.judged(any_segmentation) == ([], 0)


@pytest.mark.parametrize(("receipts", "codes"), [((0,), ["connection-closed"]), ((1,), [])])
def test_connection_that_is_left_over_a_receipt_ahead_of_its_turn_was_not_closed_over_pieces(
    receipts: tuple[int, ...], codes: list[str]
) -> None:
    story = Story()
    story.producer()
    story.in_pieces()
    for number in (0, 1):
        story.send_frame(number)
    for number in receipts:
        story.receipt(number)
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(any_segmentation)[0] == codes


def test_messages_before_the_pieces_do_not_count() -> None:
    story = Story()
    story.message(0)
    story.received(0)
    story.in_pieces()
    assert story.judged(any_segmentation) == ([], 0)


def test_message_changed_in_pieces_is_found() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.received(0, digest=1)
    assert story.judged(any_segmentation)[0] == ["message-changed"]


def test_message_lost_in_pieces_is_found() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(any_segmentation)[0] == ["message-lost"]


def test_last_chunk_without_the_others_need_not_be_handed_over() -> None:
    story = Story()
    story.in_pieces()
    story.message(0, meta=Meta(producer_name="p", sequence_id=0, uuid="p-0", chunk_id=1, chunks=2))
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(any_segmentation) == ([], 0)


def test_acknowledged_message_that_comes_again_may_be_withheld() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.received(0)
    ack = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
    story.complete(ack)
    story.message(0)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(any_segmentation) == ([], 1)


def test_message_asked_for_again_with_all_others_may_be_thrown_away() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.redeliver_frame()
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(any_segmentation)[0] == []


def test_message_just_arrived_is_not_lost_yet() -> None:
    story = Story()
    story.in_pieces()
    story.message(0)
    story.receive(asked=1, got=0)
    assert story.judged(any_segmentation)[0] == []


def test_connection_closed_over_pieces_is_found() -> None:
    story = Story()
    story.in_pieces()
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(any_segmentation)[0] == ["connection-closed"]


def test_connection_cut_by_another_fault_is_no_breach() -> None:
    story = Story()
    story.in_pieces()
    story.add(Fired, fault=1, action="cut", conn=0)
    story.closed(by=ClosedBy.CLIENT)
    assert story.judged(any_segmentation)[0] == []


def _left_behind_a_silence(lag_ms: int, keep_alive_ms: int = 700) -> Check:
    """The client's PING stands in the bench's queue for a second, and the client leaves before its PONG comes."""
    story = Story()
    story.in_pieces()
    story.at(1_736).up("PING")
    story.down("PONG")
    story.at(1_755).closed(by=ClosedBy.CLIENT)
    story.at(1_780).load(window_ms=1_098, loop_lag_ms=lag_ms)
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"keep_alive_ms": keep_alive_ms}))
    facts = msgspec.structs.replace(CLIENT, settable=frozenset({"keep_alive_ms"}))
    return trial(any_segmentation, story.done(), case, facts)


def test_connection_left_while_the_bench_stood_still_for_a_keep_alive_is_not_judged() -> None:
    check = _left_behind_a_silence(961)
    assert (check.findings, bool(check.undecided_because)) == ([], True)


@pytest.mark.parametrize(("lag_ms", "keep_alive_ms"), [(50, 700), (961, 30_000)])
def test_connection_left_on_a_machine_that_was_in_time_is_found(lag_ms: int, keep_alive_ms: int) -> None:
    check = _left_behind_a_silence(lag_ms, keep_alive_ms)
    assert [finding.code for finding in check.findings] == ["connection-closed"]
