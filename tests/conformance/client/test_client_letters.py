"""Retry and dead letters: what is posted elsewhere, with what said of it, and what becomes of the original."""

from __future__ import annotations

from typing import Any

from tests.conformance.client.peer import CONSUMER, TOPIC, Peer

from assay_conformance.client import Done, Failed
from assay_conformance.wire import CommandType as C
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb

REDELIVER = C.REDELIVER_UNACKNOWLEDGED_MESSAGES


def consuming(**config: Any) -> Peer:
    peer = Peer()
    peer.open_consumer(
        **{"subscription_type": "shared", "ack_group_ms": 0, "nack_delay_ms": 100, "max_redeliver_count": 2, **config}
    )
    return peer


def refused(count: int, **metadata: Any) -> Peer:
    """A message that comes with this redelivery count is refused, and its delay over."""
    peer = consuming()
    peer.message(3, b"payload", count, **metadata)
    peer.receive(1)
    peer.nack(1)
    peer.advance(100)
    return peer


def properties(frame: Frame) -> dict[str, str]:
    assert frame.payload is not None
    return {pair.key: pair.value for pair in frame.payload.metadata.properties}


def topics(peer: Peer) -> list[str]:
    return [frame.body.topic for frame in peer.written(C.PRODUCER)]


# --- dead letters ----------------------------------------------------------------------------------------------------


def test_message_refused_for_the_first_times_is_asked_for_again() -> None:
    peer = refused(1)
    assert len(peer.written(REDELIVER)) == 1
    assert topics(peer) == []


def test_message_refused_too_often_goes_to_the_dead_letter_topic() -> None:
    peer = refused(2, partition_key="k", event_time=5)
    assert peer.written(REDELIVER) == []
    assert topics(peer) == [f"{TOPIC}-s-DLQ"]
    (frame,) = peer.written(C.SEND)
    assert frame.payload is not None
    metadata = frame.payload.metadata
    assert (bytes(frame.payload.data), metadata.partition_key, metadata.event_time) == (b"payload", "k", 5)
    assert properties(frame) == {"REAL_TOPIC": TOPIC, "ORIGIN_MESSAGE_ID": "7:3"}


def test_original_is_acknowledged_with_the_copys_receipt_and_not_before() -> None:
    peer = refused(2)
    assert peer.acked() == []
    peer.receipt(0)
    assert peer.acked() == [(3,)]


def test_original_is_asked_for_again_a_delay_after_the_copy_failed() -> None:
    peer = refused(2)
    peer.tell(C.SEND_ERROR, producer_id=peer.producer_id, sequence_id=0, error=pb.NotAllowedError, message="no")
    assert peer.written(REDELIVER) == []
    peer.advance(100)
    assert peer.acked() == []
    assert [named.entryId for named in peer.written(REDELIVER)[0].body.message_ids] == [3]


def test_message_of_which_an_earlier_copy_was_refused_as_well_goes_to_the_dead_letter_topic() -> None:
    """A connection that was lost in between brings it twice."""
    peer = consuming()
    for count in (0, 2):
        peer.message(3, b"payload", count)
        peer.receive(1)
    peer.nack(1)
    peer.nack(2)
    peer.advance(100)
    assert peer.written(REDELIVER) == []
    assert topics(peer) == [f"{TOPIC}-s-DLQ"]


def test_message_redelivered_once_more_is_not_handed_over() -> None:
    peer = consuming()
    peer.message(3, b"payload", 3)
    peer.receive(1)
    assert peer.deliveries == []
    assert topics(peer) == [f"{TOPIC}-s-DLQ"]


def test_batch_goes_to_the_dead_letter_topic_message_by_message() -> None:
    peer = consuming(max_redeliver_count=1, batch_index_ack=True)
    peer.batch(3, b"a", b"b", b"c", redelivery_count=1)
    peer.receive(3)
    peer.ack(2)
    peer.nack(1)
    peer.advance(100)
    assert peer.sent_payloads() == [b"a", b"c"]
    peer.receipt(0, 1)
    assert peer.acked()[-1] == (3,)


def test_dead_letter_producer_takes_the_name_the_broker_gives() -> None:
    peer = refused(2)
    assert [frame.body.HasField("producer_name") for frame in peer.written(C.PRODUCER)] == [False]


def test_close_ends_the_dead_letter_producer() -> None:
    peer = refused(2)
    peer.receipt(0)
    peer.close_handle(CONSUMER)
    assert len(peer.written(C.CLOSE_PRODUCER)) == 1


# --- retry letters ---------------------------------------------------------------------------------------------------


def retrying(**metadata: Any) -> Peer:
    peer = consuming(retry_letters=True)
    peer.message(3, b"payload", **metadata)
    peer.receive(1)
    return peer


def test_retry_letter_topic_is_read_by_the_same_subscription() -> None:
    assert [frame.body.topic for frame in retrying().written(C.SUBSCRIBE)] == [TOPIC, f"{TOPIC}-s-RETRY"]


def test_retry_letter_says_how_often_how_long_and_where_from() -> None:
    peer = retrying()
    peer.reconsume_later(1, delay_ms=500)
    assert topics(peer) == [f"{TOPIC}-s-RETRY"]
    (frame,) = peer.written(C.SEND)
    assert properties(frame) == {
        "REAL_TOPIC": TOPIC,
        "ORIGIN_MESSAGE_ID": "7:3",
        "RECONSUMETIMES": "1",
        "DELAY_TIME": "500",
    }
    assert frame.payload is not None
    assert frame.payload.metadata.deliver_at_time == 1_000_500


def test_original_of_a_retry_letter_is_acknowledged_with_its_receipt() -> None:
    peer = retrying()
    op = peer.reconsume_later(1)
    assert (peer.acked(), op in peer.results) == ([], False)
    peer.receipt(0)
    assert peer.acked() == [(3,)]
    assert isinstance(peer.results[op], Done)


def test_original_of_a_retry_letter_that_fails_is_asked_for_again() -> None:
    peer = retrying()
    op = peer.reconsume_later(1)
    peer.tell(C.SEND_ERROR, producer_id=peer.producer_id, sequence_id=0, error=pb.NotAllowedError, message="no")
    assert isinstance(peer.results[op], Failed)
    assert len(peer.written(REDELIVER)) == 1


def test_retry_letter_that_came_round_too_often_is_a_dead_letter() -> None:
    come_round = [{"key": "RECONSUMETIMES", "value": "2"}, {"key": "REAL_TOPIC", "value": "first"}]
    peer = retrying(properties=come_round)
    peer.reconsume_later(1)
    assert topics(peer) == [f"{TOPIC}-s-DLQ"]
    assert properties(peer.written(C.SEND)[0])["REAL_TOPIC"] == "first"


def test_without_a_retry_letter_topic_nothing_is_posted() -> None:
    peer = consuming()
    peer.message(3)
    peer.receive(1)
    op = peer.reconsume_later(1)
    assert isinstance(peer.results[op], Failed)
    assert topics(peer) == []
