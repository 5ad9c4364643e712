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
    """A chunk behind a gap is appended as if it were the next."""

    breaks = "chunking.delivers-whole-only"
    stands_for = "the last chunk taken for completeness"

    def _leaves_gap(self, partial: Partial, chunk_id: int) -> bool:
        return False


class DropsMessageOnRepeatedChunk(ChunkBuffer):
    """A repeated chunk discards the message it belongs to."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "pulsar-client-go#1464, apache/pulsar#21070: a message with a resent chunk is never delivered"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        return ()

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        del self._partials[uuid]
        return Progress()


class AppendsRepeatedChunk(ChunkBuffer):
    """A repeated chunk is appended once more."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "chunks counted, not compared"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        return ()

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        partial.parts.append(data)
        partial.positions.append(position)
        return Progress()


class NeverAcksRepeatedChunk(ChunkBuffer):
    """A chunk the producer sent again is ignored and never acknowledged."""

    breaks = "chunking.repeated-chunk-dropped"
    stands_for = "a filter that forgets what it filtered: the entry stays in the backlog for ever"

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        return Progress()


class AssemblesOneMessageAtATime(ChunkBuffer):
    """A first chunk discards every other message that is incomplete."""

    breaks = "chunking.assembles-by-uuid"
    stands_for = "one buffer where one a uuid is due"

    def _begin(self, uuid: str, position: Position, now_ns: int) -> tuple[Position, ...]:
        if uuid not in self._partials:
            self._partials.clear()
        return super()._begin(uuid, position, now_ns)


class AcksLastChunkOnly(AckGroup):
    """Acknowledging a chunked message acknowledges its last chunk alone."""

    breaks = "chunking.acks-every-chunk"
    stands_for = (
        "apache/pulsar#25220 (for negative acknowledgments): only the last chunk is named, the message never completes"
    )

    def _positions_of(self, entry: Entry) -> tuple[Position, ...]:
        return super()._positions_of(entry)[-1:]


class NeverEvictsIncompleteMessages(ChunkBuffer):
    """Any number of incomplete messages are kept."""

    breaks = "chunking.incomplete-messages-bounded"
    stands_for = "Go client (read in its source): an evicted message stays in its queue, the limit works once"

    def _evict(self) -> tuple[Position, ...]:
        return ()


class RestartedMessageKeepsChunksUnacked(ChunkBuffer):
    """Chunks of a message that started again are dropped and never acknowledged."""

    breaks = "chunking.restarts-at-first-chunk"
    stands_for = "an assignment over a buffer"

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        super()._begin_again(uuid, held, position, now_ns)
        return ()


class AcksChunkAfterGap(ChunkBuffer):
    """A chunk behind a gap is acknowledged."""

    breaks = "chunking.missing-chunk-discards-message"
    stands_for = "what cannot be used taken for done: the message is lost"

    def _gap(self, position: Position) -> Progress:
        return Progress(acks=(position,))


class IncompleteNeverExpires(Arrivals):
    """Incomplete messages are kept for ever."""

    breaks = "chunking.expires-incomplete"
    stands_for = "an expiry checked only when another chunk comes"

    def _expire_chunks(self) -> None:
        pass
