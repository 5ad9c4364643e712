"""What a payload carries is described the same wherever it is seen."""

from __future__ import annotations

import zlib
from typing import Any

import crc32c
import pytest

from assay_conformance.model.event import Identity, Member, Meta
from assay_conformance.model.payload import digest, generate
from assay_conformance.wire import CommandType, MessageMetadata, Payload, SingleMessageMetadata, command, decode, encode
from assay_conformance.wire.batch import Member as BatchMember
from assay_conformance.wire.batch import encode_batch
from assay_conformance.wire.compression import Codec, compress
from assay_conformance.wire.describe import Describer, Description

IDENTITY = Identity(1, 2, 3)
MESSAGE = generate(IDENTITY, 100, seed=5)
SEND = command(CommandType.SEND, producer_id=0, sequence_id=7)


def payload(data: bytes = MESSAGE, *, checksum: bool = True, **fields: Any) -> Payload:
    metadata = MessageMetadata(producer_name="p", sequence_id=7, publish_time=9, **fields)
    sent = decode(encode(SEND, metadata=metadata, data=data, checksum=checksum)).payload
    assert sent is not None
    return sent


def describe(data: bytes = MESSAGE, **fields: Any) -> Description:
    return Describer().describe(payload(data, **fields))


def member(data: bytes, **rest: Any) -> Member:
    identity = Identity(1, 2, 3) if data.startswith(MESSAGE[:16]) else None
    return Member(size=len(data), digest=digest(data), identity=identity, **rest)


def test_single_message_is_one_member() -> None:
    assert describe().members == (member(MESSAGE, sequence_id=7),)


def test_key_of_a_message_is_shown() -> None:
    assert describe(partition_key="k").members == (member(MESSAGE, sequence_id=7, key="k"),)


def test_small_message_has_no_identity() -> None:
    (small,) = describe(b"tiny").members
    assert small.identity is None


def test_meta_has_what_the_metadata_has() -> None:
    fields: dict[str, Any] = {
        "partition_key": "k",
        "ordering_key": b"o",
        "highest_sequence_id": 8,
        "deliver_at_time": 11,
        "uncompressed_size": 100,
        "properties": [{"key": "a", "value": "b"}, {"key": "REAL_TOPIC", "value": "t"}],
    }
    assert describe(**fields).meta == Meta(
        producer_name="p",
        sequence_id=7,
        publish_time_ms=9,
        highest_sequence_id=8,
        uncompressed_size=100,
        key="k",
        ordering_key=b"o",
        deliver_at_ms=11,
        properties=2,
        property_digests=(zlib.crc32(b'["a", "b"]'),),
        letter={"REAL_TOPIC": "t"},
    )


@pytest.mark.parametrize("codec", [Codec.LZ4, Codec.ZLIB, Codec.ZSTD, Codec.SNAPPY])
def test_compressed_message_is_described_unpacked(codec: Codec) -> None:
    packed = compress(codec, MESSAGE)
    description = describe(packed, compression=int(codec), uncompressed_size=len(MESSAGE))
    assert description.members == (member(MESSAGE, sequence_id=7),)
    assert description.meta is not None
    assert description.meta.compression == codec.name


def single(**fields: Any) -> SingleMessageMetadata:
    return SingleMessageMetadata(payload_size=0, **fields)


def test_batch_is_described_member_by_member() -> None:
    members = [
        BatchMember(single(sequence_id=4, partition_key="k"), MESSAGE),
        BatchMember(single(compacted_out=True), b"other"),
    ]
    description = describe(encode_batch(members), num_messages_in_batch=2)
    assert description.members == (
        member(MESSAGE, sequence_id=4, key="k"),
        member(b"other", compacted_out=True),
    )


def test_batch_of_one_is_a_batch() -> None:
    description = describe(encode_batch([BatchMember(single(), MESSAGE)]), num_messages_in_batch=1)
    assert description.meta is not None
    assert (description.meta.batch, description.members) == (1, (member(MESSAGE),))


# Payloads whose content cannot be had.
CLOSED: list[dict[str, Any]] = [
    {"num_messages_in_batch": 3},
    {"compression": int(Codec.ZSTD), "uncompressed_size": 100},
    {"compression": int(Codec.LZ4), "uncompressed_size": 2**31},
    {"encryption_keys": [{"key": "k", "value": b"v"}]},
]


@pytest.mark.parametrize("fields", CLOSED, ids=[next(iter(fields)) + str(n) for n, fields in enumerate(CLOSED)])
def test_content_that_cannot_be_read_has_no_members(fields: dict[str, Any]) -> None:
    description = describe(**fields)
    assert (description.members, description.intact) == ((), True)


def test_metadata_that_cannot_be_read_leaves_the_rest() -> None:
    sent = decode(encode(SEND, metadata=b"\xff\xff\xff", data=MESSAGE)).payload
    assert sent is not None
    description = Describer().describe(sent)
    assert (description.meta, description.members, description.intact) == (None, (), True)


