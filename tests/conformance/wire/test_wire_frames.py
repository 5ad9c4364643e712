"""Frames: what is refused, what a checksum covers, and what encoding will not do."""

from __future__ import annotations

import struct

import crc32c
import pytest

from assay_conformance.wire import (
    NO_ID,
    BaseCommand,
    BrokerEntryMetadata,
    CommandType,
    LocalProtocolError,
    MessageMetadata,
    MetadataError,
    Payload,
    ProtocolError,
    command,
    decode,
    encode,
    encode_around,
    encode_block,
    message_id,
    without_checksum,
)

SEND = command(CommandType.SEND, producer_id=1, sequence_id=2)
MESSAGE = command(CommandType.MESSAGE, consumer_id=1, message_id=message_id(3, 4))
PING = command(CommandType.PING)
METADATA = MessageMetadata(producer_name="p", sequence_id=2, publish_time=3)


def payload_of(raw: bytes) -> Payload:
    payload = decode(raw).payload
    assert payload is not None
    return payload


def frame_of(head: bytes, tail: bytes = b"") -> bytes:
    return struct.pack(">II", 4 + len(head) + len(tail), len(head)) + head + tail


MALFORMED = {
    "nothing": b"",
    "half a head": bytes(7),
    "total size too large": bytes.fromhex("0000000a000000050812920100"),
    "total size too small": bytes.fromhex("00000008000000050812920100"),
    "command size too large": bytes.fromhex("00000009000000060812920100"),
    "command that is not protobuf": frame_of(b"\xff\xff"),
    "command without type": frame_of(b""),
    "type without its command": frame_of(b"\x08\x12"),
    "command without a required field": frame_of(bytes.fromhex("080632020801")),
    "string that is not UTF-8": frame_of(bytes.fromhex("080212030a01ff")),
    "payload after a command without": frame_of(bytes.fromhex("0812920100"), b"x"),
    "checksum cut short": frame_of(SEND.SerializeToString(), b"\x0e\x01abc"),
    "broker entry cut in its size": frame_of(MESSAGE.SerializeToString(), b"\x0e\x02\0\0"),
    "broker entry cut in its bytes": frame_of(MESSAGE.SerializeToString(), b"\x0e\x02\0\0\0\x09abc"),
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_frame_is_refused(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(raw)


BAD_METADATA = {
    "no payload at all": b"",
    "metadata size cut": b"\0\0",
    "metadata size beyond the frame": b"\0\0\0\x05abc",
    "metadata that is not protobuf": b"\0\0\0\x02\xff\xff",
    "metadata without a required field": b"\0\0\0\x03\x0a\x01p",
    "producer name that is not UTF-8": b"\0\0\0\x07\x0a\x01\xff\x10\x01\x18\x01",
}


@pytest.mark.parametrize("covered", BAD_METADATA.values(), ids=BAD_METADATA.keys())
@pytest.mark.parametrize("checksum", [True, False])
def test_bad_metadata_is_told_from_a_bad_frame(covered: bytes, checksum: bool) -> None:
    head = b"\x0e\x01" + struct.pack(">I", crc32c.crc32c(covered)) if checksum else b""
    payload = payload_of(frame_of(SEND.SerializeToString(), head + covered))
    assert payload.checksum_ok()
    with pytest.raises(MetadataError):
        assert payload.metadata


@pytest.mark.parametrize("covered", [b"", b"\0\0", b"\0\0\0\x05abc"])
def test_data_behind_a_wrong_metadata_size_is_refused(covered: bytes) -> None:
    with pytest.raises(MetadataError):
        assert payload_of(frame_of(SEND.SerializeToString(), covered)).data is None


def test_bad_broker_entry_metadata_is_refused() -> None:
    payload = payload_of(encode(MESSAGE, metadata=METADATA, broker_entry=b"\xff\xff"))
    with pytest.raises(MetadataError):
        assert payload.broker_entry


def test_every_flipped_bit_behind_the_checksum_shows() -> None:
    raw = encode(SEND, metadata=METADATA, data=b"hello")
    covered = len(payload_of(raw).checksummed)
    for bit in range(8 * (len(raw) - covered), 8 * len(raw)):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not payload_of(bytes(flipped)).checksum_ok()


def test_frame_without_checksum_is_believed() -> None:
    payload = payload_of(encode(SEND, metadata=METADATA, data=b"hello", checksum=False))
    assert payload.checksum is None
    assert payload.checksum_ok()


def test_checksum_is_taken_from_a_send_and_from_nothing_else() -> None:
    bare = encode(SEND, metadata=METADATA, data=b"x", checksum=False)
    assert without_checksum(encode(SEND, metadata=METADATA, data=b"x")) == bare
    assert [without_checksum(raw) for raw in (bare, encode(PING))] == [bare, encode(PING)]


def test_broker_entry_is_outside_the_checksum() -> None:
    entry = BrokerEntryMetadata(index=7)
    plain = payload_of(encode(MESSAGE, metadata=METADATA, data=b"hello"))
    payload = payload_of(encode(MESSAGE, metadata=METADATA, data=b"hello", broker_entry=entry))
    assert payload.checksum == plain.checksum
    assert payload.broker_entry == entry
    assert payload.block == plain.block


def test_broker_entry_in_send_is_not_looked_for() -> None:
    payload = payload_of(frame_of(SEND.SerializeToString(), b"\x0e\x02\0\0\0\0" + encode_block(METADATA, b"")))
    assert payload.broker_entry is None
    with pytest.raises(MetadataError):
        assert payload.metadata


def test_stored_block_is_sent_on_unread() -> None:
    block = bytes(payload_of(encode(SEND, metadata=METADATA, data=b"hello")).block)
    damaged = block[:-1] + b"!"
    payload = payload_of(encode_around(MESSAGE, damaged))
    assert bytes(payload.block) == damaged
    assert not payload.checksum_ok()


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_checksum_is_crc32c(data: bytes, checksum: int) -> None:
    assert crc32c.crc32c(data) == checksum


def test_frames_of_same_bytes_are_equal() -> None:
    raw = encode(PING)
    assert decode(raw) == decode(bytes(raw))
    assert len({decode(raw), decode(bytes(raw))}) == 1
    assert decode(raw) != decode(encode(command(CommandType.PONG)))


MISUSES = {
    "payload after a command without": lambda: encode(PING, metadata=METADATA),
    "send without payload": lambda: encode(SEND),
    "data without metadata": lambda: encode(PING, data=b"x"),
    "broker entry in send": lambda: encode(SEND, metadata=METADATA, broker_entry=BrokerEntryMetadata()),
    "type without its command": lambda: encode(BaseCommand(type=CommandType.PING)),
    "command without a required field": lambda: encode(command(CommandType.FLOW, consumer_id=1)),
    "metadata without a required field": lambda: encode(SEND, metadata=MessageMetadata(producer_name="p")),
    "field the command does not have": lambda: command(CommandType.FLOW, producer_id=1),
    "value of the wrong type": lambda: command(CommandType.FLOW, consumer_id="one"),
    "value out of range": lambda: command(CommandType.FLOW, consumer_id=-1),
    "command without a message": lambda: command(CommandType.END_TXN_ON_PARTITION),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES.keys())
def test_misuse_is_our_own_error(misuse: object) -> None:
    assert callable(misuse)
    with pytest.raises(LocalProtocolError):
        misuse()


def test_command_takes_nested_fields_as_dict() -> None:
    subscribe = command(
        CommandType.SUBSCRIBE,
        topic="t",
        subscription="s",
        subType=1,
        consumer_id=1,
        request_id=2,
        metadata=[{"key": "a", "value": "b"}],
    )
    assert subscribe.subscribe.metadata[0].value == "b"


def test_empty_command_keeps_its_field() -> None:
    assert encode(PING).hex() == "00000009000000050812920100"


def test_message_id_leaves_defaults_out() -> None:
    assert message_id(NO_ID, 2).SerializeToString().hex() == "08ffffffffffffffffff011002"
    assert message_id(1, 2, partition=0, batch_index=3).SerializeToString().hex() == "0801100218002003"
