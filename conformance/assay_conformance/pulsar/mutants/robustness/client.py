"""Clients that mistreat what is malformed, odd or late."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.arrivals import Arrivals, size_of
from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import BadEntryError, Opened, Position
from assay_conformance.client.handed import Inbound
from assay_conformance.client.lookup import Lookup
from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.client.pending import Pending
from assay_conformance.client.refusal import Cause
from assay_conformance.client.requests import Answered
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.topic_patterns import TopicPattern
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.credentials import Supplied
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import (
    BaseCommand,
    CommandType,
    Frame,
    Member,
    MessageMetadata,
    Payload,
    ProtocolError,
    is_batch,
)
from assay_conformance.wire import pulsar_pb2 as pb


class OtherTopicCumulativeAckHangs(Subscription):
    """A cumulative acknowledgment of another topic's message never ends."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "pulsar-client-cpp#492: if the topic is not found, the callback is never called"

    def _refuse_foreign(self, op: int, topic: str, *, cumulative: bool) -> None:
        if not cumulative:
            super()._refuse_foreign(op, topic, cumulative=cumulative)


class OtherTopicCumulativeAckPanics(Subscription):
    """A cumulative acknowledgment of another topic's message panics."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "pulsar-rs: a router that names no partition makes the send panic"

    def _refuse_foreign(self, op: int, topic: str, *, cumulative: bool) -> None:
        if cumulative:
            self._shared.sink.completed(op, Failed(ErrorClass.FATAL, "index out of range", certain=False))
        else:
            super()._refuse_foreign(op, topic, cumulative=cumulative)


class DeliversCorrupt(Arrivals):
    """Message checksums are not verified."""

    breaks = "robustness.checksum-mismatch-reported"
    stands_for = "the network's own checksums assumed to suffice"

    def _is_intact(self, payload: Payload) -> bool:
        return True


class ChecksumMismatchClosesConnection(Arrivals):
    """A checksum mismatch closes the connection."""

    breaks = "robustness.checksum-mismatch-reported"
    stands_for = "pulsar-rs: the same entry is redelivered for ever"

    def _corrupt(self, position: Position, connection: Connection) -> None:
        connection.close(Cause.LOST, "checksum mismatch")


class ChecksumMismatchKeepsPermit(Arrivals):
    """The permit of a corrupt message is not returned."""

    breaks = "robustness.checksum-mismatch-reported"
    stands_for = "an early return that skips the permit accounting"

    def _corrupt(self, position: Position, connection: Connection) -> None:
        self._discard(position, pb.CommandAck.ChecksumMismatch, 0)


class LosesSplitFrameLength(Connection):
    """A read of fewer than the four bytes of a frame's length is discarded if nothing is buffered."""

    breaks = "robustness.any-segmentation"
    stands_for = "DotPulsar 1.0.1: protocol bytes misread in some segmentations"

    def received(self, data: bytes) -> None:
        if self.usable and len(data) < 4 and not self._splitter.pending_bytes:
            self._keep_alive.heard()
        else:
            super().received(data)


class SecondFlushReplacesFirst(Pending):
    """A flush replaces an earlier pending one, which then never ends."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "pulsar-client-go#1409: of two flushes that wait for the same pending item only the last is completed"

    def flush(self, flushed: Callable[[Result], None]) -> None:
        self._flushes.clear()
        super().flush(flushed)


class NoTopicsNeverOpen(Subscription):
    """A subscription to an empty list of topics waits for one of them to open."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "a counter of answers that is checked when one arrives, and none does"

    def start(self, pattern: TopicPattern | None = None) -> None:
        if self.consumers:
            super().start(pattern)


class NoMessagesNeverAcknowledged(Subscription):
    """An acknowledgment of an empty list of messages waits for an answer."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "a counter of answers that is checked when one arrives, and none does"

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        if numbers:
            super().ack(op, numbers, cumulative=cumulative, of=of)


class SchemaRequestWithoutTimeout(Lookup):
    """A GET_SCHEMA has no time-out: it waits for its answer for as long as the connection lasts."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "pulsar-client 3.4.0: a request that is missing from the table of time-outs"

    def _request_schema(self, connection: Connection, build: Callable[[int], BaseCommand], answered: Answered) -> None:
        connection.wait_longer(connection.request(build, answered))


