"""Seeks, consumers without prefetch, and consumers that pause."""

from __future__ import annotations

from tests.conformance.client.peer import CONSUMER, C, Peer

from assay_conformance.client import Done, Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


def _reading(**config: int) -> Peer:
    """Three messages are there, the first is taken and acknowledged."""
    peer = Peer()
    peer.open_consumer(**config)
    for entry in range(3):
        peer.message(entry)
    peer.receive(1)
    peer.ack(1)
    return peer


def _answered(peer: Peer) -> Frame:
    """The SEEK, answered."""
    (seek,) = peer.written(C.SEEK)
    peer.tell(C.SUCCESS, request_id=seek.body.request_id)
    return seek


def _sent_away(peer: Peer) -> None:
    peer.tell(C.CLOSE_CONSUMER, consumer_id=0, request_id=99)


def test_acknowledgments_leave_ahead_of_a_seek() -> None:
    peer = _reading()
    peer.seek(1)
    assert [frame.type for _, _, frame in peer.frames[-2:]] == [C.ACK, C.SEEK]


def test_seek_ends_when_subscribed_again() -> None:
    peer = _reading()
    op = peer.seek(1)
    _sent_away(peer)
    _answered(peer)
    assert op not in peer.results
    peer.advance(200)
    assert peer.results[op] == Done()


def test_seek_ends_with_the_answer_when_that_is_last() -> None:
    peer = _reading()
    op = peer.seek(1)
    _sent_away(peer)
    peer.advance(200)
    assert op not in peer.results
    _answered(peer)
    assert peer.results[op] == Done()


def test_what_was_prefetched_before_a_seek_is_gone() -> None:
    peer = _reading()
    peer.seek(1)
    _sent_away(peer)
    _answered(peer)
    peer.advance(200)
    peer.message(2, b"again")
    peer.receive(5)
    assert [delivery.payload for delivery in peer.deliveries[1:]] == [b"again"]


def test_message_sought_is_not_handed_out_again() -> None:
    peer = _reading()
    peer.seek(1)
    _sent_away(peer)
    _answered(peer)
    peer.advance(200)
    peer.message(1)
    peer.message(2, b"next")
    peer.receive(5)
    assert [delivery.payload for delivery in peer.deliveries[1:]] == [b"next"]


def test_consumer_whose_seek_is_refused_goes_on_where_it_was() -> None:
    peer = _reading()
    peer.seek(1)
    peer.message(3)
    (seek,) = peer.written(C.SEEK)
    peer.tell(C.ERROR, request_id=seek.body.request_id, error=pb.NotAllowedError, message="no")
    peer.receive(5)
    assert [delivery.message_id.entry for delivery in peer.deliveries] == [0, 1, 2, 3]


def test_second_seek_during_one_is_refused() -> None:
    peer = _reading()
    peer.seek(1)
    result = peer.results[peer.seek(2)]
    assert isinstance(result, Failed)
    assert result.certain


def test_seek_without_a_connection_is_refused() -> None:
    peer = _reading()
    peer.cut()
    result = peer.results[peer.seek(1)]
    assert isinstance(result, Failed)
    assert (result.error, result.certain) == (ErrorClass.TRANSPORT, True)


def test_seek_ends_when_its_connection_does() -> None:
    peer = _reading()
    op = peer.seek(1)
    peer.cut()
    assert isinstance(peer.results[op], Failed)


def test_closing_ends_a_seek() -> None:
    peer = _reading()
    op = peer.seek(1)
    peer.close_handle(CONSUMER)
    assert isinstance(peer.results[op], Failed)


def test_seek_into_a_batch_asks_for_the_rest_of_it() -> None:
    peer = Peer()
    peer.open_consumer()
    peer.batch(0, b"a", b"b", b"c", b"d")
    peer.receive(4)
    op = peer.next_op()
    peer.core.seek(op, CONSUMER, peer.now_ns, message_id=peer.deliveries[1].message_id)
    peer.run()
    assert list(peer.written(C.SEEK)[0].body.message_id.ack_set) == [0b1110]


# --- without prefetch -------------------------------------------------------------------------------------------------


def test_consumer_without_a_queue_asks_when_the_application_does() -> None:
    peer = Peer()
    peer.open_consumer(receiver_queue_size=0)
    assert peer.permits() == []
    peer.receive(2, timeout_ms=1_000)
    assert peer.permits() == [1]
    peer.message(0)
    assert peer.permits() == [1, 1]
    peer.message(1)
    assert peer.permits() == [1, 1]


def test_consumer_without_a_queue_asks_again_after_a_reconnect() -> None:
    peer = Peer()
    peer.open_consumer(receiver_queue_size=0)
    peer.receive(1, timeout_ms=1_000)
    peer.cut()
    peer.advance(200)
    assert peer.permits() == [1, 1]


def test_message_that_came_too_late_is_kept_for_the_next_receive() -> None:
    peer = Peer()
    peer.open_consumer(receiver_queue_size=0)
    peer.receive(1)
    peer.message(0)
    peer.receive(1)
    assert len(peer.deliveries) == 1
    assert peer.permits() == [1]


# --- pause ------------------------------------------------------------------------------------------------------------


def _pause(peer: Peer) -> None:
    peer.core.pause(peer.next_op(), CONSUMER, peer.now_ns)


def _resume(peer: Peer) -> None:
    peer.core.resume(peer.next_op(), CONSUMER, peer.now_ns)
    peer.run()


def test_paused_consumer_grants_nothing_until_it_resumes() -> None:
    peer = Peer()
    peer.open_consumer(receiver_queue_size=4)
    _pause(peer)
    for entry in range(3):
        peer.message(entry)
    peer.receive(3)
    assert peer.permits() == [4]
    _resume(peer)
    assert peer.permits() == [4, 3]


def test_paused_consumer_that_reconnects_grants_its_queue_when_it_resumes() -> None:
    peer = Peer()
    peer.open_consumer(receiver_queue_size=4)
    _pause(peer)
    peer.cut()
    peer.advance(200)
    assert peer.permits() == [4]
    _resume(peer)
    assert peer.permits() == [4, 4]