def test_unit_is_the_checksum_of_metadata_and_payload() -> None:
    sent = payload()
    assert describe().unit == sent.checksum == crc32c.crc32c(bytes(sent.checksummed))


def test_unit_does_not_depend_on_a_checksum_being_sent() -> None:
    assert describe(checksum=False).unit == describe().unit


def test_damage_is_not_intact() -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=7, publish_time=9)
    raw = bytearray(encode(SEND, metadata=metadata, data=MESSAGE))
    raw[-1] ^= 1
    sent = decode(bytes(raw)).payload
    assert sent is not None
    assert Describer().describe(sent).intact is False


def test_description_is_made_once_for_a_payload() -> None:
    sent = payload()
    assert Describer().describe(sent) is Describer().describe(sent)


def chunk(number: int, data: bytes, count: int = 3, uuid: str = "p-7", **fields: Any) -> Payload:
    return payload(data, uuid=uuid, chunk_id=number, num_chunks_from_msg=count, **fields)


PIECES = (MESSAGE[:40], MESSAGE[40:80], MESSAGE[80:])


def joined(*numbers: int) -> list[int]:
    """How many members the description of each chunk has, when they come in this order."""
    describer = Describer()
    return [len(describer.describe(chunk(number, PIECES[number])).members) for number in numbers]


# Order in which the chunks come, and which of them brings the message.
ARRIVALS: list[tuple[tuple[int, ...], list[int]]] = [
    ((0, 1, 2), [0, 0, 1]),
    ((0, 0, 1, 2), [0, 0, 0, 1]),
    ((0, 1, 0, 1, 2), [0, 0, 0, 0, 1]),
    ((0, 2), [0, 0]),
    ((0, 1, 2, 2), [0, 0, 1, 1]),
    ((0, 1, 2, 0, 1, 2), [0, 0, 1, 0, 0, 1]),
]


@pytest.mark.parametrize(("numbers", "members"), ARRIVALS)
def test_last_chunk_brings_the_message(numbers: tuple[int, ...], members: list[int]) -> None:
    assert joined(*numbers) == members


def test_other_last_chunk_alone_brings_nothing() -> None:
    describer = Describer()
    for number, data in enumerate(PIECES):
        describer.describe(chunk(number, data))
    assert describer.describe(chunk(2, b"other")).members == ()


def test_chunks_of_another_count_are_of_another_message() -> None:
    describer = Describer()
    describer.describe(chunk(0, PIECES[0], count=3))
    describer.describe(chunk(0, PIECES[0], count=2))
    assert len(describer.describe(chunk(1, PIECES[1], count=2)).members) == 1


def test_joined_message_is_that_of_all_chunks() -> None:
    describer = Describer()
    descriptions = [describer.describe(chunk(number, data)) for number, data in enumerate(PIECES)]
    assert descriptions[-1].members == (member(MESSAGE, sequence_id=7),)


def test_interleaved_messages_are_joined_apart() -> None:
    describer = Describer()
    last = [
        describer.describe(chunk(number, data, uuid=uuid)).members
        for number, data in enumerate(PIECES)
        for uuid in ("p-7", "p-8")
    ]
    assert last[-2:] == [(member(MESSAGE, sequence_id=7),)] * 2


def test_chunks_are_unpacked_when_joined() -> None:
    packed = compress(Codec.ZLIB, MESSAGE)
    describer = Describer()
    fields: dict[str, Any] = {"compression": int(Codec.ZLIB), "uncompressed_size": len(MESSAGE), "count": 2}
    describer.describe(chunk(0, packed[:20], **fields))
    assert describer.describe(chunk(1, packed[20:], **fields)).members == (member(MESSAGE, sequence_id=7),)


def test_description_of_a_chunk_is_each_describers_own() -> None:
    seen, unseen = Describer(), Describer()
    chunks = [chunk(number, data) for number, data in enumerate(PIECES)]
    members = [len(seen.describe(part).members) for part in chunks]
    assert (members[-1], len(unseen.describe(chunks[-1]).members)) == (1, 0)


COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("said", [0, len(MESSAGE) - 1, len(MESSAGE) + 1])
def test_body_of_another_size_than_it_says_shows_what_it_unpacks_to(codec: Codec, said: int) -> None:
    meta = describe(compress(codec, MESSAGE), compression=codec.name, uncompressed_size=said).meta
    assert meta is not None
    assert meta.unpacked_bytes == len(MESSAGE)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_body_that_its_codec_cannot_unpack_shows_that(codec: Codec) -> None:
    meta = describe(MESSAGE, compression=codec.name, uncompressed_size=len(MESSAGE)).meta
    assert meta is not None
    assert meta.unpacked_bytes == -1


@pytest.mark.parametrize("codec", COMPRESSED)
def test_nothing_is_said_of_a_body_that_is_what_it_says(codec: Codec) -> None:
    meta = describe(compress(codec, MESSAGE), compression=codec.name, uncompressed_size=len(MESSAGE)).meta
    assert meta is not None
    assert meta.unpacked_bytes is None
