"""The producer's rules: numbering, resend, receipts, time-outs; each kept by the honest client, broken by its cheat."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import PRODUCER, Peer

from assay_conformance.client import Done, Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import CommandType as C
from assay_conformance.wire import pulsar_pb2 as pb

RECONNECT_MS = 100


def three_in_flight(*mutations: str, **config: object) -> tuple[Peer, list[int]]:
    peer = Peer(*mutations)
    peer.open_producer(**config)
    return peer, peer.send(b"a", b"b", b"c")


# --- numbering -------------------------------------------------------------------------------------------------------


def test_sequence_ids_are_consecutive_over_a_reconnect() -> None:
    peer, _ = three_in_flight()
    peer.receipt(0, 1, 2)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.send(b"d")
    assert peer.sent_ids() == [0, 1, 2, 3]


def test_skipping_mutant_leaves_a_gap_after_a_reconnect() -> None:
    peer, _ = three_in_flight("skips-sequence-id")
    peer.receipt(0, 1, 2)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.send(b"d")
    assert peer.sent_ids() == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("mutations", "first"),
    [
        ((), 42),
        (("ignores-last-sequence-id",), 0),
        (("skips-after-last-sequence-id",), 43),
    ],
)
def test_new_producer_continues_behind_the_brokers_last_id(mutations: tuple[str, ...], first: int) -> None:
    peer = Peer(*mutations)
    peer.last_sequence_id = 41
    peer.open_producer(producer_name="p")
    peer.send(b"a")
    assert peer.sent_ids() == [first]


def test_initial_sequence_id_goes_before_the_brokers_last_id() -> None:
    peer = Peer()
    peer.last_sequence_id = 41
    peer.open_producer(initial_sequence_id=9)
    peer.send(b"a")
    assert peer.sent_ids() == [10]


def test_reconnect_does_not_rewind_numbering() -> None:
    peer, _ = three_in_flight()
    peer.receipt(0, 1, 2)
    peer.last_sequence_id = 77
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.send(b"d")
    assert peer.sent_ids()[-1] == 3


def test_explicit_sequence_id_is_used_and_continued() -> None:
    peer = Peer()
    peer.open_producer()
    peer.send(b"a", sequence_id=10)
    peer.send(b"b")
    assert peer.sent_ids() == [10, 11]


# --- resend ----------------------------------------------------------------------------------------------------------


def test_unreceipted_sends_go_out_again_in_order() -> None:
    peer, _ = three_in_flight()
    peer.receipt(0)
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [1, 2]


def test_resent_units_are_the_same_bytes() -> None:
    peer, _ = three_in_flight()
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert [frame.raw for frame in peer.written(C.SEND, 0)] == [frame.raw for frame in peer.written(C.SEND, 1)]


def test_mutant_that_changes_metadata_resends_other_bytes() -> None:
    peer, _ = three_in_flight("resend-changes-metadata")
    peer.cut()
    peer.advance(RECONNECT_MS)
    first, again = peer.written(C.SEND, 0)[0], peer.written(C.SEND, 1)[0]
    assert first.body == again.body
    assert first.raw != again.raw


def test_batch_is_not_cut_again_by_a_resend() -> None:
    peer = Peer()
    peer.open_producer(batching=True, batching_max_messages=2)
    peer.send(b"a", b"b", b"c")
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert [frame.body.num_messages for frame in peer.written(C.SEND, 1)] == [2, 1]


def test_sends_made_while_away_follow_the_older_ones() -> None:
    peer, _ = three_in_flight()
    peer.cut()
    peer.send(b"d", b"e")
    peer.advance(RECONNECT_MS)
    assert peer.sent_payloads(conn=1) == [b"a", b"b", b"c", b"d", b"e"]


def test_overtaking_mutant_writes_new_sends_first() -> None:
    peer, _ = three_in_flight("overtakes-resend")
    peer.cut()
    peer.send(b"d")
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [3, 0, 1, 2]


def test_swapping_mutant_keeps_ids_and_swaps_payloads() -> None:
    peer, _ = three_in_flight("swaps-sends-while-disconnected")
    peer.cut()
    peer.send(b"d", b"e")
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [0, 1, 2, 3, 4]
    assert peer.sent_payloads(conn=1)[-2:] == [b"e", b"d"]


def test_failing_mutant_resends_nothing_written() -> None:
    peer, ops = three_in_flight("fails-pending-on-loss")
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == []
    assert all(isinstance(peer.results[op], Failed) for op in ops)


def test_what_waited_for_room_when_the_connection_ended_goes_with_the_next_one() -> None:
    peer, _ = three_in_flight("fails-pending-on-loss", max_pending_messages=2, block_if_queue_full=True)
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert peer.sent_payloads(conn=1) == [b"c"]


def test_receipted_resending_mutant_begins_one_too_early() -> None:
    peer, _ = three_in_flight("resends-receipted")
    peer.receipt(0)
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [0, 1, 2]


def test_republishing_mutant_sends_a_message_under_a_second_id() -> None:
    peer, _ = three_in_flight("publishes-again-after-resend")
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [0, 1, 2, 3]
    assert peer.sent_payloads(conn=1)[-2:] == [b"c", b"c"]


@pytest.mark.parametrize(
    ("mutations", "early"), [((), []), (("sends-before-producer-success",), [3])], ids=["honest", "mutant"]
)
def test_nothing_is_sent_before_producer_success(mutations: tuple[str, ...], early: list[int]) -> None:
    peer, _ = three_in_flight(*mutations)
    peer.receipt(0, 1, 2)
    peer.silent.add(C.PRODUCER)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.send(b"d")
    assert peer.sent_ids(conn=1) == early


def test_send_written_early_is_not_written_again() -> None:
    peer, _ = three_in_flight("sends-before-producer-success")
    peer.receipt(0, 1, 2)
    peer.silent.add(C.PRODUCER)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.send(b"d")
    peer.answer(peer.written(C.PRODUCER, 1)[0])
    assert peer.sent_ids(conn=1) == [3]


def test_broker_closing_the_producer_leaves_the_connection() -> None:
    peer, _ = three_in_flight()
    peer.tell(C.CLOSE_PRODUCER, producer_id=0, request_id=2**64 - 1)
    peer.advance(RECONNECT_MS)
    assert peer.conn == 0
    assert peer.sent_ids() == [0, 1, 2, 0, 1, 2]


def test_close_producer_with_a_broker_url_skips_the_lookup() -> None:
    peer, _ = three_in_flight()
    url = "pulsar://two:6650"
    peer.tell(C.CLOSE_PRODUCER, producer_id=0, request_id=2**64 - 1, assignedBrokerServiceUrl=url)
    assert peer.urls[-1] == url
    assert peer.sent_ids(conn=1) == [0, 1, 2]


def test_registration_epoch_rises_with_each_reconnect() -> None:
    peer, _ = three_in_flight()
    for _ in range(2):
        peer.cut()
        peer.advance(RECONNECT_MS)
    assert [frame.body.epoch for frame in peer.written(C.PRODUCER)] == [0, 1, 2]


def test_loses_third_send_only_between_second_and_third_receipt() -> None:
    for receipts, again in (((0,), [1, 2]), ((0, 1), []), ((0, 1, 2), [])):
        peer, ops = three_in_flight("loses-third-send")
        peer.receipt(*receipts)
        peer.cut()
        peer.advance(RECONNECT_MS)
        assert peer.sent_ids(conn=1) == again
        lost = [op for op in ops if isinstance(peer.results.get(op), Failed)]
        assert lost == (ops[2:] if receipts == (0, 1) else [])


@pytest.mark.parametrize(("mutations", "name"), [((), "n"), (("reconnects-without-name",), "")])
def test_reconnect_asks_for_the_same_name(mutations: tuple[str, ...], name: str) -> None:
    peer, _ = three_in_flight(*mutations, producer_name="n")
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert [frame.body.producer_name for frame in peer.written(C.PRODUCER)] == ["n", name]


# --- receipts --------------------------------------------------------------------------------------------------------


def test_sends_complete_in_order_with_their_positions() -> None:
    peer, ops = three_in_flight()
    peer.receipt(0, 1, 2)
    assert peer.order[-3:] == ops
    results = [peer.results[op] for op in ops]
    assert [result.message_id.entry for result in results if isinstance(result, Done) and result.message_id] == [
        0,
        1,
        2,
    ]


def test_out_of_order_mutant_lets_a_later_completion_pass() -> None:
    peer, ops = three_in_flight("completes-out-of-order")
    peer.receipt(0, 1, 2)
    peer.advance(50)
    assert peer.order[-3:] == [ops[1], ops[2], ops[0]]


@pytest.mark.parametrize(
    ("mutations", "ended"), [((), 1), (("stale-receipt-completes-head",), 2)], ids=["honest", "mutant"]
)
def test_late_receipt_is_ignored(mutations: tuple[str, ...], ended: int) -> None:
    peer, ops = three_in_flight(*mutations)
    peer.receipt(0, 0)
    assert len([op for op in ops if op in peer.results]) == ended


def test_receipt_beyond_the_head_closes_and_resends() -> None:
    peer, ops = three_in_flight()
    peer.receipt(1)
    assert peer.closed_by_client == [0]
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [0, 1, 2]
    assert not [op for op in ops if op in peer.results]


def test_ignoring_mutant_stays_stuck_on_a_lost_receipt() -> None:
    peer, ops = three_in_flight("ignores-receipt-ahead")
    peer.receipt(1, 2)
    peer.advance(1_000)
    assert peer.closed_by_client == []
    assert not [op for op in ops if op in peer.results]


def test_duplicate_receipt_completes_the_send() -> None:
    peer, ops = three_in_flight()
    peer.duplicate_receipt(0)
    result = peer.results[ops[0]]
    assert isinstance(result, Done)
    assert result.message_id is not None
    assert result.message_id.position == (-1, -1)


def test_mutant_fails_a_duplicate_receipt() -> None:
    peer, ops = three_in_flight("fails-duplicate-receipt")
    peer.duplicate_receipt(0)
    assert isinstance(peer.results[ops[0]], Failed)


def test_transient_send_error_reconnects_and_resends() -> None:
    peer, ops = three_in_flight()
    peer.tell(C.SEND_ERROR, producer_id=0, sequence_id=0, error=pb.PersistenceError, message="x")
    peer.advance(RECONNECT_MS)
    assert peer.sent_ids(conn=1) == [0, 1, 2]
    assert not [op for op in ops if op in peer.results]


def test_not_allowed_fails_that_send_alone() -> None:
    peer, ops = three_in_flight()
    peer.tell(C.SEND_ERROR, producer_id=0, sequence_id=0, error=pb.NotAllowedError, message="x")
    peer.receipt(1, 2)
    assert isinstance(peer.results[ops[0]], Failed)
    assert [isinstance(peer.results[op], Done) for op in ops[1:]] == [True, True]


def test_terminated_topic_fails_all_and_stays_away() -> None:
    peer, ops = three_in_flight()
    peer.tell(C.SEND_ERROR, producer_id=0, sequence_id=0, error=pb.TopicTerminatedError, message="x")
    peer.advance(10_000)
    assert {result.error for op in ops if isinstance(result := peer.results[op], Failed)} == {ErrorClass.TERMINATED}
    assert len(peer.written(C.PRODUCER)) == 1


# --- time-out --------------------------------------------------------------------------------------------------------


def test_send_fails_at_its_time_out_and_not_before() -> None:
    peer, ops = three_in_flight(send_timeout_ms=200)
    peer.advance(199)
    assert not [op for op in ops if op in peer.results]
    peer.advance(1)
    assert {result.error for op in ops if isinstance(result := peer.results[op], Failed)} == {ErrorClass.TIMEOUT}


def test_younger_sends_outlive_an_older_time_out() -> None:
    peer, old = three_in_flight(send_timeout_ms=200)
    peer.advance(100)
    young = peer.send(b"d")
    peer.advance(100)
    assert [op in peer.results for op in [*old, *young]] == [True, True, True, False]


def test_unwritten_send_surely_failed_at_its_time_out() -> None:
    peer, _ = three_in_flight(send_timeout_ms=200)
    peer.silent.add(C.PRODUCER)
    peer.cut()
    (op,) = peer.send(b"d")
    peer.advance(500)
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert result.certain


def test_time_out_frees_the_queue() -> None:
    peer, _ = three_in_flight(send_timeout_ms=200, max_pending_messages=3)
    peer.advance(200)
    peer.send(b"d")
    assert peer.sent_ids()[-1] == 3


def test_late_mutant_misses_the_time_out_by_its_lateness() -> None:
    peer = Peer("send-timeout-late", lateness_ms=50)
    peer.open_producer(send_timeout_ms=200)
    (op,) = peer.send(b"a")
    peer.advance(249)
    assert op not in peer.results
    peer.advance(1)
    assert op in peer.results


def test_never_timing_out_mutant_keeps_the_send() -> None:
    peer, ops = three_in_flight("send-never-times-out", send_timeout_ms=200)
    peer.advance(5_000)
    assert not [op for op in ops if op in peer.results]


# --- queue, flush, close ---------------------------------------------------------------------------------------------


def test_full_queue_refuses_at_once() -> None:
    peer = Peer()
    peer.open_producer(max_pending_messages=2)
    ops = peer.send(b"a", b"b", b"c")
    result = peer.results[ops[2]]
    assert isinstance(result, Failed)
    assert (result.error, result.certain) == (ErrorClass.QUEUE_FULL, True)
    assert peer.sent_ids() == [0, 1]


def test_blocked_send_waits_for_room() -> None:
    peer = Peer()
    peer.open_producer(max_pending_messages=2, block_if_queue_full=True)
    peer.send(b"a", b"b", b"c")
    assert peer.sent_ids() == [0, 1]
    peer.receipt(0)
    assert peer.sent_ids() == [0, 1, 2]


def test_memory_limit_lets_one_message_cross_it() -> None:
    peer = Peer(memory_limit_bytes=10)
    peer.open_producer()
    ops = peer.send(b"x" * 9, b"x" * 9, b"x")
    assert [op in peer.results for op in ops] == [False, False, True]


def test_flush_waits_for_the_receipts_before_it() -> None:
    peer, _ = three_in_flight()
    op = peer.flush()
    later = peer.send(b"d")
    peer.receipt(0, 1)
    assert op not in peer.results
    peer.receipt(2)
    assert op in peer.results
    assert later[0] not in peer.results


def test_close_fails_what_has_no_receipt() -> None:
    peer, ops = three_in_flight()
    peer.silent.add(C.CLOSE_PRODUCER)
    close = peer.close_handle(PRODUCER)
    peer.receipt(0)
    peer.answer(peer.written(C.CLOSE_PRODUCER)[0])
    assert isinstance(peer.results[ops[0]], Done)
    assert {result.error for op in ops[1:] if isinstance(result := peer.results[op], Failed)} == {ErrorClass.CLOSED}
    assert close in peer.results


def test_blocked_send_ends_with_a_close_whose_last_batch_leaves_room() -> None:
    peer = Peer()
    peer.max_message_bytes = 100
    peer.open_producer(max_pending_messages=2, block_if_queue_full=True, batching=True, batching_max_messages=3)
    *batched, blocked = peer.send(b"x" * 80, b"x" * 80, b"c")
    peer.close_handle(PRODUCER)
    errors = [peer.results[op].error for op in (*batched, blocked)]  # type: ignore[union-attr]
    assert errors == [ErrorClass.TOO_LARGE, ErrorClass.TOO_LARGE, ErrorClass.CLOSED]


def test_closed_producer_resends_nothing_when_the_connection_returns() -> None:
    peer, _ = three_in_flight()
    peer.cut()
    peer.close_handle(PRODUCER)
    peer.advance(5_000)
    assert peer.sent_ids(conn=0) == peer.sent_ids()


def test_close_while_registering_tells_the_broker() -> None:
    peer = Peer()
    peer.open_producer()
    peer.silent.add(C.PRODUCER)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.close_handle(PRODUCER)
    assert len(peer.written(C.CLOSE_PRODUCER, 1)) == 1


def test_calls_before_the_opening_wait_for_it_in_order() -> None:
    peer = Peer()
    peer.silent.add(C.PRODUCER)
    opened = peer.open_producer()
    peer.send(b"a", b"b")
    assert peer.sent_ids() == []
    peer.answer(peer.written(C.PRODUCER)[0])
    assert opened in peer.results
    assert peer.sent_ids() == [0, 1]


def test_too_large_message_fails_alone_and_takes_no_id() -> None:
    peer = Peer()
    peer.max_message_bytes = 100
    peer.open_producer()
    ops = peer.send(b"x" * 200, b"a")
    result = peer.results[ops[0]]
    assert isinstance(result, Failed)
    assert (result.error, result.certain) == (ErrorClass.TOO_LARGE, True)
    assert peer.sent_ids() == [0]


def test_keyless_messages_visit_partitions_in_turn() -> None:
    peer = Peer()
    peer.partitions = 2
    peer.open_producer()
    peer.send(b"a", b"b", b"c")
    assert [frame.body.producer_id for frame in peer.written(C.SEND)] == [0, 1, 0]


def test_terminated_producer_frees_its_name_at_the_broker() -> None:
    peer, ops = three_in_flight()
    peer.tell(C.SEND_ERROR, producer_id=0, sequence_id=0, error=pb.TopicTerminatedError, message="x")
    assert [type(peer.results[op]) for op in ops] == [Failed] * 3
    assert len(peer.written(C.CLOSE_PRODUCER)) == 1
