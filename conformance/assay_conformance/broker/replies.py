"""Frames this broker builds. They carry their parsed command, so that no one on their way has to decode them."""

from __future__ import annotations

import struct
from typing import Any

from assay_conformance.broker.store import Entry
from assay_conformance.wire import NO_ID, BaseCommand, CommandType, Frame, command, decode, encode_around
from assay_conformance.wire.pulsar_pb2 import CommandTopicMigrated, ServerError
from assay_conformance.wire.service_urls import service_url_fields

_SIZES = struct.Struct(">II")
_SEND_RECEIPT = int(CommandType.SEND_RECEIPT)
_MESSAGE = int(CommandType.MESSAGE)
_WORD = (1 << 64) - 1


def reply(command_type: CommandType, **fields: Any) -> Frame:
    """Return the frame of a command without payload."""
    return _framed(command_type, command(command_type, **fields))


def error(request_id: int, code: ServerError, text: str) -> Frame:
    return reply(CommandType.ERROR, request_id=request_id, error=code, message=text)


def producer_success(
    request_id: int,
    name: str,
    *,
    last_sequence_id: int = -1,
    schema_version: bytes = b"",
    topic_epoch: int | None = None,
    ready: bool = True,
) -> Frame:
    """Build PRODUCER_SUCCESS. `topic_epoch` None: no producer has had exclusive access yet."""
    epoch = {} if topic_epoch is None else {"topic_epoch": topic_epoch}
    return reply(
        CommandType.PRODUCER_SUCCESS,
        request_id=request_id,
        producer_name=name,
        last_sequence_id=last_sequence_id,
        schema_version=schema_version,
        producer_ready=ready,
        **epoch,
    )


def send_receipt(producer_id: int, sequence_id: int, highest: int, ledger: int, entry: int) -> Frame:
    """Return a SEND_RECEIPT.

    `ledger` and `entry` are NO_ID for a duplicate, `highest` for a SEND that announced none.
    """
    built = BaseCommand(type=_SEND_RECEIPT)
    receipt = built.send_receipt
    receipt.producer_id = producer_id
    receipt.sequence_id = sequence_id
    receipt.highest_sequence_id = highest
    position = receipt.message_id
    position.ledgerId = ledger
    position.entryId = entry
    return _framed(CommandType.SEND_RECEIPT, built)


def send_error(producer_id: int, sequence_id: int, code: ServerError, text: str) -> Frame:
    return reply(CommandType.SEND_ERROR, producer_id=producer_id, sequence_id=sequence_id, error=code, message=text)


def message(
    consumer_id: int,
    entry: Entry,
    partition: int,
    *,
    redeliveries: int,
    unacked: int | None,
    epoch: int | None,
    checksum: bool = True,
) -> Frame:
    """Return a MESSAGE around the stored bytes as they are, or without their checksum.

    `unacked` is the bit set of members not acked yet, None = all.
    """
    built = BaseCommand(type=_MESSAGE)
    body = built.message
    body.consumer_id = consumer_id
    position = body.message_id
    position.ledgerId = entry.ledger
    position.entryId = entry.entry
    position.partition = partition
    if redeliveries:
        body.redelivery_count = redeliveries
    if unacked is not None:
        body.ack_set.extend(ack_words(unacked))
    if epoch is not None:
        body.consumer_epoch = epoch
    head = built.SerializeToString()
    if not checksum:
        return decode(encode_around(built, entry.payload.checksummed))
    block = entry.payload.block
    sizes = _SIZES.pack(4 + len(head) + len(block), len(head))
    return Frame(b"".join((sizes, head, block)), CommandType.MESSAGE, built, entry.payload)


def close_producer(producer_id: int, url: str | None) -> Frame:
    """Return the CLOSE_PRODUCER of a broker; `url` is the broker that has the topic now."""
    assigned = {} if url is None else service_url_fields(CommandType.CLOSE_PRODUCER, url)
    return reply(CommandType.CLOSE_PRODUCER, producer_id=producer_id, request_id=NO_ID, **assigned)


def producer_migrated(producer_id: int, url: str) -> Frame:
    return _migrated(producer_id, CommandTopicMigrated.Producer, url)


def consumer_migrated(consumer_id: int, url: str) -> Frame:
    return _migrated(consumer_id, CommandTopicMigrated.Consumer, url)


def _migrated(resource_id: int, resource_type: int, url: str) -> Frame:
    kind = CommandType.TOPIC_MIGRATED
    return reply(kind, resource_id=resource_id, resource_type=resource_type, **service_url_fields(kind, url))


def close_consumer(consumer_id: int, url: str | None) -> Frame:
    assigned = {} if url is None else service_url_fields(CommandType.CLOSE_CONSUMER, url)
    return reply(CommandType.CLOSE_CONSUMER, consumer_id=consumer_id, request_id=NO_ID, **assigned)


def ack_words(bits: int) -> list[int]:
    """Return a bit set as the signed 64-bit words of an ack_set, lowest first, trailing zero words left out."""
    words = []
    while bits:
        word = bits & _WORD
        words.append(word - (1 << 64) if word >> 63 else word)
        bits >>= 64
    return words


def ack_bits(words: Any) -> int:
    """Return the bit set of an ack_set's words."""
    bits = 0
    for index, word in enumerate(words):
        bits |= (word & _WORD) << (64 * index)
    return bits


def _framed(command_type: CommandType, built: BaseCommand) -> Frame:
    head = built.SerializeToString()
    return Frame(_SIZES.pack(4 + len(head), len(head)) + head, command_type, built, None)
