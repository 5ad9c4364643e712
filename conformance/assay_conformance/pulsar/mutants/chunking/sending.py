"""Clients that cut messages into the wrong chunks, or lose count of what chunks hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay_conformance.client.ops import Op, OpBuilder, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.seeking import Place, Seeking
from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.validation import Validation
from assay_conformance.client.values import Failed
from assay_conformance.wire import BaseCommand, MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class OmitsChunkFlag(OpBuilder):
    """SENDs of chunks lack is_chunk."""

    breaks = "chunking.splits-large-message"
    stands_for = "metadata and command built apart"

    def _chunk_command(self, sent: Sent) -> BaseCommand:
        built = super()._chunk_command(sent)
        built.send.ClearField("is_chunk")
        return built


class OtherUuid(OpBuilder):
    """The uuid of a chunked message has a format of its own."""

    breaks = "chunking.uuid-identifies-message"
    stands_for = "an identifier taken for anybody's choice"

    def _uuid(self, sent: Sent) -> str:
        return f"{sent.sequence_id}@{self.name}"


class ChunksIgnoreMetadata(OpBuilder):
    """Chunks are cut at the limit, whatever their metadata take."""

    breaks = "chunking.chunks-fit-max-message-size"
    stands_for = "apache/pulsar#16196: a chunk with long properties exceeds the limit"

    def _room(self, metadata: MessageMetadata, max_message_bytes: int) -> int:
        return max_message_bytes


class IgnoresChunkMaxMessageSize(OpBuilder):
    """Chunks are as large as the broker takes, whatever the application has set."""

    breaks = "chunking.chunk-max-message-size"
    stands_for = "a bound that is read, and forgotten where sizes are compared"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._most_of_a_chunk = 0


class BatchingDropsChunking(Validation):
    """With batching on, chunking is dropped in silence."""

    breaks = "chunking.excludes-batching"
    stands_for = "C++ client (read in its source): the core takes both and never chunks"

    def _batches_chunks(self, settings: ProducerSettings) -> bool:
        return False


class SendsOversize(OpBuilder):
    """A message beyond the limit is sent as it is."""

    breaks = "chunking.disabled-rejects-oversize"
    stands_for = "DotPulsar 3.1.2: the broker closes the connection, and the message is sent again without end"

    def _fits(self, data: bytes, room: int) -> bool:
        return not self._chunking or super()._fits(data, room)


class ChunkLeavesNoPlace(Pending):
    def _chunk_left(self, part_of: Sent) -> None:
        pass


class ChunksCountAsOnePending(Producer):
    """A message holds one place in the queue, however many chunks it has."""

    breaks = "chunking.chunks-count-as-pending"
    stands_for = "a limit of messages taken for one of what is in flight"
    also = (ChunkLeavesNoPlace,)

    def _places(self, ops: Sequence[Op]) -> int:
        return 1


class ChunksLeakQueueSlots(Pending):
    """Of the places of a chunked message only the last chunk's becomes free again."""

    breaks = "chunking.releases-queue-and-memory"
    stands_for = "a permit taken for each chunk, and returned for each message"

    def _chunk_left(self, part_of: Sent) -> None:
        pass


class RejectedChunksKeepQueueSlots(Pending):
    """A chunked message that is refused half-way keeps the places it had found."""

    breaks = "chunking.releases-queue-and-memory"
    stands_for = "C++ client (read in its source): permits are taken chunk by chunk, and one is returned"

    def refused(self, sent: Sent, failed: Failed) -> None:
        if sent.sequence_id >= 0:
            self._places = self._settings.max_pending_messages - 1
        super().refused(sent, failed)


class ChunkedMemoryUnderflows(Pending):
    """The memory of a chunked message is returned once for each chunk, to a counter without a sign."""

    breaks = "chunking.releases-queue-and-memory"
    stands_for = "C++ client (read in its source): every later send finds the memory full"

    def _fills_memory(self, held_bytes: int) -> bool:
        underflown = held_bytes < 0 < self._shared.settings.memory_limit_bytes
        return underflown or super()._fills_memory(held_bytes)

    def _chunk_left(self, part_of: Sent) -> None:
        super()._chunk_left(part_of)
        self._shared.memory_bytes -= len(part_of.message.payload)


class SeeksToLastChunk(Seeking):
    """A seek to a chunked message names its last chunk."""

    breaks = "chunking.message-id-spans-chunks"
    stands_for = "a chunked message known by one id: what is sought cannot be put together again"

    def _named(self, place: Place) -> Place:
        return replace(place, positions=place.positions[-1:])


class MessageIdOfFirstChunk(Receipts):
    """A chunked message is reported under the id of its first chunk."""

    breaks = "chunking.message-id-spans-chunks"
    stands_for = "the first receipt taken for the message's"

    _first_chunk: pb.MessageIdData | None = None

    def _reported_id(self, op: Op, message_id: pb.MessageIdData) -> pb.MessageIdData:
        if op.part_of is not None:
            self._first_chunk = self._first_chunk or message_id
            return message_id
        first, self._first_chunk = self._first_chunk, None
        return first or message_id


class InclusiveSeekToLastChunk(Seeking):
    """A consumer that is to begin with the message it seeks names the last chunk of a chunked one."""

    breaks = "chunking.message-id-spans-chunks"
    stands_for = "pulsar-client-cpp#462: the first chunk is looked for by seeks that begin behind their target alone"

    def _named(self, place: Place) -> Place:
        return replace(place, positions=place.positions[-1:]) if self._inclusive else place
