"""Chunks: how a large message is cut, and how chunks become one message again."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.client import Done
from assay_conformance.wire import CommandType as C

LARGE = bytes(range(250)) * 2


def chunking(*mutations: str) -> Peer:
    peer = Peer(*mutations)
    peer.max_message_bytes = 200
    peer.open_producer(chunking=True, producer_name="p")
    return peer


def test_large_message_is_cut_into_chunks_in_order() -> None:
    peer = chunking()
    peer.send(LARGE)
    metadata = [frame.payload.metadata for frame in peer.written(C.SEND) if frame.payload]
    assert b"".join(peer.sent_payloads()) == LARGE
    assert [one.chunk_id for one in metadata] == [0, 1, 2]
    assert {(one.uuid, one.num_chunks_from_msg, one.total_chunk_msg_size) for one in metadata} == {
        ("p-0", 3, len(LARGE))
    }
    assert {one.sequence_id for one in metadata} == {0}


@pytest.mark.parametrize(("mutations", "flagged"), [((), True), (("omits-chunk-flag",), False)])
def test_chunks_are_flagged_in_their_command(mutations: tuple[str, ...], flagged: bool) -> None:
    peer = chunking(*mutations)
    peer.send(LARGE)
    assert {frame.body.is_chunk for frame in peer.written(C.SEND)} == {flagged}


def test_small_message_carries_no_chunk_fields() -> None:
    peer = chunking()
    peer.send(b"small")
    (frame,) = peer.written(C.SEND)
    assert not frame.body.is_chunk
    assert frame.payload is not None
    assert not frame.payload.metadata.HasField("uuid")


def test_last_chunks_receipt_completes_the_message() -> None:
    peer = chunking()
    (op,) = peer.send(LARGE)
    peer.chunk_receipts(0, (1, 2))
    assert op not in peer.results
    peer.chunk_receipts(0, (3,))
    assert isinstance(peer.results[op], Done)


def test_receipt_that_comes_twice_stands_for_one_chunk() -> None:
    peer = chunking()
    (op,) = peer.send(LARGE)
    peer.chunk_receipts(0, (1, 1, 2))
    assert op not in peer.results
    peer.chunk_receipts(0, (3,))
    assert op in peer.results


def test_resend_starts_at_the_first_unreceipted_chunk() -> None:
    peer = chunking()
    peer.send(LARGE)
    peer.receipt(0)
    peer.cut()
    peer.advance(100)
    again = [frame.raw for frame in peer.written(C.SEND, 1)]
    assert again == [frame.raw for frame in peer.written(C.SEND, 0)[1:]]


# --- joining ---------------------------------------------------------------------------------------------------------


def consuming(*mutations: str, **config: object) -> Peer:
    peer = Peer(*mutations)
    peer.open_consumer(**{"subscription_type": "shared", "ack_group_ms": 0, **config})
    return peer


def payloads(peer: Peer) -> list[bytes]:
    peer.receive(10)
    return [delivery.payload for delivery in peer.deliveries]


def three(peer: Peer, *chunks: tuple[int, int]) -> None:
    """Chunks of a message of three, as (entry, chunk)."""
    for entry, chunk in chunks:
        peer.chunk(entry, "u", chunk, 3, b"abc"[chunk : chunk + 1], 3)


def test_chunks_in_order_become_one_message() -> None:
    peer = consuming()
    three(peer, (0, 0), (1, 1))
    assert payloads(peer) == []
    three(peer, (2, 2))
    assert payloads(peer) == [b"abc"]
    assert peer.deliveries[0].message_id.entry == 2


def test_fragment_mutant_delivers_each_chunk() -> None:
    peer = consuming("delivers-fragments")
    three(peer, (0, 0), (1, 1))
    assert payloads(peer) == [b"a", b"b"]


@pytest.mark.parametrize(("mutations", "got"), [((), []), (("joins-over-chunk-gap",), [b"ac"])])
def test_message_with_a_gap_is_not_delivered(mutations: tuple[str, ...], got: list[bytes]) -> None:
    peer = consuming(*mutations)
    three(peer, (0, 0), (2, 2))
    assert payloads(peer) == got


@pytest.mark.parametrize(
    ("mutations", "got"),
    [
        ((), [b"abc"]),
        (("drops-message-on-repeated-chunk",), []),
        (("appends-repeated-chunk",), [b"abbc"]),
    ],
)
def test_repeated_chunk_is_filtered(mutations: tuple[str, ...], got: list[bytes]) -> None:
    peer = consuming(*mutations)
    three(peer, (0, 0), (1, 1), (2, 1), (3, 2))
    assert payloads(peer) == got


@pytest.mark.parametrize(("mutations", "acked"), [((), [(2,)]), (("never-acks-repeated-chunk",), [])])
def test_repeated_chunk_at_another_position_is_acknowledged(
    mutations: tuple[str, ...], acked: list[tuple[int, ...]]
) -> None:
    peer = consuming(*mutations)
    three(peer, (0, 0), (1, 1), (2, 1))
    assert peer.acked() == acked


def test_redelivered_chunk_is_not_acknowledged() -> None:
    peer = consuming()
    three(peer, (0, 0), (1, 1), (1, 1))
    assert peer.acked() == []


def test_first_chunk_sent_again_starts_over_and_acknowledges_the_old() -> None:
    peer = consuming()
    three(peer, (0, 0), (1, 1), (2, 0), (3, 1), (4, 2))
    assert payloads(peer) == [b"abc"]
    assert peer.acked() == [(0, 1)]


def test_messages_of_several_producers_interleave() -> None:
    peer = consuming()
    for entry, (uuid, chunk) in enumerate([("u", 0), ("v", 0), ("u", 1), ("v", 1)]):
        peer.chunk(entry, uuid, chunk, 2, f"{uuid}{chunk}".encode(), 4)
    assert payloads(peer) == [b"u0u1", b"v0v1"]


def test_acknowledging_a_chunked_message_names_every_chunk() -> None:
    peer = consuming()
    three(peer, (0, 0), (1, 1), (2, 2))
    payloads(peer)
    peer.ack(1)
    assert peer.acked() == [(0, 1, 2)]


@pytest.mark.parametrize(("auto", "acked"), [(False, []), (True, [(0,)])])
def test_too_many_incomplete_messages_drop_the_oldest(auto: bool, acked: list[tuple[int, ...]]) -> None:
    peer = consuming(max_pending_chunked_messages=1, auto_ack_oldest_chunked=auto)
    peer.chunk(0, "u", 0, 2, b"u0", 4)
    peer.chunk(1, "v", 0, 2, b"v0", 4)
    peer.chunk(2, "u", 1, 2, b"u1", 4)
    peer.chunk(3, "v", 1, 2, b"v1", 4)
    assert payloads(peer) == [b"v0v1"]
    assert peer.acked() == acked


def test_chunks_before_the_last_return_their_permits() -> None:
    peer = consuming(receiver_queue_size=4)
    three(peer, (0, 0), (1, 1))
    assert peer.permits() == [4, 2]
