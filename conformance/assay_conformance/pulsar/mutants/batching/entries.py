"""Clients that write or read the entry of a batch wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.batch import Batching, Group
from assay_conformance.client.entries import Opened, open_single
from assay_conformance.client.ops import Op, OpBuilder, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import (
    BaseCommand,
    Codec,
    CommandType,
    Member,
    MessageMetadata,
    command,
    compress,
    encode,
)


class LargeBatchUncompressed(OpBuilder):
    """A batch of eight messages or more is not compressed."""

    breaks = "batching.larger-batches-save-bytes"
    stands_for = "a buffer sized for the common case: what does not fit is sent uncompressed"

    LARGE = 8

    def _batch_body(self, metadata: MessageMetadata, batch: Sequence[Sent]) -> bytes:
        return self._members(batch) if len(batch) >= self.LARGE else super()._batch_body(metadata, batch)


class UncompressedSizeWithoutHeaders(OpBuilder):
    """The uncompressed size of a batch counts payloads, but not the headers of its messages."""

    breaks = "batching.compressed-as-one"
    stands_for = "sizes added up as messages are added, not measured on what is compressed"

    def _batch_body(self, metadata: MessageMetadata, batch: Sequence[Sent]) -> bytes:
        body = super()._batch_body(metadata, batch)
        if metadata.uncompressed_size:
            metadata.uncompressed_size = sum(len(sent.message.payload) for sent in batch)
        return body


class CompressesEachMessageToo(OpBuilder):
    """Each message of a batch is compressed, and the batch as well."""

    breaks = "batching.compressed-as-one"
    stands_for = "kafka-python issue 718: a batch compressed twice"

    def _member(self, sent: Sent) -> Member:
        member = super()._member(sent)
        if self._codec is Codec.NONE:
            return member
        return Member(member.metadata, compress(self._codec, member.payload))


class DelayedOvertakesBatch(Producer):
    """A delayed message is sent before the open batch of older messages."""

    breaks = "batching.delayed-not-batched"
    stands_for = "pulsar-client-dotnet#367, C++ and Go clients: with deduplication the batch is dropped as a duplicate"

    def _close_batch_before(self, sent: Sent) -> None:
        pass


class DelayedJoinsBatch(Producer):
    """A delayed message is batched, and its delivery time is lost."""

    breaks = "batching.delayed-not-batched"
    stands_for = "pulsar-rs: the batched path drops deliver_at_time"

    def _waits_for_its_time(self, sent: Sent) -> bool:
        return False


class BatchIndexFromOne(Receipts):
    """The messages of a batch are reported with batch indexes from 1."""

    breaks = "batching.succeeds-or-fails-as-one"
    stands_for = "off by one"

    def _place(self, op: Op, index: int) -> tuple[int, int]:
        return super()._place(op, index + 1)


class BatchFailsFirstOnly(Pending):
    """When a batch times out, its first message fails and the others are reported as sent."""

    breaks = "batching.succeeds-or-fails-as-one"
    stands_for = "one callback kept for a batch of several messages"

    def fail(self, ops: Iterable[Op], error: ErrorClass, text: str) -> None:
        for op in ops:
            self.release(op.sent[:1], Failed(error, text, op.certain))
            self.release(op.sent[1:], Done())


class OmitsHighestSequenceId(OpBuilder):
    """A batch carries its lowest sequence id, but not its highest."""

    breaks = "batching.highest-sequence-id"
    stands_for = "C++ and Go clients: the broker takes the lowest id of a batch for the last"

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._batch_metadata(batch, unix_ms)
        metadata.ClearField("highest_sequence_id")
        return metadata


class BatchSequenceIdIsHighest(OpBuilder):
    """A batch carries its highest sequence id as its own."""

    breaks = "batching.lowest-sequence-id"
    stands_for = (
        "pulsar-client-cpp#546: batches were identified by their last id, and ids counted from it were too high"
    )

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._batch_metadata(batch, unix_ms)
        metadata.sequence_id = batch[-1].sequence_id
        return metadata


class OmitsSingleSequenceIds(OpBuilder):
    """Messages inside a batch carry no sequence ids."""

    breaks = "batching.highest-sequence-id"
    stands_for = "pulsar-rs: one id for the batch, none for its messages"

    def _member(self, sent: Sent) -> Member:
        member = super()._member(sent)
        member.metadata.ClearField("sequence_id")
        return member


class BatchOfOneNotUnpacked(Arrivals):
    """A batch of one message is delivered without being unpacked, header included."""

    breaks = "batching.batch-of-one-is-unpacked"
    stands_for = "the number of messages checked, where the presence of the field decides"

    def _opened(self, metadata: MessageMetadata, data: bytes) -> list[Opened]:
        of_one = metadata.num_messages_in_batch == 1
        return [open_single(metadata, data)] if of_one else super()._opened(metadata, data)


class OversizeBatchFailsPending(Batching):
    """A batch that is too large fails all pending sends of its producer."""

    breaks = "batching.oversize-batch-fails-alone"
    stands_for = "the error of one batch handled as an error of its producer"

    def _fail(self, group: Group, text: str) -> None:
        super()._fail(group, text)
        self._pending.fail(self._pending.take(lambda _op: True), ErrorClass.TOO_LARGE, text)


class BatchSentAsOneMessage(OpBuilder):
    """The SEND of a batch does not state its number of messages, so that it counts as one."""

    breaks = "batching.send-counts-messages"
    stands_for = "a field of SEND with a default, and batches sent by code for single messages"

    def _batch_command(self, metadata: MessageMetadata) -> BaseCommand:
        built = super()._batch_command(metadata)
        built.send.ClearField("num_messages")
        return built


class FlushSendsEmptyBatch(Producer):
    """A flush without an open batch sends an empty one."""

    breaks = "batching.send-counts-messages"
    stands_for = "pulsar-rs#377: each flush sends an empty batch, with num_messages 0"

    def _flush_all(self, flushed: Callable[[Result], None]) -> None:
        if self._settings.batching and self.ready and not self._batching.is_open:
            self._write_empty_batch()
        super()._flush_all(flushed)

    def _write_empty_batch(self) -> None:
        assert self.connection is not None
        id, name = max(self.last_sequence_id, 0), self._builder.name
        metadata = MessageMetadata(producer_name=name, sequence_id=id, publish_time=self.shared.unix_ms())
        metadata.num_messages_in_batch = 0
        send = command(CommandType.SEND, producer_id=self._producer_id, sequence_id=id, num_messages=0)
        self.connection.write(encode(send, metadata=metadata, data=b""))
