"""The consumer's rules: permits, acknowledgments and their grouping, redelivery, and messages that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.client.peer import CONSUMER, Peer, corrupted, message

from assay_conformance.client import Done, Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import CommandType as C
from assay_conformance.wire import MessageMetadata, command, encode
from assay_conformance.wire import pulsar_pb2 as pb

REDELIVER = C.REDELIVER_UNACKNOWLEDGED_MESSAGES
RECONNECT_MS = 100
OPERATION_MS = 30_000


def consuming(*mutations: str, lateness_ms: int | None = None, **config: Any) -> Peer:
    peer = Peer(*mutations, lateness_ms=lateness_ms)
    peer.open_consumer(**{"subscription_type": "shared", **config})
    return peer


def with_messages(count: int, *mutations: str, lateness_ms: int | None = None, **config: Any) -> Peer:
    """`count` single messages, all handed to the application."""
    peer = consuming(*mutations, lateness_ms=lateness_ms, **config)
    for entry in range(count):
        peer.message(entry)
    peer.receive(count)
    return peer


def with_batch(*mutations: str, **config: Any) -> Peer:
    """One batch of three, all handed to the application."""
    peer = consuming(*mutations, **config)
    peer.batch(0, b"a", b"b", b"c")
    peer.receive(3)
    return peer


# --- permits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mutations", "first"), [((), 10), (("first-flow-too-large",), 11)])
def test_first_flow_grants_the_whole_queue(mutations: tuple[str, ...], first: int) -> None:
    assert consuming(*mutations, receiver_queue_size=10).permits() == [first]


@pytest.mark.parametrize(("mutations", "early"), [((), []), (("flow-before-subscribed",), [10])])
def test_no_flow_before_subscribe_succeeded(mutations: tuple[str, ...], early: list[int]) -> None:
    peer = Peer(*mutations)
    peer.silent.add(C.SUBSCRIBE)
    peer.open_consumer(receiver_queue_size=10)
    assert peer.permits() == early


def test_permits_return_when_half_the_queue_was_consumed() -> None:
    peer = with_messages(4, receiver_queue_size=10)
    assert peer.permits() == [10]
    peer.message(4)
    peer.receive(1)
    assert peer.permits() == [10, 5]


def test_prefetched_messages_return_no_permits() -> None:
    peer = consuming(receiver_queue_size=4)
    for entry in range(4):
        peer.message(entry)
    assert peer.permits() == [4]


def test_reconnect_starts_with_an_empty_queue_and_full_permits() -> None:
    peer = consuming(receiver_queue_size=4)
    for entry in range(3):
        peer.message(entry)
    peer.cut()
    peer.advance(RECONNECT_MS)
    peer.receive(3)
    assert peer.permits() == [4, 4]
    assert peer.deliveries == []


def test_members_filtered_by_ack_set_are_not_delivered_nor_charged() -> None:
    peer = consuming(receiver_queue_size=2)
    peer.batch(0, b"a", b"b", b"c", ack_set=[0b110])
    peer.receive(3)
    assert [delivery.payload for delivery in peer.deliveries] == [b"b", b"c"]
    assert sum(peer.permits()) == 2 + 2


# --- grouping --------------------------------------------------------------------------------------------------------


def test_acknowledgments_leave_together_one_interval_after_the_first() -> None:
    peer = with_messages(3, ack_group_ms=100)
    peer.ack(1)
    peer.advance(60)
    peer.ack(2, 3)
    peer.advance(200)
    assert peer.times(C.ACK) == [100.0]
    assert peer.acked() == [(0, 1, 2)]


@pytest.mark.parametrize(("mutation", "at_ms"), [("ack-flush-late", 150.0), ("ack-timer-rearmed", 160.0)])
def test_late_ack_mutants_miss_the_interval(mutation: str, at_ms: float) -> None:
    peer = with_messages(2, mutation, lateness_ms=50, ack_group_ms=100)
    peer.ack(1)
    peer.advance(60)
    peer.ack(2)
    peer.advance(200)
    assert peer.times(C.ACK)[0] == at_ms


def test_full_group_leaves_at_once() -> None:
    peer = with_messages(3, ack_group_max=3)
    peer.ack(1, 2)
    assert peer.acked() == []
    peer.ack(3)
    assert peer.acked() == [(0, 1, 2)]


def test_interval_zero_acknowledges_at_once() -> None:
    peer = with_messages(2, ack_group_ms=0)
    peer.ack(1)
    assert peer.acked() == [(0,)]


@pytest.mark.parametrize(("mutations", "entry"), [((), 2), (("cumulative-keeps-last",), 1)])
def test_greatest_cumulative_acknowledgment_counts(mutations: tuple[str, ...], entry: int) -> None:
    peer = with_messages(3, *mutations, subscription_type="exclusive")
    for number in (1, 3, 2):
        peer.ack(number, cumulative=True)
    peer.advance(200)
    assert peer.acked() == [(entry,)]
    assert peer.written(C.ACK)[0].body.ack_type == pb.CommandAck.Cumulative


def test_smaller_sending_mutant_sends_what_a_greater_one_covers() -> None:
    peer = with_messages(3, "sends-smaller-cumulative", subscription_type="exclusive")
    for number in (1, 3, 2):
        peer.ack(number, cumulative=True)
    peer.advance(200)
    assert peer.acked() == [(1,), (2,)]


def test_cumulative_acknowledgment_is_refused_on_shared() -> None:
    peer = with_messages(1)
    result = peer.results[peer.ack(1, cumulative=True)]
    assert isinstance(result, Failed)
    assert result.error is ErrorClass.INVALID_CONFIG


@pytest.mark.parametrize(("mutations", "acked"), [((), [(0, 1)]), (("close-drops-acks",), [])])
def test_close_flushes_acknowledgments_first(mutations: tuple[str, ...], acked: list[tuple[int, ...]]) -> None:
    peer = with_messages(2, *mutations)
    peer.ack(1, 2)
    peer.close_handle(CONSUMER)
    assert peer.acked() == acked
    types = [frame.type for _, _, frame in peer.frames if frame.type in (C.ACK, C.CLOSE_CONSUMER)]
    assert types[-1] is C.CLOSE_CONSUMER


def test_acknowledgments_made_while_away_leave_before_the_first_flow() -> None:
    peer = with_messages(1)
    peer.cut()
    peer.ack(1)
    peer.advance(RECONNECT_MS)
    types = [frame.type for _, conn, frame in peer.frames if conn == 1 and frame.type in (C.ACK, C.FLOW)]
    assert types == [C.ACK, C.FLOW]


def test_redelivery_of_an_acknowledged_message_is_dropped() -> None:
    peer = with_messages(1)
    peer.ack(1)
    peer.message(0)
    peer.receive(1)
    assert len(peer.deliveries) == 1


@pytest.mark.parametrize(
    ("mutations", "acked"), [((), []), (("acks-batch-on-first-message",), [(0,)])], ids=["honest", "mutant"]
)
def test_batch_is_not_acknowledged_before_its_last_member(
    mutations: tuple[str, ...], acked: list[tuple[int, ...]]
) -> None:
    peer = with_batch(*mutations, ack_group_ms=0)
    peer.ack(1, 2)
    assert peer.acked()[:1] == acked


def test_last_member_acknowledges_the_entry_without_ack_set() -> None:
    peer = with_batch(ack_group_ms=0)
    peer.ack(1, 2, 3)
    (frame,) = peer.written(C.ACK)
    (named,) = frame.body.message_id
    assert (named.entryId, named.batch_index, list(named.ack_set)) == (0, -1, [])


def test_batch_index_acknowledgment_carries_what_is_left() -> None:
    peer = with_batch(ack_group_ms=0, batch_index_ack=True)
    peer.ack(2)
    assert list(peer.written(C.ACK)[0].body.message_id[0].ack_set) == [0b101]


@pytest.mark.parametrize(("numbers", "left"), [((4, 6, 2), []), ((4, 2), [0b100]), ((4, 5, 6, 1), [])])
def test_acknowledgments_of_several_copies_of_a_batch_add_up(numbers: tuple[int, ...], left: list[int]) -> None:
    peer = with_batch(ack_group_ms=100, batch_index_ack=True)
    peer.batch(0, b"a", b"b", b"c")
    peer.receive(3)
    peer.ack(*numbers)
    peer.advance(100)
    assert [list(frame.body.message_id[0].ack_set) for frame in peer.written(C.ACK)] == [left]


def test_cumulative_acknowledgment_inside_a_batch_names_the_entry_before() -> None:
    peer = consuming(ack_group_ms=0, subscription_type="exclusive")
    peer.batch(4, b"a", b"b")
    peer.receive(2)
    peer.ack(1, cumulative=True)
    peer.ack(2, cumulative=True)
    assert peer.acked() == [(3,), (4,)]


def test_ack_receipt_completes_the_operation() -> None:
    peer = with_messages(1, ack_group_ms=0, ack_receipt=True)
    op = peer.ack(1)
    assert op not in peer.results
    peer.tell(C.ACK_RESPONSE, consumer_id=0, request_id=peer.written(C.ACK)[0].body.request_id)
    assert isinstance(peer.results[op], Done)


def test_ack_of_what_is_on_its_way_waits_for_the_same_receipt() -> None:
    peer = with_messages(2, ack_group_ms=0, ack_receipt=True, subscription_type="exclusive")
    first, again = peer.ack(2, cumulative=True), peer.ack(1, cumulative=True)
    assert again not in peer.results
    peer.tell(C.ACK_RESPONSE, consumer_id=0, request_id=peer.written(C.ACK)[0].body.request_id)
    assert peer.results[first] == peer.results[again] == Done()


@pytest.mark.parametrize("answered", [0, 1])
def test_cumulative_and_single_acks_that_leave_together_wait_each_for_its_own_receipt(answered: int) -> None:
    """Those of each kind leave in an ACK of their own, and the answer to the other one is none to them."""
    peer = with_messages(3, ack_group_max=2, ack_receipt=True, subscription_type="exclusive")
    ops = peer.ack(1, cumulative=True), peer.ack(2, 3)
    requests = [frame.body.request_id for frame in peer.written(C.ACK)]
    assert len(requests) == 2
    peer.tell(C.ACK_RESPONSE, consumer_id=0, request_id=requests[answered])
    assert [op for op in ops if op in peer.results] == [ops[answered]]


def test_ack_receipt_that_cannot_come_any_more_fails_the_operation() -> None:
    peer = with_messages(1, ack_group_ms=0, ack_receipt=True)
    op = peer.ack(1)
    peer.tell(C.CLOSE_CONSUMER, consumer_id=0, request_id=2**64 - 1)
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert not result.certain


def test_ack_that_waits_for_its_receipt_without_a_connection_ends_in_time_and_leaves_later() -> None:
    peer = with_messages(1, ack_group_ms=0, ack_receipt=True)
    peer.silent.add(C.SUBSCRIBE)
    peer.cut()
    op = peer.ack(1)
    peer.advance(OPERATION_MS - 1)
    assert op not in peer.results
    peer.advance(1)
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert (result.error, result.certain) == (ErrorClass.TIMEOUT, False)
    peer.silent.clear()
    peer.advance(OPERATION_MS)
    assert peer.acked() == [(0,)]


@pytest.mark.parametrize("asked_again", [1, 2])
def test_cumulative_ack_whose_receipt_was_lost_is_sent_when_it_is_asked_for_again(asked_again: int) -> None:
    peer = with_messages(2, ack_group_ms=0, ack_receipt=True, subscription_type="exclusive")
    peer.ack(2, cumulative=True)
    peer.cut()
    peer.advance(RECONNECT_MS)
    again = peer.ack(asked_again, cumulative=True)
    assert again not in peer.results
    assert peer.acked() == [(1,), (1,)]


def test_ack_of_a_delivery_never_made_fails() -> None:
    peer = with_messages(1)
    assert isinstance(peer.results[peer.ack(2)], Failed)


# --- redelivery ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mutations", "at_ms"), [((), 200.0), (("nack-late",), 250.0), (("nack-early",), 150.0)])
def test_redelivery_is_asked_for_after_the_delay(mutations: tuple[str, ...], at_ms: float) -> None:
    peer = with_messages(1, *mutations, lateness_ms=50, nack_delay_ms=200)
    peer.nack(1)
    peer.advance(1_000)
    assert peer.times(REDELIVER) == [at_ms]


def test_steady_nacks_do_not_postpone_an_earlier_one() -> None:
    peer = with_messages(5, nack_delay_ms=200)
    for number in range(1, 6):
        peer.nack(number)
        peer.advance(60)
    assert peer.times(REDELIVER)[0] == 200.0


def test_nacks_due_together_leave_in_one_command() -> None:
    peer = with_messages(3, nack_delay_ms=200)
    peer.nack(1, 2, 3)
    peer.advance(200)
    (frame,) = peer.written(REDELIVER)
    assert [named.entryId for named in frame.body.message_ids] == [0, 1, 2]


def test_nack_of_a_member_names_the_entry_alone() -> None:
    peer = with_batch(nack_delay_ms=200)
    peer.nack(2)
    peer.advance(200)
    (named,) = peer.written(REDELIVER)[0].body.message_ids
    assert (named.entryId, named.batch_index) == (0, -1)


def test_nack_on_exclusive_asks_for_everything_and_empties_the_queue() -> None:
    peer = consuming(subscription_type="exclusive", nack_delay_ms=200, receiver_queue_size=4)
    for entry in range(3):
        peer.message(entry)
    peer.receive(1)
    peer.nack(1)
    peer.advance(200)
    assert len(peer.written(REDELIVER)[0].body.message_ids) == 0
    peer.receive(2)
    assert len(peer.deliveries) == 1
    assert sum(peer.permits()) == 4 + 3


@pytest.mark.parametrize(("mutations", "deliveries"), [((), 1), (("nack-requeues-locally",), 2)])
def test_acknowledged_after_nack_does_not_reach_the_application_again(
    mutations: tuple[str, ...], deliveries: int
) -> None:
    peer = with_messages(1, *mutations, ack_group_ms=0, nack_delay_ms=200)
    peer.nack(1)
    peer.ack(1)
    peer.advance(500)
    peer.receive(1)
    assert len(peer.deliveries) == deliveries


def test_unacknowledged_message_is_asked_for_after_the_ack_timeout() -> None:
    peer = with_messages(2, ack_timeout_ms=300, ack_timeout_tick_ms=50)
    peer.ack(1)
    peer.advance(1_000)
    assert peer.times(REDELIVER) == [350.0]
    assert [named.entryId for named in peer.written(REDELIVER)[0].body.message_ids] == [1]


def test_close_drops_pending_nacks() -> None:
    peer = with_messages(1, nack_delay_ms=200)
    peer.nack(1)
    peer.close_handle(CONSUMER)
    peer.advance(1_000)
    assert peer.written(REDELIVER) == []


# --- what cannot be read ---------------------------------------------------------------------------------------------


def validation_errors(peer: Peer) -> list[int]:
    return [frame.body.validation_error for frame in peer.written(C.ACK) if frame.body.HasField("validation_error")]


def test_corrupt_message_is_acknowledged_as_such_and_not_delivered() -> None:
    peer = consuming(receiver_queue_size=2)
    peer.deliver(corrupted(message(0)))
    peer.receive(1)
    assert peer.deliveries == []
    assert validation_errors(peer) == [pb.CommandAck.ChecksumMismatch]
    assert peer.permits() == [2, 1]
    assert peer.closed_by_client == []


def test_unverifying_mutant_delivers_what_is_corrupt() -> None:
    peer = consuming("delivers-corrupt")
    peer.deliver(corrupted(message(0)))
    peer.receive(1)
    assert len(peer.deliveries) == 1


def test_closing_mutant_leaves_the_connection_over_a_corrupt_message() -> None:
    peer = consuming("checksum-mismatch-closes-connection")
    peer.deliver(corrupted(message(0)))
    assert peer.closed_by_client == [0]


def test_keeping_mutant_does_not_return_a_corrupt_messages_permit() -> None:
    peer = consuming("checksum-mismatch-keeps-permit", receiver_queue_size=2)
    peer.deliver(corrupted(message(0)))
    assert peer.permits() == [2]


def test_undecodable_batch_is_acknowledged_as_such() -> None:
    peer = consuming()
    peer.message(0, b"no batch", num_messages_in_batch=3)
    assert validation_errors(peer) == [pb.CommandAck.BatchDeSerializeError]


def test_undecodable_metadata_discards_that_message_alone() -> None:
    peer = consuming()
    named = command(C.MESSAGE, consumer_id=0, message_id={"ledgerId": 7, "entryId": 0})
    peer.deliver(encode(named, metadata=b"\xff\xff", data=b""))
    peer.message(1)
    peer.receive(1)
    assert [delivery.message_id.entry for delivery in peer.deliveries] == [1]
    assert peer.acked() == [(0,)]


def test_wrong_compression_is_acknowledged_as_such() -> None:
    peer = consuming()
    metadata = MessageMetadata(compression=pb.ZLIB, uncompressed_size=5)
    peer.message(0, b"not zlib", compression=metadata.compression, uncompressed_size=5)
    assert validation_errors(peer) == [pb.CommandAck.DecompressionError]


def test_huge_announced_size_is_refused_before_any_allocation() -> None:
    peer = consuming()
    peer.message(0, b"x", compression=pb.ZLIB, uncompressed_size=2**31 - 1)
    assert validation_errors(peer) == [pb.CommandAck.UncompressedSizeCorruption]


# --- receiving -------------------------------------------------------------------------------------------------------


def test_receive_ends_with_what_came_when_its_time_is_over() -> None:
    peer = consuming()
    peer.message(0)
    op = peer.receive(2, timeout_ms=500)
    peer.advance(499)
    assert op not in peer.results
    peer.advance(1)
    assert peer.results[op] == Done(count=1)


def test_receives_are_served_in_order() -> None:
    peer = consuming()
    first, second = peer.receive(1, timeout_ms=500), peer.receive(1, timeout_ms=500)
    peer.message(0)
    assert (first in peer.results, second in peer.results) == (True, False)


def test_consumer_of_partitions_names_the_partition() -> None:
    peer = Peer()
    peer.partitions = 2
    peer.open_consumer()
    peer.message(0)
    peer.receive(1)
    assert peer.deliveries[0].message_id.partition == 0
    assert peer.deliveries[0].topic.endswith("-partition-0")


def test_ack_of_a_consumer_that_was_refused_for_good_ends() -> None:
    peer = with_messages(1, ack_receipt=True)
    peer.silent.add(C.LOOKUP)
    peer.cut()
    peer.advance(RECONNECT_MS)
    asked = peer.written(C.LOOKUP)[-1].body
    peer.tell(C.LOOKUP_RESPONSE, request_id=asked.request_id, response=2, error=pb.NotAllowedError, message="no")
    result = peer.results[peer.ack(1)]
    assert isinstance(result, Failed)
    assert result.error is ErrorClass.CLOSED


def _loses_its_topic(peer: Peer) -> None:
    """It comes back, and is refused for good."""
    peer.silent.add(C.SUBSCRIBE)
    peer.cut()
    peer.advance(RECONNECT_MS)
    asked = peer.written(C.SUBSCRIBE)[-1].body
    peer.tell(C.ERROR, request_id=asked.request_id, error=pb.TopicNotFound, message="no")


def test_receives_of_a_consumer_that_was_refused_for_good_fail() -> None:
    peer = consuming()
    waiting = peer.receive(1, timeout_ms=5_000)
    _loses_its_topic(peer)
    failed = Failed(ErrorClass.UNKNOWN_TOPIC, "TopicNotFound: no", certain=True)
    assert (peer.results[waiting], peer.results[peer.receive(1)]) == (failed, failed)


def test_receive_that_got_something_ends_with_that_when_its_consumer_is_refused_for_good() -> None:
    peer = consuming()
    peer.message(0)
    receive = peer.receive(2, timeout_ms=5_000)
    _loses_its_topic(peer)
    assert peer.results[receive] == Done(count=1)
