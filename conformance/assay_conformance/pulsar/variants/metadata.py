"""Clients that write other optional fields of a message's metadata, and leave others out."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.wire import MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class UncompressedSizeOfEverything(OpBuilder):
    """The metadata of batches and of uncompressed messages state an uncompressed size as well."""

    as_in = "Go client, batch_builder.go and producer_partition.go; Java client, of what is no batch"
    within = ("compression.uncompressed-size-exact", "chunking.splits-large-message", "delivery.payload-unchanged")

    def _compressed(self, metadata: MessageMetadata, data: bytes) -> bytes:
        metadata.uncompressed_size = len(data)
        return super()._compressed(metadata, data)


class BatchLooksLikeItsFirstMessage(OpBuilder):
    """The metadata of a batch has the key and the properties of its first message."""

    as_in = "Go client, internal/batch_builder.go"
    within = ("batching.closes-at-first-limit", "delivery.payload-unchanged", "ordering.key-delivered-in-order")

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata, first = super()._batch_metadata(batch, unix_ms), batch[0].message
        if first.key is not None:
            metadata.partition_key = first.key
        metadata.properties.extend(pb.KeyValue(key=key, value=value) for key, value in first.properties.items())
        return metadata


class SchemaOfNoVersion(OpBuilder):
    """Messages without a schema have an empty schema version."""

    as_in = "pulsar-rs, connection.rs: the answer of PRODUCER_SUCCESS, put into every message"
    within = ("delivery.payload-unchanged", "batching.closes-at-first-limit", "chunking.splits-large-message")

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        metadata.schema_version = self.schema_version
        return metadata


class PropertiesInAnyOrder(OpBuilder):
    """Properties are written in another order than the application's."""

    as_in = "Go client, ConvertFromStringMap: the order of a map"
    within = ("robustness.edge-case-metadata-round-trip", "dead-letter.copy-is-complete")

    def _metadata(self, sent: Sent, unix_ms: int, *, whole: bool = True) -> MessageMetadata:
        metadata = super()._metadata(sent, unix_ms, whole=whole)
        turned = list(metadata.properties)[::-1]
        del metadata.properties[:]
        metadata.properties.extend(turned)
        return metadata
