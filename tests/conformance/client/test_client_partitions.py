"""Partitions: those that are added while a producer or consumer is open, and consumers of several topics."""

from __future__ import annotations

from tests.conformance.client.peer import CONSUMER, PRODUCER, Peer

from assay_conformance.client import Done
from assay_conformance.wire import CommandType as C
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe


def producing(partitions: int, **config: object) -> Peer:
    peer = Peer()
    peer.partitions = partitions
    peer.open_producer(partitions_update_ms=1_000, **config)
    return peer


def producers_of(peer: Peer) -> list[str]:
    return [frame.body.topic.rpartition("/")[2] for frame in peer.written(C.PRODUCER)]


def subscribed(peer: Peer) -> list[str]:
    return [frame.body.topic.rpartition("/")[2] for frame in peer.written(C.SUBSCRIBE)]


def test_added_partition_gets_a_producer() -> None:
    peer = producing(2)
    peer.partitions = 3
    peer.advance(1_000)
    assert producers_of(peer) == ["t-partition-0", "t-partition-1", "t-partition-2"]


def test_keys_are_spread_over_added_partitions() -> None:
    peer = producing(1)
    peer.send(b"x", key="a")
    peer.partitions = 5
    peer.advance(1_000)
    peer.send(b"x", key="a")
    partition_of = {frame.body.producer_id: frame.body.topic for frame in peer.written(C.PRODUCER)}
    places = [partition_of[frame.body.producer_id] for frame in peer.written(C.SEND)]
    assert [place[-1] for place in places] == ["0", "2"]


def test_keys_stay_until_every_added_producer_is_there() -> None:
    peer = producing(1)
    peer.partitions = 5
    peer.silent.add(C.PRODUCER)
    peer.advance(1_000)
    peer.send(b"x", key="a")
    first = peer.written(C.PRODUCER)[0]
    assert [frame.body.producer_id for frame in peer.written(C.SEND)] == [first.body.producer_id]


def test_topic_without_partitions_is_not_asked_about_again() -> None:
    peer = producing(0)
    peer.advance(5_000)
    assert len(peer.written(C.PARTITIONED_METADATA)) == 1


def test_closed_producer_looks_for_no_partitions() -> None:
    peer = producing(2)
    peer.close_handle(PRODUCER)
    peer.partitions = 3
    peer.advance(5_000)
    assert len(peer.written(C.PARTITIONED_METADATA)) == 1


def test_producer_closed_while_it_grows_leaves_nothing_open() -> None:
    peer = producing(1)
    peer.partitions = 2
    peer.silent.add(C.PRODUCER)
    peer.advance(1_000)
    peer.close_handle(PRODUCER)
    peer.answer(peer.written(C.PRODUCER)[-1])
    closed = [frame.body.producer_id for frame in peer.written(C.CLOSE_PRODUCER)]
    assert sorted(closed) == sorted(frame.body.producer_id for frame in peer.written(C.PRODUCER))


def test_added_partition_is_read_from_its_beginning() -> None:
    peer = Peer()
    peer.partitions = 2
    peer.open_consumer(partitions_update_ms=1_000, initial_position="latest")
    peer.partitions = 3
    peer.advance(1_000)
    added = peer.written(C.SUBSCRIBE)[-1].body
    assert added.topic.endswith("-partition-2")
    assert added.initialPosition == CommandSubscribe.Earliest


def test_closing_a_consumer_closes_added_partitions_too() -> None:
    peer = Peer()
    peer.partitions = 1
    peer.open_consumer(partitions_update_ms=1_000)
    peer.partitions = 2
    peer.advance(1_000)
    peer.close_handle(CONSUMER)
    assert len(peer.written(C.CLOSE_CONSUMER)) == 2


def test_consumer_of_several_topics_subscribes_to_every_part() -> None:
    peer = Peer()
    peer.partitions = 2
    op = peer.open_consumer("persistent://public/default/a", "persistent://public/default/b")
    assert subscribed(peer) == ["a-partition-0", "a-partition-1", "b-partition-0", "b-partition-1"]
    assert isinstance(peer.results[op], Done)


def test_topic_named_twice_is_subscribed_once() -> None:
    peer = Peer()
    peer.open_consumer("persistent://public/default/a", "persistent://public/default/a")
    assert subscribed(peer) == ["a"]
