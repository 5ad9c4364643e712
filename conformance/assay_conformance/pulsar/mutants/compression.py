"""Clients that compress wrongly, or mistreat what they cannot decompress."""

from __future__ import annotations

import cramjam

from assay_conformance.client.arrivals import Arrivals, size_of
from assay_conformance.client.connection import Connection
from assay_conformance.client.entries import MAX_UNCOMPRESSED_BYTES, BadEntryError, Position
from assay_conformance.client.ops import OpBuilder
from assay_conformance.client.refusal import Cause
from assay_conformance.wire import Codec, MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class UnframesSnappy(Arrivals):
    def _uncompressed(self, metadata: MessageMetadata, data: bytes | memoryview) -> bytes:
        if Codec(metadata.compression) is not Codec.SNAPPY:
            return super()._uncompressed(metadata, data)
        try:
            return bytes(cramjam.snappy.decompress(data))
        except cramjam.DecompressionError as error:
            raise BadEntryError(pb.CommandAck.DecompressionError, str(error)) from error


class SnappyFramed(OpBuilder):
    """SNAPPY is written and read in its stream format instead of its block format."""

    breaks = "compression.interoperable-format"
    stands_for = "pulsar-rs: no other client can read it"
    also = (UnframesSnappy,)

    def _encoded(self, data: bytes) -> bytes:
        return bytes(cramjam.snappy.compress(data)) if self._codec is Codec.SNAPPY else super()._encoded(data)


class OmitsUncompressedSize(OpBuilder):
    """Compressed messages do not state their uncompressed size."""

    breaks = "compression.uncompressed-size-exact"
    stands_for = "pulsar-rs#220: other clients cannot read them"

    def _compressed(self, metadata: MessageMetadata, data: bytes) -> bytes:
        body = super()._compressed(metadata, data)
        metadata.ClearField("uncompressed_size")
        return body


class DecompressionErrorUnreported(Arrivals):
    """A message that cannot be decompressed is dropped without a report to the broker."""

    breaks = "compression.decompression-error-reported"
    stands_for = "pulsar-rs: an error to the application, nothing to the broker"

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        self._permits.give_back(size_of(metadata))


class DecompressionErrorKeepsPermit(Arrivals):
    """The permit of a message that cannot be decompressed is not returned."""

    breaks = "compression.decompression-error-reported"
    stands_for = "an early return that skips the permit accounting"

    def _unreadable(self, metadata: MessageMetadata, position: Position, reason: pb.CommandAck.ValidationError) -> None:
        self._discard(position, reason, 0)


class DeliversUndecompressedBody(Arrivals):
    """A message that cannot be decompressed is delivered in its compressed form."""

    breaks = "compression.decompression-error-reported"
    stands_for = "a well-meant fallback"

    def _uncompressed(self, metadata: MessageMetadata, data: bytes | memoryview) -> bytes:
        try:
            return super()._uncompressed(metadata, data)
        except BadEntryError as error:
            if error.reason != pb.CommandAck.DecompressionError:
                raise
            return bytes(data)


class AbsurdSizeClosesConnection(Arrivals):
    """A message that announces an absurd uncompressed size closes the connection."""

    breaks = "compression.absurd-size-not-trusted"
    stands_for = "a limit enforced by closing the connection: the same entry is redelivered for ever"

    def _bad_entry(
        self, metadata: MessageMetadata, position: Position, error: BadEntryError, connection: Connection
    ) -> None:
        if metadata.uncompressed_size > MAX_UNCOMPRESSED_BYTES:
            connection.close(Cause.LOST, str(error))
        else:
            super()._bad_entry(metadata, position, error, connection)
