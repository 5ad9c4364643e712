"""Message handlers and batch receive: which calls begin when, and what a batch takes of the queue."""

from __future__ import annotations

from typing import Any

from tests.conformance.client.peer import CONSUMER, Peer, message

from assay_conformance.client import ConsumerSettings, Done, Failed, settings
from assay_conformance.wire import CommandType as C


def listening(count: int, **config: Any) -> Peer:
    """A consumer with a handler that has not returned, for which `count` messages have come."""
    peer = Peer()
    asked = settings(ConsumerSettings, config)
    peer.core.open_consumer(peer.next_op(), CONSUMER, ["persistent://public/default/t"], "s", asked, 0, listener=True)
    peer.run()
    for entry in range(count):
        peer.message(entry)
    return peer


def returned(peer: Peer, *, raised: bool = False) -> list[int]:
    """The deliveries so far, after one more call that ended."""
    peer.core.handler_returned(CONSUMER, peer.now_ns, raised=raised)
    peer.run()
    return [delivery.message_id.entry for delivery in peer.deliveries]


def test_handler_is_called_again_when_it_has_returned() -> None:
    peer = listening(3)
    assert len(peer.deliveries) == 1
    assert returned(peer) == [0, 1]
    assert returned(peer) == [0, 1, 2]
    assert returned(peer) == [0, 1, 2]


def test_exception_in_a_handler_ends_its_call_alone() -> None:
    peer = listening(2)
    assert returned(peer, raised=True) == [0, 1]
    peer.advance(1_000)
    assert peer.written(C.ACK) == []


def test_no_handler_call_begins_behind_close_which_waits_for_none() -> None:
    peer = listening(3)
    closing = peer.close_handle(CONSUMER)
    assert isinstance(peer.results[closing], Done)
    assert returned(peer) == [0]


def test_handler_without_prefetch_gets_one_message_at_a_time() -> None:
    peer = listening(0, receiver_queue_size=0)
    assert peer.permits() == [1]
    peer.message(0)
    assert peer.permits() == [1]
    returned(peer)
    assert peer.permits() == [1, 1]


def test_partitions_that_are_added_to_a_paused_consumer_are_asked_for_nothing_before_it_is_resumed() -> None:
    for paused, permits in ((True, 0), (False, 1)):
        peer = Peer()
        asked = settings(ConsumerSettings, {"receiver_queue_size": 1, "partitions_update_ms": 100})
        topics = ["persistent://public/default/t"]
        peer.partitions = 1
        peer.core.open_consumer(peer.next_op(), CONSUMER, topics, "s", asked, 0, listener=True)
        peer.run()
        granted = len(peer.permits())
        if paused:
            peer.core.pause(peer.next_op(), CONSUMER, peer.now_ns)
        peer.partitions = 2
        peer.advance(150)
        assert len(peer.permits()) == granted + permits
        peer.core.resume(peer.next_op(), CONSUMER, peer.now_ns)
        peer.run()
        assert len(peer.permits()) == granted + 1


def batches(count: int, *calls: float, **config: Any) -> list[int]:
    """The counts of batch receives that are made at these times, of a queue of `count` messages of ten bytes."""
    peer = Peer()
    peer.open_consumer(**{"batch_receive_timeout_ms": 100, **config})
    for entry in range(count):
        peer.core.received(peer.conn, message(entry, b"0123456789"), peer.now_ns)
    peer.run()
    ops = []
    for after_ms in calls:
        peer.advance(after_ms)
        ops.append(peer.next_op())
        peer.core.batch_receive(ops[-1], CONSUMER, peer.now_ns)
    peer.advance(1_000)
    ends = [peer.results[op] for op in ops]
    return [end.count or 0 if isinstance(end, Done) else -1 for end in ends]


def test_batch_has_no_more_messages_than_its_limit() -> None:
    assert batches(5, 0, 0, 0, batch_receive_max_messages=2) == [2, 2, 1]


def test_batch_has_no_more_bytes_than_its_limit_unless_it_is_one_message() -> None:
    assert batches(5, 0, 0, batch_receive_max_bytes=25) == [2, 2]
    assert batches(2, 0, 0, batch_receive_max_bytes=5) == [1, 1]


def test_batch_ends_in_time_with_what_there_is() -> None:
    assert batches(0, 0) == [0]
    assert batches(3, 0, batch_receive_max_messages=5) == [3]


def test_batch_that_is_larger_than_the_queue_is_a_full_queue() -> None:
    assert batches(3, 0, batch_receive_max_messages=50, receiver_queue_size=3, batch_receive_timeout_ms=0) == [3]


def test_batch_receive_of_a_consumer_with_a_listener_is_refused() -> None:
    peer = listening(1)
    op = peer.next_op()
    peer.core.batch_receive(op, CONSUMER, peer.now_ns)
    assert isinstance(peer.results[op], Failed)
