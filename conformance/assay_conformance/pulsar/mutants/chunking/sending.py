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
    stands_for = "metadata and command built in two places"

    def _chunk_command(self, sent: Sent) -> BaseCommand:
        built = super()._chunk_command(sent)
        built.send.ClearField("is_chunk")
        return built


class OtherUuid(OpBuilder):
    """The uuid of a chunked message does not have the documented format."""

    breaks = "chunking.uuid-identifies-message"
    stands_for = "an identifier assumed to be free in its format"

    def _uuid(self, sent: Sent) -> str:
        return f"{sent.sequence_id}@{self.name}"


class ChunksIgnoreMetadata(OpBuilder):
    """Chunks are cut at the size limit without room for their metadata."""

    breaks = "chunking.chunks-fit-max-message-size"
    stands_for = "apache/pulsar#16196: a chunk with long properties exceeds the limit"

    def _room(self, metadata: MessageMetadata, max_message_bytes: int) -> int:
        return max_message_bytes


class IgnoresChunkMaxMessageSize(OpBuilder):
    """Chunks are as large as the broker accepts, whatever maximum the application has set."""

    breaks = "chunking.chunk-max-message-size"
    stands_for = "a limit that is read, and forgotten where sizes are compared"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._most_of_a_chunk = 0


class BatchingDropsChunking(Validation):
    """With batching enabled, chunking is silently ignored."""

    breaks = "chunking.excludes-batching"
    stands_for = "C++ client (read in its source): the core accepts both options and never chunks"

    def _batches_chunks(self, settings: ProducerSettings) -> bool:
        return False


class SendsOversize(OpBuilder):
    """A message beyond the size limit is sent as it is."""

    breaks = "chunking.disabled-rejects-oversize"
    stands_for = "DotPulsar 3.1.2: the broker closes the connection, and the message is sent again without end"

    def _fits(self, data: bytes, room: int) -> bool:
        return not self._chunking or super()._fits(data, room)


class ChunkLeavesNoPlace(Pending):
    def _chunk_left(self, part_of: Sent) -> None:
        pass


class ChunksCountAsOnePending(Producer):
    """A chunked message takes one place in the pending queue, however many chunks it has."""

    breaks = "chunking.chunks-count-as-pending"
    stands_for = "a limit of messages, where one of entries in flight is meant"
    also = (ChunkLeavesNoPlace,)

    def _places(self, ops: Sequence[Op]) -> int:
        return 1


class ChunksLeakQueueSlots(Pending):
    """A chunked message frees only one of its places in the pending queue."""

    breaks = "chunking.releases-queue-and-memory"
    stands_for = "a permit taken for each chunk, and returned for each message"

    def _chunk_left(self, part_of: Sent) -> None:
        pass


class RejectedChunksKeepQueueSlots(Pending):
    """A chunked message that finds no room for all of its chunks keeps the places that it has taken."""

    breaks = "chunking.releases-queue-and-memory"
    stands_for = "C++ client (read in its source): permits are taken chunk by chunk, and one is returned"

    def refused(self, sent: Sent, failed: Failed) -> None:
        if sent.sequence_id >= 0:
            self._places = self._settings.max_pending_messages - 1
        super().refused(sent, failed)


class ChunkedMemoryUnderflows(Pending):
    """The memory of a chunked message is released once for each chunk, from an unsigned counter."""

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
    stands_for = "a chunked message known by one id: the message cannot be assembled again"

    def _named(self, place: Place) -> Place:
        return replace(place, positions=place.positions[-1:])


class MessageIdOfFirstChunk(Receipts):
    """A chunked message is reported under the id of its first chunk."""

    breaks = "chunking.message-id-spans-chunks"
    stands_for = "the first chunk's receipt taken for the message's"

    _first_chunk: pb.MessageIdData | None = None

    def _reported_id(self, op: Op, message_id: pb.MessageIdData) -> pb.MessageIdData:
        if op.part_of is not None:
            self._first_chunk = self._first_chunk or message_id
            return message_id
        first, self._first_chunk = self._first_chunk, None
        return first or message_id


class InclusiveSeekToLastChunk(Seeking):
    """An inclusive seek to a chunked message names its last chunk."""

    breaks = "chunking.message-id-spans-chunks"
    stands_for = "pulsar-client-cpp#462: only exclusive seeks look for the first chunk"

    def _named(self, place: Place) -> Place:
        return replace(place, positions=place.positions[-1:]) if self._inclusive else place
