"""Clients that join chunks wrongly."""

from __future__ import annotations

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.chunks import ChunkBuffer, Partial, Progress
from assay_conformance.client.entries import Entry, Position
from assay_conformance.wire import MessageMetadata


class DeliversFragments(Arrivals):
    """Each chunk is delivered as a message of its own."""

    breaks = "chunking.delivers-whole-only"
    stands_for = "pulsar-rs and DotPulsar: no chunk support, fragments reach the application"

    def _is_chunk(self, metadata: MessageMetadata) -> bool:
        return False


class JoinsOverChunkGap(ChunkBuffer):
    """A chunk that follows a missing one is appended as if it were the next."""

    breaks = "chunking.delivers-whole-only"
    stands_for = "the last chunk taken as a sign of completeness"

    def _leaves_gap(self, partial: Partial, chunk_id: int) -> bool:
        return False


class ExpiryEndsWithConnection(Arrivals):
    """After the connection was lost once, no incomplete message expires any more."""

    breaks = "chunking.expires-incomplete"
    stands_for = "a sibling of apache/pulsar#16337: a timer that ends with the first connection"

    _is_dead = False

    def clear(self) -> None:
        super().clear()
        self._is_dead = True

    def _expire_chunks(self) -> None:
        if not self._is_dead:
            super()._expire_chunks()


class CountsDroppedMessages(ChunkBuffer):
    """An incomplete message that is dropped for a gap goes on taking up one of the places for incomplete messages."""

    breaks = "chunking.assembles-by-uuid"
    stands_for = "apache/pulsar#26688: a count beside the map of messages, from which a dropped one is not subtracted"

    _dropped = 0

    def add(self, metadata: MessageMetadata, data: bytes, position: Position, now_ns: int) -> Progress:
        was_held = metadata.uuid in self._partials
        progress = super().add(metadata, data, position, now_ns)
        self._dropped += was_held and metadata.uuid not in self._partials and progress.joined is None
        return progress

    def _begin(self, uuid: str, position: Position, now_ns: int) -> tuple[Position, ...]:
        acks = super()._begin(uuid, position, now_ns)
        crowded = 0 < self._max_pending < len(self._partials) + self._dropped
        return acks or (self._evict() if crowded and len(self._partials) > 1 else ())


class DropsMessageOnRepeatedChunk(ChunkBuffer):
    """A repeated chunk causes its message to be discarded."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "pulsar-client-go#1464, apache/pulsar#21070: a message with a resent chunk is never delivered"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        return ()

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        del self._partials[uuid]
        return Progress()


class AppendsRepeatedChunk(ChunkBuffer):
    """A repeated chunk is appended a second time."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "chunks counted, not compared"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        return ()

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        partial.parts.append(data)
        partial.positions.append(position)
        return Progress()


class NeverAcksRepeatedChunk(ChunkBuffer):
    """A chunk that the producer sent again is ignored and never acknowledged."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "a filter that forgets what it dropped: the entry stays in the backlog for ever"

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        return Progress()


class AssemblesOneMessageAtATime(ChunkBuffer):
    """A first chunk causes every other incomplete message to be discarded."""

    breaks = "chunking.assembles-by-uuid"
    stands_for = "one buffer, where each uuid needs its own"

    def _begin(self, uuid: str, position: Position, now_ns: int) -> tuple[Position, ...]:
        if uuid not in self._partials:
            self._partials.clear()
        return super()._begin(uuid, position, now_ns)


class AcksLastChunkOnly(AckGroup):
    """Acknowledging a chunked message acknowledges only its last chunk."""

    breaks = "chunking.acks-every-chunk"
    stands_for = (
        "apache/pulsar#25220 (for negative acknowledgments): only the last chunk is named, the message never completes"
    )

    def _positions_of(self, entry: Entry) -> tuple[Position, ...]:
        return super()._positions_of(entry)[-1:]


class NeverEvictsIncompleteMessages(ChunkBuffer):
    """The number of incomplete chunked messages is not limited."""

    breaks = "chunking.incomplete-messages-bounded"
    stands_for = "Go client (read in its source): an evicted message stays in the queue, so the limit works only once"

    def _evict(self) -> tuple[Position, ...]:
        return ()


class RestartedMessageKeepsChunksUnacked(ChunkBuffer):
    """When a chunked message starts again, its earlier chunks are dropped and never acknowledged."""

    breaks = "chunking.restarts-at-first-chunk"
    stands_for = "a buffer that is overwritten"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        super()._begin_again(uuid, held, position, now_ns)
        return ()


class AcksChunkAfterGap(ChunkBuffer):
    """A chunk that follows a missing one is acknowledged."""

    breaks = "chunking.missing-chunk-discards-message"
    stands_for = "a chunk that cannot be used is treated as processed: the message is lost"

    def _gap(self, position: Position) -> Progress:
        return Progress(acks=(position,))


class IncompleteNeverExpires(Arrivals):
    """Incomplete chunked messages never expire."""

    breaks = "chunking.expires-incomplete"
    stands_for = "an expiry checked only when another chunk comes"

    def _expire_chunks(self) -> None:
        pass
