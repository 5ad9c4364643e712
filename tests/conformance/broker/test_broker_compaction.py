"""Compaction: of each key the newest message, for consumers that ask for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.wire import (
    Codec,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    command,
    compress,
    decode_batch,
    decompress,
    encode,
    encode_batch,
)
from assay_conformance.wire.pulsar_pb2 import ServerError


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.take()
    return bench


def send(bench: Bench, *messages: tuple[str | None, bytes]) -> None:
    """One entry each: (key, bytes)."""
    for key, data in messages:
        number = len(bench.stored_entries)
        metadata = MessageMetadata(producer_name="p", sequence_id=number, publish_time=0, partition_key=key)
        bench.put(encode(command(C.SEND, producer_id=1, sequence_id=number), metadata=metadata, data=data))


def send_batch(bench: Bench, codec: Codec, *messages: tuple[str | None, bytes]) -> None:
    """One entry of them all."""
    members = [Member(SingleMessageMetadata(partition_key=key), data) for key, data in messages]
    data, number = encode_batch(members), len(bench.stored_entries)
    metadata = MessageMetadata(
        producer_name="p",
        sequence_id=number,
        publish_time=0,
        num_messages_in_batch=len(messages),
        compression=codec.name,
        uncompressed_size=len(data),
    )
    sent = command(C.SEND, producer_id=1, sequence_id=number, num_messages=len(messages))
    bench.put(encode(sent, metadata=metadata, data=compress(codec, data)))


def compact(bench: Bench) -> None:
    topic = bench.cluster.topics.find("persistent://public/default/t")
    assert topic is not None
    topic.compact()


def read(bench: Bench, *, compacted: bool = True) -> list[bytes]:
    bench.subscribe(read_compacted=compacted)
    bench.flow(100)
    return [bytes(frame.payload.data) for frame in bench.take() if frame.payload is not None]


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ([("a", b"1"), ("a", b"2")], [b"2"]),
        ([("a", b"1"), ("b", b"2"), ("a", b"3")], [b"2", b"3"]),
        ([("a", b"1"), ("a", b"")], []),
        ([("a", b"1"), ("a", b""), ("a", b"2")], [b"2"]),
        ([(None, b"1"), ("a", b"2")], [b"2"]),
    ],
    ids=["same key", "two keys", "tombstone", "back from the grave", "no key"],
)
def test_newest_of_each_key_is_left(bench: Bench, sent: Sequence[tuple[str | None, bytes]], left: list[bytes]) -> None:
    send(bench, *sent)
    compact(bench)
    assert read(bench) == left


def test_others_still_read_everything(bench: Bench) -> None:
    send(bench, ("a", b"1"), ("a", b"2"))
    compact(bench)
    assert read(bench, compacted=False) == [b"1", b"2"]


def test_what_comes_later_is_there_whatever_its_key(bench: Bench) -> None:
    send(bench, ("a", b"1"), ("a", b"2"))
    compact(bench)
    send(bench, ("a", b"3"), (None, b"4"))
    assert read(bench) == [b"2", b"3", b"4"]


def test_without_a_compaction_everything_is_there(bench: Bench) -> None:
    send(bench, ("a", b"1"), ("a", b"2"))
    assert read(bench) == [b"1", b"2"]


def test_acknowledged_message_does_not_come_again(bench: Bench) -> None:
    send(bench, ("a", b"1"), ("a", b"2"), ("b", b"3"))
    compact(bench)
    read(bench)
    bench.ack(bench.stored_entries[1][1])
    bench.leave()
    bench.connect()
    assert read(bench) == [b"3"]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_batch_keeps_its_places(bench: Bench, codec: Codec) -> None:
    send_batch(bench, codec, ("a", b"1"), ("b", b"2"), ("a", b"3"))
    compact(bench)
    bench.subscribe(read_compacted=True)
    bench.flow(100)
    (payload,) = [frame.payload for frame in bench.take() if frame.payload is not None]
    assert payload.checksum_ok()
    size = payload.metadata.uncompressed_size
    members = decode_batch(decompress(codec, payload.data, size, 1_000), 3)
    assert [(member.metadata.compacted_out, member.payload) for member in members] == [
        (True, b""),
        (False, b"2"),
        (False, b"3"),
    ]


def test_batch_of_which_nothing_is_left_goes(bench: Bench) -> None:
    send_batch(bench, Codec.NONE, ("a", b"1"), ("a", b"2"))
    send(bench, ("a", b"3"))
    compact(bench)
    assert read(bench) == [b"3"]


def test_damaged_batch_stays_as_it_is(bench: Bench) -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0, num_messages_in_batch=2)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=0, num_messages=2), metadata=metadata, data=b"?"))
    send(bench, ("a", b"1"), ("a", b"2"))
    compact(bench)
    assert read(bench) == [b"?", b"2"]


def test_last_message_is_the_last_that_is_left(bench: Bench) -> None:
    send(bench, ("a", b"1"), ("b", b"2"), ("b", b""))
    compact(bench)
    bench.subscribe(read_compacted=True)
    last = bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body.last_message_id
    assert (last.ledgerId, last.entryId) == bench.stored_entries[0][1].position
    send(bench, ("c", b"3"))
    last = bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body.last_message_id
    assert (last.ledgerId, last.entryId) == bench.stored_entries[3][1].position


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_only_a_single_reader_reads_compacted(bench: Bench, kind: str) -> None:
    assert bench.subscribe(kind, read_compacted=True).body.error == ServerError.NotAllowedError
