"""Clients that lose sight of schemas."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handler import Handler
from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.schemas import WriterSchemas
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class SchemaStatedOnce(Producer):
    """A producer states its schema in its first PRODUCER only."""

    breaks = "schema.stated-in-registrations"
    stands_for = "a reconnect that builds its command by hand, beside the one of the opening"

    def _stated_schema(self) -> pb.Schema | None:
        return None if self.registrations else super()._stated_schema()


class ConsumerStatesNoSchema(Consumer):
    """A consumer keeps its schema to itself."""

    breaks = "schema.stated-in-registrations"
    stands_for = "a client that takes a schema for a matter of decoding alone"

    def _stated_schema(self) -> pb.Schema | None:
        return None


class SchemaVersionUnread(Producer):
    """The schema version in PRODUCER_SUCCESS is not read."""

    breaks = "schema.version-in-metadata"
    stands_for = "a PRODUCER_SUCCESS that is read for the name and the last sequence id alone"

    def _version_in(self, body: pb.CommandProducerSuccess) -> bytes:
        return b""


class BatchWithoutSchemaVersion(OpBuilder):
    """Batches do not name the version of their schema."""

    breaks = "schema.version-in-metadata"
    stands_for = "the metadata of a batch are filled in elsewhere than those of a message"

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._batch_metadata(batch, unix_ms)
        metadata.ClearField("schema_version")
        return metadata


class ReadsWithOwnSchema(WriterSchemas):
    """Every value is read with the consumer's own schema."""

    breaks = "schema.asks-for-written-version"
    stands_for = "pulsar-client-python before 3.2: AvroSchema decodes with the reader's schema alone"

    def _needs(self, version: bytes) -> bool:
        return False


class KeepsOneWriterSchema(WriterSchemas):
    """The schema that was asked for first is taken for that of all versions."""

    breaks = "schema.asks-for-written-version"
    stands_for = "a cache of schemas by topic, and not by version"

    def _needs(self, version: bytes) -> bool:
        return not (self._known or self._waiting) and super()._needs(version)


class RetriesRefusedSchema(Handler):
    """An opening whose schema is refused tries again until the operation time-out."""

    breaks = "schema.incompatible-is-final"
    stands_for = "IncompatibleSchema among the errors that a retry may heal"

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.code != pb.IncompatibleSchema and super()._is_final(refusal)


class BatchHasNoSchema(Subscription):
    """What a batch receive handed over has no value to read."""

    breaks = "schema.own-values-are-read"
    stands_for = "messages that are wrapped in two places, of which one knows the schema"

    _in_batches = False

    def batch_receive(self, op: int) -> None:
        self._in_batches = True
        super().batch_receive(op)

    def value(self, op: int, numbers: Sequence[int]) -> None:
        if self._in_batches:
            self._shared.sink.completed(op, Failed(ErrorClass.OTHER, "the message has no schema", certain=True))
        else:
            super().value(op, numbers)