class SupplierFailureUnnoticed(Connection):
    """If the credentials supplier fails, the connection waits for CONNECTED although no CONNECT was sent."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "an uncaught exception on the network thread"

    def _without_credentials(self, use: Callable[[Supplied], None]) -> None:
        self._deadline.cancel()


class CorruptBatchUnreported(Arrivals):
    """A batch that cannot be decoded is dropped without a report to the broker."""

    breaks = "robustness.corrupt-batch-reported"
    stands_for = "C++ client (read in its source): the result of parsing a batch member is not checked"

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        if reason == pb.CommandAck.BatchDeSerializeError:
            self._permits.give_back(size_of(metadata))
        else:
            super()._unreadable(metadata, position, reason)


class SkipsUndecodableCommand(Connection):
    """A command that cannot be decoded is skipped."""

    breaks = "robustness.malformed-frame-closes-connection"
    stands_for = "a decoder that trusts the length of an undecodable command"

    def _undecodable(self, error: ProtocolError) -> None:
        pass


class UnknownCommandClosesConnection(Connection):
    """A command of an unknown type closes the connection."""

    breaks = "robustness.unknown-command-ignored"
    stands_for = "Go and C++ clients (read in their source): an unknown type is an invalid state"

    def _unhandled(self, frame: Frame) -> None:
        if not isinstance(frame.type, CommandType):
            self.close(Cause.LOST, f"unknown command {frame.type}")


class CorruptMetadataClosesConnection(Arrivals):
    """Metadata that cannot be decoded closes the connection."""

    breaks = "robustness.corrupt-metadata-discarded"
    stands_for = "C++ client (read in its source): the same entry is redelivered for ever"

    def _bad_metadata(self, position: Position, connection: Connection) -> None:
        connection.close(Cause.LOST, "undecodable metadata")


class EmptyPayloadDropped(Consumer):
    """A message with an empty payload is acknowledged without being delivered."""

    breaks = "robustness.edge-case-payloads-round-trip"
    stands_for = "an empty payload taken for no message"

    def _enqueue(self, inbound: Inbound) -> None:
        if inbound.opened.payload:
            super()._enqueue(inbound)
        else:
            self._permits.give_back(1)


class LargePropertiesLost(OpBuilder):
    """A message whose metadata are larger than 64 KiB is sent without its properties."""

    breaks = "robustness.edge-case-metadata-round-trip"
    stands_for = "pulsar-client-cpp#443: a metadata buffer of 64 KiB"

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        if metadata.ByteSize() > 65_536:
            del metadata.properties[:]
        return metadata


class EventTimeInBatchLost(OpBuilder):
    """A message of a batch is sent without its event time."""

    breaks = "robustness.edge-case-metadata-round-trip"
    stands_for = "apache/pulsar#1882: the event time of batched messages is not set"

    def _member(self, sent: Sent) -> Member:
        member = super()._member(sent)
        member.metadata.ClearField("event_time")
        return member


class EmptyWithPropertiesDiscarded(Arrivals):
    """An unbatched message with properties and an empty payload is acknowledged as corrupt."""

    breaks = "robustness.edge-case-payloads-round-trip"
    stands_for = "pulsar-client-go#1435: the end of the entry after the properties is taken for the end of a batch"

    def _opened(self, metadata: MessageMetadata, data: bytes) -> list[Opened]:
        if metadata.properties and not data and not is_batch(metadata):
            raise BadEntryError(pb.CommandAck.BatchDeSerializeError, "the entry ends before its message")
        return super()._opened(metadata, data)


class NullValueDiscarded(Arrivals):
    """A message without a value is acknowledged as corrupt."""

    breaks = "robustness.edge-case-payloads-round-trip"
    stands_for = "pulsar-client-go#1482: a reader never gets past a tombstone at the end of its topic"

    def _opened(self, metadata: MessageMetadata, data: bytes) -> list[Opened]:
        if metadata.null_value:
            raise BadEntryError(pb.CommandAck.BatchDeSerializeError, "no payload")
        return super()._opened(metadata, data)
