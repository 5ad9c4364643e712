"""Batches: when they close, how they are numbered, what their receipt completes."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.client import Done
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import CommandType as C
from assay_conformance.wire import decode_batch, decompress
from assay_conformance.wire.compression import Codec


def batching(*mutations: str, **config: object) -> Peer:
    peer = Peer(*mutations, lateness_ms=50)
    peer.open_producer(batching=True, **config)
    return peer


def sizes(peer: Peer) -> list[int]:
    return [frame.body.num_messages for frame in peer.written(C.SEND)]


@pytest.mark.parametrize(("mutations", "cut"), [((), [3, 3]), (("batch-overfills",), [4])])
def test_batch_closes_by_count(mutations: tuple[str, ...], cut: list[int]) -> None:
    peer = batching(*mutations, batching_max_messages=3, batching_max_publish_delay_ms=1_000)
    peer.send(*[b"x"] * 6)
    assert sizes(peer) == cut


@pytest.mark.parametrize(("mutations", "cut"), [((), [2, 2]), (("batch-ignores-bytes",), [])])
def test_batch_closes_by_bytes(mutations: tuple[str, ...], cut: list[int]) -> None:
    peer = batching(*mutations, batching_max_bytes=100, batching_max_publish_delay_ms=1_000)
    peer.send(*[b"x" * 40] * 5)
    assert sizes(peer) == cut


@pytest.mark.parametrize(("mutations", "at_ms"), [((), 20.0), (("batch-delay-late",), 70.0)])
def test_batch_closes_by_delay_since_its_first_message(mutations: tuple[str, ...], at_ms: float) -> None:
    peer = batching(*mutations, batching_max_publish_delay_ms=20)
    peer.send(b"a")
    peer.advance(15)
    peer.send(b"b")
    peer.advance(100)
    assert peer.times(C.SEND) == [at_ms]
    assert sizes(peer) == [2]


def test_flush_closes_the_open_batch() -> None:
    peer = batching(batching_max_publish_delay_ms=10_000)
    peer.send(b"a", b"b")
    peer.flush()
    assert sizes(peer) == [2]


def test_open_batch_times_out_with_its_first_message() -> None:
    peer = batching(batching_max_publish_delay_ms=1_000, send_timeout_ms=300)
    ops = peer.send(b"a")
    peer.advance(100)
    ops += peer.send(b"b")
    peer.advance(199)
    assert peer.results.keys().isdisjoint(ops)
    peer.advance(1)
    assert [peer.results[op].error for op in ops] == [ErrorClass.TIMEOUT] * 2  # type: ignore[union-attr]


def test_synchronous_send_closes_the_batch_it_joins() -> None:
    peer = batching(batching_max_publish_delay_ms=10_000)
    peer.send(b"a", b"b")
    (op,) = peer.send(b"c", sync=True)
    assert sizes(peer) == [3]
    assert op not in peer.results
    peer.receipt(0)
    assert isinstance(peer.results[op], Done)


def test_batch_larger_than_the_queue_leaves_by_its_delay() -> None:
    peer = batching(
        batching_max_messages=10, max_pending_messages=2, block_if_queue_full=True, batching_max_publish_delay_ms=50
    )
    peer.send(b"a", b"b", b"c")
    peer.advance(50)
    peer.receipt(0)
    peer.advance(50)
    assert (sizes(peer), peer.times(C.SEND)) == ([2, 1], [50.0, 100.0])


def test_batch_too_large_for_the_broker_makes_room_for_those_that_wait() -> None:
    peer = Peer()
    peer.max_message_bytes = 200
    peer.open_producer(
        batching=True,
        batching_max_messages=10,
        max_pending_messages=2,
        block_if_queue_full=True,
        batching_max_publish_delay_ms=50,
    )
    large = peer.send(b"a" * 150, b"b" * 150)
    (waiting,) = peer.send(b"c")
    peer.advance(100)
    peer.receipt(2)
    assert [isinstance(peer.results[op], Done) for op in (*large, waiting)] == [False, False, True]


def test_batch_carries_lowest_highest_and_single_ids() -> None:
    peer = batching(batching_max_messages=3)
    peer.send(b"a", b"b", b"c", b"d", b"e", b"f")
    second = peer.written(C.SEND)[1]
    assert (second.body.sequence_id, second.body.highest_sequence_id) == (3, 5)
    assert second.payload is not None
    metadata = second.payload.metadata
    assert (metadata.sequence_id, metadata.highest_sequence_id) == (3, 5)
    members = decode_batch(second.payload.data, 3)
    assert [member.metadata.sequence_id for member in members] == [3, 4, 5]


def test_receipt_completes_every_member_with_its_index() -> None:
    peer = batching(batching_max_messages=3)
    ops = peer.send(b"a", b"b", b"c")
    peer.receipt(0)
    ids = [result.message_id for op in ops if isinstance(result := peer.results[op], Done)]
    assert [(named.batch_index, named.batch_size) for named in ids if named] == [(0, 3), (1, 3), (2, 3)]


def test_batch_is_compressed_as_a_whole() -> None:
    peer = batching(batching_max_messages=2, compression="ZLIB")
    peer.send(b"a" * 100, b"b" * 100)
    payload = peer.written(C.SEND)[0].payload
    assert payload is not None
    body = decompress(Codec.ZLIB, payload.data, payload.metadata.uncompressed_size, 10_000)
    assert [member.payload for member in decode_batch(body, 2)] == [b"a" * 100, b"b" * 100]


def test_delayed_message_is_not_batched_and_sends_the_batch_first() -> None:
    peer = batching(batching_max_publish_delay_ms=10_000)
    peer.send(b"a", b"b")
    peer.send(b"c", deliver_at_ms=99)
    assert peer.sent_ids() == [0, 2]


def test_possible_duplicate_is_not_batched_with_new_messages() -> None:
    peer = batching(batching_max_publish_delay_ms=10_000, initial_sequence_id=5)
    peer.send(b"old", sequence_id=3)
    peer.send(b"new")
    peer.flush()
    assert [(frame.body.sequence_id, frame.body.num_messages) for frame in peer.written(C.SEND)] == [(3, 1), (6, 1)]


def test_key_based_batches_hold_one_key_and_go_by_their_highest_id() -> None:
    peer = batching(batching_type="key_based", batching_max_publish_delay_ms=10_000)
    for key in "ABBAA":
        peer.send(b"x", key=key)
    peer.flush()
    frames = peer.written(C.SEND)
    assert [(frame.body.sequence_id, frame.body.num_messages) for frame in frames] == [(2, 2), (4, 3)]
    assert [frame.payload.metadata.partition_key for frame in frames if frame.payload] == ["B", "A"]


def test_a_key_based_batch_times_out_with_its_own_first_message() -> None:
    peer = batching(batching_type="key_based", batching_max_publish_delay_ms=150, send_timeout_ms=300)
    (first,) = peer.send(b"a", key="A")
    peer.advance(100)
    (second,) = peer.send(b"b", key="B")
    peer.advance(250)
    assert (first in peer.results, second in peer.results) == (True, False)
    peer.advance(50)
    assert second in peer.results
