"""Routing: the partition a message goes to."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.wire import CommandType as C


def partitioned(**config: object) -> Peer:
    """A producer on five partitions; the first turn is partition 0."""
    peer = Peer()
    peer.partitions = 5
    peer.open_producer(**config)
    return peer


def places(peer: Peer) -> list[int]:
    """The partition of each SEND."""
    partition_of = {
        frame.body.producer_id: int(frame.body.topic.rpartition("-")[2]) for frame in peer.written(C.PRODUCER)
    }
    return [partition_of[frame.body.producer_id] for frame in peer.written(C.SEND)]


# Keys and partitions are published vectors: those of the Java client.
VECTORS = [
    ("java_string", {"a": 2, "my-key": 1, "206470852": 1, "é": 3, "😀": 4}),
    ("murmur3_32", {"a": 0, "key1": 1, "my-key": 3, "键": 1, "é": 0}),
]


@pytest.mark.parametrize("routing", ["single", "round_robin"])
@pytest.mark.parametrize(("scheme", "keys"), VECTORS)
def test_key_chooses_its_partition_under_every_mode(routing: str, scheme: str, keys: dict[str, int]) -> None:
    peer = partitioned(routing=routing, hashing_scheme=scheme)
    for key in keys:
        peer.send(b"x", key=key)
    assert places(peer) == list(keys.values())


def test_messages_without_a_key_stay_in_the_single_partition() -> None:
    peer = partitioned(routing="single")
    peer.send(b"a", b"b", b"c")
    assert places(peer) == [0, 0, 0]


def test_messages_without_a_key_take_turns() -> None:
    peer = partitioned(routing="round_robin")
    peer.send(*[b"x"] * 7)
    assert places(peer) == [0, 1, 2, 3, 4, 0, 1]


def test_message_with_a_key_takes_no_turn() -> None:
    peer = partitioned(routing="round_robin")
    peer.send(b"a")
    peer.send(b"b", key="a")
    peer.send(b"c")
    assert places(peer) == [0, 2, 1]


def test_batches_take_turns_by_windows_of_ten_publish_delays() -> None:
    peer = partitioned(routing="round_robin", batching=True, batching_max_publish_delay_ms=5)
    for _ in range(4):
        peer.send(b"a", b"b")
        peer.advance(25)
    assert places(peer) == [0, 0, 1, 1]
